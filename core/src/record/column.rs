//! Columns: the description of one member, and the constructors that tables are written with.

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::field::{Choice, DecimalText, Flag, Hundredths, Iso, Json, Sql, TaggedUnion, VariableChanges, Variables};
use super::format::Format;
use super::{Field, Record, Rule};
use crate::time::Timestamp;

/// Ids are positive integers below 2^53 (docs/api.md, Ids).
pub const ID_MAX: i64 = (1 << 53) - 1;

/// Stands for every type that a tagged record does not name.
pub const OTHER: &str = "*";

/// Table of one body, query, reply or stored row.
#[derive(Debug)]
pub struct Table {
    /// Name of the schema in the `OpenAPI` document.
    pub name: &'static str,
    /// Description in the `OpenAPI` document, from the struct's doc comment.
    pub doc: &'static str,
    /// Its members, in the order in which errors are reported.
    pub columns: &'static [Column],
    /// Rules between members, checked after the members themselves.
    pub rules: &'static [Rule],
}

/// Description of one member: its name, documentation and values.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name on the wire, in bodies, replies and errors.
    pub name: &'static str,
    /// Description with units, from the field's doc comment.
    pub doc: &'static str,
    /// Its values. Columns of the same values share one in the program.
    pub spec: &'static ColumnSpec,
}

impl Column {
    /// Returns whether a member of this name, or alias, is the column's.
    pub fn is_named(&self, name: &str) -> bool {
        self.spec.kind.is_member() && (self.name == name || self.spec.aliases.contains(&name))
    }
}

/// Values that a column takes: type and bounds, what applies without one, and what ids refer to.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSpec {
    /// Type and bounds of its values.
    pub kind: ColumnType,
    /// What applies when the member is absent.
    pub need: Need,
    /// Whether `null` in an update clears it.
    pub clears: bool,
    /// What its id (or each of its ids) must refer to; `None` for members that are no ids.
    pub exists: Option<Ref>,
    /// Other names accepted on input; output uses `name` alone.
    pub aliases: &'static [&'static str],
    /// Whether an empty value is left out of the JSON form instead of written as `null`.
    pub sparse: bool,
}

/// Type of a column, with the bounds of its values.
#[derive(Clone, Copy, Debug)]
pub enum ColumnType {
    /// Text of bounded length.
    Text {
        /// Minimum length, in Unicode scalar values.
        min: usize,
        /// Maximum length, in Unicode scalar values.
        max: usize,
        /// Format that the text must have besides its length, if any.
        format: Option<&'static Format>,
    },
    /// Whole number; in a body it may also be text, such as `"12"`.
    Int {
        /// Smallest value that is accepted.
        min: i64,
        /// Largest value that is accepted.
        max: i64,
    },
    /// Number, a fraction allowed; it may also be text, such as `"1.5"`.
    Number {
        /// Smallest value that is accepted.
        min: f64,
        /// Largest value that is accepted.
        max: f64,
    },
    /// Boolean; bodies may also say 1 or 0, as a number or as text.
    Bool,
    /// Boolean, or text of bounded length.
    BoolOrText {
        /// Maximum length of the text, in Unicode scalar values.
        max: usize,
        /// Format that the text must have.
        format: &'static Format,
    },
    /// Id, as a number or as text, or UUID; kept as text.
    IdOrUuid,
    /// Text that is one of these words.
    Choice(&'static [&'static str]),
    /// Array whose entries are all of one kind.
    List {
        /// Kind of each entry.
        of: &'static ColumnType,
        /// Minimum number of entries.
        min: usize,
        /// Maximum number of entries.
        max: usize,
        /// Member whose value must differ between entries, if any.
        unique: Option<&'static str>,
    },
    /// An object with its own table.
    Record(&'static Table),
    /// An object whose member `type` names its table; that of [`OTHER`] stands for all types that have none.
    Tagged(&'static [(&'static str, &'static Table)]),
    /// Object of free names, bounded by
    /// [`VARIABLES_MAX`](crate::limits::VARIABLES_MAX) and [`VARIABLES_BYTES_MAX`](crate::limits::VARIABLES_BYTES_MAX).
    Variables,
    /// Replies only: an instant, ISO 8601 with microseconds.
    Iso,
    /// Replies only: `YYYY-MM-DD HH:MM:SS`, UTC.
    Sql,
    /// Replies only: a number with two decimals, carried as a string.
    Decimal,
    /// Replies only: 1 or 0.
    Flag,
    /// Object whose members are free, at any depth.
    Object {
        /// Largest object, bytes as compact JSON.
        bytes_max: usize,
    },
    /// Any JSON value.
    Json {
        /// Largest value, bytes as compact JSON.
        bytes_max: usize,
    },
    /// Replies only: any JSON value.
    Any,
    /// Bodies only: the object itself that the record is read from, all its members. It is no member of its own.
    Whole {
        /// Largest object, bytes as compact JSON.
        bytes_max: usize,
    },
}

impl ColumnType {
    /// Returns whether a member of the object is meant; else it is the object itself.
    pub const fn is_member(&self) -> bool {
        !matches!(self, Self::Whole { .. })
    }
}

/// What applies when a member is absent.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// The member stays empty.
    Optional,
    /// The check fails with "field is required".
    Required,
    /// The member takes this value.
    Default(Literal),
}

