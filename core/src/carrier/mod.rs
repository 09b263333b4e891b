//! Carriers
pub mod numbering;
