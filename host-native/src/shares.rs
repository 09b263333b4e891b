//! [`Shares`]: room that all accounts have together, of which none gets more than its share: one that takes what it
//! can get leaves the others theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for so many at once.
pub struct Shares {
    all: Arc<Semaphore>,
    each: usize,
    of: Mutex<HashMap<u32, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
pub struct Share {
    _own: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

impl Shares {
    /// Room for `all`, of which an account gets at most `each`.
    pub fn new(all: usize, each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), each, of: Mutex::default() }
    }

    /// Waits for a place; whoever is no account waits for the room alone. None is never given: the room does not close.
    pub async fn take(&self, account: Option<u32>) -> Option<Share> {
        let own = match account {
            Some(account) => Some(self.of(account).acquire_owned().await.ok()?),
            None => None,
        };
        Some(Share { _own: own, _of_all: Arc::clone(&self.all).acquire_owned().await.ok()? })
    }

    /// A place, if there is one now.
    pub fn try_take(&self, account: Option<u32>) -> Option<Share> {
        let own = match account {
            Some(account) => Some(self.of(account).try_acquire_owned().ok()?),
            None => None,
        };
        Some(Share { _own: own, _of_all: Arc::clone(&self.all).try_acquire_owned().ok()? })
    }

    fn of(&self, account: u32) -> Arc<Semaphore> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = of.get(&account).and_then(Weak::upgrade) {
            return own;
        }
        // Accounts that have nothing here any more are forgotten.
        of.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.each));
        of.insert(account, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_gets_its_share_and_no_more() {
        let shares = Shares::new(5, 2);
        let take = |account| shares.try_take(account);
        let (one, other) = (take(Some(1)), take(Some(1)));
        assert!(one.is_some() && other.is_some() && take(Some(1)).is_none());
        let rest = [take(Some(2)), take(Some(3)), take(None)];
        assert!(rest.iter().all(Option::is_some), "others have theirs");
        assert!(take(Some(4)).is_none() && take(None).is_none(), "until there is no room");
        drop(one);
        assert!(take(Some(1)).is_some(), "what is given back is there again");
        drop((other, rest));
        drop(take(Some(9)));
        assert_eq!(shares.of.lock().expect("nobody panicked").len(), 1, "who has nothing is forgotten");
    }
}
