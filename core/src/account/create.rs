//! Creation of accounts: by the operator, and at the first start.

use alloc::string::String;
use alloc::vec::Vec;

use super::keys::{self, NewKey};
use super::profile::{AccountFlags, Hidden, Profile};
use super::rows::ProfileRow;
use super::signing;
use super::token::Token;
use crate::key::{self, Kind};
use crate::record::{Iso, Rest};
use crate::root;
use crate::seed::Seed;
use crate::store::{Ledger, Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Settings of a new account.
pub struct AccountSpec {
    /// E-mail address that logs in; stored in lower case.
    pub email: String,
    /// Display name of the account.
    pub name: String,
    /// IANA time zone, Region/City.
    pub timezone: String,
    /// Name of an existing plan.
    pub plan: String,
    /// Salt and digest of the password.
    pub password: Vec<u8>,
}

/// A new account and the token of its first key.
pub struct Made {
    /// Profile of the account, already stored.
    pub profile: Profile,
    /// Token of its first API key, to be shown once.
    pub token: Token,
}

/// Most numbers that are left out for one whose rows are here: many more than lie between two of a writer that has a
/// thousandth of them.
const LEFT_OUT_MAX: usize = 16_384;

/// Stops where the rows of the next account are another writer's: that one is to begin it, before anything is asked for.
pub fn begin(root: Scope<'_>) -> Result<(), Stop> {
    // Counts start at 1, account numbers at 0.
    let number = Ledger::load(root)?.last(Kind::Account);
    if root::space_of(root, number).is_here() { Ok(()) } else { Err(Stop::Elsewhere(number)) }
}

/// Allots the count of an account; not always the next one: while this one's password was hashed, another writer may
/// have got that, and the rows of the one after it may be a third one's.
fn allot(root: Scope<'_>, now: Timestamp) -> Result<(u32, Timestamp), Stop> {
    let mut ledger = Ledger::load(root)?;
    let mut allotted = ledger.next(Kind::Account, now)?;
    for _ in 0..LEFT_OUT_MAX {
        // The first account is the owner's.
        if allotted.0 == 1 || root::space_of(root, allotted.0 - 1).is_here() {
            break;
        }
        allotted = ledger.next(Kind::Account, now)?;
    }
    ledger.save(root)?;
    Ok(allotted)
}

/// Creates an account with a first key and a webhook secret; the caller has checked that the e-mail is free.
pub fn account(root: Scope<'_>, new: AccountSpec, now: Timestamp, seed: &Seed) -> Result<Made, Stop> {
    let (count, created_at) = allot(root, now)?;
    let number = count - 1;
    let email = new.email.to_lowercase();
    root.put(key::email(&email), number.to_be_bytes().to_vec())?;
    root.insert(Kind::Account, count, created_at, &Row::open(Vec::new(), b"{}".to_vec()))?;
    let profile = Profile {
        number,
        own: ProfileRow {
            name: new.name,
            email,
            timezone: new.timezone,
            plan: new.plan,
            created_at: Iso(created_at),
            rest: Rest::default(),
        },
        state: AccountFlags::default(),
        password: Hidden(new.password),
    };
    let scope = root::space_of(root, number);
    profile.save(scope)?;
    let (token, _) =
        keys::make(scope, &NewKey { name: "First key".into(), expires_at: None, read_only: false }, None, now, seed)?;
    signing::make(scope, now, seed)?;
    Ok(Made { profile, token })
}
