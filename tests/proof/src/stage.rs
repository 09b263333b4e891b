//! [`Stage`]: a host reduced to its steps, so that views and components can play a script.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use switchboard_core::http::request::{Body, Method, Request};
use switchboard_core::key::Key;
use switchboard_core::outside::Answer;
use switchboard_core::rate::{Buckets, Caller, Rate, RateLimits};
use switchboard_core::remote::CompleteReply;
use switchboard_core::seed::Seed;
use switchboard_core::service;
use switchboard_core::step::{Outcome, Output, OwnedInput, Send};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, Stop, View};

use crate::outside;
use crate::said::{Row, Said, Transcript};
use crate::script::{Act, Line, Script};

/// An implementation that runs steps over its own rows.
pub trait Steps {
    /// Runs one step. The rate limits belong to the stage.
    fn step(&mut self, input: &OwnedInput, now: Timestamp, seed: Seed, limits: &Limits) -> Result<Output, Stop>;

    /// Applies a step's changes to the rows.
    fn apply(&mut self, changes: &[Change]);

    /// Returns all rows, sorted by key.
    fn rows(&mut self) -> Vec<Row>;
}

/// The rate limits of a stage: charged once per exchange.
pub struct Limits {
    buckets: RefCell<Buckets>,
    told: RefCell<BTreeMap<Caller, Option<Rate>>>,
    now: Timestamp,
}

impl Limits {
    /// Creates limits that admit everything.
    pub fn none() -> Self {
        Self { buckets: RefCell::new(Buckets::new(0)), told: RefCell::default(), now: Timestamp::default() }
    }

    /// Charges a request to a caller, and returns the state of its limit.
    pub fn admit(&self, caller: Caller) -> Option<Rate> {
        let mut told = self.told.borrow_mut();
        *told.entry(caller).or_insert_with(|| self.buckets.borrow_mut().admit(caller, self.now))
    }
}

/// A view with the rate limits of a stage.
pub struct Limited<'a> {
    /// Rows, without any limits.
    pub rows: &'a dyn View,
    /// Rate limits that answer `admit`.
    pub limits: &'a Limits,
}

impl View for Limited<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.rows.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.rows.scan(range, order, limit)
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        Ok(self.limits.admit(caller))
    }
}

/// A host reduced to its steps.
pub struct Stage<S> {
    steps: S,
    limits: Limits,
    pending: VecDeque<Send>,
}

impl<S: Steps> Stage<S> {
    /// Creates an empty stage with a rate limit per token and minute.
    pub fn new(steps: S, limits: RateLimits) -> Self {
        let limits =
            Limits { buckets: RefCell::new(Buckets::new(limits)), told: RefCell::default(), now: Timestamp::default() };
        Self { steps, limits, pending: VecDeque::new() }
    }

    /// Plays a script to its end.
    pub fn play(mut self, script: &Script) -> Transcript {
        let said = script.lines.iter().map(|line| self.line(line)).collect();
        Transcript { said, rows: self.rows() }
    }

    /// Returns the implementation that ran the steps.
    pub fn into_steps(self) -> S {
        self.steps
    }

    /// Returns all rows, sorted by key.
    pub fn rows(mut self) -> Vec<Row> {
        self.steps.rows()
    }

    /// Plays one line of a script.
    pub fn line(&mut self, line: &Line) -> Said {
        self.limits.told.borrow_mut().clear();
        self.limits.now = line.now;
        match &line.act {
            Act::Http(request) => self.exchange(request, line),
            Act::First => self.first(line),
            Act::Tick => self.decide(&OwnedInput::Tick, line),
            Act::Answer => match self.pending.pop_front() {
                None => Said::Decided { wake: None, sends: Vec::new() },
                Some(send) => self.decide(&OwnedInput::Answered(send.ticket, outside::answer(&send.work)), line),
            },
        }
    }

    /// Returns how many sends are pending.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    fn step(&mut self, input: &OwnedInput, line: &Line) -> Result<Output, Stop> {
        let mut output = self.steps.step(input, line.now, line.seed, &self.limits)?;
        self.steps.apply(&std::mem::take(&mut output.changes));
        Ok(output)
    }

    fn decide(&mut self, input: &OwnedInput, line: &Line) -> Said {
        let output = self.step(input, line).expect("no step of a script stops");
        Said::decided(output, &mut self.pending)
    }

    fn first(&mut self, line: &Line) -> Said {
        let mut input = OwnedInput::FirstStart(Vec::new());
        loop {
            let output = self.step(&input, line).expect("a first start does not stop");
            match output.outcome {
                Outcome::Reply(reply) => return Said::first(reply),
                _ => output.sends.iter().for_each(|send| input.answer(outside::answer(&send.work))),
            }
        }
    }

    fn exchange(&mut self, request: &Request, line: &Line) -> Said {
        let (head, mut body) = (request.method == Method::Head, request.body.clone());
        let mut begun = request.clone();
        begun.body = if !request.method.is_write() || body == Body::None { Body::None } else { Body::Pending };
        let mut input = OwnedInput::Http(begun, Vec::new());
        loop {
            let output = match self.step(&input, line) {
                Ok(output) => output,
                Err(stop) => {
                    return Said::answered(
                        CompleteReply::from(service::failed(request, Some(&stop), &line.seed)),
                        head,
                    );
                }
            };
            match output.outcome {
                Outcome::Reply(reply) => return Said::answered(reply.into(), head),
                Outcome::ReadBody(max) => {
                    let too_large = matches!(&body, Body::Full(bytes) if bytes.len() > max);
                    let read = if too_large { Body::TooLarge } else { std::mem::take(&mut body) };
                    if let OwnedInput::Http(begun, _) = &mut input {
                        begun.body = read;
                    }
                }
                Outcome::Park(..) => input.answer(Answer::Elapsed),
                Outcome::Yield => input.answer(Answer::Yielded),
                Outcome::StoreBody(_) => unreachable!("no host of the proof keeps recordings"),
                Outcome::Wait | Outcome::Nothing => {
                    output.sends.iter().for_each(|send| input.answer(outside::answer(&send.work)));
                }
            }
        }
    }
}
