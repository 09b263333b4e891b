//! Input: plain JavaScript objects, converted to the core's types.
//!
//! A host that passes anything other than what `types.d.ts` says gets an exception or a misread value: never another
//! account's rows.

use js_sys::Uint8Array;
use switchboard_core::http::caller::Credential;
use switchboard_core::http::request::{Body, Door, Method, Request, known_header};
use switchboard_core::job::Task;
use switchboard_core::limits::{LINKS_MAX, TEXT_BYTES_MAX};
use switchboard_core::outside::{Answer, Extracted, HttpIn, SendError, Work};
use switchboard_core::record::Secret;
use switchboard_core::seed::Seed;
use switchboard_core::step::Ticket;
use switchboard_core::time::Timestamp;
use switchboard_core::view::Bytes;
use wasm_bindgen::prelude::*;

/// Longest title of a file or page, characters; the rest is cut off.
const TITLE_CHARS_MAX: usize = 255;
/// Longest reason why a file was not read, characters; the rest is cut off.
const REASON_CHARS_MAX: usize = 255;

#[wasm_bindgen]
extern "C" {
    /// A plain object or list from JavaScript.
    pub type In;

    #[wasm_bindgen(method, getter)]
    fn length(this: &In) -> u32;
    #[wasm_bindgen(method, indexing_getter)]
    pub fn at(this: &In, place: u32) -> In;
    #[wasm_bindgen(method, indexing_getter)]
    pub fn bytes_at(this: &In, place: u32) -> Option<Vec<u8>>;
    #[wasm_bindgen(method, indexing_getter)]
    fn text_at(this: &In, place: u32) -> String;

    // Events.
    #[wasm_bindgen(method, getter)]
    pub fn found(this: &In) -> Option<In>;
    #[wasm_bindgen(method, getter)]
    pub fn answers(this: &In) -> Option<In>;
    #[wasm_bindgen(method, getter)]
    pub fn body(this: &In) -> JsValue;

    // Requests and answers over HTTP.
    #[wasm_bindgen(method, getter)]
    fn method(this: &In) -> String;
    #[wasm_bindgen(method, getter)]
    fn target(this: &In) -> String;
    #[wasm_bindgen(method, getter, js_name = "headers")]
    fn head(this: &In) -> String;
    #[wasm_bindgen(method, getter)]
    fn peer(this: &In) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn status(this: &In) -> u16;
    #[wasm_bindgen(method, getter)]
    fn headers(this: &In) -> In;
    #[wasm_bindgen(method, getter, js_name = "body")]
    fn body_bytes(this: &In) -> Vec<u8>;
    #[wasm_bindgen(method, getter)]
    fn cut(this: &In) -> bool;
    #[wasm_bindgen(method, getter, js_name = "durationMs")]
    fn duration_ms(this: &In) -> f64;

    // Tickets and credentials.
    #[wasm_bindgen(method, getter)]
    fn account(this: &In) -> u32;
    #[wasm_bindgen(method, getter)]
    fn task(this: &In) -> Vec<u8>;
    #[wasm_bindgen(method, getter)]
    fn lease(this: &In) -> u32;
    #[wasm_bindgen(method, getter)]
    fn session(this: &In) -> bool;
    #[wasm_bindgen(method, getter)]
    fn count(this: &In) -> u32;

    // Work and other answers.
    #[wasm_bindgen(method, getter)]
    fn kind(this: &In) -> String;
    #[wasm_bindgen(method, getter)]
    fn error(this: &In) -> String;
    #[wasm_bindgen(method, getter)]
    fn digest(this: &In) -> Vec<u8>;
    #[wasm_bindgen(method, getter)]
    fn fits(this: &In) -> bool;
    #[wasm_bindgen(method, getter)]
    fn password(this: &In) -> String;
    #[wasm_bindgen(method, getter)]
    fn salt(this: &In) -> Vec<u8>;
    #[wasm_bindgen(method, getter)]
    fn stored(this: &In) -> Vec<u8>;

    // The text of files.
    #[wasm_bindgen(method, getter)]
    fn reason(this: &In) -> String;
    #[wasm_bindgen(method, getter)]
    fn title(this: &In) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn text(this: &In) -> String;
    #[wasm_bindgen(method, getter)]
    fn links(this: &In) -> In;
    #[wasm_bindgen(method, getter, js_name = "baseHref")]
    fn base_href(this: &In) -> Option<String>;
    #[wasm_bindgen(method, getter)]
    fn noindex(this: &In) -> bool;
}

impl In {
    fn items(&self) -> impl Iterator<Item = In> {
        (0..self.length()).map(|place| self.at(place))
    }
}

