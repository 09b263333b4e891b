//! Leases: how long an engine keeps a call without a word (docs/api.md, Leases). They stand in [`Space::Memory`]:
//! renewing one writes nothing to disk. A host that starts has none; then each running call gets a whole one.

use alloc::vec::Vec;

use super::rows::facet_of_engaged;
use crate::collection::{Query, page};
use crate::job::{self, Task};
use crate::key::{self, Key, Kind, Space};
use crate::limits::{ACCOUNTS_PER_RESTORE, LEASE_SECONDS, LEASES_PER_TICK};
use crate::root;
use crate::store::{Scope, Tx};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Lease of a running call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Token id of its engine; `None` for a lease that was restored, until its engine renews it.
    pub token: Option<u32>,
    /// Its end.
    pub until: Timestamp,
    /// Whether the call may have commands that its engine has not ended.
    pub has_commands: bool,
    /// When the tick looks at it; not after its end, and often long before.
    due: Timestamp,
}

impl Lease {
    /// Reads a stored lease; `None` for bytes that are none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (times, rest) = bytes.as_chunks::<8>();
        let [until, due] = times else { return None };
        let (flags, token) = rest.split_first()?;
        let time = |bytes: &[u8; 8]| Timestamp::from_micros(u64::from_be_bytes(*bytes));
        let token = match token {
            [] => None,
            token => Some(u32::from_be_bytes(token.try_into().ok()?)),
        };
        Some(Self { token, until: time(until), has_commands: *flags != 0, due: time(due) })
    }

    fn to_bytes(self) -> Vec<u8> {
        let token = self.token.map(u32::to_be_bytes);
        let times = [self.until.micros().to_be_bytes(), self.due.micros().to_be_bytes()].concat();
        [&times[..], &[u8::from(self.has_commands)], token.as_ref().map_or(&[][..], |token| token)].concat()
    }

    /// Returns whether it has run out.
    pub fn is_over(self, now: Timestamp) -> bool {
        self.until <= now
    }
}

/// Returns the lease of a call, if it has one.
pub fn of(account: Scope<'_>, call: u32) -> Result<Option<Lease>, Stop> {
    let bytes = root::memory(account).get(at(account, call)?)?;
    Ok(bytes.and_then(|bytes| Lease::read(&bytes)))
}

/// Returns the leases of calls, by number of the account and count, with one read.
pub fn of_all(scope: Scope<'_>, calls: &[(u32, u32)]) -> Result<Vec<Option<Lease>>, Stop> {
    let keys: Vec<Key> = calls.iter().map(|(account, call)| key::lease(*account, *call)).collect();
    let rows = root::memory(scope).get_many(&keys)?;
    Ok(rows.into_iter().map(|row| row.and_then(|bytes| Lease::read(&bytes))).collect())
}

/// Leases a call to an engine for the usual time: renews its lease, or begins one. A lease that is held does not end
/// sooner by it.
pub fn renew(account: Scope<'_>, call: u32, token: u32, now: Timestamp) -> Result<Lease, Stop> {
    hold(account, call, token, now, 0)
}

/// Renews a lease that was just read, or begins one where there was none; `has_commands` as in [`Lease`].
pub fn renew_read(
    account: Scope<'_>,
    call: u32,
    known: Option<Lease>,
    token: u32,
    has_commands: bool,
) -> Result<(), Stop> {
    let until = account.now().plus_seconds(LEASE_SECONDS);
    let (until, due) = known.map_or((until, until), |lease| (lease.until.max(until), lease.due));
    put(account, call, known, Lease { token: Some(token), until, has_commands, due }).map(drop)
}

/// Renews a lease for a request that takes up to `seconds`, in which its engine may say nothing.
pub fn hold(account: Scope<'_>, call: u32, token: u32, now: Timestamp, seconds: u64) -> Result<Lease, Stop> {
    let until = now.plus_seconds(LEASE_SECONDS + seconds);
    let known = of(account, call)?;
    let lease = match known {
        Some(lease) => Lease { token: Some(token), until: lease.until.max(until), ..lease },
        None => Lease { token: Some(token), until, has_commands: false, due: until },
    };
    put(account, call, known, lease)
}

/// Ends what [`hold`] added to a lease: the request is over.
pub fn release(account: Scope<'_>, call: u32, now: Timestamp) -> Result<(), Stop> {
    let Some(lease) = of(account, call)? else { return Ok(()) };
    let until = lease.until.min(now.plus_seconds(LEASE_SECONDS));
    put(account, call, Some(lease), Lease { until, due: lease.due.min(until), ..lease }).map(drop)
}

/// Notes that a call has commands, or has none any more.
pub fn note_commands(account: Scope<'_>, call: u32, has_commands: bool) -> Result<(), Stop> {
    match of(account, call)? {
        Some(lease) if lease.has_commands != has_commands => {
            put(account, call, Some(lease), Lease { has_commands, ..lease }).map(drop)
        }
        _ => Ok(()),
    }
}

