//! The states of a lead as a table (docs/api.md, States).

use super::tables::LeadStatus::{
    self, Blacklisted, Completed, Created, Processing, ReachedMaxRetries, Rescheduled, Scheduled,
};
use crate::state::States;

/// What happens to a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadEvent {
    /// It is next in line.
    Schedule,
    /// It is called.
    Dial,
    /// It was reached, and there is no reason to call it again.
    Reach,
    /// It was not reached.
    Miss,
    /// It is called no more.
    GiveUp,
    /// Its number is not to be called.
    Blacklist,
    /// The API says that it is new.
    SetCreated,
    /// The API says that it is done.
    SetCompleted,
    /// The API says that it was called often enough.
    SetReachedMaxRetries,
}

impl LeadEvent {
    /// All of them.
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

    /// The event of a status that the API may set.
    pub const fn set(status: LeadStatus) -> Self {
        match status {
            Completed => Self::SetCompleted,
            ReachedMaxRetries => Self::SetReachedMaxRetries,
            _ => Self::SetCreated,
        }
    }
}

/// What moves a lead.
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
