//! [`Database`]: a PostgreSQL in memory, its links, and what befalls them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::DuplexStream;
use tokio::sync::{OwnedMutexGuard, mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use super::super::fence::{COMMIT, COMMIT_KEPT, COMMIT_KNOWN};
use super::super::link::SESSION;
use super::super::target::{DatabaseTarget, DatabaseWay};
use super::statements::{FenceFlaw, Statement, StatementResult, Tables};
use super::wire::{ClientMessage, Connection};

/// Bytes that a link holds.
const LINK_BYTES: usize = 1 << 20;
/// How long a session may do nothing in a transaction.
const IDLE: Duration = Duration::from_secs(5);
/// How long a statement may be held up, milliseconds: longer than a lane may be silent.
const LATE_MS_MAX: u64 = 14_000;
/// How many times as often as other statements commits are held up: what fences are for.
const COMMITS: u64 = 5;
const DISK_FULL: &str = "53100";
const SERIALIZATION_FAILURE: &str = "40001";

/// How often something befalls a statement, per mille.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkFaults {
    /// Its link breaks before it arrives.
    pub lost: u64,
    /// It arrives late, after its link broke.
    pub late: u64,
    /// Its link breaks before its answer comes.
    pub unheard: u64,
    /// It waits for some seconds.
    pub slow: u64,
    /// It is refused, and a write may be tried again.
    pub refused: u64,
    /// Its wait for the standby is cancelled.
    pub unsure: u64,
}

/// What befalls a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Fine,
    Lost,
    Late,
    Unheard,
    Slow,
    Refused,
    Unsure,
}

/// What the database holds.
#[derive(Default)]
struct Disk {
    tables: Tables,
    /// What the standby has, where that is less.
    standby: Option<Tables>,
}

/// A PostgreSQL in memory.
pub struct Database {
    disk: Arc<tokio::sync::Mutex<Disk>>,
    random: Mutex<fastrand::Rng>,
    faults: Mutex<LinkFaults>,
    /// How often it was started; links of an earlier time are broken.
    life: watch::Sender<u64>,
    /// Until when it takes no links.
    down: Mutex<Instant>,
    began: Instant,
    /// Is told of lanes whose commits are held up.
    held_up: Mutex<Option<mpsc::UnboundedSender<Vec<u8>>>>,
}

