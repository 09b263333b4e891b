//! Leads (SPEC.md, Leads; API.md, Campaigns and leads): people to call in a campaign.

mod operations;
mod phones;
mod stored;
pub mod tables;

pub use operations::{create, delete, list, read, update};
pub use stored::{drop_campaign, drop_slice};
