//! [`History`]: commits as the service makes them, on a disk that logs its operations.
//!
//! Requests run through the core's `step` on the store's own open write, a few of them per commit, as in the writer of
//! a host; now and then the store is closed and reopened.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use switchboard::store::{self, IntegrityCheck, Snapshot, Store, StoreError, Write};
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

use crate::disk::{Disk, Image, Op};

/// Start of every history, seconds since 1970.
const BEGIN: u64 = 1_790_000_000;
/// Longest prompt, bytes: a value of several pages.
const PROMPT_BYTES_MAX: u64 = 12_000;

/// Lengths of a log's halves, bytes: with the smallest most commits are checkpoints.
const LOG_HALVES: [usize; 4] = [16 << 10, 32 << 10, 64 << 10, 128 << 10];

/// Returns the length of the halves of a log, bytes: another one for each seed.
pub fn log_half_bytes(seed: u64) -> usize {
    usize::try_from(seed % 4).map_or(LOG_HALVES[0], |at| LOG_HALVES[at])
}

/// Checksum over all rows of a store.
pub type Rows = u128;

/// A commit that the store acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Commit {
    /// Disk operations before it.
    pub began: usize,
    /// Disk operations when it was acknowledged.
    pub acknowledged: usize,
    /// Checksum of all rows after it.
    pub rows: Rows,
}

/// The operations of a disk, and the commits acknowledged meanwhile.
pub struct History {
    /// Every disk operation, from an empty disk on.
    pub log: Vec<Op>,
    /// Acknowledged commits, the creation of the empty store first.
    pub commits: Vec<Commit>,
}

/// The owner's account: the changes of a store's first start, and the key.
struct Owner {
    changes: Vec<Change>,
    key: String,
}

/// Returns the owner. The first start hashes a password, so one serves all histories.
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

/// A store together with what was committed to it.
pub struct Life {
    /// The disk in memory.
    pub disk: Disk,
    /// The store on the disk.
    pub store: Arc<Store>,
    /// Acknowledged commits, the creation of the store first.
    pub commits: Vec<Commit>,
    /// Rows of all acknowledged commits.
    memory: Memory,
    /// Rows after a failed commit: whether it took effect is unknown until the store is reopened.
    tried: Option<Memory>,
    service: Service,
    random: Random,
    now: Timestamp,
    made: Vec<(&'static str, u64)>,
}

impl Life {
    /// Creates the store of a seed on an empty disk, after its first start.
    pub fn begin(seed: u64) -> Result<Self, StoreError> {
        let disk = Disk::of(Image::default());
        let store = Arc::new(disk.open(log_half_bytes(seed), IntegrityCheck::Quick)?);
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

    /// Commits one to four requests together; sometimes as many again, which are decided before that commit is made. After
    /// an error none of a commit is acknowledged, nor any that was decided over it.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        let (store, made) = (Arc::clone(&self.store), self.made.len());
        let done = self.groups(&store);
        if done.is_err() {
            self.made.truncate(made);
        }
        done
    }

    fn groups(&mut self, store: &Store) -> Result<(), StoreError> {
        let mut write = store.begin()?;
        let changes = self.decide(&mut write)?;
        let commit = write.into_commit()?;
        if self.random.below(3) > 0 {
            return self.keep(&changes, commit);
        }
        let mut next = store.begin_over(&commit);
        let later = self.decide(&mut next)?;
        self.keep(&changes, commit)?;
        self.keep(&later, next.into_commit()?)
    }

    /// Decides requests; returns what they change, but for what is in no file, and so no part of what a disk must keep.
    fn decide(&mut self, write: &mut Write<'_>) -> Result<Vec<Change>, StoreError> {
        let mut changes = Vec::new();
        for _ in 0..self.random.within(1..=4) {
            self.now = self.now.plus_seconds(self.random.below(3));
            let seed = self.random.seed();
            let asked = self.ask();
            let scene = Scene { now: self.now, seed, view: &write.view(None)?, careful: false };
            let input = asked.as_ref().map_or(Input::Tick, |(request, _)| Input::Http(request, &[]));
            let Ok(output) = self.service.step(&input, &scene) else {
                return Err(StoreError::of("a step stopped", &"the store failed"));
            };
            write.apply(output.changes.clone());
            changes.extend_from_slice(&output.changes);
            self.learn(asked.and_then(|(_, kind)| kind), output);
        }
        changes.retain(|change| !key::is_memory(change.key()));
        Ok(changes)
    }

