//! The real binary over real sockets: start, stop, crash, the README's tour, the command line, a carrier.

mod carrier;
mod commands;
mod crash;
mod limits;
mod server;
mod tour;
