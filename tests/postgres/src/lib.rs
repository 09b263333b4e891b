//! Real PostgreSQL servers on loopback, for fault tests: started with the settings that a test gives, hurt, looked
//! into and stopped.
//!
//! - [`Instance`] is a server: stopped, restarted, killed with `SIGKILL`, paused with `SIGSTOP`; with standbys, TLS, a
//!   small disk ([`SmallDisk`]) and few connections ([`HeldConnections`]).
//! - [`PatroniCluster`] are several of them, of which others take over when the primary dies.
//! - [`Proxy`] is a link to it that delays, cuts, swallows and loses answers, from a seed.
//! - [`ShownTime`] is a system time that programs see in place of the machine's.
//! - [`SqlSession`] is a connection for the checks of a test; it keeps the notices of the server.
//!
//! All calls block, and may be made from any thread, those of an async runtime included: connections and proxies live
//! in a runtime of their own. Errors that only report are finished sentences. Nothing outlives the test: servers end
//! when their value is dropped, and when the test's process dies, however it does. This crate knows nothing of
//! Switchboard.

mod activity;
mod authority;
mod configuration;
mod connections;
mod disk;
mod instance;
mod launch;
mod packages;
mod patroni;
mod pause;
mod postmaster;
mod programs;
mod proxy;
mod replication;
mod runtime;
mod session;
mod shifted;

pub use activity::BackendActivity;
pub use authority::{Authority, Identity};
pub use connections::{HeldConnections, Login};
pub use disk::SmallDisk;
pub use instance::{Instance, InstanceOptions, SUPERUSER};
pub use patroni::PatroniCluster;
pub use pause::Pause;
pub use programs::Programs;
pub use proxy::{Flow, Loss, Proxy, Traffic};
pub use replication::Lsn;
pub use runtime::{PATIENCE, wait_until};
pub use session::{ConnectError, PendingStatement, SqlSession, TextRow};
pub use shifted::ShownTime;
