//! Explains why a lead is, or is not, called now (docs/api.md, Explaining a lead).

use alloc::string::String;
use alloc::vec::Vec;

use super::running::{DialerCampaign, Gate, Reason};
use crate::account::{attached, plan};
use crate::call::facet_of_engaged;
use crate::collection::count;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::key::Kind;
use crate::lead::tables::LeadStatus;
use crate::lead::{self, LeadRow};
use crate::record;
use crate::record::{Iso, boolean, choice, iso, list, text};
use crate::suppression;
use crate::time::Timestamp;
use crate::view::Stop;

const MISSING: &str = "Lead not found";

record! {
    /// A reason why a lead is not called now.
    pub struct Because {
        /// Stable name of the reason, for programs, such as `in_call` or `outside_hours`.
        code: String = text(0, 64).required(),
        /// The reason as a sentence, for people.
        message: String = text(0, 255).required(),
    }
}

record! {
    /// Why a lead is, or is not, called now.
    pub struct Explanation {
        /// Current state of the lead.
        status: LeadStatus = choice::<LeadStatus>().required(),
        /// Whether the dialer would call the lead now.
        callable: bool = boolean().required(),
        /// Reasons why it would not, all that apply; empty if `callable`.
        reasons: Vec<Because> = list::<Because>(16),
        /// When the lead may be called next; now if `callable`, null if that is not known or it is not called again.
        next_at: Option<Iso> = iso(),
    }
}

fn because(code: &str, message: &str) -> Because {
    Because { code: code.into(), message: message.into() }
}

/// `GET /user/leads/{id}/explain`
pub fn explain_lead(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    let number = ctx.param(0).ok_or(Refusal::NotFound(MISSING))?;
    let (_, lead) = lead::find(account, number)?.ok_or(Refusal::NotFound(MISSING))?;
    let main = match lead.parent {
        Some(parent) => lead::find(account, parent)?.ok_or(Refusal::NotFound(MISSING))?.1,
        None => lead.clone(),
    };
    let mut reasons = of_lead(&lead, &main, ctx.now);
    if suppression::has(account, &lead.phone_number)? {
        reasons.push(because("do_not_call", "The number is on the account's list of numbers not to be called."));
    }
    let mut next_at = main.dial().due;
    let campaign = DialerCampaign::find(account, lead.campaign)?.ok_or(Refusal::NotFound(MISSING))?;
    if let Gate::Closed(reason, at) = campaign.gate(account, ctx.now)? {
        reasons.push(of_campaign(reason));
        next_at = next_at.into_iter().chain(at).max();
        // An unverified caller id would also keep the campaign from being started.
        if reason == Reason::NotRunning && campaign.is_unverified(account)? {
            reasons.push(of_campaign(Reason::CallerIdUnverified));
        }
    }
    reasons.extend(of_house(ctx)?);
    let callable = reasons.is_empty();
    let over = matches!(lead.status, LeadStatus::Completed | LeadStatus::ReachedMaxRetries | LeadStatus::Blacklisted);
    let next_at = if callable { Some(ctx.now) } else { next_at }.filter(|_| !over);
    Ok(Reply::ok(&data(&Explanation { status: lead.status, callable, reasons, next_at: next_at.map(Iso) })))
}

fn of_lead(lead: &LeadRow, main: &LeadRow, now: Timestamp) -> Vec<Because> {
    let mut reasons = Vec::new();
    match lead.status {
        LeadStatus::Completed => reasons.push(because("completed", "The lead is done.")),
        LeadStatus::ReachedMaxRetries => {
            reasons.push(because("reached_max_retries", "The lead was called as often as its campaign allows."));
        }
        LeadStatus::Blacklisted => reasons.push(because("blacklisted", "The lead is not to be called.")),
        LeadStatus::Created | LeadStatus::Scheduled | LeadStatus::Processing | LeadStatus::Rescheduled => {}
    }
    if main.dial().call > 0 {
        reasons.push(because("in_call", "The lead, or a secondary contact of it, is being called."));
    }
    if main.dial().due.is_some_and(|at| at > now) {
        reasons.push(because("waiting_for_retry", "The time between two tries has not passed."));
    }
    if lead.parent.is_some() && main.dial().call == 0 && reasons.is_empty() {
        reasons
            .push(because("secondary_contact", "A secondary contact is called when those before it were not reached."));
    }
    reasons
}

fn of_campaign(reason: Reason) -> Because {
    match reason {
        Reason::NotRunning => because("campaign_not_running", "The campaign is not in progress."),
        Reason::AssistantInactive => because("assistant_inactive", "The campaign's assistant is not active."),
        Reason::CallerIdUnverified => because("caller_id_unverified", "The caller id of the calls is not verified."),
        Reason::Suspended => because("account_suspended", "The account is suspended."),
        Reason::NoBalance => because("no_balance", "The account's balance is used up."),
        Reason::NotYet => because("not_yet", "The campaign starts later."),
        Reason::OutsideHours => because("outside_hours", "It is not within the campaign's calling hours."),
        Reason::NoDays => because("no_days", "The campaign allows no day."),
        Reason::LinesBusy => because("lines_busy", "Every parallel call of the campaign is in use."),
    }
}

/// Returns what keeps every call of the account waiting: no engine attached, or the plan's limit of parallel calls.
fn of_house(ctx: &Ctx<'_>) -> Result<Option<Because>, Stop> {
    if !attached::any(ctx.root(), ctx.now)? {
        return Ok(Some(because("no_engine", "No voice engine is attached.")));
    }
    let account = ctx.account();
    let allowed = u64::from(plan::of(account)?.parallel_calls);
    let engaged = count(account, Kind::Call, &facet_of_engaged())?;
    Ok((engaged >= allowed).then(|| because("plan_limit", "The account has as many calls at once as its plan allows.")))
}
