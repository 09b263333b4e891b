//! A campaign as its dialer sees it, and whether it may call now.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::DAMAGED;
use super::hours::{Hours, Opening};
use super::tables::{CampaignStatus, Weekday};
use crate::account::profile::Profile;
use crate::assistant::tables::Status;
use crate::call::facet_of_line;
use crate::collection::count;
use crate::id;
use crate::json::{Members, Value};
use crate::key::Kind;
use crate::number::{self, CallerNumber};
use crate::record::Choice;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;
use crate::zone::Zone;

/// How often a campaign looks again whose account is shut out or has no money left, or whose caller id is not verified,
/// seconds.
const ACCOUNT_SECONDS: u64 = 300;

/// What a dialer goes by.
pub struct Running {
    /// The campaign, by count.
    pub count: u32,
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub status: CampaignStatus,
    /// Its assistant, by count.
    pub assistant: u32,
    /// Calls at once.
    pub lines: u32,
    /// Numbers to call from, by count.
    pub numbers: Vec<u32>,
    /// When a missed lead is called again.
    pub rules: Rules,
    /// Whether it completes when no lead is left.
    pub completes: bool,
    hours: Hours,
    zone: String,
}

/// When a lead is called again (API.md, Campaigns and leads).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Further rounds after the first.
    pub max_retries: u32,
    /// Between rounds, seconds.
    pub interval_seconds: u64,
    /// Whether voicemail counts as not reached.
    pub voicemail: bool,
    /// The variable that must tell of success, where a missed goal counts as not reached.
    pub goal: Option<String>,
}

/// Whether a campaign may place a call now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may, on so many lines.
    Open(u32),
    /// It may not.
    Closed(Reason, Option<Timestamp>),
}

/// Why a campaign does not call now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It does not run.
    NotRunning,
    /// Its assistant is inactive, or gone.
    AssistantInactive,
    /// The only number that its calls could show is an unverified caller id.
    CallerIdUnverified,
    /// The account is shut out.
    Suspended,
    /// The account has no money left.
    NoBalance,
    /// It is not one of its hours.
    OutsideHours,
    /// None of its days is allowed.
    NoDays,
    /// Every line is busy.
    LinesBusy,
}

/// What the decision looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub struct Facts {
    /// The campaign's state.
    pub status: CampaignStatus,
    /// Whether its assistant is active.
    pub assistant_active: bool,
    /// Whether its calls could show nothing but an unverified caller id.
    pub unverified: bool,
    /// Whether the account is shut out.
    pub suspended: bool,
    /// Whether the account can pay.
    pub solvent: bool,
    /// Where its hours stand.
    pub opening: Opening,
    /// Calls at once.
    pub lines: u32,
    /// Calls that run, or wait for an engine.
    pub busy: u32,
    /// The time.
    pub now: Timestamp,
}

