//! One step of the service on one host: decided, committed or lost, and its effects outside.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use switchboard_core::key::{self, Key, Space, Topic};
use switchboard_core::outside::{Answer, Work};
use switchboard_core::seed::Seed;
use switchboard_core::step::{Input, Outcome, Output, Send, Ticket};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Scene, View};

use crate::agenda::{SECOND, after};
use crate::base::MODEL;
use crate::checks::{Cause, Commit, is_signed};
use crate::client::{Client, Heard};
use crate::engine::Errand;
use crate::facts;
use crate::faults::Fate;
use crate::flaw::{Flaw, Flawed, Stuck};
use crate::mirror::At;
use crate::model::{Spoken, is_chat};
use crate::node::CAREFUL_TICKS;
use crate::receiver::{Reaction, Receivers};
use crate::world::{Event, World};

/// Probability that a person acts at the moment a call changes, per mille.
const SPARKS: u64 = 60;
/// Probability that a person acts on a conversation while a turn is under way, per mille.
const MEDDLES: u64 = 120;
/// Probability that a flaw stays with its row, per mille, and how long at most, seconds: a task that is set aside has
/// been retried for 36 minutes.
const STICKS: u64 = 700;
const STUCK_SECONDS_MAX: u64 = 3 * 3_600;

/// Result of a step, for its caller.
#[expect(clippy::large_enum_variant, reason = "one at a time, and mostly the largest")]
pub enum Stepped {
    /// It was committed, and its output is known.
    Done(Output),
    /// It was committed, and its answer was lost.
    Unheard,
    /// It was not committed: 503.
    Unavailable,
    /// The host is down.
    Down,
}

/// Returns whether a step may fail by a flaw: the service's own work, or a claim, which reads calls of any account.
fn may_fail(input: &Input<'_>) -> bool {
    match input {
        Input::Tick | Input::Answered(..) => true,
        Input::Http(request, _) => request.target.starts_with("/engine/claim"),
        _ => false,
    }
}

impl World {
    /// Runs a tick of a host.
    pub(crate) fn tick(&mut self, node: usize) {
        self.nodes[node].wake = None;
        let (seed, cause) = (self.random.seed(), Cause { own_work: true, ..Cause::default() });
        let (life, careful) = (self.nodes[node].life, self.nodes[node].careful > 0);
        match self.step(node, &Input::Tick, seed, cause) {
            // A begun task completes, or panics, before the next begins.
            Stepped::Done(output) if careful => {
                self.nodes[node].careful -= 1;
                for Send { ticket, .. } in output.sends {
                    self.answered(node, life, ticket, Answer::Yielded);
                }
            }
            Stepped::Done(output) => self.send(node, output.sends),
            // A failed tick is retried a little later.
            Stepped::Unavailable => self.nodes[node].plan(Some(self.now.plus_seconds(1))),
            Stepped::Unheard | Stepped::Down => {}
        }
    }

    /// Processes the answer to a send of durable work.
    pub(crate) fn answered(&mut self, node: usize, life: u32, ticket: Ticket, answer: Answer) {
        if !self.nodes[node].up || self.nodes[node].life != life {
            self.tally.answers_lost += 1;
            return;
        }
        self.checks.webhooks.retry_after = match &answer {
            Answer::Http(answer) => answer.retry_after(),
            _ => None,
        };
        let (seed, cause) = (self.random.seed(), Cause { own_work: true, ..Cause::default() });
        if let Stepped::Done(output) = self.step(node, &Input::Answered(ticket, answer), seed, cause) {
            self.send(node, output.sends);
        }
    }

    /// Performs the sends of durable work; their answers come later.
    fn send(&mut self, node: usize, sends: Vec<Send>) {
        for Send { ticket, work } in sends {
            let Some(Reaction { answer, after_micros }) = self.outside(node, &work) else { continue };
            let life = self.nodes[node].life;
            self.later(after_micros, Event::Answered(node, life, ticket, answer));
        }
    }