/// Converts microseconds since 1970.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast takes the nearest time")]
pub fn time(micros: f64) -> Timestamp {
    Timestamp::from_micros(micros as u64)
}

/// Converts a seed of 32 bytes.
pub fn seed(bytes: &[u8]) -> Seed {
    Seed::new(bytes.try_into().expect("a host draws 32 bytes"))
}

/// Converts a request over HTTP.
pub fn request(request: &In) -> Request {
    Request {
        method: Method::parse(&request.method()),
        target: request.target(),
        headers: request.head().lines().filter_map(header).collect(),
        body: body(&request.body()),
        peer: request.peer().and_then(|peer| peer.parse().ok()),
        door: Door::Main,
    }
}

/// Parses a line of a head. Its characters stand for bytes, as in the Fetch Standard; a value with any others is
/// dropped.
fn header(line: &str) -> Option<(&'static str, Vec<u8>)> {
    let (name, value) = line.split_once(": ")?;
    let known = known_header(name)?;
    let bytes = value.chars().map(|letter| u8::try_from(u32::from(letter)).ok()).collect::<Option<_>>()?;
    Some((known, bytes))
}

/// Converts a request's body.
pub fn body(body: &JsValue) -> Body {
    match body.as_string().as_deref() {
        Some("pending") => Body::Pending,
        Some("too-large") => Body::TooLarge,
        Some(_) => Body::Cut,
        None if body.is_null() || body.is_undefined() => Body::None,
        None => Body::Full(body.unchecked_ref::<Uint8Array>().to_vec()),
    }
}

/// Converts the rows of a scan.
pub fn rows(rows: &In) -> Vec<(Vec<u8>, Bytes)> {
    let bytes = |row: &In, place| row.bytes_at(place).unwrap_or_default();
    rows.items().map(|row| (bytes(&row, 0), bytes(&row, 1))).collect()
}

/// Converts the ticket of a send; `None` for a task that this release does not know.
pub fn ticket(ticket: &In) -> Option<Ticket> {
    let task = Task::from_bytes(&ticket.task())?;
    Some(Ticket::Job { account: ticket.account(), task, lease: ticket.lease() })
}

/// Converts the credentials that were used.
pub fn credentials(credentials: &In) -> Vec<Credential> {
    let one = |used: In| Credential { account: used.account(), session: used.session(), count: used.count() };
    credentials.items().map(one).collect()
}

/// Converts answers, in the order of their sends.
pub fn answers(answers: &In) -> Vec<Answer> {
    answers.items().map(|one| answer(&one)).collect()
}

/// Converts the answer to a send.
pub fn answer(answer: &In) -> Answer {
    match answer.kind().as_str() {
        "http" => Answer::Http(http(answer)),
        "hashed" => Answer::Hashed(answer.digest()),
        "verified" => Answer::Verified(answer.fits()),
        "elapsed" => Answer::Elapsed,
        "yielded" => Answer::Yielded,
        "extracted" => Answer::Extracted(extracted(answer)),
        "unreadable" => Answer::Extracted(Err(cut(&answer.reason(), REASON_CHARS_MAX))),
        _ => Answer::Failed(match answer.error().as_str() {
            "refused" => SendError::Refused,
            "timed-out" => SendError::TimedOut,
            "share-used" => SendError::ShareUsed,
            "busy" => SendError::Busy,
            _ => SendError::Unreachable,
        }),
    }
}

fn http(answer: &In) -> HttpIn {
    let headers = answer.headers().items().map(|header| (header.text_at(0), header.text_at(1))).collect();
    let duration_ms = time(answer.duration_ms()).micros();
    HttpIn { status: answer.status(), headers, body: answer.body_bytes(), cut: answer.cut(), duration_ms }
}

/// Converts the text of a file, within the bounds that the core sets for hosts.
fn extracted(read: &In) -> Result<Extracted, String> {
    let text = read.text();
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("The text of this file is longer than {TEXT_BYTES_MAX} bytes."));
    }
    let links = read.links();
    Ok(Extracted {
        title: read.title().map(|title| cut(&title, TITLE_CHARS_MAX)),
        text,
        links: (0..links.length()).take(LINKS_MAX).map(|place| links.text_at(place)).collect(),
        base_href: read.base_href(),
        noindex: read.noindex(),
    })
}

fn cut(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

/// Converts password work, which the core does itself; `None` for other work.
pub fn work(work: &In) -> Option<Work> {
    let password = || Secret(work.password());
    match work.kind().as_str() {
        "hash" => Some(Work::HashPassword { password: password(), salt: work.salt().try_into().ok()? }),
        "verify" => Some(Work::VerifyPassword { password: password(), stored: work.stored() }),
        _ => None,
    }
}
