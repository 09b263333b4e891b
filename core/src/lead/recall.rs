//! What becomes of a call that waits for an engine when the API changes or deletes the lead that it is for:
//! it is called off, and whoever is still to be called is called anew.

use super::rows::{Dial, LeadRow, find, replace};
use crate::call;
use crate::call::ending::{by_service, over};
use crate::call::states::CallEvent;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// The call to a lead, or to a secondary contact of it, that no engine has yet; of a secondary contact only the
/// call to itself.
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

/// Calls such a call off; a lead that is still called in it is to be called at once.
pub fn call_off(account: Scope<'_>, call: Option<call::CallRow>, main: u32, now: Timestamp) -> Result<(), Stop> {
    let Some(mut call) = call else { return Ok(()) };
    if let Some((row, lead)) = find(account, main)?
        && lead.dial().call == call.count
    {
        let dial = Dial { call: 0, due: Some(now), ..lead.dial() };
        replace(account, main, &row, &lead, &lead.clone().with_dial(dial))?;
    }
    over(account, &mut call, CallEvent::Fail, &by_service("lead-changed"), now).map(drop)
}
