//! [`Cause`]: why an operation may refuse. The single place that sets the status of an error: replies use it, and so
//! does the `OpenAPI` document, which lists for each route the causes that may apply.

use crate::key::Kind;

/// Reason for a refusal.
///
/// Most follow from the columns of a route; the others are listed in [`Route::refuses`](super::route::Route::refuses).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The head or the body cannot be parsed.
    Malformed,
    /// The request cannot be fulfilled in the current state.
    Declined,
    /// As `Declined`, with `success: false` (campaign switch).
    Unsuccessful,
    /// The token is missing, unknown or expired.
    Unauthenticated,
    /// E-mail and password do not match.
    WrongPassword,
    /// The balance does not cover the cost.
    Payment,
    /// The account is suspended.
    Suspended,
    /// The API key may only read.
    ReadOnly,
    /// The operation needs a session token, not an API key.
    NoSession,
    /// A limit of the plan or of the installation is reached.
    Limit,
    /// Credentials would go over a connection that others can read.
    Exposed,
    /// The called number is not on the trunk over which the call came.
    OffTrunk,
    /// The token of a web call was made for a page of another origin.
    Elsewhere,
    /// The plan's storage is used up.
    Storage,
    /// As `Storage`, for knowledgebases and their documents, which report it in their own form.
    KnowledgeStorage,
    /// No such operation at this path, or not at this address of the service.
    NoRoute,
    /// No resource that this caller may see matches the path or the body.
    NotFound,
    /// As `NotFound`, with `success: false` (campaign switch).
    NotFoundUnsuccessful,
    /// The path does not accept this method.
    Method,
    /// It conflicts with the state of the resource.
    Conflict,
    /// An engine event with an unexpected sequence number.
    OutOfOrder,
    /// The first request with the idempotency key is still running.
    KeyRunning,
    /// The first answer to the idempotency key contained a token, so it was not kept.
    KeySpent,
    /// A resource in the first answer to the idempotency key has been deleted.
    Deleted,
    /// The requested events are no longer kept.
    Forgotten,
    /// `If-Match` names another state of the resource.
    Stale,
    /// The body is over its limit.
    TooLarge,
    /// The request target is over its limit.
    TargetTooLong,
    /// The media type of the body is not accepted.
    MediaType,
    /// Some fields of the body or of the query are invalid.
    Invalid,
    /// The body has members that the operation does not know, and they are not to be ignored.
    Unknown,
    /// The body is valid JSON, but not an object.
    NoObject,
    /// The idempotency key is malformed, or was used with another request.
    Key,
    /// `Last-Event-ID` is not an event id.
    EventId,
    /// The resources that the request names do not allow it.
    Unprocessable,
    /// A limit of the plan is reached, reported as 422 like an invalid field (tools).
    ToolLimit,
    /// The plan's storage is used up, reported as 422 like an invalid field (tools).
    ToolStorage,
    /// Over the rate limit, or more at once than the account's or address's share.
    TooMany,
    /// The head is over its limit.
    HeadTooLarge,
    /// A service outside could not be reached, or failed.
    Outside,
    /// A budget of the host is exhausted, or the store does not answer.
    Busy,
    /// The host's disk is full.
    DiskFull,
    /// No voice engine is attached.
    NoEngine,
    /// A service outside did not answer in time.
    Late,
    /// The page that embeds the widget is of an origin that may not.
    Origin,
    /// The assistant of the call does not record.
    NotRecorded,
    /// The signature of a link is wrong, or too old.
    Link,
    /// The resource does not have the range of bytes.
    Range,
    /// The installation keeps no recordings.
    NotKept,
}

/// Form of an error body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorBody {
    /// No body.
    Empty,
    /// `{message}`
    Message,
    /// `{message}` or `{error}`, depending on the operation's [`Form`](super::refusal::Form).
    Own,
    /// `{message, errors}`, or what the operation's [`Invalid`](super::refusal::Invalid) uses instead.
    Fields,
    /// `{message, retry_after}`
    Wait,
    /// `{message, success}`
    Unsuccessful,
    /// `{message, next_seq}`
    NextSeq,
}

