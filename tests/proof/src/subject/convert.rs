//! Conversions between the core's types and the bindings of a component's host.

use switchboard_core::http::caller::Credential;
use switchboard_core::http::reply::{Content, HostPage, Reply};
use switchboard_core::http::request::{Body, Door, HEADERS, Request};
use switchboard_core::job::Task;
use switchboard_core::key::Topic;
use switchboard_core::outside::{Answer, Egress, HttpOut, Redirects, SendError, TextForm, Work};
use switchboard_core::rate::Caller;
use switchboard_core::record::Secret;
use switchboard_core::seed::Seed;
use switchboard_core::step::{Outcome, Output, OwnedInput, Send, Ticket};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Found, Order, Read, Scan, Stop};

/// Generated types of the component's interface.
pub mod wit {
    pub use crate::subject::component::bindings::exports::switchboard::core::engine::Progress;
    pub use crate::subject::component::bindings::exports::switchboard::core::types::*;
}

/// Converts an input for the component.
pub fn input(input: &OwnedInput) -> wit::Input {
    let answers = |answers: &[Answer]| answers.iter().map(answer).collect();
    match input {
        OwnedInput::Http(sent, given) => {
            wit::Input::Http(wit::Exchange { request: request(sent), answers: answers(given) })
        }
        OwnedInput::Answered(to, given) => {
            wit::Input::Answered(wit::Answered { ticket: ticket(to), answer: answer(given) })
        }
        OwnedInput::Tick => wit::Input::Tick,
        OwnedInput::Used(used) => wit::Input::Used(used.iter().map(credential).collect()),
        OwnedInput::FirstStart(given) => wit::Input::FirstStart(answers(given)),
    }
}

fn request(request: &Request) -> wit::Request {
    let header = |(name, value): &(&str, Vec<u8>)| wit::Header { name: (*name).to_owned(), value: value.clone() };
    wit::Request {
        method: request.method.name().to_owned(),
        target: request.target.clone(),
        headers: request.headers.iter().map(header).collect(),
        body: match &request.body {
            Body::None => wit::Body::None,
            Body::Pending => wit::Body::Pending,
            Body::Full(bytes) => wit::Body::Full(bytes.clone()),
            Body::Cut => wit::Body::Cut,
            Body::TooLarge => wit::Body::TooLarge,
        },
        peer: request.peer.map(|peer| peer.to_string()),
        door: match request.door {
            Door::Main => wit::Door::Main,
            Door::Admin => wit::Door::Admin,
        },
    }
}

fn ticket(ticket: &Ticket) -> wit::Ticket {
    match ticket {
        Ticket::Exchange => wit::Ticket::Exchange,
        Ticket::Job { account, task, lease } => {
            wit::Ticket::Job(wit::Job { account: *account, task: task.to_bytes(), lease: *lease })
        }
    }
}

fn credential(used: &Credential) -> wit::Credential {
    wit::Credential { account: used.account, session: used.session, count: used.count }
}

fn answer(answer: &Answer) -> wit::Answer {
    match answer {
        Answer::Http(http) => wit::Answer::Http(wit::HttpIn {
            status: http.status,
            headers: http.headers.iter().cloned().map(|(name, value)| wit::TextHeader { name, value }).collect(),
            body: http.body.clone(),
            cut: http.cut,
            duration_ms: http.duration_ms,
        }),
        Answer::Failed(SendError::Refused) => wit::Answer::Failed(wit::SendError::Refused),
        Answer::Failed(SendError::Unreachable) => wit::Answer::Failed(wit::SendError::Unreachable),
        Answer::Failed(SendError::TimedOut) => wit::Answer::Failed(wit::SendError::TimedOut),
        Answer::Failed(SendError::ShareUsed) => wit::Answer::Failed(wit::SendError::ShareUsed),
        Answer::Failed(SendError::Busy) => wit::Answer::Failed(wit::SendError::Busy),
        Answer::Hashed(bytes) => wit::Answer::Hashed(bytes.clone()),
        Answer::Verified(fits) => wit::Answer::Verified(*fits),
        Answer::Elapsed => wit::Answer::Elapsed,
        Answer::Yielded => wit::Answer::Yielded,
        Answer::Rest(_) => unreachable!("nobody answers a component with the rest of a list"),
        Answer::Stored(_) | Answer::ObjectDeleted(_) => unreachable!("no component is asked to keep an object"),
        Answer::Extracted(read) => wit::Answer::Extracted(read.clone().map(|read| wit::Extracted {
            title: read.title,
            text: read.text,
            links: read.links,
            base_href: read.base_href,
            noindex: read.noindex,
        })),
    }
}

