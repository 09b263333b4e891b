//! [`History`]: commits as the service makes them, on a disk that writes them down.
//!
//! Requests run through the core's `step` on the store's own open write, a few of them in one commit, as the
//! writer of a host does; now and then the store is closed and opened again.

use std::sync::OnceLock;

use serde_json::{Value, json};
use switchboard::store::{Look, Snapshot, Store, StoreError};
use switchboard_core::http::request::Request;
use switchboard_core::key;
use switchboard_core::memory::Memory;
use switchboard_core::outside::Answer;
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome, Output};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Order, Scene, View};
use switchboard_core::work;
use switchboard_sim::client::Ask;
use switchboard_sim::random::Random;
use switchboard_tests::house::{assistant, campaign, lead, tool, with};
use twox_hash::XxHash3_128;

use crate::disk::{Disk, Op};

/// When every history begins, seconds since 1970.
const BEGIN: u64 = 1_790_000_000;
/// The longest prompt, bytes: a value of several pages.
const PROMPT_BYTES_MAX: u64 = 12_000;

/// What all rows of a store are together.
pub type Rows = u128;

/// A commit that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    /// Operations of the disk before it.
    pub began: usize,
    /// Operations of the disk when it was acknowledged.
    pub acknowledged: usize,
    /// All rows after it.
    pub rows: Rows,
}

/// What was done to a disk, and what was acknowledged meanwhile.
pub struct History {
    /// Every operation of the disk, from nothing on.
    pub log: Vec<Op>,
    /// The commits, the making of the empty store first.
    pub commits: Vec<Commit>,
}

/// The owner's account: what the first start of a store commits, and its key.
struct Owner {
    changes: Vec<Change>,
    key: String,
}

/// The first start hashes a password: once is enough for all histories.
fn owner() -> &'static Owner {
    static OWNER: OnceLock<Owner> = OnceLock::new();
    OWNER.get_or_init(|| {
        let service = Service::new(Config::default());
        let memory = Memory::default();
        let scene =
            Scene { now: Timestamp::from_seconds(BEGIN), seed: Seed::new([7; 32]), view: &memory, careful: false };
        let mut answers: Vec<Answer> = Vec::new();
        loop {
            let output = service.step(&Input::FirstStart(&answers), &scene).expect("a store in memory");
            match output.outcome {
                Outcome::Reply(reply) => {
                    let switchboard_core::http::reply::Content::Json(body) = reply.content else {
                        unreachable!("the first start shows its secrets")
                    };
                    let secrets: Value = serde_json::from_slice(&body).expect("the secrets are JSON");
                    let key = secrets["api_key"].as_str().unwrap_or_default().to_owned();
                    return Owner { changes: output.changes, key };
                }
                _ => answers.extend(output.sends.iter().filter_map(|send| work::perform(&send.work))),
            }
        }
    })
}

/// A store with what was committed to it.
pub struct Life {
    /// The disk.
    pub disk: Disk,
    /// The store on it.
    pub store: Store,
    /// What was acknowledged.
    pub commits: Vec<Commit>,
    /// The rows that were acknowledged.
    memory: Memory,
    /// The rows after a commit that failed: nobody knows whether it is there until the store is opened again.
    tried: Option<Memory>,
    service: Service,
    random: Random,
    now: Timestamp,
    made: Vec<(&'static str, u64)>,
}

impl Life {
    /// A new store of a seed on an empty disk, after its first start.
    pub fn begin(seed: u64) -> Result<Self, StoreError> {
        let disk = Disk::of(Vec::new());
        let storage = disk.clone();
        let store = Store::over(move || storage.clone(), Look::Quick)?;
        let made = Commit { began: 0, acknowledged: disk.ops(), rows: digest_of(&Memory::default()) };
        let mut life = Self {
            disk,
            store,
            commits: vec![made],
            memory: Memory::default(),
            tried: None,
            service: Service::new(Config::default()),
            random: Random::new(seed),
            now: Timestamp::from_seconds(BEGIN),
            made: Vec::new(),
        };
        let began = life.disk.ops();
        life.store.commit(&owner().changes)?;
        life.acknowledge(began, &owner().changes);
        Ok(life)
    }

