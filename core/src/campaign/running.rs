//! A campaign as its dialer reads it, and whether it may call now.

use alloc::string::String;
use alloc::vec::Vec;

use super::hours::{Hours, Opening};
use super::tables::{Campaign, CampaignStatus};
use crate::account::profile::Profile;
use crate::assistant::tables::{Assistant, Status};
use crate::call::facet_of_line;
use crate::collection::count;
use crate::id;
use crate::key::Kind;
use crate::number::{self, CallerNumber};
use crate::record::Stored;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;
use crate::zone::Zone;

/// Seconds after which a campaign is checked again whose account is suspended or has no balance, or whose caller id is
/// not verified.
const ACCOUNT_SECONDS: u64 = 300;

/// A campaign as its dialer reads it.
pub struct DialerCampaign {
    /// Local id within the account.
    pub count: u32,
    /// Name, copied into each call.
    pub name: String,
    /// State; only a campaign in progress calls.
    pub status: CampaignStatus,
    /// Local id of its assistant.
    pub assistant: u32,
    /// Most calls at once.
    pub lines: u32,
    /// Local ids of the numbers to call from, in turn; empty for the assistant's own number.
    pub numbers: Vec<u32>,
    /// Rules for calling a missed lead again.
    pub rules: Rules,
    /// Whether it completes when no lead is left to call.
    pub completes: bool,
    hours: Hours,
    zone: String,
    starts_at: Option<Timestamp>,
}

/// Rules for calling a lead again (docs/api.md, Who is called, and when).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Most further rounds after the first.
    pub max_retries: u32,
    /// Time between rounds, seconds.
    pub interval_seconds: u64,
    /// Whether voicemail counts as a miss.
    pub voicemail: bool,
    /// Whether a missed goal counts as a miss.
    pub for_goal: bool,
    /// Variable that tells whether the goal was reached; `None` where there is no goal.
    pub goal: Option<String>,
}

/// Whether a campaign may place calls now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Open, with this number of free lines.
    Open(u32),
    /// Closed, for this reason; checked again at the time, if one is known.
    Closed(Reason, Option<Timestamp>),
}

/// Why a campaign does not call now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The campaign is not in progress.
    NotRunning,
    /// Its assistant is inactive, or deleted.
    AssistantInactive,
    /// The only number that its calls could show is an unverified caller id.
    CallerIdUnverified,
    /// The account is suspended.
    Suspended,
    /// The account's balance is used up.
    NoBalance,
    /// Before its `starts_at`.
    NotYet,
    /// Outside its calling hours.
    OutsideHours,
    /// It allows no weekday.
    NoDays,
    /// Every parallel call of the campaign is in use.
    LinesBusy,
}

/// Facts that [`gate`] decides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub struct GateFacts {
    /// State of the campaign.
    pub status: CampaignStatus,
    /// Whether its assistant is active.
    pub assistant_active: bool,
    /// Whether its calls could only show an unverified caller id.
    pub unverified: bool,
    /// Whether the account is suspended.
    pub suspended: bool,
    /// Whether the account has a positive balance, or is not metered.
    pub solvent: bool,
    /// Whether its calling hours are open, from its `starts_at` on.
    pub opening: Opening,
    /// Whether its `starts_at` is still to come.
    pub early: bool,
    /// Most calls at once.
    pub lines: u32,
    /// Calls that run or are queued.
    pub busy: u32,
    /// Time of the decision.
    pub now: Timestamp,
}

/// Decides whether a campaign may place calls, from the facts alone.
pub fn gate(facts: &GateFacts) -> Gate {
    if facts.status != CampaignStatus::InProgress {
        return Gate::Closed(Reason::NotRunning, None);
    }
    if !facts.assistant_active {
        return Gate::Closed(Reason::AssistantInactive, None);
    }
    match facts.opening {
        Opening::Never => return Gate::Closed(Reason::NoDays, None),
        Opening::At(at) if facts.early => return Gate::Closed(Reason::NotYet, Some(at)),
        Opening::At(at) => return Gate::Closed(Reason::OutsideHours, Some(at)),
        Opening::Open => {}
    }
    let again = facts.now.plus_seconds(ACCOUNT_SECONDS);
    if facts.unverified {
        return Gate::Closed(Reason::CallerIdUnverified, Some(again));
    }
    if facts.suspended {
        return Gate::Closed(Reason::Suspended, Some(again));
    }
    if !facts.solvent {
        return Gate::Closed(Reason::NoBalance, Some(again));
    }
    match facts.lines.saturating_sub(facts.busy) {
        0 => Gate::Closed(Reason::LinesBusy, None),
        free => Gate::Open(free),
    }
}

impl DialerCampaign {
    /// Finds a campaign of the account.
    pub fn find(account: Scope<'_>, number: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Campaign, number)?.map(|row| Self::of(account, number, &row)).transpose()
    }

