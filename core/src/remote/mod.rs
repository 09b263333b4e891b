//! Steps over a remote store: at the other end of a connection, behind an asynchronous interface, or held by the caller
//! of a component.
//!
//! [`Session`] reruns one step until all its reads are loaded; [`Course`] takes one input from start to end, over
//! commits, answers and conflicts. [`Visit`] is a request at an edge node, [`region`] is the other end, and [`wire`]
//! encodes their messages. Nothing here performs I/O: the host loads, commits, sends and waits.

mod cold;
mod course;
mod foresight;
pub mod region;
mod session;
#[cfg(test)]
mod tests;
pub mod version;
mod visit;
pub mod wire;

pub use cold::Cold;
pub use course::{Course, Event, Next};
pub use session::{Fault, Progress, Session};
pub use visit::{Answered, Came, Do, Visit};
