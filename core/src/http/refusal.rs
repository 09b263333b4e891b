//! Every refusal and its body; its [`Cause`] determines the status.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::cause::{Cause, ErrorBody};
use super::reply::Reply;
use super::router::canonical;
use crate::json::{Object, ToJson};
use crate::key::{Kind, Topic};
use crate::object::ObjectUpload;
use crate::record::Errors;
use crate::time::Timestamp;
use crate::view::Stop;

/// Which error body an operation uses (docs/api.md, Error bodies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{message}`
    Message,
    /// `{error}`
    Error,
    /// `{status: false, error, message}`, whatever the cause: conversations.
    Status,
    /// `{success: false, error, error_code, message}`, whatever the cause: generated replies.
    Success,
}

impl Form {
    /// Returns the form of what is refused at a target before, or without, an operation.
    pub fn of_target(target: &str) -> Self {
        let path = canonical(target.split('?').next().unwrap_or_default());
        let is_below =
            |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match path {
            _ if ["/conversations", "/widgets", "/automate"].into_iter().any(is_below) => Self::Status,
            _ if ["/user/ai", "/ai", "/ai-replies"].into_iter().any(is_below) => Self::Success,
            _ => Self::Message,
        }
    }

    /// Returns whether every refusal has this form, not only those whose cause says so.
    const fn is_whole(self) -> bool {
        matches!(self, Self::Status | Self::Success)
    }
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
    /// The account is suspended.
    Suspended,
    /// The API key is read-only, and the operation writes.
    ReadOnly,
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
    /// 503: no engine is attached that can do it. Says which is missing.
    NoEngine(&'static str),
    /// 504: another service did not answer in time.
    GatewayTimeout(String),
    /// 403: the page with this origin may not embed the widget.
    Origin,
    /// 403: the assistant of the call does not record.
    NotRecorded,
    /// 403: the signature of a link is wrong, or too old.
    Link,
    /// 416: a range of bytes that the resource does not have. Holds its length.
    Range(u64),
    /// 501: this installation keeps no recordings.
    NotKept,
}

/// Why a handler returned no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The request is refused; the handler's changes are dropped.
    Refuse(Refusal),
    /// It asked for work outside and runs again with the answer; its changes are committed first.
    Wait,
    /// It runs again once the body is an object; its changes are committed first.
    Store(ObjectUpload),
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
            Self::Suspended => Cause::Suspended,
            Self::ReadOnly => Cause::ReadOnly,
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
            Self::NoEngine(_) => Cause::NoEngine,
            Self::GatewayTimeout(_) => Cause::Late,
            Self::Origin => Cause::Origin,
            Self::NotRecorded => Cause::NotRecorded,
            Self::Link => Cause::Link,
            Self::Range(_) => Cause::Range,
            Self::NotKept => Cause::NotKept,
        }
    }

    /// Builds the reply for a request that no operation took.
    pub fn reply_to(self, target: &str) -> Reply {
        self.reply(Form::of_target(target), Invalid::First)
    }

    /// Builds the reply for an operation that uses these forms.
    pub fn reply(self, form: Form, invalid: Invalid) -> Reply {
        let cause = self.cause();
        let own = form.is_whole() || cause.body() == ErrorBody::Own;
        let head = Head { status: cause.status(), form: if own { form } else { Form::Message }, code: cause.code() };
        let says = match self {
            Self::Invalid(errors) => return head.fields(&errors, invalid),
            Self::Unknown(errors) => {
                let invalid = if invalid == Invalid::Error { Invalid::First } else { invalid };
                return head.fields(&errors, invalid);
            }
            Self::Method(allow) => {
                return head.plain("This method is not allowed here.").header("allow", allow);
            }
            Self::Unauthenticated => {
                return head.plain("Unauthenticated.").header("www-authenticate", "Bearer");
            }
            Self::Unsuccessful(says) => return head.with(&says, "success", false),
            Self::NoWhatsApp => return no_whatsapp(head.status),
            Self::NotFoundUnsuccessful(says) => return head.with(says, "success", false),
            Self::OutOfOrder(says, next_seq) => return head.with(&says, "next_seq", next_seq),
            Self::TooMany(seconds) => {
                let says = if form == Form::Success { "Too Many Attempts." } else { "Too many requests." };
                return head.wait(says, seconds);
            }
            Self::ShareUsed(seconds) => return head.wait("Too much at once. Try again shortly.", seconds),
            Self::Busy(seconds) => return head.wait("The service is busy. Try again shortly.", seconds),
            Self::DiskFull(seconds) => return head.wait(DISK_FULL, seconds),
            Self::Range(bytes) => {
                let says = format!("The range is not within the {bytes} bytes that there are.");
                return head.plain(&says).header("content-range", format!("bytes */{bytes}"));
            }
            Self::Unavailable => {
                return head.plain("The service is not available right now.").header("retry-after", "1");
            }
            other => other.sentence(),
        };
        head.plain(&says)
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
            Self::NotFound(says) | Self::NoEngine(says) => says.into(),
            Self::WrongPassword => "These credentials do not match our records.".into(),
            Self::OverStorage(_) => OVER_STORAGE.into(),
            Self::NoRoute => "Not found.".into(),
            Self::Suspended => "This account is suspended.".into(),
            Self::ReadOnly => "This API key is read-only.".into(),
            Self::Stale => "The resource has changed since it was read.".into(),
            Self::TooLarge(limit) => format!("The request body must not be larger than {limit} bytes."),
            Self::TargetTooLong => "The request target is too long.".into(),
            Self::MediaType(taken) => format!("The content type must be {taken}."),
            Self::Origin => "Pages of this origin may not embed the assistant: its owner lists those that may.".into(),
            Self::NotRecorded => "The assistant of this call does not record.".into(),
            Self::Link => "The link is not valid, or not any more: read the call for a new one.".into(),
            Self::NotKept => "This installation keeps no recordings: its operator can switch that on.".into(),
            other => unreachable!("{other:?} has a body of its own"),
        }
    }
}

