//! Progress of a campaign: how far it is with its leads, what its calls came to, and when it will be done.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::MISSING;
use super::running::DialerCampaign;
use super::sums::Sums;
use super::tables::{Campaign, CampaignStatus};
use crate::account::profile::dollars;
use crate::http::ctx::Ctx;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::json::{Raw, joined};
use crate::key::{self, Kind};
use crate::lead::tables::LeadStatus;
use crate::record;
use crate::record::{Column, Iso, Record, Table, count, int, iso, list, number, object};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// Leads of a campaign by their state; secondary contacts do not count.
    pub struct LeadSums {
        /// All of them.
        total: u32 = count().required(),
        /// Not called yet.
        created: u32 = count().required(),
        /// Next in line to be called.
        scheduled: u32 = count().required(),
        /// Being called.
        processing: u32 = count().required(),
        /// Not reached, and called again later.
        rescheduled: u32 = count().required(),
        /// Reached, or set by the API.
        completed: u32 = count().required(),
        /// Not reached in any of their rounds.
        reached_max_retries: u32 = count().required(),
        /// On the list of numbers not to be called.
        blacklisted: u32 = count().required(),
    }
}

record! {
    /// Calls of a campaign by how they ended.
    pub struct CallSums {
        /// All of them.
        placed: u32 = count().required(),
        /// Answered by a person.
        answered: u32 = count().required(),
        /// Answered by a machine.
        voicemail: u32 = count().required(),
        /// Busy, or not answered.
        busy: u32 = count().required(),
        /// Failed, or cancelled.
        failed: u32 = count().required(),
        /// Queued or under way, or with work after the call still to be done.
        running: u32 = count().required(),
    }
}

record! {
    /// Calls of a campaign placed in one hour of the day, over all days.
    pub struct HourSums {
        /// Hour of the day in the campaign's zone.
        hour: u32 = int(0, 23).required(),
        /// Calls placed in it.
        placed: u32 = count().required(),
        /// Those of them that a person answered.
        answered: u32 = count().required(),
    }
}

record! {
    /// How far a campaign is.
    pub struct CampaignProgress {
        /// Its leads by their state.
        leads: LeadSums = object::<LeadSums>().required(),
        /// Its calls by how they ended.
        calls: CallSums = object::<CallSums>().required(),
        /// Calls that reached the goal, which `goal_completion_variable` tells.
        goals: u32 = count().required(),
        /// Cost of its calls, dollars.
        cost: f64 = number(0.0, 1e12).required(),
        /// Its calls by the hour of the day, for each hour that has any.
        by_hour: Vec<HourSums> = list::<HourSums>(24),
        /// When it calls next; null if it does not run, or waits for a call to end.
        next_at: Option<Iso> = iso(),
        /// When all leads will be done, at the speed since its last start and within its calling hours, to the minute, and
        /// not before it calls next; null if it does not run, or no lead is done since.
        forecast_at: Option<Iso> = iso(),
    }
}

/// A campaign with its progress, as the API shows it.
pub static SHOWN: Table = Table {
    name: "CampaignWithProgress",
    doc: "A campaign of the account, with its progress.",
    columns: &COLUMNS,
    rules: &[],
};

const OWN: &[Column] = Campaign::TABLE.columns;
const MORE: &[Column] = CampaignProgress::TABLE.columns;
const COLUMNS: [Column; OWN.len() + MORE.len()] = {
    let mut all = [OWN[0]; OWN.len() + MORE.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < OWN.len() { OWN[at] } else { MORE[at - OWN.len()] };
        at += 1;
    }
    all
};

/// Sums of several campaigns, read at once.
pub struct SumsOf<'a> {
    account: Scope<'a>,
    now: Timestamp,
    /// By the count of each campaign.
    sums: BTreeMap<u32, Sums>,
}

