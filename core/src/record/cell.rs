//! [`Cell`]: a value that was checked.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::Members;

/// A value that was checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not given.
    None,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Number(f64),
    /// Text, or a word of a choice.
    Text(String),
    /// A list.
    List(Vec<Cell>),
    /// A record, in column order.
    Record(Vec<Cell>),
    /// A tagged record.
    Tagged(&'static str, Vec<Cell>),
    /// Key-value pairs.
    Object(Members),
}
