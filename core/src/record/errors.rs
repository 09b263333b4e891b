//! [`Errors`]: the fields that failed, each with its sentences; [`ValuePath`]: the path to a value.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::Table;
use crate::json::{Object, ToJson};

/// Path to a value in the checked body. Its text is built only for an error: most bodies are valid and have many
/// members.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValuePath<'p> {
    /// The body itself.
    Whole,
    /// A member of the object at that path.
    Member(&'p ValuePath<'p>, &'p str),
    /// An entry of the list at that path, from 0.
    Entry(&'p ValuePath<'p>, usize),
}

impl ValuePath<'_> {
    /// Returns the path as errors show it: `tools.0.headers.1.name`.
    pub(super) fn text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Member(Self::Whole, name) => f.write_str(name),
            Self::Member(outer, name) => write!(f, "{outer}.{name}"),
            Self::Entry(outer, at) => write!(f, "{outer}.{at}"),
        }
    }
}

/// Validation errors: the sentences for each field, by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(pub Vec<(String, Vec<String>)>);

impl Errors {
    /// Adds a sentence to the errors of a field.
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

    /// Adds `The selected {field} is invalid.`, for an id or name that names nothing.
    pub fn invalid(&mut self, field: &str) {
        self.add(field, format!("The selected {} is invalid.", label(field)));
    }

    /// Adds `The selected {field} is invalid: {words}.`, for a word that is none of the valid ones. Names all of them:
    /// no choice has more than a dozen or so.
    pub(super) fn not_among<'w>(&mut self, field: &str, words: impl IntoIterator<Item = &'w str>) {
        self.add(field, format!("The selected {} is invalid: {}.", label(field), alternatives(words)));
    }

    /// Returns whether a field, or anything inside it, has an error.
    pub fn has(&self, field: &str) -> bool {
        self.0
            .iter()
            .any(|(name, _)| name.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }

    /// Returns whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first sentence, empty when there are no errors.
    pub fn first(&self) -> &str {
        self.0.first().and_then(|(_, sentences)| sentences.first()).map_or("", String::as_str)
    }

    /// Sorts the fields into the order of the table.
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

/// Returns a field's name as a sentence shows it: underscores become spaces.
pub(crate) fn label(field: &str) -> String {
    field.replace('_', " ")
}

/// Returns words as a sentence lists them: `a`, `a or b`, `a, b or c`.
fn alternatives<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_does_not_fit_is_told_the_valid_ones() {
        let says = |words: &[&'static str]| {
            let mut errors = Errors::default();
            errors.not_among("end_type", words.iter().copied());
            String::from(errors.first())
        };
        assert_eq!(says(&["a"]), "The selected end type is invalid: a.");
        assert_eq!(says(&["a", "b_c"]), "The selected end type is invalid: a or b_c.");
        assert_eq!(says(&["a", "b", "c"]), "The selected end type is invalid: a, b or c.");
    }
}
