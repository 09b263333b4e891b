//! Idempotency keys (docs/api.md, Idempotency): the first successful answer to a request is kept for
//! `IDEMPOTENCY_SECONDS` and replayed.

use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;

use super::refusal::Refusal;
use super::reply::{Content, Reply};
use super::request::{Body, Request};
use super::route::Route;
use crate::job::{self, Task, TaskOutcome};
use crate::key::{self, Key, Space};
use crate::limits::{IDEMPOTENCY_RUNNING_SECONDS, IDEMPOTENCY_SECONDS, JSON_BODY_BYTES_MAX, SLICE_ROWS};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

const REUSED: &str = "This idempotency key was used with another request.";
const RUNNING: &str = "A request with this idempotency key is still running.";
const TOKEN: &str =
    "The first request with this idempotency key was carried out; its answer showed a token and is not kept.";
const DELETED: &str = "The answer to this key was deleted.";
/// Expired keys that each new one removes: more than it adds, so that they never accumulate.
const SWEPT: usize = 8;

/// Digests of a request's key and of the request itself.
#[derive(Clone, Debug)]
pub struct IdempotencyDigests {
    digest: [u8; 32],
    fingerprint: [u8; 32],
    /// UUID that each step of the exchange derives again: the body of its row while it is running.
    exchange: [u8; 16],
}

/// Whose a key is within its space.
#[derive(Clone, Copy, Debug)]
pub enum KeyHolder<'a> {
    /// The account's, or in the root space the operator's.
    Owner,
    /// An engine's, by the count of its token: they share the root space.
    Engine(u32),
    /// A stranger's on a page of this origin; empty without one. What an owner was answered, or another page, is not for
    /// it.
    Stranger(&'a str),
}

/// Stored record of an earlier request with the key.
struct StoredReply {
    state: State,
    until: Timestamp,
    fingerprint: [u8; 32],
    status: u16,
    /// The answer; while the request is running, its exchange.
    body: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The request has not been answered yet.
    Running = 0,
    /// The answer is stored.
    Answered = 1,
    /// The answer is not stored, because it contained a token or was not JSON.
    Secret = 2,
}

impl IdempotencyDigests {
    /// Reads the key of a `POST`; `None` if the route ignores keys or none was sent, 422 if it is malformed.
    ///
    /// Keys are unique within a space, and there for each holder.
    pub fn of(
        request: &Request,
        route: &Route,
        params: &[&str],
        query: &str,
        who: KeyHolder<'_>,
        exchange: [u8; 16],
    ) -> Result<Option<Self>, Refusal> {
        if !route.keyed || request.count("idempotency-key") == 0 {
            return Ok(None);
        }
        let key = request.header("idempotency-key").unwrap_or_default();
        let good = (1..=255).contains(&key.len()) && key.bytes().all(|b| (b' '..=b'~').contains(&b));
        if !good || request.count("idempotency-key") > 1 {
            return Err(Refusal::Unprocessable(
                "The Idempotency-Key header must be 1 to 255 printable ASCII characters.".into(),
            ));
        }
        let mut named = Sha256::new();
        // A key cannot contain these bytes, so an owner's key never collides with another's.
        match who {
            KeyHolder::Owner => {}
            KeyHolder::Engine(token) => {
                named.update([0]);
                named.update(token.to_be_bytes());
            }
            KeyHolder::Stranger(origin) => {
                named.update([2]);
                named.update(origin.as_bytes());
                named.update([2]);
            }
        }
        if route.keyed_by_path {
            named.update([1]);
            params.iter().for_each(|param| named.update(param.as_bytes()));
        }
        named.update(key.as_bytes());
        let body: &[u8] = if let Body::Full(bytes) = &request.body { bytes } else { &[] };
        let mut print = Sha256::new();
        let params = params.join("/");
        // This digest protects no secret, and for a large file a cryptographic one would dominate the cost of the
        // request.
        let digest = (body.len() > JSON_BODY_BYTES_MAX).then(|| XxHash3_128::oneshot(body).to_le_bytes());
        let body = digest.as_ref().map_or(body, <[u8; 16]>::as_slice);
        for part in [route.id.as_bytes(), params.as_bytes(), query.as_bytes(), body] {
            print.update((part.len() as u64).to_le_bytes());
            print.update(part);
        }
        Ok(Some(Self { digest: named.finalize().into(), fingerprint: print.finalize().into(), exchange }))
    }

    fn kept(&self, scope: Scope<'_>, now: Timestamp) -> Result<Option<StoredReply>, Stop> {
        let Some(bytes) = scope.get(key::idempotency(scope.space(), &self.digest))? else { return Ok(None) };
        let kept = StoredReply::from_bytes(&bytes).ok_or(Stop::Corrupt("an idempotency row has an unknown form"))?;
        Ok(Some(kept).filter(|kept| kept.until > now))
    }

    /// Returns whether an unexpired request used the key, whatever its content.
    pub fn is_taken(&self, scope: Scope<'_>, now: Timestamp) -> Result<bool, Stop> {
        Ok(self.kept(scope, now)?.is_some())
    }

    /// Returns the kept answer or a refusal; `None` if the request is the first with its key. A kept answer is refused
    /// with 410 if `is_deleted` finds that it shows a deleted resource.
    pub fn look_up(
        &self,
        scope: Scope<'_>,
        now: Timestamp,
        is_deleted: impl FnOnce(&[u8]) -> Result<bool, Stop>,
    ) -> Result<Option<Result<Reply, Refusal>>, Stop> {
        let Some(kept) = self.kept(scope, now)? else { return Ok(None) };
        Ok(Some(if kept.fingerprint == self.fingerprint {
            match kept.state {
                State::Running => Err(Refusal::Conflict(RUNNING.into())),
                State::Secret => Err(Refusal::Conflict(TOKEN.into())),
                State::Answered if is_deleted(&kept.body)? => Err(Refusal::Gone(DELETED.into())),
                State::Answered => {
                    Ok(Reply::with_status(kept.status, kept.body).header("idempotency-replayed", "true"))
                }
            }
        } else {
            Err(Refusal::Unprocessable(String::from(REUSED)))
        }))
    }

