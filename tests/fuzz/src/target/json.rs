//! JSON: what is parsed means the same when it is written, another parser accepts it too, and every table checks it.
//!
//! An input is the name of a table, a line end, and the text.

use std::collections::BTreeMap;

use switchboard_core::http::route::BodyKind;
use switchboard_core::json::{self, ToJson, Value};
use switchboard_core::record::{MemberSource, Table, check, check_update};
use switchboard_core::service::routes::ROUTES;
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::corpus;
use crate::town::Town;

/// Target `json`: texts for the JSON parser and the body tables.
pub struct Json<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
    tables: BTreeMap<&'static str, &'static Table>,
}

impl<'t> Json<'t> {
    /// Creates the target with the body and query tables.
    pub fn new(town: &'t Town) -> Self {
        let body = |route: &switchboard_core::http::route::Route| match route.body {
            BodyKind::Json(table, _) | BodyKind::Document(table) => Some(table),
            BodyKind::None | BodyKind::File(..) | BodyKind::Object(..) => None,
        };
        let tables = ROUTES.iter().flat_map(|route| [body(route), route.query]).flatten();
        Self { town, corpus: corpus::of("json"), tables: tables.map(|table| (table.name, table)).collect() }
    }

    /// Checks that every error about a body names a field and is a complete sentence.
    fn judged(&self, name: &str, members: json::Members) -> Result<bool, String> {
        let Some(table) = self.tables.get(name) else { return Ok(false) };
        let source = if members.0.len().is_multiple_of(5) { MemberSource::Query } else { MemberSource::Body };
        let updated = check_update(table, members.clone(), members.clone());
        for errors in [check(table, members, source).errors, updated.errors] {
            for (field, sentences) in &errors.0 {
                let ends = sentences.iter().all(|sentence| sentence.ends_with('.'));
                if field.is_empty() || sentences.is_empty() || !ends {
                    return Err(format!("{field}: {sentences:?}"));
                }
            }
        }
        Ok(true)
    }
}

impl Target for Json<'_> {
    fn name(&self) -> &'static str {
        "json"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let tables: Vec<&&Table> = self.tables.values().collect();
            let table = random.one(&tables);
            [table.name.as_bytes(), b"\n", &self.town.bodies.draw(random, table)].concat()
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let (name, text) = (String::from_utf8_lossy(&input[..at]), &input[(at + 1).min(input.len())..]);
        let value = match json::parse(text) {
            Ok(value) => value,
            Err(malformed) => {
                let told = malformed.reason.contains("line") && !malformed.reason.ends_with('.');
                let kind: String = malformed.reason.chars().filter(|letter| letter.is_alphabetic()).collect();
                return if told { Ok(Seen { said: "malformed".into(), kind }) } else { Err(malformed.reason) };
            }
        };
        let written = value.to_json();
        if json::parse(&written).as_ref() != Ok(&value) {
            return Err("what was written reads as another".into());
        }
        serde_json::from_slice::<serde_json::Value>(text).map_err(|error| format!("another reader: {error}"))?;
        let Value::Object(members) = value else { return Ok(Seen::word("no object")) };
        Ok(Seen::word(if self.judged(&name, members)? { "judged" } else { "read" }))
    }
}
