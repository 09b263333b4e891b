//! [`Room`]: the amount that one row of the table of budgets allows, shared out between accounts, addresses and
//! strangers.
//!
//! Every place is taken for a holder. A request that does not fit is refused with the share that is used up, or waits
//! its turn ([`Turns`]), so that no holder waits for everything a neighbour has queued.
//!
//! Some shares shrink as a room fills ([`Budget::shrinks`]): a holder may take more only if as much stays free as it
//! then holds. A single holder gets half at most, two get a third each, and however many hold all they can, a new
//! holder finds room. (Switches share their buffers like that: "dynamic thresholds", Choudhury and Hahne 1998, with a
//! factor of one.)

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_core::budget::Budget;
use switchboard_core::http::base;
use switchboard_core::http::refusal::Refusal;
use switchboard_core::limits::BUSY_SECONDS;
use switchboard_core::outside::SendError;
use tokio::sync::oneshot;

use crate::turns::Turns;

/// Who a place is held for, and whose share it counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// An account, by its number.
    Account(u32),
    /// A request without a token, by its network: an IPv4 address, or the /64 of an IPv6 address.
    Address(IpAddr),
    /// The operator, an engine, or the service itself: bounded by the whole budget only.
    Service,
}

impl Holder {
    /// Returns the holder of a request without a token.
    pub fn nobody(address: IpAddr) -> Self {
        Self::Address(base::network(address))
    }

    /// Returns the holder of an account's work; `None`: the service itself.
    pub fn of(account: Option<u32>) -> Self {
        account.map_or(Self::Service, Self::Account)
    }
}

/// Which share is used up, and so why a place is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UsedUp {
    /// The share of this account.
    Account,
    /// The share of this address.
    Address,
    /// The share of all requests without a token.
    Nobody,
    /// The whole budget.
    All,
}

impl UsedUp {
    /// All shares, in the order in which they are counted.
    pub const EVERY: [Self; 4] = [Self::Account, Self::Address, Self::Nobody, Self::All];

    /// Returns whether the holder's own share is used up: 429 instead of 503.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Account | Self::Address)
    }

    /// Returns the value of the `share` label in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Address => "address",
            Self::Nobody => "nobody",
            Self::All => "all",
        }
    }
}

impl From<UsedUp> for SendError {
    fn from(full: UsedUp) -> Self {
        if full.is_own() { Self::ShareUsed } else { Self::Busy }
    }
}

impl From<UsedUp> for Refusal {
    fn from(full: UsedUp) -> Self {
        if full.is_own() { Self::ShareUsed(BUSY_SECONDS) } else { Self::Busy(BUSY_SECONDS) }
    }
}

/// The places or bytes of one budget, and who holds and waits for them.
pub struct Room {
    budget: Budget,
    state: Mutex<State>,
    refused: [AtomicU64; 4],
    waited: AtomicU64,
}

#[derive(Default)]
struct State {
    used: u64,
    nobody: u64,
    held: BTreeMap<Holder, u64>,
    turns: Turns<oneshot::Sender<Held>>,
}

/// An amount held in a room; dropping it gives it back.
pub struct Held {
    room: Arc<Room>,
    holder: Holder,
    amount: u64,
}

impl Room {
    /// Creates an empty room.
    pub fn new(budget: &Budget) -> Arc<Self> {
        Arc::new(Self {
            budget: *budget,
            state: Mutex::default(),
            refused: Default::default(),
            waited: AtomicU64::new(0),
        })
    }

    /// Returns the budget, with its limits and shares.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Returns how much of the budget is held.
    pub fn used(&self) -> u64 {
        self.state().used
    }

    /// Returns how many waiters are queued.
    pub fn waiting(&self) -> u64 {
        self.state().turns.waiting() as u64
    }

    /// Returns whether any other holder waits for a place.
    pub fn is_wanted_beside(&self, holder: Holder) -> bool {
        let state = self.state();
        state.turns.waiting() > state.turns.of(holder)
    }

    /// Returns how often a caller had to wait, since the start.
    pub fn waited(&self) -> u64 {
        self.waited.load(Ordering::Relaxed)
    }

    /// Sets the amount held, for a budget that the core enforces.
    pub fn tell(&self, used: u64) {
        self.state().used = used;
    }

    /// Counts a refusal, for a budget that the core enforces.
    pub fn tell_refused(&self, full: UsedUp) {
        self.refuse(full);
    }

    /// Returns how often a caller was refused because of this share, since the start.
    pub fn refused(&self, full: UsedUp) -> u64 {
        self.refused[full as usize].load(Ordering::Relaxed)
    }

