//! Engines that are attached, that is, have asked for calls or renewed leases in the last minute. What they said of
//! themselves stands in [`Space::Memory`]: a host that starts hears of them again at once.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::json::ToJson;
use crate::key::{self, Space};
use crate::limits::{ENGINE_LEGS_MAX, ENGINES_MAX, ENGINES_OF_TOKEN_MAX};
use crate::record;
use crate::record::{
    Cell, Cells, ColumnType, Record, Stored, boolean, count, format, int, micros, number, text, texts,
};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// How long an engine counts as attached after it was heard of, seconds: twice the longest wait of a claim.
const ATTACHED_SECONDS: u64 = 60;

record! {
    /// What an engine says of itself.
    pub struct About {
        /// Version of the engine's program.
        version: Option<String> = text(1, 64),
        /// Name of the machine it runs on.
        host: Option<String> = text(1, 255),
        /// Most calls that it carries at once.
        capacity: Option<u32> = int(0, 100_000),
        /// Calls that it carries now.
        running: Option<u32> = int(0, 100_000),
        /// How busy its machine is, from 0 to 1.
        load: Option<f64> = number(0.0, 1.0),
        /// Ways to telephones and browsers that it has, such as `sip`, `twilio` or `web`.
        legs: Vec<String> = texts(&LEG, ENGINE_LEGS_MAX),
        /// Where browsers reach its web leg: an https URL, or http on this machine.
        web_url: Option<String> = text(1, 255).form(&format::PRIVATE_URL),
    }
}

impl Default for About {
    fn default() -> Self {
        Self::from_cells(&mut Cells::of(Cell::None))
    }
}

/// Bounds of the name of a leg.
pub(crate) static LEG: ColumnType = ColumnType::Text { min: 1, max: 32, format: None };

record! {
    /// An engine that was heard of.
    pub struct AttachedEngine stored as "an engine" {
        /// Name of the engine, from its claims and heartbeats.
        name: String = text(0, 64).required(),
        /// Edition of the interface that it speaks.
        protocol: u32 = count().or_int(1),
        /// What its last heartbeat said.
        about: Option<About> = record::object::<About>(),
        /// Whether its last claim said that it checks trunks.
        checks: bool = boolean().or_bool(false),
        /// When it was heard of last.
        seen_at: Timestamp = micros().required(),
    }
}

impl AttachedEngine {
    /// Returns whether it was heard of in the last minute.
    pub fn is_attached(&self, now: Timestamp) -> bool {
        now.seconds_since(self.seen_at) < ATTACHED_SECONDS
    }
}

/// Returns the id of an engine in the operator's API, the same after every start: 48 bits of a digest of token and name.
pub fn id_of(token: u32, name: &str) -> u64 {
    let digest = Sha256::new().chain_update(token.to_be_bytes()).chain_update(name).finalize();
    digest.iter().take(6).fold(0, |id, byte| id << 8 | u64::from(*byte))
}

/// What an engine says when it is heard of.
pub enum EngineSaying {
    /// A claim: whether it checks trunks.
    Claim(bool),
    /// A heartbeat: what it says of itself.
    Heartbeat(About),
}

/// Notes that an engine was heard of, and what it says. Engines that have gone make room for new ones; where there is
/// none, a new one is not noted.
pub fn note(root: Scope<'_>, token: u32, name: &str, protocol: u32, said: EngineSaying) -> Result<(), Stop> {
    let (memory, at) = (root::memory(root), key::engine(token, name));
    let known = memory.get(at.clone())?.map(|bytes| AttachedEngine::read(&bytes)).transpose()?;
    if known.is_none() && !has_room(root, token)? {
        return Ok(());
    }
    let (about, checks) = known.map_or((None, false), |known| (known.about, known.checks));
    let (about, checks) = match said {
        EngineSaying::Claim(checks) => (about, checks),
        EngineSaying::Heartbeat(about) => (Some(about), checks),
    };
    let (name, seen_at) = (name.to_string(), root.now());
    let engine = AttachedEngine { name, protocol, about, checks, seen_at, rest: record::Rest::default() };
    memory.put(at, engine.to_json())
}

/// Returns whether one more engine of a token finds room, after those that have gone were forgotten.
fn has_room(root: Scope<'_>, token: u32) -> Result<bool, Stop> {
    let (mut all, mut own) = (0, 0);
    for (its_token, engine) in all_heard_of(root)? {
        if engine.is_attached(root.now()) {
            all += 1;
            own += usize::from(its_token == token);
        } else {
            root::memory(root).delete(key::engine(its_token, &engine.name))?;
        }
    }
    Ok(all < ENGINES_MAX && own < ENGINES_OF_TOKEN_MAX)
}

/// Returns the engines that were heard of, with their tokens, in the order of token and name.
pub fn all_heard_of(root: Scope<'_>) -> Result<Vec<(u32, AttachedEngine)>, Stop> {
    let rows = root::memory(root).scan(key::engines(), Order::Ascending, ENGINES_MAX)?;
    rows.iter().map(|(at, bytes)| Ok((key::read_engine(at).unwrap_or(0), AttachedEngine::read(bytes)?))).collect()
}

/// Returns whether any engine is attached.
pub fn any(root: Scope<'_>, now: Timestamp) -> Result<bool, Stop> {
    Ok(all_heard_of(root)?.iter().any(|(_, engine)| engine.is_attached(now)))
}

/// Forgets the engines of a token that was deleted.
pub fn forget(root: Scope<'_>, token: u32) -> Result<(), Stop> {
    let memory = root::memory(root);
    for (at, _) in memory.scan(key::engines_of(token), Order::Ascending, ENGINES_MAX)? {
        memory.delete(at)?;
    }
    for (at, _) in root.scan(key::drained_of(token), Order::Ascending, ENGINES_MAX)? {
        root.delete(at)?;
    }
    Ok(())
}

/// Returns whether the operator drains an engine: it gets no more calls.
pub fn is_drained(root: Scope<'_>, token: u32, name: &str) -> Result<bool, Stop> {
    Ok(root.get(key::drained(token, name))?.is_some())
}

/// Drains an engine, or ends that.
pub fn drain(root: Scope<'_>, token: u32, name: &str, is_drained: bool) -> Result<(), Stop> {
    debug_assert!(root.space() == Space::Root, "tokens are the operator's");
    if is_drained { root.put(key::drained(token, name), Vec::new()) } else { root.delete(key::drained(token, name)) }
}
