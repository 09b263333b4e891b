//! A turn of a conversation: what a model is asked, and what of its answer counts. The answer is one JSON object or a
//! stream of pieces, whatever was asked for: endpoints differ.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Llm;
use super::events::Events;
use crate::json::{self, Array, Object, ToJson, Value};
use crate::limits::{
    CALL_ID_CHARS_MAX, CHAT_BYTES_MAX, CHAT_CALLS_MAX, CHAT_STREAM_BYTES_MAX, FUNCTION_ARGUMENTS_BYTES_MAX,
    FUNCTION_NAME_CHARS_MAX,
};
use crate::outside::{Answer, HttpIn, SendError, Work};
use crate::record::Hundredths;

/// A message of a conversation as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatMessage {
    /// What the person said.
    User(String),
    /// What the assistant said.
    Assistant {
        /// Its words; may be empty where it called functions.
        text: String,
        /// Functions that it called.
        calls: Vec<FunctionCall>,
    },
    /// The result of a function call.
    Function {
        /// Id of the call.
        call_id: String,
        /// What came of it.
        result: String,
    },
}

/// A function call that a model asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall {
    /// Id that the model gave it.
    pub id: String,
    /// Name of the function.
    pub name: String,
    /// Arguments as the model wrote them, JSON text.
    pub arguments: String,
}

/// What a model is asked in a turn.
#[derive(Clone, Copy, Debug)]
pub struct ChatQuestion<'a> {
    /// The prompt.
    pub system: &'a str,
    /// The conversation so far, oldest first.
    pub messages: &'a [ChatMessage],
    /// List of the functions that the model may call: `{name, description, parameters}` each.
    pub functions: &'a Value,
    /// Sampling temperature.
    pub temperature: Hundredths,
    /// Time that the whole answer has, milliseconds.
    pub timeout_ms: u64,
    /// Whether the answer is asked for in pieces.
    pub is_streamed: bool,
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatAnswer {
    /// Its words; empty only where it calls functions.
    pub text: String,
    /// Functions that it calls.
    pub calls: Vec<FunctionCall>,
    /// Whether the endpoint sent it in pieces.
    pub is_streamed: bool,
}

/// Why a model's answer cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatFault {
    /// There was no answer.
    Unreachable,
    /// It was not complete in time.
    Late,
    /// The host had no room for the question.
    NotAsked,
    /// The endpoint answered with this status.
    Refused(u16),
    /// The answer is longer than one may be.
    TooLong,
    /// The answer has another form, or broke off.
    Malformed,
}

impl ChatFault {
    /// Says it to the caller: nothing of the endpoint's address or answer.
    pub fn sentence(self) -> String {
        match self {
            Self::Unreachable => "The model could not be reached, or its answer broke off.".into(),
            Self::Late => "The model did not answer in time.".into(),
            Self::NotAsked => "The model was not asked: too much is asked at once.".into(),
            Self::Refused(status) => format!("The model answered with status {status}."),
            Self::TooLong => format!("The model's answer is longer than {} KiB.", CHAT_BYTES_MAX >> 10),
            Self::Malformed => "The model's answer could not be understood.".into(),
        }
    }
}

impl ToJson for ChatMessage {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        match self {
            Self::User(text) => {
                object.member("role", "user").member("content", text);
            }
            Self::Assistant { text, calls } => {
                object.member("role", "assistant").member("content", Some(text).filter(|text| !text.is_empty()));
                if !calls.is_empty() {
                    object.member("tool_calls", &calls[..]);
                }
            }
            Self::Function { call_id, result } => {
                object.member("role", "tool").member("tool_call_id", call_id).member("content", result);
            }
        }
        object.close();
    }
}

impl ToJson for FunctionCall {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.member("id", &self.id).member("type", "function");
        let mut function = Object::open(object.name("function"));
        function.member("name", &self.name).member("arguments", &self.arguments);
        function.close();
        object.close();
    }
}

impl Llm {
    /// Builds the request of a turn.
    pub fn chat(&self, question: &ChatQuestion<'_>) -> Work {
        let mut body = Vec::new();
        let mut object = Object::open(&mut body);
        object.member("model", &self.model).member("temperature", question.temperature);
        let mut messages = Array::open(object.name("messages"));
        let mut system = Object::open(messages.slot());
        system.member("role", "system").member("content", question.system);
        system.close();
        question.messages.iter().for_each(|message| messages.entry(message));
        messages.close();
        let functions = question.functions.as_list().unwrap_or_default();
        if !functions.is_empty() {
            let mut tools = Array::open(object.name("tools"));
            for function in functions {
                let mut tool = Object::open(tools.slot());
                tool.member("type", "function").member("function", function);
                tool.close();
            }
            tools.close();
        }
        let (accept, bytes_max) = if question.is_streamed {
            object.member("stream", true);
            (&[("accept", "text/event-stream")][..], CHAT_STREAM_BYTES_MAX)
        } else {
            (&[][..], CHAT_BYTES_MAX)
        };
        object.close();
        self.post(body, accept, question.timeout_ms, bytes_max)
    }
}

