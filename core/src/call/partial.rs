//! Partial lines: what has been understood of a line that is not over. They are for whoever follows the call live, and
//! are never stored: the last one of each call stands in memory until its line comes (docs/api.md, Events of a call).

use crate::http::stream::Passing;
use crate::json::{self, Members, Value};
use crate::key::{self, Key};
use crate::limits::{PARTIAL_BYTES_MAX, PARTIAL_MILLISECONDS};
use crate::record;
use crate::record::{Iso, iso, text};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// What every event of a call begins with, of one that is not stored: it has no number.
    pub struct PassingEvent {
        /// Time of the event.
        at: Iso = iso().required(),
        /// Type of the event.
        r#type: alloc::string::String = text(0, 64).required(),
    }
}

/// Tenths of a second after which numbers repeat.
const NUMBERS: u64 = 1 << 21;

/// Shows a partial line to whoever follows the call; one that comes sooner than [`PARTIAL_MILLISECONDS`] after the last
/// is dropped, and of a long one only the end is shown.
pub fn show(account: Scope<'_>, call: u32, mut said: Members, now: Timestamp) -> Result<(), Stop> {
    let (memory, at) = (root::memory(account), at(account, call)?);
    let last = memory.get(at.clone())?.and_then(|row| read(&row).map(|(time, _)| time));
    if last.is_some_and(|last| now.micros() < last.micros() + PARTIAL_MILLISECONDS * 1_000) {
        return Ok(());
    }
    if let Some(Value::Text(text)) = said.get("text")
        && text.len() > PARTIAL_BYTES_MAX
    {
        let end = text.ceil_char_boundary(text.len() - PARTIAL_BYTES_MAX);
        let end = alloc::format!("…{}", &text[end..]);
        said.set("text", Value::Text(end));
    }
    let head = PassingEvent { at: Iso(now), r#type: "partial".into() };
    memory.put(at, [&now.micros().to_be_bytes()[..], &json::joined(&head, &said)].concat())
}

/// Forgets the partial line of a call: the line has come, or never will.
pub fn forget(account: Scope<'_>, call: u32) -> Result<(), Stop> {
    let (memory, at) = (root::memory(account), at(account, call)?);
    if memory.get(at.clone())?.is_some() { memory.delete(at) } else { Ok(()) }
}

/// Returns the partial line of a call, if one is being spoken.
pub fn of(account: Scope<'_>, call: u32) -> Result<Option<Passing>, Stop> {
    let row = root::memory(account).get(at(account, call)?)?;
    Ok(row.as_deref().and_then(read).map(|(time, data)| Passing { number: number(time), data: data.to_vec() }))
}

/// Numbers a partial line by its time, so that the next one has another number even if this one is forgotten.
fn number(time: Timestamp) -> u32 {
    u32::try_from(time.micros() / 100_000 % NUMBERS).unwrap_or(0).max(1)
}

fn read(row: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (micros, data) = row.split_first_chunk()?;
    Some((Timestamp::from_micros(u64::from_be_bytes(*micros)), data))
}

fn at(account: Scope<'_>, call: u32) -> Result<Key, Stop> {
    Ok(key::partial(account.account_number()?, call))
}