impl Database {
    /// Makes an empty one.
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            disk: Arc::default(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            faults: Mutex::default(),
            life: watch::Sender::new(0),
            down: Mutex::new(Instant::now()),
            began: Instant::now(),
            held_up: Mutex::default(),
        })
    }

    /// Returns how nodes reach it.
    pub fn target(self: &Arc<Self>) -> DatabaseTarget {
        let target = DatabaseTarget::of("postgres://sb@localhost/sb").expect("a URL");
        DatabaseTarget { way: DatabaseWay::Simulated(Arc::clone(self)), ..target }
    }

    /// Has this befall statements from now on.
    pub fn strike(&self, faults: LinkFaults) {
        *self.faults.lock() = faults;
    }

    /// Returns what is told of each lane whose commit is held up.
    pub fn held_up(&self) -> mpsc::UnboundedReceiver<Vec<u8>> {
        let (tell, told) = mpsc::unbounded_channel();
        *self.held_up.lock() = Some(tell);
        told
    }

    /// Gives it a defect.
    pub async fn flaw(&self, flaw: Option<FenceFlaw>) {
        self.disk.lock().await.tables.flaw = flaw;
    }

    /// Breaks all links, and takes none for a while.
    pub fn restart(&self, pause: Duration) {
        *self.down.lock() = Instant::now() + pause;
        self.life.send_modify(|life| *life += 1);
    }

    /// Has the standby take over: what it did not get is gone.
    pub async fn fail_over(&self, pause: Duration) {
        self.restart(pause);
        let mut disk = self.disk.lock().await;
        if let Some(standby) = disk.standby.take() {
            disk.tables = standby;
        }
    }

    /// Goes back to what it held at an earlier time; nothing happens between `before` and that.
    pub async fn go_back(&self, earlier: Tables, pause: Duration, before: impl FnOnce()) {
        let mut disk = self.disk.lock().await;
        before();
        *disk = Disk { tables: earlier, standby: None };
        self.restart(pause);
    }

    /// Returns what it holds.
    pub async fn tables(&self) -> Tables {
        self.disk.lock().await.tables.clone()
    }

    /// Looks at what it holds, unless a transaction is open.
    pub fn look<T>(&self, look: impl FnOnce(&Tables) -> T) -> Option<T> {
        self.disk.try_lock().ok().map(|disk| look(&disk.tables))
    }

    /// Makes a link; one to a database that takes none is broken.
    pub async fn dial(self: &Arc<Self>) -> DuplexStream {
        self.wait(0, 2).await;
        let (near, far) = tokio::io::duplex(LINK_BYTES);
        let own = Arc::clone(self);
        if Instant::now() >= *self.down.lock() {
            let mut life = self.life.subscribe();
            let born = *life.borrow_and_update();
            tokio::spawn(async move {
                tokio::select! {
                    biased;
                    _ = life.wait_for(|life| *life != born) => {}
                    // A link that breaks is told to its client by its end.
                    _ = Session::serve(own, far, born) => {}
                }
            });
        }
        near
    }

    async fn run(&self, statement: &Statement, given: &[Option<Vec<u8>>], is_unsure: bool) -> StatementResult {
        let mut disk = self.disk.lock().await;
        disk.tables.now = self.time();
        let before = statement.writes.then(|| disk.tables.clone());
        let answer = (statement.run)(&mut disk.tables, given);
        if let Some(before) = before {
            disk.replicate(before, is_unsure);
        }
        answer
    }

    /// Draws what befalls a statement, which is held up so many times as often as others.
    fn fate(&self, writes: bool, held_up: u64) -> Fate {
        let LinkFaults { lost, late, unheard, slow, refused, unsure } = *self.faults.lock();
        let (late, slow) = (late * held_up, slow * held_up);
        let mut drawn = self.random.lock().u64(0..1_000);
        let fates = [(lost, Fate::Lost), (late, Fate::Late), (unheard, Fate::Unheard), (slow, Fate::Slow)];
        let writing = [(refused, Fate::Refused), (unsure, Fate::Unsure)];
        for (often, fate) in fates.into_iter().chain(writing.into_iter().filter(|_| writes)) {
            if drawn < often {
                return fate;
            }
            drawn -= often;
        }
        Fate::Fine
    }

    /// What happens before a statement is run.
    async fn befall(&self, fate: Fate) -> io::Result<()> {
        match fate {
            Fate::Lost | Fate::Late => return Err(io::Error::other("the link broke")),
            Fate::Slow => self.wait(500, LATE_MS_MAX).await,
            _ => self.wait(0, 3).await,
        }
        Ok(())
    }

    fn refusal(&self) -> &'static str {
        if self.random.lock().bool() { DISK_FULL } else { SERIALIZATION_FAILURE }
    }

    async fn wait(&self, least_ms: u64, most_ms: u64) {
        let time = self.random.lock().u64(least_ms * 1_000..=most_ms * 1_000);
        sleep(Duration::from_micros(time)).await;
    }

    fn time(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

/// A client's session.
struct Session {
    database: Arc<Database>,
    /// When the database was started that it belongs to.
    born: u64,
    connection: Connection,
    prepared: BTreeMap<String, &'static Statement>,
    bound: Option<(&'static Statement, Vec<Option<Vec<u8>>>)>,
    transaction: Option<Transaction>,
}

impl Session {
    /// Serves a client until its link breaks.
    async fn serve(database: Arc<Database>, stream: DuplexStream, born: u64) -> io::Result<()> {
        let connection = Connection::greet(stream).await?;
        let mut session =
            Self { database, born, connection, prepared: BTreeMap::new(), bound: None, transaction: None };
        loop {
            let next = session.connection.next();
            let message = match session.transaction {
                Some(_) => timeout(IDLE, next).await.map_err(io::Error::other)?,
                None => next.await,
            };
            match message? {
                ClientMessage::Query(text) => session.query(&text).await?,
                ClientMessage::Parse { name, text } => {
                    session.prepared.insert(name, Statement::of(&text));
                    session.connection.done(b'1');
                }
                ClientMessage::Describe(name) => {
                    let statement = session.prepared[&name];
                    session.connection.describe(statement.parameters, statement.columns);
                }
                ClientMessage::Bind { name, parameters } => {
                    session.bound = Some((session.prepared[&name], parameters));
                    session.connection.done(b'2');
                }
                ClientMessage::Execute => session.execute().await?,
                ClientMessage::Close => session.connection.done(b'3'),
                ClientMessage::Sync => session.connection.ready(session.transaction.is_some()).await?,
                ClientMessage::Terminate => return Ok(()),
            }
        }
    }

    async fn query(&mut self, text: &str) -> io::Result<()> {
        match text {
            "START TRANSACTION" => {
                self.database.wait(0, 2).await;
                self.transaction = Some(Transaction::begin(Arc::clone(&self.database.disk).lock_owned().await));
            }
            "COMMIT" => {
                let fate = self.database.fate(true, 1);
                self.database.befall(fate).await?;
                if let Some(open) = self.transaction.take() {
                    open.commit(fate == Fate::Unsure);
                }
                self.after(fate)?;
            }
            "ROLLBACK" => self.transaction = None,
            SESSION => {}
            text => panic!("the simulated database knows no {text}"),
        }
        self.connection.complete(0);
        self.connection.ready(self.transaction.is_some()).await
    }

    async fn execute(&mut self) -> io::Result<()> {
        let (statement, parameters) = self.bound.take().ok_or_else(|| io::Error::other("nothing is bound"))?;
        let database = Arc::clone(&self.database);
        let is_commit = [COMMIT, COMMIT_KEPT, COMMIT_KNOWN].contains(&statement.text);
        let fate = database.fate(statement.writes, if is_commit { COMMITS } else { 1 });
        if is_commit && matches!(fate, Fate::Late | Fate::Slow) {
            let lane = parameters.first().cloned().flatten().unwrap_or_default();
            let _ = database.held_up.lock().as_ref().map(|tell| tell.send(lane));
        }
        // What is late has left its link behind.
        if fate == Fate::Late && self.transaction.is_none() {
            let born = self.born;
            tokio::spawn(async move {
                database.wait(100, LATE_MS_MAX).await;
                if *database.life.borrow() == born {
                    let _ = database.run(statement, &parameters, false).await;
                }
            });
            return Err(io::Error::other("the link broke"));
        }
        database.befall(fate).await?;
        let answer = match (&mut self.transaction, fate) {
            (_, Fate::Refused) if statement.writes => Err(database.refusal()),
            (Some(open), _) => open.run(statement, &parameters, database.time()),
            (None, _) => database.run(statement, &parameters, fate == Fate::Unsure).await,
        };
        match answer {
            Ok((rows, count)) => {
                self.connection.rows(&rows);
                self.after(fate)?;
                self.connection.complete(count);
            }
            Err(code) => self.connection.refuse(code),
        }
        Ok(())
    }

    /// What happens after a statement was run.
    fn after(&mut self, fate: Fate) -> io::Result<()> {
        match fate {
            Fate::Unheard => return Err(io::Error::other("the link broke")),
            Fate::Unsure => self.connection.warn(),
            _ => {}
        }
        Ok(())
    }
}

impl Disk {
    /// Sends the standby what was changed, unless nobody waits for it.
    fn replicate(&mut self, before: Tables, is_unsure: bool) {
        if is_unsure {
            self.standby.get_or_insert(before);
        } else {
            self.standby = None;
        }
    }
}

/// A transaction, beside which nobody else does anything.
struct Transaction {
    disk: OwnedMutexGuard<Disk>,
    before: Option<Tables>,
}

impl Transaction {
    fn begin(disk: OwnedMutexGuard<Disk>) -> Self {
        Self { before: Some(disk.tables.clone()), disk }
    }

    fn run(&mut self, statement: &Statement, given: &[Option<Vec<u8>>], now: i64) -> StatementResult {
        self.disk.tables.now = now;
        (statement.run)(&mut self.disk.tables, given)
    }

    fn commit(mut self, is_unsure: bool) {
        if let Some(before) = self.before.take() {
            self.disk.replicate(before, is_unsure);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            self.disk.tables = before;
        }
    }
}
