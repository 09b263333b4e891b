//! The table language: one table for each body, query, reply and stored row.
//!
//! [`record!`](crate::record!) writes the struct and its [`Table`]; from the table come the checks ([`check()`]), the
//! form in which it is stored ([`Stored`]), the JSON Schema ([`schema`]), the `OpenAPI` document and the generators of
//! the tests. Every rule about a member is a column; every rule between members is a [`Rule`].

mod cell;
pub mod check;
mod column;
mod errors;
mod field;
pub mod format;
mod rule;
pub mod schema;
mod stored;
mod unknown;
pub mod variables;

pub use cell::Cell;
pub use check::{Checked, MemberSource, check, check_update};
pub use column::{
    Column, ColumnType, ID_MAX, Literal, Need, OTHER, Ref, Table, Typed, any, any_object, any_within, boolean,
    boolean_or_text, bytes, choice, choices, count, counts, decimal, flag, hundredths, id, id_or_uuid, id_or_zero, ids,
    int, iso, list, micros, number, numbered, object, per_page, rows, signed, sql, tagged, text, texts,
    variable_changes, variables, whole,
};
pub use errors::Errors;
pub(crate) use errors::label;
pub use field::{
    Cells, Choice, DecimalText, Field, Flag, Hundredths, Iso, Json, Secret, Sql, TaggedUnion, VariableChanges,
    Variables,
};
pub use format::is_e164;
pub use rule::{Rule, Strictness, When, any_of, fixed, form_if, form_unless, one_of, ordered, require};
pub use stored::{Member, MemberTuple, Rest, Stored, StoredValues};
pub use unknown::unknown;

use crate::json::ToJson;

/// Struct described by a [`Table`].
pub trait Record: Sized + ToJson {
    /// Columns and rules of the struct, in the order of its fields.
    const TABLE: &'static Table;

    /// Builds the struct from checked cells, in column order.
    fn from_cells(cells: &mut Cells) -> Self;

    /// Builds the struct from stored values, in column order; `None` where a value has the wrong type.
    fn from_values(values: StoredValues) -> Option<Self>;
}

/// Returns the record of an empty object.
pub fn defaults<T: Record>() -> T {
    T::from_cells(&mut Cells::of(Cell::Record(T::TABLE.columns.iter().map(check::default_of).collect())))
}

