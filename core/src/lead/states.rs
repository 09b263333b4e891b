//! State machine of a lead (docs/api.md, States).

use super::tables::LeadStatus::{
    self, Blacklisted, Completed, Created, Processing, ReachedMaxRetries, Rescheduled, Scheduled,
};
use crate::state::States;

/// An event that may change a lead's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadEvent {
    /// The dialer puts it next in line.
    Schedule,
    /// The dialer places a call to it.
    Dial,
    /// It was reached, and nothing requires another call.
    Reach,
    /// It was not reached in this round.
    Miss,
    /// No further round is left: it is not called again.
    GiveUp,
    /// Its number is on the list of numbers not to be called.
    Blacklist,
    /// The API sets `created`.
    SetCreated,
    /// The API sets `completed`.
    SetCompleted,
    /// The API sets `reached-max-retries`.
    SetReachedMaxRetries,
}

impl LeadEvent {
    /// Every event, in the order of the enum.
    pub const ALL: [Self; 9] = [
        Self::Schedule,
        Self::Dial,
        Self::Reach,
        Self::Miss,
        Self::GiveUp,
        Self::Blacklist,
        Self::SetCreated,
        Self::SetCompleted,
        Self::SetReachedMaxRetries,
    ];

    /// Returns the event that sets a status by the API; any other status counts as `created`.
    pub const fn set(status: LeadStatus) -> Self {
        match status {
            Completed => Self::SetCompleted,
            ReachedMaxRetries => Self::SetReachedMaxRetries,
            _ => Self::SetCreated,
        }
    }
}

/// Transitions of a lead: state, event, next state. The API may set its three states from any state.
#[rustfmt::skip]
pub static MOVES: States<LeadStatus, LeadEvent> = States(&[
    (Created,           LeadEvent::Schedule,             Scheduled),
    (Rescheduled,       LeadEvent::Schedule,             Scheduled),
    (Scheduled,         LeadEvent::Dial,                 Processing),
    (Processing,        LeadEvent::Reach,                Completed),
    (Processing,        LeadEvent::Miss,                 Rescheduled),
    (Rescheduled,       LeadEvent::GiveUp,               ReachedMaxRetries),
    (Created,           LeadEvent::Blacklist,            Blacklisted),
    (Scheduled,         LeadEvent::Blacklist,            Blacklisted),
    (Processing,        LeadEvent::Blacklist,            Blacklisted),
    (Completed,         LeadEvent::Blacklist,            Blacklisted),
    (Rescheduled,       LeadEvent::Blacklist,            Blacklisted),
    (ReachedMaxRetries, LeadEvent::Blacklist,            Blacklisted),
    (Created,           LeadEvent::SetCreated,           Created),
    (Scheduled,         LeadEvent::SetCreated,           Created),
    (Processing,        LeadEvent::SetCreated,           Created),
    (Completed,         LeadEvent::SetCreated,           Created),
    (Rescheduled,       LeadEvent::SetCreated,           Created),
    (ReachedMaxRetries, LeadEvent::SetCreated,           Created),
    (Blacklisted,       LeadEvent::SetCreated,           Created),
    (Created,           LeadEvent::SetCompleted,         Completed),
    (Scheduled,         LeadEvent::SetCompleted,         Completed),
    (Processing,        LeadEvent::SetCompleted,         Completed),
    (Completed,         LeadEvent::SetCompleted,         Completed),
    (Rescheduled,       LeadEvent::SetCompleted,         Completed),
    (ReachedMaxRetries, LeadEvent::SetCompleted,         Completed),
    (Blacklisted,       LeadEvent::SetCompleted,         Completed),
    (Created,           LeadEvent::SetReachedMaxRetries, ReachedMaxRetries),
    (Scheduled,         LeadEvent::SetReachedMaxRetries, ReachedMaxRetries),
    (Processing,        LeadEvent::SetReachedMaxRetries, ReachedMaxRetries),
    (Completed,         LeadEvent::SetReachedMaxRetries, ReachedMaxRetries),
    (Rescheduled,       LeadEvent::SetReachedMaxRetries, ReachedMaxRetries),
    (ReachedMaxRetries, LeadEvent::SetReachedMaxRetries, ReachedMaxRetries),
    (Blacklisted,       LeadEvent::SetReachedMaxRetries, ReachedMaxRetries),
]);
