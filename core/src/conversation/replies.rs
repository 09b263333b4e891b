//! `POST /user/ai/generate-reply`: answers for programs that talk to their customers themselves.

use super::open::{begin, customer_of, of_owner};
use super::rows::{ConversationRow, customer_key};
use super::send::{ConversationTurn, TurnOutcome};
use super::tables::{ConversationType, Generated, NewReply};
use crate::assistant;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::rate::Caller;
use crate::record::{Errors, variables};
use crate::store::Scope;
use crate::view::Stop;
use alloc::vec::Vec;

/// `POST /user/ai/generate-reply`
pub fn generate(ctx: &Ctx<'_>) -> Handled {
    let caller = ctx.caller();
    let bucket = caller.credential().bucket();
    let rate = if let Caller::Token { account, token } = bucket {
        ctx.view_admit(Caller::Reply { account, token })?
    } else {
        None
    };
    if let Some(rate) = rate.filter(|rate| !rate.admitted) {
        return Err(Refusal::TooMany(rate.retry_after).into());
    }
    let body: NewReply = ctx.body()?;
    let account = ctx.account();
    let talk = of_owner(account, &body.assistant_id, ConversationType::Api)?;
    let talk = talk.ok_or(Refusal::NotFound(assistant::MISSING))?;
    let known = found(account, talk.count, &body.customer_identifier)?;
    let was_silent = known.as_ref().is_some_and(|known| !known.shown.ai_enabled);
    let known = known.filter(|known| ctx.answered() > 0 || !known.is_full());
    let conversation = if let Some(mut known) = known {
        if ctx.answered() == 0 {
            merge(&mut known, &body)?;
        }
        known
    } else {
        // A customer whose conversation is full goes on in a new one.
        let (given, customer) = (body.variables, Some(body.customer_identifier.clone()));
        let mut begun = begin(ctx, account, &talk, ConversationType::Api, given, customer)?;
        begun.shown.ai_enabled = !was_silent;
        begun
    };
    let id = conversation.shown.id.clone();
    let payment = |says: &str| Refusal::Payment(says.into());
    let mut turn = ConversationTurn { ctx, account, talk: &talk, is_stranger: false, payment };
    let generated = |reply, function_calls, ai_disabled| Generated {
        success: true,
        conversation_id: id.clone(),
        customer_identifier: body.customer_identifier.clone(),
        reply,
        function_calls,
        ai_disabled,
    };
    Ok(match turn.take(conversation, body.message)? {
        TurnOutcome::Answered(said, _) => {
            Reply::ok(&generated(Some(said.content.clone()), said.shown(true).function_calls, false))
        }
        TurnOutcome::Silent => Reply::ok(&generated(None, Vec::new(), true)),
        TurnOutcome::Refused(reply) => reply,
    })
}

/// Returns the conversation with a customer.
fn found(account: Scope<'_>, assistant: u32, identifier: &str) -> Result<Option<ConversationRow>, Stop> {
    let Some(bytes) = account.get(customer_key(account.space(), assistant, identifier))? else { return Ok(None) };
    let count = bytes.try_into().map_err(|_| Stop::Corrupt("a customer's conversation has an unknown form"))?;
    ConversationRow::find(account, u32::from_be_bytes(count))
}

/// Lays the variables of a request over those of the conversation; 422 if they are too many together.
fn merge(known: &mut ConversationRow, body: &NewReply) -> Result<(), Halt> {
    body.variables.clone().merge_into(&mut known.live.input);
    body.variables.clone().merge_into(&mut known.shown.variables);
    known.shown.customer = customer_of(&known.shown.variables.0, known.shown.external_identifier.as_deref());
    let over = variables::over_bounds(&known.shown.variables.0);
    match over {
        None => Ok(()),
        Some(says) => {
            let mut errors = Errors::default();
            errors.say("variables", &says);
            Err(Refusal::Invalid(errors).into())
        }
    }
}
