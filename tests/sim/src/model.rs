//! The simulated language model: true answers, each with a text of its own, and the wrong ones that an endpoint may give.

use serde_json::{Value, json};
use switchboard_core::outside::{Answer, HttpIn, HttpOut, SendError};

use crate::agenda::SECOND;
use crate::random::Random;
use crate::receiver::Reaction;

/// How the model answers a question of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// With words.
    Words,
    /// With words in pieces, although the whole was asked for.
    Pieces,
    /// It calls the attached tool.
    Calls,
    /// It calls a tool that is not attached.
    CallsNobody,
    /// It calls the tool with arguments that are no object.
    CallsBadly,
    /// It calls tools again and again.
    CallsOn,
    /// With more calls than an answer may have.
    CallsTooMany,
    /// With JSON that breaks off.
    BrokenJson,
    /// With members of other types.
    WrongTypes,
    /// With neither words nor calls.
    Nothing,
    /// With pieces of which the last is missing.
    BreaksOff,
    /// With more than is read.
    TooLong,
    /// With an error status.
    Fails,
    /// Not until the timeout.
    Hangs,
    /// The connection breaks.
    Resets,
    /// The host has no room to ask.
    NoRoom,
}

/// Replies with their weights, until the world is calm.
const REPLIES: [(u64, Reply); 16] = [
    (480, Reply::Words),
    (60, Reply::Pieces),
    (130, Reply::Calls),
    (20, Reply::CallsNobody),
    (30, Reply::CallsBadly),
    (20, Reply::CallsOn),
    (10, Reply::CallsTooMany),
    (30, Reply::BrokenJson),
    (30, Reply::WrongTypes),
    (20, Reply::Nothing),
    (20, Reply::BreaksOff),
    (20, Reply::TooLong),
    (40, Reply::Fails),
    (40, Reply::Hangs),
    (40, Reply::Resets),
    (10, Reply::NoRoom),
];
/// Replies once it is.
const HONEST: [(u64, Reply); 2] = [(9, Reply::Words), (1, Reply::Calls)];
/// Id of the calls of a model that calls on and on.
const ON: &str = "on";

/// The model, which counts what it is asked.
#[derive(Debug, Default)]
pub struct Model {
    /// Whether it answers as it should.
    pub is_honest: bool,
    /// Questions of conversations that it lied to.
    pub lies: u64,
    /// Questions of conversations that got no answer.
    pub silences: u64,
    /// Questions of conversations.
    pub questions: u64,
}

/// What the model did with a question of a conversation.
pub struct Spoken {
    /// Its reaction as the service sees it.
    pub reaction: Reaction,
    /// The words with which it ends the turn; `None` if there are none.
    pub words: Option<String>,
}

/// Returns whether a request asks for an answer in a conversation, not about one that is over.
pub fn is_chat(request: &HttpOut) -> bool {
    question(request)["response_format"].is_null()
}

fn question(request: &HttpOut) -> Value {
    serde_json::from_slice(&request.body).unwrap_or(Value::Null)
}

impl Model {
    /// Answers a question of a conversation.
    pub fn chat(&mut self, request: &HttpOut, random: &mut Random) -> Spoken {
        let question = question(request);
        let reply = if calls_on(&question) && !self.is_honest {
            Reply::CallsOn
        } else {
            random.weighed(if self.is_honest { &HONEST[..] } else { &REPLIES[..] })
        };
        let is_silent = matches!(reply, Reply::Hangs | Reply::Resets | Reply::NoRoom);
        let is_true = matches!(reply, Reply::Words | Reply::Pieces | Reply::Calls);
        self.silences += u64::from(is_silent);
        self.lies += u64::from(!is_silent && !is_true);
        self.questions += 1;
        let words = matches!(reply, Reply::Words | Reply::Pieces).then(|| format!("Answer {}.", self.questions));
        let slowest_ms = if random.chance(900) { 3_000 } else { 40_000 };
        let quick_ms = random.within(100..=slowest_ms);
        let (answer, ms) = match reply {
            Reply::Hangs => (Answer::Failed(SendError::TimedOut), request.timeout_ms),
            Reply::Resets => (Answer::Failed(SendError::Unreachable), quick_ms),
            Reply::NoRoom => (Answer::Failed(random.one(&[SendError::Busy, SendError::ShareUsed])), 0),
            reply => (Answer::Http(body_of(reply, words.as_deref(), request, random)), quick_ms),
        };
        let after_micros = ms.min(request.timeout_ms) * SECOND / 1_000;
        Spoken { reaction: Reaction { answer, after_micros }, words }
    }
}

