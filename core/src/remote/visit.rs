//! [`Visit`]: one request at a node at the edge, in the terms of the store protocol (docs/store-protocol.md).
//!
//! Routing, authentication, validation and the step itself run here; the region keeps the store, the rate
//! limits, the clock, and whatever takes longer than an answer. What a node does not carry out itself it hands
//! over as a whole: nothing of it was stored by then.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::course::{Course, Event, Next};
use super::wire::{CommitCall, Message, PassCall, ReadAnswer, ReadCall};
use crate::account::caller::Shown;
use crate::http::refusal::{Form, Invalid, Refusal};
use crate::http::reply::{Content, Reply};
use crate::http::request::{Body, Request};
use crate::http::route::Who;
use crate::limits::JSON_BODY_BYTES_MAX;
use crate::limits::remote::MESSAGE_BYTES_MAX;
use crate::seed::Seed;
use crate::service::Service;
use crate::step::{Outcome, Output, OwnedInput};
use crate::time::Timestamp;

/// One request on its way.
#[derive(Debug)]
pub struct Visit {
    course: Course,
    asked: Asked,
    opened: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Read,
    Commit,
}

/// What a node must do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Do {
    /// Send these bytes to this path of the region by `POST`, with the store token.
    Ask {
        /// The path.
        path: &'static str,
        /// The message.
        body: Vec<u8>,
    },
    /// Read the request's body, at most so many bytes.
    ReadBody(usize),
    /// Hand the request over: `POST /store/pass` with these bytes, then the request's body, that which was read
    /// included. What the region answers is the answer, as it comes.
    Pass {
        /// What goes before the body.
        head: Vec<u8>,
        /// The answer when the region cannot be reached.
        otherwise: Answered,
    },
    /// Answer.
    Reply(Answered),
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Its status.
    pub status: u16,
    /// All its headers.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// What came of it.
#[derive(Debug)]
pub enum Came {
    /// Nothing was done yet.
    Begin,
    /// The region's answer.
    Answer {
        /// Its status.
        status: u16,
        /// Its body.
        body: Vec<u8>,
    },
    /// There was none.
    Lost,
    /// The request's body, or as much of it as there is.
    Body(Body),
}

impl Visit {
    /// A request whose head was read. The node's own chance is used only where the store is not asked.
    pub fn new(request: Request, seed: Seed) -> Self {
        let input = OwnedInput::Http(request, Vec::new());
        Self { course: Course::new(input, Timestamp::default(), seed), asked: Asked::Read, opened: false }
    }

    /// Goes on.
    pub fn next(&mut self, service: &Service, came: Came) -> Do {
        let event = match came {
            Came::Begin if self.is_for_region(service) => return self.pass(),
            Came::Begin => Event::Begin,
            Came::Body(body) => Event::Body(body),
            Came::Answer { status: 409, .. } => Event::Changed,
            // It is too large for a message, so the region carries it out.
            Came::Answer { status: 413, .. } => return self.pass(),
            Came::Answer { status: 200, body } if self.asked == Asked::Read => match ReadAnswer::from_bytes(&body) {
                Ok(answer) => self.opened(answer),
                Err(_) => return self.unavailable(),
            },
            Came::Answer { status: 204, .. } if self.asked == Asked::Commit => Event::Committed,
            Came::Answer { .. } | Came::Lost => return self.unavailable(),
        };
        let next = self.course.next(service, event);
        self.act(service, next)
    }

    /// What engines ask waits, streams, or is for their calls: it belongs where the calls are.
    fn is_for_region(&self, service: &Service) -> bool {
        self.who(service) == Some(Who::Engine)
    }

    fn who(&self, service: &Service) -> Option<Who> {
        let request = self.course.request()?;
        service.who(request.method, &request.target)
    }