const DISK_FULL: &str = "The disk of the service is full: only deletes and the ends of calls are carried out.";
const OVER_STORAGE: &str = "You have reached your plan limit of stored data. Please delete some or upgrade your plan.";

/// What the body of a refusal begins with.
struct Head {
    status: u16,
    form: Form,
    code: &'static str,
}

impl Head {
    /// Builds the body: what its form says, and the members that `more` adds.
    fn reply(&self, says: &str, more: impl FnOnce(&mut Object<'_>)) -> Reply {
        let mut body = Vec::with_capacity(says.len() + 16);
        let mut object = Object::open(&mut body);
        match self.form {
            Form::Message => object.member("message", says),
            Form::Error => object.member("error", says),
            Form::Status => object.member("status", false).member("error", says).member("message", says),
            Form::Success => object
                .member("success", false)
                .member("error", says)
                .member("error_code", self.code)
                .member("message", says),
        };
        more(&mut object);
        object.close();
        Reply::with_status(self.status, body)
    }

    fn plain(&self, says: &str) -> Reply {
        self.reply(says, |_| {})
    }

    fn fields(&self, errors: &Errors, invalid: Invalid) -> Reply {
        let message = match invalid {
            Invalid::Failed => "Validation failed",
            Invalid::GivenData => "The given data was invalid.",
            Invalid::Tool if errors.first() == TOOL_NAME => {
                "The name field must contain only lowercase letters and underscores, and start with a letter."
            }
            Invalid::First | Invalid::Tool => errors.first(),
            Invalid::Error => return Self { form: Form::Error, ..*self }.plain(errors.first()),
        };
        self.with(message, "errors", errors)
    }

    /// Builds a body with one more member.
    fn with(&self, says: &str, name: &str, value: impl ToJson) -> Reply {
        self.reply(says, |object| {
            object.member(name, value);
        })
    }

    /// Builds a reply that may be retried after `seconds`.
    fn wait(&self, says: &str, seconds: u64) -> Reply {
        self.with(says, "retry_after", seconds).header("retry-after", seconds.to_string())
    }
}

const TOOL_NAME: &str = "Tool name must contain only lowercase letters and underscores, and start with a letter.";

/// Builds the 404 that clients of WhatsApp read as "no sender is set up".
fn no_whatsapp(status: u16) -> Reply {
    let head = Head { status, form: Form::Success, code: "SENDER_NOT_FOUND" };
    head.plain("This service has no WhatsApp senders.")
}

/// Builds the 500 reply: the details are only in the log, under the request id.
pub fn server_error(target: &str, request_id: &str) -> Reply {
    let head = Head { status: 500, form: Form::of_target(target), code: "SERVER_ERROR" };
    head.with("Server Error", "request_id", request_id)
}
