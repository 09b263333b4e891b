//! What follows for a lead from a call to it: the next person, a later round, or the end.

use alloc::string::String;

use super::running::{DialerCampaign, Rules};
use super::sums;
use crate::call::CallRow;
use crate::call::tables::{AnsweredBy, CallStatus};
use crate::job::{self, Task};
use crate::json::Value;
use crate::lead::states::{LeadEvent, MOVES};
use crate::lead::tables::LeadStatus;
use crate::lead::{self, Dial, LeadRow};
use crate::record::Iso;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Wait before a lead is called again whose call was never dialed, seconds.
const NOT_DIALED_SECONDS: u64 = 60;

/// Outcome of a call to a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// Somebody was reached, and the goal, if there is one, as well.
    Reached,
    /// Nobody was reached, or the campaign's rules count the call as a miss.
    Missed,
    /// No engine ever claimed the call.
    NotDialed,
}

/// The next step for a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The lead is done.
    Done,
    /// The person at this index is called as soon as a line is free; 0 is the lead itself.
    Person(u32),
    /// A further round begins at this time.
    Round(Timestamp),
    /// The same person is called again at this time; the call does not count.
    Same(Timestamp),
    /// The lead has used up its rounds and is not called again.
    GiveUp,
}

/// Decides the next step, from its arguments alone. `people` counts the lead and its secondary contacts.
pub fn after(rules: &Rules, dial: &Dial, people: u32, outcome: CallOutcome, now: Timestamp) -> After {
    match outcome {
        CallOutcome::Reached => After::Done,
        CallOutcome::NotDialed => After::Same(now.plus_seconds(NOT_DIALED_SECONDS)),
        CallOutcome::Missed if dial.person + 1 < people => After::Person(dial.person + 1),
        CallOutcome::Missed if dial.rounds < rules.max_retries => {
            After::Round(now.plus_seconds(rules.interval_seconds))
        }
        CallOutcome::Missed => After::GiveUp,
    }
}

/// Returns the outcome of a finished call by its campaign's rules.
fn outcome(call: &CallRow, rules: &Rules) -> CallOutcome {
    if call.live.engine.is_none() {
        return CallOutcome::NotDialed;
    }
    if call.status() != CallStatus::Completed {
        return CallOutcome::Missed;
    }
    let voicemail = call.shown.answered_by == AnsweredBy::Machine;
    let missed_goal = rules.for_goal && rules.goal.is_some() && !has_reached_goal(call, rules);
    if rules.voicemail && voicemail || missed_goal { CallOutcome::Missed } else { CallOutcome::Reached }
}

/// Returns whether a call reached the campaign's goal; `false` if there is none.
pub(super) fn has_reached_goal(call: &CallRow, rules: &Rules) -> bool {
    rules.goal.as_ref().is_some_and(|name| tells_success(call.live.extracted.0.get(name)))
}

/// Returns whether the value of the goal's variable means success.
fn tells_success(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(value)) => *value,
        Some(Value::Number(number)) => number.as_f64() != 0.0,
        Some(Value::Text(text)) => {
            let word: String = text.trim().to_lowercase();
            !["", "0", "false", "no", "none", "null"].contains(&word.as_str())
        }
        _ => false,
    }
}

/// Counts a finished call in its campaign, and applies it to its lead unless the lead's state no longer depends on it.
/// Returns whether the call reached the goal of its campaign.
pub fn settle(account: Scope<'_>, call: &CallRow, now: Timestamp) -> Result<bool, Stop> {
    let own = call.campaign().map(|own| DialerCampaign::find(account, own)).transpose()?.flatten();
    let is_goal = own.as_ref().is_some_and(|own| has_reached_goal(call, &own.rules));
    if let Some(own) = &own {
        sums::count_ended(account, own, call)?;
    }
    apply(account, call, own, now)?;
    Ok(is_goal)
}