    /// The token of a request of an account, until the region has said what its rate limit is.
    fn shown(&self, service: &Service) -> Option<Shown> {
        let user = !self.opened && self.who(service) == Some(Who::User);
        if user { Shown::by(self.course.request()?).ok() } else { None }
    }

    fn opened(&mut self, answer: ReadAnswer) -> Event {
        if !self.opened {
            self.opened = true;
            self.course.set_scene(answer.now, answer.seed);
            answer.rates.into_iter().for_each(|(caller, rate)| self.course.tell(caller, rate));
        }
        Event::Found(answer.found)
    }

    fn act(&mut self, service: &Service, next: Next) -> Do {
        match next {
            Next::Read(reads) => {
                let call = ReadCall { seen: self.course.seen(), reads, shown: self.shown(service) };
                self.ask(Asked::Read, "/store/read", call.to_bytes())
            }
            Next::Commit(changes) => {
                let call = CommitCall { seen: self.course.seen(), changes };
                self.ask(Asked::Commit, "/store/commit", call.to_bytes())
            }
            Next::ReadBody(max) if max <= JSON_BODY_BYTES_MAX => Do::ReadBody(max),
            // Files, what asks the outside, what waits, and what others change too often.
            Next::ReadBody(_) | Next::Perform(_) | Next::Park(..) | Next::Contended => self.pass(),
            Next::Done(Output { outcome: Outcome::Reply(reply), .. }) => self.reply(reply),
            Next::Done(_) => self.unavailable(),
            Next::Failed(fault) => match self.course.failed(Some(&fault)) {
                Some(reply) => Do::Reply(reply.into()),
                None => self.unavailable(),
            },
        }
    }

    fn ask(&mut self, asked: Asked, path: &'static str, body: Vec<u8>) -> Do {
        if body.len() > MESSAGE_BYTES_MAX {
            return self.pass();
        }
        self.asked = asked;
        Do::Ask { path, body }
    }

    fn reply(&self, reply: Reply) -> Do {
        match reply.content {
            Content::Host(_) | Content::Stream(_) | Content::Piece(_) => self.pass(),
            Content::Json(_) | Content::Empty => Do::Reply(reply.into()),
        }
    }

    fn pass(&self) -> Do {
        let Some(request) = self.course.request() else { return self.unavailable() };
        let body = if request.body == Body::None { Body::None } else { Body::Pending };
        let (target, headers) = (request.target.clone(), request.headers.clone());
        let request = Request { target, headers, body, ..*request };
        let rates = self.course.session().cold().rates().iter().map(|(caller, rate)| (*caller, *rate)).collect();
        let message = PassCall { request, rates }.to_bytes();
        let mut head = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
        head.extend_from_slice(&message);
        Do::Pass { head, otherwise: self.lost() }
    }

    fn unavailable(&self) -> Do {
        Do::Reply(self.lost())
    }

    fn lost(&self) -> Answered {
        let reply = self.course.failed(None);
        reply.unwrap_or_else(|| Refusal::Unavailable.reply(Form::Message, Invalid::First)).into()
    }
}

impl From<Reply> for Answered {
    fn from(reply: Reply) -> Self {
        let (media, body) = match reply.content {
            Content::Json(body) => (Some("application/json"), body),
            Content::Empty | Content::Host(_) | Content::Stream(_) | Content::Piece(_) => (None, Vec::new()),
        };
        let mut headers: Vec<(&'static str, String)> = Vec::with_capacity(reply.headers.len() + 3);
        headers.extend(media.map(|media| ("content-type", media.to_string())));
        headers.push(("x-content-type-options", "nosniff".to_string()));
        headers.extend(reply.headers);
        // HEAD says how long the body would be; 204 and 304 have none (RFC 9110 section 8.6).
        if !matches!(reply.status, 204 | 304) && !headers.iter().any(|(name, _)| *name == "content-length") {
            headers.push(("content-length", body.len().to_string()));
        }
        Self { status: reply.status, headers, body }
    }
}
