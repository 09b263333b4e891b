//! The states of an assistant as a table (docs/api.md, States).

use super::tables::Status::{self, Active, Inactive};
use crate::state::States;

/// What happens to an assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssistantEvent {
    /// An update makes it answer.
    Activate,
    /// An update makes it answer no longer.
    Deactivate,
}

impl AssistantEvent {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Activate, Self::Deactivate];

    /// The event that a supplied status asks for.
    pub const fn to(status: Status) -> Self {
        match status {
            Active => Self::Activate,
            Inactive => Self::Deactivate,
        }
    }
}

/// What moves an assistant; one that is asked to be what it is stays so.
#[rustfmt::skip]
pub static MOVES: States<Status, AssistantEvent> = States(&[
    (Inactive, AssistantEvent::Activate,   Active),
    (Active,   AssistantEvent::Deactivate, Inactive),
]);

/// Where an assistant begins.
pub const FIRST: Status = Inactive;
