//! The writer: one thread that runs queued inputs one after another on one open write, commits once, and then releases
//! all their outputs. No conflicts, no locks, one commit for many writes.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use switchboard_core::http::caller::Credential;
use switchboard_core::http::request::Request;
use switchboard_core::key::{self, Topic};
use switchboard_core::outside::Answer;
use switchboard_core::remote::region;
use switchboard_core::remote::wire::CommitCall;
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::step::{Input, Output, Ticket};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Scene, Stop, View};
use tokio::sync::{oneshot, watch};

use crate::clock::Clock;
use crate::host::LOADS_MAX;
use crate::limiter::{Limiter, RateDecisions};
use crate::metrics::Metrics;
use crate::news::News;
use crate::sparse::Sparse;
use crate::store::{Admission, Store, StoreError, Write, caught};

/// Most inputs in the queue; more are refused with 503 instead of piling up.
const QUEUE_MAX: usize = 4_096;
/// A group takes no more inputs once its steps have run this long, even if the queue is not empty.
const GROUP_TIME: Duration = Duration::from_millis(5);
/// Nor after this many changed bytes, which are put into the table at the commit.
const GROUP_BYTES: usize = 32 << 20;
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
    queue: SyncSender<Queued>,
    store: Arc<Store>,
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
        let (queue, inputs) = sync_channel(QUEUE_MAX);
        let store = Arc::clone(&parts.store);
        let thread = std::thread::Builder::new().name("writer".into()).spawn(move || run(&parts, &inputs))?;
        Ok((Self { queue, store }, thread))
    }

    /// Queues an input and waits for its commit; returns the input, `None` if the writer died with it, and its result. A
    /// step that missed rows is run again once they were loaded; meanwhile others go on.
    pub async fn submit(&self, mut input: WriterInput, seed: Seed) -> (Option<WriterInput>, Done) {
        for _ in 0..LOADS_MAX {
            let (back, done) = self.submit_once(input, seed).await;
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

    async fn submit_once(&self, input: WriterInput, seed: Seed) -> (Option<WriterInput>, Done) {
        let (done, wait) = oneshot::channel();
        match self.queue.try_send(Queued { input, seed, done }) {
            Ok(()) => {}
            Err(TrySendError::Full(queued) | TrySendError::Disconnected(queued)) => {
                return (Some(queued.input), Err(Failure::Unavailable));
            }
        }
        match wait.await {
            Ok((input, done)) => (Some(input), done),
            Err(_) => (None, Err(Failure::Unavailable)),
        }
    }
}

fn run(parts: &WriterContext, inputs: &Receiver<Queued>) {
    // News of commits of which it was not known whether they were made: the next one knows.
    let mut owed = BTreeSet::new();
    loop {
        let first = match inputs.recv_timeout(REST) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                rest(&parts.store);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return rest(&parts.store),
        };
        let mut group = Group::default();
        // A damaged store may make redb panic: the thread goes on, and the group's callers get an error.
        let result = caught("a commit failed", || group.run(parts, inputs, first)).and_then(|done| done);
        parts.metrics.group(group.finished.len());
        if let Err(StoreError::Outdated) = result {
            // Each of them is loaded for, and runs again.
            group.fail(&Failure::Stopped(Stop::Missing(Vec::new())));
        } else if let Err(error) = result {
            if let Some(more) = FAILED.more() {
                tracing::error!(%error, more, "a commit failed; nothing of it was acknowledged");
            }
            group.fail(&Failure::Unavailable);
            owed.append(&mut group.topics);
            recover(&parts.store, &error);
        } else {
            owed.append(&mut group.topics);
            std::mem::take(&mut owed).iter().for_each(|topic| parts.news.publish(*topic));
        }
        if let Some(due) = group.wake {
            parts.wake.send_if_modified(|wake| {
                let sooner = wake.is_none_or(|at| due < at);
                if sooner {
                    *wake = Some(due);
                }
                sooner
            });
        }
        for (input, done, to) in group.finished {
            // The caller may have gone away; its change is committed all the same.
            let _ = to.send((input, done));
        }
    }
}

/// Has the store do what can wait until nobody writes.
fn rest(store: &Store) {
    if let Err(error) = caught("the store cannot rest", || store.rest()).and_then(|done| done) {
        tracing::error!(%error, "the store failed; nothing that was acknowledged is lost");
        recover(store, &error);
    }
}

