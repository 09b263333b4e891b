//! The Rust types of columns: built from a checked cell, written as JSON.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::Table;
use super::cell::Cell;
use crate::json::{self, JsonNumber, Members, ToJson, Value};
use crate::time::Timestamp;

/// Rust type of a column.
pub trait Field: Sized {
    /// Converts a checked cell; the check has made sure that its type fits.
    fn from_cell(cell: Cell) -> Self;

    /// Converts a stored value; `None` where its type does not fit.
    fn from_json(value: Value) -> Option<Self>;
}

/// Cells of a record, consumed in column order.
pub struct Cells(alloc::vec::IntoIter<Cell>);

impl Cells {
    /// Returns the cells of a [`Cell::Record`]; none for any other cell.
    pub fn of(cell: Cell) -> Self {
        match cell {
            Cell::Record(cells) => Self(cells.into_iter()),
            _ => Self(Vec::new().into_iter()),
        }
    }

    /// Returns the next cell; [`Cell::None`] after the last.
    pub fn take(&mut self) -> Cell {
        self.0.next().unwrap_or(Cell::None)
    }
}

/// Enum whose values are words on the wire.
pub trait Choice: Copy + 'static {
    /// Words on the wire, in the order of the values.
    const WORDS: &'static [&'static str];
    /// Values of the enum, in the order of the words.
    const ALL: &'static [Self];

    /// Returns the value of a word; `None` for an unknown one.
    fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().position(|known| *known == word).map(|at| Self::ALL[at])
    }
}

/// Enum of records told apart by their member `type`.
pub trait TaggedUnion {
    /// Value of `type` and table of each variant.
    const VARIANTS: &'static [(&'static str, &'static Table)];
}

/// Number with two decimals, held as whole hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hundredths(pub i64);

/// [`Hundredths`] of a reply, carried as a string: `"0.10"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalText(pub Hundredths);

/// Boolean of a reply, carried as 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag(pub bool);

/// Time of a reply in the ISO form: [`Timestamp::iso`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iso(pub Timestamp);

/// Time of a reply in the SQL form: [`Timestamp::sql`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sql(pub Timestamp);

/// Pairs of a free name and a value, in the order received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(pub Members);

/// [`Variables`] to be merged into stored ones; `null` stands for a name to be removed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariableChanges(pub Members);

impl VariableChanges {
    /// Applies the changes to stored variables.
    pub fn merge_into(self, variables: &mut Variables) {
        for (name, value) in self.0.0 {
            if value == Value::Null {
                variables.0.remove(&name);
            } else {
                variables.0.set(&name, value);
            }
        }
    }
}

/// JSON of any form.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(pub Value);

/// Text that no log, error or `Debug` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Hundredths {
    /// Rounds to hundredths, halves away from zero.
    #[expect(clippy::cast_possible_truncation, reason = "columns bound their numbers far below 2^53")]
    pub fn from_f64(number: f64) -> Self {
        let scaled = number * 100.0;
        Self(if scaled < 0.0 { (scaled - 0.5) as i64 } else { (scaled + 0.5) as i64 })
    }
}

impl ToJson for Hundredths {
    /// Writes a number without trailing zeros: `0.1`, `12`, `12.34`.
    fn write(&self, out: &mut Vec<u8>) {
        if self.0 < 0 {
            out.push(b'-');
        }
        let (whole, rest) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        whole.write(out);
        if rest > 0 {
            out.push(b'.');
            out.push(digit(rest / 10));
            if rest % 10 > 0 {
                out.push(digit(rest % 10));
            }
        }
    }
}

impl ToJson for DecimalText {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        if self.0.0 < 0 {
            out.push(b'-');
        }
        let (whole, rest) = (self.0.0.unsigned_abs() / 100, self.0.0.unsigned_abs() % 100);
        whole.write(out);
        out.extend_from_slice(&[b'.', digit(rest / 10), digit(rest % 10), b'"']);
    }
}

impl DecimalText {
    fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-');
        let (whole, cents) = unsigned.unwrap_or(text).split_once('.').filter(|(_, cents)| cents.len() == 2)?;
        if whole.is_empty() || !whole.bytes().chain(cents.bytes()).all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let hundredths: i64 = [whole, cents].concat().parse().ok()?;
        Some(Self(Hundredths(if unsigned.is_some() { -hundredths } else { hundredths })))
    }
}

fn digit(n: u64) -> u8 {
    b'0' + u8::try_from(n).unwrap_or(0)
}

impl ToJson for Flag {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(if self.0 { b'1' } else { b'0' });
    }
}

impl ToJson for Iso {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.iso().write(out);
    }
}

impl ToJson for Sql {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.sql().write(out);
    }
}

impl ToJson for Timestamp {
    /// Writes microseconds since 1970, the form of stored times that the API never shows.
    fn write(&self, out: &mut Vec<u8>) {
        self.micros().write(out);
    }
}

