//! [`Talker`]: somebody who talks to an assistant by text, on a page, as its owner or over a program that relays. They
//! wait for an answer, or not; what was not answered they say again, and sometimes what was.

use serde_json::{Value, json};

use crate::acts::named;
use crate::agenda::SECOND;
use crate::checks::{Cause, Held, holds};
use crate::client::{Ask, Client, Heard};
use crate::mirror::At;
use crate::world::{Event, World};

/// How often the same message is sent when no answer comes.
const INSISTS: u32 = 5;
/// Probability that a message is sent under an idempotency key, per mille.
const KEYED: u64 = 400;
/// Probability that somebody does not wait for an answer, per mille.
const IMPATIENT: u64 = 120;
/// Probability that a request with a key is sent again whatever was heard, as a proxy may do, per mille.
const ECHOES: u64 = 150;
/// Paths at which replies are generated.
const REPLIES: [&str; 3] = ["/user/ai/generate-reply", "/ai/generate-reply", "/ai-replies/generate"];

/// How somebody reaches an assistant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As its owner, who tries it.
    Test,
    /// On a page, without a token.
    Page,
    /// Over a program that has replies generated.
    Relay,
}

/// A message on its way.
#[derive(Clone, Debug)]
struct Pending {
    text: String,
    is_keyed: bool,
    tries_left: u32,
}

/// An answer that somebody heard.
#[derive(Clone, Debug)]
pub struct HeardReply {
    /// UUID of the conversation.
    pub conversation: String,
    /// What was said.
    pub message: String,
    /// What was answered.
    pub reply: String,
}

/// Somebody who talks to an assistant.
#[derive(Clone, Debug)]
pub struct Talker {
    /// Index of the person whose assistant it is.
    pub person: usize,
    way: Way,
    /// Id and UUID of the assistant.
    assistant: (u64, String),
    /// UUID of the conversation, once it is known.
    conversation: Option<String>,
    /// What a program knows them by.
    customer: String,
    /// Messages left to say.
    left: u64,
    said: u64,
    pending: Option<Pending>,
    /// Answers in the order in which they came.
    pub heard: Vec<HeardReply>,
}

impl World {
    /// Has somebody begin to talk to an assistant of a person, this much later.
    pub fn begin_talk(&mut self, person: usize, assistant: At, after_micros: u64) {
        let way = self.random.weighed(&[(3, Way::Test), (4, Way::Page), (4, Way::Relay)]);
        let Some(row) = self.mirror.assistants.get(&assistant) else { return };
        let uuid = row.uuid.clone();
        let talker = Talker {
            person,
            way,
            assistant: (named(assistant), uuid),
            conversation: None,
            customer: format!("customer {}", self.random.below(3)),
            left: self.random.within(1..=7),
            said: 0,
            pending: None,
            heard: Vec::new(),
        };
        self.talkers.push(talker);
        self.later(after_micros, Event::Talk(self.talkers.len() - 1));
    }

    /// Has somebody say the next thing, or the last one again.
    pub fn talk(&mut self, at: usize) {
        if self.calm {
            return;
        }
        if self.talkers[at].conversation.is_none() && self.talkers[at].way != Way::Relay {
            return self.open_talk(at);
        }
        if self.talkers[at].pending.is_none() {
            self.think(at);
        }
        let talker = &mut self.talkers[at];
        let Some(pending) = &mut talker.pending else { return };
        let Some(left) = pending.tries_left.checked_sub(1) else {
            talker.pending = None;
            return self.pause(at);
        };
        pending.tries_left = left;
        let pending = pending.clone();
        self.say(at, &pending);
        if self.random.chance(IMPATIENT) {
            let soon = self.random.within(SECOND / 10..=90 * SECOND);
            self.later(soon, Event::Talk(at));
        }
        if pending.is_keyed && self.random.chance(ECHOES) {
            let later = self.random.within(SECOND..=300 * SECOND);
            self.later(later, Event::Echo(at, pending.text));
        }
    }

    /// Sends a request with an idempotency key again.
    pub fn echo(&mut self, at: usize, text: String) {
        if !self.calm {
            self.say(at, &Pending { text, is_keyed: true, tries_left: 0 });
        }
    }

    /// Has somebody find the next thing to say.
    fn think(&mut self, at: usize) {
        let talker = &mut self.talkers[at];
        let Some(left) = talker.left.checked_sub(1) else { return };
        (talker.left, talker.said) = (left, talker.said + 1);
        let wish = if self.random.chance(200) { ", look it up: city=Iasi" } else { "" };
        let text = format!("Message {at}.{}{wish}", talker.said);
        let is_keyed = self.random.chance(KEYED);
        self.checks.talking.said(&text, is_keyed);
        self.talkers[at].pending = Some(Pending { text, is_keyed, tries_left: INSISTS });
    }

    fn open_talk(&mut self, at: usize) {
        let talker = &self.talkers[at];
        let kind = if talker.way == Way::Page { "widget" } else { "test" };
        let ask = Ask::post("/conversations", json!({ "assistant_id": talker.assistant.1, "type": kind }));
        self.send_talk(at, &ask, None);
    }

