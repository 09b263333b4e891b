//! From a request to its answer; checks run in the order of docs/api.md, Order of checks.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use super::{Service, shown};
use crate::account::caller::{self, PresentedToken};
use crate::account::storage;
use crate::engine;
use crate::http::caller::{AuthenticatedToken, Engine};
use crate::http::ctx::{Ctx, body_bytes_max};
use crate::http::etag;
use crate::http::idempotency::{self, IdempotencyDigests, KeyHolder};
use crate::http::ignored;
use crate::http::notice::Notice;
use crate::http::refusal::{Halt, Refusal, server_error};
use crate::http::reply::{Content, Reply};
use crate::http::request::{Body, Door, Method, Request};
use crate::http::route::{Footprint, Handled, Route, Who};
use crate::http::router::{RouteMatch, canonical};
use crate::http::stream;
use crate::id;
use crate::key::Space;
use crate::limits::{BUSY_SECONDS, FULL_SECONDS, TAGGED_BYTES_MAX, TARGET_BYTES_MAX};
use crate::outside::{Answer, AskedWork, SendError};
use crate::rate::Rate;
use crate::record::{Errors, format};
use crate::step::{Outcome, Output, Send};
use crate::store::Tx;
use crate::view::{Scene, Stop};
use crate::whatsapp;

/// Runs one request as far as its answers so far allow.
pub fn run(service: &Service, request: &Request, answers: &[Answer], scene: &Scene<'_>) -> Result<Output, Stop> {
    let tx = Tx::at(scene.view, scene.now);
    let exchange = Exchange {
        service,
        request,
        answers,
        scene,
        tx: &tx,
        rate: Cell::new(None),
        caller: Cell::new(None),
        engine: RefCell::new(None),
        admitted: Cell::new(false),
        account: Cell::new(None),
        notice: Cell::new(None),
        unknown: RefCell::default(),
        progress: RefCell::default(),
    };
    let (outcome, sends) = exchange.outcome()?;
    let changes = tx.finish()?;
    let used = exchange.caller.get().map(AuthenticatedToken::credential);
    Ok(Output {
        changes,
        sends,
        wake: None,
        used,
        account: exchange.account.get(),
        notice: exchange.notice.get(),
        progress: exchange.progress(&outcome),
        outcome,
        spent: tx.spent_bytes(),
    })
}

/// Returns the reply for a step that stopped or panicked (`stop` is `None`): 503 if the store failed, else 500. Nothing
/// was stored.
pub fn failed(request: &Request, stop: Option<&Stop>, scene_seed: &crate::seed::Seed) -> Reply {
    let id = request_id(request, scene_seed);
    let reply = match stop {
        Some(Stop::Failed) => Refusal::Unavailable.reply_to(&request.target),
        _ => server_error(&request.target, &id),
    };
    reply.header("x-request-id", id)
}

struct Exchange<'a> {
    service: &'a Service,
    request: &'a Request,
    answers: &'a [Answer],
    scene: &'a Scene<'a>,
    tx: &'a Tx<'a>,
    rate: Cell<Option<Rate>>,
    caller: Cell<Option<AuthenticatedToken>>,
    engine: RefCell<Option<Engine>>,
    admitted: Cell<bool>,
    account: Cell<Option<u32>>,
    notice: Cell<Option<Notice>>,
    /// Unknown members of the body.
    unknown: RefCell<Vec<String>>,
    /// Frames for a caller who follows the operation.
    progress: RefCell<Vec<u8>>,
}

type Sends = Vec<Send>;

