//! What links and databases do to their nodes: they break, fail over, hang, fill up, have no connection left, and forget.

use std::process::Command;
use std::time::{Duration, Instant};

use switchboard::store::Store;
use switchboard_claims::Claim;
use switchboard_faults::report::Row;
use switchboard_postgres::{Flow, HeldConnections, Instance, Loss, PatroniCluster, Pause, Proxy, SmallDisk};
use switchboard_sim::random::Random;
use switchboard_tests::server::{Folder, Server, binary};

use super::{ACCOUNTS, BETWEEN, CLIENTS, Trial, caught, filled, stored, times, under_load};
use crate::shares::spread;
use crate::{Site, spawn};

/// Longer than a node answers without being heard of.
const OUTAGE: Duration = Duration::from_secs(6);
/// Requests that the standby may have had and that were not answered yet.
const UNDER_WAY: usize = ACCOUNTS * CLIENTS;
/// Longest delay of a link that is slow, milliseconds.
const LATE_MS_MAX: u64 = 50;
/// Bytes of a disk that is filled.
const DISK_BYTES: u64 = 256 << 20;

/// A PostgreSQL with a standby that its commits wait for, and the link by which the node reaches whichever is the primary.
struct Pair {
    proxy: Proxy,
    /// The primary; `None`: that of the site.
    primary: Option<Instance>,
    standby: Instance,
    /// Standbys that there ever were.
    made: usize,
}

impl Pair {
    /// Makes a pair, and a load on a node over it.
    fn of(seed: u64) -> (Trial, Self) {
        let site = Site::on_disk();
        let standby = synchronous(&site.instance, "standby0");
        let (trial, proxy) = Trial::linked(site, seed);
        (trial, Self { proxy, primary: None, standby, made: 1 })
    }

    fn primary<'p>(&'p self, trial: &'p Trial) -> &'p Instance {
        self.primary.as_ref().unwrap_or(&trial.site.instance)
    }

    /// Kills the primary, lets what was held up go on, makes the standby the primary, and makes another standby.
    fn fail_over(&mut self, trial: &Trial, held: Option<Pause>) {
        self.primary(trial).kill().expect("it ran");
        drop(held);
        self.standby.promote().expect("it becomes the primary");
        self.proxy.turn_to(self.standby.address());
        self.proxy.cut();
        let name = format!("standby{}", self.made);
        self.made += 1;
        let standby = synchronous(&self.standby, &name);
        self.primary = Some(std::mem::replace(&mut self.standby, standby));
    }
}

/// Makes a standby that commits wait for.
fn synchronous(primary: &Instance, name: &str) -> Instance {
    let standby = primary.standby(name).expect("a standby");
    primary.synchronize_with(name).expect("a setting");
    primary.wait_until_synchronous(name).expect("it is synchronous");
    standby
}

pub fn links(wanted: u64, seed: u64) -> Row {
    let (mut trial, proxy) = Trial::linked(Site::on_disk(), seed);
    trial.nodes.push(trial.site.begin("1", proxy.address()).wait());
    spread(&trial.site, &trial.nodes.iter().collect::<Vec<_>>());
    under_load("nothing is lost when links break, stall, are slow and lose answers", wanted, seed, trial, |trial| {
        if let Some(node) = trial.random.pick(&trial.nodes) {
            trial.turn_to(node);
        }
        let late = Duration::from_millis(trial.random.below(LATE_MS_MAX));
        proxy.delay(trial.random.one(&[Flow::ToServer, Flow::ToClient]), late);
        proxy.cut();
        trial.more();
        proxy.lose_next(Loss::Answer);
        trial.more();
        proxy.swallow(trial.random.one(&[Flow::ToServer, Flow::ToClient]));
        std::thread::sleep(Duration::from_millis(trial.random.below(1_000)));
        proxy.cut();
        proxy.heal().expect("it goes on");
        trial.more();
    })
}

pub fn kills(wanted: u64, seed: u64) -> Row {
    let claim = "nothing is lost when the database is killed and comes back, sooner or later than a lease ends";
    under_load(claim, wanted, seed, Trial::of(1, wanted, seed), |trial| {
        trial.site.instance.kill().expect("it ran");
        std::thread::sleep(OUTAGE.mul_f64(f64::from(u8::from(trial.random.chance(300)))));
        trial.site.instance.start().expect("it starts again");
        trial.more();
    })
}

pub fn standbys(wanted: u64, seed: u64) -> Row {
    let (trial, mut pair) = Pair::of(seed);
    under_load("nothing is lost when a synchronous standby takes over", wanted, seed, trial, |trial| {
        pair.fail_over(trial, None);
        trial.more();
    })
}

