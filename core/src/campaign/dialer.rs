//! The dialer: selects the leads that are called next, and places the calls to them.
//!
//! A lead and its call change in one commit, so that neither a restart nor a second node dials a lead twice.

use alloc::string::String;
use alloc::vec::Vec;

use super::hours::Opening;
use super::outcome::{move_contact, moved};
use super::running::{DialerCampaign, Gate};
use super::tables::CampaignStatus;
use super::{operations, states, sums};
use crate::call::reasons::EndedReason;
use crate::call::tables::CallType;
use crate::call::{self, CallAssistant, CallSpec};
use crate::collection::{Query, page};
use crate::job::{self, Task, TaskContext, TaskOutcome};
use crate::json::Members;
use crate::key::{self, Kind};
use crate::lead::states::LeadEvent;
use crate::lead::tables::LeadStatus;
use crate::lead::{self, Dial, LeadRow, facet_of_campaign, facet_of_status};
use crate::limits::{DIALED_PER_RUN, FULL_SECONDS};
use crate::number::{self, CallerNumber};
use crate::record::Iso;
use crate::store::{Row, Scope};
use crate::suppression;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Schedules a run of a campaign's dialer at `at`, after a change that may let the campaign call.
pub fn wake(account: Scope<'_>, campaign: u32, at: Timestamp) -> Result<(), Stop> {
    job::add(account, at, Task::Dial(campaign))
}

/// Places the next calls of a campaign, at most [`DIALED_PER_RUN`] leads in one run, and keeps when it goes on.
pub fn dial(work: &TaskContext<'_>, count: u32) -> Result<TaskOutcome, Stop> {
    let outcome = run(work, count)?;
    let next_at = match outcome {
        TaskOutcome::At(at) => Some(at),
        TaskOutcome::Done => None,
        _ => Some(work.now),
    };
    sums::change(work.account, count, |sums| sums.next_at = next_at)?;
    Ok(outcome)
}

fn run(work: &TaskContext<'_>, count: u32) -> Result<TaskOutcome, Stop> {
    let account = work.account;
    let Some(campaign) = DialerCampaign::find(account, count)? else { return Ok(TaskOutcome::Done) };
    if account.is_disk_full() {
        // The space that is left is kept for calls that end.
        return Ok(TaskOutcome::At(work.now.plus_seconds(FULL_SECONDS)));
    }
    let lines = match campaign.gate(account, work.now)? {
        Gate::Open(lines) => lines,
        // No time is known: the change that opens the gate, such as a freed line, wakes the dialer.
        Gate::Closed(_, None) => return Ok(TaskOutcome::Done),
        Gate::Closed(_, Some(at)) => return Ok(TaskOutcome::At(at)),
    };
    let mut dialed = 0;
    for _ in 0..DIALED_PER_RUN {
        if dialed == lines {
            line_up(account, &campaign, work.now)?;
            return Ok(TaskOutcome::Done);
        }
        let Some(number) = next(account, &campaign, work.now)? else { return finish(account, &campaign, work.now) };
        if call_lead(account, &campaign, number, work.now)? {
            dialed += 1;
        }
    }
    Ok(TaskOutcome::More)
}

/// Returns the lead to call next: a retry that is due, else the oldest scheduled lead, else the oldest new one.
fn next(account: Scope<'_>, campaign: &DialerCampaign, now: Timestamp) -> Result<Option<u32>, Stop> {
    let due = account.scan(key::retries(account.space(), campaign.count), Order::Ascending, 1)?;
    let due = due.first().and_then(|(at, _)| key::read_retry(at)).filter(|(at, _)| *at <= now);
    if let Some((_, lead)) = due {
        return Ok(Some(lead));
    }
    Ok(match first(account, campaign, LeadStatus::Scheduled)? {
        Some(lead) => Some(lead),
        None => first(account, campaign, LeadStatus::Created)?,
    })
}

fn first(account: Scope<'_>, campaign: &DialerCampaign, status: LeadStatus) -> Result<Option<u32>, Stop> {
    Ok(oldest(account, campaign.count, status, 1)?.0.first().copied())
}

