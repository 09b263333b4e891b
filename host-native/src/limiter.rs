//! [`Limiter`]: the rate limits of a running service, kept in memory.

use std::sync::{Mutex, PoisonError};

use switchboard_core::http::caller::Credential;
use switchboard_core::rate::{Buckets, Caller, Rate, RateLimits};
use switchboard_core::time::Timestamp;

/// Token buckets of all callers.
#[derive(Debug)]
pub struct Limiter(Mutex<Buckets>);

/// Rate decisions of one exchange: a step that is run again gets the same decision and pays once.
#[derive(Debug, Default)]
pub struct RateDecisions(Mutex<Vec<(Caller, Option<Rate>)>>);

impl RateDecisions {
    /// Takes over decisions made by an edge node.
    pub fn of(rates: Vec<(Caller, Option<Rate>)>) -> Self {
        Self(Mutex::new(rates))
    }

    /// Returns the account of the token, once one authenticated.
    pub fn account(&self) -> Option<u32> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter().find_map(|(caller, _)| Some(Credential::of_bucket(*caller)?.account))
    }
}

impl Limiter {
    /// Creates buckets with these limits.
    pub fn new(limits: impl Into<RateLimits>) -> Self {
        Self(Mutex::new(Buckets::new(limits)))
    }

    /// Takes one request's worth from the caller's bucket, once for each exchange; `None`: not limited.
    pub fn admit(&self, caller: Caller, now: Timestamp, told: &RateDecisions) -> Option<Rate> {
        let mut told = told.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rate)) = told.iter().find(|(asked, _)| *asked == caller) {
            return *rate;
        }
        let rate = self.0.lock().unwrap_or_else(PoisonError::into_inner).admit(caller, now);
        told.push((caller, rate));
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_pays_once() {
        let limiter = Limiter::new(6);
        let now = Timestamp::from_seconds(100);
        let caller = Caller::Token { account: 1, token: 1 };
        let told = RateDecisions::default();
        let first = limiter.admit(caller, now, &told);
        assert!(first.is_some_and(|rate| rate.admitted));
        assert_eq!(limiter.admit(caller, now, &told), first);
        assert_eq!(limiter.admit(caller, now, &RateDecisions::of(vec![(caller, first)])), first);
        assert!(limiter.admit(caller, now, &RateDecisions::default()).is_some_and(|rate| !rate.admitted));
    }
}
