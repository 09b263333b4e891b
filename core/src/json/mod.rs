//! JSON (RFC 8259) in and out.
//!
//! In: [`parse`] gives a [`Value`] tree in one pass and refuses what docs/api.md, Bodies, refuses (a member
//! named twice, too many levels) with line and column. Out: [`ToJson`] appends to a byte buffer.

mod parse;
mod write;

use alloc::string::String;
use alloc::vec::Vec;

pub use parse::{Malformed, parse, parse_by_place, pick};
pub use write::{Array, Object, Raw, ToJson, joined, text};

/// The members of a record; none where its JSON form is no object.
pub fn members(record: &impl ToJson) -> Members {
    match parse(&record.to_json()) {
        Ok(Value::Object(members)) => members,
        _ => Members::default(),
    }
}

/// A number as it came: whole numbers keep all 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Not negative.
    Unsigned(u64),
    /// Negative.
    Signed(i64),
    /// With a fraction or an exponent, or too large for 64 bits; always finite.
    Float(f64),
}

impl Number {
    /// The nearest double.
    #[expect(clippy::cast_precision_loss, reason = "ranges are small; a huge number is out of every range either way")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(n) => n as f64,
            Self::Signed(n) => n as f64,
            Self::Float(n) => n,
        }
    }

    /// The whole number that this is, if it is one that a double holds exactly or a 64-bit integer.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "guarded by the range, compared after the cast on purpose"
    )]
    pub fn as_whole(self) -> Option<i64> {
        match self {
            Self::Unsigned(n) => i64::try_from(n).ok(),
            Self::Signed(n) => Some(n),
            Self::Float(n) if (-9.0e15..=9.0e15).contains(&n) && n as i64 as f64 == n => Some(n as i64),
            Self::Float(_) => None,
        }
    }
}

/// A JSON value; objects keep the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object.
    Object(Members),
}

/// The members of an object; no name occurs twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members(pub Vec<(String, Value)>);

impl Members {
    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Sets or replaces a member.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.into(), value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }
}

impl Value {
    /// The members, if this is an object.
    pub fn as_object(&self) -> Option<&Members> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text itself, if this is a string.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number that is not negative, if this is one.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(n) => n.as_whole().and_then(|n| u64::try_from(n).ok()),
            _ => None,
        }
    }

    /// The entries, if this is an array.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// A member of this object, if it is one and has it.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }
}