    fn acknowledge(&mut self, began: usize, changes: &[Change]) {
        self.memory.apply(changes);
        let commit = Commit { began, acknowledged: self.disk.ops(), rows: digest_of(&self.memory) };
        self.commits.push(commit);
    }

    /// One commit of one to four requests; an error leaves everything unacknowledged.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        let (began, made) = (self.disk.ops(), self.made.len());
        match self.group() {
            Ok(changes) if changes.is_empty() => Ok(()),
            Ok(changes) => {
                self.acknowledge(began, &changes);
                Ok(())
            }
            Err(error) => {
                self.made.truncate(made);
                Err(error)
            }
        }
    }

    fn group(&mut self) -> Result<Vec<Change>, StoreError> {
        let mut changes = Vec::new();
        let mut write = self.store.begin()?;
        for _ in 0..self.random.within(1..=4) {
            self.now = self.now.plus_seconds(self.random.below(3));
            let seed = self.random.seed();
            let asked = self.ask();
            let scene = Scene { now: self.now, seed, view: &write.view(None), careful: false };
            let input = asked.as_ref().map_or(Input::Tick, |(request, _)| Input::Http(request, &[]));
            let Ok(output) = self.service.step(&input, &scene) else {
                return Err(StoreError::of("a step stopped", &"the store failed"));
            };
            write.apply(output.changes.clone());
            changes.extend_from_slice(&output.changes);
            self.learn(asked.and_then(|(_, kind)| kind), output);
        }
        if changes.is_empty() {
            return write.abort().map(|()| changes);
        }
        let mut tried = self.memory.clone();
        tried.apply(&changes);
        self.tried = Some(tried);
        write.commit()?;
        self.tried = None;
        Ok(changes)
    }

    /// Whether the store holds what was acknowledged: of a commit that failed all or nothing, which is then known.
    pub fn settle(&mut self) -> Result<(), String> {
        let snapshot = self.store.snapshot().map_err(|error| error.to_string())?;
        self.settle_as(&snapshot)
    }

    /// The same of another store on what is on the disk.
    pub fn settle_on(&mut self, store: &Store) -> Result<(), String> {
        let snapshot = store.snapshot().map_err(|error| error.to_string())?;
        self.settle_as(&snapshot)
    }

    fn settle_as(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let rows = digest(snapshot).ok_or("its rows cannot be read")?;
        if let Some(tried) = self.tried.take()
            && digest_of(&tried) == rows
        {
            self.memory = tried;
        }
        if digest_of(&self.memory) == rows { Ok(()) } else { Err("a commit is lost or torn".into()) }
    }

    /// What was made can be changed and deleted later.
    fn learn(&mut self, kind: Option<&'static str>, output: Output) {
        if let (Some(kind), Outcome::Reply(reply)) = (kind, output.outcome)
            && let switchboard_core::http::reply::Content::Json(body) = reply.content
            && let Ok(json) = serde_json::from_slice::<Value>(&body)
            && let Some(id) = json["data"]["id"].as_u64()
        {
            self.made.push((kind, id));
        }
    }

