//! Webhook of an incoming call: asked once, before the call is answered (docs/api.md, Events and webhooks).

use alloc::string::String;
use alloc::vec::Vec;

use crate::account::signing;
use crate::call::CallRow;
use crate::http::ctx::Ctx;
use crate::http::refusal::Halt;
use crate::id;
use crate::json::{self, Members, Object, ToJson, Value};
use crate::key::Kind;
use crate::limits::{INCOMING_TIMEOUT_MS, VARIABLES_BYTES_MAX, VARIABLES_MAX};
use crate::outside::{Answer, Work};
use crate::record;
use crate::record::{bytes, int, text};
use crate::store::Scope;
use crate::view::Stop;
use crate::webhook;

/// Sends the webhook `call.incoming` of an arriving call, and returns the receiver's answer.
pub fn ask(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, url: &str) -> Result<Answer, Halt> {
    let mut request = None;
    if ctx.answered() == 0 {
        let body = body(account, call);
        if account.get(crate::key::secrets(account.space()))?.is_none() {
            signing::make(account, ctx.now, &ctx.seed)?;
        }
        let event = webhook::publish(account, "call.incoming", &body, &[(Kind::Call, call.count)], ctx.now)?;
        request = Some(webhook::request(account, url, &event.id, body, ctx.now, INCOMING_TIMEOUT_MS)?);
    }
    ctx.ask(|| Work::Http(request.expect("asked in the first run, which made it")))
}

fn body(account: Scope<'_>, call: &CallRow) -> Vec<u8> {
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.member("event", "call.incoming").member("call_id", id::of(account.space(), call.count));
    object.member("assistant_id", call.shown.assistant_id);
    object.member("customer_phone", &call.shown.client_phone_number);
    object.member("assistant_phone", &call.shown.assistant_phone_number);
    object.close();
    body
}

record! {
    /// Members of the event that tells how a call's webhook was answered.
    pub struct WebhookAnswer {
        /// Event that was sent, always `call.incoming`.
        event: String = text(0, 64).required(),
        /// HTTP status of the answer; null without one.
        status: Option<u32> = int(100, 599),
        /// Why there is no answer, with the URL; null with one.
        error: Option<String> = text(0, 255),
        /// Time that the answer took, milliseconds; null without one.
        duration_ms: Option<u64> = bytes(0, i64::MAX),
    }
}

fn told(answer: &Answer, url: &str) -> WebhookAnswer {
    let event = "call.incoming".into();
    match answer {
        Answer::Http(answer) => WebhookAnswer {
            event,
            status: Some(answer.status.into()),
            error: None,
            duration_ms: Some(answer.duration_ms),
        },
        other => {
            let error = Some(other.send_error().sentence(url, INCOMING_TIMEOUT_MS));
            WebhookAnswer { event, status: None, error, duration_ms: None }
        }
    }
}

/// Stores the answer as the call's `webhook_response` and in an event, and adds the members of a flat JSON object to its variables, unless the
/// call would then exceed the limits of variables.
pub fn apply_webhook_answer(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    call: &mut CallRow,
    url: &str,
    answer: &Answer,
) -> Result<(), Stop> {
    call.note(account, ctx.now.max(call.live.last_at), "webhook", &told(answer, url))?;
    let variables = variables(answer);
    let mut input = call.live.input.clone();
    variables.0.into_iter().for_each(|(name, value)| input.0.set(&name, value));
    if input.0.0.len() <= VARIABLES_MAX && input.to_json().len() <= VARIABLES_BYTES_MAX {
        call.live.input = input;
    }
    call.collect(&Members::default());
    if let Answer::Http(answer) = answer {
        call.shown.webhook_response = Some(webhook::response(answer));
    }
    call.save(account, ctx.now)
}

fn variables(answer: &Answer) -> Members {
    let Answer::Http(answer) = answer else { return Members::default() };
    if !(200..300).contains(&answer.status) || answer.cut {
        return Members::default();
    }
    let Ok(Value::Object(members)) = json::parse(&answer.body) else { return Members::default() };
    let flat = !members.0.iter().any(|(_, value)| matches!(value, Value::List(_) | Value::Object(_)));
    if !flat {
        return Members::default();
    }
    Members(members.0.into_iter().filter(|(_, value)| *value != Value::Null).collect())
}
