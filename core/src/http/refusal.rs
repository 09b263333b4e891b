//! Every refusal and its body; its [`Cause`] determines the status.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::cause::{Cause, ErrorBody};
use super::reply::Reply;
use crate::json::{Object, ToJson};
use crate::key::{Kind, Topic};
use crate::record::Errors;
use crate::time::Timestamp;
use crate::view::Stop;

/// Which of the two error bodies an operation uses (docs/api.md, Error bodies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{message}`
    Message,
    /// `{error}`
    Error,
}

/// What `message` says beside `errors` (docs/api.md, Error bodies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// `Validation failed`
    Failed,
    /// `The given data was invalid.`
    GivenData,
    /// The first of the sentences in `errors`.
    First,
    /// As `First`, except that a bad tool name gets a sentence that names the field.
    Tool,
    /// The first sentence as `{error}`, without `errors`: number purchases and caller ids.
    Error,
}

/// Why a request was refused; nothing it changed is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 400: the request itself is malformed.
    BadRequest(String),
    /// 400 in the operation's own form: the request cannot be fulfilled in the current state.
    Declined(String),
    /// 400 with `success: false` (campaign switch).
    Unsuccessful(String),
    /// 401: no valid token.
    Unauthenticated,
    /// 401: e-mail and password do not match.
    WrongPassword,
    /// 402: the balance does not cover it.
    Payment(String),
    /// 403: the token does not allow it, or a plan limit is reached.
    Forbidden(String),
    /// 403 (422 for tools): the plan's storage is used up. Holds the kind of resource that the request is about, which
    /// selects the form of the body.
    OverStorage(Option<Kind>),
    /// 404: no operation at this path.
    NoRoute,
    /// 404: an operation of WhatsApp, which there is not.
    NoWhatsApp,
    /// 404: no such resource that this caller may see.
    NotFound(&'static str),
    /// 404 with `success: false` (campaign switch).
    NotFoundUnsuccessful(&'static str),
    /// 405: wrong method. Holds the value of `Allow`.
    Method(String),
    /// 409: the state of the resource does not allow it.
    Conflict(String),
    /// 409 with the sequence number expected next (engine events).
    OutOfOrder(String, u32),
    /// 410: it existed but is no longer kept.
    Gone(String),
    /// 412: the resource changed since the caller read it.
    Stale,
    /// 413: the body is too large. Holds the limit in bytes.
    TooLarge(usize),
    /// 414: path and query exceed `TARGET_BYTES_MAX`.
    TargetTooLong,
    /// 415: wrong media type. Holds the accepted ones, joined by "or".
    MediaType(String),
    /// 422: some fields are invalid, each with its reasons.
    Invalid(Errors),
    /// 422: the body has members that the operation does not know, and perhaps fields that are invalid; always in the
    /// form `{message, errors}`.
    Unknown(Errors),
    /// 422: one sentence, no fields.
    Unprocessable(String),
    /// 429: over the rate limit. Holds the seconds to wait.
    TooMany(u64),
    /// 429: this account or address has used up its share of a budget. Holds the seconds to wait.
    ShareUsed(u64),
    /// 503: a budget of the host is exhausted. Holds the seconds to wait.
    Busy(u64),
    /// 503: the host's disk is full. Holds the seconds to wait.
    DiskFull(u64),
    /// 502: the carrier, or another service, failed.
    BadGateway(String),
    /// 503: the store does not answer.
    Unavailable,
    /// 503: no engine is attached.
    NoEngine,
    /// 504: another service did not answer in time.
    GatewayTimeout(String),
}

/// Why a handler returned no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The request is refused; the handler's changes are dropped.
    Refuse(Refusal),
    /// It asked for work outside and runs again with the answer; its changes are committed first.
    Wait,
    /// It runs again on news of the topic, or at this time if there is none; its changes are committed first.
    Park(Topic, Timestamp),
    /// It runs again after other waiting writers; its changes are committed first.
    Yield,
    /// The step itself stops, for example because a read is not loaded yet.
    Stop(Stop),
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refuse(refusal)
    }
}

impl Refusal {
    /// Returns the cause, which determines the status.
    pub fn cause(&self) -> Cause {
        match self {
            Self::BadRequest(_) => Cause::Malformed,
            Self::Declined(_) => Cause::Declined,
            Self::Unsuccessful(_) => Cause::Unsuccessful,
            Self::Unauthenticated => Cause::Unauthenticated,
            Self::WrongPassword => Cause::WrongPassword,
            Self::Payment(_) => Cause::Payment,
            Self::Forbidden(_) => Cause::Limit,
            Self::OverStorage(about) => Cause::storage(*about),
            Self::NoRoute | Self::NoWhatsApp => Cause::NoRoute,
            Self::NotFound(_) => Cause::NotFound,
            Self::NotFoundUnsuccessful(_) => Cause::NotFoundUnsuccessful,
            Self::Method(_) => Cause::Method,
            Self::Conflict(_) => Cause::Conflict,
            Self::OutOfOrder(..) => Cause::OutOfOrder,
            Self::Gone(_) => Cause::Deleted,
            Self::Stale => Cause::Stale,
            Self::TooLarge(_) => Cause::TooLarge,
            Self::TargetTooLong => Cause::TargetTooLong,
            Self::MediaType(_) => Cause::MediaType,
            Self::Invalid(_) => Cause::Invalid,
            Self::Unknown(_) => Cause::Unknown,
            Self::Unprocessable(_) => Cause::Unprocessable,
            Self::TooMany(_) | Self::ShareUsed(_) => Cause::TooMany,
            Self::Busy(_) | Self::Unavailable => Cause::Busy,
            Self::DiskFull(_) => Cause::DiskFull,
            Self::BadGateway(_) => Cause::Outside,
            Self::NoEngine => Cause::NoEngine,
            Self::GatewayTimeout(_) => Cause::Late,
        }
    }

