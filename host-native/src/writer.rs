//! The writer: one thread that runs queued inputs one after another on one open write, commits once, and then releases
//! all their outputs. No conflicts, no locks, one commit for many writes. While a group is committed, the next one is
//! decided.

mod committer;
mod group;
mod line;
mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::http::caller::Credential;
use switchboard_core::http::request::Request;
use switchboard_core::outside::Answer;
use switchboard_core::remote::wire::CommitCall;
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::step::{Output, Ticket};
use switchboard_core::time::Timestamp;
use switchboard_core::view::Stop;
use tokio::sync::{oneshot, watch};

use crate::clock::Clock;
use crate::host::LOADS_MAX;
use crate::limiter::{Limiter, RateDecisions};
use crate::metrics::Metrics;
use crate::news::News;
use crate::room::Holder;
use crate::sparse::Sparse;
use crate::store::Store;

use committer::Committer;
use line::WriterLine;
use queue::{Told, WriterQueue};

/// Once nothing was written for so long the store does what may hold up a write: more often would write as much as a
/// service that is never at rest.
const REST: Duration = Duration::from_secs(30);
/// Failures of the store, of which each request would say one.
static FAILED: Sparse = Sparse::new();

/// An input of the writer that owns its data.
pub enum WriterInput {
    /// An HTTP request with the answers so far.
    Http(Box<Exchange>),
    /// The answer to a job's send.
    Answered(Ticket, Answer),
    /// Durable work may be due; the care says whether each task is marked before it is begun.
    Tick(Care),
    /// Credentials whose last use is to be noted.
    Used(Vec<Credential>),
    /// Create the owner if the store is empty, with the answers so far.
    FirstStart(Vec<Answer>),
    /// Changes decided by a step at an edge node.
    Commit(CommitCall),
}

/// Whether a task that may panic or never end is marked in a commit before it is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// No marks, several tasks a step.
    Usual,
    /// Each task is marked first, one at a time.
    Careful,
}

/// One request on its way through its steps, which may be several.
pub struct Exchange {
    /// The request, with its body once that was read.
    pub request: Request,
    /// Answers to its sends, in the order of asking.
    pub answers: Vec<Answer>,
    /// Rate decisions made for it so far.
    pub told: RateDecisions,
    /// Source of its randomness, the same in every step.
    pub seed: Seed,
    /// Whether it marks a call before it hands it out.
    pub care: Care,
}

/// Why an input changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The step stopped, with its reason.
    Stopped(Stop),
    /// The step panicked: a bug.
    Panicked,
    /// The commit failed, or the queue is full.
    Unavailable,
    /// Something that the step at an edge node had read no longer holds.
    Changed,
}

type Done = Result<Output, Failure>;
type Waiting = oneshot::Sender<(WriterInput, Done)>;

struct Queued {
    input: WriterInput,
    seed: Seed,
    done: Waiting,
}

/// Handle to the writer's queue.
#[derive(Clone)]
pub struct Writer {
    queue: Arc<Open>,
    store: Arc<Store>,
}

/// The queue for as long as a handle is left.
struct Open(Arc<WriterQueue>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The queue for as long as its thread runs.
struct Served(Arc<WriterQueue>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The parts of the host that the writer thread uses.
pub struct WriterContext {
    /// The core, whose steps it runs.
    pub service: Arc<Service>,
    /// The store, which nobody else writes to meanwhile.
    pub store: Arc<Store>,
    /// Source of each step's time.
    pub clock: Arc<Clock>,
    /// Rate limits of all callers.
    pub limiter: Arc<Limiter>,
    /// Counts group sizes and panics.
    pub metrics: Arc<Metrics>,
    /// Channel to the scheduler: when the next job is due.
    pub wake: watch::Sender<Option<Timestamp>>,
    /// Topics that parked requests and streams wait for.
    pub news: Arc<News>,
}

impl Writer {
    /// Starts the thread; it ends when every handle is dropped.
    pub fn start(parts: WriterContext) -> std::io::Result<(Self, std::thread::JoinHandle<()>)> {
        let (queue, store) = (Arc::new(WriterQueue::default()), Arc::clone(&parts.store));
        let (committer, served) = (Committer::start(Arc::clone(&queue))?, Served(Arc::clone(&queue)));
        let run = move || run(WriterLine::new(&parts, committer), &served.0);
        let thread = std::thread::Builder::new().name("writer".into()).spawn(run)?;
        Ok((Self { queue: Arc::new(Open(queue)), store }, thread))
    }

    /// Queues an input of a holder and waits for its commit; returns the input, `None` if the writer died with it, and
    /// its result. A step that missed rows is run again once they were loaded; meanwhile others go on.
    pub async fn submit(&self, holder: Holder, mut input: WriterInput, seed: Seed) -> (Option<WriterInput>, Done) {
        for _ in 0..LOADS_MAX {
            let (back, done) = self.submit_once(holder, input, seed).await;
            let missing = match &done {
                Err(Failure::Stopped(Stop::Missing(missing))) => missing.clone(),
                _ => return (back, done),
            };
            let Some(back) = back else { return (None, done) };
            if let Err(error) = self.store.load(missing).await {
                if let Some(more) = FAILED.more() {
                    tracing::error!(%error, more, "the store failed");
                }
                return (Some(back), Err(Failure::Unavailable));
            }
            input = back;
        }
        (Some(input), Err(Failure::Stopped(Stop::OverBudget)))
    }

    async fn submit_once(&self, holder: Holder, input: WriterInput, seed: Seed) -> (Option<WriterInput>, Done) {
        let (done, wait) = oneshot::channel();
        if let Err(refused) = self.queue.0.push(holder, Queued { input, seed, done }) {
            return (Some(refused.input), Err(Failure::Unavailable));
        }
        match wait.await {
            Ok((input, done)) => (Some(input), done),
            Err(_) => (None, Err(Failure::Unavailable)),
        }
    }
}

fn run(mut line: WriterLine<'_>, queue: &WriterQueue) {
    loop {
        match queue.wait(REST) {
            Told::Input(queued) => line.take(queued),
            Told::Committed => line.look(),
            Told::Rest => line.rest(),
            Told::End => return line.end(),
        }
        // What else waits goes into the same commit.
        while line.has_room()
            && let Some(queued) = queue.next()
        {
            line.take(queued);
        }
        line.commit();
    }
}

/// Runs a step; a panic is caught and counted, and drops the step's changes.
pub fn guarded(metrics: &Metrics, step: impl FnOnce() -> Result<Output, Stop>) -> Done {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(output)) => {
            metrics.stepped(output.spent.into());
            Ok(output)
        }
        Ok(Err(stop)) => {
            if stop == Stop::OverBudget {
                metrics.over_budget();
            }
            // `Missing` means that rows are loaded first, or that a large read waits for its turn; `Elsewhere`, that the
            // input is handed on.
            if !matches!(stop, Stop::Missing(_) | Stop::Elsewhere(_)) {
                tracing::error!(?stop, "a step stopped");
            }
            Err(Failure::Stopped(stop))
        }
        Err(_) => {
            metrics.panicked();
            Err(Failure::Panicked)
        }
    }
}