/// Returns the oldest leads of a campaign in a state, at most `most`, and the number of all of them.
fn oldest(account: Scope<'_>, campaign: u32, status: LeadStatus, most: usize) -> Result<(Vec<u32>, u64), Stop> {
    let facets = Vec::from([facet_of_campaign(campaign), facet_of_status(status)]);
    let page = page(account, Kind::Lead, &Query::of(facets, Order::Ascending, 0, most))?;
    Ok((page.ids, page.total))
}

/// Calls the next person of a lead; returns `false` if none of them may be called.
fn call_lead(account: Scope<'_>, campaign: &DialerCampaign, number: u32, now: Timestamp) -> Result<bool, Stop> {
    let Some((row, lead)) = lead::find(account, number)? else { return Ok(false) };
    let mut after = lead.clone();
    after.updated_at = Iso(now.max(lead.updated_at.0));
    after = after.with_dial(Dial { due: None, ..lead.dial() });
    if suppression::has(account, &lead.phone_number)? {
        after.status = moved(lead.status, &[LeadEvent::Blacklist]);
        lead::replace(account, number, &row, &lead, &after)?;
        return Ok(false);
    }
    if is_in_call(account, &lead)? {
        // Its status was set while an engine had its call: that call counts as the first of the new round.
        after.status = moved(lead.status, &[LeadEvent::Schedule, LeadEvent::Dial]);
        lead::replace(account, number, &row, &lead, &after)?;
        return Ok(false);
    }
    let Some(person) = person(account, number, &mut after, now)? else {
        // Every remaining secondary contact was blacklisted: the round ends as if nobody had answered.
        return skip(account, campaign, number, &row, (&lead, &after), now).map(|()| false);
    };
    after.status = moved(lead.status, &[LeadEvent::Schedule, LeadEvent::Dial]);
    let call = place(account, campaign, &lead, (number, person), now)?;
    let dial = Dial { call, ..after.dial() };
    after = after.with_dial(dial);
    lead::replace(account, number, &row, &lead, &after)?;
    Ok(true)
}

fn is_in_call(account: Scope<'_>, lead: &LeadRow) -> Result<bool, Stop> {
    let Dial { call, .. } = lead.dial();
    Ok(call > 0 && call::CallRow::find(account, call)?.is_some())
}

/// Returns the person to call: the one whose turn it is or, if that one is blocked or gone, the next that may be
/// called.
fn person(account: Scope<'_>, number: u32, lead: &mut LeadRow, now: Timestamp) -> Result<Option<u32>, Stop> {
    while let Some(place) = lead.dial().person.checked_sub(1) {
        let Some(contact) = lead.contacts.get(place as usize).copied() else { return Ok(None) };
        let phone = lead::find(account, contact)?.map(|(_, contact)| contact.phone_number);
        let may = match &phone {
            Some(phone) => !suppression::has(account, phone)?,
            None => false,
        };
        if may {
            move_contact(account, contact, &[LeadEvent::Schedule, LeadEvent::Dial], now)?;
            return Ok(Some(contact));
        }
        move_contact(account, contact, &[LeadEvent::Blacklist], now)?;
        let dial = lead.dial();
        *lead = lead.clone().with_dial(Dial { person: dial.person + 1, ..dial });
    }
    Ok(Some(number))
}

fn skip(
    account: Scope<'_>,
    campaign: &DialerCampaign,
    number: u32,
    row: &Row,
    (before, after): (&LeadRow, &LeadRow),
    now: Timestamp,
) -> Result<(), Stop> {
    let dial = after.dial();
    let more = dial.rounds < campaign.rules.max_retries;
    let due = more.then(|| now.plus_seconds(campaign.rules.interval_seconds));
    let mut after = after.clone().with_dial(Dial { rounds: dial.rounds + 1, person: 0, due, ..dial });
    let events: &[LeadEvent] = if more { &[LeadEvent::Miss] } else { &[LeadEvent::Miss, LeadEvent::GiveUp] };
    after.status = moved(before.status, events);
    lead::replace(account, number, row, before, &after)
}