    /// Builds the reply for an operation that uses these forms.
    pub fn reply(self, form: Form, invalid: Invalid) -> Reply {
        let cause = self.cause();
        let status = cause.status();
        let form = if cause.body() == ErrorBody::Own { form } else { Form::Message };
        let says = match self {
            Self::Invalid(errors) => return fields(status, &errors, invalid),
            Self::Unknown(errors) => {
                let invalid = if invalid == Invalid::Error { Invalid::First } else { invalid };
                return fields(status, &errors, invalid);
            }
            Self::Method(allow) => {
                return plain(status, form, "This method is not allowed here.").header("allow", allow);
            }
            Self::Unauthenticated => {
                return plain(status, form, "Unauthenticated.").header("www-authenticate", "Bearer");
            }
            Self::Unsuccessful(says) => return with(status, &says, "success", false),
            Self::NoWhatsApp => return no_whatsapp(status),
            Self::NotFoundUnsuccessful(says) => return with(status, says, "success", false),
            Self::OutOfOrder(says, next_seq) => return with(status, &says, "next_seq", next_seq),
            Self::TooMany(seconds) => return wait(status, "Too many requests.", seconds),
            Self::ShareUsed(seconds) => return wait(status, "Too much at once. Try again shortly.", seconds),
            Self::Busy(seconds) => return wait(status, "The service is busy. Try again shortly.", seconds),
            Self::DiskFull(seconds) => return wait(status, DISK_FULL, seconds),
            Self::Unavailable => {
                return plain(status, form, "The service is not available right now.").header("retry-after", "1");
            }
            other => other.sentence(),
        };
        plain(status, form, &says)
    }

    /// Returns the text of a refusal whose body is a single sentence.
    fn sentence(self) -> String {
        match self {
            Self::BadRequest(says)
            | Self::Declined(says)
            | Self::Payment(says)
            | Self::Forbidden(says)
            | Self::Conflict(says)
            | Self::Gone(says)
            | Self::Unprocessable(says)
            | Self::BadGateway(says)
            | Self::GatewayTimeout(says) => says,
            Self::NotFound(says) => says.into(),
            Self::WrongPassword => "These credentials do not match our records.".into(),
            Self::OverStorage(_) => OVER_STORAGE.into(),
            Self::NoRoute => "Not found.".into(),
            Self::Stale => "The resource has changed since it was read.".into(),
            Self::TooLarge(limit) => format!("The request body must not be larger than {limit} bytes."),
            Self::TargetTooLong => "The request target is too long.".into(),
            Self::MediaType(taken) => format!("The content type must be {taken}."),
            Self::NoEngine => "No voice engine is attached to place the call.".into(),
            other => unreachable!("{other:?} has a body of its own"),
        }
    }
}

const DISK_FULL: &str = "The disk of the service is full: only deletes and the ends of calls are carried out.";
const OVER_STORAGE: &str = "You have reached your plan limit of stored data. Please delete some or upgrade your plan.";

fn plain(status: u16, form: Form, text: &str) -> Reply {
    let mut body = Vec::with_capacity(text.len() + 16);
    let mut object = Object::open(&mut body);
    object.member(if form == Form::Error { "error" } else { "message" }, text);
    object.close();
    Reply::with_status(status, body)
}

fn fields(status: u16, errors: &Errors, invalid: Invalid) -> Reply {
    let message = match invalid {
        Invalid::Failed => "Validation failed",
        Invalid::GivenData => "The given data was invalid.",
        Invalid::Tool if errors.first() == TOOL_NAME => {
            "The name field must contain only lowercase letters and underscores, and start with a letter."
        }
        Invalid::First | Invalid::Tool => errors.first(),
        Invalid::Error => return plain(status, Form::Error, errors.first()),
    };
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.member("message", message).member("errors", errors);
    object.close();
    Reply::with_status(status, body)
}

const TOOL_NAME: &str = "Tool name must contain only lowercase letters and underscores, and start with a letter.";

/// Builds `{message}` with one more member.
fn with(status: u16, says: &str, name: &str, value: impl ToJson) -> Reply {
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.member("message", says).member(name, value);
    object.close();
    Reply::with_status(status, body)
}

/// Builds the 404 that clients of WhatsApp read as "no sender is set up".
fn no_whatsapp(status: u16) -> Reply {
    const SAYS: &str = "This service has no WhatsApp senders.";
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.member("success", false).member("error", SAYS).member("error_code", "SENDER_NOT_FOUND");
    object.member("message", SAYS);
    object.close();
    Reply::with_status(status, body)
}

/// Builds a reply that may be retried after `seconds`.
fn wait(status: u16, says: &str, seconds: u64) -> Reply {
    with(status, says, "retry_after", seconds).header("retry-after", seconds.to_string())
}

/// Builds the 500 reply: the details are only in the log, under the request id.
pub fn server_error(request_id: &str) -> Reply {
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.member("message", "Server Error").member("request_id", request_id);
    object.close();
    Reply::with_status(500, body)
}
