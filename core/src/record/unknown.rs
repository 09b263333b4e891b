//! The members of a body that its table does not know (docs/api.md, Unknown members).

use alloc::string::String;
use alloc::vec::Vec;

use super::errors::ValuePath;
use super::{ColumnType, Table};
use crate::json::{Members, Value};

/// Returns the paths of the members that `table` does not know, in the order of the body, at most `most` of them.
///
/// Members that one of the `shown` tables has, at the same place, count as known: they come from an answer that is sent
/// back.
pub fn unknown(table: &Table, shown: &[&'static Table], members: &Members, most: usize) -> Vec<String> {
    let mut search = Search { found: Vec::new(), most };
    search.object(table, shown, members, None, &ValuePath::Whole);
    search.found
}

struct Search {
    found: Vec<String>,
    most: usize,
}

impl Search {
    /// Looks at the members of an object; one called `tag` belongs to the table by what it selects.
    fn object(
        &mut self,
        table: &Table,
        shown: &[&'static Table],
        members: &Members,
        tag: Option<&str>,
        place: &ValuePath<'_>,
    ) {
        if table.columns.iter().any(|column| !column.spec.kind.is_member()) {
            // What no column names is part of the whole.
            return;
        }
        for (name, value) in &members.0 {
            if self.found.len() >= self.most {
                return;
            }
            let path = ValuePath::Member(place, name);
            match table.columns.iter().find(|column| column.is_named(name)) {
                Some(column) if nests(&column.spec.kind) => {
                    self.value(&column.spec.kind, &kinds(shown, name), value, &path);
                }
                None if tag != Some(name.as_str()) && kinds(shown, name).is_empty() => self.found.push(path.text()),
                _ => {}
            }
        }
    }

    fn value(&mut self, kind: &ColumnType, shown: &[&'static ColumnType], value: &Value, place: &ValuePath<'_>) {
        match (kind, value) {
            (ColumnType::Record(table), Value::Object(members)) => {
                let shown: Vec<_> = shown.iter().filter_map(|kind| record(kind)).collect();
                self.object(table, &shown, members, None, place);
            }
            (ColumnType::Tagged(variants), Value::Object(members)) => {
                let word = members.get("type").and_then(Value::as_text);
                let Some((word, table)) = word.and_then(|word| super::check::variant(variants, word)) else { return };
                let shown: Vec<_> = shown.iter().filter_map(|kind| variant(kind, word)).collect();
                self.object(table, &shown, members, Some("type"), place);
            }
            (ColumnType::List { of, .. }, Value::List(entries)) if nests(of) => {
                let shown: Vec<_> = shown.iter().filter_map(|kind| entry(kind)).collect();
                for (at, value) in entries.iter().enumerate() {
                    self.value(of, &shown, value, &ValuePath::Entry(place, at));
                }
            }
            _ => {}
        }
    }
}

/// Returns whether values of the type have members of their own that a table describes.
fn nests(kind: &ColumnType) -> bool {
    match kind {
        ColumnType::Record(_) | ColumnType::Tagged(_) => true,
        ColumnType::List { of, .. } => nests(of),
        _ => false,
    }
}

/// Returns the types that the tables have for a member.
fn kinds(tables: &[&'static Table], name: &str) -> Vec<&'static ColumnType> {
    tables.iter().flat_map(|table| table.columns).filter(|column| column.is_named(name)).map(|c| &c.spec.kind).collect()
}

fn record(kind: &'static ColumnType) -> Option<&'static Table> {
    if let ColumnType::Record(table) = kind { Some(table) } else { None }
}

fn variant(kind: &'static ColumnType, word: &str) -> Option<&'static Table> {
    let ColumnType::Tagged(variants) = kind else { return None };
    variants.iter().find(|(name, _)| *name == word).map(|(_, table)| *table)
}

fn entry(kind: &'static ColumnType) -> Option<&'static ColumnType> {
    if let ColumnType::List { of, .. } = kind { Some(of) } else { None }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::json;
    use crate::record::Variables;
    use crate::record::{Record, choice, id, list, tagged, text, variables};
    use crate::{choice, record, tagged};

    choice! {
        /// A colour.
        pub enum Colour {
            /// Red.
            Red = "red",
        }
    }

    record! {
        /// A header.
        pub struct Header {
            /// Its name.
            name: Option<String> = text(1, 9),
            /// Its value.
            value: Option<String> = text(1, 9).alias(&["content"]),
        }
    }

    tagged! {
        /// A part.
        pub enum Part {
            /// One part.
            One(Header) = "one",
        }
    }

    record! {
        /// A body.
        pub struct New {
            /// A colour.
            colour: Option<Colour> = choice::<Colour>(),
            /// Headers.
            headers: Vec<Header> = list::<Header>(9),
            /// Parts.
            parts: Vec<Part> = tagged::<Part>(9),
            /// Variables.
            variables: Variables = variables(),
        }
    }

    record! {
        /// A header, as answers show it.
        pub struct ShownHeader {
            /// Its id.
            id: u64 = id().required(),
        }
    }

    record! {
        /// An answer.
        pub struct Shown {
            /// Its id.
            id: u64 = id().required(),
            /// Headers.
            headers: Vec<ShownHeader> = list::<ShownHeader>(9),
        }
    }

    fn of(body: &str, most: usize) -> Vec<String> {
        let Ok(Value::Object(members)) = json::parse(body.as_bytes()) else { panic!("{body}") };
        unknown(New::TABLE, &[Shown::TABLE], &members, most)
    }

    #[test]
    fn what_no_table_knows_is_named_at_any_depth_in_the_order_of_the_body() {
        let body = r#"{"z":1,"colour":"red","headers":[{"name":"a"},{"content":"b","b":{"c":1},"id":4}],"a":{"b":2},
            "parts":[{"type":"one","type2":1,"id":3},{"type":"two","x":1},7],"variables":{"any":1},"id":7,"headerz":[]}"#;
        let all = vec!["z", "headers.1.b", "a", "parts.0.type2", "parts.0.id", "headerz"];
        assert_eq!(of(body, 9), all);
        assert_eq!(of(body, 2), all[..2]);
        assert_eq!(of(r#"{"type":1}"#, 9), ["type"]);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_left_to_the_checks() {
        assert!(of(r#"{"headers":{"x":1},"parts":"x","colour":{"x":1}}"#, 9).is_empty());
    }
}
