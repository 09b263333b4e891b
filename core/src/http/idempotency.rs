//! Idempotency keys (docs/api.md, Idempotency): the first answer to a request, kept for a day.

use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;

use super::refusal::Refusal;
use super::reply::{Content, Reply};
use super::request::{Body, Request};
use super::route::Route;
use crate::job::{self, Progress, Task};
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
/// Expired keys that each new one removes: more than it adds, so that they never pile up.
const SWEPT: usize = 8;

/// A request's key, and what the request was.
#[derive(Clone, Debug)]
pub struct Claim {
    digest: [u8; 32],
    fingerprint: [u8; 32],
}

/// What an earlier request with the key left.
struct Kept {
    state: State,
    until: Timestamp,
    fingerprint: [u8; 32],
    status: u16,
    body: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its answer is still to come.
    Running = 0,
    /// It was answered.
    Answered = 1,
    /// It was answered with a token.
    Secret = 2,
}

impl Claim {
    /// The key of a POST, if it carries one.
    ///
    /// Keys count within a space; those of engines, which share the root's, by `engine`, the count of the token.
    pub fn of(
        request: &Request,
        route: &Route,
        params: &[&str],
        query: &str,
        engine: Option<u32>,
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
        if let Some(token) = engine {
            // No key has a zero byte: none of an operator reads like one of an engine.
            named.update([0]);
            named.update(token.to_be_bytes());
        }
        named.update(key.as_bytes());
        let body: &[u8] = if let Body::Full(bytes) = &request.body { bytes } else { &[] };
        let mut print = Sha256::new();
        let params = params.join("/");
        // No secret hangs on it: of a file a cryptographic digest would cost more than all else.
        let digest = (body.len() > JSON_BODY_BYTES_MAX).then(|| XxHash3_128::oneshot(body).to_le_bytes());
        let body = digest.as_ref().map_or(body, <[u8; 16]>::as_slice);
        for part in [route.id.as_bytes(), params.as_bytes(), query.as_bytes(), body] {
            print.update((part.len() as u64).to_le_bytes());
            print.update(part);
        }
        Ok(Some(Self { digest: named.finalize().into(), fingerprint: print.finalize().into() }))
    }

    fn kept(&self, scope: Scope<'_>, now: Timestamp) -> Result<Option<Kept>, Stop> {
        let Some(bytes) = scope.get(key::idempotency(scope.space(), &self.digest))? else { return Ok(None) };
        let kept = Kept::from_bytes(&bytes).ok_or(Stop::Corrupt("an idempotency row has an unknown form"))?;
        Ok(Some(kept).filter(|kept| kept.until > now))
    }

    /// Whether a request had the key before, this one or another.
    pub fn is_taken(&self, scope: Scope<'_>, now: Timestamp) -> Result<bool, Stop> {
        Ok(self.kept(scope, now)?.is_some())
    }

    /// The kept answer, a refusal, or nothing: then the request is the first. An answer of which `is_deleted` says that
    /// it shows something that is not there any more is refused.
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

    /// Notes that the request runs.
    pub fn run(&self, scope: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
        let until = now.plus_seconds(IDEMPOTENCY_RUNNING_SECONDS);
        self.keep(scope, State::Running, until, 0, Vec::new())
    }

    /// Keeps a successful answer; any other leaves the key free.
    pub fn settle(
        &self,
        scope: Scope<'_>,
        now: Timestamp,
        route: &Route,
        reply: &Reply,
        ran: bool,
    ) -> Result<(), Stop> {
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
        // The first key of an account's queue plans the sweep; the sweep plans itself again while keys are left.
        let all = key::idempotency_expired(scope.space(), Timestamp::MAX);
        if scope.space() != Space::Root && scope.scan(all, Order::Ascending, 1)?.is_empty() {
            job::add(scope, until, Task::SweepIdempotency)?;
        }
        let kept = Kept { state, until, fingerprint: self.fingerprint, status, body };
        scope.put(key::idempotency_expiry(scope.space(), until, &self.digest), Vec::new())?;
        scope.put(key::idempotency(scope.space(), &self.digest), kept.to_bytes())
    }
}

/// One slice of the sweep of an account.
pub fn sweep_all(scope: Scope<'_>, now: Timestamp) -> Result<Progress, Stop> {
    if sweep(scope, now, true)? {
        return Ok(Progress::More);
    }
    let left = scope.scan(key::idempotency_expired(scope.space(), Timestamp::MAX), Order::Ascending, 1)?;
    Ok(match left.first().and_then(|(at, _)| key::read_idempotency_time(at)) {
        Some(at) => Progress::At(at.max(now)),
        None => Progress::Done,
    })
}

/// Removes keys of the past: a few with each new one, and in slices by the sweeper. Tells whether some are left.
pub fn sweep(scope: Scope<'_>, now: Timestamp, slice: bool) -> Result<bool, Stop> {
    let limit = if slice { SLICE_ROWS } else { SWEPT };
    let expired = scope.scan(key::idempotency_expired(scope.space(), now), Order::Ascending, limit)?;
    let rows: Option<Vec<Key>> = expired
        .iter()
        .map(|(at, _)| key::read_idempotency_expiry(at).map(|digest| key::idempotency(scope.space(), &digest)))
        .collect();
    let rows = rows.ok_or(Stop::Corrupt("an idempotency key has an unknown form"))?;
    let kept = scope.get_many(&rows)?;
    for (((at, _), row), kept) in expired.iter().zip(rows).zip(kept) {
        let kept = kept.and_then(|bytes| Kept::from_bytes(&bytes));
        // The key may have been used again since: then its row lives on, under a later expiry.
        if kept.is_some_and(|kept| kept.until <= now) {
            scope.delete(row)?;
        }
        scope.delete(at.clone())?;
    }
    Ok(expired.len() == limit)
}

impl Kept {
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
