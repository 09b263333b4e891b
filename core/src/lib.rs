//! scratch
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;
#[cfg(test)]
extern crate std;
pub mod carrier;
pub mod collection;
pub mod json;
pub mod key;
pub mod limits;
pub mod memory;
pub mod rate;
pub mod record;
pub mod seed;
pub mod store;
pub mod time;
pub mod view;
