//! State machine of a call (docs/api.md, States).

use super::tables::CallStatus::{
    self, Busy, Completed, Ended, EndedByAssistant, EndedByCustomer, Failed, InProgress, Initiated, NoAnswer, Ringing,
};
use crate::state::States;

/// An event that may change a call's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEvent {
    /// The customer's phone rings.
    Ring,
    /// A person, or voicemail, picks up.
    Answer,
    /// The customer hangs up.
    CustomerEnds,
    /// The assistant hangs up.
    AssistantEnds,
    /// The call ends without either side hanging up, such as at its longest duration.
    End,
    /// The work after the call is done, or given up.
    Complete,
    /// The line is busy.
    Busy,
    /// Nobody picks up within the ringing time.
    NoAnswer,
    /// The call cannot be carried out.
    Fail,
}

impl CallEvent {
    /// Every event, in the order of the enum.
    pub const ALL: [Self; 9] = [
        Self::Ring,
        Self::Answer,
        Self::CustomerEnds,
        Self::AssistantEnds,
        Self::End,
        Self::Complete,
        Self::Busy,
        Self::NoAnswer,
        Self::Fail,
    ];
}

/// Transitions of a call: state, event, next state.
#[rustfmt::skip]
pub static MOVES: States<CallStatus, CallEvent> = States(&[
    (Initiated,        CallEvent::Ring,          Ringing),
    (Initiated,        CallEvent::Answer,        InProgress),
    (Initiated,        CallEvent::Busy,          Busy),
    (Initiated,        CallEvent::NoAnswer,      NoAnswer),
    (Initiated,        CallEvent::Fail,          Failed),
    (Ringing,          CallEvent::Answer,        InProgress),
    (Ringing,          CallEvent::Busy,          Busy),
    (Ringing,          CallEvent::NoAnswer,      NoAnswer),
    (Ringing,          CallEvent::Fail,          Failed),
    (InProgress,       CallEvent::CustomerEnds,  EndedByCustomer),
    (InProgress,       CallEvent::AssistantEnds, EndedByAssistant),
    (InProgress,       CallEvent::End,           Ended),
    (InProgress,       CallEvent::Fail,          Failed),
    (EndedByCustomer,  CallEvent::Complete,      Completed),
    (EndedByAssistant, CallEvent::Complete,      Completed),
    (Ended,            CallEvent::Complete,      Completed),
]);

/// State of a new call.
pub const FIRST: CallStatus = Initiated;
