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
        let shrinks = held > 0 && budget.shrinks;
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
mod tests;
