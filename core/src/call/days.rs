//! Sums of an account's calls for each of the last days, so that what a home page shows costs one read, however many calls
//! there are.
//!
//! A call counts for the UTC day on which it was made, whenever it ends, and goes on counting when it is deleted.

use alloc::vec::Vec;

use super::CallRow;
use super::tables::{AnsweredBy, CallStatus};
use crate::json::ToJson;
use crate::key;
use crate::record;
use crate::record::{Stored, count, defaults, list, signed};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Days that are kept: today, and the seven before it.
const DAYS: u32 = 8;

record! {
    /// Sums of the calls made on one day.
    pub struct CallDay stored as "the sums of a day" {
        /// The day, counted from 1970-01-01.
        day: u32 = count().required(),
        /// Calls made, of every type.
        placed: u32 = count().or_int(0),
        /// Those of them that a person answered, once they are over.
        answered: u32 = count().or_int(0),
        /// Seconds from answer to end, of all of them.
        seconds: u32 = count().or_int(0),
        /// Those of them that succeeded.
        succeeded: u32 = count().or_int(0),
        /// What they cost, millionths of a dollar.
        cost: i64 = signed().or_int(0),
    }
}

record! {
    /// Sums of an account's calls.
    pub struct CallDays stored as "the sums of calls" {
        /// Days on which calls were made, in their order; at most eight days lie between the first and the last.
        days: Vec<CallDay> = list::<CallDay>(DAYS as usize),
    }
}

impl CallDays {
    /// Reads the sums of an account; an account that made no call has none.
    pub fn find(account: Scope<'_>) -> Result<Self, Stop> {
        let stored = account.get(key::call_days(account.space()))?;
        stored.map_or_else(|| Ok(defaults()), |bytes| Self::read(&bytes))
    }

    /// Returns the sums of the days for which `is_wanted` holds, of their numbers counted from 1970-01-01; `day` is 0.
    pub fn sum(&self, is_wanted: impl Fn(u32) -> bool) -> CallDay {
        self.days.iter().filter(|day| is_wanted(day.day)).fold(defaults(), |sum: CallDay, day| CallDay {
            placed: sum.placed + day.placed,
            answered: sum.answered + day.answered,
            seconds: sum.seconds.saturating_add(day.seconds),
            succeeded: sum.succeeded + day.succeeded,
            cost: sum.cost + day.cost,
            ..sum
        })
    }

    /// Returns the sums of a day, and drops days that are too old; `None` if this one is.
    fn of_day(&mut self, day: u32) -> Option<&mut CallDay> {
        let newest = self.days.last().map_or(day, |last| last.day.max(day));
        let is_kept = |day: u32| newest - day < DAYS;
        if !is_kept(day) {
            return None;
        }
        self.days.retain(|kept| is_kept(kept.day));
        let at = self.days.partition_point(|kept| kept.day < day);
        if self.days.get(at).is_none_or(|kept| kept.day != day) {
            self.days.insert(at, CallDay { day, ..defaults() });
        }
        self.days.get_mut(at)
    }
}

/// Returns the number of a UTC day, counted from 1970-01-01.
pub fn number(at: Timestamp) -> u32 {
    u32::try_from(at.day().number()).unwrap_or(u32::MAX)
}

/// Changes the sums of the day on which a call was made.
fn change(account: Scope<'_>, made: Timestamp, change: impl FnOnce(&mut CallDay)) -> Result<(), Stop> {
    let mut sums = CallDays::find(account)?;
    let Some(day) = sums.of_day(number(made)) else { return Ok(()) };
    change(day);
    account.put(key::call_days(account.space()), sums.to_json())
}

/// Counts a call that was made at this time.
pub fn count_placed(account: Scope<'_>, made: Timestamp) -> Result<(), Stop> {
    change(account, made, |day| day.placed += 1)
}

/// Counts a call in which nothing more happens, and whether it reached the goal of its campaign.
pub fn count_ended(account: Scope<'_>, call: &CallRow, has_reached_goal: bool) -> Result<(), Stop> {
    let is_answered = call.status() == CallStatus::Completed && call.shown.answered_by != AnsweredBy::Machine;
    let is_success = has_reached_goal || call.is_success();
    if call.shown.duration == 0 && !is_answered && !is_success {
        return Ok(());
    }
    change(account, call.shown.created_at.0, |day| {
        day.answered += u32::from(is_answered);
        day.seconds = day.seconds.saturating_add(call.shown.duration);
        day.succeeded += u32::from(is_success);
    })
}

/// Adds a change of what a call costs, millionths of a dollar.
pub fn count_cost(account: Scope<'_>, made: Timestamp, more: i64) -> Result<(), Stop> {
    change(account, made, |day| day.cost += more)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(sums: &CallDays) -> Vec<(u32, u32)> {
        sums.days.iter().map(|day| (day.day, day.placed)).collect()
    }

    #[test]
    fn eight_days_are_kept_in_order() {
        let mut sums: CallDays = defaults();
        let mut place = |day| sums.of_day(day).map(|day| day.placed += 1).is_some();
        assert!(place(100) && place(102) && place(101) && place(102) && place(107));
        assert!(!place(99), "it is more than seven days before the last");
        assert!(place(108));
        assert_eq!(numbers(&sums), [(101, 1), (102, 2), (107, 1), (108, 1)]);
        let week = sums.sum(|day| (101..108).contains(&day));
        assert_eq!((week.day, week.placed), (0, 4));
        assert!(sums.of_day(1_000).is_some());
        assert_eq!(numbers(&sums), [(1_000, 0)]);
    }
}