impl Exchange<'_> {
    fn outcome(&self) -> Result<(Outcome, Sends), Stop> {
        let (path, query) = self.request.target.split_once('?').unwrap_or((&self.request.target, ""));
        let found = match self.find(path) {
            Ok(found) => found,
            Err(refusal) => {
                return Ok((Outcome::Reply(self.dress(refusal.reply_to(&self.request.target))), Vec::new()));
            }
        };
        if self.request.method == Method::Options {
            return Ok((Outcome::Reply(self.dress(self.options(&found))), Vec::new()));
        }
        let Some(route) = found.route(self.request.method) else {
            let refusal = Refusal::Method(found.allow());
            return Ok((Outcome::Reply(self.dress(refusal.reply_to(&self.request.target))), Vec::new()));
        };
        let (handled, sends) = self.operate(route, path, query, &found)?;
        let reply = match handled {
            Err(Halt::Stop(stop)) => return Err(stop),
            Err(Halt::Wait) if sends.is_empty() => {
                self.tx.forget();
                return Ok((Outcome::ReadBody(body_bytes_max(route)), sends));
            }
            Err(Halt::Wait) => return Ok((Outcome::Wait, sends)),
            Err(Halt::Store(upload)) => return Ok((Outcome::StoreBody(upload), Vec::new())),
            Err(Halt::Park(topic, until)) => return Ok((Outcome::Park(topic, until), Vec::new())),
            Ok(_) | Err(Halt::Yield) if self.is_over_storage(route)? => {
                self.tx.forget();
                self.notice.set(self.payer(route).map(Notice::OverStorage));
                Refusal::OverStorage(route.about).reply(route.form, route.invalid)
            }
            Err(Halt::Yield) => return Ok((Outcome::Yield, Vec::new())),
            Err(Halt::Refuse(refusal)) => {
                self.tx.forget();
                refusal.reply(route.form, route.invalid)
            }
            Ok(reply) => reply,
        };
        self.settle(route, query, &found.params, &reply)?;
        Ok((Outcome::Reply(self.dress(self.finish(route, reply))), Vec::new()))
    }

    /// Returns the reply so far to a caller who follows the operation.
    fn progress(&self, outcome: &Outcome) -> Option<Box<Reply>> {
        let is_followed = matches!(outcome, Outcome::Wait) && self.service.is_followed(self.request);
        is_followed.then(|| Box::new(self.dress(stream::whole(self.progress.take()))))
    }

    /// Returns whether a user's request would exceed the plan's storage. Requests that delete or end something are
    /// exempt, and so are those that already have an answer from outside, because what they asked for has happened.
    fn is_over_storage(&self, route: &Route) -> Result<bool, Stop> {
        match self.payer(route) {
            Some(account) if self.may_wait(route) => storage::is_over(self.tx, account),
            _ => Ok(false),
        }
    }

    /// Returns the account to whose storage an operation adds: the caller's, or the one that a stranger visits.
    fn payer(&self, route: &Route) -> Option<u32> {
        let caller = self.caller.get().map(|session| session.account);
        caller.or_else(|| self.account.get().filter(|_| route.who == Who::Visitor))
    }

    /// Returns whether a request is refused because the host's disk is full. Engines are exempt because they report
    /// what has happened, and the operator because they make room.
    fn is_without_room(&self, route: &Route) -> bool {
        matches!(route.who, Who::Anyone | Who::User | Who::Visitor) && self.may_wait(route) && self.scene.view.is_full()
    }

    /// Returns whether refusing a request for lack of room loses nothing.
    fn may_wait(&self, route: &Route) -> bool {
        let is_answered = self.answers.iter().any(|answer| !matches!(answer, Answer::Elapsed | Answer::Yielded));
        route.footprint != Footprint::None && !is_answered
    }

    fn find<'p>(&self, path: &'p str) -> Result<RouteMatch<'p>, Refusal> {
        if self.request.target.len() > TARGET_BYTES_MAX {
            return Err(Refusal::TargetTooLong);
        }
        let none = || if canonical(path).starts_with(whatsapp::PATHS) { Refusal::NoWhatsApp } else { Refusal::NoRoute };
        let found = self.service.router.find(path).ok_or_else(none)?;
        let operator = found.routes.iter().any(|route| route.who == Who::Operator);
        // With a separate admin address, operator routes do not exist at the public address, nor users' and engines'
        // routes at the admin address.
        let closed = self.service.setup.config.separate_admin
            && match self.request.door {
                Door::Main => operator,
                Door::Admin => {
                    found.routes.iter().any(|route| matches!(route.who, Who::User | Who::Engine | Who::Visitor))
                }
            };
        if closed { Err(Refusal::NoRoute) } else { Ok(found) }
    }

    fn operate(
        &self,
        route: &'static Route,
        path: &str,
        query: &str,
        found: &RouteMatch<'_>,
    ) -> Result<(Handled, Sends), Stop> {
        if let Err(halt) = self.admit(route) {
            return Ok((Err(halt), Vec::new()));
        }
        self.admitted.set(true);
        if let Some(refused) = self.replay(route, query, &found.params)? {
            return Ok((refused, Vec::new()));
        }
        if self.is_without_room(route) {
            return Ok((Err(Refusal::DiskFull(FULL_SECONDS).into()), Vec::new()));
        }
        if let Some(busy) = self.busy().filter(|_| !route.settles) {
            return Ok((Err(busy.into()), Vec::new()));
        }
        let ctx = Ctx {
            setup: &self.service.setup,
            request: self.request,
            route,
            path,
            query,
            params: &found.params,
            caller: self.caller.get(),
            engine: self.engine.borrow().clone(),
            now: self.scene.now,
            seed: self.scene.seed,
            careful: self.scene.careful,
            tx: self.tx,
            asks: AskedWork::of(self.answers),
            account: Cell::new(self.caller.get().map(|session| session.account)),
            notice: Cell::new(None),
            unknown: RefCell::default(),
            progress: RefCell::default(),
        };
        let handled = (route.handler)(&ctx).and_then(|reply| ctx.unread().map(|()| reply));
        self.unknown.swap(&ctx.unknown);
        self.progress.swap(&ctx.progress);
        if let Some(refused) = self.refuse_unknown(route, &handled) {
            return Ok((Err(refused.into()), Vec::new()));
        }
        let sends = ctx.asks.unanswered().into_iter().map(Send::of_exchange).collect::<Sends>();
        self.account.set(ctx.account.get());
        self.notice.set(ctx.notice.get());
        // Only the first of several yields marks the key as running, so that the body is not hashed each time.
        let begins = self.answers.is_empty() && matches!(handled, Err(Halt::Yield));
        if (begins || matches!(handled, Err(Halt::Wait)))
            && !matches!(self.request.body, Body::Pending)
            && let Some(claim) = self.claim(route, query, &found.params).ok().flatten()
        {
            claim.run(self.tx.scope(self.space(route, &found.params)), self.scene.now)?;
        }
        Ok((handled, sends))
    }

    /// Refuses the body's unknown members, together with the fields that failed, if they are not ignored. What comes
    /// after the validation of the body is not done then, whatever it found.
    fn refuse_unknown(&self, route: &Route, handled: &Handled) -> Option<Refusal> {
        if self.unknown.borrow().is_empty() || !ignored::is_strict(self.request, route) {
            return None;
        }
        let mut errors = match handled {
            Err(Halt::Stop(_)) => return None,
            Err(Halt::Refuse(Refusal::Invalid(errors))) => errors.clone(),
            _ => Errors::default(),
        };
        ignored::refuse(&mut errors, self.unknown.take());
        Some(Refusal::Unknown(errors))
    }

    /// Authenticates the caller and checks the rate limit, suspension and read-only keys.
    fn admit(&self, route: &Route) -> Result<(), Halt> {
        match route.who {
            Who::Anyone => return Ok(()),
            Who::Operator => return caller::operator(self.tx.scope(Space::Root), self.request),
            Who::Engine => {
                let engine = engine::session(self.tx, self.request, &self.service.setup.config)?;
                *self.engine.borrow_mut() = Some(engine);
                return Ok(());
            }
            Who::Visitor if !PresentedToken::is_in(&self.service.setup.config, self.request) => return Ok(()),
            Who::User | Who::Visitor => {}
        }
        let session = PresentedToken::by(&self.service.setup.config, self.request)?.session(self.tx, self.scene.now)?;
        self.caller.set(Some(session));
        let rate = self.scene.view.admit(session.credential().bucket())?;
        self.rate.set(rate);
        session.may(route)?;
        match rate {
            Some(rate) if !rate.admitted => Err(Refusal::TooMany(rate.retry_after).into()),
            _ => Ok(()),
        }
    }

    /// Returns a refusal if the host had no room for the work that the handler asked for; none of it was done.
    fn busy(&self) -> Option<Refusal> {
        self.answers.iter().find_map(|answer| match answer {
            Answer::Failed(SendError::ShareUsed) => Some(Refusal::ShareUsed(BUSY_SECONDS)),
            Answer::Failed(SendError::Busy) => Some(Refusal::Busy(BUSY_SECONDS)),
            _ => None,
        })
    }

    /// Returns the space of an idempotency key: the caller's; a stranger's is that of the resource in the path.
    fn space(&self, route: &Route, params: &[&str]) -> Space {
        let visited =
            || params.first().filter(|_| route.who == Who::Visitor).and_then(|uuid| id::account_of_uuid(uuid));
        let account = self.caller.get().map(|session| session.account).or_else(visited);
        account.map_or(Space::Root, Space::Account)
    }

    fn claim(&self, route: &Route, query: &str, params: &[&str]) -> Result<Option<IdempotencyDigests>, Refusal> {
        // A body that was too large or broke off cannot be compared.
        if matches!(self.request.body, Body::TooLarge | Body::Cut) {
            return Ok(None);
        }
        if route.who == Who::Visitor && self.caller.get().is_none() && !route.keyed_by_path {
            return Ok(None);
        }
        let who = match self.engine.borrow().as_ref() {
            Some(engine) => KeyHolder::Engine(engine.token),
            None if route.who == Who::Visitor && self.caller.get().is_none() => {
                KeyHolder::Stranger(self.request.header("origin").unwrap_or_default())
            }
            None => KeyHolder::Owner,
        };
        let exchange = self.scene.seed.uuid("idempotency");
        IdempotencyDigests::of(self.request, route, params, query, who, exchange)
    }

    /// Returns the answer of an earlier request with the same idempotency key, or a refusal; `None` if the request is
    /// new.
    fn replay(&self, route: &Route, query: &str, params: &[&str]) -> Result<Option<Handled>, Stop> {
        if !self.answers.is_empty() {
            return Ok(None);
        }
        let claim = match self.claim(route, query, params) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Ok(None),
            Err(refusal) => return Ok(Some(Err(refusal.into()))),
        };
        let scope = self.tx.scope(self.space(route, params));
        if matches!(self.request.body, Body::Pending) {
            // A replay needs the body to compare the requests, even if the resource in the path is gone; with a new key
            // the operation checks the head first.
            let fits = self.request.content_length().is_none_or(|length| length <= body_bytes_max(route));
            let reads = fits && claim.is_taken(scope, self.scene.now)?;
            return Ok(reads.then_some(Err(Halt::Wait)));
        }
        let is_followed = self.service.is_followed(self.request);
        let seen = claim.look_up(scope, self.scene.now, |answer| shown::is_deleted(scope, route, params, answer))?;
        if let Some(Ok(_)) = &seen {
            self.unknown.replace(ignored::of_replay(self.request, route));
        }
        Ok(seen.map(|seen| match seen {
            Ok(reply) if is_followed && reply.is_success() => {
                Ok(stream::done(reply.body()).header("idempotency-replayed", "true"))
            }
            other => other.map_err(Halt::from),
        }))
    }

    fn settle(&self, route: &Route, query: &str, params: &[&str], reply: &Reply) -> Result<(), Stop> {
        let replayed = reply.headers.iter().any(|(name, _)| *name == "idempotency-replayed");
        let Ok(Some(claim)) = self.claim(route, query, params) else { return Ok(()) };
        if replayed || !self.admitted.get() || matches!(self.request.body, Body::Pending) {
            return Ok(());
        }
        let scope = self.tx.scope(self.space(route, params));
        // Of a turn that its caller followed, the answer is kept.
        let answer = stream::answer_in(reply.body()).filter(|_| self.service.is_followed(self.request));
        let plain = answer.map(|answer| Reply::ok_raw(answer.to_vec()));
        let kept = plain.as_ref().unwrap_or(reply);
        claim.settle(scope, self.scene.now, route, kept, !self.answers.is_empty())?;
        if reply.is_success() {
            idempotency::sweep(scope, self.scene.now, false)?;
        }
        Ok(())
    }

    /// Adds the entity tag, or replaces the reply with 304; replies with a token or secret are not cached.
    fn finish(&self, route: &Route, reply: Reply) -> Reply {
        let mut reply = self.tagged(route, reply);
        let is_by_cookie = self.caller.get().is_some() && self.request.count("authorization") == 0;
        if is_by_cookie && reply.headers.iter().all(|(name, _)| *name != "cache-control") {
            // No cache that others share may keep it; with `Authorization` none does (RFC 9111 section 3.5).
            reply = reply.header("cache-control", "private, no-cache");
        }
        if route.csv.is_some() { reply.header("vary", "Accept") } else { reply }
    }

    fn tagged(&self, route: &Route, mut reply: Reply) -> Reply {
        if route.etag
            && reply.status == 200
            && let Content::Json(body) = &reply.content
            && body.len() <= TAGGED_BYTES_MAX
            && !is_typed(&reply)
        {
            let own = reply.headers.iter().position(|(name, _)| *name == "etag");
            let tag = own.map_or_else(|| etag::of(body), |own| reply.headers.remove(own).1);
            if self.request.list("if-none-match").is_some_and(|field| etag::none_match(&field, &tag)) {
                return Reply::not_modified().header("etag", tag);
            }
            reply = reply.header("etag", tag);
        }
        if reply.is_success()
            && let Some(names) = ignored::header(&self.unknown.borrow())
        {
            reply = reply.header(ignored::HEADER, names);
        }
        if route.secret && reply.is_success() {
            reply = reply.header("cache-control", "no-store");
        }
        reply
    }

    fn options(&self, found: &RouteMatch<'_>) -> Reply {
        let reply = Reply::no_content().header("allow", found.allow());
        if self.service.origin(self.request).is_none() || self.request.header("access-control-request-method").is_none()
        {
            return reply;
        }
        reply
            .header("access-control-allow-methods", found.allow())
            .header(
                "access-control-allow-headers",
                "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Last-Event-ID, Prefer, Range, X-Request-Id",
            )
            .header("access-control-max-age", "600")
    }

    /// Adds the headers of every answer, and drops the body for `HEAD`.
    fn dress(&self, mut reply: Reply) -> Reply {
        reply = self.service.dressed(self.request, &self.scene.seed, reply);
        if let Some(rate) = self.rate.get() {
            reply = reply
                .header("x-ratelimit-limit", rate.limit.to_string())
                .header("x-ratelimit-remaining", rate.remaining.to_string())
                .header("x-ratelimit-reset", rate.reset.to_string());
        }
        if self.request.method == Method::Head && matches!(reply.content, Content::Object(_)) {
            reply.content = Content::Empty;
        }
        if self.request.method == Method::Head
            && let Content::Json(body) = &reply.content
        {
            let length = body.len().to_string();
            reply.content = Content::Empty;
            if !is_typed(&reply) {
                reply = reply.header("content-type", "application/json");
            }
            reply = reply.header("content-length", length);
        }
        reply
    }
}

