//! What engines ask of all accounts, where several writers have them: it is asked of each.
//!
//! A claim goes from lane to lane and from node to node until one has something, each time from another one on, so that
//! all have their turn; it waits here, for news of any of them. A heartbeat goes to all of them at once, in parts; who does
//! not answer leaves the others theirs.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::http::request;
use hyper::{Method, Response, StatusCode};
use switchboard_core::engine::parts::{self, ForAll};
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::request::Body;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::exchange;
use super::front::Front;
use super::incoming::Coming;
use super::pass::{self, Dispatched, Origin, Unsent};
use super::response::{ResponseBody, full};
use super::routes::{OwnHost, Serving};
use crate::limiter::RateDecisions;

/// How often other nodes are looked at although no news has come.
const LOOK: Duration = Duration::from_secs(2);

/// Whoever has some of the accounts.
#[derive(Clone)]
enum Writer {
    Own(Arc<OwnHost>),
    Node(Arc<str>),
}

/// A request that is asked of several.
struct Asked {
    front: Arc<Front>,
    head: request::Parts,
    origin: Origin,
}

/// Returns what a request asks of all accounts, if it does, and several writers have them; and the host that sees whether
/// it may. A node without a host passes it on like any other request.
pub fn wanted(front: &Front, request: &Dispatched) -> Option<(Arc<OwnHost>, ForAll)> {
    let wanted = parts::for_all(request.head.uri.path()).filter(|_| request.head.method == Method::POST)?;
    let host = front.own().into_iter().next()?;
    (front.is_shared() || request.origin.is_part).then_some((host, wanted))
}

/// Answers such a request.
pub async fn answer(
    front: Arc<Front>,
    (host, wanted): (Arc<OwnHost>, ForAll),
    Dispatched { head, body, origin, .. }: Dispatched,
) -> Response<ResponseBody> {
    let request = exchange::request_of(&head, &body, origin.client, origin.door);
    let running = host.run();
    let (request, _held) = match exchange::admit(&host.host, request, body.coming()).await {
        Ok(admitted) => admitted,
        Err(refused) => return *refused,
    };
    let Body::Full(body) = request.body else {
        // It says what is wrong with it.
        let answer =
            exchange::carry(&front, &host.host, request, Coming::read(Bytes::new()), RateDecisions::default()).await;
        return answer.unwrap_or_else(|_| pass::refused(&head, Refusal::Unavailable));
    };
    // Whoever waits for calls does not keep the host from giving its lane up.
    drop(running);
    let (asked, body) = (Arc::new(Asked { front, head, origin }), Bytes::from(body));
    let answer = match wanted {
        ForAll::Claim => asked.claim(&body).await,
        ForAll::Heartbeat => Arc::clone(&asked).heartbeat(&body).await,
        ForAll::Check => asked.check(&body).await,
    };
    answer.unwrap_or_else(|| pass::refused(&asked.head, Refusal::Unavailable))
}

impl Asked {
    /// Returns all writers, those of this process first; a request from another node is for these alone.
    fn writers(&self) -> Vec<Writer> {
        let own = self.front.own().into_iter().map(Writer::Own);
        let others = self.front.others().into_iter().filter(|_| !self.origin.is_part).map(Writer::Node);
        own.chain(others).collect()
    }

