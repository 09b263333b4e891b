//! What tests have outside: the host's own sender, and the server that it sends to.

use std::sync::Arc;

use switchboard::extract::child::Extractor;
use switchboard::metrics::Metrics;
use switchboard::rooms::Rooms;
use switchboard::send::{Outside, SendExecutor};
pub use switchboard_tests::outside::{Came, listen, read, serve, serve_at};

use crate::server::binary;

/// Returns the host's own sender, with budgets of its own.
pub fn sender(outside: Outside) -> SendExecutor {
    sender_in(outside, &Arc::default())
}

/// Returns the host's own sender, with these budgets.
pub fn sender_in(outside: Outside, rooms: &Arc<Rooms>) -> SendExecutor {
    let extractor = Extractor::new(binary(), Arc::clone(&rooms.readers)).expect("a thread");
    SendExecutor::new(outside, extractor, None, Arc::new(Metrics::of(rooms)), rooms).expect("a sender")
}
