//! [`Cell`]: a value that passed its check.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::{Members, Value};

/// Value that passed its check.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Absent without a default, or refused by the check.
    None,
    /// Boolean, from any accepted spelling.
    Bool(bool),
    /// Whole number within its column's bounds.
    Int(i64),
    /// Number within its column's bounds.
    Number(f64),
    /// Text, or a word of a choice.
    Text(String),
    /// List of checked entries.
    List(Vec<Cell>),
    /// Record: its cells in column order.
    Record(Vec<Cell>),
    /// Tagged record: the value of `type`, then the cells in column order.
    Tagged(&'static str, Vec<Cell>),
    /// Any JSON value.
    Json(Value),
    /// Pairs of a free name and a value, in the order received.
    Object(Members),
}
