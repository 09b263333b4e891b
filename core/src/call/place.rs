//! Making a call: for `make_call`, for the dialer, and for calls that an engine brings.

use alloc::string::String;

use super::rows::{CallRow, Live};
use super::states::FIRST;
use super::tables::{AnsweredBy, Call, CallType};
use crate::assistant::tables::Assistant;
use crate::catalogue::Mode;
use crate::id;
use crate::job::{self, Task};
use crate::json::Members;
use crate::key::Kind;
use crate::limits::UNCLAIMED_SECONDS;
use crate::number::CallerNumber;
use crate::record::{Pick, Rest, Sql, Variables};
use crate::root;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const UNVERIFIED: Stop = Stop::Corrupt("a call was placed with an unverified caller id");

/// What a call needs of its assistant, as it is now.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The assistant, by count.
    pub count: u32,
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: CallerNumber,
    /// Its engine mode.
    pub mode: Mode,
    /// How long a call of it rings, seconds.
    ringing_time: u32,
    /// How long a call of it lasts, seconds.
    max_duration: u32,
}

impl Caller {
    /// Reads it from the assistant's row.
    pub fn of(account: Scope<'_>, count: u32, assistant: &Row) -> Result<Self, Stop> {
        let its = Assistant::MEMBERS;
        let (name, number, mode, ringing_time, max_duration) =
            (its.name, its.phone_number_id, its.mode, its.ringing_time, its.max_duration).read(&assistant.public)?;
        let number = match number.and_then(|id| id::local(account.space(), id)) {
            Some(number) => CallerNumber::of(account, number)?,
            None => CallerNumber::Shown(None),
        };
        Ok(Self { count, name, number, mode, ringing_time, max_duration })
    }
}

/// What a call is made from.
pub struct New {
    /// How it comes about.
    pub kind: CallType,
    /// Who speaks.
    pub caller: Caller,
    /// The customer's number, E.164.
    pub client_phone_number: Option<String>,
    /// What the call is given.
    pub variables: Members,
    /// The campaign, by count and name.
    pub campaign: Option<(u32, String)>,
    /// The lead that is called, by count.
    pub lead: Option<u32>,
    /// Where that is a secondary contact: its lead, by count.
    pub main: Option<u32>,
}

/// Makes a call, `initiated`, and gives its count; one that the assistant places waits for an engine, and its clock
/// runs. Whoever places a call has refused an unverified caller id before.
pub fn place(account: Scope<'_>, new: New, now: Timestamp) -> Result<u32, Stop> {
    let (count, at) = account.allot(Kind::Call, now)?;
    let own = |count: u32| id::of(account.space(), count);
    let (caller, kind) = (new.caller, new.kind);
    let CallerNumber::Shown(assistant_phone_number) = caller.number else { return Err(UNVERIFIED) };
    let shown = Call {
        id: own(count),
        assistant_name: caller.name,
        campaign_name: new.campaign.as_ref().map(|(_, name)| name.clone()),
        r#type: kind,
        duration: 0,
        assistant_phone_number,
        client_phone_number: new.client_phone_number,
        status: FIRST,
        transcript: String::new(),
        variables: Variables(new.variables.clone()),
        evaluation: None,
        webhook_response: None,
        carrier_cost: 0.0,
        total_cost: 0.0,
        answered_by: AnsweredBy::Unknown,
        recording_url: None,
        created_at: Sql(at),
        updated_at: Sql(at),
        assistant_id: own(caller.count),
        campaign_id: new.campaign.as_ref().map(|(count, _)| own(*count)),
        lead_id: new.lead.map(own),
        rest: Rest::default(),
    };
    let mut live = Live {
        last_at: at,
        ringing_time: caller.ringing_time,
        max_duration: caller.max_duration,
        input: Variables(new.variables),
        main: new.main,
        ..Live::default()
    };
    live.note(account, count, at, "initiated", &Members::default())?;
    CallRow::enter(account, count, &shown, &live, at)?;
    if kind == CallType::Outbound {
        root::enqueue(account, caller.mode, count)?;
        job::add(account, at.plus_seconds(UNCLAIMED_SECONDS), Task::Watch(count))?;
    }
    Ok(count)
}
