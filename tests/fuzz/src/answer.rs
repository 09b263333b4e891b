//! The outside: the questions that the town's service asks, and answers as text that can be kept in a file.
//!
//! ```text
//! 200
//! retry-after: 5
//!
//! {"ok":true}
//! ```
//!
//! The first line may instead be `refused`, `unreachable`, `late` or `unread`.

use std::sync::Arc;

use serde_json::json;
use switchboard_core::http::request::{Method, Request};
use switchboard_core::memory::Memory;
use switchboard_core::outside::{Answer, Extracted, HttpIn, SendError, Work};
use switchboard_core::step::{Input, Outcome, Output, Ticket};
use switchboard_core::time::Timestamp;
use switchboard_core::view::Scene;
use switchboard_sim::random::Random;

use crate::http;
use crate::layer::Layer;
use crate::mutate;
use crate::town::Town;

/// Length of a password's salt and digest together, bytes.
const HASHED_BYTES: usize = 48;
/// Longest chain of questions that follow from one another.
const DEPTH_MAX: usize = 4;
/// Times at which due jobs are looked for, seconds after the town was created.
const LOOKS: [u64; 6] = [0, 5, 61, 400, 4_000, 90_000];

/// The asker of a question.
#[derive(Clone, Debug)]
pub enum Asker {
    /// A request, with the answers it has received so far.
    Exchange(Request, Vec<Answer>),
    /// A job, by the ticket of its send.
    Job(Ticket),
}

/// A question, and the store in which it was asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Request or job that asks.
    pub asker: Asker,
    /// Work that is asked for.
    pub work: Work,
    /// Rows after it was asked.
    pub store: Arc<Memory>,
    /// Time at which it was asked.
    pub now: Timestamp,
}

/// Valid answers of carriers, models, calendars and sites, as a base for mutation.
const GOOD: &[&str] = &[
    r#"{"ok":true}"#,
    r#"{"available_phone_numbers":[{"phone_number":"+14155550199","friendly_name":"x","region":"CA","locality":"SF","iso_country":"US","capabilities":{"voice":true,"SMS":true}}]}"#,
    r#"{"sid":"PN1","phone_number":"+14155550199","capabilities":{"voice":true,"sms":true},"status":"in-use"}"#,
    r#"{"incoming_phone_numbers":[{"sid":"PN1","phone_number":"+14155550199"}],"page":0,"next_page_uri":null}"#,
    r#"{"outgoing_caller_ids":[{"sid":"PN2","phone_number":"+40700000001"}]}"#,
    r#"{"sid":"SM1","status":"queued","num_segments":"1","price":"-0.0075","price_unit":"USD","error_code":null}"#,
    r#"{"code":21211,"message":"No.","more_info":"x","status":400}"#,
    r#"{"choices":[{"message":{"content":"{\"evaluation\":{\"success\":true,\"sentiment\":\"positive\",\"summary\":\"Agreed.\"},\"variables\":{\"city\":\"Cluj\"}}"}}]}"#,
    r#"{"status":"success","data":{"username":"ana","id":1}}"#,
    r#"{"status":"success","data":{"2026-09-22":[{"start":"2026-09-22T09:00:00Z"}]}}"#,
    r#"{"name":"Ana","vip":true,"visits":3}"#,
    "User-agent: *\nDisallow: /private\nAllow: /private/open$\nCrawl-delay: 5\n",
    "<html><head><title>Hours</title><base href=\"/x/\"></head><body><p>We open at nine.</p><a href=\"/next?a=1#b\">n</a></body></html>",
    "",
];

/// Returns everything that the town's service asks, including what follows from valid answers.
pub fn questions(town: &Town) -> Vec<Question> {
    let mut found = Vec::new();
    for request in asking(town) {
        follow(town, &Asker::Exchange(request, Vec::new()), &town.store, town.now, DEPTH_MAX, &mut found);
    }
    for seconds in LOOKS {
        let now = town.now.plus_seconds(seconds);
        let mut layer = Layer::over(&town.store);
        // A tick serves only a few lanes: the next one serves others.
        for round in 0..4_u64 {
            let output = step(town, &layer, &Input::Tick, now, round);
            layer.apply(&output.changes);
            let store = Arc::new(layer.whole());
            for send in output.sends {
                note(town, &Asker::Job(send.ticket), &send.work, &store, now, DEPTH_MAX, &mut found);
            }
        }
    }
    found
}