impl ChatAnswer {
    /// Reads an answer. What it says of functions is checked for its form and bounds alone.
    pub fn read(answer: &Answer) -> Result<Self, ChatFault> {
        let answer = match answer {
            Answer::Http(answer) => answer,
            other => {
                return Err(match other.send_error() {
                    SendError::TimedOut => ChatFault::Late,
                    SendError::ShareUsed | SendError::Busy => ChatFault::NotAsked,
                    SendError::Refused | SendError::Unreachable => ChatFault::Unreachable,
                });
            }
        };
        match answer {
            HttpIn { status, .. } if *status != 200 => Err(ChatFault::Refused(*status)),
            HttpIn { cut: true, .. } => Err(ChatFault::TooLong),
            HttpIn { body, .. } if body.trim_ascii_start().starts_with(b"{") => Self::of_object(body),
            HttpIn { body, .. } => Self::of_stream(body),
        }
    }

    fn of_object(body: &[u8]) -> Result<Self, ChatFault> {
        let reply = json::parse(body).map_err(|_| ChatFault::Malformed)?;
        let choice = list(&reply, "choices")?.first().ok_or(ChatFault::Malformed)?;
        let message = given(choice, "message")?.ok_or(ChatFault::Malformed)?;
        let mut heard = Heard { text: text_of(message)?, ..Heard::default() };
        for (at, call) in calls_of(message)?.iter().enumerate() {
            heard.take(at, &CallPiece::read(call)?)?;
        }
        heard.answer(false)
    }

    fn of_stream(body: &[u8]) -> Result<Self, ChatFault> {
        let (mut events, mut heard, mut fault, mut is_done) = (Events::default(), Heard::default(), None, false);
        events.push(body, |data| {
            if fault.is_some() || is_done {
                return;
            }
            match Piece::read(data) {
                Ok(Piece::Delta { text, calls, is_last }) => {
                    heard.text.push_str(&text);
                    let taken = calls.iter().try_for_each(|call| heard.take_piece(&CallPiece::read(call)?));
                    fault = taken.err().or(heard.is_too_long().then_some(ChatFault::TooLong));
                    heard.is_ended |= is_last;
                }
                Ok(Piece::Nothing) => {}
                Ok(Piece::Done) => is_done = true,
                Err(why) => fault = Some(why),
            }
        });
        match fault {
            Some(fault) => Err(fault),
            None if events.is_broken() => Err(ChatFault::TooLong),
            // Neither its last piece nor its end came: it broke off.
            None if !is_done && !heard.is_ended => Err(ChatFault::Malformed),
            None => heard.answer(true),
        }
    }
}

/// One event of a streamed answer.
pub enum Piece {
    /// More of it.
    Delta {
        /// More text.
        text: String,
        /// Pieces of function calls.
        calls: Vec<Value>,
        /// Whether it says that nothing follows.
        is_last: bool,
    },
    /// Nothing of use, such as figures.
    Nothing,
    /// The end.
    Done,
}

impl Piece {
    /// Reads the data of an event.
    pub fn read(data: &str) -> Result<Self, ChatFault> {
        if data.trim() == "[DONE]" {
            return Ok(Self::Done);
        }
        let value = json::parse(data.as_bytes()).map_err(|_| ChatFault::Malformed)?;
        if given(&value, "error")?.is_some() {
            return Err(ChatFault::Malformed);
        }
        let Some(choice) = list(&value, "choices")?.first() else { return Ok(Self::Nothing) };
        let is_last = text(choice, "finish_reason")?.is_some();
        let Some(delta) = given(choice, "delta")? else {
            return Ok(Self::Delta { text: String::new(), calls: Vec::new(), is_last });
        };
        Ok(Self::Delta { text: text_of(delta)?, calls: calls_of(delta)?.to_vec(), is_last })
    }
}

/// Returns the text of a message or delta: a text, a list of parts, or none.
fn text_of(message: &Value) -> Result<String, ChatFault> {
    match given(message, "content")? {
        None => Ok(String::new()),
        Some(Value::Text(text)) => Ok(text.clone()),
        Some(Value::List(parts)) => parts.iter().map(text_of_part).collect(),
        Some(_) => Err(ChatFault::Malformed),
    }
}

fn text_of_part(part: &Value) -> Result<&str, ChatFault> {
    match text(part, "type")? {
        None | Some("text") => text(part, "text")?.ok_or(ChatFault::Malformed),
        Some(_) => Err(ChatFault::Malformed),
    }
}

fn calls_of(message: &Value) -> Result<&[Value], ChatFault> {
    list(message, "tool_calls").and_then(|calls| most(calls, calls.len(), CHAT_CALLS_MAX))
}

/// Returns a member of an object; `None` if it is left out or null.
fn given<'v>(value: &'v Value, name: &str) -> Result<Option<&'v Value>, ChatFault> {
    let members = value.as_object().ok_or(ChatFault::Malformed)?;
    Ok(members.get(name).filter(|value| **value != Value::Null))
}

