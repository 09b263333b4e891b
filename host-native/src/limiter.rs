//! Rate-limit buckets, in memory: only a token that authenticated has one, and their number is capped.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use switchboard_core::rate::{Bucket, Caller, Limit, Rate};
use switchboard_core::time::Timestamp;

/// Buckets kept; when there are more, the full ones are forgotten, which changes nothing.
const BUCKETS_MAX: usize = 100_000;

/// The buckets of all callers.
#[derive(Debug)]
pub struct Limiter {
    per_minute: u32,
    buckets: Mutex<HashMap<Caller, Bucket>>,
}

/// What one exchange was told: asked again, it gets the same answer.
#[derive(Debug, Default)]
pub struct Told(Mutex<Vec<(Caller, Option<Rate>)>>);

impl Limiter {
    /// Buckets of so many requests a minute for a token; 0: none.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Mutex::new(HashMap::new()) }
    }

    /// Takes one request's worth, once an exchange.
    pub fn admit(&self, caller: Caller, now: Timestamp, told: &Told) -> Option<Rate> {
        let mut told = told.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rate)) = told.iter().find(|(asked, _)| *asked == caller) {
            return *rate;
        }
        let rate = Limit::of(caller, self.per_minute).map(|limit| self.take(caller, limit, now));
        told.push((caller, rate));
        rate
    }

    fn take(&self, caller: Caller, limit: Limit, now: Timestamp) -> Rate {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_MAX {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let own = take(&mut buckets, caller, limit, now);
        let Caller::Token { account, .. } = caller else { return own };
        if !own.admitted {
            return own;
        }
        // All tokens of an account share a bucket ten times as deep.
        let shared = take(&mut buckets, Caller::Token { account, token: u64::MAX }, limit.account(), now);
        if shared.admitted { own } else { Rate { admitted: false, retry_after: shared.retry_after, ..own } }
    }
}

fn take(buckets: &mut HashMap<Caller, Bucket>, caller: Caller, limit: Limit, now: Timestamp) -> Rate {
    let bucket = buckets.entry(caller).or_default();
    let (next, rate) = bucket.take(limit, now);
    *bucket = next;
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_pays_once_and_an_account_shares() {
        let limiter = Limiter::new(6);
        let now = Timestamp::from_seconds(100);
        let told = Told::default();
        let caller = Caller::Token { account: 1, token: 1 };
        let first = limiter.admit(caller, now, &told);
        assert_eq!(limiter.admit(caller, now, &told), first);
        assert!(first.is_some_and(|rate| rate.admitted));
        let again = limiter.admit(caller, now, &Told::default());
        assert!(again.is_some_and(|rate| !rate.admitted && rate.retry_after == 10));
        let admitted = (2..40).filter(|token| {
            limiter
                .admit(Caller::Token { account: 1, token: *token }, now, &Told::default())
                .is_some_and(|rate| rate.admitted)
        });
        assert_eq!(admitted.count(), 9, "the account's bucket holds ten");
        assert_eq!(Limiter::new(0).admit(caller, now, &Told::default()), None);
    }
}
