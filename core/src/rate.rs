//! The rate limit as a pure function of bucket and time (docs/api.md, Rate limits).
//!
//! Buckets live in a host's memory: what changes on every request is not a store write.

use alloc::collections::BTreeMap;

use crate::time::Timestamp;

/// Whose bucket is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caller {
    /// A token that authenticated: its account and the token's own number.
    Token {
        /// The account's number.
        account: u32,
        /// A digest of which token of the account it is: kind and count.
        token: u64,
    },
    /// A login attempt, by a digest of e-mail and address.
    LoginPair(u64),
    /// A login attempt, by address alone.
    LoginAddress(u64),
}

/// How fast a bucket fills and how much it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Requests a minute.
    pub per_minute: u32,
    /// Requests at once from a full bucket.
    pub burst: u32,
}

impl Limit {
    /// The limit of a caller, where `per_minute` is the configured rate of a token. The account's own
    /// limit is ten times that ([`Limit::account`]). `None`: not limited.
    pub fn of(caller: Caller, per_minute: u32) -> Option<Self> {
        match caller {
            Caller::Token { .. } if per_minute == 0 => None,
            Caller::Token { .. } => Some(Self { per_minute, burst: per_minute.div_ceil(6) }),
            Caller::LoginPair(_) => Some(Self { per_minute: 5, burst: 5 }),
            Caller::LoginAddress(_) => Some(Self { per_minute: 20, burst: 20 }),
        }
    }

    /// The limit of all tokens of one account together.
    pub fn account(self) -> Self {
        Self { per_minute: self.per_minute.saturating_mul(10), burst: self.burst.saturating_mul(10) }
    }
}

/// The state of one bucket: when it will be full again. A new bucket is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    full_at: Timestamp,
}

/// The decision about one request, as its headers show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Whether the request may go on.
    pub admitted: bool,
    /// Requests a minute.
    pub limit: u32,
    /// Whole requests left.
    pub remaining: u32,
    /// Unix second at which the bucket is full.
    pub reset: u64,
    /// Seconds until the next request is admitted; at least 1 when this one was not.
    pub retry_after: u64,
}

impl Bucket {
    /// Takes one request's worth if there is one (a token bucket kept as the instant it is full).
    pub fn take(self, limit: Limit, now: Timestamp) -> (Self, Rate) {
        // Time is counted in microseconds: more than one request in each is as many as there can be.
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

    /// Whether the bucket is full, so that forgetting it changes nothing.
    pub fn is_full(self, now: Timestamp) -> bool {
        self.full_at <= now
    }
}

/// Buckets kept; when there are more, the full ones are forgotten, which changes nothing.
const BUCKETS_MAX: usize = 100_000;

/// The buckets of all callers: only a token that authenticated has one, and their number is capped.
#[derive(Debug)]
pub struct Buckets {
    per_minute: u32,
    buckets: BTreeMap<Caller, Bucket>,
}

impl Buckets {
    /// Buckets of so many requests a minute for a token; 0: none.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: BTreeMap::new() }
    }

    /// Takes one request's worth. An exchange asks once.
    pub fn admit(&mut self, caller: Caller, now: Timestamp) -> Option<Rate> {
        let limit = Limit::of(caller, self.per_minute)?;
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
        assert_eq!(Limit::of(Caller::Token { account: 0, token: 1 }, 0), None);
        assert_eq!(Limit::of(Caller::Token { account: 0, token: 1 }, 600), Some(Limit { per_minute: 600, burst: 100 }));
        assert_eq!(Limit::of(Caller::LoginPair(1), 0), Some(Limit { per_minute: 5, burst: 5 }));
    }
}
