//! What happened, told outside (docs/api.md, Events and webhooks): an account's feed of events, and
//! webhooks that carry the same ids and bodies, signed after Standard Webhooks and tried until they arrive.

mod address;
mod deliver;
mod deliveries;
mod erase;
mod feed;
mod rows;
pub mod tables;

pub use deliver::{deliver, give_up, request, response};
pub use deliveries::{list, resend};
pub use erase::{EVENTS_AT_ONCE, Mention, erase, old_slice as empty_old, slice as empty, some as empty_some};
pub use feed::{list as events, publish, read, sweep};
pub use rows::{DeliveryRow, DeliveryState, Webhook};