fn text<'v>(value: &'v Value, name: &str) -> Result<Option<&'v str>, ChatFault> {
    given(value, name)?.map(|value| value.as_text().ok_or(ChatFault::Malformed)).transpose()
}

/// Returns a list; an empty one if it is left out or null.
fn list<'v>(value: &'v Value, name: &str) -> Result<&'v [Value], ChatFault> {
    given(value, name)?.map_or(Ok(&[]), |value| value.as_list().ok_or(ChatFault::Malformed))
}

fn most<T>(value: T, count: usize, max: usize) -> Result<T, ChatFault> {
    if count <= max { Ok(value) } else { Err(ChatFault::Malformed) }
}

/// A function call, or a piece of one. What it does not say is empty.
struct CallPiece<'v> {
    index: Option<usize>,
    id: &'v str,
    name: &'v str,
    arguments: Option<&'v Value>,
}

impl<'v> CallPiece<'v> {
    fn read(piece: &'v Value) -> Result<Self, ChatFault> {
        let index = given(piece, "index")?.map(|index| index.as_u64().ok_or(ChatFault::Malformed)).transpose()?;
        let index = index.map(|index| usize::try_from(index).map_err(|_| ChatFault::Malformed)).transpose()?;
        let id = text(piece, "id")?.unwrap_or_default();
        let (name, arguments) = match given(piece, "function")? {
            Some(function) => (text(function, "name")?.unwrap_or_default(), given(function, "arguments")?),
            None => ("", None),
        };
        most(id, id.chars().count(), CALL_ID_CHARS_MAX)?;
        most(name, name.chars().count(), FUNCTION_NAME_CHARS_MAX)?;
        Ok(Self { index, id, name, arguments })
    }

    /// Returns whether this begins a call of its own rather than go on with `call`, where neither index nor id tells.
    /// Some endpoints repeat the name with each piece, so that of the same function the arguments must be complete.
    fn is_after(&self, call: &FunctionCall) -> bool {
        let is_begun = match self.arguments {
            Some(Value::Text(more)) => call.arguments.ends_with('}') && more.starts_with('{'),
            Some(_) => !call.arguments.is_empty(),
            None => false,
        };
        !self.name.is_empty() && !call.name.is_empty() && (self.name != call.name || is_begun)
    }
}

/// An answer as far as it was heard.
#[derive(Default)]
struct Heard {
    text: String,
    calls: Vec<FunctionCall>,
    is_ended: bool,
}

impl Heard {
    /// Adds a piece of a call to the one with its index; without an index, to the one with its id; without either, to
    /// the last one unless it begins another.
    fn take_piece(&mut self, piece: &CallPiece<'_>) -> Result<(), ChatFault> {
        let next = self.calls.len();
        let at = match (piece.index, self.calls.last()) {
            (Some(index), _) => index,
            (None, Some(_)) if !piece.id.is_empty() => {
                self.calls.iter().position(|call| call.id == piece.id).unwrap_or(next)
            }
            (None, Some(last)) if !piece.is_after(last) => next - 1,
            (None, _) => next,
        };
        self.take(at, piece)
    }

    fn take(&mut self, at: usize, piece: &CallPiece<'_>) -> Result<(), ChatFault> {
        if at >= CHAT_CALLS_MAX || at > self.calls.len() {
            return Err(ChatFault::Malformed);
        }
        if at == self.calls.len() {
            let (id, name, arguments) = Default::default();
            self.calls.push(FunctionCall { id, name, arguments });
        }
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id = piece.id.into();
        }
        if call.name.is_empty() {
            call.name = piece.name.into();
        }
        match piece.arguments {
            None => {}
            Some(Value::Text(more)) => call.arguments.push_str(more),
            Some(given @ Value::Object(_)) => {
                call.arguments = String::from_utf8(given.to_json()).map_err(|_| ChatFault::Malformed)?;
            }
            Some(_) => return Err(ChatFault::Malformed),
        }
        if call.arguments.len() > FUNCTION_ARGUMENTS_BYTES_MAX { Err(ChatFault::TooLong) } else { Ok(()) }
    }

    fn is_too_long(&self) -> bool {
        let arguments: usize = self.calls.iter().map(|call| call.arguments.len()).sum();
        self.text.len() + arguments > CHAT_BYTES_MAX
    }

    fn answer(mut self, is_streamed: bool) -> Result<ChatAnswer, ChatFault> {
        self.text = cleaned(&self.text);
        if self.is_too_long() {
            return Err(ChatFault::TooLong);
        }
        let Self { text, mut calls, .. } = self;
        if calls.iter().any(|call| call.name.is_empty()) || text.is_empty() && calls.is_empty() {
            return Err(ChatFault::Malformed);
        }
        for (at, call) in calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            call.id = format!("call_{at}");
        }
        Ok(ChatAnswer { text, calls, is_streamed })
    }
}

/// Drops control characters but line feeds and tabs.
pub fn cleaned(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests;
