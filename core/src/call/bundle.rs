//! `GET /user/calls/{id}/bundle`: all that there is of a call in one file, to attach to a question. Secrets are masked, and
//! URLs have no query.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::operations::{MISSING, shown};
use super::rows::{CallEventRow, CallRow};
use super::tables::Call;
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::http::accept;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::json::{self, Members, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::{BUNDLE_EVENTS_BYTES_MAX, BUNDLE_SECRETS_MAX};
use crate::record::Stored;
use crate::store::{Row, Scope};
use crate::tool::Tool;
use crate::view::{Order, Stop};
use crate::webhook;
use crate::zip::StoredArchive;

const MEDIA: &str = "application/zip";
const NOT_ASKED: &str = "This is a ZIP file alone: ask for it with Accept: application/zip.";
const MASK: &str = "****";
/// Shortest header value that counts as a secret, bytes: a shorter one would mask words.
const SECRET_BYTES_MIN: usize = 8;
/// Parts of the names of members whose values are masked.
const SECRET_NAMES: [&str; 7] = ["authorization", "password", "secret", "token", "api_key", "apikey", "cookie"];
/// Types of the events that tell how an engine did.
const METRICS: [&str; 3] = ["metrics", "quality", "usage"];
/// Events read at once.
const SLICE: usize = 256;

/// `GET /user/calls/{id}/bundle`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    if !accept::prefers(ctx.request, MEDIA) {
        return Err(Refusal::NotFound(NOT_ASKED).into());
    }
    let (count, row) = ctx.named(Kind::Call, MISSING)?;
    let account = ctx.account();
    let call = CallRow::of(count, row.clone())?;
    let assistant = of_call(account, call.assistant())?;
    let mask = Masking::of(account, assistant.as_ref())?;
    let (events, metrics) = events(account, count, &mask)?;
    let mut archive = StoredArchive::default();
    archive.add("call.json", &mask.json(&without_link(&call, shown(ctx, count, row)?))?);
    archive.add("events.json", &events);
    archive.add("metrics.json", &metrics);
    archive.add("assistant.json", &assistant.map_or(Ok(b"null".to_vec()), |row| mask.json(&row.public))?);
    archive.add("deliveries.json", &deliveries(account, count, &mask)?);
    let name = format!("attachment; filename=\"call-{}.zip\"", id::of(account.space(), count));
    let reply = Reply::ok_raw(archive.finish()).header("content-type", MEDIA);
    Ok(reply.header("content-disposition", name).header("cache-control", "no-store"))
}

/// Returns the call object without the link to its recording: whoever has that may play it.
fn without_link(call: &CallRow, shown: Vec<u8>) -> Vec<u8> {
    let Ok(Value::Object(mut members)) = json::parse(&shown) else { return shown };
    if call.has_own_recording() {
        members.set("recording_url", Value::Null);
    }
    members.to_json()
}

/// Returns the events of a call, and those of them that tell how its engine did, as JSON lists; the first ones, as many as
/// the bound allows, and a last one that says how many there are besides.
fn events(account: Scope<'_>, call: u32, mask: &Masking) -> Result<(Vec<u8>, Vec<u8>), Stop> {
    let (mut all, mut metrics, mut after) = (JsonList::default(), JsonList::default(), 0);
    loop {
        let rows = account.scan(key::call_events(account.space(), call, after), Order::Ascending, SLICE)?;
        for (at, bytes) in &rows {
            let (_, seq) = key::read_call_event(at).ok_or(CallEventRow::DAMAGED)?;
            if all.0.len() + bytes.len() > BUNDLE_EVENTS_BYTES_MAX {
                let last = format!("{{\"type\":\"cut\",\"after\":{after}}}");
                all.push(last.as_bytes());
                return Ok((all.finish(), metrics.finish()));
            }
            let event = mask.json(bytes)?;
            if METRICS.contains(&&*CallEventRow::MEMBERS.r#type.read(bytes)?) {
                metrics.push(&event);
            }
            all.push(&event);
            after = seq;
        }
        if rows.len() < SLICE {
            return Ok((all.finish(), metrics.finish()));
        }
    }
}

fn deliveries(account: Scope<'_>, call: u32, mask: &Masking) -> Result<Vec<u8>, Stop> {
    let mut all = JsonList::default();
    for public in webhook::of_call(account, call)? {
        all.push(&mask.json(&public)?);
    }
    Ok(all.finish())
}

/// A JSON list under construction.
#[derive(Default)]
struct JsonList(Vec<u8>);

