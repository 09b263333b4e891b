//! The few places where an account's operation looks beyond its own space: its plan, the e-mail of a login,
//! and who owns a phone number in the whole installation.

use alloc::vec::Vec;

use super::plan::{self, Plan};
use super::profile::Profile;
use crate::key::{self, Space};
use crate::store::Scope;
use crate::view::Stop;

/// The plan of an account.
pub fn plan(account: Scope<'_>) -> Result<Plan, Stop> {
    let profile = Profile::of(account)?;
    plan::load(account.other(Space::Root), &profile.plan)?.ok_or(Stop::Corrupt("an account's plan is not there"))
}

/// The account with this e-mail address.
pub fn account_of(root: Scope<'_>, email: &str) -> Result<Option<u32>, Stop> {
    let Some(number) = root.get(key::email(&email.to_lowercase()))? else { return Ok(None) };
    Ok(Some(u32::from_be_bytes(number.try_into().map_err(|_| Stop::Corrupt("an e-mail row has an unknown form"))?)))
}

/// The space of an account, for operations that find it by something else than a token.
pub fn space_of(root: Scope<'_>, account: u32) -> Scope<'_> {
    root.other(Space::Account(account))
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
