//! Creation of calls: for `make_call`, for the dialer, and for calls that an engine reports.

use alloc::string::String;

use super::days;
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
use crate::record::{MemberTuple, Rest, Sql, Variables};
use crate::root;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const UNVERIFIED: Stop = Stop::Corrupt("a call was placed with an unverified caller id");

/// What a call takes from its assistant, as it is when the call is made.
#[derive(Clone, Debug)]
pub struct CallAssistant {
    /// Local id of the assistant.
    pub count: u32,
    /// Name of the assistant, copied into the call.
    pub name: String,
    /// Number that the call shows.
    pub number: CallerNumber,
    /// Engine mode, which selects the queue that the call waits in.
    pub mode: Mode,
    /// Time that a call may ring, seconds.
    ringing_time: u32,
    /// Longest duration of a call from its answer, seconds.
    max_duration: u32,
}

impl CallAssistant {
    /// Reads it from the assistant's row, and its number from the number's row.
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

/// Input for a new call.
pub struct CallSpec {
    /// Inbound, outbound or web; only outbound calls wait for an engine.
    pub kind: CallType,
    /// Assistant that speaks in the call.
    pub caller: CallAssistant,
    /// Customer's number, E.164; `None` where an incoming call has none.
    pub client_phone_number: Option<String>,
    /// Variables that the call is given, filled into the assistant's prompts.
    pub variables: Members,
    /// Campaign that places the call, by local id and name.
    pub campaign: Option<(u32, String)>,
    /// Lead or secondary contact that is called, by local id.
    pub lead: Option<u32>,
    /// Lead that the called secondary contact belongs to, by local id; `None` if the lead itself is called.
    pub main: Option<u32>,
}

/// Stores a new call as `initiated` and returns its local id and its `created_at`. An outbound call is queued for an
/// engine, and fails if none claims it within [`UNCLAIMED_SECONDS`]. The caller of this function has refused an
/// unverified caller id before.
pub fn place(account: Scope<'_>, new: CallSpec, now: Timestamp) -> Result<(u32, Timestamp), Stop> {
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
        ended_reason: None,
        from_raw: None,
        latency: None,
        cost_breakdown: None,
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
    days::count_placed(account, at)?;
    if kind == CallType::Outbound {
        root::enqueue(account, caller.mode, count)?;
        job::add(account, at.plus_seconds(UNCLAIMED_SECONDS), Task::Watch(count))?;
    }
    Ok((count, at))
}
