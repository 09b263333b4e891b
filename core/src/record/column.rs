//! Columns: what one member is, and the constructors that tables are written with.

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::field::{Choice, DecimalText, Flag, Hundredths, Iso, Json, Sql, Tagged, Variables};
use super::format::Format;
use super::{Field, Record, Rule};
use crate::time::Timestamp;

/// Ids are positive integers below 2^53 (docs/api.md, Ids).
pub const ID_MAX: i64 = (1 << 53) - 1;

/// One body, query or reply.
#[derive(Debug)]
pub struct Table {
    /// Its name in the `OpenAPI` document.
    pub name: &'static str,
    /// What it is, for the `OpenAPI` document.
    pub doc: &'static str,
    /// Its members, in the order in which errors are reported.
    pub columns: &'static [Column],
    /// What holds between members.
    pub rules: &'static [Rule],
}

/// One member.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name on the wire.
    pub name: &'static str,
    /// What it is, with units.
    pub doc: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// What happens when it is not given.
    pub need: Need,
    /// Whether `null` in an update clears it.
    pub clears: bool,
    /// What its id (or each of its ids) must name.
    pub exists: Option<Ref>,
    /// Other spellings taken on input.
    pub aliases: &'static [&'static str],
    /// Whether the JSON form leaves it out where there is none, instead of saying `null`.
    pub sparse: bool,
}

