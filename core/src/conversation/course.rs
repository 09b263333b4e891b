//! The course of a turn: the model is asked, what it calls is carried out, and it is asked again, until it answers or a bound
//! ends it. It runs from its start with all answers so far and stores nothing.

use alloc::string::String;
use alloc::vec::Vec;

use super::carry;
use super::follow::Frames;
use super::rows::{ConversationMessage, MadeCall};
use super::tables::Role;
use super::talk::{SEARCH, Talk};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::json::Value;
use crate::limits::{BUSY_SECONDS, CONTEXT_BYTES_MAX, TURN_BYTES_MAX, TURN_CALLS_MAX, TURN_ROUNDS_MAX, TURN_SECONDS};
use crate::llm::{ChatAnswer, ChatFault, ChatMessage, ChatQuestion, FunctionCall, Llm, Simulated, simulated};
use crate::record::Rest;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::tool::Values;

/// What a turn works with.
pub struct TurnCourse<'c, 'a> {
    /// The exchange.
    pub ctx: &'c Ctx<'a>,
    /// The account of the assistant.
    pub account: Scope<'a>,
    /// The assistant.
    pub talk: &'c Talk,
    /// Values of placeholders.
    pub values: &'c Values,
    /// The prompt, filled in.
    pub system: &'c str,
    /// When the turn began.
    pub began: Timestamp,
}

/// What the assistant said in a turn.
pub struct TurnAnswer {
    /// Its answer.
    pub content: String,
    /// What it said beside its function calls.
    pub asides: Vec<String>,
    /// Its function calls.
    pub calls: Vec<MadeCall>,
}

/// Why a turn has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnFault {
    /// The model's answer cannot be used.
    Model(ChatFault),
    /// The model called functions again and again.
    Endless,
    /// It said too much, or functions answered too much.
    TooLong,
    /// The time of the turn is over.
    Late,
}

impl TurnFault {
    /// Returns the refusal that tells it.
    pub fn refusal(self) -> Refusal {
        match self {
            Self::Model(ChatFault::NotAsked) => Refusal::Busy(BUSY_SECONDS),
            Self::Model(ChatFault::Late) | Self::Late => {
                Refusal::GatewayTimeout(alloc::format!("The model did not answer within {TURN_SECONDS} s."))
            }
            Self::Model(fault) => Refusal::BadGateway(fault.sentence()),
            Self::Endless => Refusal::BadGateway(alloc::format!(
                "The model called functions {TURN_ROUNDS_MAX} times and did not answer."
            )),
            Self::TooLong => Refusal::BadGateway(alloc::format!(
                "The model said more than {} KiB in one turn.",
                TURN_BYTES_MAX >> 10
            )),
        }
    }
}

/// Result of asking: the answer, or why there is none; halts where the answer is not there yet.
type Asked<T> = Result<Result<T, TurnFault>, Halt>;

impl TurnCourse<'_, '_> {
    /// Runs the turn as far as the answers so far allow. `history` ends with the message to answer.
    pub fn run(&self, history: &[ConversationMessage], frames: &mut Frames) -> Asked<TurnAnswer> {
        let functions = self.talk.functions(self.account)?;
        let mut messages = context(history);
        let mut said = TurnAnswer { content: String::new(), asides: Vec::new(), calls: Vec::new() };
        let mut bytes = 0;
        for round in 0..TURN_ROUNDS_MAX {
            let answer = match self.ask(history, &messages, &functions, &said, frames)? {
                Ok(answer) => answer,
                Err(fault) => return Ok(Err(fault)),
            };
            bytes += answer.text.len() + answer.calls.iter().map(|call| call.arguments.len()).sum::<usize>();
            frames.delta(&answer.text, answer.is_streamed);
            if answer.calls.is_empty() {
                said.content = answer.text;
                return Ok(if bytes > TURN_BYTES_MAX { Err(TurnFault::TooLong) } else { Ok(said) });
            }
            if said.calls.len() + answer.calls.len() > TURN_CALLS_MAX {
                return Ok(Err(TurnFault::Endless));
            }
            messages.push(ChatMessage::Assistant { text: answer.text.clone(), calls: answer.calls.clone() });
            said.asides.push(answer.text);
            for call in answer.calls {
                let result = match self.carry_out(&call, frames)? {
                    Ok(result) => result,
                    Err(fault) => return Ok(Err(fault)),
                };
                bytes += result.len();
                messages.push(ChatMessage::Function { call_id: call.id.clone(), result: result.clone() });
                said.calls.push(made(round, call, result));
            }
            if bytes > TURN_BYTES_MAX {
                return Ok(Err(TurnFault::TooLong));
            }
        }
        Ok(Err(TurnFault::Endless))
    }

