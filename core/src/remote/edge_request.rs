//! [`EdgeRequest`]: one request at an edge node, over the store protocol (docs/store-protocol.md).
//!
//! Routing, authentication, validation and the step itself run here; the region keeps the store, the rate limits, the
//! clock, and all work that outlasts a reply. A request that a node does not process itself is handed over as a whole,
//! before anything of it was stored.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::input_run::{HostEvent, InputRun, Next};
use super::wire::{CommitCall, PassCall, ReadAnswer, ReadCall, WireMessage};
use crate::account::caller::PresentedToken;
use crate::http::refusal::Refusal;
use crate::http::reply::{Content, Reply};
use crate::http::request::{Body, Request};
use crate::http::route::Who;
use crate::limits::JSON_BODY_BYTES_MAX;
use crate::limits::remote::MESSAGE_BYTES_MAX;
use crate::seed::Seed;
use crate::service::Service;
use crate::step::{Outcome, Output, OwnedInput};
use crate::time::Timestamp;

/// One request in progress at a node.
#[derive(Debug)]
pub struct EdgeRequest {
    run: InputRun,
    asked: Asked,
    opened: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Read,
    Commit,
}

/// Next action of a node.
#[derive(Debug, PartialEq, Eq)]
pub enum Do {
    /// Send these bytes to this path of the region by `POST`, with the store token; return the answer as
    /// [`NodeEvent::Answer`].
    Ask {
        /// Path, `/store/read` or `/store/commit`.
        path: &'static str,
        /// Encoded message.
        body: Vec<u8>,
    },
    /// Read the request's body, at most this many bytes.
    ReadBody(usize),
    /// Hand the request over: `POST /store/pass` with these bytes, then the whole body of the request, including what
    /// was already read. The region's answer is passed on unchanged, as it arrives.
    Pass {
        /// Length (`u32`) and encoded head, to send before the body.
        head: Vec<u8>,
        /// Reply if the region cannot be reached: 503.
        otherwise: CompleteReply,
    },
    /// Send this reply.
    Reply(CompleteReply),
}

/// A complete reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompleteReply {
    /// Status code.
    pub status: u16,
    /// All headers, with names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// Complete body; for `HEAD` it is empty.
    pub body: Vec<u8>,
}

/// Result of a node's action.
#[derive(Debug)]
pub enum NodeEvent {
    /// Nothing was done yet: the first call.
    Begin,
    /// The region answered.
    Answer {
        /// Status code.
        status: u16,
        /// Complete body.
        body: Vec<u8>,
    },
    /// The region did not answer.
    Lost,
    /// The request's body, or how it failed to arrive.
    Body(Body),
}

impl EdgeRequest {
    /// Starts a request for a request whose head was read. The node's `seed` is used only if the store is never asked,
    /// which sends its own.
    pub fn new(request: Request, seed: Seed) -> Self {
        let input = OwnedInput::Http(request, Vec::new());
        Self { run: InputRun::new(input, Timestamp::default(), seed), asked: Asked::Read, opened: false }
    }

    /// Processes the result of the last action and returns the next one.
    pub fn next(&mut self, service: &Service, came: NodeEvent) -> Do {
        let event = match came {
            NodeEvent::Begin if self.is_for_region(service) => return self.pass(),
            NodeEvent::Begin => HostEvent::Begin,
            NodeEvent::Body(body) => HostEvent::Body(body),
            NodeEvent::Answer { status: 409, .. } => HostEvent::Changed,
            // The message or its answer is too large, so the region processes the request.
            NodeEvent::Answer { status: 413, .. } => return self.pass(),
            NodeEvent::Answer { status: 200, body } if self.asked == Asked::Read => match ReadAnswer::from_bytes(&body)
            {
                Ok(answer) => self.opened(answer),
                Err(_) => return self.unavailable(),
            },
            NodeEvent::Answer { status: 204, .. } if self.asked == Asked::Commit => HostEvent::Committed,
            NodeEvent::Answer { .. } | NodeEvent::Lost => return self.unavailable(),
        };
        let next = self.run.next(service, event);
        self.act(service, next)
    }