/// What values a column takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Text, its length in Unicode scalar values.
    Text {
        /// Shortest.
        min: usize,
        /// Longest.
        max: usize,
        /// Its form, beyond length.
        format: Option<&'static Format>,
    },
    /// A whole number.
    Int {
        /// Smallest.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// A number.
    Number {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// True or false.
    Bool,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An array.
    List {
        /// What each entry is.
        of: &'static Kind,
        /// Most entries.
        max: usize,
        /// The member that no two entries may share.
        unique: Option<&'static str>,
    },
    /// An object with its own table.
    Record(&'static Table),
    /// An object whose member `type` names its table.
    Tagged(&'static [(&'static str, &'static Table)]),
    /// Key-value pairs: strings, numbers or booleans.
    Variables,
    /// Replies only: an instant, ISO 8601 with microseconds.
    Iso,
    /// Replies only: `YYYY-MM-DD HH:MM:SS`, UTC.
    Sql,
    /// Replies only: a number with two decimals, carried as a string.
    Decimal,
    /// Replies only: 1 or 0.
    Flag,
    /// Replies only: an object whose members are free.
    Object,
    /// Replies only: any JSON value.
    Any,
}

/// What happens when a member is not given.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// It stays empty.
    Optional,
    /// That is an error.
    Required,
    /// It takes this value.
    Default(Literal),
}

/// A default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Number(f64),
    /// Text, or a word of a choice.
    Text(&'static str),
    /// Every word of a choice.
    AllWords,
}

/// What an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ref {
    /// A language of the catalogue.
    Language,
    /// A voice of the catalogue.
    Voice,
    /// An LLM of the catalogue.
    LlmModel,
    /// A multimodal model of the catalogue.
    MultimodalModel,
    /// A synthesizer provider of the catalogue.
    SynthesizerProvider,
    /// A transcriber provider of the catalogue.
    TranscriberProvider,
    /// A row of the caller's account.
    Row(crate::key::Kind),
}

/// A column whose Rust type is known, so that a table and its struct cannot disagree.
pub struct Typed<T> {
    column: Column,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Typed<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Typed<T> {}

impl<T> Typed<T> {
    const fn new(kind: Kind) -> Self {
        Self::of(Column {
            name: "",
            doc: "",
            kind,
            need: Need::Optional,
            clears: false,
            exists: None,
            aliases: &[],
            sparse: false,
        })
    }

    const fn of(column: Column) -> Self {
        Self { column, of: PhantomData }
    }

    /// The column, with its name and its documentation.
    pub const fn named(self, name: &'static str, doc: &'static str) -> Column {
        Column { name, doc, ..self.column }
    }

    /// `null` in an update clears it.
    pub const fn clears(self) -> Self {
        Self::of(Column { clears: true, ..self.column })
    }

    /// The id (or each id) names one of these.
    pub const fn exists(self, what: Ref) -> Self {
        Self::of(Column { exists: Some(what), ..self.column })
    }

    /// Another spelling taken on input.
    pub const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self::of(Column { aliases, ..self.column })
    }
}

impl<T> Typed<T> {
    /// Whether the JSON form leaves it out where there is none.
    pub const fn is_sparse(self) -> bool {
        self.column.sparse
    }
}

impl<T> Typed<Option<T>> {
    /// The JSON form leaves it out where there is none, instead of saying `null`.
    pub const fn sparse(self) -> Self {
        Self::of(Column { sparse: true, ..self.column })
    }

    /// Not giving it is an error; in a reply it is never null.
    pub const fn required(self) -> Typed<T> {
        Typed::of(Column { need: Need::Required, ..self.column })
    }

    /// The value it takes when it is not given.
    pub const fn or(self, default: Literal) -> Typed<T> {
        Typed::of(Column { need: Need::Default(default), ..self.column })
    }

    /// [`Typed::or`] of a boolean.
    pub const fn or_bool(self, default: bool) -> Typed<T> {
        self.or(Literal::Bool(default))
    }

    /// [`Typed::or`] of a whole number.
    pub const fn or_int(self, default: i64) -> Typed<T> {
        self.or(Literal::Int(default))
    }

    /// [`Typed::or`] of a number.
    pub const fn or_number(self, default: f64) -> Typed<T> {
        self.or(Literal::Number(default))
    }

    /// [`Typed::or`] of a text or word.
    pub const fn or_text(self, default: &'static str) -> Typed<T> {
        self.or(Literal::Text(default))
    }
}

impl<T> Typed<Option<T>> {
    /// The text has this form as well.
    pub const fn form(self, format: &'static Format) -> Self {
        match self.column.kind {
            Kind::Text { min, max, .. } => {
                Self::of(Column { kind: Kind::Text { min, max, format: Some(format) }, ..self.column })
            }
            _ => panic!("only text has a form"),
        }
    }
}

impl<T> Typed<Vec<T>> {
    /// No two entries share this member.
    pub const fn unique(self, member: &'static str) -> Self {
        match self.column.kind {
            Kind::List { of, max, .. } => {
                Self::of(Column { kind: Kind::List { of, max, unique: Some(member) }, ..self.column })
            }
            _ => panic!("only a list has entries"),
        }
    }

    /// When not given: every word of the choice.
    pub const fn or_all(self) -> Self {
        Self::of(Column { need: Need::Default(Literal::AllWords), ..self.column })
    }
}

/// Text of `min` to `max` characters.
pub const fn text<T>(min: usize, max: usize) -> Typed<Option<T>>
where
    T: From<String>,
{
    Typed::new(Kind::Text { min, max, format: None })
}

/// A whole number.
pub const fn int(min: i64, max: i64) -> Typed<Option<u32>> {
    Typed::new(Kind::Int { min, max })
}

/// A whole number of at most 32 bits: how many, or an id without its account's part.
pub const fn count() -> Typed<Option<u32>> {
    int(0, u32::MAX as i64)
}

/// A list of ids without their account's part.
pub const fn counts(max: usize) -> Typed<Vec<u32>> {
    Typed::new(Kind::List { of: &Kind::Int { min: 0, max: u32::MAX as i64 }, max, unique: None })
}

/// An enum that is stored as a number of its own.
pub const fn numbered<T: Field>(max: i64) -> Typed<Option<T>> {
    Typed::new(Kind::Int { min: 0, max })
}

/// A whole number that may be negative.
pub const fn signed() -> Typed<Option<i64>> {
    Typed::new(Kind::Int { min: i64::MIN, max: i64::MAX })
}

/// A time in microseconds since 1970, as rows keep it that the API never shows.
pub const fn micros() -> Typed<Option<Timestamp>> {
    Typed::new(Kind::Int { min: 0, max: i64::MAX })
}

/// A number of bytes.
pub const fn bytes(min: i64, max: i64) -> Typed<Option<u64>> {
    Typed::new(Kind::Int { min, max })
}

/// An id.
pub const fn id() -> Typed<Option<u64>> {
    Typed::new(Kind::Int { min: 1, max: ID_MAX })
}

/// A list of ids.
pub const fn ids(max: usize) -> Typed<Vec<u64>> {
    Typed::new(Kind::List { of: &Kind::Int { min: 1, max: ID_MAX }, max, unique: None })
}

/// A number.
pub const fn number(min: f64, max: f64) -> Typed<Option<f64>> {
    Typed::new(Kind::Number { min, max })
}

/// A number that is rounded to two decimals once its range was checked.
pub const fn hundredths(min: f64, max: f64) -> Typed<Option<Hundredths>> {
    Typed::new(Kind::Number { min, max })
}

/// True or false.
pub const fn boolean() -> Typed<Option<bool>> {
    Typed::new(Kind::Bool)
}

/// One of the words of `T`.
pub const fn choice<T: Choice>() -> Typed<Option<T>> {
    Typed::new(Kind::Choice(T::WORDS))
}

/// A list of words of `T`.
pub const fn choices<T: Choice>(max: usize) -> Typed<Vec<T>> {
    Typed::new(Kind::List { of: &Kind::Choice(T::WORDS), max, unique: None })
}

/// A list of texts.
pub const fn texts(of: &'static Kind, max: usize) -> Typed<Vec<String>> {
    Typed::new(Kind::List { of, max, unique: None })
}

/// A list of records.
pub const fn list<T: Record>(max: usize) -> Typed<Vec<T>> {
    Typed::new(Kind::List { of: &Kind::Record(T::TABLE), max, unique: None })
}

/// A list of tagged records.
pub const fn tagged<T: Tagged>(max: usize) -> Typed<Vec<T>> {
    Typed::new(Kind::List { of: &Kind::Tagged(T::VARIANTS), max, unique: None })
}

/// Key-value pairs.
pub const fn variables() -> Typed<Variables> {
    Typed::new(Kind::Variables)
}

/// A record as a member.
pub const fn object<T: Record>() -> Typed<Option<T>> {
    Typed::new(Kind::Record(T::TABLE))
}

/// A time in the ISO form.
pub const fn iso() -> Typed<Option<Iso>> {
    Typed::new(Kind::Iso)
}

/// A time in the SQL form.
pub const fn sql() -> Typed<Option<Sql>> {
    Typed::new(Kind::Sql)
}

/// A number of a reply carried as a string with two decimals.
pub const fn decimal() -> Typed<Option<DecimalText>> {
    Typed::new(Kind::Decimal)
}

/// A boolean of a reply carried as 1 or 0.
pub const fn flag() -> Typed<Option<Flag>> {
    Typed::new(Kind::Flag)
}

/// Any JSON of a reply.
pub const fn any() -> Typed<Option<Json>> {
    Typed::new(Kind::Any)
}
