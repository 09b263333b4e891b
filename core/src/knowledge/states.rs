//! The states of a document as a table, and of a knowledgebase as what follows from its documents
//! (docs/api.md, States).

use super::tables::BaseStatus;
use super::tables::DocumentStatus::{self, Active, Failed, Processing};
use crate::state::States;

/// What happens to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentEvent {
    /// Its text can be searched.
    Ready,
    /// It could not be read.
    Fail,
}

impl DocumentEvent {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Ready, Self::Fail];
}

/// What moves a document.
#[rustfmt::skip]
pub static MOVES: States<DocumentStatus, DocumentEvent> = States(&[
    (Processing, DocumentEvent::Ready, Active),
    (Processing, DocumentEvent::Fail,  Failed),
]);

/// A knowledgebase's state: that of the first row which some document of it is in, else `empty`.
pub const DERIVED: [(DocumentStatus, BaseStatus); 3] =
    [(Processing, BaseStatus::Processing), (Failed, BaseStatus::Failed), (Active, BaseStatus::Active)];