impl Service {
    /// Adds the headers of every answer to one, which a host may have made itself: its id, and which pages may read it.
    pub fn dressed(&self, request: &Request, seed: &crate::seed::Seed, mut reply: Reply) -> Reply {
        reply = reply.header("x-request-id", request_id(request, seed));
        if !self.setup.config.cors_origins.is_empty() || self.is_for_visitors(request) {
            match reply.headers.iter_mut().find(|(name, _)| *name == "vary") {
                Some((_, varies)) => varies.push_str(", Origin"),
                None => reply = reply.header("vary", "Origin"),
            }
        }
        let is_for_all = || reply.headers.iter().any(|(name, _)| *name == "access-control-allow-origin");
        if let Some(origin) = self.origin(request).filter(|_| !is_for_all()) {
            const SHOWN: &str = "ETag, Idempotency-Replayed, Retry-After, X-Ignored-Members, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";
            reply = reply.header("access-control-allow-origin", origin).header("access-control-expose-headers", SHOWN);
        }
        reply
    }

    /// Returns the `Origin` header, if the configuration allows it. Pages of any origin may ask what strangers may: the
    /// operation knows which may embed its assistant.
    fn origin<'r>(&self, request: &'r Request) -> Option<&'r str> {
        let origin = request.header("origin")?;
        if self.is_for_visitors(request) {
            return Some(origin).filter(|origin| *origin == "null" || (format::ORIGIN.accepts)(origin));
        }
        self.setup.config.cors_origins.iter().any(|known| known == origin || known == "*").then_some(origin)
    }

    fn is_for_visitors(&self, request: &Request) -> bool {
        let path = request.target.split('?').next().unwrap_or_default();
        let found = self.router.find(path);
        found.is_some_and(|found| found.routes.iter().any(|route| route.who == Who::Visitor))
    }
}

/// Returns whether the reply names a type, which is not JSON then.
fn is_typed(reply: &Reply) -> bool {
    reply.headers.iter().any(|(name, _)| *name == "content-type")
}

/// Returns the request's own id if it is well formed, else a generated one (docs/api.md, Request ids).
fn request_id(request: &Request, seed: &crate::seed::Seed) -> String {
    let sent = request.header("x-request-id").unwrap_or_default();
    let good =
        (1..=128).contains(&sent.len()) && sent.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    if good {
        return sent.to_string();
    }
    let made = seed.derive("request-id");
    format!("{:016x}", u64::from_be_bytes([made[0], made[1], made[2], made[3], made[4], made[5], made[6], made[7]]))
}
