//! The pure core of Switchboard: a voice assistant management service as one function.
//!
//! [`Service::step`] takes an input, the time, a seed and a view of one ordered byte map, and returns what to reply,
//! what to change and what to send. It does nothing itself: no clock, no randomness, no files, no sockets, no threads,
//! no global state, and the compiler keeps that promise (`no_std`, `forbid(unsafe_code)`). A host executes what it
//! decides: its contract stands at [`Service::step`], and this is the whole loop, over a map in memory:
//!
//! ```
//! use switchboard_core::{Config, Memory, Outcome, OwnedInput, Reply, Request, Scene, Seed, Service, Timestamp, perform};
//!
//! fn execute(service: &Service, store: &mut Memory, seed: [u8; 32], mut input: OwnedInput) -> Reply {
//!     loop {
//!         let now = Timestamp::from_seconds(1_800_000_000);
//!         let scene = Scene { now, seed: Seed::new(seed), view: &*store, careful: false };
//!         let output = service.step(&input.borrow(), &scene).expect("a map in memory fails no read");
//!         store.apply(&output.changes); // first commit,
//!         if let Outcome::Reply(reply) = output.outcome {
//!             return reply; // then reply,
//!         }
//!         for send in &output.sends {
//!             // then send. The step runs again with the answers: here digests of passwords, which take no network.
//!             input.answer(perform(&send.work).expect("work for the processor alone"));
//!         }
//!     }
//! }
//!
//! let (service, mut store) = (Service::new(Config::default()), Memory::default());
//! // An empty store makes the owner's account; the reply is the only one that shows its secrets.
//! let first = execute(&service, &mut store, [7; 32], OwnedInput::FirstStart(Vec::new()));
//! let secrets = switchboard_core::json::parse(first.body()).expect("an object");
//! let key = secrets.member("api_key").and_then(|key| key.as_text()).expect("a key");
//!
//! let request = Request::get("/user/me").bearer(key);
//! let reply = execute(&service, &mut store, [8; 32], OwnedInput::Http(request, Vec::new()));
//! assert_eq!(reply.status, 200);
//! ```
//!
//! The names a host needs, all of them here:
//!
//! | | |
//! |---|---|
//! | the service | [`Service`], [`Config`], [`OwnedInput`], [`Scene`], [`Output`], [`Outcome`], [`Stop`] |
//! | its store | [`View`], [`Change`], [`Memory`] |
//! | the world | [`Request`], [`Reply`], [`Send`], [`Work`], [`Answer`], [`perform`], [`Seed`], [`Timestamp`] |
//!
//! Inside: [`service`] holds the route table and the order of checks; [`mod@record`] the table language; [`collection`] the
//! lists; [`key`] every storage key; each resource has a folder of its own.
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
mod checksum;
pub mod collection;
pub mod conversation;
pub mod egress;
pub mod engine;
pub mod filing;
pub mod folder;
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
mod numbered;
pub mod numbering;
pub mod object;
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
pub mod whatsapp;
pub mod work;
mod zip;
pub mod zone;

pub use http::reply::Reply;
pub use http::request::Request;
pub use memory::Memory;
pub use outside::{Answer, Work};
pub use seed::Seed;
pub use service::Service;
pub use setup::Config;
pub use step::{Outcome, Output, OwnedInput, Send};
pub use store::Change;
pub use time::Timestamp;
pub use view::{Scene, Stop, View};
pub use work::perform;
