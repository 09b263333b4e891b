//! Output: the core's types, converted to plain JavaScript objects.

use js_sys::Array;
use switchboard_core::http::caller::Credential;
use switchboard_core::http::list::ListChunk;
use switchboard_core::http::reply::{Content, HostPage, Reply};
use switchboard_core::key::{self, Topic};
use switchboard_core::limits::step::READS_MAX;
use switchboard_core::outside::{Answer, Egress, HttpOut, Redirects, SendError, TextForm, Work};
use switchboard_core::remote::Next;
use switchboard_core::step::{Outcome, Output, Send, Ticket};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Order, Read, Scan};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A plain object for JavaScript.
    #[wasm_bindgen(js_name = Object)]
    pub type JsObject;

    #[wasm_bindgen(constructor, js_class = "Object")]
    fn new() -> JsObject;

    // What a host does next.
    #[wasm_bindgen(method, setter)]
    fn set_read(this: &JsObject, reads: &Array);
    #[wasm_bindgen(method, setter)]
    fn set_commit(this: &JsObject, changes: &Array);
    #[wasm_bindgen(method, setter)]
    fn set_topics(this: &JsObject, topics: &Array);
    #[wasm_bindgen(method, setter)]
    fn set_due(this: &JsObject, micros: Option<f64>);
    #[wasm_bindgen(method, setter, js_name = "readBody")]
    fn set_read_body(this: &JsObject, bytes_max: f64);
    #[wasm_bindgen(method, setter)]
    fn set_perform(this: &JsObject, sends: &Array);
    #[wasm_bindgen(method, setter)]
    fn set_yield(this: &JsObject, yields: bool);
    #[wasm_bindgen(method, setter)]
    fn set_park(this: &JsObject, topic: &str);
    #[wasm_bindgen(method, setter)]
    fn set_until(this: &JsObject, micros: f64);
    #[wasm_bindgen(method, setter)]
    fn set_done(this: &JsObject, output: &JsObject);
    #[wasm_bindgen(method, setter)]
    fn set_failed(this: &JsObject, why: &str);

    // Reads and changes.
    #[wasm_bindgen(method, setter)]
    fn set_get(this: &JsObject, key: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_from(this: &JsObject, key: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_to(this: &JsObject, key: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_descending(this: &JsObject, descending: bool);
    #[wasm_bindgen(method, setter)]
    fn set_limit(this: &JsObject, rows: f64);
    #[wasm_bindgen(method, setter)]
    fn set_put(this: &JsObject, key: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_value(this: &JsObject, value: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_delete(this: &JsObject, key: Vec<u8>);

    // Replies.
    #[wasm_bindgen(method, setter)]
    fn set_reply(this: &JsObject, reply: Option<JsObject>);
    #[wasm_bindgen(method, setter)]
    fn set_status(this: &JsObject, status: u16);
    #[wasm_bindgen(method, setter, js_name = "headers")]
    fn set_head(this: &JsObject, lines: &str);
    #[wasm_bindgen(method, setter)]
    fn set_media(this: &JsObject, media: &str);
    #[wasm_bindgen(method, setter)]
    fn set_body(this: &JsObject, body: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_page(this: &JsObject, page: &str);
    #[wasm_bindgen(method, setter)]
    fn set_stream(this: &JsObject, topic: &str);
    #[wasm_bindgen(method, setter)]
    fn set_last(this: &JsObject, place: f64);

    // Outputs, credentials and tickets.
    #[wasm_bindgen(method, setter)]
    fn set_sends(this: &JsObject, sends: &Array);
    #[wasm_bindgen(method, setter)]
    fn set_wake(this: &JsObject, micros: Option<f64>);
    #[wasm_bindgen(method, setter)]
    fn set_used(this: &JsObject, credential: Option<JsObject>);
    #[wasm_bindgen(method, setter)]
    fn set_account(this: &JsObject, account: u32);
    #[wasm_bindgen(method, setter)]
    fn set_session(this: &JsObject, session: bool);
    #[wasm_bindgen(method, setter)]
    fn set_count(this: &JsObject, count: u32);
    #[wasm_bindgen(method, setter)]
    fn set_ticket(this: &JsObject, ticket: Option<JsObject>);
    #[wasm_bindgen(method, setter)]
    fn set_task(this: &JsObject, task: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_lease(this: &JsObject, lease: u32);

    // Work and the answers that the core makes itself.
    #[wasm_bindgen(method, setter)]
    fn set_work(this: &JsObject, work: &JsObject);
    #[wasm_bindgen(method, setter)]
    fn set_kind(this: &JsObject, kind: &str);
    #[wasm_bindgen(method, setter)]
    fn set_method(this: &JsObject, method: &str);
    #[wasm_bindgen(method, setter)]
    fn set_url(this: &JsObject, url: &str);
    #[wasm_bindgen(method, setter)]
    fn set_headers(this: &JsObject, headers: &Array);
    #[wasm_bindgen(method, setter, js_name = "timeoutMs")]
    fn set_timeout_ms(this: &JsObject, timeout_ms: f64);
    #[wasm_bindgen(method, setter, js_name = "replyBytesMax")]
    fn set_reply_bytes_max(this: &JsObject, bytes: f64);
    #[wasm_bindgen(method, setter)]
    fn set_egress(this: &JsObject, egress: &str);
    #[wasm_bindgen(method, setter)]
    fn set_redirects(this: &JsObject, redirects: &str);
    #[wasm_bindgen(method, setter)]
    fn set_password(this: &JsObject, password: &str);
    #[wasm_bindgen(method, setter)]
    fn set_salt(this: &JsObject, salt: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_stored(this: &JsObject, stored: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_form(this: &JsObject, form: &str);
    #[wasm_bindgen(method, setter)]
    fn set_bytes(this: &JsObject, bytes: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_digest(this: &JsObject, digest: Vec<u8>);
    #[wasm_bindgen(method, setter)]
    fn set_fits(this: &JsObject, fits: bool);
    #[wasm_bindgen(method, setter)]
    fn set_error(this: &JsObject, error: &str);
}

/// Converts a time to microseconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "the year 9999 has no more than 2^58 of them; until 2255 it is exact")]
pub fn micros(time: Timestamp) -> f64 {
    time.micros() as f64
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn place(last: u64) -> f64 {
    last as f64
}

#[expect(clippy::cast_precision_loss, reason = "a size that memory holds")]
fn size(bytes: usize) -> f64 {
    bytes as f64
}

fn list(items: impl IntoIterator<Item = JsObject>) -> Array {
    let list = Array::new();
    for item in items {
        list.push(&item);
    }
    list
}

/// Converts what a host does next, other than reading and failing.
pub fn next(next: Next) -> JsObject {
    let out = JsObject::new();
    match next {
        Next::Commit(changes) => commit(&out, changes),
        Next::ReadBody(bytes_max) => out.set_read_body(size(bytes_max)),
        Next::Perform(sends) => out.set_perform(&list(sends.into_iter().map(send))),
        Next::Yield => out.set_yield(true),
        Next::Park(awaited, until) => {
            out.set_park(&topic(awaited));
            out.set_until(micros(until));
        }
        Next::Done(decided) => out.set_done(&output(decided)),
        Next::Read(_) | Next::Failed(_) | Next::Contended => unreachable!("the course says these itself"),
    }
    out
}

/// Converts a failed input, with the reply if it is a request.
pub fn failed(why: &str, answer: Option<Reply>) -> JsObject {
    let out = JsObject::new();
    out.set_failed(why);
    out.set_reply(answer.map(reply));
    out
}

/// Converts the reads that JavaScript executes.
pub fn reads(reads: Vec<Read>) -> JsObject {
    let one = |read| match read {
        Read::Get(key) => {
            let out = JsObject::new();
            out.set_get(key);
            Some(out)
        }
        Read::Scan(range) => Some(scan(range)),
        Read::Admit(_) => None,
    };
    let out = JsObject::new();
    out.set_read(&list(reads.into_iter().filter_map(one)));
    out
}

fn scan(scan: Scan) -> JsObject {
    let out = JsObject::new();
    out.set_from(scan.from);
    out.set_to(scan.to);
    out.set_descending(scan.order == Order::Descending);
    // One row more than a step may read is enough to detect that it reads too much.
    out.set_limit(size(scan.limit.min(READS_MAX + 1)));
    out
}

/// Sets the changes, their topics, and when work is due according to them.
fn commit(out: &JsObject, changes: Vec<Change>) {
    let (mut topics, mut due) = (Vec::new(), None::<Timestamp>);
    for change in &changes {
        let Change::Put(at, _) = change else { continue };
        due = key::due_of(at).into_iter().chain(due).min();
        if let Some(topic) = key::topic_of(at).filter(|topic| !topics.contains(topic)) {
            topics.push(topic);
        }
    }
    out.set_commit(&list(changes.into_iter().map(change)));
    out.set_topics(&topics.into_iter().map(|news| JsValue::from(topic(news))).collect());
    out.set_due(due.map(micros));
}

fn change(change: Change) -> JsObject {
    let out = JsObject::new();
    match change {
        Change::Put(key, value) => {
            out.set_put(key);
            out.set_value(value);
        }
        Change::Delete(key) => out.set_delete(key),
    }
    out
}

/// Formats a topic as text.
pub fn topic(topic: Topic) -> String {
    match topic {
        Topic::Waiting => "waiting".into(),
        Topic::Trunks => "trunks".into(),
        Topic::Feed(account) => format!("feed {account}"),
        Topic::Call(account, call) => format!("call {account} {call}"),
    }
}

fn output(output: Output) -> JsObject {
    let out = JsObject::new();
    out.set_reply(match output.outcome {
        Outcome::Reply(answer) => Some(reply(answer)),
        Outcome::Nothing
        | Outcome::ReadBody(_)
        | Outcome::StoreBody(_)
        | Outcome::Wait
        | Outcome::Park(..)
        | Outcome::Yield => None,
    });
    out.set_sends(&list(output.sends.into_iter().map(send)));
    out.set_wake(output.wake.map(micros));
    out.set_used(output.used.map(credential));
    out
}

fn credential(used: Credential) -> JsObject {
    let out = JsObject::new();
    out.set_account(used.account);
    out.set_session(used.session);
    out.set_count(used.count);
    out
}

/// Converts a reply; its head as lines of `name: value`.
pub fn reply(reply: Reply) -> JsObject {
    let out = JsObject::new();
    out.set_status(reply.status);
    out.set_head(&lines(&reply.headers));
    match reply.content {
        // Lists arrive whole: this host asks for no pieces.
        Content::Json(bytes) | Content::Piece(ListChunk { bytes, .. }) => {
            out.set_media("application/json");
            out.set_body(bytes);
        }
        // No setting of this host names a place for recordings: it is asked neither to read an object, nor to store or
        // delete one.
        Content::Empty | Content::Object(_) => {}
        Content::Host(page) => out.set_page(match page {
            HostPage::Ready => "ready",
            HostPage::Metrics => "metrics",
            HostPage::Docs => "docs",
            HostPage::Home => "home",
            HostPage::Console => "console",
            HostPage::Widget => "widget",
            HostPage::Backup => "backup",
            HostPage::Store => "store",
            HostPage::Nodes => "nodes",
            HostPage::DrainNode(_) => "drain-node",
        }),
        Content::Stream(stream) => {
            out.set_stream(&topic(stream.topic));
            out.set_last(place(stream.last));
            out.set_body(stream.bytes);
        }
    }
    out
}

/// Writes headers one per line; one whose value would not fit on a line is left out.
fn lines(headers: &[(&'static str, String)]) -> String {
    let mut lines = String::new();
    for (name, value) in headers.iter().filter(|(_, value)| !value.chars().any(char::is_control)) {
        lines.extend([name, ": ", value, "\n"]);
    }
    lines
}

fn send(send: Send) -> JsObject {
    let out = JsObject::new();
    out.set_ticket(match send.ticket {
        Ticket::Exchange => None,
        Ticket::Job { account, task, lease } => {
            let ticket = JsObject::new();
            ticket.set_account(account);
            ticket.set_task(task.to_bytes());
            ticket.set_lease(lease);
            Some(ticket)
        }
    });
    out.set_work(&work(send.work));
    out
}

fn work(work: Work) -> JsObject {
    let out = JsObject::new();
    match work {
        Work::Http(request) => {
            out.set_kind("http");
            http(&out, request);
        }
        Work::HashPassword { password, salt } => {
            out.set_kind("hash");
            out.set_password(&password.0);
            out.set_salt(salt.to_vec());
        }
        Work::VerifyPassword { password, stored } => {
            out.set_kind("verify");
            out.set_password(&password.0);
            out.set_stored(stored);
        }
        Work::Yield | Work::DeleteObject(_) => out.set_kind("yield"),
        Work::Extract { form, bytes } => {
            out.set_kind("extract");
            out.set_form(match form {
                TextForm::Pdf => "pdf",
                TextForm::Docx => "docx",
                TextForm::Txt => "txt",
                TextForm::Html => "html",
            });
            out.set_bytes(bytes);
        }
    }
    out
}

#[expect(clippy::cast_precision_loss, reason = "a time-out is far below 2^53 ms")]
fn http(out: &JsObject, request: HttpOut) {
    let header = |(name, value): (String, switchboard_core::record::Secret)| {
        JsValue::from(Array::of2(&JsValue::from(name), &JsValue::from(value.0)))
    };
    out.set_method(request.method);
    out.set_url(&request.url);
    out.set_headers(&request.headers.into_iter().map(header).collect());
    out.set_body(request.body);
    out.set_timeout_ms(request.timeout_ms as f64);
    out.set_reply_bytes_max(size(request.reply_bytes_max));
    out.set_egress(match request.egress {
        Egress::User => "user",
        Egress::Operator => "operator",
        Egress::Model => "model",
    });
    out.set_redirects(match request.redirects {
        Redirects::None => "none",
        Redirects::SameOrigin => "same-origin",
        Redirects::Any => "any",
    });
}

/// Converts an answer that the core made itself.
pub fn answer(answer: Answer) -> JsObject {
    let out = JsObject::new();
    match answer {
        Answer::Hashed(digest) => {
            out.set_kind("hashed");
            out.set_digest(digest);
        }
        Answer::Verified(fits) => {
            out.set_kind("verified");
            out.set_fits(fits);
        }
        Answer::Failed(SendError::Unreachable) => {
            out.set_kind("failed");
            out.set_error("unreachable");
        }
        _ => unreachable!("the core answers for passwords only"),
    }
    out
}