/// The decision: pure, and all of it.
pub fn gate(facts: &Facts) -> Gate {
    if facts.status != CampaignStatus::InProgress {
        return Gate::Closed(Reason::NotRunning, None);
    }
    if !facts.assistant_active {
        return Gate::Closed(Reason::AssistantInactive, None);
    }
    match facts.opening {
        Opening::Never => return Gate::Closed(Reason::NoDays, None),
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

/// The campaign's name, if it is there.
pub fn name_of(account: Scope<'_>, count: u32) -> Result<Option<String>, Stop> {
    let Some(row) = account.find(Kind::Campaign, count)? else { return Ok(None) };
    Ok(row.members(DAMAGED)?.get("name").and_then(Value::as_text).map(ToString::to_string))
}

/// Where stored members say that a campaign stands.
pub fn status(members: &Members) -> CampaignStatus {
    members.get("status").and_then(Value::as_text).and_then(CampaignStatus::of).unwrap_or(CampaignStatus::Draft)
}

impl Running {
    /// A campaign of the account.
    pub fn find(account: Scope<'_>, number: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Campaign, number)?.map(|row| Self::of(account, number, &row)).transpose()
    }

    /// One whose row is at hand.
    pub fn of(account: Scope<'_>, number: u32, row: &Row) -> Result<Self, Stop> {
        let members = row.members(DAMAGED)?;
        let text = |name: &str| members.get(name).and_then(Value::as_text).map(ToString::to_string);
        let small = |name: &str| {
            let value = members.get(name).and_then(Value::as_u64);
            value.and_then(|n| u32::try_from(n).ok()).ok_or(DAMAGED)
        };
        let flag = |name: &str| members.get(name) == Some(&Value::Bool(true));
        let list = |name: &str| members.get(name).and_then(Value::as_list).unwrap_or_default();
        let days = list("allowed_days").iter().filter_map(|day| Weekday::of(day.as_text()?));
        let clock = |name: &str| text(name).ok_or(DAMAGED);
        let hours = Hours::of(
            &clock("allowed_hours_start_time")?,
            &clock("allowed_hours_end_time")?,
            &days.collect::<Vec<_>>(),
        );
        let own = |value: &Value| value.as_u64().and_then(|id| id::local(account.space(), id));
        Ok(Self {
            count: number,
            name: text("name").ok_or(DAMAGED)?,
            status: status(&members),
            assistant: members.get("assistant_id").and_then(own).ok_or(DAMAGED)?,
            lines: small("max_calls_in_parallel")?,
            numbers: list("phone_number_ids").iter().filter_map(own).collect(),
            rules: Rules {
                max_retries: small("max_retries")?,
                interval_seconds: u64::from(small("retry_interval")?) * 60,
                voicemail: flag("retry_on_voicemail"),
                goal: text("goal_completion_variable").filter(|_| flag("retry_on_goal_incomplete")),
            },
            completes: flag("mark_complete_when_no_leads"),
            hours,
            zone: text("timezone").ok_or(DAMAGED)?,
        })
    }

    /// Whether its hours are open.
    pub fn opening(&self, now: Timestamp) -> Opening {
        self.hours.opening(&Zone::of(&self.zone), now)
    }

    /// Whether its calls could show nothing but an unverified caller id: none of its own numbers can be shown, and one of
    /// them, or its assistant's, is not verified.
    pub fn is_unverified(&self, account: Scope<'_>) -> Result<bool, Stop> {
        let mut unverified = false;
        for number in &self.numbers {
            if number::shown_on_calls(account, *number)?.is_some() {
                return Ok(false);
            }
            unverified |= CallerNumber::of(account, *number)? == CallerNumber::Unverified;
        }
        let assistant = account.find(Kind::Assistant, self.assistant)?.map(|row| row.members(DAMAGED)).transpose()?;
        let own = assistant.and_then(|members| members.get("phone_number_id").and_then(Value::as_u64));
        match own.and_then(|id| id::local(account.space(), id)) {
            Some(own) => Ok(match CallerNumber::of(account, own)? {
                CallerNumber::Unverified => true,
                CallerNumber::Shown(number) => unverified && number.is_none(),
            }),
            None => Ok(unverified),
        }
    }

    /// Whether it may place a call now.
    pub fn gate(&self, account: Scope<'_>, now: Timestamp) -> Result<Gate, Stop> {
        let assistant = account.find(Kind::Assistant, self.assistant)?.map(|row| row.members(DAMAGED)).transpose()?;
        let active = |members: &Members| members.get("status").and_then(Value::as_text) == Some(Status::Active.word());
        let state = Profile::of(account)?.state;
        let busy = count(account, Kind::Call, &facet_of_line(self.count))?;
        Ok(gate(&Facts {
            status: self.status,
            assistant_active: assistant.as_ref().is_some_and(active),
            unverified: self.is_unverified(account)?,
            suspended: state.suspended,
            solvent: state.balance.is_none_or(|balance| balance > 0),
            opening: self.opening(now),
            lines: self.lines,
            busy: u32::try_from(busy).unwrap_or(u32::MAX),
            now,
        }))
    }
}
