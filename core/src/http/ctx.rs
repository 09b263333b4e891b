//! [`Ctx`]: the context that a handler works with.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use super::base::BaseUrl;
use super::caller::{AuthenticatedToken, Engine};
use super::multipart::{self, Upload};
use super::notice::Notice;
use super::refusal::{Halt, Refusal};
use super::reply::Reply;
use super::request::{Body, Request};
use super::route::{BodyKind, Route};
use super::{etag, ignored};
use crate::carrier::{self, CarrierAnswer};
use crate::id;
use crate::job::{self, Task};
use crate::json::{self, JsonError, Members, ToJson, Value};
use crate::key::{Kind, Space};
use crate::limits::{DETACH_SECONDS, JSON_BODY_BYTES_MAX, UPLOAD_BODY_BYTES_MAX};
use crate::object::{StoredObject, UploadError};
use crate::outside::{Answer, AskedWork, Unwritten, Work};
use crate::rate::{Caller, Rate};
use crate::record::{Checked, ColumnType, Errors, MemberSource, Record, check, check_update};
use crate::seed::Seed;
use crate::setup::Setup;
use crate::store::{Row, Scope, Tx};
use crate::time::Timestamp;
use crate::view::Stop;

/// Context of one run of an operation.
pub struct Ctx<'a> {
    /// The configuration and what is derived from it.
    pub setup: &'a Setup,
    /// The request as received.
    pub request: &'a Request,
    /// The row of the route table that matched.
    pub route: &'static Route,
    /// Path of the request target, without the query.
    pub path: &'a str,
    /// Query as sent, without the `?`; empty if there is none.
    pub query: &'a str,
    /// Text of each `{…}` segment of the path, in order, as sent.
    pub params: &'a [&'a str],
    /// The caller, if the operation requires an account's token.
    pub caller: Option<AuthenticatedToken>,
    /// The calling engine, if the operation requires an engine's token.
    pub engine: Option<Engine>,
    /// Time of this run; the host never lets it go backwards.
    pub now: Timestamp,
    /// Seed of the request, the same in every run.
    pub seed: Seed,
    /// Whether work that may never finish is marked before it starts: see [`Scene::careful`](crate::view::Scene).
    pub careful: bool,
    pub(crate) tx: &'a Tx<'a>,
    pub(crate) asks: AskedWork<'a>,
    pub(crate) account: Cell<Option<u32>>,
    pub(crate) notice: Cell<Option<Notice>>,
    /// Unknown members of the body, once it is read.
    pub(crate) unknown: RefCell<Vec<String>>,
    /// Frames for a caller who follows the operation.
    pub(crate) progress: RefCell<Vec<u8>>,
}

impl<'a> Ctx<'a> {
    /// Returns the caller; the order of checks guarantees that there is one.
    pub fn caller(&self) -> AuthenticatedToken {
        self.caller.expect("a row for users only runs with a caller")
    }

