//! A database that goes back in time: whoever knew something that is gone must know it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::super::super::past::KnownPast;
use super::super::super::{Node, StoreEnd};
use super::super::process::NodeAsk;
use super::super::statements::{FenceFlaw, Tables};
use super::{PATIENCE, World, in_world};

/// Has the database go back in time; the error says which lanes lost something and do not know it, or know it wrongly.
/// Returns how many have lost something.
fn goes_back(seed: u64, flaw: Option<FenceFlaw>) -> Result<usize, String> {
    in_world(seed, async |random| {
        let world = World::of(random, flaw).await;
        (0..random.usize(2..=3)).for_each(|_| world.join(random));
        let clients: Vec<_> =
            (0..3).map(|_| tokio::spawn(Arc::clone(&world).ask_again_and_again(random.fork()))).collect();
        sleep(Duration::from_millis(random.u64(8_000..20_000))).await;
        let earlier = world.database.tables().await;
        for _ in 0..random.usize(0..3) {
            sleep(Duration::from_millis(random.u64(0..3_000))).await;
            match (random.u32(0..4), world.pick(random)) {
                (0, Some(process)) => world.kill(&process, random),
                (1, Some(process)) => {
                    world.part(&process);
                    let _ = process.spawn(Arc::clone(&process).leave()).await;
                }
                _ => world.join(random),
            }
        }
        sleep(Duration::from_millis(random.u64(0..9_000))).await;
        clients.iter().for_each(JoinHandle::abort);
        let left = Tables { flaw: None, ..earlier.clone() };
        let has_all = |node: &Node| {
            let KnownPast { seq, sure, .. } = node.known_past();
            let stands = left.lanes.get(node.id.as_slice()).is_none_or(|lane| lane.seq >= seq);
            stands && left.log_has(sure.seq, &sure.mark)
        };
        let mut lanes = Vec::new();
        let note = || {
            for process in &*world.processes.lock() {
                // Who gives a lane up as the database goes away ends without knowing, as one that dies.
                let knows_later = process.lanes().into_iter().filter(|node| !process.gives(&node.id));
                lanes.extend(knows_later.map(|node| (has_all(&node), node)));
            }
        };
        world.database.go_back(earlier, Duration::from_millis(random.u64(0..1_000)), note).await;
        // Some ask at once, others find out by themselves.
        for _ in 0..random.usize(0..40) {
            let account = world.accounts[random.usize(..world.accounts.len())];
            let ask = if random.bool() { NodeAsk::Add(account) } else { NodeAsk::Look(account) };
            if let Some(process) = world.pick(random) {
                let _ = timeout(PATIENCE, process.spawn(Arc::clone(&process).serve(ask))).await;
            }
        }
        sleep(Duration::from_secs(5)).await;
        world.processes.lock().iter().for_each(|process| process.kill());
        for (had_all, node) in &lanes {
            let ended = node.ended.borrow().clone();
            let knows = matches!(ended, Some(StoreEnd::Broken(_)));
            // An answer may have come since.
            if !(*had_all || knows) || (knows && has_all(node)) {
                return Err(format!("a lane that had all: {had_all}, and has ended: {ended:?}"));
            }
        }
        Ok(lanes.iter().filter(|(had_all, _)| !had_all).count())
    })
}

mod tests {
    use super::*;

    /// Databases that go back in time.
    const BACK: u64 = 200;

    #[test]
    fn whoever_lost_something_to_a_database_that_went_back_knows_it() {
        let lost: usize =
            (0..BACK).map(|seed| goes_back(seed, None).unwrap_or_else(|why| panic!("SEED={seed}: {why}"))).sum();
        assert!(lost > 100, "most have lost something: {lost}");
        let noticed = (0..BACK).find(|seed| goes_back(*seed, Some(FenceFlaw::AnyPast)).is_err());
        assert!(noticed.is_some(), "it is not noticed if nobody asks for the log");
    }
}
