//! Durable work: rows written in the same commit as what caused them, done when they are due.
//!
//! What there is to do is a [`Task`], known by its bytes; a task names resources by kind and count alone, and the
//! service, which knows them, carries it out. A task that asks for something outside is leased while it waits, and runs
//! again from its start with the answer. A host that dies leaves the lease to lapse: at least once. Each account has
//! lanes of its own, so that neither its slow work nor a neighbour's waits for what hangs.

pub(crate) mod aside;
mod list;
mod progress;
pub(crate) mod queue;
mod task;

pub use aside::{
    Figures, JobState, Named, ShownJob, drop_unknown, facet_of_account, facet_of_kind, figures, id_of, named, retry,
};
pub use list::{Wanted, going};
pub use progress::{Progress, Work};
pub use queue::{add, add_all, cancel};
pub use task::{JobKind, Lane, Task};