    /// Takes `amount` at once, or returns the share that is used up.
    pub fn try_take(self: &Arc<Self>, holder: Holder, amount: u64) -> Result<Held, UsedUp> {
        self.state().take(&self.budget, holder, amount).map_err(|full| self.refuse(full))?;
        Ok(Held { room: Arc::clone(self), holder, amount })
    }

    /// Takes `amount` even beyond the budget, for work that is already done; those who come later wait or are refused.
    pub fn overdraw(self: &Arc<Self>, holder: Holder, amount: u64) -> Held {
        self.state().add(holder, amount);
        Held { room: Arc::clone(self), holder, amount }
    }

    /// Takes one place; if none is free, waits for the holder's turn.
    pub async fn take(self: &Arc<Self>, holder: Holder) -> Result<Held, UsedUp> {
        let turn = {
            let mut state = self.state();
            // A later request does not overtake its own holder's queue.
            if state.turns.of(holder) == 0 && state.take(&self.budget, holder, 1).is_ok() {
                return Ok(Held { room: Arc::clone(self), holder, amount: 1 });
            }
            state.enqueue(&self.budget, holder).map_err(|full| self.refuse(full))?
        };
        self.waited.fetch_add(1, Ordering::Relaxed);
        let mut waiting = Waiting { room: self, holder, turn: Some(turn) };
        match waiting.turn.as_mut().expect("it waits once").await {
            Ok(held) => {
                waiting.turn = None;
                Ok(held)
            }
            // Displaced from the full queue by a holder with fewer waiting.
            Err(_) => Err(self.refuse(UsedUp::All)),
        }
    }

    /// Counts a holder that gave up waiting; returns the share that kept it from a place.
    pub fn waited_too_long(&self, holder: Holder) -> UsedUp {
        let full = self.state().full(&self.budget, holder, 1);
        self.refuse(full.unwrap_or(UsedUp::All))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse(&self, full: UsedUp) -> UsedUp {
        self.refused[full as usize].fetch_add(1, Ordering::Relaxed);
        full
    }

    fn give_back(self: &Arc<Self>, holder: Holder, amount: u64) {
        let mut granted = self.state().give_back(&self.budget, holder, amount);
        // Sent without the lock: if a waiter went away meanwhile, dropping its place calls this again.
        while let Some((holder, turn)) = granted.pop() {
            let _ = turn.send(Held { room: Arc::clone(self), holder, amount: 1 });
        }
    }
}

impl State {
    fn full(&self, budget: &Budget, holder: Holder, amount: u64) -> Option<UsedUp> {
        let held = self.held.get(&holder).copied().unwrap_or(0);
        let own = held + amount;
        let free = budget.all.checked_sub(self.used + amount);
        let nobodys = budget.nobody.checked_sub(self.nobody + amount);
        let shrinks = held > 0 && budget.shrinks();
        match holder {
            Holder::Account(_) if own > budget.account => Some(UsedUp::Account),
            Holder::Address(_) if own > budget.address => Some(UsedUp::Address),
            _ if free.is_none() => Some(UsedUp::All),
            Holder::Address(_) if nobodys.is_none() => Some(UsedUp::Nobody),
            Holder::Account(_) if shrinks && free < Some(own) => Some(UsedUp::Account),
            Holder::Address(_) if shrinks && free.min(nobodys) < Some(own) => Some(UsedUp::Address),
            _ => None,
        }
    }

    fn take(&mut self, budget: &Budget, holder: Holder, amount: u64) -> Result<(), UsedUp> {
        if let Some(full) = self.full(budget, holder, amount) {
            return Err(full);
        }
        self.add(holder, amount);
        Ok(())
    }

    fn add(&mut self, holder: Holder, amount: u64) {
        self.used += amount;
        if matches!(holder, Holder::Address(_)) {
            self.nobody += amount;
        }
        *self.held.entry(holder).or_default() += amount;
    }

    /// Queues a waiter. In a full queue, the group with the most waiters makes way for one with fewer.
    fn enqueue(&mut self, budget: &Budget, holder: Holder) -> Result<oneshot::Receiver<Held>, UsedUp> {
        let own = self.turns.of(holder) as u64;
        match holder {
            Holder::Account(_) if own >= budget.waiting_each => return Err(UsedUp::Account),
            Holder::Address(_) if own >= budget.waiting_each => return Err(UsedUp::Address),
            _ => {}
        }
        if self.turns.waiting() as u64 >= budget.waiting && self.turns.displace(holder).is_none() {
            return Err(UsedUp::All);
        }
        let (give, turn) = oneshot::channel();
        self.turns.push(holder, give);
        Ok(turn)
    }

