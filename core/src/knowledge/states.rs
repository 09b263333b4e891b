//! State machine of a document, and the state of a knowledgebase derived from its documents (docs/api.md, States).

use super::tables::BaseStatus;
use super::tables::DocumentStatus::{self, Active, Failed, Processing};
use crate::state::States;

/// An event that changes a document's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentEvent {
    /// Its text is indexed.
    Ready,
    /// Its text could not be read, or does not fit.
    Fail,
}

impl DocumentEvent {
    /// Every event, in the order of the enum.
    pub const ALL: [Self; 2] = [Self::Ready, Self::Fail];
}

/// Transitions of a document: state, event, next state.
#[rustfmt::skip]
pub static MOVES: States<DocumentStatus, DocumentEvent> = States(&[
    (Processing, DocumentEvent::Ready, Active),
    (Processing, DocumentEvent::Fail,  Failed),
]);

/// State of a knowledgebase: that of the first row whose document state occurs in it, otherwise `empty`.
pub const DERIVED: [(DocumentStatus, BaseStatus); 3] =
    [(Processing, BaseStatus::Processing), (Failed, BaseStatus::Failed), (Active, BaseStatus::Active)];
