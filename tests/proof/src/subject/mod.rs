//! The hosts that play a script.

mod cold;
pub mod component;
pub mod convert;
mod memory;
mod native;
pub mod player;
mod postgres;
mod rows;
pub mod served;

pub use cold::Cold;
pub use component::Component;
pub use memory::Warm;
pub use native::Native;
pub use postgres::Databases;
pub use rows::Stored;

use serde_json::Value;
use switchboard_core::memory::Memory;
use switchboard_core::service::Service;
use switchboard_core::settings::{self, Configured};

use crate::said::Row;

/// Parses the settings of a script.
///
/// # Panics
/// If they are invalid.
pub fn configured(settings: &Value) -> Configured {
    settings::parse(settings.to_string().as_bytes()).expect("a script's settings are valid")
}

/// Returns every row in memory, sorted by key.
pub fn all(rows: &Memory) -> Vec<Row> {
    rows.rows().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn service(settings: &Value) -> Service {
    Service::new(configured(settings).config)
}
