//! State table of assistants (docs/api.md, States).

use super::tables::Status::{self, Active, Inactive};
use crate::state::States;

/// Event that may change the status of an assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssistantEvent {
    /// An update sets `status` to `active`.
    Activate,
    /// An update sets `status` to `inactive`.
    Deactivate,
    /// A campaign starts with it, or it takes an inbound call; counts only for one that was never switched.
    Use,
}

impl AssistantEvent {
    /// Every event that [`MOVES`] knows.
    pub const ALL: [Self; 3] = [Self::Activate, Self::Deactivate, Self::Use];

    /// Returns the event that leads to `status`.
    pub const fn to(status: Status) -> Self {
        match status {
            Active => Self::Activate,
            Inactive => Self::Deactivate,
        }
    }
}

/// Transitions of an assistant; asking for its current status changes nothing.
#[rustfmt::skip]
pub static MOVES: States<Status, AssistantEvent> = States(&[
    (Inactive, AssistantEvent::Activate,   Active),
    (Inactive, AssistantEvent::Use,        Active),
    (Active,   AssistantEvent::Deactivate, Inactive),
]);

/// Status of a new assistant.
pub const FIRST: Status = Inactive;
