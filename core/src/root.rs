//! The few places where an account's operation looks beyond its own space: the e-mail of a login, who owns a phone
//! number in the whole installation, the calls that wait for an engine, and when the account's work is due.

use alloc::vec::Vec;

use crate::catalogue::Mode;
use crate::key::{self, Space};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// The account with this e-mail address.
pub fn account_of(root: Scope<'_>, email: &str) -> Result<Option<u32>, Stop> {
    let Some(number) = root.get(key::email(&email.to_lowercase()))? else { return Ok(None) };
    Ok(Some(u32::from_be_bytes(number.try_into().map_err(|_| Stop::Corrupt("an e-mail row has an unknown form"))?)))
}

/// The space of an account, for operations that find it by something else than a token.
pub fn space_of(root: Scope<'_>, account: u32) -> Scope<'_> {
    root.other(Space::Account(account))
}

/// The space of what belongs to no account: for jobs, which the operator sees.
pub fn of(account: Scope<'_>) -> Scope<'_> {
    account.other(Space::Root)
}

/// Who owns a phone number: the account, and the row there (0 while it is being bought).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The account's number.
    pub account: u32,
    /// The row's count.
    pub count: u32,
    /// Which purchase reserved it.
    pub claim: u32,
}

/// The owner of a number in the whole installation.
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

/// Enters, or changes, the owner of a number.
pub fn own(account: Scope<'_>, e164: &str, owner: Owner) -> Result<(), Stop> {
    let bytes: Vec<u8> = [owner.account.to_be_bytes(), owner.count.to_be_bytes(), owner.claim.to_be_bytes()].concat();
    account.other(Space::Root).put(key::owner(e164), bytes)
}

/// Strikes out the owner of a number.
pub fn disown(account: Scope<'_>, e164: &str) -> Result<(), Stop> {
    account.other(Space::Root).delete(key::owner(e164))
}

/// Enters when a lane of an account is next due, in the place of when it was.
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

/// Enters a call of the account among those that wait for an engine; its key is news to who waits for one.
pub fn enqueue(account: Scope<'_>, mode: Mode, call: u32) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Err(Stop::Corrupt("a call belongs to an account")) };
    account.other(Space::Root).put(key::waiting(number, mode as u8, call), Vec::new())
}

/// Takes it out.
pub fn dequeue(account: Scope<'_>, mode: Mode, call: u32) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Err(Stop::Corrupt("a call belongs to an account")) };
    account.other(Space::Root).delete(key::waiting(number, mode as u8, call))
}

/// A line of the account is free: its first waiting call is news once more.
pub fn ring(account: Scope<'_>) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Ok(()) };
    let root = account.other(Space::Root);
    let first = root.scan(key::waiting_from(number), Order::Ascending, 1)?;
    match first.into_iter().next() {
        Some((at, value)) if key::read_waiting(&at).is_some_and(|(owner, ..)| owner == number) => root.put(at, value),
        _ => Ok(()),
    }
}
