//! [`InputGroup`]: inputs whose changes are one commit.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use switchboard_core::key::{self, Topic};
use switchboard_core::remote::region;
use switchboard_core::remote::wire::CommitCall;
use switchboard_core::seed::Seed;
use switchboard_core::step::{Input, Output};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Scene, View};

use super::{Care, Done, Failure, Queued, Waiting, WriterContext, WriterInput, guarded};
use crate::limiter::RateDecisions;
use crate::store::{Admission, Write};

/// A group takes no more inputs once its steps have run this long, even if the queue is not empty.
const TIME_MAX: Duration = Duration::from_millis(5);
/// Nor after this many changed bytes. They are in memory three times while the next group is decided: as what that one reads,
/// as what is put into the table, and in its log.
const BYTES_MAX: usize = 16 << 20;

/// Inputs that were run, with the results that their callers are told once all is committed.
#[derive(Default)]
pub(super) struct InputGroup {
    finished: Vec<(WriterInput, Done, Waiting)>,
    /// How long its steps have run.
    took: Duration,
    changed_bytes: usize,
    /// When the first task is due that they have planned.
    pub wake: Option<Timestamp>,
    /// What they have news of.
    pub topics: BTreeSet<Topic>,
}

impl InputGroup {
    /// Returns the number of inputs.
    pub fn len(&self) -> usize {
        self.finished.len()
    }

    /// Returns whether it has no inputs.
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty()
    }

    /// Returns whether it takes no more inputs.
    pub fn is_full(&self) -> bool {
        self.took >= TIME_MAX || self.changed_bytes >= BYTES_MAX
    }

    /// Runs an input on an open write.
    pub fn step(&mut self, parts: &WriterContext, write: &mut Write<'_>, queued: Queued) {
        let Queued { input, seed, done } = queued;
        let began = Instant::now();
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
        self.took += began.elapsed();
    }

    /// Takes an input that cannot be run.
    pub fn refuse(&mut self, queued: Queued, failure: Failure) {
        self.finished.push((queued.input, Err(failure), queued.done));
    }

    /// Fails all inputs: nothing was committed, so nothing is acknowledged.
    pub fn fail(&mut self, failure: &Failure) {
        for (_, done, _) in &mut self.finished {
            *done = Err(failure.clone());
        }
    }

    /// Tells the callers their results.
    pub fn tell(self) {
        for (input, done, to) in self.finished {
            // The caller may have gone away; its change is committed all the same.
            let _ = to.send((input, done));
        }
    }
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn decide(parts: &WriterContext, write: &Write<'_>, input: &WriterInput, seed: Seed) -> Done {
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
