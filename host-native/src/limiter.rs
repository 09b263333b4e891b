//! The rate limits of a running service.

use std::sync::{Mutex, PoisonError};

use switchboard_core::http::caller::Credential;
use switchboard_core::rate::{Buckets, Caller, Rate};
use switchboard_core::time::Timestamp;

/// The buckets of all callers.
#[derive(Debug)]
pub struct Limiter(Mutex<Buckets>);

/// What one exchange was told: asked again, it gets the same answer.
#[derive(Debug, Default)]
pub struct Told(Mutex<Vec<(Caller, Option<Rate>)>>);

impl Told {
    /// What it was told elsewhere.
    pub fn of(rates: Vec<(Caller, Option<Rate>)>) -> Self {
        Self(Mutex::new(rates))
    }

    /// The account that it is for, once that is known.
    pub fn account(&self) -> Option<u32> {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter().find_map(|(caller, _)| Some(Credential::of_bucket(*caller)?.account))
    }
}

impl Limiter {
    /// Buckets of so many requests a minute for a token; 0: none.
    pub fn new(per_minute: u32) -> Self {
        Self(Mutex::new(Buckets::new(per_minute)))
    }

    /// Takes one request's worth, once an exchange.
    pub fn admit(&self, caller: Caller, now: Timestamp, told: &Told) -> Option<Rate> {
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
        let told = Told::default();
        let first = limiter.admit(caller, now, &told);
        assert!(first.is_some_and(|rate| rate.admitted));
        assert_eq!(limiter.admit(caller, now, &told), first);
        assert_eq!(limiter.admit(caller, now, &Told::of(vec![(caller, first)])), first);
        assert!(limiter.admit(caller, now, &Told::default()).is_some_and(|rate| !rate.admitted));
    }
}