    /// Marks the request as running, for at most [`IDEMPOTENCY_RUNNING_SECONDS`].
    pub fn run(&self, scope: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
        if self.is_of_another(scope, now)? {
            return Ok(());
        }
        let until = now.plus_seconds(IDEMPOTENCY_RUNNING_SECONDS);
        self.keep(scope, State::Running, until, 0, self.exchange.to_vec())
    }

    /// Returns whether the key is another exchange's: this one stood still until its mark expired, and the request was
    /// sent again.
    fn is_of_another(&self, scope: Scope<'_>, now: Timestamp) -> Result<bool, Stop> {
        let is_own = |kept: &StoredReply| kept.state == State::Running && kept.body == self.exchange;
        Ok(self.kept(scope, now)?.is_some_and(|kept| !is_own(&kept)))
    }

    /// Stores a successful answer; any other frees the key. What another exchange marked or answered meanwhile stays.
    /// `ran` says whether [`Self::run`] may have marked it.
    pub fn settle(
        &self,
        scope: Scope<'_>,
        now: Timestamp,
        route: &Route,
        reply: &Reply,
        ran: bool,
    ) -> Result<(), Stop> {
        if ran && self.is_of_another(scope, now)? {
            return Ok(());
        }
        if !reply.is_success() {
            return if ran { scope.delete(key::idempotency(scope.space(), &self.digest)) } else { Ok(()) };
        }
        let until = now.plus_seconds(IDEMPOTENCY_SECONDS);
        match (&reply.content, route.secret) {
            (Content::Json(body), false) => self.keep(scope, State::Answered, until, reply.status, body.clone()),
            _ => self.keep(scope, State::Secret, until, reply.status, Vec::new()),
        }
    }

    fn keep(&self, scope: Scope<'_>, state: State, until: Timestamp, status: u16, body: Vec<u8>) -> Result<(), Stop> {
        // The account's first key schedules the sweep, which reschedules itself while keys are left.
        let all = key::idempotency_expiries(scope.space());
        if scope.space() != Space::Root && scope.scan(all, Order::Ascending, 1)?.is_empty() {
            job::add(scope, until, Task::SweepIdempotency)?;
        }
        let kept = StoredReply { state, until, fingerprint: self.fingerprint, status, body };
        scope.put(key::idempotency_expiry(scope.space(), until, &self.digest), Vec::new())?;
        scope.put(key::idempotency(scope.space(), &self.digest), kept.to_bytes())
    }
}

/// Runs one slice of an account's sweep of expired keys.
pub fn sweep_all(scope: Scope<'_>, now: Timestamp) -> Result<TaskOutcome, Stop> {
    if sweep(scope, now, true)? {
        return Ok(TaskOutcome::More);
    }
    let left = scope.scan(key::idempotency_expiries(scope.space()), Order::Ascending, 1)?;
    Ok(match left.first().and_then(|(at, _)| key::read_idempotency_time(at)) {
        Some(at) => TaskOutcome::At(at.max(now)),
        None => TaskOutcome::Done,
    })
}

/// Removes expired keys: up to `SWEPT`, or [`SLICE_ROWS`] for a `slice` of the sweeper. Returns whether more may be
/// left.
pub fn sweep(scope: Scope<'_>, now: Timestamp, slice: bool) -> Result<bool, Stop> {
    let limit = if slice { SLICE_ROWS } else { SWEPT };
    // Not up to now: a step that is run again for rows that were not at hand would ask for others each time.
    let mut expired = scope.scan(key::idempotency_expiries(scope.space()), Order::Ascending, limit)?;
    let of_now = |at: &Key| key::read_idempotency_time(at).is_some_and(|at| at <= now);
    expired.truncate(expired.partition_point(|(at, _)| of_now(at)));
    let rows: Option<Vec<Key>> = expired
        .iter()
        .map(|(at, _)| key::read_idempotency_expiry(at).map(|digest| key::idempotency(scope.space(), &digest)))
        .collect();
    let rows = rows.ok_or(Stop::Corrupt("an idempotency key has an unknown form"))?;
    let kept = scope.get_many(&rows)?;
    for (((at, _), row), kept) in expired.iter().zip(rows).zip(kept) {
        let kept = kept.and_then(|bytes| StoredReply::from_bytes(&bytes));
        // The key may have been used again since: its row then stays, under a later expiry.
        if kept.is_some_and(|kept| kept.until <= now) {
            scope.delete(row)?;
        }
        scope.delete(at.clone())?;
    }
    Ok(expired.len() == limit)
}

impl StoredReply {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(43 + self.body.len());
        bytes.push(self.state as u8);
        bytes.extend_from_slice(&self.until.micros().to_le_bytes());
        bytes.extend_from_slice(&self.fingerprint);
        bytes.extend_from_slice(&self.status.to_le_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let state = match bytes.first()? {
            0 => State::Running,
            1 => State::Answered,
            2 => State::Secret,
            _ => return None,
        };
        let until = Timestamp::from_micros(u64::from_le_bytes(bytes.get(1..9)?.try_into().ok()?));
        let fingerprint = bytes.get(9..41)?.try_into().ok()?;
        let status = u16::from_le_bytes(bytes.get(41..43)?.try_into().ok()?);
        Some(Self { state, until, fingerprint, status, body: bytes.get(43..)?.to_vec() })
    }
}