/// Default value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// Default of a boolean.
    Bool(bool),
    /// Default of a whole number.
    Int(i64),
    /// Default of a number, a fraction allowed.
    Number(f64),
    /// Default of a text, or the word of a choice.
    Text(&'static str),
    /// Default of a list of choices.
    Words(&'static [&'static str]),
}

/// What an id refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ref {
    /// Language of the catalogue.
    Language,
    /// Voice of the catalogue.
    Voice,
    /// LLM of the catalogue.
    LlmModel,
    /// Multimodal model of the catalogue.
    MultimodalModel,
    /// Synthesizer provider of the catalogue.
    SynthesizerProvider,
    /// Transcriber provider of the catalogue.
    TranscriberProvider,
    /// Row of this kind in the caller's account.
    Row(crate::key::Kind),
}

/// Values of a column with their Rust type, so that a table and its struct cannot disagree.
pub struct Typed<T> {
    spec: ColumnSpec,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Typed<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Typed<T> {}

impl<T> Typed<T> {
    const fn new(kind: ColumnType) -> Self {
        Self::of(ColumnSpec { kind, need: Need::Optional, clears: false, exists: None, aliases: &[], sparse: false })
    }

    const fn of(spec: ColumnSpec) -> Self {
        Self { spec, of: PhantomData }
    }

    /// Returns the column with its name and documentation.
    pub const fn named(&'static self, name: &'static str, doc: &'static str) -> Column {
        Column { name, doc, spec: &self.spec }
    }

    /// Lets `null` in an update clear the member.
    pub const fn clears(self) -> Self {
        Self::of(ColumnSpec { clears: true, ..self.spec })
    }

    /// Requires that the id (or each id) refers to one of these.
    pub const fn exists(self, what: Ref) -> Self {
        Self::of(ColumnSpec { exists: Some(what), ..self.spec })
    }

    /// Accepts these other names on input.
    pub const fn alias(self, aliases: &'static [&'static str]) -> Self {
        Self::of(ColumnSpec { aliases, ..self.spec })
    }
}

impl<T> Typed<T> {
    /// Returns whether an empty value is left out of the JSON form.
    pub const fn is_sparse(self) -> bool {
        self.spec.sparse
    }
}

impl<T> Typed<Option<T>> {
    /// Leaves an empty value out of the JSON form instead of writing `null`.
    pub const fn sparse(self) -> Self {
        Self::of(ColumnSpec { sparse: true, ..self.spec })
    }

    /// Makes the member required; in a reply it is never null.
    pub const fn required(self) -> Typed<T> {
        Typed::of(ColumnSpec { need: Need::Required, ..self.spec })
    }

    /// Sets the value that an absent member takes.
    pub const fn or(self, default: Literal) -> Typed<T> {
        Typed::of(ColumnSpec { need: Need::Default(default), ..self.spec })
    }

    /// Sets a boolean default: [`Typed::or`] with a [`Literal::Bool`].
    pub const fn or_bool(self, default: bool) -> Typed<T> {
        self.or(Literal::Bool(default))
    }

    /// Sets a whole-number default: [`Typed::or`] with a [`Literal::Int`].
    pub const fn or_int(self, default: i64) -> Typed<T> {
        self.or(Literal::Int(default))
    }

    /// Sets a number default: [`Typed::or`] with a [`Literal::Number`].
    pub const fn or_number(self, default: f64) -> Typed<T> {
        self.or(Literal::Number(default))
    }

    /// Sets a text or word default: [`Typed::or`] with a [`Literal::Text`].
    pub const fn or_text(self, default: &'static str) -> Typed<T> {
        self.or(Literal::Text(default))
    }
}

