//! [`Ctx`]: what a handler works with.

use alloc::string::{String, ToString};
use core::cell::Cell;

use super::base::Base;
use super::caller::{Engine, Session};
use super::etag;
use super::notice::Notice;
use super::refusal::{Halt, Refusal};
use super::reply::Reply;
use super::request::{Body, Request};
use super::route::{BodyKind, Route};
use crate::carrier::{self, Told};
use crate::id;
use crate::job::{self, Task};
use crate::json::{self, Malformed, Members, ToJson, Value};
use crate::key::{Kind, Space};
use crate::limits::{DETACH_SECONDS, JSON_BODY_BYTES_MAX, UPLOAD_BODY_BYTES_MAX};
use crate::outside::{Answer, Asks, Unwritten, Work};
use crate::rate::{Caller, Rate};
use crate::record::{Checked, Record, Source, check, check_update};
use crate::seed::Seed;
use crate::setup::Setup;
use crate::store::{Row, Scope, Tx};
use crate::time::Timestamp;
use crate::view::Stop;

/// One operation being carried out.
pub struct Ctx<'a> {
    /// The configuration, and what is made from it.
    pub setup: &'a Setup,
    /// The request.
    pub request: &'a Request,
    /// Its row.
    pub route: &'static Route,
    /// Path and query, apart.
    pub path: &'a str,
    /// The query as sent.
    pub query: &'a str,
    /// The text of each `{…}` of the path.
    pub params: &'a [&'a str],
    /// Who calls, where the operation asks for a token of an account.
    pub caller: Option<Session>,
    /// Which engine calls, where the operation asks for a token of an engine.
    pub engine: Option<Engine>,
    /// The time of the request.
    pub now: Timestamp,
    /// The randomness of the request.
    pub seed: Seed,
    /// Whether what may come to no end is marked before it is begun: see [`Scene::careful`](crate::view::Scene).
    pub careful: bool,
    pub(crate) tx: &'a Tx<'a>,
    pub(crate) asks: Asks<'a>,
    pub(crate) account: Cell<Option<u32>>,
    pub(crate) notice: Cell<Option<Notice>>,
}

impl<'a> Ctx<'a> {
    /// The caller; the order of checks has made sure that there is one.
    pub fn caller(&self) -> Session {
        self.caller.expect("a row for users only runs with a caller")
    }

