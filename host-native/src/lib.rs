//! Switchboard as a native program: runs the core's `step` over redb, hyper and reqwest.
//!
//! A read-only request is answered from a snapshot on the worker that received it. A write goes to the [`writer`], a
//! single thread that commits many of them at once and then releases their replies. The core decides everything; this
//! crate reads, commits, sends and listens.

pub mod address;
pub mod apart;
pub mod backup;
pub mod clock;
pub mod copy;
pub mod edge;
pub mod extract;
pub mod follow;
pub mod history;
pub mod host;
pub mod large;
pub mod limiter;
pub mod metrics;
pub mod names;
pub mod news;
pub mod private;
pub mod reserve;
pub mod room;
pub mod rooms;
pub mod seal;
pub mod send;
pub mod serve;
pub mod settings;
pub mod sparse;
pub mod store;
pub mod turns;
pub mod vault;
pub mod watched;
pub mod writer;

/// The `OpenAPI` document that this host shows: the committed one, with a paragraph and examples for each operation.
pub const DOCUMENT: &str = include_str!("../../openapi.json");