/// Converts a seed to four numbers.
pub fn seed(seed: Seed) -> wit::Seed {
    let part = |at: usize| seed.bytes()[at..at + 8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (part(0), part(8), part(16), part(24))
}

/// Converts the result of a read.
pub fn found(found: Found) -> wit::Found {
    match found {
        Found::Value(value) => wit::Found::Value(value),
        Found::Rows(rows) => wit::Found::Rows(rows.into_iter().map(|(key, value)| wit::Row { key, value }).collect()),
        Found::Rate(rate) => wit::Found::Rate(rate.map(|rate| wit::Rate {
            admitted: rate.admitted,
            limit: rate.limit,
            remaining: rate.remaining,
            reset: rate.reset,
            retry_after: rate.retry_after,
        })),
    }
}

/// Converts a read of the component.
pub fn read(read: wit::Read) -> Read {
    match read {
        wit::Read::Get(key) => Read::Get(key),
        wit::Read::Scan(scan) => Read::Scan(Scan {
            from: scan.from,
            to: scan.to,
            order: if scan.descending { Order::Descending } else { Order::Ascending },
            limit: scan.limit as usize,
        }),
        wit::Read::Admit(wit::Caller::Token(caller)) => {
            Read::Admit(Caller::Token { account: caller.account, token: caller.token })
        }
        wit::Read::Admit(wit::Caller::Reply(caller)) => {
            Read::Admit(Caller::Reply { account: caller.account, token: caller.token })
        }
        wit::Read::Admit(wit::Caller::LoginPair(digest)) => Read::Admit(Caller::LoginPair(digest)),
        wit::Read::Admit(wit::Caller::LoginAddress(digest)) => Read::Admit(Caller::LoginAddress(digest)),
    }
}

/// Converts an output of the component.
pub fn output(output: wit::Output) -> Output {
    Output {
        outcome: match output.outcome {
            wit::Outcome::Nothing => Outcome::Nothing,
            wit::Outcome::Reply(sent) => Outcome::Reply(reply(sent)),
            wit::Outcome::ReadBody(max) => Outcome::ReadBody(usize::try_from(max).expect("a size")),
            wit::Outcome::Wait => Outcome::Wait,
            wit::Outcome::Yield => Outcome::Yield,
            wit::Outcome::Park(park) => Outcome::Park(topic(park.topic), Timestamp::from_micros(park.until)),
        },
        changes: output.changes.into_iter().map(change).collect(),
        sends: output.sends.into_iter().map(send).collect(),
        wake: output.wake.map(Timestamp::from_micros),
        used: output.used.map(|used| Credential { account: used.account, session: used.session, count: used.count }),
        account: output.account,
        notice: None,
        progress: None,
        spent: 0,
    }
}

fn change(change: wit::Change) -> Change {
    match change {
        wit::Change::Put(row) => Change::Put(row.key, row.value),
        wit::Change::Delete(key) => Change::Delete(key),
    }
}

fn reply(reply: wit::Reply) -> Reply {
    Reply {
        status: reply.status,
        headers: reply.headers.into_iter().map(|header| (known(&header.name), header.value)).collect(),
        content: match reply.content {
            wit::Content::Json(bytes) => Content::Json(bytes),
            wit::Content::Empty => Content::Empty,
            wit::Content::Host(page) => Content::Host(match page {
                wit::HostPage::Ready => HostPage::Ready,
                wit::HostPage::Metrics => HostPage::Metrics,
                wit::HostPage::Docs => HostPage::Docs,
                wit::HostPage::Home => HostPage::Home,
                wit::HostPage::Console => HostPage::Console,
                wit::HostPage::Widget => HostPage::Widget,
                wit::HostPage::Backup => HostPage::Backup,
                wit::HostPage::Store => HostPage::Store,
                wit::HostPage::Nodes => HostPage::Nodes,
                // Its id stands in the path.
                wit::HostPage::DrainNode => HostPage::DrainNode([0; 16]),
            }),
            wit::Content::Events(_) => unreachable!("no script asks for a stream"),
        },
    }
}

/// Returns a header name as `'static`; only a few are known.
fn known(name: &str) -> &'static str {
    const NAMES: [&str; 20] = [
        "x-request-id",
        "etag",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "retry-after",
        "allow",
        "www-authenticate",
        "cache-control",
        "content-type",
        "content-length",
        "content-disposition",
        "vary",
        "idempotency-replayed",
        "access-control-allow-origin",
        "access-control-expose-headers",
        "access-control-allow-methods",
        "access-control-allow-headers",
        "access-control-max-age",
        "location",
    ];
    let found = NAMES.iter().chain(&HEADERS).find(|known| **known == name);
    found.copied().unwrap_or_else(|| leak(name.to_owned()))
}

