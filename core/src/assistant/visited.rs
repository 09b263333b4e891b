//! What strangers may use of an assistant, and what they used on a day: counts in the account's space, so that they hold
//! over restarts and for all nodes (docs/api.md, Without a token).

use alloc::vec::Vec;

use super::tables::{Assistant, WidgetSettings};
use crate::account::profile::micros as micros_of;
use crate::http::refusal::{Halt, Refusal};
use crate::key::{self, Key};
use crate::limits::VISITED_TURNS_A_DAY;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Returns the ids of the tools that an assistant has with a visitor of its widget, or with anybody else.
pub fn tool_ids(assistant: &Assistant, is_visited: bool) -> &[u64] {
    if is_visited { &assistant.widget_settings.tool_ids } else { &assistant.tool_ids }
}

/// What was used of an assistant, or begun in an account, on a day.
#[derive(Clone, Copy, Default)]
pub struct Used {
    /// Turns and calls, or conversations.
    pub times: u32,
    /// Price of those that were answered or are under way, millionths of a dollar.
    pub micros: i64,
}

const DAMAGED: Stop = Stop::Corrupt("a count of visits has an unknown form");

impl Used {
    /// Reads a count.
    pub fn load(account: Scope<'_>, at: &Key) -> Result<Self, Stop> {
        let Some(bytes) = account.get(at.clone())? else { return Ok(Self::default()) };
        let (times, micros) = bytes.split_at_checked(4).ok_or(DAMAGED)?;
        let times = u32::from_be_bytes(times.try_into().map_err(|_| DAMAGED)?);
        Ok(Self { times, micros: i64::from_be_bytes(micros.try_into().map_err(|_| DAMAGED)?) })
    }

    /// Returns it as it is stored.
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.times.to_be_bytes()[..], &self.micros.to_be_bytes()].concat()
    }
}

/// Counts a turn of a stranger with what it will cost, millionths of a dollar: so turns under way cannot exceed together
/// what each of them may cost alone. 429 if there were enough for today, or this one would cost too much.
pub fn turn(
    account: Scope<'_>,
    assistant: u32,
    settings: &WidgetSettings,
    micros: i64,
    now: Timestamp,
) -> Result<(), Halt> {
    count(account, assistant, micros, now, |cost| settings.daily_cost_max.is_some_and(|most| cost > micros_of(most)))
}

/// Counts a call of a stranger, whose cost is known and [spent](spend) when it is over. 429 if there were enough for
/// today, or they have cost enough.
pub fn call(account: Scope<'_>, assistant: u32, settings: &WidgetSettings, now: Timestamp) -> Result<(), Halt> {
    count(account, assistant, 0, now, |cost| settings.daily_cost_max.is_some_and(|most| cost >= micros_of(most)))
}

fn count(
    account: Scope<'_>,
    assistant: u32,
    micros: i64,
    now: Timestamp,
    is_dear: impl Fn(i64) -> bool,
) -> Result<(), Halt> {
    let at = key::visited(account.space(), now.day().number(), assistant);
    let mut used = Used::load(account, &at)?;
    let cost = used.micros.saturating_add(micros);
    if used.times >= VISITED_TURNS_A_DAY || is_dear(cost) {
        return Err(Refusal::TooMany(until_tomorrow(now)).into());
    }
    used = Used { times: used.times + 1, micros: cost };
    Ok(account.put(at, used.to_bytes())?)
}

/// Adds to what strangers cost, or takes back what a turn would have cost that failed. `began` is when it was counted.
pub fn spend(account: Scope<'_>, assistant: u32, micros: i64, began: Timestamp) -> Result<(), Stop> {
    let at = key::visited(account.space(), began.day().number(), assistant);
    let mut used = Used::load(account, &at)?;
    used.micros = used.micros.saturating_add(micros);
    account.put(at, used.to_bytes())
}

/// Returns the seconds until the next day, UTC.
pub fn until_tomorrow(now: Timestamp) -> u64 {
    now.day().next().start().seconds_since(now).max(1)
}
