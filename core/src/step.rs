//! What goes into a step and what it decides.

use alloc::vec::Vec;

use crate::http::caller::Credential;
use crate::http::notice::Notice;
use crate::http::reply::Reply;
use crate::http::request::Request;
use crate::job::Task;
use crate::key::Topic;
use crate::outside::{Answer, Work};
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

/// An [`Input`] that owns what it is about, for whoever keeps it over several steps.
#[derive(Clone, Debug)]
pub enum OwnedInput {
    /// An HTTP request, with the answers so far.
    Http(Request, Vec<Answer>),
    /// A send of a job has ended.
    Answered(Ticket, Answer),
    /// Durable work may be due.
    Tick,
    /// Credentials that were used.
    Used(Vec<Credential>),
    /// An empty store, with the answers so far.
    FirstStart(Vec<Answer>),
}

impl OwnedInput {
    /// The input of a step.
    pub fn borrow(&self) -> Input<'_> {
        match self {
            Self::Http(request, answers) => Input::Http(request, answers),
            Self::Answered(ticket, answer) => Input::Answered(ticket.clone(), answer.clone()),
            Self::Tick => Input::Tick,
            Self::Used(credentials) => Input::Used(credentials),
            Self::FirstStart(answers) => Input::FirstStart(answers),
        }
    }

    /// Adds an answer to those that came so far; what asks nothing takes none.
    pub fn answer(&mut self, answer: Answer) {
        match self {
            Self::Http(_, answers) | Self::FirstStart(answers) => answers.push(answer),
            Self::Answered(..) | Self::Tick | Self::Used(_) => {}
        }
    }
}

/// What a step decided. Nothing has happened yet: the host commits, then replies, then sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// The account for which a request's sends are done, whoever called: its share of each budget pays for them.
    pub account: Option<u32>,
    /// What the operator should know of it.
    pub notice: Option<Notice>,
    /// What the step read or what it changed, whichever is more, bytes.
    pub spent: u32,
}

/// What becomes of an HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Run the step again when there is news of a topic, and at this time if there is none.
    Park(Topic, Timestamp),
    /// Run the step again with one more [`Answer::Elapsed`], behind whoever waits to write: what it changes takes
    /// more than one commit.
    Again,
}

/// Whom an answer is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// The HTTP request that asked.
    Exchange,
    /// A task of an account.
    Job {
        /// The account's number.
        account: u32,
        /// The task.
        task: Task,
        /// Which question of it, so that a late answer to an earlier one is told apart.
        lease: u32,
    },
}

/// Something to do outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// Whom the answer is for.
    pub ticket: Ticket,
    /// What to do.
    pub work: Work,
}

impl Send {
    /// What an HTTP request asks for.
    pub fn of_exchange(work: Work) -> Self {
        Self { ticket: Ticket::Exchange, work }
    }
}