/// Returns the requests that ask the outside.
fn asking(town: &Town) -> Vec<Request> {
    let tool = town.owner.id("/user/tools");
    let number = town.owner.id("/user/phone-numbers");
    let post = |target: String, token: &str, body| town.request(Method::Post, &target, token, Some(&body));
    let call = |path: &str| format!("/engine/calls/{}/{path}", 5);
    let login = json!({ "email": "owner@localhost", "password": "right or wrong" });
    let arrival = json!({ "type": "inbound", "from": "+40700000001", "to": "+12122011892" });
    let texts = [
        post(format!("/user/tools/{tool}/test"), "owner", json!({})),
        post(format!("/user/tools/{}/test", tool + 1), "owner", json!({ "arguments": { "city": "a/b", "days": 3 } })),
        town.request(Method::Get, "/user/phone-numbers/search?country_code=US&contains=415", "owner", None),
        post("/user/phone-numbers/purchase".into(), "owner", json!({ "phone_number": "+14155550199" })),
        post("/user/phone-numbers/caller-ids".into(), "owner", json!({ "phone_number": "+40700000055" })),
        post("/user/sms".into(), "owner", json!({ "from": number, "to": "+40700000001", "body": "Hi" })),
        post("/user/login".into(), "none", login),
        post("/admin/accounts".into(), "operator", json!({ "email": "x@example.com" })),
        town.request(Method::Put, "/admin/accounts/2", "operator", Some(&json!({ "password": "a new password" }))),
        post("/engine/claim".into(), "engine", json!({ "engine": "E", "wait": 5, "capacity": 2 })),
        post("/engine/calls".into(), "engine", arrival),
        post(call("tools/forecast"), "engine", json!({ "arguments": { "city": "Cluj", "days": 2 } })),
        post(call("tools/calendar_slots"), "engine", json!({ "arguments": { "start_date": "2026-09-22" } })),
        post(call("tools/calendar_book"), "engine", json!({ "arguments": { "start": "x", "email": "{{email}}" } })),
    ];
    texts.into_iter().filter_map(|text| http::parse(&text.bytes(), &town.tokens)).collect()
}

/// Runs the asker, and collects its questions.
fn follow(town: &Town, asker: &Asker, store: &Arc<Memory>, now: Timestamp, depth: usize, found: &mut Vec<Question>) {
    let Asker::Exchange(request, answers) = asker else { return };
    let mut layer = Layer::over(store);
    let output = step(town, &layer, &Input::Http(request, answers), now, 7);
    layer.apply(&output.changes);
    let store = Arc::new(layer.whole());
    for send in output.sends {
        note(town, asker, &send.work, &store, now, depth, found);
    }
}

/// Collects a question, and those that follow from a valid answer to it.
fn note(
    town: &Town,
    asker: &Asker,
    work: &Work,
    store: &Arc<Memory>,
    now: Timestamp,
    depth: usize,
    found: &mut Vec<Question>,
) {
    let known = |one: &Question| match (&one.asker, asker) {
        (Asker::Job(one), Asker::Job(two)) => one == two,
        _ => false,
    };
    if depth == 0 || found.iter().any(known) {
        return;
    }
    found.push(Question { asker: asker.clone(), work: work.clone(), store: Arc::clone(store), now });
    for answer in good(work) {
        match asker {
            Asker::Exchange(request, answers) => {
                let answers = [answers.as_slice(), &[answer]].concat();
                follow(town, &Asker::Exchange(request.clone(), answers), store, now, depth - 1, found);
            }
            Asker::Job(ticket) => {
                let mut layer = Layer::over(store);
                let output = step(town, &layer, &Input::Answered(ticket.clone(), answer), now, depth as u64);
                layer.apply(&output.changes);
                let store = Arc::new(layer.whole());
                for send in output.sends {
                    note(town, &Asker::Job(send.ticket), &send.work, &store, now, depth - 1, found);
                }
            }
        }
    }
}

fn step(town: &Town, layer: &Layer<'_>, input: &Input<'_>, now: Timestamp, salt: u64) -> Output {
    let scene = Scene { now, seed: Random::new(salt).seed(), view: layer, careful: false };
    let output = town.service.step(input, &scene).expect("a sound store stops no step");
    assert!(!matches!(output.outcome, Outcome::ReadBody(_)), "the body is there");
    output
}

