//! The writer over a disk that blocks, and one that runs full: nothing is acknowledged or visible before it is durable,
//! and nothing acknowledged is lost.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use redb::StorageBackend;
use switchboard::clock::Clock;
use switchboard::limiter::Limiter;
use switchboard::metrics::Metrics;
use switchboard::room::Holder;
use switchboard::store::{IntegrityCheck, Store, StoreFile};
use switchboard::writer::{Failure, Writer, WriterContext, WriterInput};
use switchboard_core::remote::version::{self, Seen};
use switchboard_core::remote::wire::CommitCall;
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::store::Change;
use switchboard_core::view::{Read, View};
use switchboard_faults::disk::{Disk, DiskFile, Image, Trouble};
use switchboard_faults::seed_of;
use switchboard_sim::random::Random;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Length of the log's halves, bytes: every eighth commit or so is a checkpoint.
const LOG_HALF_BYTES: usize = 32 << 10;

/// A disk whose writes or syncs block while its gate is shut.
#[derive(Clone, Debug)]
struct Gated {
    disk: Disk,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

/// What blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    Writes,
    Syncs,
}

#[derive(Debug, Default)]
struct Gate {
    shut: Option<Blocked>,
    waiting: bool,
    /// How many may pass though it is shut.
    passes: u32,
}

impl Gated {
    fn new() -> Self {
        Self { disk: Disk::of(Image::default()), gate: Arc::default() }
    }

    fn set(&self, shut: Option<Blocked>) {
        self.gate.0.lock().expect("no panic").shut = shut;
        self.gate.1.notify_all();
    }

    /// Lets one pass while the gate stays shut, and waits until the next one blocks.
    fn let_one_pass(&self) {
        let mut gate = self.gate.0.lock().expect("no panic");
        (gate.passes, gate.waiting) = (1, false);
        self.gate.1.notify_all();
        drop(gate);
        self.wait_for_it();
    }

    /// Waits until something blocks.
    fn wait_for_it(&self) {
        let gate = self.gate.0.lock().expect("no panic");
        drop(self.gate.1.wait_while(gate, |gate| !gate.waiting).expect("no panic"));
    }

    fn pass(&self, what: Blocked) {
        let mut gate = self.gate.0.lock().expect("no panic");
        gate.waiting = gate.shut == Some(what);
        self.gate.1.notify_all();
        let wait = |gate: &mut Gate| gate.shut == Some(what) && gate.passes == 0;
        let mut gate = self.gate.1.wait_while(gate, wait).expect("no panic");
        gate.passes = 0;
    }

    fn file(&self, file: StoreFile) -> GatedFile {
        GatedFile { file: self.disk.file(file), disk: self.clone() }
    }
}

/// A file of such a disk.
#[derive(Debug)]
struct GatedFile {
    file: DiskFile,
    disk: Gated,
}

impl StorageBackend for GatedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.pass(Blocked::Syncs);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.pass(Blocked::Writes);
        self.file.write(offset, data)
    }
}

/// A writer over a disk, and the store that it writes to.
struct Town {
    disk: Gated,
    store: Arc<Store>,
    writer: Writer,
    thread: std::thread::JoinHandle<()>,
}

/// A key and its value.
type Row = (u8, Option<u32>);

impl Town {
    fn new() -> Self {
        let disk = Gated::new();
        let files = disk.clone();
        let store = Store::over(move |file| files.file(file), LOG_HALF_BYTES, IntegrityCheck::Quick);
        let store = Arc::new(store.expect("a store"));
        let parts = WriterContext {
            service: Arc::new(Service::new(Config::default())),
            store: Arc::clone(&store),
            clock: Arc::new(Clock::default()),
            limiter: Arc::new(Limiter::new(0)),
            metrics: Arc::new(Metrics::of(&Arc::default())),
            wake: watch::channel(None).0,
            news: Arc::default(),
        };
        let (writer, thread) = Writer::start(parts).expect("a thread");
        Self { disk, store, writer, thread }
    }

    /// Returns a committed row.
    fn committed(&self, key: u8) -> Row {
        self.look(key).expect("a store that is open")
    }