impl<T> Typed<Option<T>> {
    /// Requires this format of the text, besides its length.
    pub const fn form(self, format: &'static Format) -> Self {
        match self.spec.kind {
            ColumnType::Text { min, max, .. } => {
                Self::of(ColumnSpec { kind: ColumnType::Text { min, max, format: Some(format) }, ..self.spec })
            }
            _ => panic!("only text has a form"),
        }
    }
}

impl<T> Typed<Vec<T>> {
    /// Leaves an empty list out of the JSON form.
    pub const fn sparse(self) -> Self {
        Self::of(ColumnSpec { sparse: true, ..self.spec })
    }

    /// Makes the member required; the list may be empty.
    pub const fn required(self) -> Self {
        Self::of(ColumnSpec { need: Need::Required, ..self.spec })
    }

    /// Requires at least one entry.
    pub const fn filled(self) -> Self {
        match self.spec.kind {
            ColumnType::List { of, max, unique, .. } => {
                Self::of(ColumnSpec { kind: ColumnType::List { of, min: 1, max, unique }, ..self.spec })
            }
            _ => panic!("only a list has entries"),
        }
    }

    /// Requires that this member differs between entries.
    pub const fn unique(self, member: &'static str) -> Self {
        match self.spec.kind {
            ColumnType::List { of, min, max, .. } => {
                Self::of(ColumnSpec { kind: ColumnType::List { of, min, max, unique: Some(member) }, ..self.spec })
            }
            _ => panic!("only a list has entries"),
        }
    }
}

impl<T: Choice> Typed<Vec<T>> {
    /// Defaults to every word of the choice.
    pub const fn or_all(self) -> Self {
        self.or_words(T::WORDS)
    }

    /// Defaults to some words of the choice.
    pub const fn or_words(self, words: &'static [&'static str]) -> Self {
        Self::of(ColumnSpec { need: Need::Default(Literal::Words(words)), ..self.spec })
    }
}

/// Declares text of `min` to `max` Unicode scalar values.
pub const fn text<T>(min: usize, max: usize) -> Typed<Option<T>>
where
    T: From<String>,
{
    Typed::new(ColumnType::Text { min, max, format: None })
}

/// Declares a whole number from `min` to `max`, both included.
pub const fn int(min: i64, max: i64) -> Typed<Option<u32>> {
    Typed::new(ColumnType::Int { min, max })
}

/// Declares the rows of a page, 1 to 100; `default` where the query names none.
pub const fn per_page(default: i64) -> Typed<u32> {
    int(1, 100).or_int(default)
}

/// Declares a whole number of 32 bits: a quantity, or an id without its account's part.
pub const fn count() -> Typed<Option<u32>> {
    int(0, u32::MAX as i64)
}

/// Declares a list of at most `max` ids without their account's part.
pub const fn counts(max: usize) -> Typed<Vec<u32>> {
    Typed::new(ColumnType::List { of: &ColumnType::Int { min: 0, max: u32::MAX as i64 }, min: 0, max, unique: None })
}

/// Declares an enum that is stored as a number from 0 to `max`.
pub const fn numbered<T: Field>(max: i64) -> Typed<Option<T>> {
    Typed::new(ColumnType::Int { min: 0, max })
}

/// Declares a whole number of 64 bits that may be negative.
pub const fn signed() -> Typed<Option<i64>> {
    Typed::new(ColumnType::Int { min: i64::MIN, max: i64::MAX })
}

/// Declares a time in microseconds since 1970, the form of stored times that the API never shows.
pub const fn micros() -> Typed<Option<Timestamp>> {
    Typed::new(ColumnType::Int { min: 0, max: i64::MAX })
}

/// Declares a number of bytes from `min` to `max`, both included.
pub const fn bytes(min: i64, max: i64) -> Typed<Option<u64>> {
    Typed::new(ColumnType::Int { min, max })
}

/// Declares an id from 1 to [`ID_MAX`].
pub const fn id() -> Typed<Option<u64>> {
    Typed::new(ColumnType::Int { min: 1, max: ID_MAX })
}

/// Declares the id of a filter, in which 0 stands for "none".
pub const fn id_or_zero() -> Typed<Option<u64>> {
    Typed::new(ColumnType::Int { min: 0, max: ID_MAX })
}

/// Declares a list of at most `max` ids.
pub const fn ids(max: usize) -> Typed<Vec<u64>> {
    Typed::new(ColumnType::List { of: &ColumnType::Int { min: 1, max: ID_MAX }, min: 0, max, unique: None })
}

