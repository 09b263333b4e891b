//! The writer: one thread that runs queued inputs one after another on one open write, commits once, and
//! then lets all their outputs go. No conflicts, no locks, one commit for many writes.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
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
use crate::limiter::{Limiter, Told};
use crate::metrics::Metrics;
use crate::news::News;
use crate::store::{Admission, Store, StoreError, Write, caught};

/// Inputs that may wait; more are refused with 503 instead of piling up.
const QUEUE_MAX: usize = 4_096;
/// A group is committed after so much time of its steps, whoever still waits.
const GROUP_TIME: Duration = Duration::from_millis(5);
/// Or after so many changed bytes: they are put into the table at the commit.
const GROUP_BYTES: usize = 32 << 20;

/// An input that owns what it needs.
pub enum Owned {
    /// A request with the answers so far.
    Http(Box<Exchange>),
    /// A job's answer.
    Answered(Ticket, Answer),
    /// Durable work may be due; whether each task is marked before it is begun.
    Tick(Care),
    /// Credentials that were used.
    Used(Vec<Credential>),
    /// An empty store.
    FirstStart(Vec<Answer>),
    /// What a step at the edge decided.
    Commit(CommitCall),
}

/// Whether what may come to no end is marked before it is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// It is not.
    Usual,
    /// It is, one thing at a time.
    Careful,
}

/// One request on its way through its steps.
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// The answers to what it asked for.
    pub answers: Vec<Answer>,
    /// What the limiter told it.
    pub told: Told,
    /// Its randomness, the same in every step.
    pub seed: Seed,
    /// How it goes about what may come to no end.
    pub care: Care,
}

/// Why an input came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The step stopped.
    Stopped(Stop),
    /// The step panicked: a bug.
    Panicked,
    /// The commit failed, or the queue is full.
    Unavailable,
    /// What a step at the edge read no longer holds.
    Changed,
}

type Done = Result<Output, Failure>;
type Waiting = oneshot::Sender<(Owned, Done)>;

struct Queued {
    input: Owned,
    seed: Seed,
    done: Waiting,
}

/// Where inputs are queued.
#[derive(Clone)]
pub struct Writer {
    queue: SyncSender<Queued>,
}

/// What the writer thread works with.
pub struct Parts {
    /// The service.
    pub service: Arc<Service>,
    /// The store.
    pub store: Arc<Store>,
    /// The clock.
    pub clock: Arc<Clock>,
    /// The rate limits.
    pub limiter: Arc<Limiter>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// When the next job is due, told to the scheduler.
    pub wake: watch::Sender<Option<Timestamp>>,
    /// Who waits for what.
    pub news: Arc<News>,
}

impl Writer {
    /// Starts the thread; it ends when every handle is gone.
    pub fn start(parts: Parts) -> std::io::Result<(Self, std::thread::JoinHandle<()>)> {
        let (queue, inputs) = sync_channel(QUEUE_MAX);
        let thread = std::thread::Builder::new().name("writer".into()).spawn(move || run(&parts, &inputs))?;
        Ok((Self { queue }, thread))
    }

    /// Runs an input and gives it back with what it came to, once that is committed.
    pub async fn submit(&self, input: Owned, seed: Seed) -> (Option<Owned>, Done) {
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

fn run(parts: &Parts, inputs: &Receiver<Queued>) {
    while let Ok(first) = inputs.recv() {
        let mut group = Group::default();
        // A damaged store may lead to a panic: the thread goes on, and whoever waits is told.
        let result = caught("a commit failed", || group.run(parts, inputs, first)).and_then(|done| done);
        parts.metrics.group(group.finished.len());
        if let Err(error) = result {
            tracing::error!(%error, "a commit failed; nothing of it was acknowledged");
            group.fail();
            if error.is_full() {
                open_again(&parts.store);
            }
        } else {
            group.topics.iter().for_each(|topic| parts.news.publish(*topic));
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
            // A caller that went away does not need its answer; what it asked for is done.
            let _ = to.send((input, done));
        }
    }
}

/// A disk that was full may have room again. After any other failure nothing is written until somebody has looked
/// after the disk and starts the service again.
fn open_again(store: &Store) {
    store.give_up_reserve();
    match store.reopen() {
        Ok(()) => tracing::warn!("the disk is full: the store was opened again, and serves what was committed"),
        Err(error) => tracing::error!(%error, "the disk is full: the next write tries to open the store again"),
    }
}

#[derive(Default)]
struct Group {
    finished: Vec<(Owned, Done, Waiting)>,
    changed_bytes: usize,
    wake: Option<Timestamp>,
    topics: BTreeSet<Topic>,
}

impl Group {
    fn run(&mut self, parts: &Parts, inputs: &Receiver<Queued>, first: Queued) -> Result<(), StoreError> {
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

    fn step(&mut self, parts: &Parts, write: &mut Write, queued: Queued) {
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

    /// Nothing of the group was committed, so none of it is acknowledged.
    fn fail(&mut self) {
        for (_, done, _) in &mut self.finished {
            *done = Err(Failure::Unavailable);
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn decide(parts: &Parts, write: &Write, input: &Owned, seed: Seed) -> Done {
    let now = parts.clock.now();
    let fresh = Told::default();
    let told = if let Owned::Http(exchange) = input { &exchange.told } else { &fresh };
    let limits = Admission { limiter: &parts.limiter, told, now, full: parts.store.is_full(), large: None };
    let view = write.view(Some(&limits));
    let careful = match input {
        Owned::Tick(care) => *care == Care::Careful,
        Owned::Http(exchange) => exchange.care == Care::Careful,
        _ => false,
    };
    let scene = Scene { now, seed, view: &view, careful };
    let borrowed = match input {
        Owned::Commit(call) => return held(&view, call),
        Owned::Http(exchange) => Input::Http(&exchange.request, &exchange.answers),
        Owned::Answered(ticket, answer) => Input::Answered(ticket.clone(), answer.clone()),
        Owned::Tick(_) => Input::Tick,
        Owned::Used(credentials) => Input::Used(credentials),
        Owned::FirstStart(answers) => Input::FirstStart(answers),
    };
    guarded(&parts.metrics, || parts.service.step(&borrowed, &scene))
}

/// The changes of a step that was run elsewhere, if what it read still holds.
fn held(view: &dyn View, call: &CommitCall) -> Done {
    match region::holds(view, &call.seen) {
        Ok(true) => Ok(Output { changes: call.changes.clone(), ..Output::default() }),
        Ok(false) => Err(Failure::Changed),
        Err(stop) => Err(Failure::Stopped(stop)),
    }
}

/// Runs a step; a panic is caught, counted and drops the step's changes.
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
            // A read that waits for its turn is no fault.
            if !matches!(stop, Stop::Missing(_)) {
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
