//! What is kept of a campaign beside its row: whose turn it is among its numbers, and sums of its leads and calls, so
//! that its progress costs one read, whatever its size.
//!
//! Every change of a lead's state and every call of the campaign changes the sums in the same commit.

use alloc::vec::Vec;

use super::outcome::has_reached_goal;
use super::running::DialerCampaign;
use crate::call::CallRow;
use crate::call::tables::{AnsweredBy, CallStatus};
use crate::collection::{Query, page};
use crate::json::ToJson;
use crate::key::{self, Kind};
use crate::lead::tables::LeadStatus;
use crate::lead::{facet_of_campaign, facet_of_status};
use crate::record;
use crate::record::{Choice, Stored, count, counts, defaults, micros, signed};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Bytes, Order, Stop};
use crate::zone::Zone;

const STATES: usize = <LeadStatus as Choice>::ALL.len();
const HOURS: usize = 24;

record! {
    /// Sums of a campaign, and the state of its dialer.
    pub struct Sums stored as "the sums of a campaign" {
        /// Calls placed so far from the campaign's numbers, which take turns.
        turn: u32 = count().or_int(0),
        /// Leads in each state, in the order of `LeadStatus`; secondary contacts do not count.
        leads: Vec<u32> = counts(STATES),
        /// Ended calls that a person answered.
        answered: u32 = count().or_int(0),
        /// Ended calls that a machine answered.
        voicemail: u32 = count().or_int(0),
        /// Ended calls that were busy, or that nobody answered.
        busy: u32 = count().or_int(0),
        /// Other ended calls.
        failed: u32 = count().or_int(0),
        /// Ended calls that reached the campaign's goal.
        goals: u32 = count().or_int(0),
        /// Cost of its calls, millionths of a dollar.
        cost: i64 = signed().or_int(0),
        /// Calls placed in each hour of the day, in the campaign's zone.
        placed_by_hour: Vec<u32> = counts(HOURS),
        /// Those of them that a person answered.
        answered_by_hour: Vec<u32> = counts(HOURS),
        /// When it was last started; `None` before the first time.
        started_at: Option<Timestamp> = micros().sparse(),
        /// Leads that were finished when it was last started.
        finished_at_start: u32 = count().or_int(0),
        /// When its dialer runs next; `None` where no time is known.
        next_at: Option<Timestamp> = micros().sparse(),
    }
}

impl Sums {
    /// Returns the number of leads in a state.
    pub fn of_status(&self, status: LeadStatus) -> u32 {
        self.leads.get(place(status)).copied().unwrap_or(0)
    }

    /// Returns the number of leads that are not called again.
    pub fn finished(&self) -> u32 {
        let over = [LeadStatus::Completed, LeadStatus::ReachedMaxRetries, LeadStatus::Blacklisted];
        over.iter().map(|status| self.of_status(*status)).sum()
    }

    /// Returns the number of all leads.
    pub fn total(&self) -> u32 {
        self.leads.iter().sum()
    }

    /// Reads the sums of a campaign that exists.
    pub fn find(account: Scope<'_>, campaign: u32) -> Result<Self, Stop> {
        Self::of_stored(account, campaign, account.get(key::dialer(account.space(), campaign))?)
    }

    /// Parses stored sums. Where an earlier release kept none, leads are counted from their sets, and calls begin at 0.
    pub fn of_stored(account: Scope<'_>, campaign: u32, stored: Option<Bytes>) -> Result<Self, Stop> {
        if let Some(sums) = stored.as_deref().and_then(Self::stored) {
            return sums;
        }
        let turn = stored.and_then(|turn| Some(u32::from_le_bytes(turn.try_into().ok()?)));
        let leads = LeadStatus::ALL.iter().map(|status| {
            let facets = Vec::from([facet_of_campaign(campaign), facet_of_status(*status)]);
            let found = page(account, Kind::Lead, &Query::of(facets, Order::Ascending, 0, 1))?;
            Ok(u32::try_from(found.total).unwrap_or(u32::MAX))
        });
        Ok(Self { turn: turn.unwrap_or(0), leads: leads.collect::<Result<_, Stop>>()?, ..defaults() })
    }