    /// A request, and the kind of what it makes; none: durable work.
    fn ask(&mut self) -> Option<(Request, Option<&'static str>)> {
        let what = self.random.weighed(&[(4, 0), (3, 1), (2, 2), (4, 3), (3, 4), (3, 5), (1, 6)]);
        let (ask, kind) = match what {
            0 => (Ask::post("/user/tools", tool(&format!("tool_{}", self.random.below(1_000)))), Some("tools")),
            1 => (Ask::post("/user/assistant", self.assistant()), Some("assistants")),
            2 => (Ask::post("/user/campaigns", campaign(self.one("assistants"))), Some("campaigns")),
            3 => {
                let phone = format!("+4070{:07}", self.random.below(10_000_000));
                (Ask::post("/user/leads", lead(self.one("campaigns"), &phone)), Some("leads"))
            }
            4 => self.change()?,
            5 => {
                let at = self.random.below(self.made.len() as u64);
                let at = usize::try_from(at).ok().filter(|at| *at < self.made.len())?;
                let (kind, id) = self.made.swap_remove(at);
                (Ask::delete(format!("/user/{kind}/{id}")), None)
            }
            _ => return None,
        };
        Some((ask.by(&owner().key), kind))
    }

    fn assistant(&mut self) -> Value {
        let length = usize::try_from(self.random.within(1..=PROMPT_BYTES_MAX)).unwrap_or(1);
        with(
            assistant(),
            &json!({ "name": format!("A{}", self.random.below(1_000)), "system_prompt": "p".repeat(length) }),
        )
    }

    fn change(&mut self) -> Option<(Ask, Option<&'static str>)> {
        let (kind, id) = *self.random.pick(&self.made)?;
        let body = match kind {
            "tools" => tool(&format!("tool_{}", self.random.below(1_000))),
            "assistants" => json!({ "name": format!("B{}", self.random.below(1_000)) }),
            "campaigns" => json!({ "name": format!("C{}", self.random.below(1_000)) }),
            _ => json!({ "status": "completed" }),
        };
        Some((Ask::put(format!("/user/{kind}/{id}"), body), None))
    }

    /// An id of a kind, or one that does not exist.
    fn one(&mut self, kind: &str) -> u64 {
        let of: Vec<u64> = self.made.iter().filter(|(made, _)| *made == kind).map(|(_, id)| *id).collect();
        self.random.pick(&of).copied().unwrap_or(0)
    }

    /// Closes the store and opens it again, as a service that is started anew.
    pub fn restart(&mut self) -> Result<(), StoreError> {
        self.store.reopen()
    }

    /// What was done to the disk.
    pub fn end(self) -> History {
        let Self { disk, store, commits, .. } = self;
        drop(store);
        History { log: disk.log(), commits }
    }
}

impl History {
    /// A history of so many commits.
    ///
    /// # Panics
    /// Where the store fails on a disk that does not.
    pub fn of(seed: u64, commits: u64) -> Self {
        let mut life = Life::begin(seed).expect("a store on a sound disk");
        for number in 1..=commits {
            life.commit().expect("a commit on a sound disk");
            if number % 16 == 0 {
                life.restart().expect("a store on a sound disk");
            }
        }
        life.end()
    }

    /// Whether these rows may be there after so many operations: those of the last acknowledged commit, or of
    /// the one under way.
    pub fn allows(&self, ops: usize, rows: Rows) -> bool {
        let acknowledged = self.commits.partition_point(|commit| commit.acknowledged <= ops);
        let last = acknowledged.checked_sub(1).and_then(|at| self.commits.get(at));
        let next = self.commits.get(acknowledged).filter(|commit| commit.began <= ops);
        [last, next].into_iter().flatten().any(|commit| commit.rows == rows)
    }
}

/// All rows of a view.
pub fn rows_of(view: &dyn View) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    view.scan(key::everything(), Order::Ascending, usize::MAX).ok()
}

/// What all rows of a store are together.
pub fn digest(snapshot: &Snapshot) -> Option<Rows> {
    Some(sum(rows_of(&snapshot.plain())?.iter().map(|(key, value)| (key, value))))
}

fn digest_of(memory: &Memory) -> Rows {
    sum(memory.rows().iter())
}

fn sum<'r>(rows: impl Iterator<Item = (&'r Vec<u8>, &'r Vec<u8>)>) -> Rows {
    let mut bytes = Vec::new();
    for (key, value) in rows {
        for part in [key, value] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
    }
    XxHash3_128::oneshot(&bytes)
}