fn leak(text: String) -> &'static str {
    String::leak(text)
}

fn topic(topic: wit::Topic) -> Topic {
    match topic {
        wit::Topic::Waiting => Topic::Waiting,
        wit::Topic::Trunks => Topic::Trunks,
        wit::Topic::Feed(account) => Topic::Feed(account),
        wit::Topic::Call(call) => Topic::Call(call.account, call.call),
    }
}

fn send(send: wit::Send) -> Send {
    Send {
        ticket: match send.ticket {
            wit::Ticket::Exchange => Ticket::Exchange,
            wit::Ticket::Job(job) => Ticket::Job {
                account: job.account,
                task: Task::from_bytes(&job.task).expect("a task of this release"),
                lease: job.lease,
            },
        },
        work: work(send.work),
    }
}

fn work(work: wit::Work) -> Work {
    match work {
        wit::Work::Http(out) => Work::Http(http_out(out)),
        wit::Work::HashPassword(new) => {
            Work::HashPassword { password: Secret(new.password), salt: new.salt.try_into().expect("a salt") }
        }
        wit::Work::VerifyPassword(check) => {
            Work::VerifyPassword { password: Secret(check.password), stored: check.stored }
        }
        wit::Work::Yield => Work::Yield,
        wit::Work::Extract(file) => Work::Extract {
            form: match file.form {
                wit::TextForm::Pdf => TextForm::Pdf,
                wit::TextForm::Docx => TextForm::Docx,
                wit::TextForm::Txt => TextForm::Txt,
                wit::TextForm::Html => TextForm::Html,
            },
            bytes: file.bytes,
        },
    }
}

fn http_out(out: wit::HttpOut) -> HttpOut {
    HttpOut {
        method: leak(out.method),
        url: out.url,
        headers: out.headers.into_iter().map(|header| (header.name, Secret(header.value))).collect(),
        body: out.body,
        timeout_ms: out.timeout_ms,
        reply_bytes_max: usize::try_from(out.reply_bytes_max).expect("a size"),
        egress: match out.egress {
            wit::Egress::User => Egress::User,
            wit::Egress::Operator => Egress::Operator,
            wit::Egress::Model => Egress::Model,
        },
        redirects: match out.redirects {
            wit::Redirects::None => Redirects::None,
            wit::Redirects::SameOrigin => Redirects::SameOrigin,
            wit::Redirects::Any => Redirects::Any,
        },
    }
}

/// Converts the reason why a step failed.
pub fn stop(stop: &wit::Stop) -> Stop {
    match stop {
        wit::Stop::Failed => Stop::Failed,
        wit::Stop::Corrupt(_) => Stop::Corrupt("as the component says"),
        wit::Stop::OverBudget => Stop::OverBudget,
        wit::Stop::Misread(what) => unreachable!("every read is carried out: {what}"),
    }
}