    fn say(&mut self, at: usize, pending: &Pending) {
        let path = self.random.one(&REPLIES);
        let talker = &self.talkers[at];
        let text = &pending.text;
        let ask = if let (Some(uuid), Way::Test | Way::Page) = (&talker.conversation, talker.way) {
            Ask::post(format!("/conversations/{uuid}/messages"), json!({ "message": text }))
        } else {
            let (assistant, customer) = (talker.assistant.0, &talker.customer);
            let body = json!({ "assistant_id": assistant, "customer_identifier": customer, "message": text });
            // A key belongs to one path.
            Ask::post(if pending.is_keyed { REPLIES[0] } else { path }, body)
        };
        let ask = if pending.is_keyed { ask.keyed(text.clone()) } else { ask };
        self.send_talk(at, &ask, Some(text.clone()));
    }

    fn send_talk(&mut self, at: usize, ask: &Ask, message: Option<String>) {
        let talker = &self.talkers[at];
        let request = if talker.way == Way::Page { ask.by_anybody() } else { ask.by(&self.people[talker.person].key) };
        self.ask(Client::Talk { talker: at, message }, request, Cause::default());
    }

    /// Plans what somebody says next, a little later or, now and then, when the conversation may be over.
    fn pause(&mut self, at: usize) {
        if self.talkers[at].left == 0 && self.talkers[at].pending.is_none() {
            return;
        }
        let seconds = match self.random.weighed(&[(70, 0), (15, 1), (15, 2)]) {
            0 => self.random.within(1..=40),
            1 => self.random.within(60..=600),
            _ => self.random.within(600..=6 * 3_600),
        };
        self.later(seconds * SECOND, Event::Talk(at));
    }

    /// Handles and checks an answer to somebody who talks.
    pub fn talker_hears(&mut self, at: usize, message: Option<&str>, heard: &Heard) {
        let held = self.listen(at, message, heard);
        self.note(held);
        let Heard::Said(status, answer) = heard else { return self.insist(at) };
        match (message, *status) {
            (None, 200) => {
                self.talkers[at].conversation = answer["conversation_id"].as_str().map(str::to_owned);
                self.pause(at);
            }
            (Some(text), 200) => {
                // What was heard before may be heard again, later than what followed.
                if self.talkers[at].pending.as_ref().is_some_and(|pending| pending.text == text) {
                    self.note_reply(at, text, answer);
                    self.talkers[at].pending = None;
                    self.pause(at);
                }
            }
            (_, 403 | 404 | 410) => self.talkers[at].left = 0,
            _ => self.insist(at),
        }
    }

    fn note_reply(&mut self, at: usize, message: &str, answer: &Value) {
        let talker = &mut self.talkers[at];
        let named = answer["conversation_id"].as_str().map(str::to_owned).or_else(|| talker.conversation.clone());
        let reply = answer["reply"].as_str().or_else(|| answer["message"].as_str());
        if let (Some(conversation), Some(reply)) = (named, reply) {
            talker.heard.push(HeardReply { conversation, message: message.into(), reply: reply.into() });
        }
    }

    /// Has somebody who got no answer try again, mostly soon.
    fn insist(&mut self, at: usize) {
        let seconds = if self.random.chance(700) { self.random.within(1..=30) } else { self.random.within(30..=200) };
        self.later(seconds * SECOND, Event::Talk(at));
    }

    /// Checks an answer: it is a kept one, or a refusal.
    fn listen(&mut self, at: usize, message: Option<&str>, heard: &Heard) -> Held {
        let fine = matches!(heard.status(), 200 | 400 | 402 | 403 | 404 | 409 | 410 | 422 | 429 | 502 | 504);
        holds!(heard.is_lost() || fine, "a message is answered or refused: {message:?} {heard:?}");
        let (Some(message), Heard::Said(200, answer)) = (message, heard) else { return Ok(()) };
        let reply = answer["reply"].as_str().or_else(|| answer["message"].as_str());
        let uuid = answer["conversation_id"].as_str().or(self.talkers[at].conversation.as_deref());
        let there = uuid.and_then(|uuid| self.mirror.conversation(uuid)).and_then(|at| self.mirror.said.get(&at));
        // An answer that is replayed may be of a conversation that was deleted.
        let (Some(reply), Some(said)) = (reply, there) else { return Ok(()) };
        let is_kept = said.windows(2).any(|pair| {
            pair[0].is_users() && pair[0].content == message && !pair[1].is_users() && pair[1].content == reply
        });
        holds!(is_kept, "an answer that is heard stands behind its message: {message} {reply}, not in {said:?}");
        Ok(())
    }

    /// Has the owners say again what was not answered, once nothing fails any more.
    pub fn answer_all(&mut self) {
        let open: Vec<At> =
            self.mirror.conversations.keys().filter(|at| self.mirror.is_unanswered(**at)).copied().collect();
        for at in open {
            let Some(person) = self.people.iter().position(|person| person.account == at.0) else { continue };
            let Some(last) = self.mirror.said.get(&at).and_then(|said| said.last()) else { continue };
            let (uuid, text) = (self.mirror.conversations[&at].uuid.clone(), last.content.clone());
            let assistant = (0, String::new());
            let (way, conversation) = (Way::Test, Some(uuid));
            let (customer, heard) = (String::new(), Vec::new());
            let (left, said, pending) = (0, 0, None);
            self.talkers.push(Talker { person, way, assistant, conversation, customer, left, said, pending, heard });
            self.say(self.talkers.len() - 1, &Pending { text, is_keyed: false, tries_left: 0 });
        }
    }
}