    /// Returns the engine; the order of checks guarantees that there is one.
    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("a row for engines only runs with one")
    }

    /// Charges the work that this operation asks for to `account`: an engine works for many accounts.
    pub fn works_for(&self, account: Space) {
        if let Space::Account(number) = account {
            self.account.set(Some(number));
        }
    }

    /// Writes a notice to the operator's log once the changes of the step are committed.
    pub fn notice(&self, notice: Notice) {
        self.notice.set(Some(notice));
    }

    /// Passes all frames so far on to a caller who follows the operation while it waits for an answer from outside.
    pub fn show(&self, frames: &[u8]) {
        self.progress.replace(frames.to_vec());
    }

    /// Returns the space of an account by its number, for a caller without a token.
    pub fn space_of(&self, account: u32) -> Scope<'a> {
        self.tx.scope(Space::Account(account))
    }

    /// Returns whether there is an answer to what is asked next.
    pub fn has_next_answer(&self) -> bool {
        self.asks.has_next()
    }

    /// Returns whether the exchange has already waited: for news until the deadline, or for other writers.
    pub fn has_waited(&self) -> bool {
        self.asks.has(&Answer::Elapsed) || self.asks.has(&Answer::Yielded)
    }

    /// Returns whether the exchange has waited for news until its deadline.
    pub fn has_elapsed(&self) -> bool {
        self.asks.has(&Answer::Elapsed)
    }

    /// Returns the part of a long list to write next; `None` for the first piece.
    pub fn rest(&self) -> Option<&'a Unwritten> {
        self.asks.rest()
    }

    /// Returns a refusal in this operation's form as a reply, for a handler whose changes are to be kept.
    pub fn refused(&self, refusal: Refusal) -> Reply {
        refusal.reply(self.route.form, self.route.invalid)
    }

    /// Returns the caller's account scope of the store.
    pub fn account(&self) -> Scope<'a> {
        self.tx.scope(Space::Account(self.caller().account))
    }

    /// Returns the root scope of the store, for operator rows and for data shared between accounts.
    pub fn root(&self) -> Scope<'a> {
        self.tx.scope(Space::Root)
    }

    /// Returns the public id of a row of the caller's account.
    pub fn id(&self, count: u32) -> u64 {
        id::of(self.account().space(), count)
    }

    /// Returns the count that the path parameter at `at` names; `None` if it is not an id of the caller's account.
    pub fn param(&self, at: usize) -> Option<u32> {
        id::parse(self.account().space(), self.params.get(at)?)
    }

    /// Returns the count that an id in a body or query names; `None` if it is not an id of the caller's account.
    pub fn own(&self, id: u64) -> Option<u32> {
        id::local(self.account().space(), id)
    }

    /// Returns the row of the caller's account that the first path parameter names, or 404 with `missing`.
    pub fn named(&self, kind: Kind, missing: &'static str) -> Result<(u32, Row), Halt> {
        let count = self.param(0).ok_or(Refusal::NotFound(missing))?;
        let row = self.account().find(kind, count)?.ok_or(Refusal::NotFound(missing))?;
        self.unread()?;
        Ok((count, row))
    }

    /// Returns the prefix of absolute URLs.
    pub fn base(&self) -> BaseUrl {
        BaseUrl::of(&self.setup.config, self.request)
    }

    /// Returns the members of the JSON body; none if the body is empty.
    pub fn members(&self) -> Result<Members, Halt> {
        let bytes = self.bytes(body_bytes_max(self.route).min(JSON_BODY_BYTES_MAX), &["application/json"])?;
        if bytes.is_empty() {
            return Ok(Members::default());
        }
        match json::parse(bytes).map_err(|malformed| Refusal::BadRequest(not_json(&malformed)))? {
            Value::Object(members) => {
                self.unknown.replace(ignored::of(self.request, self.route, &members));
                Ok(members)
            }
            _ => Err(Refusal::Unprocessable("The request body must be a JSON object.".into()).into()),
        }
    }

    /// Returns the body's bytes, if there are at most `limit` and their type is one of `media`.
    ///
    /// A host may run a step on the head alone: this is where it learns that the body is needed, or that the request is
    /// refused without reading it.
    pub fn bytes(&self, limit: usize, media: &[&'static str]) -> Result<&'a [u8], Halt> {
        let (bytes, length): (&[u8], _) = match &self.request.body {
            Body::None => return Ok(&[]),
            Body::Full(bytes) => (bytes, bytes.len()),
            Body::Pending => (&[], self.request.content_length().unwrap_or(1)),
            Body::TooLarge => return Err(Refusal::TooLarge(limit).into()),
            Body::Cut => return Err(Refusal::BadRequest("The request body broke off.".into()).into()),
        };
        // A body without a content type counts as JSON.
        let sent = self.media_type().unwrap_or_else(|| "application/json".into());
        if length > 0 && !media.contains(&sent.as_str()) {
            return Err(Refusal::MediaType(media.join(" or ")).into());
        }
        if length > limit {
            return Err(Refusal::TooLarge(limit).into());
        }
        if matches!(self.request.body, Body::Pending) { Err(Halt::Wait) } else { Ok(bytes) }
    }

    /// Returns the bytes of the uploaded file, for a row that takes one.
    pub fn file(&self) -> Result<&'a [u8], Halt> {
        match self.route.body {
            BodyKind::File(media, bytes_max) | BodyKind::Object(media, bytes_max) => self.bytes(bytes_max, media),
            _ => unreachable!("only a row that takes a file has a handler that asks for one"),
        }
    }

    /// Reads a body that is a form.
    pub fn form(&self, body: &'a [u8]) -> Result<Upload<'a>, Halt> {
        let content_type = self.request.header("content-type").unwrap_or_default();
        Ok(multipart::read(content_type, body).map_err(Refusal::BadRequest)?)
    }

    /// Checks a body that the row does not read: a wrong type or size or a broken-off body is still refused, after the
    /// resource is found and before anything else is checked.
    pub fn unread(&self) -> Result<(), Halt> {
        if !matches!(self.route.body, BodyKind::None) || !self.request.method.is_write() || self.answered() > 0 {
            return Ok(());
        }
        self.bytes(body_bytes_max(self.route), &["application/json"]).map(drop)
    }

    /// Returns the content type without parameters, in lower case.
    pub fn media_type(&self) -> Option<String> {
        let value = self.request.header("content-type")?;
        Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }

    /// Checks the body but does not build the record yet, for handlers that add errors of their own.
    pub fn checked<T: Record>(&self) -> Result<Checked, Halt> {
        Ok(check(T::TABLE, self.members()?, MemberSource::Body))
    }

    /// Returns the body as a record, or 422.
    pub fn body<T: Record>(&self) -> Result<T, Halt> {
        self.finish(self.checked::<T>()?)
    }

    /// Applies the body to the stored members and checks the result as a whole.
    pub fn update<T: Record>(&self, stored: Members) -> Result<T, Halt> {
        self.finish(check_update(T::TABLE, stored, self.members()?))
    }

    /// Checks the query but does not build the record yet.
    pub fn checked_query<T: Record>(&self) -> Result<Checked, Halt> {
        self.checked_query_and::<T>(&Members::default())
    }

    /// Checks the query and the fields of a form, in which its parameters may stand too; a field that was left empty
    /// is not given.
    pub fn checked_query_and<T: Record>(&self, form: &Members) -> Result<Checked, Halt> {
        let mut members = super::query::parse(self.query)?;
        for column in T::TABLE.columns {
            if matches!(column.spec.kind, ColumnType::List { .. }) && members.get(column.name).is_some() {
                members.set(column.name, Value::List(super::query::all(self.query, column.name)?));
            }
        }
        let mut twice = Errors::default();
        for (name, value) in form.0.iter().filter(|(_, value)| *value != Value::Text(String::new())) {
            if members.get(name).is_some() && T::TABLE.columns.iter().any(|column| column.is_named(name)) {
                twice.say(name, "field must stand in the query or in the form, not in both.");
            }
            members.set(name, value.clone());
        }
        let mut checked = check(T::TABLE, members, MemberSource::Query);
        checked.errors.0.retain(|(name, _)| !twice.has(name));
        checked.errors.0.extend(twice.0);
        Ok(checked)
    }

    /// Returns the query as a record, or 422.
    pub fn asks<T: Record>(&self) -> Result<T, Halt> {
        self.finish(self.checked_query::<T>()?)
    }

    /// Returns the record of a check, or 422.
    pub fn finish<T: Record>(&self, checked: Checked) -> Result<T, Halt> {
        checked.finish().map_err(|errors| Refusal::Invalid(errors).into())
    }

    /// Checks `If-Match` against `shown`, the body of a read of the resource (docs/api.md, Conditional requests).
    pub fn if_match(&self, shown: &(impl ToJson + ?Sized)) -> Result<(), Halt> {
        match self.request.list("if-match") {
            Some(field) if !etag::matches(&field, &etag::of(&shown.to_json())) => Err(Refusal::Stale.into()),
            _ => Ok(()),
        }
    }

    /// Checks `If-Match` against the part of a resource that its tag of [`etag::in_parts`] tells.
    pub fn if_match_part(&self, decides: &[u8]) -> Result<(), Halt> {
        match self.request.list("if-match") {
            Some(field) if !etag::matches_part(&field, decides) => Err(Refusal::Stale.into()),
            _ => Ok(()),
        }
    }

    /// Asks for work outside: halts with [`Halt::Wait`] the first time, and returns the answer when the handler runs
    /// again.
    ///
    /// Changes made before the call are committed first and are visible on the next run.
    pub fn ask(&self, work: impl FnOnce() -> Work) -> Result<Answer, Halt> {
        self.asks.ask(work).ok_or(Halt::Wait)
    }

    /// Returns what became of the body as an object; `None` until the host was told by [`Halt::Store`] to make it one.
    pub fn stored_body(&self) -> Option<Result<StoredObject, UploadError>> {
        match self.asks.next() {
            Some(Answer::Stored(stored)) => Some(stored),
            _ => None,
        }
    }

    /// Asks the carrier; like [`Self::ask`], it returns the answer when the handler runs again.
    pub fn carrier(&self, ask: &carrier::Ask<'_>) -> Result<CarrierAnswer, Halt> {
        self.setup.config.carrier.ask(&self.asks, &self.seed, ask).ok_or(Halt::Wait)
    }

    /// Takes a token from the bucket of a caller that has not authenticated, such as a login; `None` if no limit is
    /// configured.
    pub fn view_admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.tx.view().admit(caller)
    }

    /// Returns the number of answers that this run has: 0 on the first.
    pub fn answered(&self) -> usize {
        self.asks.answered()
    }

    /// Continues with a deletion once `done`, that is, everything is detached from the resource. Until then it yields
    /// to other writers, and a job finishes the work if this request does not come back.
    pub fn detached(&self, kind: Kind, count: u32, done: bool) -> Result<(), Halt> {
        let task = Task::Detach(kind, count);
        if !done {
            job::add(self.account(), self.now.plus_seconds(DETACH_SECONDS), task)?;
            return Err(Halt::Yield);
        }
        if self.asks.has(&Answer::Yielded) {
            job::cancel(self.account(), &task)?;
        }
        Ok(())
    }

    /// Refuses a new row if the account already has `allowed` rows of its kind.
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

    /// Returns a UUID derived from the request's seed and `label`, the same in every run.
    pub fn uuid(&self, label: &str) -> String {
        uuid::Uuid::from_bytes(self.seed.uuid(label)).to_string()
    }
}

fn not_json(malformed: &JsonError) -> String {
    alloc::format!("The request body is not valid JSON: {}.", malformed.reason)
}

fn last_word(what: &str) -> &str {
    what.rsplit(' ').next().unwrap_or(what)
}

/// Returns the maximum body size of an operation in bytes.
pub fn body_bytes_max(route: &Route) -> usize {
    let of_kind = match route.body {
        BodyKind::Document(_) => UPLOAD_BODY_BYTES_MAX,
        BodyKind::File(_, bytes_max) | BodyKind::Object(_, bytes_max) => bytes_max,
        BodyKind::Json(..) | BodyKind::None => JSON_BODY_BYTES_MAX,
    };
    route.body_bytes_max.unwrap_or(of_kind)
}
