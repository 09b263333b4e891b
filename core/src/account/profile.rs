//! [`Profile`]: what is kept of an account, in its own space.

use alloc::string::String;
use alloc::vec::Vec;

use super::rows::ProfileRow;
use crate::id;
use crate::json::ToJson;
use crate::key::{self, Space};
use crate::record;
use crate::record::{Iso, Stored, boolean, id, iso, number, text};
use crate::store::{Row, Scope};
use crate::view::Stop;

record! {
    /// An account, as the operator sees it.
    pub struct Account {
        /// The account's id; `user_id` elsewhere.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// The address that logs in.
        email: String = text(0, 255).required(),
        /// Its time zone.
        timezone: String = text(0, 64).required(),
        /// The name of its plan.
        plan: String = text(0, 64).required(),
        /// What is left, USD; null while the account is unmetered.
        balance: Option<f64> = number(0.0, 0.0),
        /// Whether it is shut out.
        suspended: bool = boolean().required(),
        /// When it was made.
        created_at: Iso = iso().required(),
    }
}

/// The part that every request looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Whether the account is shut out.
    pub suspended: bool,
    /// How often its password was set.
    pub epoch: u32,
    /// What is left, millionths of a dollar; `None` while it is unmetered.
    pub balance: Option<i64>,
}

const STATE_BYTES: usize = 14;

impl State {
    /// Reads it from the stored bytes of a profile.
    pub fn of(profile: &[u8]) -> Result<Self, Stop> {
        Self::from_bytes(Row::private_of(profile)?).ok_or(ProfileRow::DAMAGED)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(6)?;
        let balance = i64::from_le_bytes(rest.get(..8)?.try_into().ok()?);
        let epoch = u32::from_le_bytes(head[2..].try_into().ok()?);
        Some(Self { suspended: head[0] != 0, epoch, balance: (head[1] != 0).then_some(balance) })
    }

    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::from([u8::from(self.suspended), u8::from(self.balance.is_some())]);
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.balance.unwrap_or(0).to_le_bytes());
        bytes
    }
}

/// An account.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its number.
    pub number: u32,
    /// Its name, address, time zone and plan.
    pub own: ProfileRow,
    /// What changes often.
    pub state: State,
    /// Salt and digest of its password.
    pub password: Hidden,
}

/// Bytes that no `Debug` shows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Hidden(pub Vec<u8>);

impl core::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Profile {
    /// The profile of a space.
    pub fn load(scope: Scope<'_>) -> Result<Option<Self>, Stop> {
        let Space::Account(number) = scope.space() else { return Ok(None) };
        let Some(bytes) = scope.get(key::profile(number))? else { return Ok(None) };
        let row = Row::from_bytes(&bytes)?;
        let own = ProfileRow::read(&row.public)?;
        let state = State::from_bytes(&row.private).ok_or(ProfileRow::DAMAGED)?;
        let password = Hidden(row.private[STATE_BYTES..].to_vec());
        Ok(Some(Self { number, own, state, password }))
    }

    /// The profile of a caller: there is one.
    pub fn of(scope: Scope<'_>) -> Result<Self, Stop> {
        Self::load(scope)?.ok_or(Stop::Corrupt("an account has no profile"))
    }

    /// Writes it.
    pub fn save(&self, scope: Scope<'_>) -> Result<(), Stop> {
        let private = [self.state.to_bytes(), self.password.0.clone()].concat();
        let row = Row { facets: Vec::new(), public: self.own.to_json(), private };
        scope.put(key::profile(self.number), row.to_bytes())
    }

    /// What the operator sees.
    pub fn shown(&self) -> Account {
        Account {
            id: id::user(self.number),
            name: self.own.name.clone(),
            email: self.own.email.clone(),
            timezone: self.own.timezone.clone(),
            plan: self.own.plan.clone(),
            balance: self.state.balance.map(dollars),
            suspended: self.state.suspended,
            created_at: self.own.created_at,
        }
    }

    /// Takes a cost off the balance of a metered account; refuses when it does not cover it.
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

    /// Gives a cost back.
    pub fn refund(&mut self, micros: i64) {
        if let Some(balance) = &mut self.state.balance {
            *balance += micros;
        }
    }
}

/// Millionths of a dollar as dollars.
#[expect(clippy::cast_precision_loss, reason = "balances stay far below 2^53 millionths")]
pub fn dollars(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// Dollars as millionths, to the nearest one.
#[expect(clippy::cast_possible_truncation, reason = "columns bound amounts far below 2^53 millionths")]
pub fn micros(dollars: f64) -> i64 {
    (dollars * 1e6 + if dollars < 0.0 { -0.5 } else { 0.5 }) as i64
}
