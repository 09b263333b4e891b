//! [`World`]: the service, its hosts and everybody around it, in virtual time. The clock jumps to the next event; one
//! step of the service runs there; its changes are committed, or lost.

use std::collections::BTreeMap;

use switchboard_core::memory::Memory;
use switchboard_core::outside::Answer;
use switchboard_core::service::Service;
use switchboard_core::step::{Input, Outcome, Ticket};
use switchboard_core::time::Timestamp;

use crate::agenda::{Agenda, SECOND, after};
use crate::base::{base, service};
use crate::checks::{Cause, Checks, Held};
use crate::client::{Ask, Heard};
use crate::engine::{Engine, Errand};
use crate::faults::Faults;
use crate::flaw::Stuck;
use crate::handing::Handing;
use crate::mirror::{At, Mirror};
use crate::model::Model;
use crate::node::{CAREFUL_TICKS, Exchange, Node};
use crate::person::Person;
use crate::plan::Plan;
use crate::random::Random;
use crate::receiver::Receivers;
use crate::report::Tally;
use crate::talk::Talker;
use crate::tamper::Tampering;

/// An event on the agenda.
#[derive(Debug)]
pub enum Event {
    /// A host starts again.
    Up(usize),
    /// The answer to a send of durable work arrives, for the life of the host that sent it.
    Answered(usize, u32, Ticket, Answer),
    /// The answers to a request's sends arrive.
    Told(u64, Vec<Answer>),
    /// There is news on the topic that a request waits for.
    News(u64),
    /// A parked request reaches its deadline.
    Elapsed(u64),
    /// An engine performs a planned action.
    Engine(usize, Errand),
    /// A person performs an act and plans the next.
    Person(usize),
    /// A person acts in addition, because something just happened.
    Spark(usize),
    /// Somebody says the next thing in a conversation.
    Talk(usize),
    /// A message is sent again under its idempotency key.
    Echo(usize, String),
    /// A person acts on a conversation in which a turn is under way.
    Meddle(usize, At),
    /// A person retries a request.
    Again(usize, Ask, u32),
    /// A receiver's mood changes.
    Mood(usize),
    /// People have acted, and faults end.
    Calm,
    /// The operator retries what was set aside.
    Operator,
}

/// A simulated world: the service, its hosts, and everyone around them.
pub struct World {
    /// Parameters drawn from the seed.
    pub plan: Plan,
    /// Virtual time of the event being processed.
    pub now: Timestamp,
    /// The only source of randomness, from the seed.
    pub random: Random,
    /// Rows as the claims see them.
    pub mirror: Mirror,
    /// Claims with their state.
    pub checks: Checks,
    /// Receivers of webhooks and tool calls.
    pub receivers: Receivers,
    /// Simulated engines, by their index in events.
    pub engines: Vec<Engine>,
    /// To whom calls were given, and who rang.
    pub handing: Handing,
    /// People, one per account.
    pub people: Vec<Person>,
    /// Everybody who talks to an assistant by text.
    pub talkers: Vec<Talker>,
    /// The language model.
    pub model: Model,
    /// Price of an answer in a conversation, millionths of a US dollar.
    pub chat_price: i64,
    /// Counts of what happened so far.
    pub tally: Tally,
    /// The first claim that did not hold.
    pub fault: Option<String>,
    /// Whether people are done and faults have ended.
    pub calm: bool,
    /// Limit of parallel calls in every account's plan.
    pub parallel_calls: usize,
    /// Suspended accounts, by number.
    pub suspended: Vec<u32>,
    /// When all work must be done, once calm.
    pub deadline: Timestamp,
    /// Rows as the last commit left them.
    pub store: Memory,
    /// A defect that every step has; none in a world that is to hold.
    pub tampering: Option<Tampering>,
    /// Whether events are printed.
    pub told: bool,
    pub(crate) service: &'static Service,
    pub(crate) faults: Faults,
    pub(crate) stuck: Option<Stuck>,
    pub(crate) agenda: Agenda<Event>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) exchanges: BTreeMap<u64, Exchange>,
    pub(crate) asked: u64,
}

