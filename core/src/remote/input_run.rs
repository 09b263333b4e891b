//! [`InputRun`]: one input from start to end, over a remote store.
//!
//! It returns the host's next action and takes its result. Nothing is answered before its commit. If a commit fails
//! because the reads no longer hold, the step runs again.

use alloc::vec::Vec;

use super::step_run::{Fault, Progress, StepRun};
use super::version::Seen;
use crate::http::reply::Reply;
use crate::http::request::{Body, Request};
use crate::key::Topic;
use crate::limits::remote::CONFLICTS_MAX;
use crate::outside::Answer;
use crate::rate::{Caller, Rate};
use crate::seed::Seed;
use crate::service::{self, Service};
use crate::step::{Outcome, Output, OwnedInput, Send};
use crate::store::Change;
use crate::time::Timestamp;
use crate::view::{Found, Stop};

/// One input in progress.
#[derive(Debug)]
pub struct InputRun {
    step: StepRun,
    decided: Output,
    deadline: Option<Timestamp>,
    conflicts: usize,
}

/// Result of the host's last action.
#[derive(Debug)]
pub enum HostEvent {
    /// Nothing was done yet: the first call.
    Begin,
    /// The results of the reads, in their order.
    Found(Vec<Found>),
    /// Earlier reads no longer hold; nothing was committed.
    Changed,
    /// The changes are durable.
    Committed,
    /// The body was read, or failed to arrive.
    Body(Body),
    /// The answers to the work, in the order of asking.
    Answered(Vec<Answer>),
    /// There is news of the topic waited for.
    News,
    /// The wait ended without news.
    Elapsed,
    /// Others who wait to write had their turn.
    Yielded,
}

/// Next action of the host.
#[derive(Debug)]
pub enum Next {
    /// Execute these reads on one snapshot of the store in which all earlier reads still hold.
    Read(Vec<crate::view::Read>),
    /// Commit these changes, all or none, if all reads still hold.
    Commit(Vec<Change>),
    /// Read the request's body, at most this many bytes.
    ReadBody(usize),
    /// Do this work for the request.
    Perform(Vec<Send>),
    /// Let others who wait to write go first.
    Yield,
    /// Wait for news of a topic, until this time at most.
    Park(Topic, Timestamp),
    /// The input is finished; its changes are durable.
    Done(Output),
    /// The step failed; nothing of its last run was stored.
    Failed(Fault),
    /// The step conflicted more than `CONFLICTS_MAX` times; nothing of its last run was stored.
    Contended,
}

impl InputRun {
    /// Starts the run of an input; nothing is read yet.
    pub fn new(input: OwnedInput, now: Timestamp, seed: Seed) -> Self {
        Self { step: StepRun::new(input, now, seed), decided: Output::default(), deadline: None, conflicts: 0 }
    }

    /// Processes `event` and returns the next action.
    pub fn next(&mut self, service: &Service, event: HostEvent) -> Next {
        match event {
            HostEvent::Begin => self.run(service, Vec::new()),
            HostEvent::Found(found) => self.run(service, found),
            HostEvent::Committed => self.act(),
            HostEvent::Changed if self.conflicts == CONFLICTS_MAX => Next::Contended,
            HostEvent::Changed => {
                self.conflicts += 1;
                self.again(service)
            }
            HostEvent::Body(body) => {
                if let OwnedInput::Http(request, _) = self.step.input_mut() {
                    request.body = body;
                }
                // No restart: the reads made for the head stay loaded.
                self.run(service, Vec::new())
            }
            HostEvent::Answered(answers) => {
                answers.into_iter().for_each(|answer| self.step.input_mut().answer(answer));
                self.again(service)
            }
            HostEvent::News => self.again(service),
            HostEvent::Elapsed => self.answered(service, Answer::Elapsed),
            HostEvent::Yielded => self.answered(service, Answer::Yielded),
        }
    }

    fn answered(&mut self, service: &Service, answer: Answer) -> Next {
        self.step.input_mut().answer(answer);
        self.again(service)
    }

    fn again(&mut self, service: &Service) -> Next {
        self.step.restart();
        self.run(service, Vec::new())
    }

    fn run(&mut self, service: &Service, found: Vec<Found>) -> Next {
        match self.step.advance(service, found) {
            Ok(Progress::Need(reads)) => Next::Read(reads),
            Ok(Progress::Done(mut output)) => {
                let changes = core::mem::take(&mut output.changes);
                self.decided = output;
                if changes.is_empty() { self.act() } else { Next::Commit(changes) }
            }
            Err(fault) => Next::Failed(fault),
        }
    }

    fn act(&mut self) -> Next {
        let output = core::mem::take(&mut self.decided);
        match output.outcome {
            Outcome::ReadBody(max) => Next::ReadBody(max),
            Outcome::Wait => Next::Perform(output.sends),
            Outcome::Yield => Next::Yield,
            // The first deadline is kept: it is one wait, however often the step wakes up.
            Outcome::Park(topic, until) => Next::Park(topic, *self.deadline.get_or_insert(until)),
            // A host that runs inputs like this keeps no recordings, and so is never asked to store a body.
            Outcome::Nothing | Outcome::Reply(_) | Outcome::StoreBody(_) => Next::Done(output),
        }
    }

    /// Sets the time of the following runs.
    pub fn set_now(&mut self, now: Timestamp) {
        self.step.set_now(now);
    }

    /// Sets whether work that may never finish is marked before it starts: see [`Scene::careful`](crate::view::Scene).
    pub fn set_careful(&mut self, careful: bool) {
        self.step.set_careful(careful);
    }

    /// Sets the store's time and seed, which arrive with the first reads, before anything was decided.
    pub fn set_scene(&mut self, now: Timestamp, seed: Seed) {
        self.step.set_now(now);
        self.step.set_seed(seed);
    }

    /// Stores a rate-limit decision that arrived with the first reads.
    pub fn tell(&mut self, caller: Caller, rate: Option<Rate>) {
        self.step.tell(caller, rate);
    }

    /// Returns all reads so far with their versions.
    pub fn seen(&self) -> Vec<Seen> {
        self.step.loaded().seen()
    }

    /// Returns the run of its step.
    pub fn step(&self) -> &StepRun {
        &self.step
    }

    /// Returns the request, if the input is one.
    pub fn request(&self) -> Option<&Request> {
        match self.step.input() {
            OwnedInput::Http(request, _) => Some(request),
            _ => None,
        }
    }

    /// Returns the reply to a request that failed: 503 if the store failed or was contended (`fault` is `None`), else
    /// 500. `None` if the input is not a request.
    pub fn failed(&self, fault: Option<&Fault>) -> Option<Reply> {
        let (request, seed) = (self.request()?, self.step.seed());
        let stop = match fault {
            Some(Fault::Stopped(stop)) => Some(stop),
            Some(Fault::Misread(_)) => None,
            None => Some(&Stop::Failed),
        };
        Some(service::failed(request, stop, &seed))
    }
}
