//! Why calls end: one list of codes for whoever reads a call, whether its engine or the service ended it (docs/api.md, Why
//! a call ended). The words of an engine stay in the call's last event; here they only select a code.

use super::states::CallEvent;
use crate::choice;

choice! {
    /// Why a call ended.
    pub enum EndedReason {
        /// The customer hung up.
        CustomerHungUp = "customer_hung_up",
        /// The assistant hung up.
        AssistantHungUp = "assistant_hung_up",
        /// The call went to somebody else.
        Transferred = "transferred",
        /// Voicemail, or another machine, picked up.
        Voicemail = "voicemail",
        /// Nobody said anything for too long.
        Silence = "silence",
        /// The assistant's `max_duration` was reached.
        MaxDuration = "max_duration",
        /// The API hung up, or cancelled the call while it was queued.
        Hangup = "hangup",
        /// The engine ended it without saying for which of these reasons.
        Ended = "ended",
        /// The line was busy.
        Busy = "busy",
        /// Nobody picked up within the ringing time.
        NoAnswer = "no_answer",
        /// The carrier could not connect it.
        CarrierError = "carrier_error",
        /// The engine could not carry it out, or broke it off.
        EngineFailed = "engine_failed",
        /// The engine fell silent: its lease ran out.
        LeaseExpired = "lease_expired",
        /// A web call whose token no browser showed in time.
        TokenExpired = "token_expired",
        /// The engine that had claimed it did not dial.
        NotDialed = "not_dialed",
        /// No engine claimed it in time, though one was attached.
        Unclaimed = "unclaimed",
        /// No engine claimed it in time, and none was attached.
        NoEngine = "no_engine",
        /// The assistant, compiled for the call, was over its limit of bytes.
        AssistantTooLarge = "assistant_too_large",
        /// The assistant was deleted while the call was queued.
        AssistantDeleted = "assistant_deleted",
        /// The number came onto the account's do-not-call list while the call was queued.
        DoNotCall = "do_not_call",
        /// The caller id that it would have shown was not verified any more.
        CallerIdUnverified = "caller_id_unverified",
        /// The campaign was stopped while the call was queued.
        CampaignStopped = "campaign_stopped",
        /// The campaign was deleted while the call was queued.
        CampaignDeleted = "campaign_deleted",
        /// The campaign's hours were over before an engine claimed it.
        OutsideHours = "outside_hours",
        /// The lead was changed or deleted while the call was queued.
        LeadChanged = "lead_changed",
        /// The service could not hand it to an engine.
        InternalError = "internal_error",
        /// The operator dropped the work that it was waiting for.
        GivenUp = "given_up",
    }
}

/// Codes that the words of an engine can select.
const WORDED: [EndedReason; 5] = [
    EndedReason::Transferred,
    EndedReason::Voicemail,
    EndedReason::Silence,
    EndedReason::MaxDuration,
    EndedReason::CarrierError,
];

impl EndedReason {
    /// Returns why a call ended that its engine moved by `event` with these words. `told` is why the engine had been
    /// told to hang up: it decides where neither side hung up.
    pub fn of_engine(event: CallEvent, words: Option<&str>, told: Option<Self>) -> Self {
        let worded = || words.and_then(Self::worded);
        match event {
            CallEvent::CustomerEnds => worded().unwrap_or(Self::CustomerHungUp),
            CallEvent::AssistantEnds => worded().unwrap_or(Self::AssistantHungUp),
            CallEvent::Busy => Self::Busy,
            CallEvent::NoAnswer => Self::NoAnswer,
            CallEvent::Fail => told.or_else(worded).unwrap_or(Self::EngineFailed),
            _ => told.or_else(worded).unwrap_or(Self::Ended),
        }
    }

    /// Reads the words of an engine: a code, also with hyphens.
    fn worded(words: &str) -> Option<Self> {
        let code = words.replace('-', "_");
        WORDED.into_iter().find(|reason| reason.word() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::EndedReason::{self, *};
    use super::*;

    #[test]
    fn an_engine_is_understood_by_its_event_and_its_words() {
        for (event, words, told, want) in [
            (CallEvent::CustomerEnds, None, None, CustomerHungUp),
            (CallEvent::CustomerEnds, Some("hung-up"), Some(Hangup), CustomerHungUp),
            (CallEvent::CustomerEnds, Some("voicemail"), None, Voicemail),
            (CallEvent::AssistantEnds, Some("end-call"), None, AssistantHungUp),
            (CallEvent::AssistantEnds, Some("transferred"), Some(Hangup), Transferred),
            (CallEvent::End, None, None, Ended),
            (CallEvent::End, Some("max-duration"), None, MaxDuration),
            (CallEvent::End, Some("max_duration"), None, MaxDuration),
            (CallEvent::End, Some("max-duration"), Some(Hangup), Hangup),
            (CallEvent::End, Some("hangup"), Some(MaxDuration), MaxDuration),
            (CallEvent::End, Some("hangup"), None, Ended),
            (CallEvent::Busy, Some("busy"), Some(Hangup), Busy),
            (CallEvent::NoAnswer, Some("no-answer"), None, NoAnswer),
            (CallEvent::Fail, Some("carrier-error"), None, CarrierError),
            (CallEvent::Fail, Some("SIP 488"), None, EngineFailed),
            (CallEvent::Fail, Some("cancelled"), Some(Hangup), Hangup),
            // What only the service can know is no word of an engine.
            (CallEvent::Fail, Some("do_not_call"), None, EngineFailed),
        ] {
            assert_eq!(EndedReason::of_engine(event, words, told), want, "{event:?} {words:?} {told:?}");
        }
    }
}