impl Cause {
    /// Returns the status, the form of the body and the sentence for the `OpenAPI` document.
    #[rustfmt::skip]
    const fn facts(self) -> (u16, ErrorBody, &'static str) {
        use ErrorBody::{Empty, Fields, Message, NextSeq, Own, Unsuccessful, Wait};
        match self {
            Self::Malformed => (400, Message, "The request is malformed."),
            Self::Declined => (400, Own, "What it asks for cannot be done now."),
            Self::Unsuccessful => (400, Unsuccessful, "The state of the resource does not allow it."),
            Self::Unauthenticated => (401, Message, "No valid token."),
            Self::WrongPassword => (401, Message, "The e-mail address and the password do not match."),
            Self::Payment => (402, Own, "The balance does not cover it."),
            Self::Suspended => (403, Message, "The account is suspended."),
            Self::ReadOnly => (403, Message, "The API key is read-only."),
            Self::NoSession => (403, Message, "An API key cannot do this; a session can."),
            Self::Limit => (403, Message, "A limit of the plan or of the installation is reached."),
            Self::Exposed => (403, Message, "Credentials would go over a connection that others can read."),
            Self::OffTrunk => (403, Message, "The called number is not on the trunk over which the call came."),
            Self::Elsewhere => (403, Message, "The token was made for a page of another origin."),
            Self::Storage => (403, Message, "The plan allows no more stored data."),
            Self::KnowledgeStorage => (403, Own, "The plan allows no more stored data."),
            Self::NoRoute => (404, Message, "This address does not serve the operation."),
            Self::NotFound => (404, Own, "There is no such resource for this caller."),
            Self::NotFoundUnsuccessful => (404, Unsuccessful, "There is no such resource for this caller."),
            Self::Method => (405, Message, "The path does not take this method."),
            Self::Conflict => (409, Own, "It conflicts with the state of the resource."),
            Self::OutOfOrder => (409, NextSeq, "An event is missing, or the state of the call does not allow one."),
            Self::KeyRunning => (409, Own, "The first request with this idempotency key is still running."),
            Self::KeySpent => (409, Own, "The first request with this idempotency key was carried out; its answer showed a token and is not kept."),
            Self::Deleted => (410, Message, "What the answer to this idempotency key showed was deleted."),
            Self::Forgotten => (410, Message, "The events asked for are older than the oldest one kept."),
            Self::Stale => (412, Message, "The resource is not in a state that `If-Match` names."),
            Self::TooLarge => (413, Message, "The body is too large."),
            Self::TargetTooLong => (414, Message, "Path and query are longer than 8 KiB."),
            Self::MediaType => (415, Message, "The body has a media type that is not accepted."),
            Self::Invalid => (422, Fields, "Some fields are invalid; each is named with its reasons."),
            Self::Unknown => (422, Fields, "The operation does not know some members, and was asked not to ignore them."),
            Self::NoObject => (422, Message, "The body is not a JSON object."),
            Self::Key => (422, Message, "The idempotency key is malformed, or was used with another request."),
            Self::EventId => (422, Message, "`Last-Event-ID` is not the id of an event."),
            Self::Unprocessable => (422, Message, "It cannot be done with the resources that it names."),
            Self::ToolLimit => (422, Message, "A limit of the plan is reached."),
            Self::ToolStorage => (422, Message, "The plan allows no more stored data."),
            Self::TooMany => (429, Wait, "Too many requests, or more at once than the share of the account or address."),
            Self::HeadTooLarge => (431, Empty, "The head of the request is too large."),
            Self::Outside => (502, Own, "A service outside could not be reached, or failed."),
            Self::Busy => (503, Message, "The service is busy, or its store does not answer."),
            Self::DiskFull => (503, Wait, "The disk of the service is full."),
            Self::NoEngine => (503, Message, "No voice engine is attached."),
            Self::Late => (504, Own, "A service outside did not answer in time."),
            Self::Origin => (403, Own, "Pages of this origin may not embed the assistant."),
            Self::NotRecorded => (403, Message, "The assistant of the call does not record."),
            Self::Link => (403, Message, "The link is not valid, or not any more."),
            Self::Range => (416, Message, "The range is not within what there is."),
            Self::NotKept => (501, Message, "The installation keeps no recordings."),
        }
    }

    /// Returns the HTTP status code.
    pub const fn status(self) -> u16 {
        self.facts().0
    }

    /// Returns the form of the error body.
    pub const fn body(self) -> ErrorBody {
        self.facts().1
    }

    /// Returns the word for it in bodies that have an `error_code`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "ASSISTANT_NOT_FOUND",
            Self::Payment => "INSUFFICIENT_BALANCE",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Suspended | Self::ReadOnly => "FORBIDDEN",
            Self::Limit | Self::Storage => "PLAN_LIMIT",
            Self::Conflict | Self::KeyRunning => "CONFLICT",
            Self::TooMany => "TOO_MANY_ATTEMPTS",
            Self::Outside | Self::Late => "MODEL_FAILED",
            Self::Busy | Self::DiskFull => "BUSY",
            Self::Invalid | Self::Unknown | Self::NoObject | Self::Unprocessable => "VALIDATION_FAILED",
            _ => "REQUEST_REFUSED",
        }
    }

    /// Returns its description in the `OpenAPI` document, a full sentence.
    pub const fn doc(self) -> &'static str {
        self.facts().2
    }

    /// Returns the cause for used-up storage, by the kind of resource that the request is about.
    pub const fn storage(about: Option<Kind>) -> Self {
        match about {
            Some(Kind::Tool) => Self::ToolStorage,
            Some(Kind::Knowledgebase | Kind::Document) => Self::KnowledgeStorage,
            _ => Self::Storage,
        }
    }
}
