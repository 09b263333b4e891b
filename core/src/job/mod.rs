//! Durable work: rows written in the same commit as their cause, and run when they are due.
//!
//! A unit of work is a [`Task`], identified by its bytes. A task names resources only by kind and count; the service,
//! which knows them, runs it. A task that asks for something outside holds a lease while it waits, and runs again from
//! its start with the answer. If the host dies, the lease expires and the task runs again, so delivery is at least
//! once. Each account has its own lanes, so that slow work delays neither the account's quick work nor other accounts.

pub(crate) mod aside;
mod list;
mod progress;
pub(crate) mod queue;
mod queues;
mod task;

pub use aside::{
    Figures, JobState, Named, ShownJob, drop_unknown, facet_of_account, facet_of_kind, figures, id_of, named, retry,
};
pub use list::{Wanted, going};
pub use progress::{TaskContext, TaskOutcome};
pub use queue::{add, add_all, cancel, is_any_planned, is_planned};
pub use queues::{JobQueue, queues};
pub use task::{JobKind, Lane, Task};
