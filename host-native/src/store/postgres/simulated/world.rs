//! Worlds: what befalls processes and their database, drawn from a seed, and what must hold of it.

mod back;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use switchboard_core::key::{self, Space};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::super::share::LANES;
use super::super::{Node, place};
use super::database::{Database, LinkFaults};
use super::draw_from;
use super::process::{NodeAsk, SimulatedProcess, Untold, count_of, owner_of};
use super::statements::{FenceFlaw, Tables};
use super::tellings::Tellings;

/// Most processes at a time.
const PROCESSES_MAX: usize = 4;
/// Numbers that accounts want.
const NUMBERS: u32 = 200;
/// Accounts that want one at once.
const CLAIMS: usize = 3;
/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the nodes may take to serve all accounts, once nothing befalls them any more.
const CALM: Duration = Duration::from_mins(2);
/// How long each answer may take then.
const CALM_ANSWER: Duration = Duration::from_secs(2);
const ZERO: Duration = Duration::ZERO;

/// What happened in a world.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorldTally {
    pub worlds: u64,
    pub told: u64,
    pub untold: u64,
    pub stills: u64,
    pub deaths: u64,
    pub leaves: u64,
    pub restarts: u64,
    pub failovers: u64,
    pub lanes: u64,
}

impl std::ops::AddAssign for WorldTally {
    fn add_assign(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.told += other.told;
        self.untold += other.untold;
        self.stills += other.stills;
        self.deaths += other.deaths;
        self.leaves += other.leaves;
        self.restarts += other.restarts;
        self.failovers += other.failovers;
        self.lanes += other.lanes;
    }
}

/// Everything that clients and the seed have to do with.
struct World {
    database: Arc<Database>,
    processes: Mutex<Vec<Arc<SimulatedProcess>>>,
    /// Processes that have died, and still may have something to say.
    gone: Mutex<Vec<Arc<SimulatedProcess>>>,
    accounts: Vec<u32>,
    tellings: Mutex<Tellings>,
    fault: Mutex<Option<String>>,
    tally: Mutex<WorldTally>,
}

/// Has a commit arrive after its process was killed, sooner or later than another one has its rows; the error says what
/// did not hold.
fn arrives_late(seed: u64, flaw: Option<FenceFlaw>) -> Result<(), String> {
    in_world(seed, async |random| {
        let database = Database::new(random.u64(..));
        database.flaw(flaw).await;
        let account = random.u32(1..5_000);
        let added = async |process: &Arc<SimulatedProcess>| {
            for _ in 0..300 {
                if let Ok(told) = Arc::clone(process).serve(NodeAsk::Add(account)).await {
                    return Ok(told);
                }
                sleep(Duration::from_millis(100)).await;
            }
            Err("a process without others does not serve".to_owned())
        };
        let first = SimulatedProcess::start(&database, ZERO);
        added(&first).await?;
        let mut held_up = database.held_up();
        database.strike(LinkFaults { late: 1_000, ..LinkFaults::default() });
        first.spawn(Arc::clone(&first).serve(NodeAsk::Add(account)));
        // Before it asks what became of it.
        held_up.recv().await.ok_or("no commit is held up")?;
        first.kill();
        database.strike(LinkFaults::default());
        let second = SimulatedProcess::start(&database, ZERO);
        added(&second).await?;
        let count = added(&second).await?;
        // Until it is too late even for that.
        sleep(Duration::from_secs(20)).await;
        let lanes = second.lanes();
        let told = Arc::clone(&second).serve(NodeAsk::Look(account)).await.map_err(|why| format!("{why:?}"))?;
        second.kill();
        let held = database.look(|tables| lanes.iter().try_for_each(|node| is_true(node, tables)));
        held.ok_or("a transaction stays open")??;
        if told == count { Ok(()) } else { Err(format!("{count} were counted, and {told} are told")) }
    })
}

/// Runs something in virtual time, with what is drawn from a seed.
fn in_world<T>(seed: u64, live: impl AsyncFnOnce(&mut fastrand::Rng) -> Result<T, String>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    draw_from(seed);
    runtime.map_err(|error| error.to_string())?.block_on(live(&mut fastrand::Rng::with_seed(seed)))
}

