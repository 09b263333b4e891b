//! Input, converted to the core's types.

use switchboard_core::http::caller::Credential;
use switchboard_core::http::request::{Body, Door, Method, Request, known_header};
use switchboard_core::job::Task;
use switchboard_core::outside::{Answer, Extracted, HttpIn, SendError, Work};
use switchboard_core::rate::Rate;
use switchboard_core::record::Secret;
use switchboard_core::seed::Seed;
use switchboard_core::step::{OwnedInput, Ticket};
use switchboard_core::view::Found;

use crate::bindings::exports::switchboard::core::types as wit;

/// Converts the input of a step.
pub fn input(input: wit::Input) -> OwnedInput {
    match input {
        wit::Input::Http(exchange) => {
            OwnedInput::Http(request(exchange.request), exchange.answers.into_iter().map(answer).collect())
        }
        wit::Input::Answered(answered) => match ticket(answered.ticket) {
            Some(ticket) => OwnedInput::Answered(ticket, answer(answered.answer)),
            // A task of another release is ignored: what it waits for comes due again.
            None => OwnedInput::Tick,
        },
        wit::Input::Tick => OwnedInput::Tick,
        wit::Input::Used(credentials) => OwnedInput::Used(credentials.into_iter().map(credential).collect()),
        wit::Input::FirstStart(answers) => OwnedInput::FirstStart(answers.into_iter().map(answer).collect()),
    }
}

fn request(request: wit::Request) -> Request {
    Request {
        method: Method::parse(&request.method),
        target: request.target,
        headers: request.headers.into_iter().filter_map(header).collect(),
        body: match request.body {
            wit::Body::None => Body::None,
            wit::Body::Pending => Body::Pending,
            wit::Body::Full(bytes) => Body::Full(bytes),
            wit::Body::Cut => Body::Cut,
            wit::Body::TooLarge => Body::TooLarge,
        },
        peer: request.peer.and_then(|peer| peer.parse().ok()),
        door: match request.door {
            wit::Door::Main => Door::Main,
            wit::Door::Admin => Door::Admin,
        },
    }
}

fn header(header: wit::Header) -> Option<(&'static str, Vec<u8>)> {
    known_header(&header.name).map(|known| (known, header.value))
}

fn ticket(ticket: wit::Ticket) -> Option<Ticket> {
    match ticket {
        wit::Ticket::Exchange => Some(Ticket::Exchange),
        wit::Ticket::Job(job) => {
            let task = Task::from_bytes(&job.task)?;
            Some(Ticket::Job { account: job.account, task, lease: job.lease })
        }
    }
}

fn credential(credential: wit::Credential) -> Credential {
    Credential { account: credential.account, session: credential.session, count: credential.count }
}

/// Converts the four numbers of a seed to its 32 bytes.
pub fn seed((a, b, c, d): wit::Seed) -> Seed {
    let mut bytes = [0; 32];
    for (part, number) in bytes.chunks_exact_mut(8).zip([a, b, c, d]) {
        part.copy_from_slice(&number.to_be_bytes());
    }
    Seed::new(bytes)
}

/// Converts the result of a read.
pub fn found(found: wit::Found) -> Found {
    match found {
        wit::Found::Value(value) => Found::Value(value),
        wit::Found::Rows(rows) => Found::Rows(rows.into_iter().map(|row| (row.key, row.value)).collect()),
        wit::Found::Rate(rate) => Found::Rate(rate.map(|rate| Rate {
            admitted: rate.admitted,
            limit: rate.limit,
            remaining: rate.remaining,
            reset: rate.reset,
            retry_after: rate.retry_after,
        })),
    }
}

fn answer(answer: wit::Answer) -> Answer {
    match answer {
        wit::Answer::Http(http) => Answer::Http(HttpIn {
            status: http.status,
            headers: http.headers.into_iter().map(|header| (header.name, header.value)).collect(),
            body: http.body,
            cut: http.cut,
            duration_ms: http.duration_ms,
        }),
        wit::Answer::Failed(error) => Answer::Failed(match error {
            wit::SendError::Refused => SendError::Refused,
            wit::SendError::Unreachable => SendError::Unreachable,
            wit::SendError::TimedOut => SendError::TimedOut,
            wit::SendError::ShareUsed => SendError::ShareUsed,
            wit::SendError::Busy => SendError::Busy,
        }),
        wit::Answer::Hashed(bytes) => Answer::Hashed(bytes),
        wit::Answer::Verified(fits) => Answer::Verified(fits),
        wit::Answer::Elapsed => Answer::Elapsed,
        wit::Answer::Yielded => Answer::Yielded,
        wit::Answer::Extracted(read) => Answer::Extracted(read.map(|read| Extracted {
            title: read.title,
            text: read.text,
            links: read.links,
            base_href: read.base_href,
            noindex: read.noindex,
        })),
    }
}

/// Converts work; `None` for work that the core has no type for.
pub fn work(work: wit::Work) -> Option<Work> {
    Some(match work {
        wit::Work::Http(_) | wit::Work::Extract(_) => return None,
        wit::Work::Yield => Work::Yield,
        wit::Work::HashPassword(new) => {
            Work::HashPassword { password: Secret(new.password), salt: new.salt.try_into().ok()? }
        }
        wit::Work::VerifyPassword(check) => {
            Work::VerifyPassword { password: Secret(check.password), stored: check.stored }
        }
    })
}