impl ToJson for Variables {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

impl ToJson for VariableChanges {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

impl ToJson for Json {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

impl ToJson for Secret {
    /// Writes the text in clear: only stored rows have a column of this type, replies have none.
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

macro_rules! field {
    ($($type:ty, $cell:pat => $value:expr, $else:expr; $json:pat => $read:expr;)*) => {$(
        impl Field for $type {
            fn from_cell(cell: Cell) -> Self {
                match cell { $cell => $value, _ => $else }
            }

            fn from_json(value: Value) -> Option<Self> {
                match value { $json => $read, _ => None }
            }
        }
    )*};
}

field! {
    String, Cell::Text(text) => text, String::new(); Value::Text(text) => Some(text);
    Secret, Cell::Text(text) => Self(text), Self(String::new()); Value::Text(text) => Some(Self(text));
    u64, Cell::Int(n) => u64::try_from(n).unwrap_or(0), 0; Value::Number(n) => whole(n);
    u32, Cell::Int(n) => u32::try_from(n).unwrap_or(0), 0; Value::Number(n) => whole(n);
    i64, Cell::Int(n) => n, 0; Value::Number(n) => n.as_whole();
    f64, Cell::Number(n) => n, 0.0; Value::Number(n) => Some(n.as_f64());
    bool, Cell::Bool(value) => value, false; Value::Bool(value) => Some(value);
    Hundredths, Cell::Number(n) => Self::from_f64(n), Self(0); Value::Number(n) => Some(Self::from_f64(n.as_f64()));
    Variables, Cell::Object(members) => Self(given(members)), Self::default(); Value::Object(members) => Some(Self(members));
    VariableChanges, Cell::Object(members) => Self(members), Self::default(); Value::Object(members) => Some(Self(members));
}

impl Field for Json {
    fn from_cell(cell: Cell) -> Self {
        match cell {
            Cell::Object(members) => Self(Value::Object(members)),
            Cell::Json(value) => Self(value),
            _ => Self(Value::Null),
        }
    }

    fn from_json(value: Value) -> Option<Self> {
        Some(Self(value))
    }
}

/// Returns the members that are not `null`.
fn given(mut members: Members) -> Members {
    members.0.retain(|(_, value)| *value != Value::Null);
    members
}

fn whole<T: TryFrom<i64>>(number: JsonNumber) -> Option<T> {
    number.as_whole().and_then(|n| T::try_from(n).ok())
}

impl Json {
    /// Converts a record to JSON of any form.
    pub fn of(record: &impl ToJson) -> Self {
        Self(json::parse(&record.to_json()).unwrap_or(Value::Null))
    }
}

impl<T: Field> Field for Option<T> {
    fn from_cell(cell: Cell) -> Self {
        (!matches!(cell, Cell::None)).then(|| T::from_cell(cell))
    }

    fn from_json(value: Value) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::from_json(value).map(Some) }
    }
}

impl<T: Field> Field for Vec<T> {
    fn from_cell(cell: Cell) -> Self {
        match cell {
            Cell::List(cells) => cells.into_iter().map(T::from_cell).collect(),
            _ => Self::new(),
        }
    }

    fn from_json(value: Value) -> Option<Self> {
        match value {
            Value::List(values) => {
                let mut list = Self::with_capacity(values.len());
                for value in values {
                    list.push(T::from_json(value)?);
                }
                Some(list)
            }
            _ => None,
        }
    }
}

/// Fields of replies and rows alone, never read from a body.
macro_rules! of_rows {
    ($($type:ty = $empty:expr; $json:pat => $read:expr;)*) => {$(
        impl Field for $type {
            fn from_cell(_: Cell) -> Self {
                $empty
            }

            fn from_json(value: Value) -> Option<Self> {
                match value { $json => $read, _ => None }
            }
        }
    )*};
}

of_rows! {
    DecimalText = Self(Hundredths(0)); Value::Text(text) => Self::parse(&text);
    Flag = Self(false); Value::Number(n) => match n { JsonNumber::Unsigned(n @ 0..=1) => Some(Self(n == 1)), _ => None };
    Iso = Self(Timestamp::default()); Value::Text(text) => Timestamp::parse_iso(&text).map(Self);
    Sql = Self(Timestamp::default()); Value::Text(text) => Timestamp::parse_sql(&text).map(Self);
    Timestamp = Self::default(); Value::Number(n) => whole(n).map(Self::from_micros);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hundredths_in_both_forms() {
        for (number, plain, fixed) in [
            (0.1, "0.1", "\"0.10\""),
            (1.0, "1", "\"1.00\""),
            (0.375, "0.38", "\"0.38\""),
            (12.34, "12.34", "\"12.34\""),
            (-0.05, "-0.05", "\"-0.05\""),
        ] {
            let hundredths = Hundredths::from_f64(number);
            assert_eq!(hundredths.to_json(), plain.as_bytes());
            assert_eq!(DecimalText(hundredths).to_json(), fixed.as_bytes());
        }
    }
}