/// Runs the world of a seed to its end; the error says what did not hold.
pub fn run(seed: u64, flaw: Option<FenceFlaw>) -> Result<WorldTally, String> {
    in_world(seed, async |random| {
        let world = World::of(random, flaw).await;
        world.live(random).await;
        world.rest().await;
        let processes: Vec<_> = world.processes.lock().drain(..).collect();
        processes.iter().for_each(|process| process.kill());
        let fault = world.fault.lock().take();
        let tally = *world.tally.lock();
        fault.map_or(Ok(tally), Err)
    })
}

impl World {
    async fn of(random: &mut fastrand::Rng, flaw: Option<FenceFlaw>) -> Arc<Self> {
        let database = Database::new(random.u64(..));
        database.flaw(flaw).await;
        Arc::new(Self {
            database,
            processes: Mutex::default(),
            gone: Mutex::default(),
            accounts: (0..random.usize(2..8)).map(|_| random.u32(1..5_000)).collect(),
            tellings: Mutex::default(),
            fault: Mutex::default(),
            tally: Mutex::new(WorldTally { worlds: 1, ..WorldTally::default() }),
        })
    }

    fn note(&self, held: Result<(), String>) {
        if let Err(why) = held {
            self.fault.lock().get_or_insert(why);
        }
    }

    fn pick(&self, random: &mut fastrand::Rng) -> Option<Arc<SimulatedProcess>> {
        let processes = self.processes.lock();
        random.choice(processes.iter()).cloned()
    }

    fn join(&self, random: &mut fastrand::Rng) {
        let mut processes = self.processes.lock();
        if processes.len() < PROCESSES_MAX {
            let ahead = Duration::from_millis(random.u64(0..8_000));
            processes.push(SimulatedProcess::start(&self.database, ahead));
        }
    }

    fn part(&self, process: &Arc<SimulatedProcess>) {
        self.processes.lock().retain(|one| !Arc::ptr_eq(one, process));
        self.gone.lock().push(Arc::clone(process));
    }

    /// Lets clients ask and things happen for a while.
    async fn live(self: &Arc<Self>, random: &mut fastrand::Rng) {
        for _ in 0..random.usize(1..=3) {
            self.join(random);
        }
        let often = |random: &mut fastrand::Rng| if random.bool() { random.u64(0..=40) } else { 0 };
        self.database.strike(LinkFaults {
            lost: often(random),
            late: often(random),
            unheard: often(random),
            slow: often(random) / 2,
            refused: often(random),
            unsure: often(random),
        });
        let clients: Vec<_> = (0..random.usize(2..=5))
            .map(|_| tokio::spawn(Arc::clone(self).ask_again_and_again(random.fork())))
            .collect();
        let struck = tokio::spawn(Arc::clone(self).strike(self.database.held_up(), random.fork()));
        let until = Instant::now() + Duration::from_secs(random.u64(15..60));
        while Instant::now() < until && self.fault.lock().is_none() {
            sleep(Duration::from_millis(random.u64(0..10_000))).await;
            self.happen(random).await;
        }
        for client in clients.into_iter().chain([struck]) {
            client.abort();
            let _ = client.await;
        }
    }

    /// Has processes stand still or die while a commit of theirs is held up.
    async fn strike(self: Arc<Self>, mut held_up: mpsc::UnboundedReceiver<Vec<u8>>, mut random: fastrand::Rng) {
        while let Some(lane) = held_up.recv().await {
            let is_its = |process: &&Arc<SimulatedProcess>| process.lanes().iter().any(|node| node.id == *lane);
            let process = self.processes.lock().iter().find(is_its).cloned();
            let Some(process) = process else { continue };
            match random.u32(0..4) {
                0 => self.kill(&process, &mut random),
                1..=2 => self.still(process, random.u64(0..16_000)),
                _ => {}
            }
        }
    }

    fn kill(self: &Arc<Self>, process: &Arc<SimulatedProcess>, random: &mut fastrand::Rng) {
        self.tally.lock().deaths += 1;
        process.kill();
        self.part(process);
        self.join(random);
    }

    fn still(&self, process: Arc<SimulatedProcess>, millis: u64) {
        self.tally.lock().stills += 1;
        process.stand_still();
        tokio::spawn(async move {
            sleep(Duration::from_millis(millis)).await;
            process.go_on();
        });
    }