    /// Parses a row that was already read.
    pub fn of(account: Scope<'_>, number: u32, row: &Row) -> Result<Self, Stop> {
        Self::of_public(account, number, &row.public)
    }

    /// Parses the public part of a row.
    pub fn of_public(account: Scope<'_>, number: u32, public: &[u8]) -> Result<Self, Stop> {
        let campaign = Campaign::read(public)?;
        let own = |id: u64| id::local(account.space(), id);
        let (start, end) = (&campaign.allowed_hours_start_time, &campaign.allowed_hours_end_time);
        Ok(Self {
            count: number,
            hours: Hours::of(start, end, &campaign.allowed_days),
            name: campaign.name,
            status: campaign.status,
            assistant: own(campaign.assistant_id).ok_or(Campaign::DAMAGED)?,
            lines: campaign.max_calls_in_parallel,
            numbers: campaign.phone_number_ids.into_iter().filter_map(own).collect(),
            rules: Rules {
                max_retries: campaign.max_retries,
                interval_seconds: u64::from(campaign.retry_interval) * 60,
                voicemail: campaign.retry_on_voicemail,
                for_goal: campaign.retry_on_goal_incomplete,
                goal: campaign.goal_completion_variable,
            },
            completes: campaign.mark_complete_when_no_leads,
            zone: campaign.timezone,
            starts_at: campaign.starts_at.map(|at| at.0),
        })
    }

    /// Returns the IANA name of its time zone.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// Returns when `left` more leads will be done if `done` of them took from `from` to `now`, counting only its
    /// calling hours, rounded up to the minute; `None` if that is years ahead, or it had no hours in that time.
    pub fn forecast(&self, from: Timestamp, now: Timestamp, (done, left): (u64, u64)) -> Option<Timestamp> {
        let zone = Zone::of(&self.zone);
        let from = self.starts_at.map_or(from, |starts| starts.max(from));
        let took = self.hours.open_seconds(&zone, from, now);
        let needs = took.checked_mul(left)?.checked_div(done).filter(|_| took > 0)?;
        let at = self.hours.after(&zone, now, needs)?;
        Some(Timestamp::from_seconds(at.seconds().div_ceil(60) * 60))
    }

    /// Returns whether its calling hours are open; they never are before its `starts_at`.
    pub fn opening(&self, now: Timestamp) -> Opening {
        let zone = Zone::of(&self.zone);
        match self.starts_at.filter(|at| *at > now) {
            None => self.hours.opening(&zone, now),
            Some(at) => match self.hours.opening(&zone, at) {
                Opening::Open => Opening::At(at),
                later => later,
            },
        }
    }

    /// Returns whether its calls could only show an unverified caller id: none of its own numbers can be shown, and one
    /// of them, or its assistant's, is not verified.
    pub fn is_unverified(&self, account: Scope<'_>) -> Result<bool, Stop> {
        let mut unverified = false;
        for number in &self.numbers {
            if number::shown_on_calls(account, *number)?.is_some() {
                return Ok(false);
            }
            unverified |= CallerNumber::of(account, *number)? == CallerNumber::Unverified;
        }
        let assistant = account.find(Kind::Assistant, self.assistant)?;
        let own = assistant.map_or(Ok(None), |row| Assistant::MEMBERS.phone_number_id.read(&row.public))?;
        match own.and_then(|id| id::local(account.space(), id)) {
            Some(own) => Ok(match CallerNumber::of(account, own)? {
                CallerNumber::Unverified => true,
                CallerNumber::Shown(number) => unverified && number.is_none(),
            }),
            None => Ok(unverified),
        }
    }

    /// Returns whether its assistant exists and is active.
    pub fn has_active_assistant(&self, account: Scope<'_>) -> Result<bool, Stop> {
        let Some(row) = account.find(Kind::Assistant, self.assistant)? else { return Ok(false) };
        Ok(Assistant::MEMBERS.status.read(&row.public)? == Status::Active)
    }

    /// Returns whether it may place calls now, and on how many lines.
    pub fn gate(&self, account: Scope<'_>, now: Timestamp) -> Result<Gate, Stop> {
        let state = Profile::of(account)?.state;
        let busy = count(account, Kind::Call, &facet_of_line(self.count))?;
        Ok(gate(&GateFacts {
            status: self.status,
            assistant_active: self.has_active_assistant(account)?,
            unverified: self.is_unverified(account)?,
            suspended: state.suspended,
            solvent: !state.is_used_up(),
            opening: self.opening(now),
            early: self.starts_at.is_some_and(|at| at > now),
            lines: self.lines,
            busy: u32::try_from(busy).unwrap_or(u32::MAX),
            now,
        }))
    }
}