impl<'a> SumsOf<'a> {
    /// Reads the sums of these campaigns.
    pub fn read(account: Scope<'a>, campaigns: &[u32], now: Timestamp) -> Result<Self, Stop> {
        let keys: Vec<_> = campaigns.iter().map(|count| key::dialer(account.space(), *count)).collect();
        let stored = account.get_many(&keys)?.into_iter();
        let sums =
            campaigns.iter().zip(stored).map(|(count, stored)| Ok((*count, Sums::of_stored(account, *count, stored)?)));
        Ok(Self { account, now, sums: sums.collect::<Result<_, Stop>>()? })
    }

    /// Returns the progress of one of them, whose row shows `campaign`.
    pub fn progress(&self, count: u32, campaign: &[u8]) -> Result<CampaignProgress, Stop> {
        const UNREAD: Stop = Stop::Corrupt("the sums of a campaign were not read");
        let sums = self.sums.get(&count).ok_or(UNREAD)?;
        let runs = Campaign::MEMBERS.status.read(campaign)? == CampaignStatus::InProgress;
        let next_at = sums.next_at.filter(|_| runs).map(|at| Iso(at.max(self.now)));
        let forecast_at = if runs { self.forecast(count, campaign, sums)? } else { None };
        Ok(CampaignProgress { next_at, forecast_at: forecast_at.map(Iso), ..CampaignProgress::of(sums) })
    }

    /// Returns the campaign that a row shows, with its progress.
    pub fn shown(&self, count: u32, campaign: &[u8]) -> Result<Vec<u8>, Stop> {
        Ok(joined(&Raw(campaign), &self.progress(count, campaign)?))
    }

    fn forecast(&self, count: u32, campaign: &[u8], sums: &Sums) -> Result<Option<Timestamp>, Stop> {
        let done = u64::from(sums.finished().saturating_sub(sums.finished_at_start));
        let left = u64::from(sums.total().saturating_sub(sums.finished()));
        let Some(from) = sums.started_at.filter(|_| done > 0 && left > 0) else { return Ok(None) };
        let campaign = DialerCampaign::of_public(self.account, count, campaign)?;
        // However quick it was, the next lead is not called earlier.
        let forecast = campaign.forecast(from, self.now, (done, left));
        Ok(forecast.map(|at| sums.next_at.map_or(at, |next| at.max(next))))
    }
}

impl CampaignProgress {
    fn of(sums: &Sums) -> Self {
        let leads = LeadSums {
            total: sums.total(),
            created: sums.of_status(LeadStatus::Created),
            scheduled: sums.of_status(LeadStatus::Scheduled),
            processing: sums.of_status(LeadStatus::Processing),
            rescheduled: sums.of_status(LeadStatus::Rescheduled),
            completed: sums.of_status(LeadStatus::Completed),
            reached_max_retries: sums.of_status(LeadStatus::ReachedMaxRetries),
            blacklisted: sums.of_status(LeadStatus::Blacklisted),
        };
        let &Sums { answered, voicemail, busy, failed, .. } = sums;
        let placed = sums.placed_by_hour.iter().sum();
        let ended = [answered, voicemail, busy, failed].iter().sum();
        // Calls that an earlier release placed are not among those placed.
        let running = u32::saturating_sub(placed, ended);
        let hours = sums.placed_by_hour.iter().enumerate().filter(|(_, placed)| **placed > 0);
        let answers = |hour: usize| sums.answered_by_hour.get(hour).copied().unwrap_or(0);
        let by_hour = hours.map(|(hour, placed)| HourSums {
            hour: u32::try_from(hour).unwrap_or(0),
            placed: *placed,
            answered: answers(hour),
        });
        Self {
            leads,
            calls: CallSums { placed, answered, voicemail, busy, failed, running },
            goals: sums.goals,
            cost: dollars(sums.cost),
            by_hour: by_hour.collect(),
            next_at: None,
            forecast_at: None,
        }
    }
}

/// `GET /user/campaigns/{id}/progress`
pub fn progress(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Campaign, MISSING)?;
    let sums = SumsOf::read(ctx.account(), &[count], ctx.now)?;
    Ok(Reply::ok(&data(&sums.progress(count, &row.public)?)))
}
