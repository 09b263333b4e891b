//! [`Course`]: one input from its beginning to its end, over a store that is elsewhere.
//!
//! It says what the host must do next, and takes what came of it. Nothing is answered before its commit, and a
//! commit that came too late, because what was read no longer holds, lets the step run again.

use alloc::vec::Vec;

use super::session::{Fault, Progress, Session};
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

/// One input on its way.
#[derive(Debug)]
pub struct Course {
    session: Session,
    decided: Output,
    deadline: Option<Timestamp>,
    conflicts: usize,
}

/// What the host did.
#[derive(Debug)]
pub enum Event {
    /// Nothing yet.
    Begin,
    /// It carried out the reads, in their order.
    Found(Vec<Found>),
    /// What was read no longer holds: nothing was committed.
    Changed,
    /// The changes are durable.
    Committed,
    /// It read the body, or as much of it as there is.
    Body(Body),
    /// It did what was asked outside, in the order of asking.
    Answered(Vec<Answer>),
    /// There is news of the topic.
    News,
    /// There was none in time.
    Elapsed,
}

/// What the host must do next.
#[derive(Debug)]
pub enum Next {
    /// Carry out these reads, on one picture of the store in which all that was read before still holds.
    Read(Vec<crate::view::Read>),
    /// Make these changes durable, all or none, if what was read still holds.
    Commit(Vec<Change>),
    /// Read the request's body, at most so many bytes.
    ReadBody(usize),
    /// Do this outside, for this very request; where there is nothing to do, only let others have their turn.
    Perform(Vec<Send>),
    /// Wait for news of a topic, until then.
    Park(Topic, Timestamp),
    /// It is over; what it changed is durable.
    Done(Output),
    /// It came to nothing; nothing of its last run was stored.
    Failed(Fault),
    /// The store changed under it each time; nothing of its last run was stored.
    Contended,
}

impl Course {
    /// An input that has not begun.
    pub fn new(input: OwnedInput, now: Timestamp, seed: Seed) -> Self {
        Self { session: Session::new(input, now, seed), decided: Output::default(), deadline: None, conflicts: 0 }
    }

    /// Goes on after `event`.
    pub fn next(&mut self, service: &Service, event: Event) -> Next {
        match event {
            Event::Begin => self.run(service, Vec::new()),
            Event::Found(found) => self.run(service, found),
            Event::Committed => self.act(),
            Event::Changed if self.conflicts == CONFLICTS_MAX => Next::Contended,
            Event::Changed => {
                self.conflicts += 1;
                self.again(service)
            }
            Event::Body(body) => {
                if let OwnedInput::Http(request, _) = self.session.input_mut() {
                    request.body = body;
                }
                // What was read for the head is read already.
                self.run(service, Vec::new())
            }
            Event::Answered(answers) => {
                answers.into_iter().for_each(|answer| self.session.input_mut().answer(answer));
                self.again(service)
            }
            Event::News => self.again(service),
            Event::Elapsed => {
                self.session.input_mut().answer(Answer::Elapsed);
                self.again(service)
            }
        }
    }

    fn again(&mut self, service: &Service) -> Next {
        self.session.restart();
        self.run(service, Vec::new())
    }

    fn run(&mut self, service: &Service, found: Vec<Found>) -> Next {
        match self.session.advance(service, found) {
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
            Outcome::Again => {
                self.session.input_mut().answer(Answer::Elapsed);
                Next::Perform(Vec::new())
            }
            // It is one wait, however often it looks.
            Outcome::Park(topic, until) => Next::Park(topic, *self.deadline.get_or_insert(until)),
            Outcome::Nothing | Outcome::Reply(_) => Next::Done(output),
        }
    }

    /// The time from here on.
    pub fn set_now(&mut self, now: Timestamp) {
        self.session.set_now(now);
    }

    /// What may come to no end is marked before it is begun: see [`Scene::careful`](crate::view::Scene).
    pub fn set_careful(&mut self, careful: bool) {
        self.session.set_careful(careful);
    }

    /// The store's word on time and chance, with the first reads: nothing was decided before.
    pub fn set_scene(&mut self, now: Timestamp, seed: Seed) {
        self.session.set_now(now);
        self.session.set_seed(seed);
    }

    /// What the store's limiter said with the first reads.
    pub fn tell(&mut self, caller: Caller, rate: Option<Rate>) {
        self.session.tell(caller, rate);
    }

    /// What was read, with its versions.
    pub fn seen(&self) -> Vec<Seen> {
        self.session.cold().seen()
    }

    /// The session of its step.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The request, if it is one.
    pub fn request(&self) -> Option<&Request> {
        match self.session.input() {
            OwnedInput::Http(request, _) => Some(request),
            _ => None,
        }
    }

    /// The reply to a request that came to nothing: 503 where the store is to blame or contended, else 500.
    pub fn failed(&self, fault: Option<&Fault>) -> Option<Reply> {
        let (request, seed) = (self.request()?, self.session.seed());
        let stop = match fault {
            Some(Fault::Stopped(stop)) => Some(stop),
            Some(Fault::Misread(_)) => None,
            None => Some(&Stop::Failed),
        };
        Some(service::failed(request, stop, &seed))
    }
}
