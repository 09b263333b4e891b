//! Conversations: every message and every answer stands once, in order; one turn at a time, of which each answer is paid
//! once; a conversation ends when nobody says anything, and is told once.

use std::collections::BTreeMap;

use switchboard_core::time::Timestamp;

use super::{Commit, Held, holds, micros};
use crate::facts::{Conversation, Event, Message};
use crate::mirror::{At, Turned};

/// How long a turn keeps others out, seconds, as it is published.
const LAPSE_SECONDS: u64 = 75;
/// When a conversation ends whose assistant is gone without a trace, minutes.
const INACTIVITY_MINUTES: u64 = 30;
/// What the simulated model of the core says begins like this.
pub const SIMULATED: &str = "This is the simulated model of ";

/// The course of a conversation.
#[derive(Clone, Debug, Default)]
struct Course {
    /// Price of its answers, millionths of a US dollar.
    price: i64,
    /// Times that its end was told.
    told: usize,
    /// When somebody last said something.
    last_at: Timestamp,
    /// When the turn began that is under way.
    turn_at: Timestamp,
    /// Place of the message that it answers, from 1.
    turn_place: usize,
    /// What its answer costs, millionths of a US dollar.
    turn_price: i64,
}

/// State of the claims about conversations.
#[derive(Debug, Default)]
pub struct Talking {
    courses: BTreeMap<At, Course>,
    /// Messages of people: whether they are sent under a key, and in which conversation they were answered.
    sent: BTreeMap<String, (bool, Option<At>)>,
    /// Answers of the model: whether they stand in a conversation.
    spoken: BTreeMap<String, bool>,
}

impl Talking {
    /// Notes what somebody is about to say; `is_keyed` if an idempotency key is sent with it.
    pub fn said(&mut self, text: &str, is_keyed: bool) {
        self.sent.insert(text.into(), (is_keyed, None));
    }

    /// Notes what the model answered.
    pub fn spoke(&mut self, words: String) {
        self.spoken.insert(words, false);
    }

