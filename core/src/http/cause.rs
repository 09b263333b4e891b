//! [`Cause`]: why an operation may refuse. The one place where the status of an error is chosen: replies take it from
//! here, and so does the `OpenAPI` document, for each row of the route table the causes that it may meet.

use crate::key::Kind;

/// Why an operation refuses.
///
/// Most follow from the columns of a row; a row names the others itself
/// ([`Route::refuses`](super::route::Route::refuses)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Head or body cannot be read as what they should be.
    Malformed,
    /// What it asks for cannot be done now.
    Declined,
    /// The same, with `success: false` (campaign switch).
    Unsuccessful,
    /// No valid token.
    Unauthenticated,
    /// E-mail and password do not fit.
    WrongPassword,
    /// The balance does not cover it.
    Payment,
    /// The account is suspended.
    Suspended,
    /// The API key may only read.
    ReadOnly,
    /// It takes the token of a session.
    NoSession,
    /// A limit of the plan, or of the installation.
    Limit,
    /// The plan allows to store no more.
    Storage,
    /// The same for knowledgebases and their documents, which say it in their own form.
    KnowledgeStorage,
    /// No such operation at this address.
    NoRoute,
    /// What the path or the body names is not there, for this caller.
    NotFound,
    /// The same, with `success: false` (campaign switch).
    NotFoundUnsuccessful,
    /// Another method.
    Method,
    /// It conflicts with what is there.
    Conflict,
    /// An event of an engine that does not come next.
    OutOfOrder,
    /// The first request with the idempotency key is still running.
    KeyRunning,
    /// The first answer to the idempotency key showed a token and was not kept.
    KeySpent,
    /// What the first answer to the idempotency key showed was deleted.
    Deleted,
    /// Events that are no longer kept.
    Forgotten,
    /// `If-Match` names another state of the resource.
    Stale,
    /// The body is over its limit.
    TooLarge,
    /// The request target is over its limit.
    TargetTooLong,
    /// The body has a type that is not taken.
    MediaType,
    /// Fields of the body or of the query are wrong.
    Invalid,
    /// The body is no JSON object.
    NoObject,
    /// An idempotency key that is malformed, or was used with another request.
    Key,
    /// A `Last-Event-ID` that is none.
    EventId,
    /// It cannot be done with what the request names.
    Unprocessable,
    /// A limit of the plan that is told as a wrong field is (tools).
    ToolLimit,
    /// The plan allows to store no more, told as a wrong field is (tools).
    ToolStorage,
    /// Too many requests, or more at once than the share of the account or address.
    TooMany,
    /// The head is over its limit.
    HeadTooLarge,
    /// Somebody outside could not be reached, or failed.
    Outside,
    /// No room for more, or the store does not answer.
    Busy,
    /// The host's disk is full.
    DiskFull,
    /// No engine is attached.
    NoEngine,
    /// Somebody outside did not answer in time.
    Late,
}

/// The form of a refusal's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorBody {
    /// None.
    Empty,
    /// `{message}`
    Message,
    /// `{message}` or `{error}`, as the operation has it.
    Own,
    /// `{message, errors}`, or what stands for it in the operation's [`Invalid`](super::refusal::Invalid).
    Fields,
    /// `{message, retry_after}`
    Wait,
    /// `{message, success}`
    Unsuccessful,
    /// `{message, next_seq}`
    NextSeq,
}

impl Cause {
    /// Its status, the form of its body, and what the document says of it.
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
        }
    }

    /// Its status code.
    pub const fn status(self) -> u16 {
        self.facts().0
    }

    /// The form of its body.
    pub const fn body(self) -> ErrorBody {
        self.facts().1
    }

    /// What the document says of it, as a sentence.
    pub const fn doc(self) -> &'static str {
        self.facts().2
    }

    /// What is said where the plan allows to store no more, by what the request is about.
    pub const fn storage(about: Option<Kind>) -> Self {
        match about {
            Some(Kind::Tool) => Self::ToolStorage,
            Some(Kind::Knowledgebase | Kind::Document) => Self::KnowledgeStorage,
            _ => Self::Storage,
        }
    }
}
