//! The tables hold what clients were promised: names, types, bounds, defaults and words, transcribed by hand into
//! `spec/tables.tsv`.

use std::collections::BTreeMap;

use switchboard_core::account::keys::NewKey;
use switchboard_core::assistant::built_in::{CalendarIntegration, CallTransfer, DtmfInput, EndCall};
use switchboard_core::assistant::lookups::ModelQuery;
use switchboard_core::assistant::tables::ListQuery;
use switchboard_core::assistant::tables::{Extract, NewAssistant};
use switchboard_core::assistant::webhooks::Enable;
use switchboard_core::call::tables::CallQuery;
use switchboard_core::lead::tables::{NewContact, NewLead};
use switchboard_core::number::tables::SearchQuery;
use switchboard_core::record::{Column, ColumnType, Literal, Need, Record, Rule, Table};
use switchboard_core::tool::{NewTool, Parameter, ToolHeader};

const TRANSCRIPT: &str = include_str!("spec/tables.tsv");

/// Tables that the transcript covers.
const TABLES: [&Table; 17] = [
    NewAssistant::TABLE,
    CallTransfer::TABLE,
    EndCall::TABLE,
    DtmfInput::TABLE,
    CalendarIntegration::TABLE,
    Extract::TABLE,
    NewTool::TABLE,
    ToolHeader::TABLE,
    Parameter::TABLE,
    CallQuery::TABLE,
    ListQuery::TABLE,
    ModelQuery::TABLE,
    SearchQuery::TABLE,
    NewKey::TABLE,
    Enable::TABLE,
    NewLead::TABLE,
    NewContact::TABLE,
];

/// One line of the transcript.
struct Said<'t> {
    name: &'t str,
    kind: &'t str,
    required: &'t str,
    min: &'t str,
    max: &'t str,
    default: &'t str,
    words: &'t str,
}

fn transcript() -> BTreeMap<&'static str, Vec<Said<'static>>> {
    let mut tables: BTreeMap<&str, Vec<Said<'_>>> = BTreeMap::new();
    for line in TRANSCRIPT.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [table, name, kind, required, min, max, default, words] = fields.as_slice() else {
            panic!("eight fields: {line}")
        };
        tables.entry(table).or_default().push(Said { name, kind, required, min, max, default, words });
    }
    tables
}

#[test]
fn every_table_of_the_specification_is_held() {
    let said = transcript();
    assert_eq!(said.len(), TABLES.len());
    assert_eq!(said["NewAssistant"].len(), 51);
    for table in TABLES {
        for said in &said[table.name] {
            let column = table.columns.iter().find(|column| column.name == said.name);
            judge(table, column.unwrap_or_else(|| panic!("{} lacks {}", table.name, said.name)), said);
        }
    }
}

/// Fields of a new assistant that the specification lacks, behind those that it has.
const OWN: [&str; 8] = [
    "folder_id",
    "label_ids",
    "filler_config",
    "inbound_webhook_events",
    "widget_settings",
    "conversation_ended_webhook_url",
    "conversation_inactivity_timeout",
    "conversation_ended_retrigger",
];

#[test]
fn the_assistant_has_the_fields_of_the_specification_then_its_own() {
    let said = transcript();
    let named: Vec<&str> = said["NewAssistant"].iter().map(|said| said.name).chain(OWN).collect();
    let own: Vec<&str> = NewAssistant::TABLE.columns.iter().map(|column| column.name).collect();
    assert_eq!(own, named, "the same fields in the same order");
}

fn judge(table: &Table, column: &Column, said: &Said<'_>) {
    let place = format!("{}.{}", table.name, column.name);
    let (kind, min, max, words) = shape(column);
    assert_eq!(kind, said.kind, "{place}: type");
    // A bound that the transcript leaves out is not checked.
    for (own, said, what) in [(min, said.min, "min"), (max, said.max, "max")] {
        if said != "-" {
            assert_eq!(own, said.parse::<f64>().ok(), "{place}: {what}");
        }
    }
    if said.words != "-" {
        assert_eq!(words.join(" "), said.words, "{place}: words");
    }
    if said.default != "-" {
        assert_eq!(default(column), Some(plain(said.default)), "{place}: default");
    }
    required(table, column, said.required, &place);
}

fn shape(column: &Column) -> (&'static str, Option<f64>, Option<f64>, &'static [&'static str]) {
    #[expect(clippy::cast_precision_loss, reason = "bounds are far below 2^53")]
    match column.spec.kind {
        ColumnType::Text { min, max, .. } => ("string", Some(min as f64), Some(max as f64), &[]),
        ColumnType::Choice(words) => ("string", None, None, words),
        ColumnType::Int { min, max } => ("integer", Some(min as f64), Some(max as f64), &[]),
        ColumnType::Number { min, max } => ("number", Some(min), Some(max), &[]),
        ColumnType::Bool => ("boolean", None, None, &[]),
        ColumnType::BoolOrText { .. } => ("boolean or string", None, None, &[]),
        ColumnType::IdOrUuid => ("integer or string", None, None, &[]),
        ColumnType::List { of: ColumnType::Int { .. }, .. } => ("integer[]", None, None, &[]),
        ColumnType::List { .. } => ("array of objects", None, None, &[]),
        ColumnType::Variables => ("object", None, None, &[]),
        other => panic!("{}: {other:?} is no kind of a body", column.name),
    }
}

fn default(column: &Column) -> Option<String> {
    let Need::Default(literal) = column.spec.need else { return None };
    let text = match literal {
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Number(value) => value.to_string(),
        Literal::Text(value) => value.to_owned(),
        Literal::Words(_) => return None,
    };
    Some(plain(&text))
}

/// Normalises a number: `0.70` and `0.7` are equal.
fn plain(text: &str) -> String {
    text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}

fn required(table: &Table, column: &Column, said: &str, place: &str) {
    let is_required = matches!(column.spec.need, Need::Required);
    match said {
        "yes" => assert!(is_required, "{place}: required"),
        "no" => assert!(!is_required, "{place}: optional"),
        condition => {
            let (unless, rest) = condition
                .strip_prefix("unless ")
                .map_or((false, condition.trim_start_matches("when ")), |rest| (true, rest));
            let (field, values) = rest.split_once(" is ").expect("a condition");
            let values: Vec<&str> = values.split(" or ").collect();
            let ruled = table.rules.iter().any(|rule| match rule {
                Rule::Require(name, when) => {
                    *name == column.name && when.field == field && when.is == values && when.unless == unless
                }
                _ => false,
            });
            assert!(ruled && !is_required, "{place}: required {condition}");
        }
    }
}
