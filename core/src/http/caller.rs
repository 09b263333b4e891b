//! Authenticated callers as data. They are read from the store elsewhere, by the code that knows tokens.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::refusal::{Halt, Refusal};
use super::route::Route;
use crate::id;
use crate::rate::Caller;
use crate::time::Timestamp;

/// Identifies the row of a token that authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credential {
    /// Number of the account that the token belongs to.
    pub account: u32,
    /// Whether it is a session token from a login, rather than an API key.
    pub session: bool,
    /// Count of the row among the account's sessions or API keys.
    pub count: u32,
}

impl Credential {
    /// Returns its rate-limit bucket.
    pub fn bucket(self) -> Caller {
        Caller::Token { account: self.account, token: u64::from(self.session) << 32 | u64::from(self.count) }
    }

    /// Returns the credential of a bucket; `None` if the bucket is not a token's.
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
pub struct AuthenticatedToken {
    /// Number of the account that the token belongs to.
    pub account: u32,
    /// Count of the token's row.
    pub count: u32,
    /// Whether it is a session token from a login, rather than an API key.
    pub session: bool,
    /// Whether it may only call read-only operations.
    pub read_only: bool,
    /// When the token expires; `None`: never.
    pub expires: Option<Timestamp>,
    /// Whether the operator suspended the account.
    pub suspended: bool,
}

impl AuthenticatedToken {
    /// Returns the row of the token.
    pub fn credential(self) -> Credential {
        Credential { account: self.account, session: self.session, count: self.count }
    }

    /// Checks whether the caller may use the operation: 403 if the account is suspended, or if the key is read-only and
    /// the operation writes.
    pub fn may(self, route: &Route) -> Result<(), Halt> {
        if self.suspended {
            return Err(Refusal::Suspended.into());
        }
        if self.read_only && !route.read_only {
            return Err(Refusal::ReadOnly.into());
        }
        Ok(())
    }
}

/// An engine with a valid token.
#[derive(Clone, Debug)]
pub struct Engine {
    /// Count of its token's row; 0 for the built-in engine.
    pub token: u32,
    /// Ids of the accounts whose calls it may handle; empty: all.
    pub accounts: Vec<u64>,
    /// Whether it gets the credentials of trunks.
    pub telephony: bool,
}

impl Engine {
    /// Returns whether it may handle calls of an account, by number.
    pub fn serves(&self, account: u32) -> bool {
        self.accounts.is_empty() || self.accounts.contains(&id::user(account))
    }

    /// Returns what tells it from the other engines that use the same token: the token and the engine's own name.
    pub fn party(&self, name: &str) -> String {
        format!("{} {name}", self.token)
    }
}
