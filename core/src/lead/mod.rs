//! Leads (docs/api.md, Leads): people to call in a campaign.

mod creation;
mod operations;
mod phones;
mod recall;
mod rows;
pub mod states;
pub mod tables;

pub use creation::{check_new, duplicates, enter};
pub use operations::{create, delete, list, read, update};
pub use rows::{
    Dial, LeadRow, campaign_among, drop_campaign, drop_slice, facet_of_campaign, facet_of_status, find, is_there,
    replace, webhook_json,
};