    /// Frees `amount` and grants places to the next waiters whose share allows it.
    fn give_back(&mut self, budget: &Budget, holder: Holder, amount: u64) -> Vec<(Holder, oneshot::Sender<Held>)> {
        self.used -= amount;
        if matches!(holder, Holder::Address(_)) {
            self.nobody -= amount;
        }
        if let Some(held) = self.held.get_mut(&holder) {
            *held -= amount;
            if *held == 0 {
                self.held.remove(&holder);
            }
        }
        self.grant(budget)
    }

    fn grant(&mut self, budget: &Budget) -> Vec<(Holder, oneshot::Sender<Held>)> {
        let mut turns = std::mem::take(&mut self.turns);
        let mut granted = Vec::new();
        while self.used < budget.all
            && let Some(next) = turns.next(|holder| self.full(budget, holder, 1).is_none())
        {
            self.add(next.0, 1);
            granted.push(next);
        }
        self.turns = turns;
        granted
    }
}

/// A waiter; dropping it leaves the queue.
struct Waiting<'r> {
    room: &'r Arc<Room>,
    holder: Holder,
    turn: Option<oneshot::Receiver<Held>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            drop(turn);
            self.room.state().turns.retain(self.holder, |turn| !turn.is_closed());
        }
    }
}

impl Held {
    /// Takes `amount` more, or returns the share that is used up.
    pub fn grow(&mut self, amount: u64) -> Result<(), UsedUp> {
        let taken = self.room.state().take(&self.room.budget, self.holder, amount);
        taken.map_err(|full| self.room.refuse(full))?;
        self.amount += amount;
        Ok(())
    }

    /// Gives back everything held beyond `amount`.
    pub fn shrink_to(&mut self, amount: u64) {
        if amount < self.amount {
            self.room.give_back(self.holder, self.amount - amount);
            self.amount = amount;
        }
    }

    /// Returns the amount held.
    pub fn amount(&self) -> u64 {
        self.amount
    }