    async fn happen(self: &Arc<Self>, random: &mut fastrand::Rng) {
        let process = self.pick(random);
        let pause = Duration::from_millis(random.u64(0..4_000));
        match (random.u32(0..10), process) {
            (0..=3, Some(process)) => self.still(process, random.u64(0..16_000)),
            (4..=5, Some(process)) => self.kill(&process, random),
            (6, Some(process)) => {
                self.tally.lock().leaves += 1;
                self.part(&process);
                let leaving = process.spawn(Arc::clone(&process).leave());
                // It is killed if it does not.
                if timeout(Duration::from_secs(10), leaving).await.is_err() {
                    process.kill();
                }
            }
            (7, _) => {
                self.tally.lock().restarts += 1;
                self.database.restart(pause);
            }
            (8, _) => {
                self.tally.lock().failovers += 1;
                self.database.fail_over(pause).await;
            }
            _ => self.join(random),
        }
    }

    async fn ask_again_and_again(self: Arc<Self>, mut random: fastrand::Rng) {
        loop {
            sleep(Duration::from_millis(random.u64(0..200))).await;
            let account = self.accounts[random.usize(..self.accounts.len())];
            let ask = match random.u32(0..10) {
                0..=4 => NodeAsk::Add(account),
                5..=8 => NodeAsk::Look(account),
                _ => {
                    self.claim_at_once(random.u32(0..NUMBERS), &mut random).await;
                    continue;
                }
            };
            if let Some(process) = self.pick(&mut random) {
                self.ask(&process, ask, PATIENCE).await;
            }
        }
    }

    /// Has accounts claim a number at once.
    async fn claim_at_once(self: &Arc<Self>, number: u32, random: &mut fastrand::Rng) {
        let mut claims = tokio::task::JoinSet::new();
        for _ in 0..CLAIMS {
            let account = self.accounts[random.usize(..self.accounts.len())];
            if let Some(process) = self.pick(random) {
                let world = Arc::clone(self);
                claims.spawn(async move { world.ask(&process, NodeAsk::Claim(account, number), PATIENCE).await });
            }
        }
        claims.join_all().await;
    }

    /// Asks a process, which passes it on if another one has the account; returns whether it was told anything.
    async fn ask(&self, process: &Arc<SimulatedProcess>, ask: NodeAsk, patience: Duration) -> bool {
        let account = ask.account();
        let least = self.tellings.lock().least(account);
        if let NodeAsk::Add(account) = ask {
            self.tellings.lock().ask_to_add(account);
        }
        let asked = async {
            let told = process.spawn(Arc::clone(process).serve(ask)).await.ok()?;
            if !matches!(told, Err(Untold::Elsewhere)) {
                return Some(told);
            }
            let id = process.owner_of(account)?;
            let other = self.processes.lock().iter().find(|other| other.id() == id).cloned()?;
            other.spawn(Arc::clone(&other).serve(ask)).await.ok()
        };
        let Ok(Some(Ok(told))) = timeout(patience, asked).await else {
            self.tellings.lock().untold += 1;
            return false;
        };
        let mut tellings = self.tellings.lock();
        let held = match ask {
            NodeAsk::Add(account) => tellings.added(account, least, told),
            NodeAsk::Look(account) => tellings.looked(account, least, told),
            NodeAsk::Claim(_, number) => tellings.claimed(number, told),
        };
        drop(tellings);
        self.note(held);
        self.compare();
        true
    }

    /// Compares what nodes have at hand with what is stored.
    fn compare(&self) {
        let processes = self.processes.lock().clone();
        let lanes = processes.iter().flat_map(|process| process.lanes());
        let held = self.database.look(|tables| lanes.into_iter().try_for_each(|node| is_true(&node, tables)));
        self.note(held.unwrap_or(Ok(())));
    }

