//! The few places where an account's operation reaches beyond its own space: the e-mail of a login, the owner of a
//! phone number in the whole installation, the calls that wait for an engine, the due times of the account's jobs, and the
//! list of accounts.

use alloc::vec::Vec;

use crate::catalogue::Mode;
use crate::key::{self, Kind, Space};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Returns the number of the account with this e-mail address, in any case.
pub fn account_of(root: Scope<'_>, email: &str) -> Result<Option<u32>, Stop> {
    let Some(number) = root.get(key::email(&email.to_lowercase()))? else { return Ok(None) };
    Ok(Some(u32::from_be_bytes(number.try_into().map_err(|_| Stop::Corrupt("an e-mail row has an unknown form"))?)))
}

/// Returns the space of an account, for operations that find it by something other than a token.
pub fn space_of(root: Scope<'_>, account: u32) -> Scope<'_> {
    root.other(Space::Account(account))
}

/// Returns the root space, for jobs, which the operator sees.
pub fn of(account: Scope<'_>) -> Scope<'_> {
    account.other(Space::Root)
}

/// Returns the space of what a host may keep in memory alone.
pub fn memory(scope: Scope<'_>) -> Scope<'_> {
    scope.other(Space::Memory)
}

/// Owner of a phone number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Number of the account.
    pub account: u32,
    /// Count of the number's row in that account; 0 while the number is being bought.
    pub count: u32,
    /// Id of the purchase that reserves the number, so that no other purchase completes or releases it; 0 once it is
    /// owned.
    pub claim: u32,
}

/// Returns the owner of a phone number in the whole installation, if any.
pub fn owner(account: Scope<'_>, e164: &str) -> Result<Option<Owner>, Stop> {
    let Some(bytes) = account.other(Space::Root).get(key::owner(e164))? else { return Ok(None) };
    let (halves, []) = bytes.as_chunks::<4>() else { return Err(DAMAGED) };
    let [account, count, claim] = halves else { return Err(DAMAGED) };
    Ok(Some(Owner {
        account: u32::from_be_bytes(*account),
        count: u32::from_be_bytes(*count),
        claim: u32::from_be_bytes(*claim),
    }))
}

const DAMAGED: Stop = Stop::Corrupt("an ownership row has an unknown form");

/// Sets the owner of a phone number.
pub fn own(account: Scope<'_>, e164: &str, owner: Owner) -> Result<(), Stop> {
    let bytes: Vec<u8> = [owner.account.to_be_bytes(), owner.count.to_be_bytes(), owner.claim.to_be_bytes()].concat();
    account.other(Space::Root).put(key::owner(e164), bytes)
}

/// Removes the owner of a phone number.
pub fn disown(account: Scope<'_>, e164: &str) -> Result<(), Stop> {
    account.other(Space::Root).delete(key::owner(e164))
}

/// Replaces the due time `before` of an account's lane in the root by `next`; `None` means that nothing is due.
pub fn replan(
    account: Scope<'_>,
    number: u32,
    lane: u8,
    before: Option<Timestamp>,
    next: Option<Timestamp>,
) -> Result<(), Stop> {
    let root = account.other(Space::Root);
    if let Some(at) = before {
        root.delete(key::due_account(at, number, lane))?;
    }
    next.map_or(Ok(()), |at| root.put(key::due_account(at, number, lane), Vec::new()))
}

/// Adds a call to those that wait for an engine; its key wakes the claims that wait for a call.
pub fn enqueue(account: Scope<'_>, mode: Mode, call: u32) -> Result<(), Stop> {
    let number = account.account_number()?;
    account.other(Space::Root).put(key::waiting(number, mode as u8, call), Vec::new())
}

/// Adds a call again that an engine gave back. Its key has a value, by which a claim sees that not every engine wants it.
pub fn requeue(account: Scope<'_>, mode: Mode, call: u32) -> Result<(), Stop> {
    let number = account.account_number()?;
    account.other(Space::Root).put(key::waiting(number, mode as u8, call), NEVER_TRIED.to_vec())
}

/// Mark of a call that no claim has tried to hand out in vain: no tries, at no time.
const NEVER_TRIED: [u8; 9] = [0; 9];

/// Removes a call from those that wait for an engine.
pub fn dequeue(account: Scope<'_>, mode: Mode, call: u32) -> Result<(), Stop> {
    let number = account.account_number()?;
    account.other(Space::Root).delete(key::waiting(number, mode as u8, call))
}

/// Notes that a call has commands of which no claim of its engine has told; its key wakes the claims that wait.
pub fn announce(account: Scope<'_>, token: u32, call: u32) -> Result<(), Stop> {
    let number = account.account_number()?;
    account.other(Space::Root).put(key::commanded(token, number, call), Vec::new())
}

/// Removes that note, if there is one.
pub fn forget_announced(account: Scope<'_>, token: u32, call: u32) -> Result<(), Stop> {
    let number = account.account_number()?;
    let (root, at) = (account.other(Space::Root), key::commanded(token, number, call));
    if root.get(at.clone())?.is_some() { root.delete(at) } else { Ok(()) }
}

/// Lists a trunk among those of the installation, or not any more; either way the list has a new version, and so it has
/// when a trunk that stays was changed.
pub fn list_trunk(account: Scope<'_>, count: u32, is_there: bool) -> Result<(), Stop> {
    let number = account.account_number()?;
    let root = account.other(Space::Root);
    let at = key::trunk(number, count);
    if is_there {
        root.put(at, Vec::new())?;
    } else {
        root.delete(at)?;
    }
    let version = trunks_version(root)? + 1;
    root.put(key::trunks_version(), version.to_be_bytes().to_vec())
}

/// Returns the version of the list of trunks.
pub fn trunks_version(root: Scope<'_>) -> Result<u64, Stop> {
    let Some(bytes) = root.get(key::trunks_version())? else { return Ok(0) };
    Ok(u64::from_be_bytes(bytes.try_into().map_err(|_| Stop::Corrupt("the version of the trunks is unreadable"))?))
}

/// Returns the trunks of the installation by account and count, at most `most`.
pub fn trunks(root: Scope<'_>, most: usize) -> Result<Vec<(u32, u32)>, Stop> {
    let rows = root.scan(key::trunks(), Order::Ascending, most)?;
    Ok(rows.iter().filter_map(|(at, _)| key::read_trunk(at)).collect())
}

/// Returns the counts of calls of an account that wait for an engine, at most `most`.
pub fn waiting_of(account: Scope<'_>, most: usize) -> Result<Vec<u32>, Stop> {
    let Space::Account(number) = account.space() else { return Ok(Vec::new()) };
    let waiting = account.other(Space::Root).scan(key::waiting_from(number), Order::Ascending, most)?;
    let own = waiting.iter().filter_map(|(at, _)| key::read_waiting(at)).take_while(|(owner, ..)| *owner == number);
    Ok(own.map(|(.., call)| call).collect())
}

/// Removes an account from the list of accounts; its number is never given to another.
pub fn forget(account: Scope<'_>) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Ok(()) };
    let root = account.other(Space::Root);
    match root.find(Kind::Account, number + 1)? {
        Some(row) => root.remove(Kind::Account, number + 1, &row),
        None => Ok(()),
    }
}

/// Wakes waiting claims when a line of the account is free, by writing its first waiting call again.
pub fn wake_claims(account: Scope<'_>) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Ok(()) };
    let root = account.other(Space::Root);
    let first = root.scan(key::waiting_from(number), Order::Ascending, 1)?;
    match first.into_iter().next() {
        Some((at, value)) if key::read_waiting(&at).is_some_and(|(owner, ..)| owner == number) => root.put(at, value),
        _ => Ok(()),
    }
}