/// Ends the lease of a call, if it has one.
pub fn end(account: Scope<'_>, call: u32) -> Result<(), Stop> {
    let Some(lease) = of(account, call)? else { return Ok(()) };
    let memory = root::memory(account);
    memory.delete(key::lease_due(lease.due, account.account_number()?, call))?;
    memory.delete(at(account, call)?)
}

fn put(account: Scope<'_>, call: u32, before: Option<Lease>, lease: Lease) -> Result<Lease, Stop> {
    let memory = root::memory(account);
    if before.is_none_or(|before| before.due != lease.due) {
        memory.put(key::lease_due(lease.due, account.account_number()?, call), Vec::new())?;
    }
    memory.put(at(account, call)?, lease.to_bytes())?;
    Ok(lease)
}

fn at(account: Scope<'_>, call: u32) -> Result<Key, Stop> {
    Ok(key::lease(account.account_number()?, call))
}

/// Looks at the leases that may have run out, at most [`LEASES_PER_TICK`], and has the calls whose lease has looked
/// after; restores leases after a start. Returns when to come again.
pub fn tick(tx: &Tx<'_>, now: Timestamp) -> Result<Option<Timestamp>, Stop> {
    let (root, memory) = (tx.scope(Space::Root), tx.scope(Space::Memory));
    let is_restored = restore(tx, now)?;
    let rows = memory.scan(key::lease_dues(), Order::Ascending, LEASES_PER_TICK)?;
    let dues = rows.iter().filter_map(|(at, _)| key::read_lease_due(at)).take_while(|(due, ..)| *due <= now);
    let dues: Vec<_> = dues.collect();
    let calls: Vec<_> = dues.iter().map(|(_, number, call)| (*number, *call)).collect();
    for ((due, number, call), lease) in dues.iter().zip(of_all(root, &calls)?) {
        memory.delete(key::lease_due(*due, *number, *call))?;
        let account = root::space_of(root, *number);
        match lease.filter(|lease| lease.due == *due) {
            Some(lease) if lease.is_over(now) => job::add(account, now, Task::Watch(*call))?,
            Some(lease) => put(account, *call, Some(lease), Lease { due: lease.until, ..lease }).map(drop)?,
            None => {}
        }
        if tx.is_half_spent() {
            break;
        }
    }
    let next = memory.scan(key::lease_dues(), Order::Ascending, 1)?;
    let next = next.first().and_then(|(due_key, _)| key::read_lease_due(due_key)).map(|(due, ..)| due);
    Ok(if is_restored { next } else { Some(now) })
}

/// Gives each running call of a host that has just started a whole lease, a few accounts at a time; returns whether all
/// have one.
fn restore(tx: &Tx<'_>, now: Timestamp) -> Result<bool, Stop> {
    let memory = tx.scope(Space::Memory);
    let from = match memory.get(key::restored())?.as_deref() {
        None => (0, 0),
        Some(&[]) => return Ok(true),
        Some(bytes) => match bytes.as_chunks::<4>() {
            ([account, call], []) => (u32::from_be_bytes(*account), u32::from_be_bytes(*call)),
            _ => (0, 0),
        },
    };
    let next = restore_from(tx, from, now)?;
    let place = next.map_or(Vec::new(), |(count, call)| [count.to_be_bytes(), call.to_be_bytes()].concat());
    memory.put(key::restored(), place)?;
    Ok(next.is_none())
}

/// Restores leases from a call of an account on, by the count of the account's row; returns where to go on.
fn restore_from(tx: &Tx<'_>, (first, call): (u32, u32), now: Timestamp) -> Result<Option<(u32, u32)>, Stop> {
    let root = tx.scope(Space::Root);
    let query = |facets, from, limit| Query { range: from..u32::MAX, ..Query::of(facets, Order::Ascending, 0, limit) };
    let counts = page(root, Kind::Account, &query(Vec::new(), first, ACCOUNTS_PER_RESTORE))?.ids;
    let mut left = LEASES_PER_TICK;
    for count in counts.iter().filter(|count| tx.view().owns(*count - 1)) {
        let from = if *count == first { call } else { 0 };
        let account = root::space_of(root, count - 1);
        let engaged = page(account, Kind::Call, &query([facet_of_engaged()].into(), from, left))?.ids;
        let calls: Vec<_> = engaged.iter().map(|call| (count - 1, *call)).collect();
        for (call, lease) in engaged.iter().zip(of_all(account, &calls)?) {
            if lease.is_none() {
                let until = now.plus_seconds(LEASE_SECONDS);
                put(account, *call, None, Lease { token: None, until, has_commands: true, due: until })?;
            }
        }
        left -= engaged.len();
        if left == 0 {
            return Ok(Some((*count, engaged.last().map_or(0, |last| last + 1))));
        }
    }
    let is_last = counts.len() < ACCOUNTS_PER_RESTORE;
    Ok(counts.last().filter(|_| !is_last).map(|last| (last + 1, 0)))
}
