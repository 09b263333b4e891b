//! The simulator's view of rows: the members that the claims need, parsed from the stored bytes by an independent
//! reader.

mod call;
mod campaign;
mod conversation;
mod lead;
mod webhook;

pub use call::Call;
pub use campaign::{Assistant, Campaign, Rules};
pub use conversation::{Conversation, Message, balance};
pub use lead::{Lead, Suppressed};
pub use webhook::{Delivery, Event, secrets};

use serde::de::DeserializeOwned;
use switchboard_core::record::Choice;
use switchboard_core::store::Row;

/// A kind of row that the simulator can read.
pub trait Fact: Sized + Clone {
    /// Parses the two parts of a row; `None` for a damaged one.
    fn read(public: &[u8], private: &[u8]) -> Option<Self>;

    /// Parses the bytes of a row.
    fn of(bytes: &[u8]) -> Option<Self> {
        let row = Row::from_bytes(bytes).ok()?;
        Self::read(&row.public, &row.private)
    }
}

/// Parses a part of a row from JSON; `None` for anything else.
pub(crate) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

/// Parses the word of a state.
pub(crate) fn word<T: Choice>(text: &str) -> Option<T> {
    let at = T::WORDS.iter().position(|known| *known == text)?;
    Some(T::ALL[at])
}
