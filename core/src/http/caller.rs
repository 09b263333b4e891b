//! Who calls, as data: made from the store by those who know tokens.

use alloc::vec::Vec;

use super::refusal::{Halt, Refusal};
use super::route::Route;
use crate::id;
use crate::rate::Caller;
use crate::time::Timestamp;

/// A token that authenticated: which row it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credential {
    /// The account's number.
    pub account: u32,
    /// Whether it is a session of a login.
    pub session: bool,
    /// Its count within the account and kind.
    pub count: u32,
}

impl Credential {
    /// Its rate-limit bucket.
    pub fn bucket(self) -> Caller {
        Caller::Token { account: self.account, token: u64::from(self.session) << 32 | u64::from(self.count) }
    }

    /// Whose bucket it is.
    pub fn of_bucket(caller: Caller) -> Option<Self> {
        let Caller::Token { account, token } = caller else { return None };
        let session = match token >> 32 {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Self { account, session, count: u32::try_from(token & u64::from(u32::MAX)).ok()? })
    }
}

/// A caller with a valid token.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// The account's number.
    pub account: u32,
    /// The token's row.
    pub count: u32,
    /// Whether it is a session of a login, rather than an API key.
    pub session: bool,
    /// Whether it may only read.
    pub read_only: bool,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// Whether the operator suspended the account.
    pub suspended: bool,
}

impl Session {
    /// Its row.
    pub fn credential(self) -> Credential {
        Credential { account: self.account, session: self.session, count: self.count }
    }

    /// Whether it may call an operation.
    pub fn may(self, route: &Route) -> Result<(), Halt> {
        if self.suspended {
            return Err(Refusal::Forbidden("This account is suspended.".into()).into());
        }
        if self.read_only && !route.read_only {
            return Err(Refusal::Forbidden("This API key is read-only.".into()).into());
        }
        Ok(())
    }
}

/// An engine with a valid token.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Its token's count; 0 is the one inside the program.
    pub token: u32,
    /// The accounts whose calls it may have, by id; none named: all.
    pub accounts: Vec<u64>,
}

impl Engine {
    /// Whether it may have calls of an account.
    pub fn serves(&self, account: u32) -> bool {
        self.accounts.is_empty() || self.accounts.contains(&id::user(account))
    }
}