    /// Moves the amount to another holder, once a request's token is known.
    pub fn hand_to(&mut self, holder: Holder) -> Result<(), UsedUp> {
        if holder == self.holder {
            return Ok(());
        }
        let other = self.room.try_take(holder, self.amount)?;
        let old = std::mem::replace(self, other);
        drop(old);
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.amount > 0 {
            self.room.give_back(self.holder, self.amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use switchboard_core::budget::Unit;

    const SMALL: Budget = Budget {
        name: "small",
        unit: Unit::Places,
        all: 5,
        account: 2,
        address: 1,
        nobody: 2,
        waiting: 6,
        waiting_each: 3,
        what: "",
    };

    fn address(last: u8) -> Holder {
        Holder::nobody(IpAddr::from([10, 0, 0, last]))
    }

    #[test]
    fn each_holder_gets_its_share_and_no_more() {
        let room = Room::new(&SMALL);
        let take = |holder| room.try_take(holder, 1).map_err(UsedUp::word);
        let own = [take(Holder::Account(1)), take(Holder::Account(1))];
        assert!(own.iter().all(Result::is_ok));
        assert_eq!(take(Holder::Account(1)).err(), Some("account"));
        let strangers = [take(address(1)), take(address(2))];
        assert!(strangers.iter().all(Result::is_ok));
        assert_eq!(take(address(1)).err(), Some("address"));
        assert_eq!(take(address(3)).err(), Some("nobody"));
        let last = take(Holder::Service);
        assert!(last.is_ok());
        assert_eq!(take(Holder::Account(2)).err(), Some("all"));
        drop(own);
        assert!(take(Holder::Account(1)).is_ok(), "what is given back is there again");
        drop((strangers, last));
        assert_eq!(room.used(), 0);
        assert!(room.state().held.is_empty(), "who holds nothing is forgotten");
        assert_eq!(UsedUp::EVERY.map(|full| room.refused(full)), [1, 1, 1, 1]);
    }

    #[test]
    fn however_many_hold_all_they_can_a_newcomer_finds_room() {
        let room = Room::new(&Budget { all: 256, account: 128, address: 32, nobody: 64, waiting: 0, ..SMALL });
        let mut all: Vec<Held> = Vec::new();
        let mut fill = |holder: Holder| {
            let before = all.len();
            while let Ok(held) = room.try_take(holder, 1) {
                all.push(held);
            }
            all.len() - before
        };
        assert_eq!([1, 2].map(|last| fill(address(last))), [32, 16]);
        // 208 are left: half of them, then half of the rest.
        assert_eq!([1, 2, 3, 4].map(|number| fill(Holder::Account(number))), [104, 52, 26, 13]);
        assert_eq!(fill(Holder::Account(1)), 0, "who holds most gets no more");
        assert!(room.try_take(Holder::Account(5), 13).is_ok());
        assert_eq!((room.refused(UsedUp::All), room.refused(UsedUp::Nobody)), (0, 0), "each was told of its own share");
    }

    #[test]
    fn networks_count_as_one_address() {
        let of = |text: &str| Holder::nobody(text.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:9"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }

    #[test]
    fn what_is_held_grows_shrinks_and_changes_hands() {
        let room = Room::new(&Budget { all: 160, account: 80, address: 20, nobody: 40, ..SMALL });
        let mut held = room.try_take(address(1), 10).expect("room");
        assert_eq!(held.grow(11), Err(UsedUp::Address));
        assert_eq!(held.grow(10), Ok(()));
        assert_eq!(held.hand_to(Holder::Account(4)), Ok(()));
        assert_eq!(held.grow(60), Ok(()));
        assert_eq!((held.grow(1), room.used(), room.state().nobody), (Err(UsedUp::Account), 80, 0));
        held.shrink_to(5);
        assert_eq!((held.amount(), room.used()), (5, 5));
        drop(held);
        assert_eq!(room.used(), 0);
    }

    #[tokio::test]
    async fn holders_take_turns() {
        let room = Room::new(&Budget { all: 1, account: 1, ..SMALL });
        let first = room.take(Holder::Account(0)).await.expect("room");
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for account in [1, 1, 1, 2, 3] {
            let (room, order) = (Arc::clone(&room), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let held = room.take(Holder::Account(account)).await.expect("a turn");
                order.lock().expect("nobody panicked").push(account);
                drop(held);
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(room.waiting(), 5);
        assert_eq!(room.take(Holder::Account(1)).await.err(), Some(UsedUp::Account), "a queue of its own is bounded");
        drop(first);
        for task in tasks {
            task.await.expect("no panic");
        }
        assert_eq!(*order.lock().expect("nobody panicked"), [1, 2, 3, 1, 1]);
        assert_eq!((room.used(), room.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn whoever_goes_away_leaves_the_queue() {
        let room = Room::new(&Budget { all: 1, account: 1, ..SMALL });
        let first = room.take(Holder::Account(0)).await.expect("room");
        let waits = tokio::spawn({
            let room = Arc::clone(&room);
            async move { room.take(Holder::Account(1)).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert_eq!(room.waiting(), 1);
        waits.abort();
        assert!(waits.await.is_err());
        assert_eq!(room.waiting(), 0);
        drop(first);
        assert!(room.try_take(Holder::Account(2), 1).is_ok());
    }

    proptest! {
        /// For any sequence of takes and returns, no share is exceeded, and in the end nothing is held.
        #[test]
        fn shares_hold(acts in prop::collection::vec((0_u8..6, 1_u64..4, any::<bool>()), 1..60)) {
            let budget = Budget { all: 12, account: 5, address: 3, nobody: 6, ..SMALL };
            let room = Room::new(&budget);
            let mut all: Vec<Held> = Vec::new();
            for (who, amount, gives) in acts {
                let holder = match who {
                    0 | 1 => Holder::Account(who.into()),
                    2..=4 => address(who),
                    _ => Holder::Service,
                };
                if gives && !all.is_empty() {
                    all.swap_remove(usize::from(who) % all.len());
                } else if let Ok(held) = room.try_take(holder, amount) {
                    all.push(held);
                }
                let sum = |wanted: &dyn Fn(Holder) -> bool| {
                    all.iter().filter(|held| wanted(held.holder)).map(Held::amount).sum::<u64>()
                };
                prop_assert_eq!(sum(&|_| true), room.used());
                prop_assert!(room.used() <= 12);
                prop_assert!(sum(&|holder| matches!(holder, Holder::Address(_))) <= 6);
                for one in [Holder::Account(0), Holder::Account(1)] {
                    prop_assert!(sum(&|holder| holder == one) <= 5);
                }
                prop_assert!((2..=4).all(|last| sum(&|holder| holder == address(last)) <= 3));
            }
            drop(all);
            prop_assert_eq!(room.used(), 0);
        }
    }
}
