//! JSON (RFC 8259) in and out.
//!
//! In: [`parse`] builds a [`Value`] tree in one pass and rejects what docs/api.md, Bodies, rejects (duplicate members,
//! too many levels) with line and column. Out: [`ToJson`] appends to a byte buffer.

mod parse;
mod write;

use alloc::string::String;
use alloc::vec::Vec;

pub use parse::{JsonError, parse, parse_by_place, pick};
pub use write::{Array, Object, Raw, ToJson, joined, text};

/// Returns the members of a record; none where its JSON form is not an object.
pub fn members(record: &impl ToJson) -> Members {
    match parse(&record.to_json()) {
        Ok(Value::Object(members)) => members,
        _ => Members::default(),
    }
}

/// Number as received: whole numbers keep all 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonNumber {
    /// Whole number from 0 to 2^64 - 1.
    Unsigned(u64),
    /// Whole number below 0.
    Signed(i64),
    /// Number with a fraction or an exponent, or too large for 64 bits; always finite.
    Float(f64),
}

/// Largest whole number up to which doubles have each.
const FLOAT_WHOLE_MAX: f64 = 9_007_199_254_740_991.0;

impl JsonNumber {
    /// Returns the nearest double.
    #[expect(clippy::cast_precision_loss, reason = "ranges are small; a huge number is out of every range either way")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(n) => n as f64,
            Self::Signed(n) => n as f64,
            Self::Float(n) => n,
        }
    }

    /// Returns the number as a whole number: an `i64`, or a float without a fraction below 2^53 in magnitude; else
    /// `None`.
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
            Self::Float(n) if n.abs() <= FLOAT_WHOLE_MAX && n as i64 as f64 == n => Some(n as i64),
            Self::Float(_) => None,
        }
    }
}

/// JSON value; objects keep the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The literal `null`; an absent member is no value at all.
    Null,
    /// The literals `true` and `false`.
    Bool(bool),
    /// Number, always finite.
    Number(JsonNumber),
    /// String, its escapes resolved.
    Text(String),
    /// Array, entries in order.
    List(Vec<Value>),
    /// Object, members in order.
    Object(Members),
}

/// Members of an object; no name occurs twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members(pub Vec<(String, Value)>);

impl Members {
    /// Returns the value of the member with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Replaces the value of a member in place, or appends a new member.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.0.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.into(), value)),
        }
    }

    /// Removes a member and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }
}

impl Value {
    /// Returns the members, if this is an object.
    pub fn as_object(&self) -> Option<&Members> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the text, if this is a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the owned text, if this is a string.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if this is a whole one that is not negative and fits an `i64`.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(n) => n.as_whole().and_then(|n| u64::try_from(n).ok()),
            _ => None,
        }
    }

    /// Returns the entries, if this is an array.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the value of a member, if this is an object that has it.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }
}
