//! The real binary over real sockets: start, stop, the tour of the documents, the command line, a carrier, and files
//! read
//! by it and beside it.

mod backup;
mod bucket;
mod campaign;
mod carrier;
mod commands;
mod console;
mod conversations;
mod conversations_bounds;
mod conversations_followed;
mod conversations_models;
mod copies;
mod edge;
mod egress;
mod extract;
mod first_start;
mod golden;
mod idempotency;
mod jobs;
mod limits;
mod logs;
mod looking;
mod outside;
mod permissions;
mod readers;
mod receivers;
mod recordings;
mod refusals;
mod samples;
mod secrets;
mod shares;
mod spreadsheet;
mod stopping;
mod tour;
mod trunk_checks;
mod watching;

use switchboard_tests::server;