    /// The engine; the order of checks has made sure that there is one.
    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("a row for engines only runs with one")
    }

    /// What this operation asks for, it asks for this account: an engine works for many.
    pub fn works_for(&self, account: Space) {
        if let Space::Account(number) = account {
            self.account.set(Some(number));
        }
    }

    /// Has the operator's log say this, once what the step changes is stored.
    pub fn notice(&self, notice: Notice) {
        self.notice.set(Some(notice));
    }

    /// Whether what the request waited for did not come in time.
    pub fn elapsed(&self) -> bool {
        self.asks.has(&Answer::Elapsed)
    }

    /// What of a long list is to be written next.
    pub fn rest(&self) -> Option<&'a Unwritten> {
        self.asks.rest()
    }

    /// A refusal in this operation's own form, for a handler that keeps what it changed.
    pub fn refused(&self, refusal: Refusal) -> Reply {
        refusal.reply(self.route.form, self.route.invalid)
    }

    /// The caller's part of the store.
    pub fn account(&self) -> Scope<'a> {
        self.tx.scope(Space::Account(self.caller().account))
    }

    /// What belongs to no account: for operator rows, and for what crosses accounts.
    pub fn root(&self) -> Scope<'a> {
        self.tx.scope(Space::Root)
    }

    /// The id of a row of the caller's account.
    pub fn id(&self, count: u32) -> u64 {
        id::of(self.account().space(), count)
    }

    /// The count that a path parameter names, if it is an id of the caller's account.
    pub fn param(&self, at: usize) -> Option<u32> {
        id::parse(self.account().space(), self.params.get(at)?)
    }

    /// The count that an id in a body or query names, if it is one of the caller's account.
    pub fn own(&self, id: u64) -> Option<u32> {
        id::local(self.account().space(), id)
    }

    /// The row of the caller's account that the path names, or 404.
    pub fn named(&self, kind: Kind, missing: &'static str) -> Result<(u32, Row), Halt> {
        let count = self.param(0).ok_or(Refusal::NotFound(missing))?;
        let row = self.account().find(kind, count)?.ok_or(Refusal::NotFound(missing))?;
        self.unread()?;
        Ok((count, row))
    }

    /// The prefix of absolute URLs.
    pub fn base(&self) -> Base {
        Base::of(&self.setup.config, self.request)
    }

    /// The members of the JSON body.
    pub fn members(&self) -> Result<Members, Halt> {
        let bytes = self.bytes(body_bytes_max(self.route).min(JSON_BODY_BYTES_MAX), &["application/json"])?;
        if bytes.is_empty() {
            return Ok(Members::default());
        }
        match json::parse(bytes).map_err(|malformed| Refusal::BadRequest(not_json(&malformed)))? {
            Value::Object(members) => Ok(members),
            _ => Err(Refusal::Unprocessable("The request body must be a JSON object.".into()).into()),
        }
    }

    /// The body's bytes, if there are at most `limit` and their type is one of `media`.
    ///
    /// A host may run a step on the head alone: then this is where it learns that the body is wanted, or
    /// that nobody needs to read it.
    pub fn bytes(&self, limit: usize, media: &[&'static str]) -> Result<&'a [u8], Halt> {
        let (bytes, length): (&[u8], _) = match &self.request.body {
            Body::None => return Ok(&[]),
            Body::Full(bytes) => (bytes, bytes.len()),
            Body::Pending => (&[], self.request.content_length().unwrap_or(1)),
            Body::TooLarge => return Err(Refusal::TooLarge(limit).into()),
            Body::Cut => return Err(Refusal::BadRequest("The request body broke off.".into()).into()),
        };
        // A body without a type counts as JSON.
        let sent = self.media_type().unwrap_or_else(|| "application/json".into());
        if length > 0 && !media.contains(&sent.as_str()) {
            return Err(Refusal::MediaType(media.join(" or ")).into());
        }
        if length > limit {
            return Err(Refusal::TooLarge(limit).into());
        }
        if matches!(self.request.body, Body::Pending) { Err(Halt::Wait) } else { Ok(bytes) }
    }

    /// The bytes of a file, for a row that takes one.
    pub fn file(&self) -> Result<&'a [u8], Halt> {
        match self.route.body {
            BodyKind::File(media, bytes_max) => self.bytes(bytes_max, media),
            _ => unreachable!("only a row that takes a file has a handler that asks for one"),
        }
    }

    /// A row that reads no body still refuses a wrong or broken one, once its resource is found and before
    /// anything else is judged.
    pub fn unread(&self) -> Result<(), Halt> {
        if !matches!(self.route.body, BodyKind::None) || !self.request.method.is_write() || self.answered() > 0 {
            return Ok(());
        }
        self.bytes(body_bytes_max(self.route), &["application/json"]).map(drop)
    }

    /// The content type without parameters, in lower case.
    pub fn media_type(&self) -> Option<String> {
        let value = self.request.header("content-type")?;
        Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// The body, checked but not yet taken: for handlers that add errors of their own.
    pub fn checked<T: Record>(&self) -> Result<Checked, Halt> {
        Ok(check(T::TABLE, self.members()?, Source::Body))
    }

    /// The body as a record.
    pub fn body<T: Record>(&self) -> Result<T, Halt> {
        self.finish(self.checked::<T>()?)
    }

    /// The body laid over what is stored, checked as a whole.
    pub fn update<T: Record>(&self, stored: Members) -> Result<T, Halt> {
        self.finish(check_update(T::TABLE, stored, self.members()?))
    }

    /// The query, checked but not yet taken.
    pub fn checked_query<T: Record>(&self) -> Result<Checked, Halt> {
        Ok(check(T::TABLE, super::query::parse(self.query)?, Source::Query))
    }

    /// The query as a record.
    pub fn asks<T: Record>(&self) -> Result<T, Halt> {
        self.finish(self.checked_query::<T>()?)
    }

    /// The record of a check, or 422.
    pub fn finish<T: Record>(&self, checked: Checked) -> Result<T, Halt> {
        checked.finish().map_err(|errors| Refusal::Invalid(errors).into())
    }

    /// `If-Match` against what a read of the resource shows (docs/api.md, Conditional requests).
    pub fn if_match(&self, shown: &(impl ToJson + ?Sized)) -> Result<(), Halt> {
        match self.request.list("if-match") {
            Some(field) if !etag::matches(&field, &etag::of(&shown.to_json())) => Err(Refusal::Stale.into()),
            _ => Ok(()),
        }
    }

    /// Asks for something outside: waits the first time, and has the answer when the handler runs again.
    ///
    /// A handler that changes something before it asks commits that first; on its next run it sees it.
    pub fn ask(&self, work: impl FnOnce() -> Work) -> Result<Answer, Halt> {
        self.asks.ask(work).ok_or(Halt::Wait)
    }

    /// Asks the carrier, and has the answer when the handler comes back to this line.
    pub fn carrier(&self, ask: &carrier::Ask<'_>) -> Result<Told, Halt> {
        self.setup.config.carrier.ask(&self.asks, &self.seed, ask).ok_or(Halt::Wait)
    }

    /// The rate-limit decision for someone without a token.
    pub fn view_admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.tx.view().admit(caller)
    }

    /// How many answers this run has: 0 on the first.
    pub fn answered(&self) -> usize {
        self.asks.answered()
    }

    /// Goes on with a deletion once everything is detached from what is deleted. Until then others have their turn, and
    /// a job takes it up where this request does not come back.
    pub fn detached(&self, kind: Kind, count: u32, done: bool) -> Result<(), Halt> {
        let task = Task::Detach(kind, count);
        if !done {
            job::add(self.account(), self.now.plus_seconds(DETACH_SECONDS), task)?;
            return Err(Halt::Again);
        }
        if self.asks.has(&Answer::Elapsed) {
            job::cancel(self.account(), &task)?;
        }
        Ok(())
    }

    /// Refuses a row when the plan allows no more of its kind.
    pub fn plan_room(&self, kind: Kind, what: &str, allowed: u64, refuse: fn(String) -> Refusal) -> Result<(), Halt> {
        let used = crate::collection::count(self.account(), kind, &crate::collection::Facet::ALL)?;
        if used < allowed {
            return Ok(());
        }
        Err(refuse(alloc::format!(
            "You have reached your plan limit of {allowed} {what}. Please upgrade your plan to create more {}.",
            last_word(what)
        ))
        .into())
    }

    /// Where what was sent is kept until its answer: the ticket of a running exchange.
    pub fn uuid(&self, label: &str) -> String {
        uuid::Uuid::from_bytes(self.seed.uuid(label)).to_string()
    }
}

fn not_json(malformed: &Malformed) -> String {
    alloc::format!("The request body is not valid JSON: {}.", malformed.reason)
}

fn last_word(what: &str) -> &str {
    what.rsplit(' ').next().unwrap_or(what)
}

/// How many bytes of body an operation takes.
pub fn body_bytes_max(route: &Route) -> usize {
    let of_kind = match route.body {
        BodyKind::Document(_) => UPLOAD_BODY_BYTES_MAX,
        BodyKind::File(_, bytes_max) => bytes_max,
        BodyKind::Json(..) | BodyKind::None => JSON_BODY_BYTES_MAX,
    };
    route.body_bytes_max.unwrap_or(of_kind)
}
