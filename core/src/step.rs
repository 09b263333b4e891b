//! Input and output of a step.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::http::caller::Credential;
use crate::http::notice::Notice;
use crate::http::reply::Reply;
use crate::http::request::Request;
use crate::job::Task;
use crate::key::Topic;
use crate::object::ObjectUpload;
use crate::outside::{Answer, Work};
use crate::store::Change;
use crate::time::Timestamp;

/// Event that a step handles.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// An HTTP request, with the answers to the work that its earlier runs asked for, in the order of asking.
    Http(&'a Request, &'a [Answer]),
    /// Work that a job asked for is done.
    Answered(Ticket, Answer),
    /// Durable work may be due: run due tasks.
    Tick,
    /// Credentials used since the last such input, for their `last used` time.
    Used(&'a [Credential]),
    /// A start on a store that may be empty: create the owner's account and the operator's token, with the answers so
    /// far.
    FirstStart(&'a [Answer]),
}

/// An [`Input`] with owned data, to keep over several steps.
#[derive(Clone, Debug)]
pub enum OwnedInput {
    /// An HTTP request, with the answers so far.
    Http(Request, Vec<Answer>),
    /// Work that a job asked for is done.
    Answered(Ticket, Answer),
    /// Durable work may be due: run due tasks.
    Tick,
    /// Credentials used since the last such input.
    Used(Vec<Credential>),
    /// A start on a store that may be empty, with the answers so far.
    FirstStart(Vec<Answer>),
}

impl OwnedInput {
    /// Returns the input for one step.
    pub fn borrow(&self) -> Input<'_> {
        match self {
            Self::Http(request, answers) => Input::Http(request, answers),
            Self::Answered(ticket, answer) => Input::Answered(ticket.clone(), answer.clone()),
            Self::Tick => Input::Tick,
            Self::Used(credentials) => Input::Used(credentials),
            Self::FirstStart(answers) => Input::FirstStart(answers),
        }
    }

    /// Appends an answer; ignored for inputs that ask for nothing.
    pub fn answer(&mut self, answer: Answer) {
        match self {
            Self::Http(_, answers) | Self::FirstStart(answers) => answers.push(answer),
            Self::Answered(..) | Self::Tick | Self::Used(_) => {}
        }
    }
}

/// Decision of a step. Nothing has happened yet: the host commits, then replies, then sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// What to do with the HTTP request, if the input is one.
    pub outcome: Outcome,
    /// Changes to commit, all or none.
    pub changes: Vec<Change>,
    /// Work to start once the changes are committed.
    pub sends: Vec<Send>,
    /// When the next [`Input::Tick`] is due; `None` leaves the host's schedule unchanged.
    pub wake: Option<Timestamp>,
    /// Token that authenticated the request.
    pub used: Option<Credential>,
    /// Number of the account whose share of each budget pays for the request's sends, which may not be the caller's.
    pub account: Option<u32>,
    /// Message for the operator's log.
    pub notice: Option<Notice>,
    /// With [`Outcome::Wait`], for a caller who follows the operation: the reply so far, all frames from the first. A host
    /// may send what is new of them at once; the last reply has them again, for hosts that send the whole.
    pub progress: Option<Box<Reply>>,
    /// Bytes read or bytes changed by the step, whichever is more.
    pub spent: u32,
}

/// Next action for an HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// The input is not an HTTP request.
    #[default]
    Nothing,
    /// Send this reply.
    Reply(Reply),
    /// Read the body, at most this many bytes, and run the step again with it.
    ReadBody(usize),
    /// Stream the body into this object, and run the step again with one more [`Answer::Stored`]. Only a host with
    /// [`Config::keeps_recordings`](crate::setup::Config::keeps_recordings) is asked to.
    StoreBody(ObjectUpload),
    /// Run the step again when every send with [`Ticket::Exchange`] is answered.
    Wait,
    /// Run the step again on news of the topic, or at this time if there is none.
    Park(Topic, Timestamp),
    /// Run the step again with one more [`Answer::Yielded`], after other waiting writers: its changes take more than
    /// one commit.
    Yield,
}

/// Recipient of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// The HTTP request that asked.
    Exchange,
    /// A task of an account that asked.
    Job {
        /// Number of the account.
        account: u32,
        /// The task that asked.
        task: Task,
        /// Number of the question, so that a late answer to an earlier one is recognized.
        lease: u32,
    },
}

/// Work to do outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// Recipient of the answer.
    pub ticket: Ticket,
    /// Work to do; its answer goes to `ticket`.
    pub work: Work,
}

impl Send {
    /// Wraps work that an HTTP request asks for.
    pub fn of_exchange(work: Work) -> Self {
        Self { ticket: Ticket::Exchange, work }
    }
}
