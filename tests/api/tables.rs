//! Every table of a body: what is drawn from it is accepted, what is broken in one field names that field,
//! and the published schema agrees.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};
use switchboard_core::http::route::BodyKind;
use switchboard_core::http::routes::ROUTES;
use switchboard_core::json::{self, ToJson};
use switchboard_core::record::schema::{self, Purpose};
use switchboard_core::record::{Cell, Checked, Errors, Kind, Source, Table, check};
use switchboard_tests::drawn::for_all;
use switchboard_tests::strategy::{anything, body, broken};

/// Bodies drawn over all tables.
const BODIES: u32 = 2_000;

fn tables() -> BTreeMap<&'static str, &'static Table> {
    ROUTES
        .iter()
        .filter_map(|route| match route.body {
            BodyKind::Json(table, _) | BodyKind::Document(table) => Some((table.name, table)),
            BodyKind::None | BodyKind::File(..) => None,
        })
        .collect()
}

fn errors(table: &'static Table, body: &Map<String, Value>) -> Errors {
    checked(table, body).errors
}

fn checked(table: &'static Table, body: &Map<String, Value>) -> Checked {
    let bytes = Value::Object(body.clone()).to_string();
    let Ok(json::Value::Object(members)) = json::parse(bytes.as_bytes()) else { panic!("not an object: {bytes}") };
    check(table, members, Source::Body)
}

/// Each table's part of the bodies.
fn share(tables: &BTreeMap<&'static str, &'static Table>) -> u32 {
    BODIES.div_ceil(u32::try_from(tables.len()).expect("few tables"))
}

#[test]
fn any_body_drawn_from_a_table_is_accepted() {
    let tables = tables();
    for table in tables.values() {
        for_all(share(&tables), &body(table, &anything), |body| {
            let errors = errors(table, &body);
            prop_assert!(errors.is_empty(), "{}: {:?} in {:?}", table.name, errors, body);
            Ok(())
        });
    }
}

#[test]
fn a_body_broken_in_one_field_names_that_field() {
    let tables = tables();
    for table in tables.values() {
        let drawn = (body(table, &anything), any::<Index>(), any::<Index>());
        for_all(share(&tables), &drawn, |(mut body, column, value)| {
            let column = column.get(table.columns);
            let values = broken(column);
            body.insert(column.name.to_owned(), value.get(&values).clone());
            let errors = errors(table, &body);
            prop_assert!(!errors.is_empty(), "{}: accepted {:?}", table.name, body);
            for (field, _) in &errors.0 {
                prop_assert_eq!(
                    field.split('.').next(),
                    Some(column.name),
                    "{}: {:?} in {:?}",
                    table.name,
                    errors,
                    body
                );
            }
            Ok(())
        });
    }
}

#[test]
fn the_published_schema_agrees_with_the_checks() {
    let tables = tables();
    for table in tables.values() {
        let published: Value =
            serde_json::from_slice(&schema::of(table, Purpose::Create).to_json()).expect("a schema is JSON");
        let judge = jsonschema::draft202012::options()
            .build(&published)
            .unwrap_or_else(|error| panic!("{}: {error}", table.name));
        let drawn = (body(table, &anything), any::<Index>(), any::<Index>(), any::<bool>());
        for_all(share(&tables), &drawn, |(mut body, column, value, spoil)| {
            if spoil {
                let column = column.get(table.columns);
                let values = broken(column);
                body.insert(column.name.to_owned(), value.get(&values).clone());
            }
            let ours = errors(table, &body);
            let theirs = judge.is_valid(&Value::Object(body.clone()));
            prop_assert_eq!(ours.is_empty(), theirs, "{}: {:?} in {:?}", table.name, ours, body);
            Ok(())
        });
    }
}

#[test]
fn lenient_spellings_mean_the_same() {
    let tables = tables();
    for table in tables.values() {
        for_all(share(&tables), &(body(table, &anything), any::<bool>()), |(strict, quoted)| {
            let respelled: Map<String, Value> =
                strict.iter().map(|(name, value)| (name.clone(), respell(table, name, value, quoted))).collect();
            let cells = |body: &Map<String, Value>| -> Vec<Cell> {
                checked(table, body).columns().map(|(_, cell)| cell.clone()).collect()
            };
            prop_assert!(errors(table, &respelled).is_empty(), "{}: {:?}", table.name, respelled);
            prop_assert_eq!(cells(&respelled), cells(&strict), "{}: {:?}", table.name, respelled);
            Ok(())
        });
    }
}

/// Another spelling of a value that API.md takes: numbers and ids as strings, booleans as 1 and 0.
fn respell(table: &Table, name: &str, value: &Value, quoted: bool) -> Value {
    let column = table.columns.iter().find(|column| column.name == name).expect("a column of the table");
    match (&column.kind, value) {
        (Kind::Int { .. } | Kind::Number { .. }, Value::Number(number)) => Value::String(number.to_string()),
        (Kind::Bool, Value::Bool(truth)) if quoted => Value::String(u8::from(*truth).to_string()),
        (Kind::Bool, Value::Bool(truth)) => Value::from(u8::from(*truth)),
        (_, value) => value.clone(),
    }
}

#[test]
fn the_committed_openapi_document_is_the_one_that_the_tables_make() {
    assert!(
        include_str!("../../openapi.json") == switchboard_core::openapi::text(),
        "run `cargo xtask openapi` and commit openapi.json"
    );
}
