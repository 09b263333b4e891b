//! Output, converted from the core's types.

use switchboard_core::http::reply::{Content, HostPage, Reply};
use switchboard_core::key::Topic;
use switchboard_core::outside::{Answer, Egress, Extracted, HttpIn, HttpOut, Redirects, SendError, TextForm, Work};
use switchboard_core::rate::Caller;
use switchboard_core::remote::Fault;
use switchboard_core::step::{Outcome, Output, Send, Ticket};
use switchboard_core::store::Change;
use switchboard_core::view::{Order, Read, Stop};

use crate::bindings::exports::switchboard::core::types as wit;

/// Converts a read that the host must execute.
pub fn read(read: Read) -> wit::Read {
    match read {
        Read::Get(key) => wit::Read::Get(key),
        Read::Scan(scan) => wit::Read::Scan(wit::Scan {
            from: scan.from,
            to: scan.to,
            descending: scan.order == Order::Descending,
            limit: u32::try_from(scan.limit).unwrap_or(u32::MAX),
        }),
        Read::Admit(caller) => wit::Read::Admit(match caller {
            Caller::Token { account, token } => wit::Caller::Token(wit::TokenCaller { account, token }),
            Caller::Reply { account, token } => wit::Caller::Reply(wit::TokenCaller { account, token }),
            Caller::LoginPair(digest) => wit::Caller::LoginPair(digest),
            Caller::LoginAddress(digest) => wit::Caller::LoginAddress(digest),
        }),
    }
}

/// Converts the output of a step.
pub fn output(output: Output) -> wit::Output {
    wit::Output {
        outcome: match output.outcome {
            // Settings of an embedder name no place for recordings, so it is never asked to store a body.
            Outcome::Nothing | Outcome::StoreBody(_) => wit::Outcome::Nothing,
            Outcome::Reply(sent) => wit::Outcome::Reply(reply(sent)),
            Outcome::ReadBody(max) => wit::Outcome::ReadBody(max as u64),
            Outcome::Wait => wit::Outcome::Wait,
            Outcome::Yield => wit::Outcome::Yield,
            Outcome::Park(awaited, until) => {
                wit::Outcome::Park(wit::Park { topic: topic(awaited), until: until.micros() })
            }
        },
        changes: output.changes.into_iter().map(change).collect(),
        sends: output.sends.into_iter().map(send).collect(),
        wake: output.wake.map(switchboard_core::time::Timestamp::micros),
        used: output.used.map(|used| wit::Credential {
            account: used.account,
            session: used.session,
            count: used.count,
        }),
        account: output.account,
    }
}

fn change(change: Change) -> wit::Change {
    match change {
        Change::Put(key, value) => wit::Change::Put(wit::Row { key, value }),
        Change::Delete(key) => wit::Change::Delete(key),
    }
}

fn reply(reply: Reply) -> wit::Reply {
    wit::Reply {
        status: reply.status,
        headers: reply
            .headers
            .into_iter()
            .map(|(name, value)| wit::TextHeader { name: name.to_owned(), value })
            .collect(),
        content: match reply.content {
            Content::Json(bytes) => wit::Content::Json(bytes),
            // Nor to read an object.
            Content::Empty | Content::Object(_) => wit::Content::Empty,
            Content::Host(page) => wit::Content::Host(match page {
                HostPage::Ready => wit::HostPage::Ready,
                HostPage::Metrics => wit::HostPage::Metrics,
                HostPage::Docs => wit::HostPage::Docs,
                HostPage::Home => wit::HostPage::Home,
                HostPage::Console => wit::HostPage::Console,
                HostPage::Widget => wit::HostPage::Widget,
                HostPage::Backup => wit::HostPage::Backup,
                HostPage::Store => wit::HostPage::Store,
                HostPage::Nodes => wit::HostPage::Nodes,
                HostPage::DrainNode(_) => wit::HostPage::DrainNode,
            }),
            // Embedders do not ask for pieces: lists arrive whole.
            Content::Piece(piece) => wit::Content::Json(piece.bytes),
            Content::Stream(stream) => {
                wit::Content::Events(wit::Events { topic: topic(stream.topic), bytes: stream.bytes, last: stream.last })
            }
        },
    }
}

fn topic(topic: Topic) -> wit::Topic {
    match topic {
        Topic::Waiting => wit::Topic::Waiting,
        Topic::Trunks => wit::Topic::Trunks,
        Topic::Feed(account) => wit::Topic::Feed(account),
        Topic::Call(account, call) => wit::Topic::Call(wit::CallTopic { account, call }),
    }
}