/// Returns answers that lead to further questions.
fn good(work: &Work) -> Vec<Answer> {
    let http = |status, body: &str| {
        Answer::Http(HttpIn { status, body: body.as_bytes().to_vec(), duration_ms: 5, ..HttpIn::default() })
    };
    match work {
        Work::Http(request) if request.url.ends_with("/robots.txt") => vec![http(404, "")],
        Work::Http(request) if request.url.contains("/v2/me") => vec![http(200, GOOD[8])],
        Work::Http(request) if request.url.contains("site.example") => vec![http(200, GOOD[12])],
        Work::Http(_) => Vec::new(),
        pure => vec![plain(pure, false)],
    }
}

/// Returns the answer to work done in place, without really hashing passwords.
pub fn plain(work: &Work, odd: bool) -> Answer {
    match work {
        Work::Http(_) => Answer::Failed(SendError::Unreachable),
        Work::HashPassword { .. } => Answer::Hashed(vec![7; HASHED_BYTES]),
        Work::Yield => Answer::Yielded,
        Work::DeleteObject(name) => Answer::ObjectDeleted(name.clone()),
        Work::VerifyPassword { .. } => Answer::Verified(!odd),
        Work::Extract { .. } => Answer::Extracted(Ok(Extracted {
            text: "We open at nine.\n\nWe close at five.".into(),
            links: vec!["/next".into(), "https://site.example/other".into()],
            ..Extracted::default()
        })),
    }
}

/// Draws an answer as text.
pub fn draw(random: &mut Random) -> Vec<u8> {
    let word = random.weighed(&[(20, ""), (1, "refused"), (1, "unreachable"), (1, "late"), (1, "unread")]);
    let status = random.weighed(&[
        (12, 200),
        (3, 201),
        (1, 204),
        (1, 301),
        (1, 302),
        (1, 304),
        (2, 400),
        (1, 401),
        (2, 404),
        (1, 410),
        (2, 429),
        (2, 500),
        (1, 503),
        (1, 0),
        (1, 99),
        (1, 199),
        (1, 600),
        (1, 65_535),
    ]);
    let mut text = if word.is_empty() { format!("{status}\n") } else { format!("{word}\n") }.into_bytes();
    for _ in 0..random.below(3) {
        let name = random.one(&["retry-after", "content-type", "location", "x", "content-encoding", "x-robots-tag"]);
        let value = random.one(&["5", "-1", "99999999999999999999", "86401", "text/html; charset=x", "/next", "é", ""]);
        text.extend_from_slice(format!("{name}: {value}\n").as_bytes());
    }
    text.push(b'\n');
    let mut body = random.one(GOOD).as_bytes().to_vec();
    if random.chance(600) {
        mutate::bytes(random, &mut body);
    }
    text.extend(body);
    text
}

/// Parses a text as the answer to some work.
pub fn parse(text: &[u8], work: &Work) -> Answer {
    let (head, body) =
        text.windows(2).position(|pair| pair == b"\n\n").map_or((text, &[][..]), |at| (&text[..at], &text[at + 2..]));
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let word = lines.next().unwrap_or_default();
    let lossy = || String::from_utf8_lossy(body).into_owned();
    match (word, work) {
        // Work done in place gets no answer from outside.
        (_, Work::HashPassword { .. } | Work::VerifyPassword { .. } | Work::Yield) => plain(work, body.len() % 2 == 1),
        ("refused", _) => Answer::Failed(SendError::Refused),
        ("unreachable", _) => Answer::Failed(SendError::Unreachable),
        ("late", _) => Answer::Failed(SendError::TimedOut),
        (_, Work::DeleteObject(_)) => plain(work, false),
        ("unread", Work::Extract { .. }) => Answer::Extracted(Err(lossy())),
        (_, Work::Extract { .. }) => Answer::Extracted(Ok(Extracted {
            title: lines.next().map(ToOwned::to_owned),
            links: lossy().lines().map(ToOwned::to_owned).collect(),
            base_href: lines.next().map(ToOwned::to_owned),
            noindex: body.first() == Some(&b'n'),
            text: lossy(),
        })),
        (_, Work::Http(_)) => Answer::Http(HttpIn {
            status: word.parse().unwrap_or(200),
            headers: lines
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: body.to_vec(),
            cut: body.len() % 7 == 0,
            duration_ms: body.len() as u64,
        }),
    }
}
