//! People: each owns an account, sets it up, and then acts at random times.

use serde_json::Value;

use crate::acts::{ACTS, Act};
use crate::agenda::SECOND;
use crate::checks::{Cause, Held, holds};
use crate::client::{Ask, Client, Heard};
use crate::mirror::At;
use crate::world::{Event, World};

/// How often a request with an idempotency key is retried when no answer comes.
const INSISTS: u32 = 4;

/// The owner of an account.
#[derive(Clone, Debug)]
pub struct Person {
    /// Number of the account.
    pub account: u32,
    /// API key of the account.
    pub key: String,
    /// Acts left to do.
    pub acts: u64,
    /// Assistants that take calls: id and number.
    pub inbound: Vec<(u64, String)>,
    /// Calls created by hand, each under an idempotency key of its own.
    pub by_hand: u64,
}

impl World {
    /// Performs an act, and plans the next one.
    pub fn person_acts(&mut self, at: usize) {
        if self.calm || self.people[at].acts == 0 {
            return;
        }
        let left = self.plan.calm_at().seconds_since(self.now).max(1);
        let pause = self.random.within(1..=2 * left / (self.people[at].acts + 1) + 1);
        self.later(pause * SECOND, Event::Person(at));
        self.person_does(at);
    }

    /// Performs an act, if the person has any left.
    pub fn person_does(&mut self, at: usize) {
        if self.calm || self.people[at].acts == 0 {
            return;
        }
        self.people[at].acts -= 1;
        let act = self.random.weighed(&ACTS);
        let Some((ask, cause)) = self.act(at, act) else { return };
        let left = if ask.is_keyed() { INSISTS } else { 0 };
        self.person_asks(at, ask, left, cause);
    }

    /// Acts on a conversation in which a turn is under way, or on its assistant.
    pub fn person_meddles(&mut self, at: usize, conversation: At) {
        let act = self.random.weighed(&[(6, Act::TakeOver), (1, Act::DropTalk), (3, Act::EditAssistant)]);
        let asked = if act == Act::EditAssistant {
            self.act(at, act)
        } else {
            self.meddle(conversation, act).map(|ask| (ask, Cause::default()))
        };
        if let Some((ask, cause)) = asked {
            self.person_asks(at, ask, 0, cause);
        }
    }

    /// Sends a person's request.
    pub fn person_asks(&mut self, at: usize, ask: Ask, left: u32, cause: Cause) {
        let request = ask.by(&self.people[at].key);
        let again = left.checked_sub(1).map(|left| (ask, left));
        self.ask(Client::Person { person: at, again }, request, cause);
    }

    /// Handles an answer to a person; retries a request that has an idempotency key.
    pub fn person_hears(&mut self, at: usize, again: Option<(Ask, u32)>, heard: &Heard) {
        self.note(answered(heard));
        if let Some((ask, left)) = again
            && (heard.is_lost() || heard.status() == 409)
        {
            let seconds = self.random.within(1..=90);
            self.later(seconds * SECOND, Event::Again(at, ask, left));
        }
    }

    /// Runs a person's request without faults; returns the body of the answer.
    pub fn owner(&mut self, at: usize, ask: &Ask) -> Value {
        let key = self.people[at].key.clone();
        match self.must(ask, &key) {
            Heard::Said(200..300, answer) => answer,
            other => {
                self.note(Err(format!("a sound request is carried out: {ask:?} {other:?}")));
                Value::Null
            }
        }
    }
}

fn answered(heard: &Heard) -> Held {
    let fine = heard.is_lost() || matches!(heard.status(), 200..300 | 400 | 402 | 403 | 404 | 409 | 422);
    holds!(fine, "a person's request is carried out or refused: {heard:?}");
    Ok(())
}