fn send(send: Send) -> wit::Send {
    wit::Send {
        ticket: match send.ticket {
            Ticket::Exchange => wit::Ticket::Exchange,
            Ticket::Job { account, task, lease } => {
                wit::Ticket::Job(wit::Job { account, task: task.to_bytes(), lease })
            }
        },
        work: match send.work {
            Work::Http(out) => wit::Work::Http(http_out(out)),
            Work::HashPassword { password, salt } => {
                wit::Work::HashPassword(wit::NewPassword { password: password.0, salt: salt.to_vec() })
            }
            Work::VerifyPassword { password, stored } => {
                wit::Work::VerifyPassword(wit::PasswordCheck { password: password.0, stored })
            }
            // Nor to delete one: it would yield, which is no answer to that.
            Work::Yield | Work::DeleteObject(_) => wit::Work::Yield,
            Work::Extract { form, bytes } => wit::Work::Extract(wit::File {
                form: match form {
                    TextForm::Pdf => wit::TextForm::Pdf,
                    TextForm::Docx => wit::TextForm::Docx,
                    TextForm::Txt => wit::TextForm::Txt,
                    TextForm::Html => wit::TextForm::Html,
                },
                bytes,
            }),
        },
    }
}

fn http_out(out: HttpOut) -> wit::HttpOut {
    wit::HttpOut {
        method: out.method.to_owned(),
        url: out.url,
        headers: out.headers.into_iter().map(|(name, value)| wit::TextHeader { name, value: value.0 }).collect(),
        body: out.body,
        timeout_ms: out.timeout_ms,
        reply_bytes_max: out.reply_bytes_max as u64,
        egress: match out.egress {
            Egress::User => wit::Egress::User,
            Egress::Operator => wit::Egress::Operator,
            Egress::Model => wit::Egress::Model,
        },
        redirects: match out.redirects {
            Redirects::None => wit::Redirects::None,
            Redirects::SameOrigin => wit::Redirects::SameOrigin,
            Redirects::Any => wit::Redirects::Any,
        },
    }
}

/// Converts an answer that the core made itself.
pub fn answer(answer: Answer) -> wit::Answer {
    match answer {
        Answer::Http(http) => wit::Answer::Http(http_in(http)),
        Answer::Failed(error) => wit::Answer::Failed(match error {
            SendError::Refused => wit::SendError::Refused,
            SendError::Unreachable => wit::SendError::Unreachable,
            SendError::TimedOut => wit::SendError::TimedOut,
            SendError::ShareUsed => wit::SendError::ShareUsed,
            SendError::Busy => wit::SendError::Busy,
        }),
        Answer::Hashed(bytes) => wit::Answer::Hashed(bytes),
        Answer::Verified(fits) => wit::Answer::Verified(fits),
        Answer::Elapsed => wit::Answer::Elapsed,
        Answer::Yielded => wit::Answer::Yielded,
        Answer::Extracted(read) => wit::Answer::Extracted(read.map(extracted)),
        Answer::Rest(_) => unreachable!("the core never answers itself for the rest of a list"),
        Answer::Stored(_) | Answer::ObjectDeleted(_) => unreachable!("the core keeps no objects itself"),
    }
}

fn http_in(http: HttpIn) -> wit::HttpIn {
    wit::HttpIn {
        status: http.status,
        headers: http.headers.into_iter().map(|(name, value)| wit::TextHeader { name, value }).collect(),
        body: http.body,
        cut: http.cut,
        duration_ms: http.duration_ms,
    }
}

fn extracted(read: Extracted) -> wit::Extracted {
    wit::Extracted {
        title: read.title,
        text: read.text,
        links: read.links,
        base_href: read.base_href,
        noindex: read.noindex,
    }
}

/// Converts the reason why a step failed.
pub fn stop(fault: Fault) -> wit::Stop {
    match fault {
        Fault::Stopped(Stop::Corrupt(what)) => wit::Stop::Corrupt(what.to_owned()),
        Fault::Stopped(Stop::OverBudget) => wit::Stop::OverBudget,
        // A session asks for what is missing instead of stopping with it, and all accounts are there.
        Fault::Stopped(Stop::Failed | Stop::Missing(_) | Stop::Elsewhere(_)) => wit::Stop::Failed,
        Fault::Misread(what) => wit::Stop::Misread(what.to_owned()),
    }
}