    /// Returns whether the region must process the request: engine requests wait, stream or concern calls, which live
    /// there, lists as CSV are read in many rounds and streamed, turns of conversations ask models, and recordings are
    /// where the region keeps them.
    fn is_for_region(&self, service: &Service) -> bool {
        let is_far =
            |request: &Request| service.is_csv(request) || service.is_turn(request) || service.is_object(request);
        self.who(service) == Some(Who::Engine) || self.run.request().is_some_and(is_far)
    }

    fn who(&self, service: &Service) -> Option<Who> {
        let request = self.run.request()?;
        service.who(request.method, &request.target)
    }

    /// Returns the token of an account's request, until the region has reported its rate limit.
    fn shown(&self, service: &Service) -> Option<PresentedToken> {
        let user = !self.opened && matches!(self.who(service), Some(Who::User | Who::Visitor));
        if user { PresentedToken::by(&service.setup.config, self.run.request()?).ok() } else { None }
    }

    fn opened(&mut self, answer: ReadAnswer) -> HostEvent {
        if !self.opened {
            self.opened = true;
            self.run.set_scene(answer.now, answer.seed);
            answer.rates.into_iter().for_each(|(caller, rate)| self.run.tell(caller, rate));
        }
        HostEvent::Found(answer.found)
    }

    fn act(&mut self, service: &Service, next: Next) -> Do {
        match next {
            Next::Read(reads) => {
                let call = ReadCall { seen: self.run.seen(), reads, shown: self.shown(service) };
                self.ask(Asked::Read, "/store/read", call.to_bytes())
            }
            Next::Commit(changes) => {
                let call = CommitCall { seen: self.run.seen(), changes };
                self.ask(Asked::Commit, "/store/commit", call.to_bytes())
            }
            Next::ReadBody(max) if max <= JSON_BODY_BYTES_MAX => Do::ReadBody(max),
            // Uploads, requests that need work outside, that wait, or that conflict too often.
            Next::ReadBody(_) | Next::Perform(_) | Next::Yield | Next::Park(..) | Next::Contended => self.pass(),
            Next::Done(Output { outcome: Outcome::Reply(reply), .. }) => self.reply(reply),
            Next::Done(_) => self.unavailable(),
            Next::Failed(fault) => match self.run.failed(Some(&fault)) {
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
            Content::Host(_) | Content::Stream(_) | Content::Piece(_) | Content::Object(_) => self.pass(),
            Content::Json(_) | Content::Empty => Do::Reply(reply.into()),
        }
    }

    fn pass(&self) -> Do {
        let Some(request) = self.run.request() else { return self.unavailable() };
        let body = if request.body == Body::None { Body::None } else { Body::Pending };
        let (target, headers) = (request.target.clone(), request.headers.clone());
        let request = Request { target, headers, body, ..*request };
        let rates = self.run.step().loaded().rates().iter().map(|(caller, rate)| (*caller, *rate)).collect();
        let message = PassCall { request, rates }.to_bytes();
        let mut head = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes().to_vec();
        head.extend_from_slice(&message);
        Do::Pass { head, otherwise: self.lost() }
    }

    fn unavailable(&self) -> Do {
        Do::Reply(self.lost())
    }

    fn lost(&self) -> CompleteReply {
        let reply = self.run.failed(None);
        let target = self.run.request().map_or("", |request| &request.target);
        reply.unwrap_or_else(|| Refusal::Unavailable.reply_to(target)).into()
    }
}

impl From<Reply> for CompleteReply {
    fn from(reply: Reply) -> Self {
        let (media, body) = match reply.content {
            Content::Json(body) => (Some("application/json"), body),
            Content::Empty | Content::Host(_) | Content::Stream(_) | Content::Piece(_) | Content::Object(_) => {
                (None, Vec::new())
            }
        };
        let mut headers: Vec<(&'static str, String)> = Vec::with_capacity(reply.headers.len() + 3);
        let media = media.filter(|_| !reply.headers.iter().any(|(name, _)| *name == "content-type"));
        headers.extend(media.map(|media| ("content-type", media.to_string())));
        headers.push(("x-content-type-options", "nosniff".to_string()));
        headers.extend(reply.headers);
        // `HEAD` already has the length of the body it would have; 204 and 304 have none (RFC 9110 section 8.6).
        if !matches!(reply.status, 204 | 304) && !headers.iter().any(|(name, _)| *name == "content-length") {
            headers.push(("content-length", body.len().to_string()));
        }
        Self { status: reply.status, headers, body }
    }
}
