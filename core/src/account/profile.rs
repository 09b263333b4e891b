//! [`Profile`]: the stored settings of an account, in its own space.

use alloc::string::String;
use alloc::vec::Vec;

use super::rows::ProfileRow;
use crate::choice;
use crate::id;
use crate::json::ToJson;
use crate::key::{self, Space};
use crate::record;
use crate::record::{Iso, Stored, boolean, choice, id, iso, number, text};
use crate::store::{Row, Scope};
use crate::view::Stop;

choice! {
    /// State of an account.
    pub enum AccountStatus {
        /// Its tokens work.
        Active = "active",
        /// Its tokens are answered with 403.
        Suspended = "suspended",
        /// It is being deleted: its tokens are unknown, and in the end so is the account.
        Deleting = "deleting",
    }
}

record! {
    /// An account as the operator sees it.
    pub struct Account {
        /// The account's id; `user_id` elsewhere.
        id: u64 = id().required(),
        /// Display name of the account.
        name: String = text(0, 255).required(),
        /// E-mail address that logs in, in lower case.
        email: String = text(0, 255).required(),
        /// IANA time zone, Region/City; that of its campaigns unless they have their own.
        timezone: String = text(0, 64).required(),
        /// Name of the plan that bounds the account.
        plan: String = text(0, 64).required(),
        /// Remaining balance, USD; null while the account is unmetered.
        balance: Option<f64> = number(0.0, 0.0),
        /// Whether the account is suspended: its tokens are then answered with 403.
        suspended: bool = boolean().required(),
        /// State of the account.
        status: AccountStatus = choice::<AccountStatus>().required(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
    }
}

/// The part of a profile that every request reads; stored with a fixed length, to be read without the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountFlags {
    /// Whether the account is suspended, as one that is being deleted always is.
    pub suspended: bool,
    /// Whether the account is being deleted.
    pub deleting: bool,
    /// Number of times the password was changed; sessions of an earlier one are invalid.
    pub epoch: u32,
    /// Remaining balance, millionths of a dollar; `None` while unmetered.
    pub balance: Option<i64>,
}

const STATE_BYTES: usize = 14;
/// Bits of the first byte of stored flags.
const SUSPENDED: u8 = 1;
const DELETING: u8 = 2;

impl AccountFlags {
    /// Reads the state from the stored bytes of a profile.
    pub fn of(profile: &[u8]) -> Result<Self, Stop> {
        Self::from_bytes(Row::private_of(profile)?).ok_or(ProfileRow::DAMAGED)
    }

    /// Returns whether the account is metered and has nothing left.
    pub fn is_used_up(self) -> bool {
        self.balance.is_some_and(|balance| balance <= 0)
    }

    /// Returns the state that these flags make.
    pub fn status(self) -> AccountStatus {
        match self {
            Self { deleting: true, .. } => AccountStatus::Deleting,
            Self { suspended: true, .. } => AccountStatus::Suspended,
            _ => AccountStatus::Active,
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(6)?;
        let balance = i64::from_le_bytes(rest.get(..8)?.try_into().ok()?);
        let epoch = u32::from_le_bytes(head[2..].try_into().ok()?);
        let balance = (head[1] != 0).then_some(balance);
        Some(Self { suspended: head[0] != 0, deleting: head[0] & DELETING != 0, epoch, balance })
    }

    fn to_bytes(self) -> Vec<u8> {
        let suspended = if self.suspended { SUSPENDED } else { 0 } | if self.deleting { DELETING } else { 0 };
        let mut bytes = Vec::from([suspended, u8::from(self.balance.is_some())]);
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.balance.unwrap_or(0).to_le_bytes());
        bytes
    }
}

/// The profile of an account.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Number of the account, from 0; its id is one more.
    pub number: u32,
    /// Name, address, time zone and plan.
    pub own: ProfileRow,
    /// The part that changes often and that every request reads.
    pub state: AccountFlags,
    /// Salt and digest of the password.
    pub password: Hidden,
}

/// Bytes that `Debug` does not print.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(pub Vec<u8>);

impl core::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Profile {
    /// Loads the profile of a space; `None` in the root, and where the account does not exist.
    pub fn load(scope: Scope<'_>) -> Result<Option<Self>, Stop> {
        let Space::Account(number) = scope.space() else { return Ok(None) };
        let Some(bytes) = scope.get(key::profile(number))? else { return Ok(None) };
        let row = Row::from_bytes(&bytes)?;
        let own = ProfileRow::read(&row.public)?;
        let state = AccountFlags::from_bytes(&row.private).ok_or(ProfileRow::DAMAGED)?;
        let password = Hidden(row.private[STATE_BYTES..].to_vec());
        Ok(Some(Self { number, own, state, password }))
    }

    /// Loads the profile of an account that must exist, such as the caller's.
    pub fn of(scope: Scope<'_>) -> Result<Self, Stop> {
        Self::load(scope)?.ok_or(Stop::Corrupt("an account has no profile"))
    }

    /// Stores the profile.
    pub fn save(&self, scope: Scope<'_>) -> Result<(), Stop> {
        let private = [self.state.to_bytes(), self.password.0.clone()].concat();
        let row = Row { facets: Vec::new(), public: self.own.to_json(), private };
        scope.put(key::profile(self.number), row.to_bytes())
    }

    /// Returns the account as the operator sees it.
    pub fn shown(&self) -> Account {
        Account {
            id: id::user(self.number),
            name: self.own.name.clone(),
            email: self.own.email.clone(),
            timezone: self.own.timezone.clone(),
            plan: self.own.plan.clone(),
            balance: self.state.balance.map(dollars),
            suspended: self.state.suspended,
            status: self.state.status(),
            created_at: self.own.created_at,
        }
    }

    /// Charges a cost to a metered account; returns `false`, and charges nothing, if the balance does not cover it.
    #[must_use]
    pub fn pay(&mut self, micros: i64) -> bool {
        match &mut self.state.balance {
            None => true,
            Some(balance) if *balance < micros => false,
            Some(balance) => {
                *balance -= micros;
                true
            }
        }
    }

    /// Refunds a cost to a metered account.
    pub fn refund(&mut self, micros: i64) {
        self.recharge(micros, 0);
    }

    /// Charges `cost` instead of what was `charged` before, both millionths of a dollar: the balance of a metered
    /// account takes the difference, even below zero.
    pub fn recharge(&mut self, charged: i64, cost: i64) {
        if let Some(balance) = &mut self.state.balance {
            *balance += charged - cost;
        }
    }
}

/// Converts millionths of a dollar to dollars.
#[expect(clippy::cast_precision_loss, reason = "balances stay far below 2^53 millionths")]
pub fn dollars(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// Converts dollars to millionths, rounded to the nearest one.
#[expect(clippy::cast_possible_truncation, reason = "columns bound amounts far below 2^53 millionths")]
pub fn micros(dollars: f64) -> i64 {
    (dollars * 1e6 + if dollars < 0.0 { -0.5 } else { 0.5 }) as i64
}
