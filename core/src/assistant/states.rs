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
}

impl AssistantEvent {
    /// Every event that [`MOVES`] knows.
    pub const ALL: [Self; 2] = [Self::Activate, Self::Deactivate];

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
    (Active,   AssistantEvent::Deactivate, Inactive),
]);

/// Status of a new assistant.
pub const FIRST: Status = Inactive;
