//! [`Errors`]: every field that is wrong, each with its sentences; [`Place`]: where a value stands.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::Table;
use crate::json::{Object, ToJson};

/// Where a value stands in what is checked. Its text is made only when something is wrong there: most bodies are
/// right, and have many members.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'p> {
    /// The whole body.
    Whole,
    /// A member of what stands there.
    Member(&'p Place<'p>, &'p str),
    /// An entry of the list that stands there.
    Entry(&'p Place<'p>, usize),
}

impl Place<'_> {
    /// As errors name it: `tools.0.headers.1.name`.
    pub(super) fn text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Member(Self::Whole, name) => f.write_str(name),
            Self::Member(outer, name) => write!(f, "{outer}.{name}"),
            Self::Entry(outer, at) => write!(f, "{outer}.{at}"),
        }
    }
}

/// What is wrong, by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(pub Vec<(String, Vec<String>)>);

impl Errors {
    /// Adds a sentence to a field.
    pub fn add(&mut self, field: &str, sentence: impl Into<String>) {
        let sentence = sentence.into();
        match self.0.iter_mut().find(|(name, _)| name == field) {
            Some((_, sentences)) => sentences.push(sentence),
            None => self.0.push((field.to_owned(), [sentence].into())),
        }
    }

    /// Adds `The {field} {says}`.
    pub fn say(&mut self, field: &str, says: &str) {
        self.add(field, format!("The {} {says}", label(field)));
    }

    /// Adds `The selected {field} is invalid.`
    pub fn invalid(&mut self, field: &str) {
        self.add(field, format!("The selected {} is invalid.", label(field)));
    }

    /// Whether a field, or anything inside it, is wrong.
    pub fn has(&self, field: &str) -> bool {
        self.0
            .iter()
            .any(|(name, _)| name.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first sentence.
    pub fn first(&self) -> &str {
        self.0.first().and_then(|(_, sentences)| sentences.first()).map_or("", String::as_str)
    }

    /// Puts the fields into the order of the table.
    pub fn sort(&mut self, table: &Table) {
        self.0.sort_by_cached_key(|(name, _)| {
            let mut parts = name.split('.');
            let head = parts.next().unwrap_or_default();
            let column = table.columns.iter().position(|column| column.name == head);
            let entry: usize = parts.next().and_then(|n| n.parse().ok()).unwrap_or(0);
            (column.unwrap_or(usize::MAX), entry)
        });
    }
}

impl ToJson for Errors {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        for (field, sentences) in &self.0 {
            object.member(field, sentences);
        }
        object.close();
    }
}

/// A field's name in a sentence.
pub(crate) fn label(field: &str) -> String {
    field.replace('_', " ")
}
