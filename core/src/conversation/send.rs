//! `POST /conversations/{uuid}/messages`, and the steps of a turn, which replies share.

use alloc::string::String;
use alloc::vec::Vec;

use super::course::{TurnAnswer, TurnCourse};
use super::ended;
use super::follow::Frames;
use super::open::Visit;
use super::rows::{ConversationMessage, ConversationRow, TurnMark};
use super::tables::{MessageAnswer, NewUserMessage, Role};
use super::talk::Talk;
use super::visit;
use crate::account::prices::{PriceUnit, price};
use crate::account::profile::{Profile, dollars};
use crate::assistant::{self, visited};
use crate::engine::codes;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::limits::TURN_LAPSE_SECONDS;
use crate::record::{Iso, Rest};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;

const BUSY: &str = "The last message is still being answered.";
const FULL: &str = "This conversation is full.";
const OTHER: &str = "The conversation went on without this turn. Send the message again.";
const CHANGED: &str = "The assistant was changed while it answered. Send the message again.";
const LARGE: &str = "The filled texts of the assistant are larger than 1 MiB.";
/// What strangers are told instead of what concerns the owner: its balance, its model.
const NOT_NOW: &str = "The assistant cannot answer right now. Try again later.";
/// What an account without balance is told.
pub const NO_BALANCE: &str = "Insufficient balance. Please top up your account.";

/// `POST /conversations/{uuid}/messages`
pub fn send(ctx: &Ctx<'_>) -> Handled {
    let Visit { account, conversation, talk, is_stranger } = Visit::of(ctx)?;
    let body: NewUserMessage = ctx.body()?;
    let talk = talk.ok_or(Refusal::NotFound(assistant::MISSING))?;
    let payment = |says: &str| Refusal::Declined(says.into());
    let mut turn = ConversationTurn { ctx, account, talk: &talk, is_stranger, payment };
    Ok(match turn.take(conversation, body.message)? {
        TurnOutcome::Answered(said, frames) => frames.reply(&MessageAnswer {
            status: true,
            message: Some(said.content.clone()),
            function_calls: said.shown(!is_stranger).function_calls,
        }),
        TurnOutcome::Silent => {
            Frames::of(ctx).reply(&MessageAnswer { status: true, message: None, function_calls: Vec::new() })
        }
        TurnOutcome::Refused(reply) => reply,
    })
}

/// What became of a turn.
pub enum TurnOutcome {
    /// The assistant said this.
    Answered(ConversationMessage, Frames),
    /// A person took over: the message is kept.
    Silent,
    /// There is no answer; the message is kept.
    Refused(Reply),
}

/// The steps of a turn around its course.
pub struct ConversationTurn<'c, 'a> {
    /// The exchange.
    pub ctx: &'c Ctx<'a>,
    /// The account of the assistant.
    pub account: Scope<'a>,
    /// The assistant.
    pub talk: &'c Talk,
    /// Whether the caller has no token.
    pub is_stranger: bool,
    /// The refusal where the balance does not cover a turn.
    pub payment: fn(&str) -> Refusal,
}

impl ConversationTurn<'_, '_> {
    /// Takes the turn as far as the answers so far allow.
    pub fn take(&mut self, mut conversation: ConversationRow, message: String) -> Result<TurnOutcome, Halt> {
        let ctx = self.ctx;
        let exchange = ctx.uuid("turn");
        if ctx.answered() == 0 {
            self.begin(&mut conversation, message, exchange.clone())?;
        }
        let mark = conversation.live.turn.clone().filter(|mark| mark.exchange == exchange);
        if !conversation.shown.ai_enabled {
            // Also where the person took over while the model thought.
            if let Some(mark) = mark {
                self.settle(&mut conversation, &mark)?;
            }
            return Ok(TurnOutcome::Silent);
        }
        let Some(mark) = mark else { return Err(Refusal::Conflict(OTHER.into()).into()) };
        if mark.digest != self.talk.digest()? {
            return self.fail(&mut conversation, &mark, Refusal::Conflict(CHANGED.into()));
        }
        let values = self.talk.values(&conversation.shown.variables.0, conversation.phone(), mark.at);
        let Some(texts) = self.talk.texts(self.account, &values)? else {
            return self.fail(&mut conversation, &mark, Refusal::Unprocessable(LARGE.into()));
        };
        let course = TurnCourse {
            ctx,
            account: self.account,
            talk: self.talk,
            values: &values,
            system: &texts.system,
            began: mark.at,
        };
        let mut frames = Frames::of(ctx);
        let history = conversation.messages(self.account)?;
        match course.run(&history, &mut frames)? {
            Ok(said) => Ok(TurnOutcome::Answered(self.end(&mut conversation, &mark, said)?, frames)),
            Err(fault) => self.fail(&mut conversation, &mark, fault.refusal()),
        }
    }

