//! The states of a call as a table (docs/api.md, States).

use super::tables::CallStatus::{
    self, Busy, Completed, Ended, EndedByAssistant, EndedByCustomer, Failed, InProgress, Initiated, NoAnswer, Ringing,
};
use crate::state::States;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEvent {
    /// It rings.
    Ring,
    /// Somebody, or something, picks up.
    Answer,
    /// The customer hangs up.
    CustomerEnds,
    /// The assistant hangs up.
    AssistantEnds,
    /// It ends by itself.
    End,
    /// The work after it is done, or given up.
    Complete,
    /// The line is busy.
    Busy,
    /// Nobody picks up.
    NoAnswer,
    /// It cannot be carried out.
    Fail,
}

impl CallEvent {
    /// All of them.
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

/// What moves a call.
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

/// Where a call begins.
pub const FIRST: CallStatus = Initiated;
