//! Events and webhooks (docs/api.md, Events and webhooks): an account's feed of events, and webhooks that carry the
//! same ids and bodies, signed as in Standard Webhooks and retried until they arrive or are exhausted.

mod activation;
mod address;
mod deliver;
mod deliveries;
mod erase;
mod feed;
mod rows;
pub mod tables;

pub use activation::{FirstUse, activate};
pub use address::{FailingAddress, failing};
pub use deliver::{deliver, give_up, request, response};
pub use deliveries::{list, of_call, resend};
pub use erase::{EVENTS_AT_ONCE, Mention, erase, old_slice as empty_old, slice as empty, some as empty_some};
pub use feed::{list as events, publish, read, sweep};
pub use rows::{DeliveryRow, DeliveryState, Subject, Webhook, waiting};