    fn look(&self, key: u8) -> Result<Row, String> {
        let snapshot = self.store.whole().map_err(|error| error.to_string())?;
        let found = snapshot.view(None).get(&[vec![key]]).map_err(|stop| format!("{stop:?}"))?;
        Ok((key, found[0].as_deref().map(|value| u32::from_be_bytes(value.try_into().expect("four bytes")))))
    }

    /// Queues a write that depends on another row's value.
    fn queue(&self, seen: Row, key: u8, value: u32) -> JoinHandle<Result<(), Failure>> {
        let (key_seen, value_seen) = seen;
        let version = version::of_value(value_seen.map(u32::to_be_bytes).as_ref().map(|bytes| &bytes[..]));
        let seen = vec![Seen { read: Read::Get(vec![key_seen]), version }];
        let call = CommitCall { seen, changes: vec![Change::Put(vec![key], value.to_be_bytes().to_vec())] };
        let writer = self.writer.clone();
        tokio::spawn(async move {
            writer.submit(Holder::Service, WriterInput::Commit(call), Seed::new([0; 32])).await.1.map(drop)
        })
    }

    fn end(self) {
        drop(self.writer);
        self.thread.join().expect("no panic");
    }
}

/// Gives the writer time to take what is queued.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[tokio::test]
async fn nothing_is_told_or_seen_before_it_is_kept() {
    // The first commit of a store is a checkpoint, and makes its log; the second one goes into that.
    for before in 0..2 {
        nothing_too_early(before).await;
    }
}

async fn nothing_too_early(commits_before: u32) {
    let town = Town::new();
    for number in 0..commits_before {
        assert_eq!(town.queue((9, None), 8, number).await.expect("no panic"), Ok(()));
    }
    town.disk.set(Some(Blocked::Syncs));
    let first = town.queue((1, None), 1, 10);
    a_while().await;
    town.disk.wait_for_it();
    let over_it = town.queue((1, Some(10)), 2, 20);
    let against_it = town.queue((1, None), 3, 30);
    a_while().await;
    assert!(!first.is_finished() && !over_it.is_finished() && !against_it.is_finished(), "nothing is told too early");
    assert_eq!([town.committed(1), town.committed(2)], [(1, None), (2, None)], "nothing is seen too early");
    town.disk.set(None);
    let told = [first.await, over_it.await, against_it.await].map(|told| told.expect("no panic"));
    assert_eq!(told, [Ok(()), Ok(()), Err(Failure::Changed)]);
    assert_eq!([1, 2, 3].map(|key| town.committed(key)), [(1, Some(10)), (2, Some(20)), (3, None)]);

    town.disk.set(Some(Blocked::Writes));
    let first = town.queue((1, Some(10)), 1, 11);
    a_while().await;
    town.disk.wait_for_it();
    let over_it = town.queue((1, Some(11)), 2, 21);
    a_while().await;
    town.disk.disk.fail(Trouble::Full(0));
    town.disk.set(None);
    assert_eq!(first.await.expect("no panic"), Err(Failure::Unavailable));
    assert!(over_it.await.expect("no panic").is_err(), "it has read what is not there");
    town.disk.disk.fail(Trouble::None);
    // The first write may find the store still closed, and reopens it.
    let _ = town.queue((1, Some(0)), 1, 0).await;
    assert_eq!([town.committed(1), town.committed(2)], [(1, Some(10)), (2, Some(20))]);
    assert_eq!(town.queue((1, Some(10)), 1, 12).await.expect("no panic"), Ok(()), "there is room again");
    assert_eq!(town.committed(1), (1, Some(12)));
    town.end();
}

