//! Requests of clients on their way through the steps of a host.

use switchboard_core::http::request::Request;
use switchboard_core::outside::Answer;
use switchboard_core::step::{Input, Outcome, Output};

use crate::agenda::SECOND;
use crate::checks::Cause;
use crate::client::{Client, Heard};
use crate::node::Exchange;
use crate::receiver::Reaction;
use crate::steps::Stepped;
use crate::world::{Event, World};

impl World {
    /// Sends a client's request to a random host; the answer comes later.
    pub fn ask(&mut self, client: Client, request: Request, cause: Cause) {
        let node = usize::try_from(self.random.below(self.nodes.len() as u64)).unwrap_or(0);
        self.asked += 1;
        let (id, seed) = (self.asked, self.random.seed());
        let exchange = Exchange { client, node, request, answers: Vec::new(), seed, cause, parked: None };
        self.exchanges.insert(id, exchange);
        self.run(id);
    }

    /// Runs the next step of a request.
    pub(crate) fn run(&mut self, id: u64) {
        let Some(mut exchange) = self.exchanges.remove(&id) else { return };
        let (node, cause) = (exchange.node, exchange.cause);
        let input = Input::Http(&exchange.request, &exchange.answers);
        let stepped = if exchange.parked.is_some() {
            // A parked request first looks without committing, as long as there is nothing for it.
            match self.decide(node, &input, exchange.seed, None) {
                Some(Output { outcome: Outcome::Park(..), .. }) => {
                    self.exchanges.insert(id, exchange);
                    return;
                }
                _ => self.step(node, &input, exchange.seed, cause),
            }
        } else {
            self.step(node, &input, exchange.seed, cause)
        };
        match stepped {
            Stepped::Done(Output { outcome: Outcome::Reply(reply), .. }) => {
                self.hear(exchange.client, &Heard::of(reply.status, &reply.content));
            }
            Stepped::Done(Output { outcome: Outcome::Wait, sends, .. }) => {
                let reactions: Vec<Reaction> = sends.iter().filter_map(|send| self.outside(node, &send.work)).collect();
                let stands = matches!(exchange.client, Client::Talk { .. }) && self.random.chance(self.faults.stands);
                self.tally.turns_stood += u64::from(stands);
                let stood = if stands { self.random.within(20 * SECOND..=150 * SECOND) } else { 0 };
                let micros = reactions.iter().map(|reaction| reaction.after_micros).sum::<u64>() + stood;
                let answers = reactions.into_iter().map(|reaction| reaction.answer).collect();
                self.exchanges.insert(id, exchange);
                self.later(micros, Event::Told(id, answers));
            }
            Stepped::Done(Output { outcome: Outcome::Yield, .. }) => {
                exchange.answers.push(Answer::Yielded);
                self.exchanges.insert(id, exchange);
                self.later(0, Event::Told(id, Vec::new()));
            }
            Stepped::Done(Output { outcome: Outcome::Park(topic, until), .. }) => {
                if exchange.parked.is_none() {
                    self.agenda.add(until, &mut self.random, Event::Elapsed(id));
                    exchange.parked = Some((topic, until));
                }
                self.exchanges.insert(id, exchange);
            }
            Stepped::Done(_) => self.note(Err("a request with its body comes to an answer".into())),
            Stepped::Unavailable => self.hear(exchange.client, &Heard::Said(503, serde_json::Value::Null)),
            Stepped::Unheard | Stepped::Down => self.hear(exchange.client, &Heard::Nothing),
        }
    }

    /// Passes the answer to the client that sent the request.
    pub(crate) fn hear(&mut self, client: Client, heard: &Heard) {
        if heard.status() == 500 {
            self.note(Err(format!("nobody is answered 500: {client:?}")));
        }
        match client {
            Client::Person { person, again } => self.person_hears(person, again, heard),
            Client::Talk { talker, message } => self.talker_hears(talker, message.as_deref(), heard),
            client => self.engine_hears(&client, heard),
        }
    }
}