fn place(
    account: Scope<'_>,
    campaign: &DialerCampaign,
    lead: &LeadRow,
    (main, person): (u32, u32),
    now: Timestamp,
) -> Result<u32, Stop> {
    const GONE: Stop = Stop::Corrupt("a dialed lead is not there");
    let assistant = account.find(Kind::Assistant, campaign.assistant)?.ok_or(GONE)?;
    let mut caller = CallAssistant::of(account, campaign.assistant, &assistant)?;
    if let Some(number) = turn(account, campaign)? {
        caller.number = CallerNumber::Shown(Some(number));
    }
    let (_, called) = lead::find(account, person)?.ok_or(GONE)?;
    let mut variables: Members = lead.variables.0.clone();
    called.variables.0.0.iter().for_each(|(name, value)| variables.set(name, value.clone()));
    let new = CallSpec {
        kind: CallType::Outbound,
        caller,
        client_phone_number: Some(called.phone_number),
        variables,
        campaign: Some((campaign.count, campaign.name.clone())),
        lead: Some(person),
        main: (main != person).then_some(main),
    };
    let (call, at) = call::place(account, new, now)?;
    sums::count_placed(account, campaign, at)?;
    Ok(call)
}

/// Returns the number whose turn it is among those that may be shown, and advances the rotation.
fn turn(account: Scope<'_>, campaign: &DialerCampaign) -> Result<Option<String>, Stop> {
    if campaign.numbers.is_empty() {
        return Ok(None);
    }
    let mut turn = 0;
    sums::change(account, campaign.count, |sums| {
        turn = sums.turn;
        sums.turn = turn.wrapping_add(1);
    })?;
    let start = turn as usize % campaign.numbers.len();
    for number in campaign.numbers[start..].iter().chain(&campaign.numbers[..start]) {
        if let Some(e164) = number::shown_on_calls(account, *number)? {
            return Ok(Some(e164));
        }
    }
    Ok(None)
}

/// Schedules the next new leads, as many as the campaign has lines, but at most [`DIALED_PER_RUN`].
fn line_up(account: Scope<'_>, campaign: &DialerCampaign, now: Timestamp) -> Result<(), Stop> {
    let (_, lined_up) = oldest(account, campaign.count, LeadStatus::Scheduled, 1)?;
    let room = u64::from(campaign.lines).saturating_sub(lined_up);
    let most = usize::try_from(room).unwrap_or(0).min(DIALED_PER_RUN);
    if most == 0 {
        return Ok(());
    }
    for number in oldest(account, campaign.count, LeadStatus::Created, most)?.0 {
        move_contact(account, number, &[LeadEvent::Schedule], now)?;
    }
    Ok(())
}

/// Ends a run that found nobody to call: waits for the next retry, or completes the campaign.
fn finish(account: Scope<'_>, campaign: &DialerCampaign, now: Timestamp) -> Result<TaskOutcome, Stop> {
    let due = account.scan(key::retries(account.space(), campaign.count), Order::Ascending, 1)?;
    if let Some((at, _)) = due.first().and_then(|(at, _)| key::read_retry(at)) {
        return Ok(TaskOutcome::At(at));
    }
    // The end of a call in progress wakes the dialer again.
    if oldest(account, campaign.count, LeadStatus::Processing, 1)?.1 > 0 || !campaign.completes {
        return Ok(TaskOutcome::Done);
    }
    operations::shift(account, campaign.count, states::CampaignEvent::Complete, now)?;
    Ok(TaskOutcome::Done)
}

/// Returns why a campaign's queued call may no longer be dialed, if so: by the campaign's state and hours.
pub fn may_dial(account: Scope<'_>, call: &call::CallRow, now: Timestamp) -> Result<Option<EndedReason>, Stop> {
    let Some(count) = call.campaign() else { return Ok(None) };
    let Some(campaign) = DialerCampaign::find(account, count)? else { return Ok(Some(EndedReason::CampaignDeleted)) };
    if campaign.status != CampaignStatus::InProgress {
        return Ok(Some(EndedReason::CampaignStopped));
    }
    Ok((campaign.opening(now) != Opening::Open).then_some(EndedReason::OutsideHours))
}
