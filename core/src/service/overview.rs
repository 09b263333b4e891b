//! `GET /user/overview`: what the console's first page shows, from sums and the heads of sets, never from calls.

use alloc::string::String;
use alloc::vec::Vec;

use super::attention::{self, Attention};
use crate::account::profile::{Profile, dollars};
use crate::call::days::{self, CallDay, CallDays};
use crate::call::facet_of_status;
use crate::call::tables::CallStatus;
use crate::campaign::progress::SumsOf;
use crate::campaign::tables::{Campaign, CampaignStatus};
use crate::collection::{Facet, counts, ids};
use crate::http::ctx::Ctx;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::id;
use crate::key::Kind;
use crate::limits::{OVERVIEW_CAMPAIGNS_MAX, PLAN_ROWS_MAX};
use crate::record;
use crate::record::{Choice, Iso, count, id as id_column, iso, list, number, object, text};
use crate::store::{Row, Scope};
use crate::view::Stop;

record! {
    /// Calls made in some days, UTC, of every type; those deleted since count too.
    pub struct OverviewCalls {
        /// All of them.
        placed: u32 = count().required(),
        /// Those that a person answered, once they are over.
        answered: u32 = count().required(),
        /// Minutes from answer to end, of all of them together.
        minutes: f64 = number(0.0, 1e12).required(),
        /// What they cost, USD.
        cost: f64 = number(0.0, 1e12).required(),
        /// Those whose evaluation says that they succeeded, or that reached the goal of their campaign.
        success: u32 = count().required(),
    }
}

record! {
    /// A campaign that calls.
    pub struct OverviewCampaign {
        /// Id of the campaign.
        id: u64 = id_column().required(),
        /// Name of the campaign.
        name: String = text(0, 255).required(),
        /// Part of its leads that is done, from 0 to 1.
        progress: f64 = number(0.0, 1.0).required(),
        /// When all its leads will be done, at the speed since its last start; null if no lead is done since.
        forecast_at: Option<Iso> = iso(),
    }
}

record! {
    /// An account at a glance.
    pub struct Overview {
        /// Calls that are queued, ring or are under way.
        calls_now: u32 = count().required(),
        /// Calls made today, UTC.
        today: OverviewCalls = object::<OverviewCalls>().required(),
        /// Calls made in the seven days before today.
        last_week: OverviewCalls = object::<OverviewCalls>().required(),
        /// Campaigns that call, newest first, at most 20.
        campaigns: Vec<OverviewCampaign> = list::<OverviewCampaign>(OVERVIEW_CAMPAIGNS_MAX),
        /// What somebody should look at; the most urgent first.
        attention: Vec<Attention> = list::<Attention>(attention::MOST),
    }
}

/// `GET /user/overview`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    let profile = Profile::of(account)?;
    let (sums, today) = (CallDays::find(account)?, days::number(ctx.now));
    let week = sums.sum(|day| day < today && day + 7 >= today);
    let balance = profile.state.balance;
    Ok(Reply::ok(&data(&Overview {
        calls_now: running(account)?,
        today: OverviewCalls::of(&sums.sum(|day| day == today)),
        last_week: OverviewCalls::of(&week),
        campaigns: campaigns(ctx)?,
        attention: attention::all(ctx, balance, week.cost)?,
    })))
}

impl OverviewCalls {
    fn of(sums: &CallDay) -> Self {
        Self {
            placed: sums.placed,
            answered: sums.answered,
            // A tenth of a minute is the last place.
            minutes: f64::from((sums.seconds + 3) / 6) / 10.0,
            cost: dollars(sums.cost.max(0)),
            success: sums.succeeded,
        }
    }
}

fn running(account: Scope<'_>) -> Result<u32, Stop> {
    let facets: Vec<Facet> =
        CallStatus::ALL.iter().filter(|status| status.is_running()).map(|status| facet_of_status(*status)).collect();
    let total: u64 = counts(account, Kind::Call, &facets)?.iter().sum();
    Ok(u32::try_from(total).unwrap_or(u32::MAX))
}

/// Returns the campaigns that call, newest first. Their rows are read, of which a plan bounds the number.
fn campaigns(ctx: &Ctx<'_>) -> Result<Vec<OverviewCampaign>, Stop> {
    let account = ctx.account();
    let mut counts = ids(account, Kind::Campaign, &Facet::ALL, PLAN_ROWS_MAX)?;
    counts.reverse();
    let mut calling = Vec::new();
    account.each_row(Kind::Campaign, &counts, |count, row| {
        let public = Row::public_of(row)?;
        let runs = Campaign::MEMBERS.status.read(public)? == CampaignStatus::InProgress;
        if runs && calling.len() < OVERVIEW_CAMPAIGNS_MAX {
            calling.push((count, public.to_vec()));
        }
        Ok(())
    })?;
    let counts: Vec<_> = calling.iter().map(|(count, _)| *count).collect();
    let sums = SumsOf::read(account, &counts, ctx.now)?;
    calling.iter().map(|(count, public)| campaign(account, &sums, *count, public)).collect()
}

fn campaign(account: Scope<'_>, sums: &SumsOf<'_>, count: u32, public: &[u8]) -> Result<OverviewCampaign, Stop> {
    let progress = sums.progress(count, public)?;
    let leads = progress.leads;
    let done = leads.completed + leads.reached_max_retries + leads.blacklisted;
    Ok(OverviewCampaign {
        id: id::of(account.space(), count),
        name: Campaign::MEMBERS.name.read(public)?,
        progress: if leads.total == 0 { 0.0 } else { f64::from(done) / f64::from(leads.total) },
        forecast_at: progress.forecast_at,
    })
}