/// Reopens the store after a full disk, since that may have room again. After any other failure nothing is written
/// until the operator has looked at the disk and restarted the service.
fn recover(store: &Store, error: &StoreError) {
    if !matches!(error, StoreError::DiskFull(_)) {
        return;
    }
    store.give_up_reserve();
    match store.reopen() {
        Ok(()) => tracing::warn!("the disk is full: the store was opened again, and serves what was committed"),
        Err(error) => tracing::error!(%error, "the disk is full: the next write tries to open the store again"),
    }
}

#[derive(Default)]
struct Group {
    finished: Vec<(WriterInput, Done, Waiting)>,
    changed_bytes: usize,
    wake: Option<Timestamp>,
    topics: BTreeSet<Topic>,
}

impl Group {
    fn run(&mut self, parts: &WriterContext, inputs: &Receiver<Queued>, first: Queued) -> Result<(), StoreError> {
        let began = Instant::now();
        let mut next = Some(first);
        let mut write = match parts.store.begin() {
            Ok(write) => write,
            Err(error) => {
                if let Some(Queued { input, done, .. }) = next.take() {
                    self.finished.push((input, Err(Failure::Unavailable), done));
                }
                return Err(error);
            }
        };
        while let Some(queued) = next.take() {
            self.step(parts, &mut write, queued);
            if began.elapsed() < GROUP_TIME && self.changed_bytes < GROUP_BYTES {
                next = inputs.try_recv().ok();
            }
        }
        if write.is_changed() { write.commit() } else { write.abort() }
    }

    fn step(&mut self, parts: &WriterContext, write: &mut Write, queued: Queued) {
        let Queued { input, seed, done } = queued;
        let mut result = decide(parts, write, &input, seed);
        if let Ok(output) = &mut result {
            self.wake = earlier(self.wake, output.wake);
            for change in &output.changes {
                if let Change::Put(at, value) = change {
                    self.changed_bytes += at.len() + value.len();
                    self.wake = earlier(self.wake, key::due_of(at));
                    self.topics.extend(key::topic_of(at));
                }
            }
            write.apply(std::mem::take(&mut output.changes));
        }
        self.finished.push((input, result, done));
    }

    /// Fails all inputs of the group: nothing was committed, so nothing is acknowledged.
    fn fail(&mut self, failure: &Failure) {
        for (_, done, _) in &mut self.finished {
            *done = Err(failure.clone());
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn decide(parts: &WriterContext, write: &Write, input: &WriterInput, seed: Seed) -> Done {
    let now = parts.clock.now();
    let fresh = RateDecisions::default();
    let told = if let WriterInput::Http(exchange) = input { &exchange.told } else { &fresh };
    let limits = Admission { limiter: &parts.limiter, told, now, full: parts.store.is_full(), large: None };
    let Ok(view) = write.view(Some(&limits)) else { return Err(Failure::Unavailable) };
    let careful = match input {
        WriterInput::Tick(care) => *care == Care::Careful,
        WriterInput::Http(exchange) => exchange.care == Care::Careful,
        _ => false,
    };
    let scene = Scene { now, seed, view: &view, careful };
    let borrowed = match input {
        WriterInput::Commit(call) => return held(&view, call),
        WriterInput::Http(exchange) => Input::Http(&exchange.request, &exchange.answers),
        WriterInput::Answered(ticket, answer) => Input::Answered(ticket.clone(), answer.clone()),
        WriterInput::Tick(_) => Input::Tick,
        WriterInput::Used(credentials) => Input::Used(credentials),
        WriterInput::FirstStart(answers) => Input::FirstStart(answers),
    };
    guarded(&parts.metrics, || parts.service.step(&borrowed, &scene))
}

/// Returns the changes of a step that ran on an edge node, if everything it read still holds.
fn held(view: &dyn View, call: &CommitCall) -> Done {
    match region::holds(view, &call.seen) {
        Ok(true) => Ok(Output { changes: call.changes.clone(), ..Output::default() }),
        Ok(false) => Err(Failure::Changed),
        Err(stop) => Err(Failure::Stopped(stop)),
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
