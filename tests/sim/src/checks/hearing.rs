//! Answers to engines: true reports are accepted, once; wrong ones are rejected.

use super::{Held, holds};
use crate::client::{Heard, Saying};
use crate::facts::Call;

/// Checks the service's answer to an engine's report; `is_own` tells whether the call is still this engine's.
pub fn hears(saying: Saying, known: Option<&Call>, is_own: bool, heard: &Heard) -> Held {
    let runs = known.is_some_and(|call| call.status.is_running());
    let status = heard.status();
    if !is_own {
        holds!(status == 404, "a call that went back is its former engine's no more: {saying:?} {heard:?}");
        return Ok(());
    }
    match saying {
        Saying::Stranger => holds!(status == 404, "a call of another engine is not there: {heard:?}"),
        Saying::Gap | Saying::Wrong => holds!(
            status == 409 || known.is_none() && status == 404,
            "a gap, or an event that the state does not allow, is refused: {saying:?} {heard:?}"
        ),
        Saying::Again | Saying::Renewal => holds!(
            status == 200 || known.is_none() && status == 404,
            "what was said before is acknowledged: {saying:?} {heard:?}"
        ),
        Saying::Truth => holds!(
            status == 200 || !runs && matches!(status, 404 | 409),
            "an engine that tells the truth in order is believed: {heard:?} of {known:?}"
        ),
    }
    Ok(())
}
