//! An attempt of a delivery, and what follows from its answer (docs/api.md, Delivery).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::rows::DeliveryRow;
use super::tables::{Attempt, Delivery, DeliveryStatus, WebhookResponse};
use super::{address, feed};
use crate::account::signing;
use crate::job::{TaskContext, TaskOutcome};
use crate::limits::{WEBHOOK_REPLY_BYTES_MAX, WEBHOOK_TIMEOUT_MS};
use crate::outside::{self, Answer, Egress, HttpIn, HttpOut, Redirects};
use crate::record::{Iso, Json, Rest, Secret};
use crate::seed::Seed;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Waits after failed attempts, seconds, about three days in all; a failure after the last one exhausts the delivery.
const WAITS: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// Longest `Retry-After` that is honoured, seconds.
const RETRY_AFTER_MAX: u64 = 86_400;

/// Builds the signed request of a webhook.
pub fn request(
    account: Scope<'_>,
    url: &str,
    webhook_id: &str,
    body: Vec<u8>,
    now: Timestamp,
    timeout_ms: u64,
) -> Result<HttpOut, Stop> {
    let header = |name: &str, value: String| (name.to_string(), Secret(value));
    let headers = Vec::from([
        header("content-type", "application/json".into()),
        header("user-agent", alloc::format!("Switchboard/{}", env!("CARGO_PKG_VERSION"))),
        header("webhook-id", webhook_id.into()),
        header("webhook-timestamp", now.seconds().to_string()),
        header("webhook-signature", signing::sign(account, webhook_id, now, &body)?),
    ]);
    Ok(HttpOut {
        method: "POST",
        url: url.into(),
        headers,
        body,
        timeout_ms,
        reply_bytes_max: WEBHOOK_REPLY_BYTES_MAX,
        egress: Egress::User,
        redirects: Redirects::SameOrigin,
    })
}

/// Callback that stores the answer to a webhook in the call, by its local id.
pub type Keep = fn(Scope<'_>, u32, Json, Timestamp) -> Result<(), Stop>;

/// Makes an attempt, or processes its answer; the answer to a delivery that is `alone` is passed to `keep`.
pub fn deliver(work: &TaskContext<'_>, count: u32, keep: Keep) -> Result<TaskOutcome, Stop> {
    let account = work.account;
    let Some(mut delivery) = DeliveryRow::find(account, count)? else { return Ok(TaskOutcome::Done) };
    let Some(body) = feed::payload(account, delivery.state.seq)? else {
        delivery.stands(DeliveryStatus::Exhausted, None);
        delivery.save(account)?;
        return Ok(TaskOutcome::Done);
    };
    if work.asks.answered() == 0 && work.account.get(crate::key::secrets(account.space()))?.is_none() {
        signing::make(account, work.now, &work.seed)?;
    }
    let Delivery { url, webhook_id, .. } = &delivery.shown;
    let request = request(account, url, webhook_id, body, work.now, WEBHOOK_TIMEOUT_MS)?;
    let Some(answer) = work.asks.ask(|| outside::Work::Http(request)) else { return Ok(TaskOutcome::Waits) };
    note(&mut delivery, &answer, work.now);
    if delivery.state.alone.0
        && let Answer::Http(answer) = &answer
    {
        keep(account, delivery.state.call, response(answer), work.now)?;
    }
    let next = note_answer(&mut delivery, &answer, &work.seed, work.now);
    delivery.save(account)?;
    address::note_attempt(account, &delivery, matches!(next, Next::Delivered), work.now)?;
    Ok(match next {
        Next::Again(at) => TaskOutcome::At(at),
        Next::Delivered | Next::GivenUp => TaskOutcome::Done,
    })
}

/// Gives a delivery up, at the operator's request: it is exhausted.
pub fn give_up(account: Scope<'_>, count: u32) -> Result<(), Stop> {
    let Some(mut delivery) = DeliveryRow::find(account, count)? else { return Ok(()) };
    delivery.stands(DeliveryStatus::Exhausted, None);
    delivery.save(account)
}

enum Next {
    Delivered,
    Again(Timestamp),
    GivenUp,
}

fn note_answer(delivery: &mut DeliveryRow, answer: &Answer, seed: &Seed, now: Timestamp) -> Next {
    let (status, retry_after) = match answer {
        Answer::Http(answer) => (answer.status, answer.retry_after()),
        _ => (0, None),
    };
    if (200..300).contains(&status) {
        delivery.stands(DeliveryStatus::Delivered, None);
        return Next::Delivered;
    }
    let wait = WAITS.get(delivery.state.tries as usize).filter(|_| status != 410);
    delivery.state.tries += 1;
    let Some(wait) = wait else {
        delivery.stands(DeliveryStatus::Exhausted, None);
        return Next::GivenUp;
    };
    // Up to a tenth is added, so that deliveries that failed together are not retried together.
    let jitter_ms = u64::from(seed.number("jitter", 0..=999)) * wait / 10;
    let told = retry_after.unwrap_or(0).min(RETRY_AFTER_MAX);
    let at = Timestamp::from_micros(now.plus_seconds(*wait).micros() + jitter_ms * 1_000).max(now.plus_seconds(told));
    delivery.stands(DeliveryStatus::Pending, Some(at));
    Next::Again(at)
}

fn note(delivery: &mut DeliveryRow, answer: &Answer, now: Timestamp) {
    let (status, error, duration_ms) = match answer {
        Answer::Http(answer) => (Some(u32::from(answer.status)), None, u32::try_from(answer.duration_ms).ok()),
        other => (None, Some(other.send_error()), None),
    };
    let at = Timestamp::from_micros(now.micros().saturating_sub(u64::from(duration_ms.unwrap_or(0)) * 1_000));
    let error = error.map(|error| error.sentence(&delivery.shown.url, WEBHOOK_TIMEOUT_MS));
    delivery.attempted(Attempt { at: Iso(at), status, error, duration_ms, rest: Rest::default() });
}

/// Returns the part of an answer that is kept with the call.
pub fn response(answer: &HttpIn) -> Json {
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    Json::of(&WebhookResponse { status: answer.status.into(), body })
}
