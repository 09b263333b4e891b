//! [`Judge`]: what must hold of every reply, whatever was sent.
//!
//! The status is one that the operation documents, never 500; the body has the documented form; there is one request
//! id; nothing of another account shows; and a refusal changes nothing.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde_json::Value;
use switchboard_core::http::ctx::body_bytes_max;
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::http::route::{ReplyForm, Route, Who};
use switchboard_core::http::router::Router;
use switchboard_core::http::stream;
use switchboard_core::limits::TARGET_BYTES_MAX;
use switchboard_core::service::routes::ROUTES;
use switchboard_core::step::Output;

use crate::document;

/// Operations that keep what they were told when they refuse: the events that led to a tool, and that it was asked for.
const KEEPS: [&str; 1] = ["runTool"];
/// Operations that end a turn which an earlier request began, and whose time is over: then they refuse with 504.
const ENDS_LATE: [&str; 2] = ["sendMessage", "generateReply"];
/// Letters of a refusal's sentence that identify it.
const SAYING_MAX: usize = 40;

/// One reply with the request and step that led to it.
pub struct Exchange<'a> {
    /// The request as sent.
    pub request: &'a Request,
    /// Output of the request's last step.
    pub output: &'a Output,
    /// The reply in `output`.
    pub reply: &'a Reply,
    /// Whether someone outside was asked: then even a refusal leaves changes, if only a charge taken back.
    pub outside: bool,
    /// A word of another account that must not be in the reply, unless the request has it too.
    pub foreign: Option<&'a str>,
}

/// The documented statuses and body schemas of each operation.
pub struct Judge {
    router: Router,
    documented: BTreeMap<(&'static str, Method), BTreeMap<u16, Option<Validator>>>,
}

impl Default for Judge {
    fn default() -> Self {
        Self::new()
    }
}

impl Judge {
    /// Reads the `OpenAPI` document and compiles its schemas.
    ///
    /// # Panics
    /// If the document or one of its schemas is malformed.
    pub fn new() -> Self {
        let document = document::resolved();
        let mut documented = BTreeMap::new();
        for route in ROUTES {
            let operation = &document["paths"][route.paths[0]][route.method.name().to_lowercase()];
            let responses = operation["responses"].as_object().expect("an operation has responses");
            let schemas: BTreeMap<u16, Option<Validator>> = responses
                .iter()
                .map(|(status, response)| {
                    let schema = &response["content"]["application/json"]["schema"];
                    let validator = schema
                        .is_object()
                        .then(|| jsonschema::draft202012::options().build(schema).expect("a documented schema"));
                    (status.parse().expect("a status"), validator)
                })
                .collect();
            documented.insert((route.id, route.method), schemas);
        }
        Self { router: Router::new(ROUTES).expect("a table without ambiguity"), documented }
    }

    /// Returns the operation that a request is for; `None` for an unknown path or method.
    pub fn route(&self, request: &Request) -> Option<&'static Route> {
        self.router.find(path(request))?.route(request.method)
    }

    /// Whether the operation may ask a carrier or someone else outside, as its documented 502 says.
    pub fn asks_outside(&self, request: &Request) -> bool {
        self.route(request).is_some_and(|route| self.documented[&(route.id, route.method)].contains_key(&502))
    }

    /// Judges a reply: returns the refusal's sentence without digits and punctuation, or what is wrong with the reply.
    pub fn judge(&self, exchange: &Exchange<'_>) -> Result<String, String> {
        let Exchange { request, output, reply, outside, .. } = exchange;
        let route = self.route(request);
        let status = reply.status;
        if status == 500 {
            return Err("500 for what a client sent".into());
        }
        if !self.is_documented(request, route, status) {
            return Err(format!("{status} is not documented for {}", route.map_or("nothing", |route| route.id)));
        }
        let keeps =
            route.is_some_and(|route| KEEPS.contains(&route.id) || (status == 504 && ENDS_LATE.contains(&route.id)));
        if status >= 400 && !outside && !keeps && !output.changes.is_empty() {
            return Err(format!("a refusal with {status} changes {} rows", output.changes.len()));
        }
        bounded(request, route, status)?;
        asked_for_a_token(request, route, status)?;
        request_id(request, reply)?;
        self.body(exchange, route)
    }

    /// Whether the operation, or the conventions that hold for all of them (docs/api.md, Conventions), allow a status.
    fn is_documented(&self, request: &Request, route: Option<&'static Route>, status: u16) -> bool {
        if request.target.len() > TARGET_BYTES_MAX {
            return status == 414;
        }
        let Some(route) = route else {
            return match self.router.find(path(request)) {
                Some(_) if request.method == Method::Options => status == 204,
                Some(_) => status == 405 || status == 404 && request.door != Door::Main,
                None => status == 404,
            };
        };
        self.documented[&(route.id, route.method)].contains_key(&status)
    }

