//! Steps over a remote store: at the other end of a connection, behind an asynchronous interface, or held by the caller
//! of a component.
//!
//! [`StepRun`] reruns one step until all its reads are loaded; [`InputRun`] takes one input from start to end, over
//! commits, answers and conflicts. [`EdgeRequest`] is a request at an edge node, [`region`] is the other end, and [`wire`]
//! encodes their messages. Nothing here performs I/O: the host loads, commits, sends and waits.

mod edge_request;
mod foresight;
pub mod headers;
mod input_run;
mod loaded;
pub mod region;
mod step_run;
#[cfg(test)]
mod tests;
pub mod version;
pub mod wire;

pub use edge_request::{CompleteReply, Do, EdgeRequest, NodeEvent};
pub use input_run::{HostEvent, InputRun, Next};
pub use loaded::LoadedReads;
pub use step_run::{Fault, Progress, StepRun};
