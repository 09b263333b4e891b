//! Nodes that die, stand still, stop in order, and have another time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use switchboard_faults::report::Row;
use switchboard_tests::server::{Server, binary, call};

use super::{Trial, ended, times, under_load};
use crate::{AT_ONCE, expect_order, signal};

/// Variable that names the binary of an earlier release.
const EARLIER: &str = "SWITCHBOARD_EARLIER";
/// Nodes that serve together.
const NODES: usize = 3;
/// Longer than the lease of a node.
const STILL: Duration = Duration::from_secs(8);
/// Longest silence, seconds, when a node dies: its lease, and what a takeover takes.
const SILENCE_AIM: f64 = 9.0;
/// Longest silence, seconds, when a node stops in order.
const STOP_AIM: f64 = 0.5;
/// Requests under way at a node, and at one that passed them on: what became of them is not known when it is killed.
const UNDER_WAY: u64 = 2 * AT_ONCE as u64;
/// Seconds by which clocks differ.
const HOUR: i64 = 3_600;
/// The longest that nodes stand still while others read, milliseconds: now and then so long that they are replaced.
const STILL_MS_MAX: u64 = 10_000;

pub fn kills(wanted: u64, seed: u64) -> Row {
    let claim = "nothing is lost when a node is killed, and others serve";
    under_load(claim, wanted, seed, Trial::of(NODES, wanted, seed).silent_for(SILENCE_AIM), |trial| {
        let refused = trial.refused();
        trial.take().kill();
        trial.more();
        let more = trial.refused() - refused;
        assert!(more <= UNDER_WAY, "{more} were refused, and not only those that were under way");
        trial.join(0);
    })
}

pub fn kills_of_all(wanted: u64, seed: u64) -> Row {
    under_load("nothing is lost when all nodes are killed", wanted, seed, Trial::of(NODES, wanted, seed), |trial| {
        trial.nodes.drain(..).for_each(Server::kill);
        (0..NODES).for_each(|_| trial.join(0));
        trial.turn_to(&trial.nodes[0]);
        trial.more();
    })
}

pub fn pauses(wanted: u64, seed: u64) -> Row {
    let claim = "a node that stood still for longer than its lease writes nothing more, and passes on";
    under_load(claim, wanted, seed, Trial::of(NODES, wanted, seed), |trial| {
        let node = trial.take();
        signal(&node, Signal::STOP);
        std::thread::sleep(STILL);
        trial.more();
        signal(&node, Signal::CONT);
        trial.turn_to(&node);
        trial.nodes.push(node);
        trial.more();
    })
}

pub fn reads(wanted: u64, seed: u64) -> Row {
    let claim = "no read is older than what was acknowledged before it, while nodes stand still";
    let mut trial = Trial::of(NODES, wanted, seed);
    let (over, read) = (AtomicBool::new(false), AtomicU64::new(0));
    let row = std::thread::scope(|scope| {
        let urls: Vec<_> = trial.nodes.iter().map(|node| node.text("url").to_owned()).collect();
        let readers: Vec<_> = urls
            .into_iter()
            .map(|url| {
                let (agency, load) = &trial.accounts[0];
                let (load, key, over, read) = (load.view(), agency.key.clone(), &over, &read);
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let known = load.acknowledged();
                        let (status, found) = call("GET", &format!("{url}/api/user/leads?per_page=1"), &key, None);
                        if status == 200 {
                            let total = found["total"].as_u64().unwrap_or_default();
                            assert!(total >= known as u64, "{known} were acknowledged, {total} are shown");
                            read.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        let mut row = times(claim, wanted, seed, |_| {
            let node = trial.take();
            signal(&node, Signal::STOP);
            std::thread::sleep(Duration::from_millis(trial.random.below(STILL_MS_MAX)));
            signal(&node, Signal::CONT);
            trial.nodes.push(node);
            trial.more();
        });
        over.store(true, Ordering::Relaxed);
        for reader in readers {
            row.fail_if(reader.join().map_err(|_| format!("seed {seed}: a read failed, or was too old")));
        }
        let read = read.load(Ordering::Relaxed);
        row.fail_if(if read >= wanted { Ok(()) } else { Err(format!("seed {seed}: {read} reads were answered")) });
        row.notes.push(format!("{read} reads"));
        row
    });
    ended(row, trial, seed)
}

pub fn stops(wanted: u64, seed: u64) -> Row {
    let claim = "nobody is refused when a node stops in order";
    under_load(claim, wanted, seed, Trial::of(NODES, wanted, seed).silent_for(STOP_AIM), |trial| {
        let node = trial.take();
        let refused = trial.refused();
        assert_eq!(node.stop(), Some(0));
        trial.more();
        assert_eq!(trial.refused(), refused, "refused while it stopped");
        trial.join(0);
    })
}

pub fn clocks(wanted: u64, seed: u64) -> Row {
    let claim = "time goes on where the node before was, and nothing is lost, with clocks that are an hour apart";
    under_load(claim, wanted, seed, Trial::of(1, wanted, seed), |trial| {
        let node = trial.nodes.remove(0);
        node.kill();
        let ahead = trial.random.one(&[-HOUR, 0, HOUR]);
        trial.join(ahead);
        trial.turn_to(&trial.nodes[0]);
        trial.more();
        trial.accounts.iter().for_each(|(agency, _)| drop(expect_order(&agency.page(&trial.nodes[0], 1))));
    })
}

pub fn releases(wanted: u64, seed: u64) -> Row {
    let claim = "nobody is refused, and nothing is lost, while nodes of two releases take turns";
    let Some(earlier) = std::env::var_os(EARLIER).map(PathBuf::from) else {
        let mut row = Row::begin(claim, wanted);
        row.fail_if(Err(format!("{EARLIER} names no binary of an earlier release")));
        return row.end();
    };
    let binaries = [earlier, binary()];
    under_load(claim, wanted, seed, Trial::of(NODES, wanted, seed).silent_for(STOP_AIM), |trial| {
        let (node, refused) = (trial.take(), trial.refused());
        assert_eq!(node.stop(), Some(0));
        trial.more();
        trial.join_of(&binaries[trial.started % 2]);
        trial.turn_to(trial.nodes.last().expect("it was started"));
        trial.more();
        assert_eq!(trial.refused(), refused, "refused while it stopped, or another one joined");
    })
}