impl JsonList {
    fn push(&mut self, value: &[u8]) {
        self.0.push(if self.0.is_empty() { b'[' } else { b',' });
        self.0.extend_from_slice(value);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'[');
        }
        self.0.push(b']');
        self.0
    }
}

/// What is masked in a bundle.
struct Masking {
    /// Header values of the assistant's tools, which an endpoint may have sent back; `None`: there are too many to look
    /// for, so no answer of an endpoint is shown.
    secrets: Option<Vec<String>>,
}

impl Masking {
    fn of(account: Scope<'_>, assistant: Option<&Row>) -> Result<Self, Stop> {
        let Some(row) = assistant else { return Ok(Self { secrets: Some(Vec::new()) }) };
        let mut secrets = Vec::new();
        for tool in Assistant::MEMBERS.tool_ids.read(&row.public)? {
            let Some(row) = account.find(Kind::Tool, id::count(tool))? else { continue };
            let values = Tool::read(&row.public)?.headers.into_iter().map(|header| header.value.0);
            // `Bearer x` may come back as `x`.
            secrets.extend(values.flat_map(|value| value.split(' ').map(ToString::to_string).collect::<Vec<_>>()));
        }
        secrets.retain(|secret| secret.len() >= SECRET_BYTES_MIN && !secret.contains("{{"));
        secrets.sort();
        secrets.dedup();
        Ok(Self { secrets: Some(secrets).filter(|secrets| secrets.len() <= BUNDLE_SECRETS_MAX) })
    }

    /// Masks what is stored as JSON.
    fn json(&self, bytes: &[u8]) -> Result<Vec<u8>, Stop> {
        let mut value = json::parse(bytes).map_err(|_| Call::DAMAGED)?;
        self.value(&mut value);
        Ok(value.to_json())
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::Text(text) => self.text(text),
            Value::List(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(Members(members)) => members.iter_mut().for_each(|(name, value)| self.member(name, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn member(&self, name: &str, value: &mut Value) {
        let is_answer = ["body", "webhook_response"].contains(&name) && self.secrets.is_none();
        let name = name.to_ascii_lowercase();
        let is_text = matches!(value, Value::Text(text) if !text.is_empty());
        if is_text && SECRET_NAMES.iter().any(|secret| name.contains(secret)) || is_answer {
            *value = Value::Text(MASK.into());
        }
        self.value(value);
    }

    fn text(&self, text: &mut String) {
        for secret in self.secrets.iter().flatten() {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MASK);
            }
        }
        if text.contains("://") {
            *text = without_queries(text);
        }
    }
}

/// Returns a text whose URLs have neither query nor fragment, user nor password.
fn without_queries(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        let length = url.find(|c: char| c.is_whitespace() || "\"'<>\\`".contains(c)).unwrap_or(url.len());
        let (url, after) = url.split_at(length);
        let shown = url.split(['?', '#']).next().unwrap_or_default();
        let host = shown.split('/').next().unwrap_or_default();
        let named = host.rsplit_once('@').map_or(shown, |(user, _)| &shown[user.len() + 1..]);
        out.extend([before, named]);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_what_may_be_secret() {
        for (text, want) in [
            ("https://a.example/x?key=1#f", "https://a.example/x"),
            ("GET https://me:pw@a.example/x@y?k=1 failed", "GET https://a.example/x@y failed"),
            ("<https://a.example?k=\"v\"> http://b.example#t", "<https://a.example\"v\"> http://b.example"),
            ("a :// b ?c", "a :// b ?c"),
            ("ünïcode https://ä.example/ö?ü", "ünïcode https://ä.example/ö"),
        ] {
            assert_eq!(without_queries(text), want);
        }
    }

    #[test]
    fn secrets_are_masked_by_name_and_by_value() {
        let mask = Masking { secrets: Some(["hidden-value".into()].into()) };
        let said = br#"{"a":[{"X-Api_Key":"k","n":1}],"b":"is hidden-value.","token":"","user_token":"t","tokens":3}"#;
        let want = r#"{"a":[{"X-Api_Key":"****","n":1}],"b":"is ****.","token":"","user_token":"****","tokens":3}"#;
        assert_eq!(mask.json(said).map(|json| String::from_utf8(json).expect("text")), Ok(want.to_string()));
        let many = Masking { secrets: None };
        let want = r#"{"body":"****","text":"x"}"#;
        assert_eq!(
            many.json(br#"{"body":"x","text":"x"}"#).map(|json| String::from_utf8(json).expect("text")),
            Ok(want.to_string())
        );
    }
}
