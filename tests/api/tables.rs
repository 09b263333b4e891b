//! Every table of a body: bodies drawn from it are accepted, errors name exactly the broken fields, and the published
//! schema agrees.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};
use switchboard_core::http::route::BodyKind;
use switchboard_core::json::{self, Members, ToJson};
use switchboard_core::record::schema::{self, Purpose, TableUse};
use switchboard_core::record::{Cell, Checked, Column, ColumnType, Errors, MemberSource, Table, check, check_update};
use switchboard_core::service::routes::ROUTES;
use switchboard_tests::document;
use switchboard_tests::drawn::for_all;
use switchboard_tests::strategy::{anything, body, broken};

/// Number of drawn bodies, over all tables.
const BODIES: u32 = 2_000;

fn tables() -> BTreeMap<&'static str, &'static Table> {
    ROUTES
        .iter()
        .filter_map(|route| match route.body {
            BodyKind::Json(table, _) | BodyKind::Document(table) => Some((table.name, table)),
            BodyKind::None | BodyKind::File(..) | BodyKind::Object(..) => None,
        })
        .collect()
}

/// Returns the tables of updates.
fn updated() -> BTreeMap<&'static str, &'static Table> {
    ROUTES
        .iter()
        .filter_map(|route| match route.body {
            BodyKind::Json(table, Purpose::Update) => Some((table.name, table)),
            _ => None,
        })
        .collect()
}

fn judge(table: &'static Table, purpose: Purpose) -> Validator {
    /// The schema with those of the tables within in their places.
    fn whole(used: &TableUse) -> json::Value {
        schema::of(used, &whole)
    }
    let published: Value =
        serde_json::from_slice(&whole(&TableUse::of(table, purpose)).to_json()).expect("a schema is JSON");
    jsonschema::draft202012::options().build(&published).unwrap_or_else(|error| panic!("{}: {error}", table.name))
}

fn errors(table: &'static Table, body: &Map<String, Value>) -> Errors {
    checked(table, body).errors
}

fn checked(table: &'static Table, body: &Map<String, Value>) -> Checked {
    check(table, members(body), MemberSource::Body)
}

fn members(body: &Map<String, Value>) -> Members {
    let bytes = Value::Object(body.clone()).to_string();
    let Ok(json::Value::Object(members)) = json::parse(bytes.as_bytes()) else { panic!("not an object: {bytes}") };
    members
}

/// Returns each table's share of the bodies.
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
fn a_body_broken_in_some_fields_names_those_fields_and_no_other() {
    let tables = tables();
    let reached: RefCell<BTreeSet<usize>> = RefCell::default();
    for table in tables.values() {
        let drawn = (body(table, &anything), vec(any::<(Index, Index)>(), 1..6));
        for_all(share(&tables), &drawn, |(body, chosen)| {
            let places = places(table, &body);
            let mut body = Value::Object(body);
            let mut spoiled: Vec<&str> = Vec::new();
            for (place, value) in &chosen {
                let (field, column) = place.get(&places);
                if !spoiled.iter().any(|other| is_within(field, other) || is_within(other, field)) {
                    put(&mut body, field, value.get(&broken(column)).clone());
                    spoiled.push(field);
                }
            }
            let errors = errors(table, body.as_object().expect("an object"));
            let named = |place: &str| errors.0.iter().any(|(field, _)| is_within(field, place));
            let innocent = errors.0.iter().find(|(field, _)| !spoiled.iter().any(|place| is_within(field, place)));
            prop_assert!(spoiled.iter().all(|place| named(place)), "{}: {spoiled:?} {errors:?} {body}", table.name);
            prop_assert!(innocent.is_none(), "{}: {innocent:?} {spoiled:?} {body}", table.name);
            reached.borrow_mut().extend(spoiled.iter().map(|place| place.split('.').count()));
            Ok(())
        });
    }
    assert!(reached.borrow().contains(&3), "fields of entries of lists: {reached:?}");
}

