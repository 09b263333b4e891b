//! Conversations by text (docs/api.md, Conversations): with strangers on a page, with the account's own people who try an
//! assistant, and with customers of whoever asks for replies.
//!
//! A turn is one exchange: its first step keeps the message and marks the conversation as busy, the model and the functions
//! that it calls are asked one after the other, and the last step keeps the answer, charges the turn and takes the mark
//! away. A host that dies in between leaves a mark that lapses and a message without an answer; the same message sent
//! again is answered, not kept twice.

mod carry;
mod course;
mod ended;
mod follow;
mod list;
mod open;
mod own;
mod replies;
mod rows;
mod send;
pub mod tables;
mod talk;
mod visit;
mod widget;

pub use ended::{conclude, give_up};
pub use list::list;
pub use open::{read as read_open, start};
pub use own::{delete, disable_ai, enable_ai, read};
pub use replies::generate;
pub use send::send;
pub use widget::{call as call_widget, read as read_widget};