    /// Asks each in turn until one has something; waits for news meanwhile.
    async fn claim(&self, body: &Bytes) -> Option<Response<ResponseBody>> {
        let Some((unwaited, wait)) = parts::unwaited(body) else { return self.first(body).await };
        let unwaited = Bytes::from(unwaited);
        let until = Instant::now() + self.front.real(if self.origin.is_part { 0 } else { wait });
        // Followed before anybody is asked: no news falls in between.
        let mut news = self.front.calls.follow();
        let turn = self.front.next_turn();
        loop {
            let mut nothing = None;
            let mut writers = self.writers();
            let first = turn % writers.len().max(1);
            writers.rotate_left(first);
            for writer in writers {
                if let Writer::Node(node) = &writer {
                    self.front.calls.ask(&self.front, Arc::clone(node));
                }
                match self.ask(&writer, unwaited.clone()).await {
                    Some(answer) if answer.status() == StatusCode::OK => {
                        let (head, body) = answer.into_parts();
                        let body = body.collect().await.ok()?.to_bytes();
                        let is_empty = parts::has_nothing(&body);
                        let answer = Response::from_parts(head, full(body));
                        if !is_empty {
                            return Some(answer);
                        }
                        nothing = Some(answer);
                    }
                    // One that does not answer leaves the others their turn.
                    None => {}
                    Some(refused) if refused.status() == StatusCode::SERVICE_UNAVAILABLE => {
                        nothing = nothing.or(Some(refused));
                    }
                    Some(refused) => return Some(refused),
                }
            }
            if Instant::now() >= until || self.front.is_gone() {
                return nothing;
            }
            let look = until.min(Instant::now() + LOOK);
            // Who tells of news lives as long as the request.
            let _ = timeout_at(look, news.changed()).await;
        }
    }

    /// Asks all of them, each for its own calls: one that does not answer renews none, and the others theirs.
    async fn heartbeat(self: Arc<Self>, body: &Bytes) -> Option<Response<ResponseBody>> {
        let mut asking = JoinSet::new();
        for (at, writer) in self.writers().into_iter().enumerate() {
            let Some(part) = parts::part(body, |account| self.has(&writer, account)) else {
                return self.first(body).await;
            };
            let asked = Arc::clone(&self);
            asking.spawn(async move { (at, asked.ask(&writer, part.into()).await) });
        }
        let mut asked = asking.join_all().await;
        asked.sort_by_key(|(at, _)| *at);
        let (mut answers, mut last, mut unavailable) = (Vec::new(), None, None);
        for answer in asked.into_iter().filter_map(|(_, answer)| answer) {
            match answer.status() {
                StatusCode::OK => {
                    let (head, body) = answer.into_parts();
                    answers.push(body.collect().await.ok()?.to_bytes().to_vec());
                    last = Some(head);
                }
                StatusCode::SERVICE_UNAVAILABLE => unavailable = Some(answer),
                _ => return Some(answer),
            }
        }
        let Some(mut head) = last else { return unavailable };
        let merged = Bytes::from(parts::merged(&answers)?);
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(merged.len()));
        Some(Response::from_parts(head, full(merged)))
    }

    /// Asks each in turn until one knows of the check.
    async fn check(&self, body: &Bytes) -> Option<Response<ResponseBody>> {
        let mut unknown = None;
        for writer in self.writers() {
            match self.ask(&writer, body.clone()).await {
                Some(answer) if answer.status() == StatusCode::NOT_FOUND => unknown = Some(answer),
                Some(answer) => return Some(answer),
                None => {}
            }
        }
        unknown
    }

    /// Asks the first: it says what is wrong with a request.
    async fn first(&self, body: &Bytes) -> Option<Response<ResponseBody>> {
        let first = self.writers().into_iter().next()?;
        self.ask(&first, body.clone()).await
    }

    fn has(&self, writer: &Writer, account: u32) -> bool {
        match (self.front.serving(account), writer) {
            (Serving::Here(here), Writer::Own(own)) => Arc::ptr_eq(&here, own),
            (Serving::There(there), Writer::Node(node)) => there == *node,
            _ => false,
        }
    }

    /// Asks one of them; `None` if it does not answer.
    async fn ask(&self, writer: &Writer, body: Bytes) -> Option<Response<ResponseBody>> {
        let own = match writer {
            Writer::Node(node) => return pass::part(&self.front, &self.head, node, self.origin, body).await,
            Writer::Own(own) => own,
        };
        let _running = own.run();
        let body = Unsent::Read(body);
        let request = exchange::request_of(&self.head, &body, self.origin.client, self.origin.door);
        exchange::carry(&self.front, &own.host, request, Coming::read(Bytes::new()), RateDecisions::default())
            .await
            .ok()
    }
}