    /// Makes a commit, which is acknowledged if it succeeds.
    fn keep(&mut self, changes: &[Change], commit: store::Commit) -> Result<(), StoreError> {
        if changes.is_empty() {
            return commit.make();
        }
        let began = self.disk.ops();
        let mut tried = self.memory.clone();
        tried.apply(changes);
        self.tried = Some(tried);
        commit.make()?;
        self.tried = None;
        self.acknowledge(began, changes);
        Ok(())
    }

    /// Checks that the store holds what was acknowledged; resolves whether a failed commit took effect.
    pub fn settle(&mut self) -> Result<(), String> {
        let snapshot = self.store.whole().map_err(|error| error.to_string())?;
        self.settle_as(&snapshot)
    }

    /// Checks the same on another store over this disk's content.
    pub fn settle_on(&mut self, store: &Store) -> Result<(), String> {
        let snapshot = store.whole().map_err(|error| error.to_string())?;
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

    /// Notes a created resource, so that later requests can change or delete it.
    fn learn(&mut self, kind: Option<&'static str>, output: Output) {
        if let (Some(kind), Outcome::Reply(reply)) = (kind, output.outcome)
            && let switchboard_core::http::reply::Content::Json(body) = reply.content
            && let Ok(json) = serde_json::from_slice::<Value>(&body)
            && let Some(id) = json["data"]["id"].as_u64()
        {
            self.made.push((kind, id));
        }
    }

    /// Draws a request, with the kind of resource that it creates; `None` means durable work.
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

    /// Draws an id of a kind, or one that does not exist.
    fn one(&mut self, kind: &str) -> u64 {
        let of: Vec<u64> = self.made.iter().filter(|(made, _)| *made == kind).map(|(_, id)| *id).collect();
        self.random.pick(&of).copied().unwrap_or(0)
    }

    /// Closes the store and opens it again, like a restarted service.
    pub fn restart(&mut self) -> Result<(), StoreError> {
        self.store.reopen()
    }

    /// Closes the store; returns its history.
    pub fn end(self) -> History {
        let Self { disk, store, commits, .. } = self;
        drop(store);
        History { log: disk.log(), commits }
    }
}

impl History {
    /// Creates a history of this many commits.
    ///
    /// # Panics
    /// If the store fails on a disk that works.
    pub fn of(seed: u64, commits: u64) -> Self {
        let mut life = Life::begin(seed).expect("a store on a sound disk");
        for number in 1..=commits {
            life.commit().expect("a commit on a sound disk");
            if number % 11 == 0 {
                life.store.rest().expect("a store on a sound disk");
            }
            if number % 16 == 0 {
                life.restart().expect("a store on a sound disk");
            }
        }
        life.end()
    }

    /// Returns whether these rows may be present after this many operations: those of the last acknowledged commit, or
    /// of the one in progress.
    pub fn allows(&self, ops: usize, rows: Rows) -> bool {
        let acknowledged = self.commits.partition_point(|commit| commit.acknowledged <= ops);
        let last = acknowledged.checked_sub(1).and_then(|at| self.commits.get(at));
        let next = self.commits.get(acknowledged).filter(|commit| commit.began <= ops);
        [last, next].into_iter().flatten().any(|commit| commit.rows == rows)
    }
}

/// Returns all rows of a view.
pub fn rows_of(view: &dyn View) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    view.scan(key::everything(), Order::Ascending, usize::MAX).ok()
}

/// Returns the checksum over all rows of a store.
pub fn digest(snapshot: &Snapshot) -> Option<Rows> {
    Some(sum(rows_of(&snapshot.view(None))?.iter().map(|(key, value)| (key, value))))
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