    /// Asks the assistant's model, and if that gives nothing of use its fallback; the simulated one if there is none.
    fn ask(
        &self,
        history: &[ConversationMessage],
        messages: &[ChatMessage],
        functions: &Value,
        said: &TurnAnswer,
        frames: &Frames,
    ) -> Asked<ChatAnswer> {
        let [first, second] = self.models();
        let Some(first) = first else { return self.simulate(history, functions, said).map(Ok) };
        let question = |timeout_ms, is_streamed| ChatQuestion {
            system: self.system,
            messages,
            functions,
            temperature: self.talk.assistant.llm_temperature.0,
            timeout_ms,
            is_streamed,
        };
        let mut fault = TurnFault::Late;
        for (model, is_last) in [(Some(first), second.is_none()), (second, true)] {
            let Some(model) = model else { continue };
            let Some(left_ms) = self.left_ms() else { return Ok(Err(TurnFault::Late)) };
            let timeout_ms = left_ms * if is_last { 4 } else { 3 } / 4;
            // Whoever follows the turn hears no beginning of an answer that another model may give instead.
            let is_streamed = frames.is_passed() && is_last;
            let answer = self.ctx.ask(|| model.chat(&question(timeout_ms, is_streamed)))?;
            match ChatAnswer::read(&answer) {
                // An endpoint may stream without being asked to; nobody heard that.
                Ok(answer) => return Ok(Ok(ChatAnswer { is_streamed: answer.is_streamed && is_streamed, ..answer })),
                Err(why) => fault = TurnFault::Model(why),
            }
        }
        Ok(Err(fault))
    }

    fn carry_out(&self, call: &FunctionCall, frames: &mut Frames) -> Asked<String> {
        let Some(left_ms) = self.left_ms() else { return Ok(Err(TurnFault::Late)) };
        frames.tool(self.ctx, &call.name, "running");
        let result = carry::out(self.ctx, self.account, self.talk, self.values, call, left_ms)?;
        frames.tool(self.ctx, &call.name, "done");
        Ok(Ok(result))
    }

    /// Returns the time that is left, milliseconds; `None` if there is none. What is answered already was in time.
    fn left_ms(&self) -> Option<u64> {
        let until = self.began.plus_seconds(TURN_SECONDS);
        let left = until.micros().saturating_sub(self.ctx.now.micros()) / 1_000;
        if self.ctx.has_next_answer() { Some(left.max(1)) } else { Some(left).filter(|left| *left > 0) }
    }

    /// Returns the endpoints to ask, in this order.
    fn models(&self) -> [Option<&Llm>; 2] {
        let setup = self.ctx.setup;
        let [first, second] = self.talk.models(setup.catalogue());
        let first = setup.config.llm_for(first);
        let second = second.and_then(|name| setup.config.llm_for(Some(name))).filter(|other| Some(*other) != first);
        [first, second]
    }

    fn simulate(
        &self,
        history: &[ConversationMessage],
        functions: &Value,
        said: &TurnAnswer,
    ) -> Result<ChatAnswer, Halt> {
        let message = history.last().map_or("", |message| &message.content);
        let passage = match self.talk.knowledgebase(self.account) {
            Some(base) => carry::passages(self.account, base, message.into())?,
            None => None,
        };
        Ok(simulated(&Simulated {
            message,
            functions,
            search: self.talk.searches().then_some(SEARCH),
            passage: passage.as_deref(),
            made: said.calls.last().map(|call| (&*call.name, &*call.result)),
            assistant_name: &self.talk.assistant.name,
        }))
    }
}

fn made(round: usize, call: FunctionCall, result: String) -> MadeCall {
    let FunctionCall { id, name, arguments } = call;
    MadeCall { round: u32::try_from(round).unwrap_or(u32::MAX), id, name, arguments, result, rest: Rest::default() }
}

/// Returns the last messages as the model sees them, with their function calls, as many as fit into its context; always
/// the last one.
fn context(history: &[ConversationMessage]) -> Vec<ChatMessage> {
    let (mut from, mut bytes) = (history.len(), 0);
    while from > 0 {
        bytes += history[from - 1].bytes();
        if bytes > CONTEXT_BYTES_MAX && from < history.len() {
            break;
        }
        from -= 1;
    }
    history[from..].iter().flat_map(of_message).collect()
}

fn of_message(message: &ConversationMessage) -> Vec<ChatMessage> {
    if message.role == Role::User {
        return Vec::from([ChatMessage::User(message.content.clone())]);
    }
    let mut seen = Vec::new();
    for (round, text) in message.asides.iter().enumerate() {
        let made = || message.calls.iter().filter(|call| call.round as usize == round);
        let calls = made().map(|call| FunctionCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        seen.push(ChatMessage::Assistant { text: text.clone(), calls: calls.collect() });
        seen.extend(made().map(|call| ChatMessage::Function { call_id: call.id.clone(), result: call.result.clone() }));
    }
    seen.push(ChatMessage::Assistant { text: message.content.clone(), calls: Vec::new() });
    seen
}
