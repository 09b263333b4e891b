//! The body of the post-call webhook (docs/api.md, Payload of a call).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::rows::{CallRow, Line, formatted};
use crate::campaign;
use crate::id;
use crate::json::{Object, Raw, ToJson};
use crate::lead;
use crate::store::Scope;
use crate::view::Stop;

/// Builds the payload of a finished call. `event` is its first member, and given only for the inbound webhook;
/// `recording` is its `recording_url`, if that is to be there.
pub fn of_call(
    account: Scope<'_>,
    call: &CallRow,
    lines: &[Line],
    event: Option<&str>,
    recording: Option<&Option<String>>,
) -> Result<Vec<u8>, Stop> {
    let shown = &call.shown;
    let campaign = match shown.campaign_id.and_then(|id| id::local(account.space(), id)) {
        Some(count) => campaign::webhook_json(account, count)?,
        None => None,
    };
    let lead = match call.lead() {
        Some(count) => lead::webhook_json(account, count, campaign.as_deref())?,
        None => None,
    };
    let created_at = shown.created_at.0;
    let finished_at = call.live.ended_at.unwrap_or(created_at);
    let mut bytes = Vec::new();
    let mut object = Object::open(&mut bytes);
    object.given("event", event);
    object.member("id", id::of(account.space(), call.count)).member("type", shown.r#type);
    object.member("status", shown.status).member("assistant_id", shown.assistant_id);
    object.member("customer_phone", &shown.client_phone_number);
    object.member("assistant_phone", &shown.assistant_phone_number).member("duration", shown.duration);
    object.member("extracted_variables", &call.live.extracted).member("input_variables", &call.live.input);
    object.member("transcript", lines).member("formatted_transcript", formatted(lines));
    object.member("evaluation", &shown.evaluation);
    if let Some(url) = recording {
        object.member("recording_url", url);
    }
    object.member("created_at", created_at.iso()).member("finished_at", finished_at.iso());
    object.member("lead", lead.as_deref().map(Raw)).member("campaign", campaign.as_deref().map(Raw));
    object.close();
    Ok(bytes)
}

impl ToJson for Line {
    /// Writes the line as JSON, with `timestamp` in Unix seconds with a fraction.
    fn write(&self, out: &mut Vec<u8>) {
        let (seconds, micros) = (self.at.seconds(), self.at.micros() % 1_000_000);
        let fraction = alloc::format!("{micros:06}");
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        let timestamp = alloc::format!("{seconds}{dot}{fraction}").to_string();
        let mut object = Object::open(out);
        object.member("sender", if self.bot { "bot" } else { "human" }).member("text", &self.text);
        object.member("timestamp", Raw(timestamp.as_bytes()));
        object.close();
    }
}