/// Returns whether the last calls are those of a model that calls on and on.
fn calls_on(question: &Value) -> bool {
    let last = question["messages"].as_array().and_then(|messages| messages.last());
    last.and_then(|last| last["tool_call_id"].as_str()).is_some_and(|id| id.starts_with(ON))
}

fn body_of(reply: Reply, words: Option<&str>, request: &HttpOut, random: &mut Random) -> HttpIn {
    let words = words.unwrap_or_default();
    let is_cut = reply == Reply::TooLong;
    let status = if reply == Reply::Fails { random.one(&[400, 401, 429, 500, 503]) } else { 200 };
    let body = match reply {
        Reply::Words => whole(&json!({ "content": words })),
        Reply::Pieces => pieces(words, true),
        Reply::Calls => whole(&calls("c", 1, "look", "{\"city\":\"Iasi\"}")),
        Reply::CallsNobody => whole(&calls("n", 1, "sell", "{}")),
        Reply::CallsBadly => whole(&calls("b", 1, "look", random.one(&["{\"city\":", "[1]", "7", "{\"city\":{}}"]))),
        Reply::CallsOn => whole(&calls(ON, random.within(1..=9), "look", "{\"city\":\"Iasi\"}")),
        Reply::CallsTooMany => whole(&calls("t", 17, "look", "{}")),
        Reply::BrokenJson => "{\"choices\":[{\"message\":{\"content\":\"Ans".into(),
        Reply::WrongTypes => random
            .one(&["{\"choices\":7}", "{\"choices\":[{\"message\":{\"content\":5}}]}", "{\"choices\":[[]]}", "[]"])
            .into(),
        Reply::Nothing => whole(&json!({ "content": null })),
        Reply::BreaksOff => pieces("Half an answer", false),
        Reply::TooLong => "x".repeat(request.reply_bytes_max),
        Reply::Fails | Reply::Hangs | Reply::Resets | Reply::NoRoom => String::new(),
    };
    HttpIn { status, body: body.into_bytes(), cut: is_cut, ..HttpIn::default() }
}

fn whole(message: &Value) -> String {
    json!({ "choices": [{ "message": message }] }).to_string()
}

fn calls(id: &str, count: u64, name: &str, arguments: &str) -> Value {
    let call = |at| json!({ "id": format!("{id}{at}"), "function": { "name": name, "arguments": arguments } });
    json!({ "content": null, "tool_calls": (0..count).map(call).collect::<Vec<_>>() })
}

fn pieces(words: &str, is_done: bool) -> String {
    let (first, second) = words.split_at(words.len() / 2);
    let piece = |text: &str| format!("data: {}\n\n", json!({ "choices": [{ "delta": { "content": text } }] }));
    format!("{}{}{}", piece(first), piece(second), if is_done { "data: [DONE]\n\n" } else { "" })
}

#[cfg(test)]
mod tests {
    use switchboard_core::llm::ChatAnswer;

    use super::*;

    #[test]
    fn what_it_says_is_understood_and_what_it_lies_is_not() {
        let mut random = Random::new(5);
        let request = HttpOut {
            method: "POST",
            url: String::new(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: 60_000,
            reply_bytes_max: 100,
            egress: switchboard_core::outside::Egress::Operator,
            redirects: switchboard_core::outside::Redirects::None,
        };
        for (_, reply) in REPLIES {
            let answer = Answer::Http(body_of(reply, Some("Answer 1."), &request, &mut random));
            let read = ChatAnswer::read(&answer);
            let speaks = matches!(reply, Reply::Words | Reply::Pieces);
            let calls = matches!(reply, Reply::Calls | Reply::CallsNobody | Reply::CallsBadly | Reply::CallsOn);
            assert_eq!(read.is_ok(), speaks || calls, "{reply:?} {read:?}");
            if speaks {
                assert_eq!(read.map(|answer| answer.text), Ok("Answer 1.".into()), "{reply:?}");
            }
        }
    }
}
