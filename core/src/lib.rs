//! The pure core of Switchboard: a voice assistant management service as one function.
//!
//! [`service::Service::step`] takes an input, the time, a seed and a view of one ordered byte map, and returns the
//! reply, the changes and the requests to send. It has no effects of its own: no clock, no randomness, no files, no
//! sockets, no threads, no global state, and the compiler enforces that (`no_std`, `forbid(unsafe_code)`). Hosts carry
//! out what it decides.
//!
//! ```
//! use switchboard_core::memory::Memory;
//! use switchboard_core::step::{Input, Outcome};
//! use switchboard_core::http::request::{Method, Request};
//! use switchboard_core::seed::Seed;
//! use switchboard_core::service::Service;
//! use switchboard_core::setup::Config;
//! use switchboard_core::time::Timestamp;
//! use switchboard_core::view::Scene;
//!
//! let service = Service::new(Config::default());
//! let store = Memory::default();
//! let scene = Scene { now: Timestamp::from_seconds(1), seed: Seed::new([7; 32]), view: &store, careful: false };
//! let request = Request { method: Method::Get, target: "/user/me".into(), headers: vec![], body: Default::default(), peer: None, door: Default::default() };
//! let output = service.step(&Input::Http(&request, &[]), &scene).unwrap();
//! assert!(matches!(output.outcome, Outcome::Reply(reply) if reply.status == 401));
//! ```
//!
//! Where things are: `service` holds the route table and the order of checks; `record` the table language;
//! `collection` the lists; `key` every storage key; each resource has a folder of its own.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod account;
pub mod admin;
pub mod assistant;
pub mod budget;
pub mod call;
pub mod campaign;
pub mod carrier;
pub mod catalogue;
pub mod collection;
pub mod egress;
pub mod engine;
pub mod filing;
pub mod http;
pub mod id;
pub mod import;
pub mod job;
pub mod json;
pub mod key;
pub mod knowledge;
pub mod lead;
pub mod limits;
pub mod llm;
pub mod memory;
pub mod number;
pub mod numbering;
pub mod outside;
pub mod rate;
pub mod record;
pub mod remote;
pub mod root;
pub mod seed;
pub mod service;
pub mod settings;
pub mod setup;
pub mod sms;
pub mod state;
pub mod step;
pub mod store;
pub mod suppression;
pub mod template;
pub mod time;
pub mod tool;
pub mod verify;
pub mod view;
pub mod webhook;
pub mod work;
pub mod zone;
