//! An assistant as its calls see it: the row, or what is kept of a deleted one.

use alloc::string::String;
use core::fmt;

use super::{mask, stored};
use crate::catalogue::Mode;
use crate::json::{Members, Value};
use crate::key::{self, Kind};
use crate::record::Choice;
use crate::store::{Row, Scope};
use crate::view::Stop;

/// The stored members of an assistant, secrets in clear; silent in `Debug`.
#[derive(Clone, PartialEq)]
pub struct Kept {
    /// The members.
    pub members: Members,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// The assistant of a call, deleted or not.
pub fn kept(account: Scope<'_>, count: u32) -> Result<Option<Kept>, Stop> {
    let row = match account.find(Kind::Assistant, count)? {
        Some(row) => Some(row),
        None => account
            .get(key::part(account.space(), Kind::Assistant, count, 0))?
            .map(|bytes| Row::from_bytes(&bytes))
            .transpose()?,
    };
    row.map(|row| Ok(Kept { members: stored::members(&row)? })).transpose()
}

impl Kept {
    /// The members as the API shows them: secrets masked.
    pub fn shown(&self) -> Members {
        let mut members = self.members.clone();
        mask::in_members(&mut members);
        members
    }

    /// A text member.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_text)
    }

    /// A text member of one's own.
    pub fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(String::from)
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.members.get(name).and_then(Value::as_u64)
    }

    /// A boolean member, 1 counting as true.
    pub fn flag(&self, name: &str) -> bool {
        self.members.get(name) == Some(&Value::Bool(true)) || self.number(name) == Some(1)
    }

    /// The engine mode.
    pub fn mode(&self) -> Option<Mode> {
        self.text("mode").and_then(Mode::of)
    }
}