/// Applies a finished call of a campaign, if it still exists, to its lead.
fn apply(account: Scope<'_>, call: &CallRow, own: Option<DialerCampaign>, now: Timestamp) -> Result<(), Stop> {
    let Some(person) = call.lead() else { return Ok(()) };
    let main = call.live.main.unwrap_or(person);
    let Some((row, lead)) = lead::find(account, main)?.filter(|(_, lead)| lead.dial().call == call.count) else {
        return Ok(());
    };
    // The lead may have moved to another campaign meanwhile: that one's rules apply.
    let campaign = lead.campaign;
    let running = match own.filter(|own| own.count == campaign) {
        None => DialerCampaign::find(account, campaign)?,
        own => own,
    };
    let Some(running) = running else { return Ok(()) };
    if lead.status != LeadStatus::Processing {
        // The API set its status: the call that was going on no longer decides about it.
        lead::replace(account, main, &row, &lead, &lead.clone().with_dial(Dial::default()))?;
        return job::add(account, now, Task::Dial(campaign));
    }
    let people = u32::try_from(lead.contacts.len()).unwrap_or(0) + 1;
    let outcome = outcome(call, &running.rules);
    let mut dial = lead.dial();
    if main != person && !lead.contacts.contains(&person) {
        // The secondary contact that was called is deleted: the one after it has taken its index.
        dial.person = dial.person.saturating_sub(1);
    }
    let next = after(&running.rules, &dial, people, outcome, now);
    if main != person {
        let event = if outcome == CallOutcome::Reached { LeadEvent::Reach } else { LeadEvent::Miss };
        move_contact(account, person, &[event], now)?;
    }
    let changed = advance(&lead, next, now);
    lead::replace(account, main, &row, &lead, &changed)?;
    // Secondary contacts that were missed are not called again.
    if matches!(next, After::Done | After::GiveUp) {
        for contact in &lead.contacts {
            move_contact(account, *contact, &[LeadEvent::GiveUp], now)?;
        }
    }
    job::add(account, changed.dial().due.unwrap_or(now), Task::Dial(campaign))
}

/// Returns the lead after the step `next`.
fn advance(lead: &LeadRow, next: After, now: Timestamp) -> LeadRow {
    let dial = Dial { call: 0, ..lead.dial() };
    let (dial, events): (Dial, &[LeadEvent]) = match next {
        After::Done => (Dial { due: None, ..dial }, &[LeadEvent::Reach]),
        After::Person(person) => (Dial { person, due: Some(now), ..dial }, &[]),
        After::Round(at) => (Dial { rounds: dial.rounds + 1, person: 0, call: 0, due: Some(at) }, &[LeadEvent::Miss]),
        After::Same(at) => (Dial { due: Some(at), ..dial }, &[LeadEvent::Miss]),
        After::GiveUp => (Dial { due: None, ..dial }, &[LeadEvent::Miss, LeadEvent::GiveUp]),
    };
    let (status, updated_at) = (moved(lead.status, events), Iso(now.max(lead.updated_at.0)));
    LeadRow { status, updated_at, ..lead.clone() }.with_dial(dial)
}

/// Returns the state after `events`; an event that the state does not allow is skipped.
pub fn moved(status: LeadStatus, events: &[LeadEvent]) -> LeadStatus {
    events.iter().fold(status, |status, event| MOVES.next(status, *event).unwrap_or(status))
}

/// Applies events to the state of a lead or secondary contact.
pub fn move_contact(account: Scope<'_>, count: u32, events: &[LeadEvent], now: Timestamp) -> Result<(), Stop> {
    let Some((row, contact)) = lead::find(account, count)? else { return Ok(()) };
    store(account, count, &row, &contact, moved(contact.status, events), now)
}

fn store(
    account: Scope<'_>,
    count: u32,
    row: &Row,
    before: &LeadRow,
    status: LeadStatus,
    now: Timestamp,
) -> Result<(), Stop> {
    let after = LeadRow { status, updated_at: Iso(now.max(before.updated_at.0)), ..before.clone() };
    lead::replace(account, count, row, before, &after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules { max_retries: 2, interval_seconds: 600, voicemail: false, for_goal: false, goal: None }
    }

    #[test]
    fn people_are_tried_in_order_then_rounds_then_it_ends() {
        let now = Timestamp::from_seconds(1_000);
        let later = now.plus_seconds(600);
        let dial = |rounds, person| Dial { rounds, person, call: 1, due: None };
        for (rounds, person, people, outcome, want) in [
            (0, 0, 1, CallOutcome::Reached, After::Done),
            (0, 0, 3, CallOutcome::Missed, After::Person(1)),
            (0, 1, 3, CallOutcome::Missed, After::Person(2)),
            (0, 2, 3, CallOutcome::Missed, After::Round(later)),
            (1, 0, 1, CallOutcome::Missed, After::Round(later)),
            (2, 0, 1, CallOutcome::Missed, After::GiveUp),
            (2, 0, 2, CallOutcome::Missed, After::Person(1)),
            (2, 0, 1, CallOutcome::NotDialed, After::Same(now.plus_seconds(60))),
        ] {
            assert_eq!(
                after(&rules(), &dial(rounds, person), people, outcome, now),
                want,
                "{rounds} {person} {people}"
            );
        }
    }

    #[test]
    fn a_goal_is_told_by_a_true_value() {
        for (value, want) in
            [("true", true), (" Yes ", true), ("no", false), ("", false), ("0", false), ("Tuesday", true)]
        {
            assert_eq!(tells_success(Some(&Value::Text(value.into()))), want, "{value}");
        }
        assert!(
            tells_success(Some(&Value::Bool(true)))
                && !tells_success(Some(&Value::Bool(false)))
                && !tells_success(None)
        );
    }
}