impl World {
    /// Creates a world in which nothing has happened yet.
    pub fn new(plan: Plan, mut random: Random) -> Self {
        let ahead = |at: usize, random: &mut Random| if at == 0 { 0 } else { random.below(SECOND / 2) };
        let nodes = (0..plan.nodes)
            .map(|at| {
                let ahead_micros = ahead(at, &mut random);
                Node { up: true, ahead_micros, careful: CAREFUL_TICKS, ..Node::default() }
            })
            .collect();
        Self {
            now: plan.start,
            receivers: Receivers::new(plan.receivers, &mut random.fork()),
            store: base().store.clone(),
            service: service(plan.model),
            faults: Faults::default(),
            stuck: None,
            agenda: Agenda::default(),
            nodes,
            exchanges: BTreeMap::new(),
            asked: 0,
            random,
            mirror: Mirror::default(),
            checks: Checks::default(),
            engines: Vec::new(),
            handing: Handing::default(),
            people: Vec::new(),
            talkers: Vec::new(),
            model: Model::default(),
            chat_price: 0,
            tally: Tally::default(),
            fault: None,
            calm: false,
            parallel_calls: 100,
            suspended: Vec::new(),
            deadline: Timestamp::MAX,
            tampering: None,
            told: false,
            plan,
        }
    }

    /// Injects faults from here on, or ends them.
    pub fn strike(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Adds an event `micros` microseconds from now.
    pub fn later(&mut self, micros: u64, event: Event) {
        self.agenda.add(after(self.now, micros), &mut self.random, event);
    }

    /// Records the result of a check; only the first failure is kept.
    pub fn note(&mut self, held: Held) {
        if let Err(claim) = held
            && self.fault.is_none()
        {
            self.fault = Some(format!("{} ({})", claim, self.now.iso()));
        }
    }

    /// Returns when the next event or tick is due.
    pub fn next_at(&self) -> Option<Timestamp> {
        let wakes = self.nodes.iter().filter(|node| node.up).filter_map(|node| node.wake);
        wakes.chain(self.agenda.next_at()).min()
    }

    /// Jumps to the next event and processes it; returns false when there is none.
    pub fn turn(&mut self) -> bool {
        let Some(at) = self.next_at() else { return false };
        self.now = self.now.max(at);
        self.tally.turns += 1;
        let due = self.nodes.iter().position(|node| node.up && node.wake.is_some_and(|wake| wake <= self.now));
        match due {
            Some(node) => self.tick(node),
            None => {
                if let Some(event) = self.agenda.pop() {
                    self.happen(event);
                }
            }
        }
        true
    }

    fn happen(&mut self, event: Event) {
        if self.told {
            println!("{} {event:?}", self.now.iso());
        }
        match event {
            Event::Up(node) => {
                self.nodes[node].up = true;
                self.nodes[node].careful = CAREFUL_TICKS;
                // Work that fell due while it was down is due now.
                self.nodes[node].wake = Some(self.now);
            }
            Event::Answered(node, life, ticket, answer) => self.answered(node, life, ticket, answer),
            Event::Told(id, answers) => {
                if let Some(exchange) = self.exchanges.get_mut(&id) {
                    exchange.answers.extend(answers);
                    self.run(id);
                }
            }
            Event::News(id) => self.run(id),
            Event::Elapsed(id) => {
                if let Some(exchange) = self.exchanges.get_mut(&id) {
                    exchange.answers.push(Answer::Elapsed);
                    exchange.parked = None;
                    self.run(id);
                }
            }
            Event::Engine(engine, errand) => self.engine_acts(engine, errand),
            Event::Person(person) => self.person_acts(person),
            Event::Spark(person) => self.person_does(person),
            Event::Talk(talker) => self.talk(talker),
            Event::Echo(talker, text) => self.echo(talker, text),
            Event::Meddle(person, at) => self.person_meddles(person, at),
            Event::Again(person, ask, left) => self.person_asks(person, ask, left, Cause::default()),
            Event::Mood(at) => {
                self.receivers.change(at, &mut self.random);
                let hours = self.random.within(1..=16);
                self.later(hours * 3_600 * SECOND, Event::Mood(at));
            }
            Event::Calm => self.calm_down(),
            Event::Operator => {
                self.operator_retries();
                self.answer_all();
            }
        }
    }

    /// Runs a request without faults and returns its answer: for the start of a world and its end.
    pub fn must(&mut self, ask: &Ask, token: &str) -> Heard {
        let (request, seed) = (ask.by(token), self.random.seed());
        match self.decide(0, &Input::Http(&request, &[]), seed, None) {
            Some(output) => {
                self.commit(0, &output, Cause::default());
                match output.outcome {
                    Outcome::Reply(reply) => Heard::of(reply.status, &reply.content),
                    _ => Heard::Nothing,
                }
            }
            None => Heard::Nothing,
        }
    }
}
