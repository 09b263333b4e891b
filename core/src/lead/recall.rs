//! Queued calls of a lead that the API changes or deletes: they are cancelled, and a lead that is
//! still there is due again.

use super::rows::{Dial, LeadRow, find, replace};
use crate::call;
use crate::call::ending::end_call;
use crate::call::reasons::EndedReason;
use crate::call::states::CallEvent;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Returns the call to a lead, or to one of its secondary contacts, that no engine has claimed; for a secondary contact
/// only a call to itself.
pub fn waiting(account: Scope<'_>, count: u32, lead: &LeadRow) -> Result<Option<call::CallRow>, Stop> {
    let main = match lead.parent {
        Some(parent) => find(account, parent)?.map_or(0, |(_, main)| main.dial().call),
        None => lead.dial().call,
    };
    let call = if main == 0 { None } else { call::CallRow::find(account, main)? };
    Ok(call.filter(|call| {
        let unclaimed = call.live.engine.is_none() && call.status().is_running();
        unclaimed && (lead.parent.is_none() || call.lead() == Some(count))
    }))
}

/// Cancels such a call; a lead that still exists is due again at once.
pub fn call_off(account: Scope<'_>, call: Option<call::CallRow>, main: u32, now: Timestamp) -> Result<(), Stop> {
    let Some(mut call) = call else { return Ok(()) };
    if let Some((row, lead)) = find(account, main)?
        && lead.dial().call == call.count
    {
        let dial = Dial { call: 0, due: Some(now), ..lead.dial() };
        replace(account, main, &row, &lead, &lead.clone().with_dial(dial))?;
    }
    end_call(account, &mut call, CallEvent::Fail, EndedReason::LeadChanged, now).map(drop)
}
