//! Commands to the engine of a call: pending until the engine says how they ended, for [`COMMAND_SECONDS`] at most. Each
//! comes with every answer to its engine, and wakes a parked claim of that engine once.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::lease;
use super::operations::MISSING;
use super::rows::CallRow;
use super::tables::CallStatus;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::key::Kind;
use crate::limits::{COMMAND_SECONDS, COMMANDS_MAX};
use crate::record::{Rest, choice, count, format, id as id_column, micros, require, text};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;
use crate::{choice, record};

/// Id of the command to hang up.
pub const HANG_UP: &str = "hangup";
const OVER: &str = "The call is over.";
const UNCLAIMED: &str = "No engine has the call yet.";
const UNANSWERED: &str = "The call is not answered yet.";
const DEAF: &str = "The call's engine speaks edition 1 of the interface, in which it can only be told to hang up.";
const MANY: &str = "The call has as many pending commands as a call may have.";

choice! {
    /// Kind of a command.
    pub enum CommandType {
        /// Say `text`.
        Say = "say",
        /// Go on with `text` in mind; nothing is said.
        Context = "context",
        /// Transfer the call to `to`.
        Transfer = "transfer",
        /// Send the keys `digits`.
        Dtmf = "dtmf",
        /// Have the customer wait.
        Hold = "hold",
        /// Go on.
        Resume = "resume",
        /// End the call.
        End = "end",
    }
}

choice! {
    /// When a call is to end.
    pub enum EndAfter {
        /// Once the sentence that is being spoken is over.
        Sentence = "sentence",
    }
}

record! {
    /// Body of `POST /user/calls/{id}/commands`.
    pub struct NewCommand {
        /// What the engine is to do.
        r#type: CommandType = choice::<CommandType>().required(),
        /// `say`, `context`: the text.
        text: Option<String> = text(1, 2_000),
        /// `transfer`: a number or a SIP address.
        to: Option<String> = text(1, 255),
        /// `dtmf`: the keys, in order.
        digits: Option<String> = text(1, 32).form(&format::KEYS),
        /// `end`: when; at once if not given.
        after: Option<EndAfter> = choice::<EndAfter>(),
    } rules {
        require("text", "type", &["say", "context"]),
        require("to", "type", &["transfer"]),
        require("digits", "type", &["dtmf"]),
    }
}

record! {
    /// A command that was sent.
    pub struct SentCommand {
        /// Id of the command, named by the call's event `command` that tells its end.
        id: String = text(0, 64).required(),
        /// What the engine is to do.
        r#type: CommandType = choice::<CommandType>().required(),
        /// Always `sent`.
        status: String = text(0, 16).required(),
    }
}

record! {
    /// A command to an engine.
    pub struct Command {
        /// Id of the call.
        call_id: u64 = id_column().required(),
        /// Id of the command, named by the event `command` that tells its end.
        id: String = text(0, 64).required(),
        /// What to do: `hangup`, or one of those that users send.
        r#type: String = text(0, 16).required(),
        /// `say`, `context`: the text.
        text: Option<String> = text(0, 2_000).sparse(),
        /// `transfer`: a number or a SIP address.
        to: Option<String> = text(0, 255).sparse(),
        /// `dtmf`: the keys, in order.
        digits: Option<String> = text(0, 32).sparse(),
        /// `end`: when; at once if not given.
        after: Option<EndAfter> = choice::<EndAfter>().sparse(),
    }
}

record! {
    /// A pending command, as it is stored with its call.
    pub struct PendingCommand stored as "a call" {
        /// Number of the command within its call, which is its id.
        number: u32 = count().required(),
        /// When it was sent.
        at: Timestamp = micros().required(),
        /// What the engine is to do.
        r#type: CommandType = choice::<CommandType>().required(),
        /// Its text.
        text: Option<String> = text(0, 2_000).sparse(),
        /// Its target.
        to: Option<String> = text(0, 255).sparse(),
        /// Its keys.
        digits: Option<String> = text(0, 32).sparse(),
        /// When to end.
        after: Option<EndAfter> = choice::<EndAfter>().sparse(),
    }
}

/// `POST /user/calls/{id}/commands`
pub fn command(ctx: &Ctx<'_>) -> Handled {
    let (count, _) = ctx.named(Kind::Call, MISSING)?;
    let new: NewCommand = ctx.body()?;
    let account = ctx.account();
    let mut call = CallRow::find(account, count)?.ok_or(Refusal::NotFound(MISSING))?;
    call.live.commands.retain(|command| command.is_pending(ctx.now));
    if let Some(why) = impossible(&call) {
        return Err(Refusal::Conflict(why.into()).into());
    }
    let NewCommand { r#type, text, to, digits, after } = new;
    call.live.commanded += 1;
    let number = call.live.commanded;
    call.live.commands.push(PendingCommand {
        number,
        at: ctx.now,
        r#type,
        text,
        to,
        digits,
        after,
        rest: Rest::default(),
    });
    call.save(account, ctx.now)?;
    announce(account, &call)?;
    let sent = SentCommand { id: number.to_string(), r#type, status: "sent".into() };
    Ok(Reply::accepted(&message_data("The engine is told.", &sent)))
}

/// Returns why a call takes no commands now, if so.
fn impossible(call: &CallRow) -> Option<&'static str> {
    match call.status() {
        status if !status.is_running() => Some(OVER),
        _ if call.live.engine.is_none() => Some(UNCLAIMED),
        _ if call.live.protocol < 2 => Some(DEAF),
        CallStatus::InProgress if call.live.commands.len() < COMMANDS_MAX => None,
        CallStatus::InProgress => Some(MANY),
        _ => Some(UNANSWERED),
    }
}

/// Wakes the claims of the engine that has a call, for they answer its commands too.
pub fn announce(account: Scope<'_>, call: &CallRow) -> Result<(), Stop> {
    match call.live.engine {
        Some(token) => {
            lease::note_commands(account, call.count, true)?;
            if call.live.protocol >= 2 { root::announce(account, token, call.count) } else { Ok(()) }
        }
        None => Ok(()),
    }
}

/// Returns the commands that a call's engine is to carry out.
pub fn pending(account: Scope<'_>, call: &CallRow, now: Timestamp) -> Vec<Command> {
    let call_id = id::of(account.space(), call.count);
    let is_told = call.status().is_running() && call.live.hangup_at.is_some() && call.live.hangup_end.is_none();
    let hang_up = is_told.then(|| hang_up(call_id));
    let others = call.live.commands.iter().filter(|command| command.is_pending(now)).map(|command| Command {
        call_id,
        id: command.number.to_string(),
        r#type: command.r#type.word().into(),
        text: command.text.clone(),
        to: command.to.clone(),
        digits: command.digits.clone(),
        after: command.after,
    });
    hang_up.into_iter().chain(others).collect()
}

/// Returns the command to hang up.
pub fn hang_up(call_id: u64) -> Command {
    Command { call_id, id: HANG_UP.into(), r#type: HANG_UP.into(), text: None, to: None, digits: None, after: None }
}

impl CallRow {
    /// Ends a pending command, at this time; one that is not pending stays as it is.
    pub fn end_command(&mut self, id: &str, at: Timestamp) {
        if id == HANG_UP {
            self.live.hangup_end = Some(at);
        }
        self.live.commands.retain(|command| command.number.to_string() != id);
    }
}

impl PendingCommand {
    fn is_pending(&self, now: Timestamp) -> bool {
        now < self.at.plus_seconds(COMMAND_SECONDS)
    }
}