/// Whether a field is `other` or inside it.
fn is_within(field: &str, other: &str) -> bool {
    field.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the fields of a body, including those of its objects and of its lists' entries.
fn places(table: &'static Table, body: &Map<String, Value>) -> Vec<(String, &'static Column)> {
    let mut found = Vec::new();
    for column in table.columns {
        let inner: Vec<(String, &ColumnType, &Value)> = match (&column.spec.kind, body.get(column.name)) {
            (ColumnType::List { of, .. }, Some(Value::Array(entries))) => {
                entries.iter().enumerate().map(|(at, entry)| (format!("{}.{at}", column.name), *of, entry)).collect()
            }
            (kind, Some(value)) => vec![(column.name.to_owned(), kind, value)],
            (_, None) => Vec::new(),
        };
        for (field, kind, value) in inner {
            let table = match kind {
                ColumnType::Record(table) => Some(*table),
                ColumnType::Tagged(all) => all.iter().find(|(word, _)| value["type"] == *word).map(|(_, table)| *table),
                _ => None,
            };
            if let (Some(table), Value::Object(body)) = (table, value) {
                found.extend(places(table, body).into_iter().map(|(name, column)| (format!("{field}.{name}"), column)));
            }
        }
        // What any value fits cannot be broken.
        if !broken(column).is_empty() {
            found.push((column.name.to_owned(), column));
        }
    }
    found
}

/// Sets a field, adding it to its object if it is new.
fn put(body: &mut Value, field: &str, value: Value) {
    let (object, name) = field.rsplit_once('.').unwrap_or(("", field));
    let object = object.split('.').filter(|part| !part.is_empty()).fold(body, |inner, part| match inner {
        Value::Array(entries) => &mut entries[part.parse::<usize>().expect("an entry")],
        inner => &mut inner[part],
    });
    object[name] = value;
}

#[test]
fn the_published_schema_agrees_with_the_checks() {
    let tables = tables();
    for table in tables.values() {
        let judge = judge(table, Purpose::Create);
        let drawn = (body(table, &anything), any::<Index>(), any::<Index>(), any::<bool>());
        for_all(share(&tables), &drawn, |(mut body, column, value, spoil)| {
            if spoil {
                // What any value fits cannot be spoiled.
                let values = broken(column.get(table.columns));
                if !values.is_empty() {
                    body.insert(column.get(table.columns).name.to_owned(), value.get(&values).clone());
                }
            }
            let ours = errors(table, &body);
            let theirs = judge.is_valid(&Value::Object(body.clone()));
            prop_assert_eq!(ours.is_empty(), theirs, "{}: {:?} in {:?}", table.name, ours, body);
            Ok(())
        });
    }
}

#[test]
fn the_published_schema_of_an_update_agrees_with_its_checks() {
    let tables = updated();
    assert!(tables.len() >= 8, "{} tables", tables.len());
    for table in tables.values() {
        let judge = judge(table, Purpose::Update);
        let drawn = (body(table, &anything), vec(any::<bool>(), table.columns.len()), any::<(Index, Index, bool)>());
        for_all(share(&tables), &drawn, |(stored, given, (column, value, spoil))| {
            let some = table.columns.iter().zip(given).filter(|(_, given)| *given).map(|(column, _)| column.name);
            let mut update: Map<String, Value> =
                some.filter_map(|name| Some((name.to_owned(), stored.get(name)?.clone()))).collect();
            if spoil {
                let column = column.get(table.columns);
                let mut values = broken(column);
                // Where there is no value, `null` changes nothing.
                let is_set = stored.get(column.name).is_some_and(|value| *value != Value::Null && value != "");
                values.extend((is_set && !column.spec.clears).then_some(Value::Null));
                update.insert(column.name.to_owned(), value.get(&values).clone());
            }
            let ours = check_update(table, members(&stored), members(&update)).errors;
            let theirs = judge.is_valid(&Value::Object(update.clone()));
            prop_assert_eq!(ours.is_empty(), theirs, "{}: {:?} in {:?} over {:?}", table.name, ours, update, stored);
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

/// Respells a value (docs/api.md, Lenient values): numbers and ids as strings, booleans as 1 and 0.
fn respell(table: &Table, name: &str, value: &Value, quoted: bool) -> Value {
    let column = table.columns.iter().find(|column| column.name == name).expect("a column of the table");
    match (&column.spec.kind, value) {
        (ColumnType::Int { .. } | ColumnType::Number { .. }, Value::Number(number)) => {
            Value::String(number.to_string())
        }
        (ColumnType::Bool, Value::Bool(truth)) if quoted => Value::String(u8::from(*truth).to_string()),
        (ColumnType::Bool | ColumnType::BoolOrText { .. }, Value::Bool(truth)) => Value::from(u8::from(*truth)),
        (_, value) => value.clone(),
    }
}

#[test]
fn the_committed_openapi_document_is_the_one_that_tables_and_examples_make() {
    let made = switchboard_tests::examples::described();
    assert!(switchboard::DOCUMENT == made, "run `cargo xtask openapi` and commit openapi.json");
}

/// Collects every schema of a document, with its path.
fn schemas<'d>(value: &'d Value, place: &str, found: &mut Vec<(String, &'d Value)>) {
    match value {
        Value::Object(members) => {
            if members.contains_key("type") {
                found.push((place.to_owned(), value));
            }
            members.iter().for_each(|(name, member)| schemas(member, &format!("{place}/{name}"), found));
        }
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(at, entry)| schemas(entry, &format!("{place}/{at}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_array_of_the_document_says_what_is_in_it() {
    let document = document::resolved();
    let mut found = Vec::new();
    schemas(document, "", &mut found);
    let arrays = found.iter().filter(|(_, schema)| schema["type"] == "array" || schema["type"][0] == "array");
    let mut count = 0;
    for (place, schema) in arrays {
        let items = schema["items"].as_object().unwrap_or_else(|| panic!("{place} has no items"));
        assert!(items.contains_key("type") || items.contains_key("oneOf"), "{place}: {items:?}");
        count += 1;
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_document_claims_what_an_operation_asks_for_and_no_more() {
    let document = document::resolved();
    let claiming = |status: &str| -> Vec<String> {
        let operations = document["paths"].as_object().expect("paths").values();
        let operations = operations.flat_map(|item| item.as_object().expect("operations").values());
        let ids = operations.filter(|operation| operation["responses"].get(status).is_some());
        let mut ids: Vec<_> =
            ids.map(|operation| operation["operationId"].as_str().expect("an id").to_owned()).collect();
        ids.sort();
        ids
    };
    let replies = ["generateReply", "generateReplyAlias", "generateReplyAlias2"];
    assert_eq!(claiming("402"), [&replies[..], &["makeCall", "makeWebCall", "purchaseNumber"]].concat());
    let outside =
        ["purchaseNumber", "releaseNumber", "runTool", "searchNumbers", "sendMessage", "sendSms", "sendSmsAlias"];
    let ends = ["testTool", "testToolAlias", "uploadRecording"];
    assert_eq!(claiming("502"), [&replies[..], &["getRecording"], &outside, &ends].concat());
    let late = ["runTool", "sendMessage", "testTool", "testToolAlias"];
    assert_eq!(claiming("504"), [&["checkTrunk"], &replies[..], &late].concat());
    for secret in ["createApiKey", "login", "createAccount", "rotateWebhookSecret"] {
        assert!(!claiming("410").contains(&secret.to_owned()), "{secret} keeps no answer");
    }
    assert!(
        ["createLead", "makeCall", "bringCall", "switchCampaign"]
            .iter()
            .all(|id| claiming("410").contains(&(*id).into()))
    );
}
