//! Stored records: read back from the JSON of their rows, whole or one member at a time.
//!
//! A row may be older or newer than this release. A member that an older one lacks takes its column's default; members
//! that only a newer one knows go to [`Rest`] and are written back after the others.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use super::cell::Cell;
use super::check::default_of;
use super::{Column, Field, Need, Record, Table};
use crate::json::{self, Members, Value};
use crate::view::Stop;

/// Record stored as JSON.
pub trait Stored: Record {
    /// Error for bytes that do not hold such a record.
    const DAMAGED: Stop;

    /// Reads the whole record from its JSON.
    fn read(json: &[u8]) -> Result<Self, Stop> {
        StoredValues::parse(Self::TABLE, json).and_then(Self::from_values).ok_or(Self::DAMAGED)
    }

    /// Returns the stored members, the base on which an update is applied.
    fn members(json: &[u8]) -> Result<Members, Stop> {
        match json::parse(json) {
            Ok(Value::Object(members)) => Ok(members),
            _ => Err(Self::DAMAGED),
        }
    }
}

/// Members that this release does not know, in the order received. `Debug` shows how many.
#[derive(Clone, Default, PartialEq)]
pub struct Rest(pub Members);

impl fmt::Debug for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rest({})", self.0.0.len())
    }
}

/// Values of an object, consumed in the order of a table's columns.
///
/// A value that does not fit is noted rather than returned as an error at once: a record of forty members is then read
/// without forty ways out, each of which drops those before it.
pub struct StoredValues {
    columns: core::slice::Iter<'static, Column>,
    given: alloc::vec::IntoIter<Option<Value>>,
    rest: Rest,
    is_unfit: bool,
}

/// Value of a column as it is read: stored, or the default of one that is absent.
enum Read {
    Stored(Value),
    Default(Cell),
}

impl StoredValues {
    /// Parses an object from JSON; `None` for anything else.
    pub fn parse(table: &'static Table, json: &[u8]) -> Option<Self> {
        let place = |name: &str, from| place(table, name, from);
        let (given, rest) = json::parse_by_place(json, table.columns.len(), &place).ok()?;
        Some(Self { columns: table.columns.iter(), given: given.into_iter(), rest: Rest(rest), is_unfit: false })
    }

    /// Takes the values of a parsed object, such as one inside another; `None` for any other value.
    pub fn of(table: &'static Table, value: Value) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        let mut given: Vec<Option<Value>> = table.columns.iter().map(|_| None).collect();
        let (mut rest, mut next) = (Rest::default(), 0);
        for (name, value) in members.0 {
            match place(table, &name, next) {
                Some(at) => {
                    given[at] = Some(value);
                    next = at + 1;
                }
                None => rest.0.0.push((name, value)),
            }
        }
        Some(Self { columns: table.columns.iter(), given: given.into_iter(), rest, is_unfit: false })
    }

    /// Returns the next column's value, or its default when absent. Where its type does not fit it is empty, and
    /// [`Self::fit`] tells.
    pub fn take<T: Field>(&mut self) -> T {
        let default = match self.next() {
            Read::Stored(value) => match T::from_json(value) {
                Some(field) => return field,
                None => self.unfit(),
            },
            Read::Default(cell) => cell,
        };
        T::from_cell(default)
    }

    fn next(&mut self) -> Read {
        let column = self.columns.next().zip(self.given.next());
        column.and_then(|(column, value)| read(column, value)).unwrap_or_else(|| Read::Default(self.unfit()))
    }

    /// Notes a value that does not fit, and returns the cell that stands for it.
    #[inline(never)]
    fn unfit(&mut self) -> Cell {
        self.is_unfit = true;
        Cell::None
    }

    /// Returns the record that was made of the values, if all of them fitted.
    pub fn fit<T>(self, record: T) -> Option<T> {
        (!self.is_unfit).then_some(record)
    }

    /// Takes the members without a column.
    pub fn rest(&mut self) -> Rest {
        core::mem::take(&mut self.rest)
    }
}

/// Returns the column of a name. Members mostly come in table order: the search starts where the last one was found.
fn place(table: &Table, name: &str, from: usize) -> Option<usize> {
    let (before, ahead) = table.columns.split_at(from.min(table.columns.len()));
    let named = |column: &Column| column.name == name;
    ahead.iter().position(named).map(|at| before.len() + at).or_else(|| before.iter().position(named))
}

fn read(column: &Column, value: Option<Value>) -> Option<Read> {
    match (value, column.spec.need) {
        (Some(value), _) => Some(Read::Stored(value)),
        (None, Need::Required) => None,
        (None, Need::Optional | Need::Default(_)) => Some(Read::Default(default_of(column))),
    }
}

fn read_as<T: Field>(column: &Column, value: Option<Value>) -> Option<T> {
    match read(column, value)? {
        Read::Stored(value) => T::from_json(value),
        Read::Default(cell) => Some(T::from_cell(cell)),
    }
}

/// Member of a stored record, read without the others.
pub struct Member<T> {
    column: &'static Column,
    damaged: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Member<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Member<T> {}

impl<T> Member<T> {
    /// Creates the member of a column; `damaged` is the error for an unreadable value.
    pub const fn new(column: &'static Column, damaged: &'static str) -> Self {
        Self { column, damaged, of: PhantomData }
    }

    /// Returns the name of the member in the record's JSON.
    pub const fn name(self) -> &'static str {
        self.column.name
    }

    /// Reads the member from a record's JSON.
    pub fn read(self, json: &[u8]) -> Result<T, Stop>
    where
        T: Field,
    {
        (self,).read(json).map(|(value,)| value)
    }
}

/// Tuple of members of one stored record, read in one pass.
pub trait MemberTuple {
    /// Values of the members, as a tuple in their order.
    type Values;

    /// Reads the members from a record's JSON.
    fn read(self, json: &[u8]) -> Result<Self::Values, Stop>;
}

macro_rules! pick {
    ($(($($type:ident $member:ident $value:ident),*))*) => {$(
        impl<$($type: Field),*> MemberTuple for ($(Member<$type>,)*) {
            type Values = ($($type,)*);

            fn read(self, json: &[u8]) -> Result<Self::Values, Stop> {
                let ($($member,)*) = self;
                let damaged = Stop::Corrupt(self.0.damaged);
                let [$($value),*] = json::pick(json, [$($member.column.name),*]).map_err(|_| damaged)?;
                Ok(($(read_as($member.column, $value).ok_or(Stop::Corrupt($member.damaged))?,)*))
            }
        }
    )*};
}

pick! {
    (A a x)
    (A a x, B b y)
    (A a x, B b y, C c z)
    (A a x, B b y, C c z, D d u)
    (A a x, B b y, C c z, D d u, E e v)
    (A a x, B b y, C c z, D d u, E e v, F f w)
}

#[cfg(test)]
mod tests;
