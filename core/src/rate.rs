//! The rate limit as a pure function of bucket and time (docs/api.md, Rate limits).
//!
//! Buckets live in a host's memory: they change on every request and would each cost a store write.

use alloc::collections::BTreeMap;

use crate::limits::REPLIES_A_MINUTE;
use crate::time::Timestamp;

/// Owner of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caller {
    /// A token that authenticated.
    Token {
        /// Number of the token's account.
        account: u32,
        /// Kind and count of the token as one number, unique within the account; `u64::MAX` is the account's shared
        /// bucket.
        token: u64,
    },
    /// A token that has replies generated, besides its bucket of requests.
    Reply {
        /// Number of the token's account.
        account: u32,
        /// As in [`Self::Token`].
        token: u64,
    },
    /// A login attempt, by a digest of e-mail and address.
    LoginPair(u64),
    /// A login attempt, by address alone.
    LoginAddress(u64),
}

/// What the operator configures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests a minute of a token; 0: not limited.
    pub per_minute: u32,
    /// Replies that a token may have generated a minute; 0: not limited.
    pub replies: u32,
}

impl From<u32> for RateLimits {
    /// Takes the requests a minute of a token, and the usual limit of replies.
    fn from(per_minute: u32) -> Self {
        Self { per_minute, replies: REPLIES_A_MINUTE }
    }
}

/// Rate at which a bucket fills, and its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Requests a minute that refill the bucket.
    pub per_minute: u32,
    /// Capacity: requests that a full bucket admits at once.
    pub burst: u32,
}

impl Limit {
    /// Returns the limit of a caller under the configured limits. The account's own limit is
    /// ten times that ([`Limit::account`]). `None`: not limited.
    pub fn of(caller: Caller, limits: RateLimits) -> Option<Self> {
        let RateLimits { per_minute, replies } = limits;
        match caller {
            Caller::Token { .. } if per_minute == 0 => None,
            Caller::Token { .. } => Some(Self { per_minute, burst: per_minute.div_ceil(6) }),
            Caller::Reply { .. } if replies == 0 => None,
            Caller::Reply { .. } => Some(Self { per_minute: replies, burst: replies }),
            Caller::LoginPair(_) => Some(Self { per_minute: 5, burst: 5 }),
            Caller::LoginAddress(_) => Some(Self { per_minute: 20, burst: 20 }),
        }
    }

    /// Returns the limit of all tokens of one account together, ten times that of one.
    pub fn account(self) -> Self {
        Self { per_minute: self.per_minute.saturating_mul(10), burst: self.burst.saturating_mul(10) }
    }
}

/// State of one bucket: the time at which it is full again. A new bucket is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    full_at: Timestamp,
}

/// Rate-limit decision about one request, as its headers show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Whether the request is admitted; otherwise it is answered 429.
    pub admitted: bool,
    /// Limit that applies, requests a minute.
    pub limit: u32,
    /// Whole requests left in the bucket, rounded down.
    pub remaining: u32,
    /// Unix time at which the bucket is full again, seconds, rounded up.
    pub reset: u64,
    /// Seconds until the next request is admitted: 0 when this one was, else at least 1.
    pub retry_after: u64,
}

impl Bucket {
    /// Takes one request from the bucket if it holds one (a token bucket stored as the time at which it is full).
    pub fn take(self, limit: Limit, now: Timestamp) -> (Self, Rate) {
        // Time has a resolution of a microsecond: a rate of more than one request in each is capped at one.
        let cost = (60_000_000 / u64::from(limit.per_minute.max(1))).max(1);
        let depth = cost * u64::from(limit.burst.max(1));
        let debt = self.full_at.micros().saturating_sub(now.micros());
        let admitted = debt + cost <= depth;
        let debt = if admitted { debt + cost } else { debt };
        let full_at = Timestamp::from_micros(now.micros() + debt);
        let remaining = u32::try_from((depth - debt.min(depth)) / cost).unwrap_or(u32::MAX);
        let wait = (debt + cost).saturating_sub(depth).div_ceil(1_000_000);
        let retry_after = if admitted { 0 } else { wait.max(1) };
        let reset = full_at.micros().div_ceil(1_000_000);
        (Self { full_at }, Rate { admitted, limit: limit.per_minute, remaining, reset, retry_after })
    }

    /// Restores a bucket that is full at this time.
    pub const fn full_at(full_at: Timestamp) -> Self {
        Self { full_at }
    }

    /// Returns when the bucket is full again, all that there is to store of it.
    pub const fn is_full_at(self) -> Timestamp {
        self.full_at
    }