/// Strips the prefix of a Rust raw identifier: `r#type` is the member `type`.
pub const fn member_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// Writes a struct and its [`Table`] in one place.
///
/// Each line is `name: Type = column`, and the column's type must be the field's. `stored as "a thing"` makes it
/// [`Stored`]: it keeps members that this release does not know in a field `rest`, and `Thing::MEMBERS` reads its
/// members one by one.
#[macro_export]
macro_rules! record {
    ($(#[doc = $doc:literal])* pub struct $name:ident stored as $what:literal { $($body:tt)* } $($rules:tt)*) => {
        $crate::record!(@ record [rest] [$($doc),*] $name { $($body)* } $($rules)*);
        $crate::record!(@ stored $what $name { $($body)* });
    };
    ($(#[doc = $doc:literal])* pub struct $name:ident { $($body:tt)* } $($rules:tt)*) => {
        $crate::record!(@ record [] [$($doc),*] $name { $($body)* } $($rules)*);
    };
    (@ record [$($rest:ident)?] [$($doc:literal),*] $name:ident {
        $($(#[doc = $field_doc:literal])* $field:ident : $type:ty = $column:expr),* $(,)?
    } $(rules { $($rule:expr),* $(,)? })?) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: $type,)*
            $(
                /// Members that this release does not know, written back unchanged.
                pub $rest: $crate::record::Rest,
            )?
        }

        impl $crate::record::Record for $name {
            const TABLE: &'static $crate::record::Table = &$crate::record::Table {
                name: stringify!($name),
                doc: concat!($($doc),*),
                columns: &[$({
                    const COLUMN: &$crate::record::Typed<$type> = &$column;
                    COLUMN.named($crate::record::member_name(stringify!($field)), concat!($($field_doc),*))
                }),*],
                rules: &[$($($rule),*)?],
            };

            fn from_cells(cells: &mut $crate::record::Cells) -> Self {
                Self {
                    $($field: $crate::record::Field::from_cell(cells.take()),)*
                    $($rest: $crate::record::Rest::default(),)?
                }
            }

            fn from_values(mut values: $crate::record::StoredValues) -> Option<Self> {
                let record = Self { $($field: values.take(),)* $($rest: values.rest(),)? };
                values.fit(record)
            }
        }

        impl $crate::json::ToJson for $name {
            fn write(&self, out: &mut ::alloc::vec::Vec<u8>) {
                let mut object = $crate::json::Object::open(out);
                $({
                    const COLUMN: &$crate::record::Typed<$type> = &$column;
                    let name = const { $crate::record::member_name(stringify!($field)) };
                    if COLUMN.is_sparse() { object.given(name, &self.$field) } else { object.member(name, &self.$field) };
                })*
                $(object.members(&self.$rest.0);)?
                object.close();
            }
        }

        impl $crate::record::Field for $name {
            fn from_cell(cell: $crate::record::Cell) -> Self {
                $crate::record::Record::from_cells(&mut $crate::record::Cells::of(cell))
            }

            fn from_json(value: $crate::json::Value) -> Option<Self> {
                let table = <Self as $crate::record::Record>::TABLE;
                $crate::record::Record::from_values($crate::record::StoredValues::of(table, value)?)
            }
        }
    };
    (@ stored $what:literal $name:ident {
        $($(#[doc = $field_doc:literal])* $field:ident : $type:ty = $column:expr),* $(,)?
    }) => {
        impl $crate::record::Stored for $name {
            const DAMAGED: $crate::view::Stop = $crate::view::Stop::Corrupt(concat!($what, " has an unknown form"));
        }

        const _: () = {
            /// Members of a record, by name.
            #[derive(Clone, Copy)]
            #[allow(dead_code, reason = "few records are read one member at a time")]
            pub struct MembersByName { $($(#[doc = $field_doc])* pub $field: $crate::record::Member<$type>),* }

            impl $name {
                /// The members, each to be read without the others.
                #[allow(dead_code, reason = "few records are read one member at a time")]
                pub const MEMBERS: MembersByName = MembersByName { $($field: {
                    const COLUMN: $crate::record::Column = {
                        const TYPED: &$crate::record::Typed<$type> = &$column;
                        TYPED.named($crate::record::member_name(stringify!($field)), "")
                    };
                    $crate::record::Member::new(&COLUMN, concat!($what, " has an unknown form"))
                }),* };
            }
        };
    };
}

/// Writes an enum whose values are words on the wire.
#[macro_export]
macro_rules! choice {
    ($(#[doc = $doc:literal])* pub enum $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $variant_doc])* $variant),* }

        impl $crate::record::Choice for $name {
            const WORDS: &'static [&'static str] = &[$($word),*];
            const ALL: &'static [Self] = &[$(Self::$variant),*];
        }

        impl $name {
            /// Returns the word on the wire.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl $crate::json::ToJson for $name {
            fn write(&self, out: &mut ::alloc::vec::Vec<u8>) {
                $crate::json::text(out, self.word());
            }
        }

        impl $crate::record::Field for $name {
            fn from_cell(cell: $crate::record::Cell) -> Self {
                $crate::record::check::choice_of(&cell)
            }

            fn from_json(value: $crate::json::Value) -> Option<Self> {
                value.as_text().and_then($crate::record::Choice::of)
            }
        }
    };
}

/// Writes an enum of records told apart by their member `type`.
#[macro_export]
macro_rules! tagged {
    ($(#[doc = $doc:literal])* pub enum $name:ident { $($(#[doc = $variant_doc:literal])* $variant:ident($type:ty) = $word:literal),* $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name { $($(#[doc = $variant_doc])* $variant($type)),* }

        impl $crate::record::TaggedUnion for $name {
            const VARIANTS: &'static [(&'static str, &'static $crate::record::Table)] =
                &[$(($word, <$type as $crate::record::Record>::TABLE)),*];
        }

        impl $crate::json::ToJson for $name {
            fn write(&self, out: &mut ::alloc::vec::Vec<u8>) {
                match self { $(Self::$variant(record) => $crate::record::check::write_tagged(out, $word, record)),* }
            }
        }

        impl $crate::record::Field for $name {
            fn from_cell(cell: $crate::record::Cell) -> Self {
                let (word, cells) = $crate::record::check::tag_of(cell);
                match word {
                    $($word => Self::$variant($crate::record::Record::from_cells(&mut $crate::record::Cells::of(cells))),)*
                    _ => unreachable!("the check only lets declared variants through"),
                }
            }

            fn from_json(value: $crate::json::Value) -> Option<Self> {
                let (word, value) = $crate::record::check::tag_of_json(value)?;
                match word.as_str() {
                    $($word => $crate::record::Field::from_json(value).map(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