    /// Parses stored sums; `None` where an earlier release kept only the turn, in four bytes.
    pub fn stored(bytes: &[u8]) -> Option<Result<Self, Stop>> {
        (bytes.len() > 4).then(|| Self::read(bytes))
    }
}

/// Where a state stands in [`Sums::leads`].
fn place(status: LeadStatus) -> usize {
    LeadStatus::ALL.iter().position(|known| *known == status).unwrap_or(0)
}

fn add(list: &mut Vec<u32>, at: usize, len: usize, step: i64) {
    list.resize(len, 0);
    if let Some(sum) = list.get_mut(at) {
        *sum = u32::try_from(i64::from(*sum) + step).unwrap_or(0);
    }
}

/// Changes the sums of a campaign; does nothing if it was deleted.
pub fn change(account: Scope<'_>, campaign: u32, change: impl FnOnce(&mut Sums)) -> Result<(), Stop> {
    let at = key::dialer(account.space(), campaign);
    let stored = account.get(at.clone())?;
    if stored.is_none() && account.find(Kind::Campaign, campaign)?.is_none() {
        return Ok(());
    }
    let before = Sums::of_stored(account, campaign, stored)?;
    let mut after = before.clone();
    change(&mut after);
    if after == before { Ok(()) } else { account.put(at, after.to_json()) }
}

/// Stores the sums of a new campaign.
pub fn begin(account: Scope<'_>, campaign: u32) -> Result<(), Stop> {
    account.put(key::dialer(account.space(), campaign), defaults::<Sums>().to_json())
}

/// Deletes the sums of a deleted campaign.
pub fn end(account: Scope<'_>, campaign: u32) -> Result<(), Stop> {
    account.delete(key::dialer(account.space(), campaign))
}

/// Counts a lead that is about to come, go, or change its state or campaign. Called before its row and sets change.
pub fn count_lead(
    account: Scope<'_>,
    before: Option<(u32, LeadStatus)>,
    after: Option<(u32, LeadStatus)>,
) -> Result<(), Stop> {
    let count = |sums: &mut Sums, status, step| add(&mut sums.leads, place(status), STATES, step);
    if let (Some((campaign, from)), Some((to_campaign, to))) = (before, after)
        && campaign == to_campaign
    {
        if from == to {
            return Ok(());
        }
        return change(account, campaign, |sums| {
            count(sums, from, -1);
            count(sums, to, 1);
        });
    }
    for (moved, step) in [(before, -1), (after, 1)] {
        if let Some((campaign, status)) = moved {
            change(account, campaign, |sums| count(sums, status, step))?;
        }
    }
    Ok(())
}

/// Counts a call that the dialer placed, by its `created_at`.
pub fn count_placed(account: Scope<'_>, campaign: &DialerCampaign, at: Timestamp) -> Result<(), Stop> {
    let hour = hour(campaign, at);
    change(account, campaign.count, |sums| add(&mut sums.placed_by_hour, hour, HOURS, 1))
}

/// Counts a call in which nothing more happens.
pub fn count_ended(account: Scope<'_>, campaign: &DialerCampaign, call: &CallRow) -> Result<(), Stop> {
    let goal = has_reached_goal(call, &campaign.rules);
    let hour = hour(campaign, call.shown.created_at.0);
    change(account, campaign.count, |sums| {
        let by_machine = call.shown.answered_by == AnsweredBy::Machine;
        let sum = match call.status() {
            CallStatus::Completed if by_machine => &mut sums.voicemail,
            CallStatus::Completed => {
                add(&mut sums.answered_by_hour, hour, HOURS, 1);
                &mut sums.answered
            }
            CallStatus::Busy | CallStatus::NoAnswer => &mut sums.busy,
            _ => &mut sums.failed,
        };
        *sum += 1;
        sums.goals += u32::from(goal);
    })
}

/// Adds a change of what a campaign's call costs, millionths of a dollar.
pub fn count_cost(account: Scope<'_>, campaign: u32, more: i64) -> Result<(), Stop> {
    change(account, campaign, |sums| sums.cost += more)
}

/// Returns the hour of the day in the campaign's zone.
fn hour(campaign: &DialerCampaign, at: Timestamp) -> usize {
    Zone::of(campaign.zone()).local(at).seconds as usize / 3_600
}
