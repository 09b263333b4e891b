//! What goes into a step and what it decides.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

use crate::http::reply::Reply;
use crate::http::request::Request;
use crate::record::Secret;
use crate::store::Change;
use crate::time::Timestamp;

/// What a step is about.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// An HTTP request, with the answers to what its earlier runs asked for, in the order of asking.
    Http(&'a Request, &'a [Answer]),
    /// A send of a job has ended.
    Answered(Ticket, Answer),
    /// Durable work may be due.
    Tick,
    /// Credentials that were used since the host last said so.
    Used(&'a [Credential]),
    /// An empty store: make the owner's account and the operator's token.
    FirstStart(&'a [Answer]),
}

/// A token that authenticated: which row it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credential {
    /// The account's number.
    pub account: u32,
    /// Whether it is a session of a login.
    pub session: bool,
    /// Its count within the account and kind.
    pub count: u32,
}

/// What a step decided. Nothing has happened yet: the host commits, then replies, then sends.
#[derive(Debug, Default)]
pub struct Output {
    /// What becomes of an HTTP request.
    pub outcome: Outcome,
    /// All or nothing.
    pub changes: Vec<Change>,
    /// What to do once the changes are committed.
    pub sends: Vec<Send>,
    /// When to come back with [`Input::Tick`]; `None` leaves the host's plan as it is.
    pub wake: Option<Timestamp>,
    /// The token that authenticated.
    pub used: Option<Credential>,
}

/// What becomes of an HTTP request.
#[derive(Debug, Default)]
pub enum Outcome {
    /// There is none.
    #[default]
    Nothing,
    /// This answer.
    Reply(Reply),
    /// Read the body, at most this many bytes, and run the step again with it.
    ReadBody(usize),
    /// Run the step again when every send with [`Ticket::Exchange`] is answered.
    Wait,
}

/// Whom an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// The HTTP request that asked.
    Exchange,
    /// A job.
    Job {
        /// Its number.
        job: u32,
        /// Which try of it, so that a late answer of an earlier one is told apart.
        attempt: u32,
    },
}

/// Something to do outside.
#[derive(Clone, Debug)]
pub struct Send {
    /// Whom the answer is for.
    pub ticket: Ticket,
    /// What to do.
    pub work: Work,
}

/// What a step cannot do itself: another machine's answer, or slow pure work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// An HTTP request.
    Http(HttpOut),
    /// A new password's digest, by [`crate::work::perform`].
    HashPassword {
        /// The password.
        password: Secret,
        /// Its salt.
        salt: [u8; 16],
    },
    /// Whether a password fits a digest, by [`crate::work::perform`].
    VerifyPassword {
        /// The password.
        password: Secret,
        /// Salt and digest, as stored.
        stored: Vec<u8>,
    },
}

/// What came of a [`Work`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An HTTP answer.
    Http(HttpIn),
    /// No HTTP answer.
    Failed(SendError),
    /// Salt and digest of a password.
    Hashed(Vec<u8>),
    /// Whether the password fits.
    Verified(bool),
}

/// An HTTP request to the outside.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpOut {
    /// Its method.
    pub method: &'static str,
    /// Where to.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, Secret)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Until its answer must be complete, milliseconds.
    pub timeout_ms: u64,
    /// How much of the answer's body is read, bytes.
    pub reply_bytes_max: usize,
    /// Which addresses it may reach.
    pub egress: Egress,
}

impl fmt::Debug for HttpOut {
    /// Where to, and nothing that may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOut")
            .field("method", &self.method)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Whose choice an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// A user's: public addresses only, and those the operator allows.
    User,
    /// The operator's own configuration: any address.
    Operator,
}

/// An HTTP answer from the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpIn {
    /// Its status.
    pub status: u16,
    /// Its body, cut at the request's bound.
    pub body: Vec<u8>,
    /// `Retry-After` in seconds, where it was given so.
    pub retry_after: Option<u64>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The address is not one that may be reached.
    Refused,
    /// No connection, or it broke.
    Unreachable,
    /// Not complete in time.
    TimedOut,
    /// Longer than its bound.
    TooLarge,
}

/// What a handler asks for, and the answers that came so far, in the order of asking.
///
/// A handler runs from its start each time: it reads top to bottom, and asking twice is two calls.
pub struct Asks<'a> {
    answers: &'a [Answer],
    asked: Cell<usize>,
    sends: RefCell<Vec<Send>>,
}

impl<'a> Asks<'a> {
    /// With the answers so far.
    pub fn of(answers: &'a [Answer]) -> Self {
        Self { answers, asked: Cell::new(0), sends: RefCell::new(Vec::new()) }
    }

    /// The answer, or nothing yet: then the work is among [`Asks::sends`].
    pub fn ask(&self, work: impl FnOnce() -> Work) -> Option<Answer> {
        let at = self.asked.get();
        self.asked.set(at + 1);
        let answer = self.answers.get(at).cloned();
        if answer.is_none() {
            self.sends.borrow_mut().push(Send { ticket: Ticket::Exchange, work: work() });
        }
        answer
    }

    /// How many answers there are.
    pub fn answered(&self) -> usize {
        self.answers.len()
    }

    /// What has no answer yet.
    pub fn sends(&self) -> Vec<Send> {
        self.sends.take()
    }
}
