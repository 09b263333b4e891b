//! Making an account: for the operator, and for the first start.

use alloc::string::String;
use alloc::vec::Vec;

use super::keys::{self, NewKey};
use super::profile::{Hidden, Profile, State};
use super::rows::ProfileRow;
use super::signing;
use super::token::Token;
use crate::key::{self, Kind};
use crate::record::{Iso, Rest};
use crate::root;
use crate::seed::Seed;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// What an account is made from.
pub struct New {
    /// The address that logs in.
    pub email: String,
    /// Its name.
    pub name: String,
    /// Its time zone.
    pub timezone: String,
    /// The name of its plan.
    pub plan: String,
    /// Salt and digest of its password.
    pub password: Vec<u8>,
}

/// A new account, and the token of its first key.
pub struct Made {
    /// The account.
    pub profile: Profile,
    /// Its first key.
    pub token: Token,
}

/// Makes an account whose e-mail address is free.
pub fn account(root: Scope<'_>, new: New, now: Timestamp, seed: &Seed) -> Result<Made, Stop> {
    let (count, created_at) = root.allot(Kind::Account, now)?;
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
        state: State::default(),
        password: Hidden(new.password),
    };
    let scope = root::space_of(root, number);
    profile.save(scope)?;
    let (token, _) =
        keys::make(scope, &NewKey { name: "First key".into(), expires_at: None, read_only: false }, None, now, seed)?;
    signing::make(scope, now, seed)?;
    Ok(Made { profile, token })
}