    fn body(&self, exchange: &Exchange<'_>, route: Option<&'static Route>) -> Result<String, String> {
        let Exchange { request, reply, foreign, .. } = exchange;
        let Content::Json(bytes) = &reply.content else {
            let empty = matches!(reply.status, 204 | 304) || request.method == Method::Head;
            let other = matches!(reply.content, Content::Host(_) | Content::Stream(_) | Content::Object(_));
            return if empty || other { Ok(String::new()) } else { Err(format!("{} without a body", reply.status)) };
        };
        if let Some((_, media)) = reply.headers.iter().find(|(name, _)| *name == "content-type") {
            let is_csv = media == "text/csv; charset=utf-8" && route.is_some_and(|route| route.csv.is_some());
            let streams = |route: &Route| matches!(route.shape, ReplyForm::BareOrStream(_));
            let is_own = |route: &Route| matches!(route.shape, ReplyForm::Media(own) if own == media.as_str());
            let is_known = is_csv || route.is_some_and(is_own) || media == stream::MEDIA && route.is_some_and(streams);
            let shows = foreign.is_some_and(|word| contains(bytes, word.as_bytes()) && !sent(request, word.as_bytes()));
            return match (is_known, shows) {
                (true, false) => Ok(String::new()),
                (true, true) => Err("the reply shows what another account has".into()),
                (false, _) => Err(format!("{media} is not documented")),
            };
        }
        // The document itself has its own test, and is half a megabyte.
        if route.is_some_and(|route| route.id == "openapi") && reply.status == 200 {
            return Ok(String::new());
        }
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("{} is not JSON: {error}", reply.status))?;
        if foreign.is_some_and(|word| contains(bytes, word.as_bytes()) && !sent(request, word.as_bytes())) {
            return Err("the reply shows what another account has".into());
        }
        let schema = route.and_then(|route| self.documented[&(route.id, route.method)].get(&reply.status));
        match schema {
            Some(Some(schema)) => match schema.validate(&value) {
                Ok(()) => Ok(saying(reply.status, &value)),
                Err(error) => Err(format!("{} has another form: {error} at {}", reply.status, error.instance_path())),
            },
            Some(None) => Ok(String::new()),
            None if value["message"].is_string() => Ok(saying(reply.status, &value)),
            None => Err(format!("{} without a message", reply.status)),
        }
    }
}

/// Returns the first `SAYING_MAX` letters and spaces of a refusal's sentence; empty for a success.
fn saying(status: u16, value: &Value) -> String {
    let sentence = value["message"].as_str().or(value["error"].as_str()).filter(|_| status >= 400).unwrap_or_default();
    sentence.chars().filter(|letter| letter.is_alphabetic() || *letter == ' ').take(SAYING_MAX).collect()
}

fn path(request: &Request) -> &str {
    request.target.split('?').next().unwrap_or_default()
}

/// Checks that a body over the limit is not accepted.
fn bounded(request: &Request, route: Option<&'static Route>, status: u16) -> Result<(), String> {
    let Some(route) = route.filter(|route| route.method.is_write()) else { return Ok(()) };
    let large = match &request.body {
        Body::TooLarge => true,
        Body::Full(bytes) => bytes.len() > body_bytes_max(route),
        _ => false,
    };
    if large && status < 400 { Err(format!("{status} to a body over the limit")) } else { Ok(()) }
}

fn asked_for_a_token(request: &Request, route: Option<&'static Route>, status: u16) -> Result<(), String> {
    let open =
        route.is_none_or(|route| matches!(route.who, Who::Anyone | Who::Visitor)) || request.method == Method::Options;
    let is_known = request.count("authorization") > 0 || is_by_cookie(request, route);
    if !open && !is_known && status != 401 && status != 414 && status != 404 {
        return Err(format!("{status} to nobody"));
    }
    Ok(())
}

/// Returns whether a request is a user's by the console's cookie: no page elsewhere made it, and a write shows its text.
fn is_by_cookie(request: &Request, route: Option<&'static Route>) -> bool {
    let is_users = route.is_some_and(|route| route.who == Who::User);
    let has_cookie = request.list("cookie").is_some_and(|sent| sent.contains("switchboard_session="));
    let is_elsewhere = request.header("sec-fetch-site").is_some_and(|site| site.ends_with("-site"));
    is_users && has_cookie && !is_elsewhere && (!request.method.is_write() || request.count("x-csrf-token") == 1)
}

