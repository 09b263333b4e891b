//! Whether an engine is attached, that is, has asked for calls in the last minute.

use alloc::vec::Vec;

use crate::key;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// How long an engine counts as attached after it asked for calls, seconds: twice the longest wait of a claim.
const ATTACHED_SECONDS: u64 = 60;
/// Shortest time between two writes for an engine, seconds.
const NOTED_SECONDS: u64 = 20;
/// Limit of engines that are checked: more than an installation has tokens.
const ENGINES_MAX: usize = 1_001;

fn time(bytes: &[u8]) -> Option<Timestamp> {
    Some(Timestamp::from_micros(u64::from_be_bytes(bytes.try_into().ok()?)))
}

/// Stores that the engine with this token asks for calls now.
pub fn note(root: Scope<'_>, token: u32, now: Timestamp) -> Result<(), Stop> {
    let known = root.get(key::attached(token))?.and_then(|bytes| time(&bytes));
    if known.is_some_and(|at| now.seconds_since(at) < NOTED_SECONDS) {
        return Ok(());
    }
    root.put(key::attached(token), Vec::from(now.micros().to_be_bytes()))
}

/// Returns whether any engine is attached.
pub fn any(root: Scope<'_>, now: Timestamp) -> Result<bool, Stop> {
    let engines = root.scan(key::all_attached(), Order::Ascending, ENGINES_MAX)?;
    Ok(engines.iter().filter_map(|(_, bytes)| time(bytes)).any(|at| now.seconds_since(at) < ATTACHED_SECONDS))
}