pub fn failovers(wanted: u64, seed: u64) -> Row {
    let claim = "nothing is lost when Patroni makes another of three servers the primary, asked or since one died";
    let mut cluster = PatroniCluster::start(3).expect("a cluster");
    let login = cluster.create_database("calls").expect("a database");
    let (url, folder) = (login.url_of_any(&cluster.addresses()), Folder::new());
    assert!(Store::init(&url).expect("its tables"), "they were missing");
    let start = |name: &str| -> Server { spawn(Command::new(binary()), &folder, name, &url, &[]).wait() };
    let nodes = [start("0"), start("1")];
    let accounts = filled(&nodes[0]);
    let more = || accounts.iter().for_each(|(_, load)| load.more(BETWEEN));
    let mut random = Random::new(seed);
    let mut row = times(claim, wanted, seed, |_| {
        more();
        let asked = random.chance(500);
        let made = if asked { cluster.switch_over() } else { cluster.kill_primary() };
        made.unwrap_or_else(|why| panic!("{}: {why}", if asked { "asked" } else { "one died" }));
        more();
    });
    let ended = caught(|| {
        let loaded = stored(accounts, &nodes[1]);
        row.notes.push(loaded.told());
        row.figures.push(Claim::stated(
            "Longest silence while Patroni replaces a primary that died, which it does after twenty seconds",
            format!("{:.1} s", loaded.longest.as_secs_f64()),
        ));
    });
    row.fail_if(ended.map_err(|why| format!("seed {seed}, at the end: {why}")));
    row.end()
}

pub fn past(wanted: u64, seed: u64) -> Row {
    let claim = "every node ends when their database has lost commits";
    times(claim, wanted, seed, |number| {
        let site = Site::on_disk();
        let standby = site.instance.standby("standby").expect("a standby");
        let (mut trial, proxy) = Trial::linked(site, seed ^ number);
        trial.nodes.push(trial.site.begin("1", proxy.address()).wait());
        spread(&trial.site, &trial.nodes.iter().collect::<Vec<_>>());
        let paused = trial.site.instance.pause_sender("standby").expect("it sends");
        trial.more();
        trial.site.instance.kill().expect("it ran");
        drop(paused);
        standby.promote().expect("it becomes the primary");
        proxy.turn_to(standby.address());
        proxy.cut();
        let patience = Instant::now() + Duration::from_mins(1);
        while !trial.nodes.iter_mut().all(Server::has_ended) {
            assert!(Instant::now() < patience, "a node goes on over rows that it does not know");
            std::thread::sleep(Duration::from_millis(20));
        }
        trial.accounts.into_iter().for_each(|(_, load)| drop(load.end()));
    })
}

pub fn waits(wanted: u64, seed: u64) -> Row {
    let (trial, pair) = Pair::of(seed);
    under_load("a standby that stands still holds commits up and loses none", wanted, seed, trial, |trial| {
        let (paused, acknowledged) = (pair.standby.pause_receiver().expect("it receives"), trial.acknowledged());
        std::thread::sleep(OUTAGE);
        let more = trial.acknowledged() - acknowledged;
        assert!(more <= UNDER_WAY, "{more} were acknowledged that the standby had not");
        drop(paused);
        trial.more();
    })
}

pub fn cancels(wanted: u64, seed: u64) -> Row {
    let (trial, mut pair) = Pair::of(seed);
    // What tells of it is a warning, which the role of the node does not care for.
    let quiet = format!("ALTER ROLE {} SET client_min_messages = error", trial.site.login.name);
    trial.site.instance.run_in("calls", &quiet).expect("a setting");
    pair.proxy.cut();
    under_load("a cancelled wait for the standby is not believed", wanted, seed, trial, |trial| {
        let paused = pair.standby.pause_receiver().expect("it receives");
        let (until, mut cancelled) = (Instant::now() + Duration::from_secs(2), 0);
        while Instant::now() < until || cancelled == 0 {
            cancelled += pair.primary(trial).cancel("switchboard", "SyncRep").expect("it is asked");
            std::thread::sleep(Duration::from_millis(50));
        }
        pair.fail_over(trial, Some(paused));
        trial.more();
    })
}

pub fn disks(wanted: u64, seed: u64) -> Row {
    let disk = SmallDisk::new(DISK_BYTES).expect("a small disk");
    let site = Site::with(Instance::options().on(disk));
    let node = site.node("0");
    let url = site.url();
    let trial = Trial::over(site, vec![node], url, seed);
    under_load("a full disk of the database refuses and loses nothing", wanted, seed, trial, |trial| {
        let disk = trial.site.instance.disk().expect("it has one");
        disk.fill(0).expect("it is filled");
        std::thread::sleep(Duration::from_secs(2));
        disk.free().expect("it is freed");
        trial.site.instance.recover().expect("it comes back");
        trial.more();
    })
}

pub fn connections(wanted: u64, seed: u64) -> Row {
    let site = Site::with(Instance::options().set("max_connections", "12"));
    let (trial, proxy) = Trial::linked(site, seed);
    under_load("a node waits for a connection that others hold", wanted, seed, trial, |trial| {
        // Those of the node are cut, and others are quicker.
        proxy.refuse();
        proxy.cut();
        let config = trial.site.login.config(trial.site.instance.address());
        let held = HeldConnections::fill(&config).expect("they are held");
        proxy.heal().expect("it takes connections again");
        std::thread::sleep(Duration::from_secs(2));
        drop(held);
        trial.more();
    })
}