    /// Returns whether the bucket is full, so that forgetting it changes nothing.
    pub fn is_full(self, now: Timestamp) -> bool {
        self.full_at <= now
    }
}

/// Number of buckets from which on full ones are dropped, which changes no decision.
const BUCKETS_MAX: usize = 100_000;

/// Buckets of all callers; beyond `BUCKETS_MAX`, full ones are dropped.
#[derive(Debug)]
pub struct Buckets {
    limits: RateLimits,
    buckets: BTreeMap<Caller, Bucket>,
}

impl Buckets {
    /// Creates empty buckets with these limits; logins are limited whatever they say.
    pub fn new(limits: impl Into<RateLimits>) -> Self {
        Self { limits: limits.into(), buckets: BTreeMap::new() }
    }

    /// Takes one request from the caller's bucket, and from its account's; `None` where no limit applies. Called once
    /// per exchange.
    pub fn admit(&mut self, caller: Caller, now: Timestamp) -> Option<Rate> {
        let limit = Limit::of(caller, self.limits)?;
        if self.buckets.len() >= BUCKETS_MAX {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let own = self.take(caller, limit, now);
        let Caller::Token { account, .. } = caller else { return Some(own) };
        if !own.admitted {
            return Some(own);
        }
        // All tokens of an account share a bucket ten times as deep.
        let shared = self.take(Caller::Token { account, token: u64::MAX }, limit.account(), now);
        Some(if shared.admitted { own } else { Rate { admitted: false, retry_after: shared.retry_after, ..own } })
    }

    fn take(&mut self, caller: Caller, limit: Limit, now: Timestamp) -> Rate {
        let bucket = self.buckets.entry(caller).or_default();
        let (next, rate) = bucket.take(limit, now);
        *bucket = next;
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_shares() {
        let mut buckets = Buckets::new(6);
        let now = Timestamp::from_seconds(100);
        let mut admit = |token| buckets.admit(Caller::Token { account: 1, token }, now);
        assert!(admit(1).is_some_and(|rate| rate.admitted));
        assert!(admit(1).is_some_and(|rate| !rate.admitted && rate.retry_after == 10));
        let admitted = (2..40).filter(|token| admit(*token).is_some_and(|rate| rate.admitted));
        assert_eq!(admitted.count(), 9, "the account's bucket holds ten");
        assert_eq!(Buckets::new(0).admit(Caller::Token { account: 1, token: 1 }, now), None);
        assert!(Buckets::new(0).admit(Caller::LoginPair(1), now).is_some());
    }

    #[test]
    fn a_burst_then_one_at_a_time() {
        let limit = Limit { per_minute: 60, burst: 3 };
        let now = Timestamp::from_seconds(1_000);
        let mut bucket = Bucket::default();
        for left in [2, 1, 0] {
            let (next, rate) = bucket.take(limit, now);
            assert!(rate.admitted);
            assert_eq!(rate.remaining, left);
            bucket = next;
        }
        let (same, refused) = bucket.take(limit, now);
        assert_eq!(same, bucket);
        assert_eq!((refused.admitted, refused.retry_after, refused.reset), (false, 1, 1_003));
        assert!(bucket.take(limit, now.plus_seconds(1)).1.admitted);
        assert!(bucket.is_full(now.plus_seconds(3)));
    }

    #[test]
    fn the_highest_rates_admit_and_refuse_like_others() {
        let caller = Caller::Token { account: 1, token: 1 };
        let now = Timestamp::from_seconds(100);
        for per_minute in [6_000_001, 60_000_000, 60_000_001, u32::MAX] {
            let rate = Buckets::new(per_minute).admit(caller, now).expect("a limit");
            assert!(rate.admitted && rate.limit == per_minute && rate.remaining > 0, "{rate:?}");
        }
    }

    #[test]
    fn zero_turns_the_limit_off_but_not_for_logins() {
        let (token, reply) = (Caller::Token { account: 0, token: 1 }, Caller::Reply { account: 0, token: 1 });
        let none = RateLimits { per_minute: 0, replies: 0 };
        assert_eq!((Limit::of(token, none), Limit::of(reply, none)), (None, None));
        assert_eq!(Limit::of(token, 600.into()), Some(Limit { per_minute: 600, burst: 100 }));
        assert_eq!(Limit::of(reply, 600.into()), Some(Limit { per_minute: 5, burst: 5 }));
        assert_eq!(Limit::of(Caller::LoginPair(1), none), Some(Limit { per_minute: 5, burst: 5 }));
    }
}