    /// Checks the conversations of a commit.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for turned in &commit.diff.conversations {
            match &turned.after {
                Some(after) => self.go_on(commit, turned, after)?,
                None => drop(self.courses.remove(&turned.at)),
            }
        }
        let ends = commit.diff.events.iter().filter(|(_, event)| event.event == "conversation.ended").count();
        let ended = commit.diff.conversations.iter().filter(|turned| ends_now(turned)).count();
        holds!(ends <= ended, "a conversation is told when it ends: {ends} events of {ended}");
        Ok(())
    }

    fn go_on(&mut self, commit: &Commit<'_>, turned: &Turned<Conversation>, after: &Conversation) -> Held {
        let at = turned.at;
        let said = commit.mirror.said.get(&at).map_or(&[][..], Vec::as_slice);
        holds!(said.len() == after.message_count, "a history has the messages that are counted: {at:?} {}", said.len());
        let known = turned.before.as_ref().map_or(0, |before| before.message_count);
        let new = said.get(known..).unwrap_or_default();
        holds!(new.len() <= 2, "a step keeps a message and its answer: {at:?} {new:?}");
        for place in known..said.len() {
            if said[place].is_users() {
                self.keep(at, after, &said[..place], &said[place])?;
            } else if place > 0 {
                self.answer(commit, turned, &said[..place], &said[place])?;
            }
        }
        let course = self.courses.entry(at).or_default();
        let price = micros(after.total_cost);
        holds!(
            price == course.price,
            "a conversation costs what its answers cost: {at:?} {price}, not {}",
            course.price
        );
        let before = turned.before.as_ref().and_then(|before| before.turn.as_ref());
        let begins = after.turn.is_some() && after.turn.as_ref() != before;
        if begins {
            let free = before.is_none() || commit.now >= course.turn_at.plus_seconds(LAPSE_SECONDS);
            holds!(free, "one message is answered at a time: {at:?}, the last turn began at {:?}", course.turn_at);
            holds!(said.last().is_some_and(Message::is_users), "a turn answers a message: {at:?} {:?}", said.last());
            holds!(after.ai_enabled, "no turn begins once a person took over: {at:?}");
            (course.turn_at, course.turn_place, course.turn_price) = (commit.now, said.len(), commit.chat_price);
        }
        if begins || !new.is_empty() {
            course.last_at = course.last_at.max(commit.now);
        }
        if ends_now(turned) { self.end(commit, turned, after, said) } else { Ok(()) }
    }

    /// Checks a message that was kept: it was sent, and no other copy of it waits for the assistant. Where a person took
    /// over, everything is kept.
    fn keep(&mut self, at: At, after: &Conversation, said: &[Message], message: &Message) -> Held {
        let text = &message.content;
        holds!(self.sent.contains_key(text), "nobody said this: {at:?} {text}");
        let is_again = after.ai_enabled && said.last() == Some(message);
        holds!(!is_again, "a message that is not answered is kept once: {at:?} {text}");
        Ok(())
    }

    /// Checks an answer that was kept: it ends the turn that is under way, and the model gave it for this turn alone.
    fn answer(
        &mut self,
        commit: &Commit<'_>,
        turned: &Turned<Conversation>,
        said: &[Message],
        answer: &Message,
    ) -> Held {
        let at = turned.at;
        let before = turned.before.as_ref();
        let is_marked = before.is_some_and(|before| before.turn.is_some());
        let course = self.courses.get(&at).cloned().unwrap_or_default();
        // The core's own model asks nobody outside: its turn has no mark, and passes one that lapsed.
        let is_free = !is_marked || commit.now >= course.turn_at.plus_seconds(LAPSE_SECONDS);
        let is_one_step = is_free && answer.content.starts_with(SIMULATED);
        let ends_turn = is_marked && turned.after.as_ref().is_some_and(|after| after.turn.is_none());
        holds!(is_one_step || ends_turn, "an answer ends the turn that is under way: {at:?} {answer:?}");
        let is_next = is_one_step || said.len() == course.turn_place;
        holds!(is_next, "nothing is said between a message and its answer: {at:?} {answer:?} {said:?}");
        let is_taken = turned.after.as_ref().is_some_and(|after| !after.ai_enabled);
        holds!(!is_taken, "no answer comes once a person took over: {at:?} {answer:?}");
        let is_late = !is_one_step && before.is_some_and(|before| before.ended_at.is_some());
        holds!(!is_late, "no answer comes after the end: {at:?} {answer:?}");
        holds!(said.last().is_some_and(Message::is_users), "an answer stands behind its message: {at:?} {answer:?}");
        if !answer.content.starts_with(SIMULATED) {
            let stands = self.spoken.get_mut(&answer.content);
            let stands = stands.ok_or_else(|| format!("a history has what was answered: {at:?} {answer:?}"))?;
            holds!(!*stands, "an answer stands once: {at:?} {answer:?}");
            *stands = true;
        }
        self.courses.entry(at).or_default().price += if is_one_step { commit.chat_price } else { course.turn_price };
        self.one_effect(at, said.last())
    }

    /// Checks that a message with an idempotency key is answered once.
    fn one_effect(&mut self, at: At, message: Option<&Message>) -> Held {
        let sent = message.and_then(|message| self.sent.get_mut(&message.content));
        let Some((true, answered)) = sent else { return Ok(()) };
        // With a deleted conversation its keys are forgotten.
        let earlier = answered.replace(at).filter(|earlier| self.courses.contains_key(earlier));
        holds!(earlier.is_none(), "one effect an idempotency key: {message:?} is answered in {at:?} and {earlier:?}");
        Ok(())
    }

    /// Checks a conversation that ends: by itself, once nobody said anything for long enough.
    fn end(
        &mut self,
        commit: &Commit<'_>,
        turned: &Turned<Conversation>,
        after: &Conversation,
        said: &[Message],
    ) -> Held {
        let at = turned.at;
        let course = self.courses.entry(at).or_default();
        holds!(commit.cause.own_work, "a conversation ends by itself: {at:?}");
        let of = (at.0, after.assistant);
        let assistant = commit.mirror.assistants.get(&of);
        let minutes = match (assistant, commit.mirror.assistant(of)) {
            (Some(row), _) => row.conversation_inactivity_timeout,
            (None, last) => {
                last.map_or(INACTIVITY_MINUTES, |row| row.conversation_inactivity_timeout.min(INACTIVITY_MINUTES))
            }
        };
        let due = course.last_at.plus_seconds(60 * minutes);
        holds!(commit.now >= due, "a conversation ends once nobody says anything: {at:?} before {due:?}");
        self.told(commit, at, after, said)
    }

    /// Checks that the end of a conversation is told as its assistant asks, with what was said.
    fn told(&mut self, commit: &Commit<'_>, at: At, after: &Conversation, said: &[Message]) -> Held {
        let course = self.courses.entry(at).or_default();
        let assistant = commit.mirror.assistants.get(&(at.0, after.assistant));
        let events = commit.diff.events.iter().map(|(_, event)| event);
        let events: Vec<&Event> = events.filter(|event| is_end_of(event, &after.uuid)).collect();
        let again = assistant.is_none_or(|row| row.conversation_ended_retrigger);
        let is_told = said.iter().any(Message::is_users) && (course.told == 0 || again);
        let is_free = assistant.is_none() && course.told > 0;
        holds!(
            events.len() == usize::from(is_told) || is_free && events.is_empty(),
            "the end of a conversation is told once: {at:?} {} times, {} before",
            events.len(),
            course.told
        );
        course.told += events.len();
        for event in &events {
            let lines = event.payload["transcript"].as_array().cloned().unwrap_or_default();
            let told: Vec<Message> = lines.into_iter().filter_map(|line| serde_json::from_value(line).ok()).collect();
            holds!(told == said, "what is told of a conversation is what was said: {at:?} {told:?}");
        }
        let sent = commit.diff.deliveries.iter().filter_map(|delivery| delivery.after.as_ref());
        let sent: Vec<&str> = sent
            .filter(|delivery| delivery.conversation.as_ref() == Some(&after.uuid))
            .map(|delivery| delivery.url.as_str())
            .collect();
        let Some(assistant) = assistant else { return Ok(()) };
        let url = assistant.conversation_ended_webhook_url.as_deref().filter(|_| !events.is_empty());
        holds!(
            sent == url.into_iter().collect::<Vec<_>>(),
            "an ended conversation has the delivery that its assistant asks for: {at:?} {sent:?}, not {url:?}"
        );
        Ok(())
    }
}

fn ends_now(turned: &Turned<Conversation>) -> bool {
    let is_ended = |row: &Option<Conversation>| row.as_ref().is_some_and(|row| row.ended_at.is_some());
    is_ended(&turned.after) && !is_ended(&turned.before)
}

fn is_end_of(event: &Event, uuid: &str) -> bool {
    event.event == "conversation.ended" && event.payload["conversation_id"] == uuid
}
