//! [`ChatPieces`]: the text of a streamed answer as it arrives, for whoever follows a conversation.

use alloc::string::String;

use super::chat::{Piece, cleaned};
use super::events::Events;

/// Reads a streamed answer from bytes that are cut anywhere. What it returns in all is the text of
/// [`ChatAnswer::read`](super::ChatAnswer::read), if that can be read.
#[derive(Default)]
pub struct ChatPieces {
    events: Events,
    is_over: bool,
}

impl ChatPieces {
    /// Takes the next bytes of the body, and returns the text that they add; none for an answer that is not streamed.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        let Self { events, is_over } = self;
        let mut text = String::new();
        events.push(bytes, |data| match Piece::read(data) {
            _ if *is_over => {}
            Ok(Piece::Delta { text: more, .. }) => text.push_str(&cleaned(&more)),
            Ok(Piece::Nothing) => {}
            Ok(Piece::Done) | Err(_) => *is_over = true,
        });
        text
    }
}