fn request_id(request: &Request, reply: &Reply) -> Result<(), String> {
    let mut ids = reply.headers.iter().filter(|(name, _)| *name == "x-request-id").map(|(_, value)| value.as_str());
    let (Some(id), None) = (ids.next(), ids.next()) else { return Err("a reply has one request id".into()) };
    let sent = request.header("x-request-id").unwrap_or_default();
    let good = |text: &str| {
        (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    if good(sent) && id != sent || !good(id) {
        return Err(format!("the request id {sent:?} became {id:?}"));
    }
    let odd = reply.headers.iter().find(|(_, value)| value.bytes().any(|byte| byte < b' ' || byte == 0x7f));
    odd.map_or(Ok(()), |(name, _)| Err(format!("the header {name} has a control character")))
}

/// Whether the request itself contains a word, in its target or body.
fn sent(request: &Request, word: &[u8]) -> bool {
    let body: &[u8] = if let Body::Full(bytes) = &request.body { bytes } else { &[] };
    contains(request.target.as_bytes(), word) || contains(body, word)
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::step::Outcome;
    use switchboard_core::store::Change;

    fn request(method: Method, target: &str, headers: &[(&'static str, &str)]) -> Request {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes().to_vec())).collect();
        Request { method, target: target.into(), headers, body: Body::None, peer: None, door: Door::Main }
    }

    fn told(target: &str, reply: &Reply, changes: Vec<Change>) -> Result<(), String> {
        judged(&request(Method::Post, target, &[("authorization", "Bearer x")]), reply, changes)
    }

    fn judged(request: &Request, reply: &Reply, changes: Vec<Change>) -> Result<(), String> {
        let output = Output { outcome: Outcome::Reply(reply.clone()), changes, ..Output::default() };
        Judge::new()
            .judge(&Exchange { request, output: &output, reply, outside: false, foreign: Some("STRANGER") })
            .map(drop)
    }

    fn reply(status: u16, body: &str) -> Reply {
        let content = Content::Json(body.as_bytes().to_vec());
        Reply { status, headers: vec![("x-request-id", "abc".into())], content }
    }

    #[test]
    fn broken_promises_are_seen() {
        let refused = r#"{"message":"No.","errors":{"name":["No."]}}"#;
        assert_eq!(told("/user/tools", &reply(422, refused), vec![]), Ok(()));
        let change = vec![Change::Delete(vec![1])];
        for (target, given, changes, says) in [
            ("/user/tools", reply(500, refused), vec![], "500 for"),
            ("/user/tools", reply(418, refused), vec![], "418 is not documented"),
            ("/user/tools", reply(422, refused), change.clone(), "changes 1 rows"),
            ("/user/tools", reply(422, "{"), vec![], "not JSON"),
            ("/user/tools", reply(422, "[]"), vec![], "another form"),
            ("/user/tools", reply(201, "{}"), change, "another form"),
            ("/user/tools", reply(422, r#"{"message":"STRANGER"}"#), vec![], "another account"),
            ("/user/nothing", reply(200, "{}"), vec![], "200 is not documented for nothing"),
            ("/user/nothing", reply(404, "{}"), vec![], "404 without a message"),
            ("/user/tools", Reply { headers: vec![], ..reply(422, refused) }, vec![], "one request id"),
            ("/user/tools", reply(422, refused).header("allow", "a\nb"), vec![], "control character"),
            ("/user/tools", Reply { content: Content::Empty, ..reply(422, refused) }, vec![], "without a body"),
        ] {
            let said = told(target, &given, changes).expect_err(says);
            assert!(said.contains(says), "{said}");
        }
    }

    #[test]
    fn nobody_and_large_bodies_are_refused() {
        let made = r#"{"message":"x","secrets":[]}"#;
        let rotate = "/user/webhook-secrets/rotate";
        let nobody = request(Method::Post, rotate, &[]);
        assert!(judged(&nobody, &reply(201, made), vec![]).is_err_and(|said| said.contains("to nobody")));
        let mut large = request(Method::Post, rotate, &[("authorization", "x")]);
        large.body = Body::TooLarge;
        assert!(judged(&large, &reply(201, made), vec![]).is_err_and(|said| said.contains("over the limit")));
        let named = request(Method::Get, "/nothing", &[("x-request-id", "mine")]);
        assert!(judged(&named, &reply(404, r#"{"message":"x"}"#), vec![]).is_err_and(|said| said.contains("became")));
    }
}