/// Declares a number from `min` to `max`, both included, a fraction allowed.
pub const fn number(min: f64, max: f64) -> Typed<Option<f64>> {
    Typed::new(ColumnType::Number { min, max })
}

/// Declares a number from `min` to `max` that is rounded to two decimals after its range was checked.
pub const fn hundredths(min: f64, max: f64) -> Typed<Option<Hundredths>> {
    Typed::new(ColumnType::Number { min, max })
}

/// Declares a boolean.
pub const fn boolean() -> Typed<Option<bool>> {
    Typed::new(ColumnType::Bool)
}

/// Declares a boolean or a text of 1 to `max` Unicode scalar values in a format.
pub const fn boolean_or_text<T: Field>(max: usize, format: &'static Format) -> Typed<Option<T>> {
    Typed::new(ColumnType::BoolOrText { max, format })
}

/// Creates a column for an id, or for the UUID that stands for it.
pub const fn id_or_uuid() -> Typed<Option<String>> {
    Typed::new(ColumnType::IdOrUuid)
}

/// Declares a text that is one of the words of `T`.
pub const fn choice<T: Choice>() -> Typed<Option<T>> {
    Typed::new(ColumnType::Choice(T::WORDS))
}

/// Declares a list of at most `max` words of `T`.
pub const fn choices<T: Choice>(max: usize) -> Typed<Vec<T>> {
    Typed::new(ColumnType::List { of: &ColumnType::Choice(T::WORDS), min: 0, max, unique: None })
}

/// Declares a list of at most `max` texts of the kind `of`.
pub const fn texts(of: &'static ColumnType, max: usize) -> Typed<Vec<String>> {
    Typed::new(ColumnType::List { of, min: 0, max, unique: None })
}

/// Declares a list of at most `max` lists of texts.
pub const fn rows(of: &'static ColumnType, max: usize) -> Typed<Vec<Vec<String>>> {
    Typed::new(ColumnType::List { of, min: 0, max, unique: None })
}

/// Declares a list of at most `max` records.
pub const fn list<T: Record>(max: usize) -> Typed<Vec<T>> {
    Typed::new(ColumnType::List { of: &ColumnType::Record(T::TABLE), min: 0, max, unique: None })
}

/// Declares a list of at most `max` records told apart by their member `type`.
pub const fn tagged<T: TaggedUnion>(max: usize) -> Typed<Vec<T>> {
    Typed::new(ColumnType::List { of: &ColumnType::Tagged(T::VARIANTS), min: 0, max, unique: None })
}

/// Declares the object itself that a record is read from: [`ColumnType::Whole`].
pub const fn whole(bytes_max: usize) -> Typed<Json> {
    Typed::new(ColumnType::Whole { bytes_max })
}

/// Declares an object of free names: [`ColumnType::Variables`].
pub const fn variables() -> Typed<Variables> {
    Typed::new(ColumnType::Variables)
}

/// Declares variables to be merged into stored ones: `null` removes a name.
pub const fn variable_changes() -> Typed<VariableChanges> {
    Typed::new(ColumnType::Variables)
}

/// Declares an object of any members, kept as it is: [`ColumnType::Object`].
pub const fn any_object(bytes_max: usize) -> Typed<Option<Json>> {
    Typed::new(ColumnType::Object { bytes_max })
}

/// Declares a member that may hold any JSON of at most `bytes_max` bytes, written compactly.
pub const fn any_within(bytes_max: usize) -> Typed<Option<Json>> {
    Typed::new(ColumnType::Json { bytes_max })
}

/// Declares a member that is a record itself.
pub const fn object<T: Record>() -> Typed<Option<T>> {
    Typed::new(ColumnType::Record(T::TABLE))
}

/// Declares a time in the ISO form, for replies and rows.
pub const fn iso() -> Typed<Option<Iso>> {
    Typed::new(ColumnType::Iso)
}

/// Declares a time in the SQL form, for replies and rows.
pub const fn sql() -> Typed<Option<Sql>> {
    Typed::new(ColumnType::Sql)
}

/// Declares a number of a reply, carried as a string with two decimals.
pub const fn decimal() -> Typed<Option<DecimalText>> {
    Typed::new(ColumnType::Decimal)
}

/// Declares a boolean of a reply, carried as 1 or 0.
pub const fn flag() -> Typed<Option<Flag>> {
    Typed::new(ColumnType::Flag)
}

/// Declares a member of a reply that may hold any JSON.
pub const fn any() -> Typed<Option<Json>> {
    Typed::new(ColumnType::Any)
}