    /// Keeps the message, and marks the conversation as busy where the assistant answers.
    fn begin(&self, conversation: &mut ConversationRow, message: String, exchange: String) -> Result<(), Halt> {
        let (account, now) = (self.account, self.ctx.now);
        let is_answered = conversation.shown.ai_enabled;
        if is_answered && conversation.live.turn.as_ref().is_some_and(|turn| turn.holds(now)) {
            return Err(Refusal::Conflict(BUSY.into()).into());
        }
        visit::message(conversation, now)?;
        let last = conversation.messages(account)?.pop();
        // What was said and not answered, since its turn failed, is answered now instead of kept twice.
        let is_again = is_answered && last.is_some_and(|last| last.role == Role::User && last.content == message);
        if !is_again && conversation.is_full() {
            return Err(Refusal::Unprocessable(FULL.into()).into());
        }
        if is_answered && Profile::of(account)?.state.is_used_up() {
            return Err((self.payment)(if self.is_stranger { NOT_NOW } else { NO_BALANCE }).into());
        }
        let price_micros = if is_answered { self.price()? } else { 0 };
        if self.is_stranger {
            visited::turn(account, self.talk.count, &self.talk.assistant.widget_settings, price_micros, now)?;
        }
        if !is_again {
            let said = TurnAnswer { content: message, asides: Vec::new(), calls: Vec::new() };
            conversation.say(account, &said.message(Role::User, now))?;
        }
        // Where a person took over, a turn that lapsed must not answer this message after all.
        conversation.live.turn = None;
        if is_answered {
            let digest = self.talk.digest()?;
            conversation.live.turn = Some(TurnMark { exchange, at: now, digest, price_micros, rest: Rest::default() });
        }
        ended::watch(account, conversation, &self.talk.assistant, now)?;
        Ok(conversation.save(account, now)?)
    }

    /// Returns the price of an answer, millionths of a dollar: that of the assistant's model if it has one.
    fn price(&self) -> Result<i64, Halt> {
        let model = codes(&self.talk.assistant, self.ctx.setup.catalogue()).llm;
        Ok(price(root::of(self.account), PriceUnit::ChatMessage, model)?)
    }

    /// Keeps the answer and charges the turn.
    fn end(
        &self,
        conversation: &mut ConversationRow,
        mark: &TurnMark,
        said: TurnAnswer,
    ) -> Result<ConversationMessage, Halt> {
        let (account, now, cost) = (self.account, self.ctx.now, mark.price_micros);
        let message = said.message(Role::Assistant, now);
        conversation.say(account, &message)?;
        conversation.live.turn = None;
        conversation.live.cost_micros = conversation.live.cost_micros.saturating_add(cost);
        conversation.shown.total_cost = dollars(conversation.live.cost_micros);
        conversation.save(account, now)?;
        if cost > 0 {
            let mut profile = Profile::of(account)?;
            profile.recharge(0, cost);
            profile.save(account)?;
        }
        Ok(message)
    }

    /// Ends the turn without an answer, uncharged.
    fn fail(&self, conversation: &mut ConversationRow, mark: &TurnMark, refusal: Refusal) -> Result<TurnOutcome, Halt> {
        self.settle(conversation, mark)?;
        let told = match refusal {
            Refusal::BadGateway(_) if self.is_stranger => Refusal::BadGateway(NOT_NOW.into()),
            Refusal::GatewayTimeout(_) if self.is_stranger => Refusal::GatewayTimeout(NOT_NOW.into()),
            other => other,
        };
        Ok(TurnOutcome::Refused(self.ctx.refused(told)))
    }

    /// Clears the mark of a turn without an answer.
    fn settle(&self, conversation: &mut ConversationRow, mark: &TurnMark) -> Result<(), Halt> {
        conversation.live.turn = None;
        if self.is_stranger && mark.price_micros > 0 {
            visited::spend(self.account, self.talk.count, -mark.price_micros, mark.at)?;
        }
        Ok(conversation.save(self.account, self.ctx.now)?)
    }
}

impl TurnAnswer {
    /// Returns it as a message.
    fn message(self, role: Role, now: Timestamp) -> ConversationMessage {
        let Self { content, asides, calls } = self;
        ConversationMessage { role, content, at: Iso(now), asides, calls, rest: Rest::default() }
    }
}

const _: () = assert!(TURN_LAPSE_SECONDS > crate::limits::TURN_SECONDS, "a turn is over before its mark lapses");