#[tokio::test]
async fn what_is_decided_over_a_commit_is_told_after_it_and_fails_with_it() {
    let town = Town::new();
    // The first commit of a store makes its log.
    assert_eq!(town.queue((9, None), 8, 0).await.expect("no panic"), Ok(()));
    let value = |number| (1, Some(number));
    town.queue((1, None), 1, 10).await.expect("no panic").expect("there is room");
    for (trouble, end) in [(Trouble::None, 14), (Trouble::Full(0), 10)] {
        town.disk.set(Some(Blocked::Writes));
        let before = town.committed(1);
        // A lone input is committed by the writer itself. What comes meanwhile is one group ...
        let alone = town.queue((9, None), 7, 1);
        a_while().await;
        town.disk.wait_for_it();
        let group = [town.queue(before, 1, 11), town.queue(value(11), 1, 12)];
        a_while().await;
        town.disk.let_one_pass();
        assert_eq!(alone.await.expect("no panic"), Ok(()));
        // ... over whose commit the next one is decided.
        let over_it = [town.queue(value(12), 1, 13), town.queue(value(13), 1, 14)];
        let against_it = town.queue(before, 3, 30);
        a_while().await;
        let all: Vec<_> = group.into_iter().chain(over_it).collect();
        assert!(
            all.iter().all(|queued| !queued.is_finished()) && !against_it.is_finished(),
            "nothing is told too early"
        );
        assert_eq!(town.committed(1), before, "nothing is seen too early");
        town.disk.disk.fail(trouble);
        town.disk.set(None);
        let is_kept = end == 14;
        for queued in all {
            let wanted = if is_kept { Ok(()) } else { Err(Failure::Unavailable) };
            assert_eq!(queued.await.expect("no panic"), wanted);
        }
        let wanted = if is_kept { Failure::Changed } else { Failure::Unavailable };
        assert_eq!(against_it.await.expect("no panic"), Err(wanted));
        town.disk.disk.fail(Trouble::None);
        // Reopens the store if it is closed.
        let _ = town.queue((2, None), 2, 0).await;
        assert_eq!([town.committed(1), town.committed(3)], [value(end), (3, None)]);
        town.queue(value(end), 1, 10).await.expect("no panic").expect("there is room again");
    }
    town.end();
}

#[tokio::test(flavor = "multi_thread")]
async fn counting_loses_nothing_while_the_disk_runs_full_again_and_again() {
    /// How often the disk runs full while a client writes.
    const TIMES: u32 = 20;
    let seed = seed_of("counting");
    let (mut random, town, count) = (Random::new(seed), Arc::new(Town::new()), Arc::new(Count::default()));
    let clients: Vec<_> = (0..8).map(|_| tokio::spawn(counting(Arc::clone(&town), Arc::clone(&count)))).collect();
    let (mut times, mut tries) = (0, 0);
    while times < TIMES {
        tries += 1;
        assert!(tries < 100 * TIMES, "writes fail while the disk is full");
        let before = count.unclear.load(Ordering::Relaxed);
        town.disk.disk.fail(Trouble::Full(random.below(40)));
        tokio::time::sleep(Duration::from_millis(2)).await;
        town.disk.disk.fail(Trouble::None);
        tokio::time::sleep(Duration::from_millis(2)).await;
        times += u32::from(count.unclear.load(Ordering::Relaxed) > before);
    }
    count.is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.expect("no panic");
    }
    // Reopens the store if it is closed.
    let _ = town.queue((2, None), 2, 0).await;
    let (kept, unclear) = (count.kept.load(Ordering::Relaxed), count.unclear.load(Ordering::Relaxed));
    let counted = town.committed(1).1.unwrap_or(0);
    println!("{counted} counted, {kept} acknowledged, {unclear} unclear");
    assert!(kept > 0, "somebody counted");
    assert!((kept..=kept + unclear).contains(&counted));
    Arc::into_inner(town).expect("nobody else has it").end();
}

/// Results that clients were told.
#[derive(Default)]
struct Count {
    kept: AtomicU32,
    unclear: AtomicU32,
    is_over: AtomicBool,
}

/// Increments a row shared by all clients, on the value that was read or not at all.
async fn counting(town: Arc<Town>, count: Arc<Count>) {
    while !count.is_over.load(Ordering::Relaxed) {
        let Ok(seen) = town.look(1) else {
            // A write reopens the store.
            let _ = town.queue((2, None), 2, 0).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        match town.queue(seen, 1, seen.1.unwrap_or(0) + 1).await.expect("no panic") {
            Ok(()) => count.kept.fetch_add(1, Ordering::Relaxed),
            Err(Failure::Changed) => 0,
            Err(_) => count.unclear.fetch_add(1, Ordering::Relaxed),
        };
    }
}