    /// Ends all faults: then every account is served by every process, and all that was told is stored.
    async fn rest(&self) {
        self.database.strike(LinkFaults::default());
        let processes = self.processes.lock().clone();
        processes.iter().chain(&*self.gone.lock()).for_each(|process| process.go_on());
        if processes.is_empty() {
            self.processes.lock().push(SimulatedProcess::start(&self.database, ZERO));
        }
        let until = Instant::now() + CALM;
        while !self.is_served().await {
            if Instant::now() > until {
                return self.note(Err("not all accounts are served in the end".into()));
            }
            sleep(Duration::from_secs(1)).await;
        }
        let tables = self.database.tables().await;
        let number = |key: &[u8]| {
            let value = tables.kv.get(&place::stored(key));
            value.and_then(|value| value.as_slice().try_into().ok()).map_or(0, u64::from_be_bytes)
        };
        let tellings = self.tellings.lock();
        self.note(tellings.compare(|account| number(&count_of(account)), |claimed| number(&owner_of(claimed))));
        {
            let mut tally = self.tally.lock();
            (tally.told, tally.untold, tally.lanes) = (tellings.told, tellings.untold, tables.lanes.len() as u64);
        }
        self.compare();
        for process in self.processes.lock().iter().chain(&*self.gone.lock()) {
            if let Some(why) = process.broken().first() {
                self.note(Err(format!("a node has ended: {why}")));
            }
        }
    }

    /// Returns whether each process is told the count of each account, and adds to it, and none has more lanes than it is
    /// to have.
    async fn is_served(&self) -> bool {
        let processes = self.processes.lock().clone();
        if processes.iter().any(|process| process.lanes().len() > LANES) {
            return false;
        }
        for account in self.accounts.clone() {
            for process in &processes {
                for ask in [NodeAsk::Add(account), NodeAsk::Look(account)] {
                    if !self.ask(process, ask, CALM_ANSWER).await {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// Compares what a node has at hand with what is stored, if its lane stands where it knows it to stand.
fn is_true(node: &Node, tables: &Tables) -> Result<(), String> {
    let rows = node.rows.read();
    if tables.lanes.get(node.id.as_slice()).is_none_or(|lane| lane.dead || lane.seq != rows.at.seq) {
        return Ok(());
    }
    for (stored, value) in &tables.kv {
        let key = place::row_of(stored);
        let is_own = matches!(key::space_of(&key), Some(Space::Account(account)) if node.slots.has(account));
        let is_here = is_own || place::is_shared(&key);
        let known = if is_here { rows.known.get(&key).ok() } else { None };
        // What others have changed of the shared rows since is not known yet.
        let (last, row) = tables.last_shared();
        let is_old = place::is_shared(&key) && (last != rows.at.shared.seq || row.mark != rows.at.shared.mark);
        if let Some(known) = known
            && !is_old
            && known != Some(value)
        {
            return Err(format!("a node has {known:?} at hand, where {value:?} is stored"));
        }
    }
    Ok(())
}

mod tests {
    use super::*;

    /// Worlds before each commit; `WORLDS` in the environment asks for more.
    const SHARE: u64 = 1_000;
    /// Worlds in which a defect must be noticed.
    const FLAWED: u64 = 1_500;
    /// Commits that arrive late.
    const LATE: u64 = 40;

    fn of_environment(name: &str) -> Option<u64> {
        std::env::var(name).ok()?.parse().ok()
    }

    /// `SEED` in the environment repeats from a seed.
    #[test]
    fn what_was_acknowledged_holds_in_every_world() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let first = of_environment("SEED").unwrap_or_else(|| u64::from(now.subsec_nanos()) << 20);
        let count = of_environment("WORLDS").unwrap_or(SHARE);
        println!("seed {first}");
        let mut tally = WorldTally::default();
        for seed in first..first + count {
            match run(seed, None) {
                Ok(more) => tally += more,
                Err(why) => panic!("SEED={seed} WORLDS=1: {why}"),
            }
        }
        println!("{tally:?}");
        assert!(tally.told > 10 * tally.worlds, "most is served: {tally:?}");
    }

    #[test]
    fn each_part_of_a_fence_is_needed() {
        let late = |flaw| (0..LATE).filter_map(|seed| arrives_late(seed, flaw).err()).collect::<Vec<_>>();
        assert_eq!(late(None), Vec::<String>::new());
        assert_ne!(late(Some(FenceFlaw::DeadCommits)), Vec::<String>::new(), "it is not noticed");
        let flaws = [FenceFlaw::DeadSigns, FenceFlaw::AnyCommit, FenceFlaw::OldShared];
        let found = flaws.map(|flaw| {
            let noticed = (0..FLAWED).find_map(|seed| Some((seed, run(seed, Some(flaw)).err()?)));
            println!("{flaw:?}: {noticed:?}");
            noticed
        });
        assert!(found.iter().all(Option::is_some), "not all are noticed: {found:?}");
    }
}