    /// Returns how the outside reacts to work of the service.
    pub(crate) fn outside(&mut self, node: usize, work: &Work) -> Option<Reaction> {
        let request = match work {
            Work::Http(request) => request,
            Work::Yield => return Some(Reaction { answer: Answer::Yielded, after_micros: 0 }),
            _ => return None,
        };
        if request.url.starts_with(MODEL) {
            if !is_chat(request) {
                return Some(Receivers::conclude(&mut self.random));
            }
            let Spoken { reaction, words } = self.model.chat(request, &mut self.random);
            words.into_iter().for_each(|words| self.checks.talking.spoke(words));
            return Some(reaction);
        }
        let id = request.headers.iter().find(|(name, _)| name == "webhook-id").map(|(_, value)| value.0.clone());
        let Some(id) = id else { return Some(self.receivers.react(request, &mut self.random)) };
        let now = self.clock(node);
        let secrets = self.secrets_of(&id);
        self.note(is_signed(request, &secrets, now));
        let sent = self.checks.webhooks.sent(&id, now);
        self.note(sent);
        match self.receivers.take(&id, request, now, &mut self.random) {
            Ok(reaction) => Some(reaction),
            Err(claim) => {
                self.note(Err(claim));
                None
            }
        }
    }

    /// Returns the valid secrets of the account whose event has this id.
    fn secrets_of(&self, id: &str) -> Vec<String> {
        let number = id.strip_prefix("evt_").and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0);
        let at = key::secrets(Space::Account(switchboard_core::id::split(number).0));
        let stored = self.store.get(&[at]).ok().and_then(|mut found| found.pop().flatten()).unwrap_or_default();
        facts::secrets(&stored)
    }

    /// Returns the time on a host's clock.
    pub fn clock(&self, node: usize) -> Timestamp {
        after(self.now, self.nodes[node].ahead_micros)
    }

    /// Runs one step on a host, and commits its output unless its fate differs.
    pub(crate) fn step(&mut self, node: usize, input: &Input<'_>, seed: Seed, cause: Cause) -> Stepped {
        if !self.nodes[node].up {
            return Stepped::Down;
        }
        let fate = self.faults.fate(&mut self.random);
        if fate == Fate::DiesBefore {
            self.die(node);
            return Stepped::Down;
        }
        let flaw = (fate == Fate::NoEnd && may_fail(input)).then(|| Flaw::draw(&mut self.random));
        match self.decide(node, input, seed, flaw) {
            Some(output) => self.finish(node, output, fate, cause),
            None => Stepped::Unavailable,
        }
    }

    /// Runs a step without committing it.
    pub(crate) fn decide(&mut self, node: usize, input: &Input<'_>, seed: Seed, flaw: Option<Flaw>) -> Option<Output> {
        self.tally.steps += 1;
        let once = flaw.map(|flaw| (flaw, Cell::new(self.random.below(40))));
        let now = self.clock(node);
        let stuck = self.stuck.take().filter(|stuck| stuck.until > now);
        let view = Flawed {
            store: &self.store,
            once,
            stuck: stuck.as_ref().filter(|_| may_fail(input)),
            met: Cell::default(),
            row: RefCell::default(),
        };
        let scene = Scene { now, seed, view: &view, careful: self.nodes[node].careful > 0 };
        let done = catch_unwind(AssertUnwindSafe(|| self.service.step(input, &scene)));
        let (met, row) = (view.met.get(), view.row.take());
        self.tally.endless += u64::from(met.is_some());
        self.stuck = stuck.or_else(|| self.stick(met.zip(row), now));
        match done {
            Ok(Ok(output)) => Some(output),
            Ok(Err(_)) if met.is_some() => None,
            Err(_) if met == Some(Flaw::Panic) => {
                self.nodes[node].careful = CAREFUL_TICKS;
                None
            }
            Ok(Err(stop)) => {
                self.note(Err(format!("a sound store stops no step: {stop:?} at {input:?}")));
                None
            }
            Err(_) => {
                self.note(Err(format!("nothing panics: {input:?}")));
                None
            }
        }
    }

    /// Draws whether a flaw stays with the row that was read.
    fn stick(&mut self, met: Option<(Flaw, Key)>, now: Timestamp) -> Option<Stuck> {
        let (flaw, row) = met.filter(|_| self.random.chance(STICKS))?;
        self.tally.stuck += 1;
        Some(Stuck { row, flaw, until: now.plus_seconds(self.random.within(60..=STUCK_SECONDS_MAX)) })
    }

    fn finish(&mut self, node: usize, mut output: Output, fate: Fate, cause: Cause) -> Stepped {
        if let Some(tampering) = self.tampering {
            tampering.apply(&mut output, &self.store, &self.mirror);
        }
        if fate == Fate::CommitFails && !output.changes.is_empty() {
            self.tally.commits_failed += 1;
            return Stepped::Unavailable;
        }
        self.commit(node, &output, cause);
        match fate {
            Fate::DiesAfter => {
                for send in &output.sends {
                    if self.random.chance(500) {
                        self.outside(node, &send.work);
                    }
                }
                self.die(node);
                Stepped::Down
            }
            Fate::ReplyLost if matches!(output.outcome, Outcome::Reply(_)) => {
                self.tally.replies_lost += 1;
                Stepped::Unheard
            }
            _ => Stepped::Done(output),
        }
    }

    /// Applies the output of a step, plans its follow-ups, and checks the commit.
    pub(crate) fn commit(&mut self, node: usize, output: &Output, cause: Cause) {
        let now = self.clock(node);
        self.store.apply(&output.changes);
        self.nodes[node].plan(output.wake);
        let mut calls = false;
        for change in &output.changes {
            if let Change::Put(at, _) = change {
                self.nodes[node].plan(key::due_of(at));
                calls |= key::topic_of(at) == Some(Topic::Waiting);
            }
        }
        if calls {
            self.spread_news();
        }
        let diff = match self.mirror.follow(&output.changes) {
            Ok(diff) => diff,
            Err(fault) => return self.note(Err(fault)),
        };
        self.tally.count(&diff);
        if self.told {
            diff.tell(now);
        }
        if diff.calls.iter().any(|call| call.after.is_some()) {
            self.spark();
        }
        for turned in
            diff.conversations.iter().filter(|turned| turned.after.as_ref().is_some_and(|row| row.turn.is_some()))
        {
            self.meddle_soon(turned.at);
        }
        let commit = Commit {
            now,
            cause,
            diff: &diff,
            mirror: &self.mirror,
            receivers: &self.receivers,
            parallel_calls: self.parallel_calls,
            suspended: &self.suspended,
            chat_price: self.chat_price,
        };
        let held = self.checks.judge(&commit);
        self.note(held);
    }

    /// Sometimes has a person act the moment a call changed, to provoke races.
    fn spark(&mut self) {
        for person in 0..self.people.len() {
            if self.random.chance(SPARKS) {
                let soon = self.random.below(15 * SECOND);
                self.later(soon, Event::Spark(person));
            }
        }
    }

    /// Sometimes has a person act on a conversation in the middle of a turn.
    fn meddle_soon(&mut self, at: At) {
        if !self.calm
            && self.random.chance(MEDDLES)
            && let Some(person) = self.people.iter().position(|person| person.account == at.0)
        {
            let soon = self.random.below(30 * SECOND);
            self.later(soon, Event::Meddle(person, at));
        }
    }

    /// Wakes parked requests for a waiting call, and has engines that stopped waiting claim again.
    fn spread_news(&mut self) {
        let parked: Vec<u64> =
            self.exchanges.iter().filter(|(_, exchange)| exchange.parked.is_some()).map(|(id, _)| *id).collect();
        for id in parked {
            let soon = self.random.below(SECOND / 20);
            self.later(soon, Event::News(id));
        }
        for engine in 0..self.engines.len() {
            if self.engines[engine].is_called() {
                let soon = self.random.below(3 * SECOND);
                self.later(soon, Event::Engine(engine, Errand::Claim));
            }
        }
    }

    /// Loses the rows that no disk holds, as a store does when its process ends.
    fn lose_memory(&mut self) {
        let lost: Vec<Change> =
            self.store.rows().keys().filter(|at| key::is_memory(at)).map(|at| Change::Delete(at.clone())).collect();
        self.store.apply(&lost);
    }

    /// Kills a host: everything in progress on it is lost. It restarts after a while.
    fn die(&mut self, node: usize) {
        self.tally.deaths += 1;
        if self.random.below(4) == 0 {
            self.lose_memory();
        }
        let dead = &mut self.nodes[node];
        (dead.up, dead.wake, dead.life) = (false, None, dead.life + 1);
        let lost: Vec<u64> =
            self.exchanges.iter().filter(|(_, exchange)| exchange.node == node).map(|(id, _)| *id).collect();
        for id in lost {
            if let Some(exchange) = self.exchanges.remove(&id) {
                self.tally.turns_died += u64::from(matches!(exchange.client, Client::Talk { .. }));
                self.hear(exchange.client, &Heard::Nothing);
            }
        }
        let down = self.random.within(SECOND / 10..=self.faults.down_seconds.max(1) * SECOND);
        self.later(down, Event::Up(node));
    }
}
