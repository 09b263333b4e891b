//! A model's answer in a conversation: an input is its body, whole or in pieces. Where the pieces are cut follows from
//! its bytes.

use switchboard_core::json::{self, Value};
use switchboard_core::limits::{
    CALL_ID_CHARS_MAX, CHAT_BYTES_MAX, CHAT_CALLS_MAX, FUNCTION_ARGUMENTS_BYTES_MAX, FUNCTION_NAME_CHARS_MAX,
};
use switchboard_core::llm::{ChatAnswer, ChatFault, ChatMessage, ChatPieces, ChatQuestion, FunctionCall, Llm};
use switchboard_core::outside::{Answer, HttpIn, Work};
use switchboard_core::record::Hundredths;
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::{corpus, mutate};

/// What a message or delta says, as endpoints write it.
const SAID: &[&str] = &[
    r#""role":"assistant","content":"We open""#,
    r#""content":" at nine.\n""#,
    r#""content":"é\u0000😀\ud83d\ude00""#,
    r#""content":null"#,
    r#""content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
    r#""content":"","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}]"#,
    r#""tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]"#,
    r#""tool_calls":[{"index":1,"id":"b","function":{"name":"send","arguments":"{}"}}]"#,
    r#""tool_calls":[{"function":{"name":"look","arguments":{"x":[1]}}},{"function":{"name":"send"}}]"#,
    r#""tool_calls":[{"id":"a","function":{"name":"look","arguments":"1}"}}]"#,
    "",
];
const ENDS: &[&str] = &["\n\n", "\r\n\r\n", "\r\r", "\r\n\n", "\n\n\n"];
/// Other events and lines.
const OTHERS: &[&str] = &[
    ": a comment",
    "event: x\nid: 1",
    r#"data: {"choices":[],"usage":{"total_tokens":1}}"#,
    r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    "data: {\"choices\":\ndata:[{\"delta\":{\"content\":\"c\"}}]}",
];
/// What ends or spoils a stream.
const FATAL: &[&str] =
    &[r#"data: {"error":{"message":"no"}}"#, "data: [DONE]", "data", "data: {}\ndata: {}", r#"data: {"choices":1}"#];

/// Target `chat`: models' answers.
pub struct Chats {
    corpus: Vec<Vec<u8>>,
}

impl Chats {
    /// Creates the target with its corpus.
    pub fn new() -> Self {
        Self { corpus: corpus::of("chat") }
    }
}

impl Target for Chats {
    fn name(&self) -> &'static str {
        "chat"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let mut body = if random.chance(200) { whole(random) } else { stream(random) }.into_bytes();
            if random.chance(300) {
                mutate::bytes(random, &mut body);
            }
            body
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let answer = HttpIn { status: 200, body: input.to_vec(), ..HttpIn::default() };
        let read = ChatAnswer::read(&Answer::Http(answer));
        let text = ChatPieces::default().push(input);
        let pieces = pieces(&mut Random::new(corpus::digest(input)), input);
        if pieces != text {
            return Err(format!("the pieces are {pieces:?} in parts and {text:?} at once"));
        }
        match read {
            Ok(heard) => {
                let passed = if heard.is_streamed { &*heard.text } else { "" };
                if text != passed {
                    return Err(format!("the pieces are {text:?} of {heard:?}"));
                }
                bounded(&heard)?;
                let said = if heard.is_streamed { "in pieces" } else { "whole" };
                let kind = format!("{said} {} {}", heard.calls.len(), heard.text.is_empty());
                repeated(heard)?;
                Ok(Seen { said: said.into(), kind })
            }
            Err(ChatFault::Malformed) => {
                Ok(Seen { said: "malformed".into(), kind: format!("malformed {}", text.len()) })
            }
            Err(ChatFault::TooLong) => Ok(Seen::word("too long")),
            Err(fault) => Err(format!("{fault:?} of an answer that came")),
        }
    }
}

fn whole(random: &mut Random) -> String {
    format!(r#"{{"choices":[{{"message":{{{}}},"finish_reason":"stop"}}]}}"#, random.one(SAID))
}

fn stream(random: &mut Random) -> String {
    let mut text = String::from(random.weighed(&[(9, ""), (1, "\u{feff}")]));
    for _ in 0..random.below(10) {
        match random.below(100) {
            0..70 => text.extend([r#"data: {"choices":[{"delta":{"#, random.one(SAID), "}}]}"]),
            70..98 => text.push_str(random.one(OTHERS)),
            _ => text.push_str(random.one(FATAL)),
        }
        text.push_str(random.one(ENDS));
    }
    text + random.weighed(&[(9, "data: [DONE]\n\n"), (1, "")])
}

/// Reads the body cut into pieces of at most 16 bytes: often within a character or a line end.
fn pieces(random: &mut Random, mut body: &[u8]) -> String {
    let (mut pieces, mut text) = (ChatPieces::default(), String::new());
    while !body.is_empty() {
        let (piece, rest) = body.split_at(mutate::index(random, body.len().min(16)) + 1);
        text.push_str(&pieces.push(piece));
        body = rest;
    }
    text
}

fn bounded(heard: &ChatAnswer) -> Result<(), String> {
    let is_call = |call: &FunctionCall| {
        (1..=CALL_ID_CHARS_MAX).contains(&call.id.chars().count())
            && (1..=FUNCTION_NAME_CHARS_MAX).contains(&call.name.chars().count())
            && call.arguments.len() <= FUNCTION_ARGUMENTS_BYTES_MAX
    };
    let bytes = heard.text.len() + heard.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
    let is_empty = heard.text.is_empty() && heard.calls.is_empty();
    let is_clean = !heard.text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'));
    let is_bounded = bytes <= CHAT_BYTES_MAX && heard.calls.len() <= CHAT_CALLS_MAX && heard.calls.iter().all(is_call);
    if is_bounded && is_clean && !is_empty { Ok(()) } else { Err(format!("{heard:?} is not what may be said")) }
}

/// Checks that what was heard reads the same when the model is asked again.
fn repeated(heard: ChatAnswer) -> Result<(), String> {
    let model = Llm { url: "https://llm.example/v1".into(), key: None, model: "m".into() };
    let said = ChatMessage::Assistant { text: heard.text.clone(), calls: heard.calls.clone() };
    let question = ChatQuestion {
        system: "",
        messages: &[said],
        functions: &Value::List(Vec::new()),
        temperature: Hundredths(0),
        timeout_ms: 1,
        is_streamed: false,
    };
    let Work::Http(out) = model.chat(&question) else { return Err("no request".into()) };
    let body = json::parse(&out.body).map_err(|error| error.reason)?;
    let message = body.member("messages").and_then(Value::as_list).and_then(<[Value]>::last).cloned();
    let choice = object("message", message.unwrap_or(Value::Null));
    let answer = json::ToJson::to_json(&object("choices", Value::List(vec![choice])));
    let again = ChatAnswer::read(&Answer::Http(HttpIn { status: 200, body: answer, ..HttpIn::default() }));
    let same = ChatAnswer { is_streamed: false, ..heard };
    if again.as_ref() == Ok(&same) { Ok(()) } else { Err(format!("{same:?} reads as {again:?} when it is repeated")) }
}

fn object(name: &str, value: Value) -> Value {
    Value::Object(json::Members(vec![(name.into(), value)]))
}
