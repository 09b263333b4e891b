//! Bodies drawn from a table: all values that its columns accept, its rules kept.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use switchboard_core::record::{Column, ColumnType, Literal, Need, OTHER, Ref, Rule, Table, When};

/// Returns the ids that a reference may name.
pub type Known<'k> = &'k dyn Fn(Ref) -> Vec<u64>;

/// Ids for references that need not exist, for checks of a table alone: 1 to 49.
pub fn anything(_: Ref) -> Vec<u64> {
    (1..50).collect()
}

/// Draws a body that the table accepts; optional members are given in 3 of 5 cases.
pub fn body(table: &'static Table, known: Known<'_>) -> BoxedStrategy<Map<String, Value>> {
    let drawn: Vec<BoxedStrategy<(bool, Value)>> = table
        .columns
        .iter()
        .map(|column| {
            let given = if matches!(column.spec.need, Need::Required) { 1.0 } else { 0.6 };
            (prop::bool::weighted(given), value(column, known)).boxed()
        })
        .collect();
    drawn.prop_map(move |cells| assemble(table, &cells)).boxed()
}

/// Value of a member for which a rule demands a phone number.
const NUMBER: &str = "+40700000001";

fn assemble(table: &Table, cells: &[(bool, Value)]) -> Map<String, Value> {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name).expect("a rule names columns");
    let mut body: Map<String, Value> = table
        .columns
        .iter()
        .zip(cells)
        .filter(|(column, (given, _))| *given && column.spec.kind.is_member())
        .map(|(column, (_, value))| (column.name.to_owned(), value.clone()))
        .collect();
    for rule in table.rules {
        match rule {
            Rule::Require(field, when) if holds(table, &body, when) => {
                body.insert((*field).to_owned(), filled(&cells[place(field)].1));
            }
            Rule::OneOf(fields, when) if holds(table, &body, when) => {
                body.insert(fields[0].to_owned(), filled(&cells[place(fields[0])].1));
            }
            Rule::Fixed(field, literal, _, when) if holds(table, &body, when) => {
                body.insert((*field).to_owned(), literal_json(*literal));
            }
            Rule::Form(field, format, when) if body.contains_key(*field) && holds(table, &body, when) => {
                let sample = [NUMBER, "101"].into_iter().find(|text| (format.accepts)(text));
                let sample = sample.unwrap_or_else(|| panic!("a sample of {} is known", format.name));
                body.insert((*field).to_owned(), json!(sample));
            }
            Rule::Ordered(low, high, ..) => {
                let (one, other) = (body.get(*low).cloned(), body.get(*high).cloned());
                if let (Some(one), Some(other)) = (one, other)
                    && one.as_str() > other.as_str()
                {
                    body.insert((*low).to_owned(), other);
                    body.insert((*high).to_owned(), one);
                }
            }
            _ => {}
        }
    }
    body
}

/// An empty list does not count as given, so a required one gets an entry.
fn filled(value: &Value) -> Value {
    if value == &json!([]) { json!(["127.0.0.1"]) } else { value.clone() }
}

fn literal_json(literal: Literal) -> Value {
    match literal {
        Literal::Bool(value) => json!(value),
        Literal::Int(value) => json!(value),
        Literal::Number(value) => json!(value),
        Literal::Text(value) => json!(value),
        Literal::Words(words) => json!(words),
    }
}

fn holds(table: &Table, body: &Map<String, Value>, when: &When) -> bool {
    let default =
        table.columns.iter().find(|column| column.name == when.field).and_then(|column| match column.spec.need {
            Need::Default(literal) => Some(literal_json(literal)),
            _ => None,
        });
    let value = body.get(when.field).cloned().or(default);
    let named = match value {
        Some(Value::String(word)) => when.is.contains(&word.as_str()),
        Some(Value::Bool(truth)) => when.is.contains(&if truth { "true" } else { "false" }),
        _ => false,
    };
    named != when.unless
}

/// Draws a value that the column accepts.
pub fn value(column: &'static Column, known: Known<'_>) -> BoxedStrategy<Value> {
    match (column.spec.exists, &column.spec.kind) {
        (Some(what), ColumnType::List { max, .. }) => {
            let ids = known(what);
            let most = (*max).min(4).min(ids.len());
            prop::sample::subsequence(ids, 0..=most).prop_map(|ids| json!(ids)).boxed()
        }
        (Some(what), _) => select(known(what)).prop_map(|id| json!(id)).boxed(),
        (None, kind) => kind_value(kind, known),
    }
}

fn kind_value(kind: &'static ColumnType, known: Known<'_>) -> BoxedStrategy<Value> {
    match kind {
        ColumnType::Text { min, max, format } => match format {
            Some(format) => formed(format.name, *min, *max),
            None => letters((*min).max(1), (*max).min(40)).prop_map(Value::String).boxed(),
        },
        ColumnType::Int { min, max } => (*min..=*max).prop_map(|n| json!(n)).boxed(),
        ColumnType::Number { min, max } => {
            prop_oneof![3 => (*min..=*max).prop_map(|n| json!(n)), 1 => select(vec![*min, *max]).prop_map(|n| json!(n))]
                .boxed()
        }
        ColumnType::Bool => any::<bool>().prop_map(|value| json!(value)).boxed(),
        ColumnType::BoolOrText { max, format } => {
            prop_oneof![any::<bool>().prop_map(|value| json!(value)), formed(format.name, 1, *max)].boxed()
        }
        ColumnType::IdOrUuid => {
            prop_oneof![(1_u64..1 << 40).prop_map(|id| json!(id)), formed("id_or_uuid", 1, 36)].boxed()
        }
        ColumnType::Choice(words) => select(*words).prop_map(|word| json!(word)).boxed(),
        ColumnType::List { of, min, max, unique } => {
            let unique = *unique;
            prop::collection::vec(kind_value(of, known), *min..=(*max).min(3))
                .prop_map(move |entries| json!(distinct(entries, unique)))
                .boxed()
        }
        ColumnType::Record(table) => body(table, known).prop_map(Value::Object).boxed(),
        ColumnType::Tagged(variants) => {
            let drawn: Vec<BoxedStrategy<Value>> = variants
                .iter()
                .map(|(word, table)| {
                    body(table, known)
                        .prop_map(move |mut body| {
                            if *word != OTHER {
                                body.insert("type".to_owned(), json!(word));
                            }
                            Value::Object(body)
                        })
                        .boxed()
                })
                .collect();
            proptest::strategy::Union::new(drawn).boxed()
        }
        ColumnType::Variables | ColumnType::Object { .. } | ColumnType::Json { .. } => variables(),
        ColumnType::Iso
        | ColumnType::Sql
        | ColumnType::Decimal
        | ColumnType::Flag
        | ColumnType::Any
        | ColumnType::Whole { .. } => Just(Value::Null).boxed(),
    }
}

fn distinct(entries: Vec<Value>, unique: Option<&str>) -> Vec<Value> {
    let Some(member) = unique else { return entries };
    let mut seen = BTreeSet::new();
    entries.into_iter().filter(|entry| seen.insert(entry[member].to_string())).collect()
}

fn variables() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::String),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| json!(n)),
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|list| json!(list)),
            prop::collection::btree_map(letters(0, 6), inner, 0..3).prop_map(|map| json!(map)),
        ]
    });
    let name = "[A-Za-z0-9_.-]{1,12}";
    prop::collection::btree_map(name, value, 0..4).prop_map(|map| json!(map)).boxed()
}

/// Draws text of any script; its length counts Unicode scalar values.
fn letters(min: usize, max: usize) -> BoxedStrategy<String> {
    prop::collection::vec(any::<char>(), min..=max.max(min)).prop_map(|letters| letters.into_iter().collect()).boxed()
}

fn pattern(regex: &str) -> BoxedStrategy<Value> {
    proptest::string::string_regex(regex).expect("a pattern").prop_map(Value::String).boxed()
}

/// Draws text that a named format accepts.
fn formed(name: &str, min: usize, max: usize) -> BoxedStrategy<Value> {
    match name {
        "url" => pattern("https?://[a-z]{1,10}\\.example(/[a-z0-9]{0,8}){0,3}(\\?[a-z]=[0-9]{1,3})?"),
        "private-url" => pattern("https://[a-z]{1,10}\\.example(/[a-z0-9]{0,8}){0,3}"),
        "printable" => pattern("[!-~]{1,40}"),
        "id_or_uuid" => pattern("[1-9][0-9]{0,11}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        "origin" => pattern("https?://[a-z]{1,10}\\.example(:[1-9][0-9]{3})?"),
        "e164" | "trunk_number" => pattern("\\+[1-9][0-9]{6,12}"),
        "keys" => pattern("[0-9*#]{1,20}"),
        "event_type" => pattern("x_[a-z0-9_.-]{0,20}"),
        "extension" => pattern("[0-9a-z][0-9a-z._-]{0,14}"),
        "zone" => select(vec!["Europe/Bucharest", "America/New_York", "Etc/UTC", "Asia/Kolkata"])
            .prop_map(|zone| json!(zone))
            .boxed(),
        "country" => select(vec!["DE", "us", "It"]).prop_map(|country| json!(country)).boxed(),
        "email" => pattern("[a-z]{1,8}@[a-z]{1,8}\\.example"),
        "digits" => pattern("[0-9]{1,9}"),
        "date" => pattern("20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"),
        "instant" => pattern("20[3-9][0-9]-0[1-9]-1[0-9]T1[0-9]:[0-5][0-9]:[0-5][0-9]Z"),
        "start" => pattern("20[3-9][0-9]-0[1-9]-1[0-9]T1[0-9]:[0-5][0-9](:[0-5][0-9]Z)?"),
        "clock" => pattern("([01][0-9]|2[0-3]):[0-5][0-9]"),
        "tool_name" => pattern("[a-z][a-z_]{0,20}"),
        "parameter_name" => pattern("[A-Za-z][A-Za-z_]{1,20}"),
        "extract_name" => pattern(&format!("[a-z0-9_]{{{min},{max}}}")),
        "header_name" => pattern("X-[A-Za-z]{1,10}"),
        "header_value" => pattern("[ -~]{1,30}"),
        "address" => select(vec!["10.0.0.1", "192.0.2.0/24", "2001:db8::1"]).prop_map(|address| json!(address)).boxed(),
        "sip_host" => pattern("sip\\.[a-z]{1,8}\\.example(:[1-9][0-9]{2})?"),
        "plan_name" => pattern("[a-z][a-z0-9_-]{0,10}"),
        other => panic!("no generator for the form {other}"),
    }
}

/// Returns values that the column rejects: each of a wrong type, out of range, or badly formed.
pub fn broken(column: &Column) -> Vec<Value> {
    let mut values = match &column.spec.kind {
        ColumnType::Text { min, max, format } => {
            let mut values = vec![json!(5), json!(true), json!(["x"]), json!("x".repeat(max + 1))];
            values.extend((*min > 1).then(|| json!("x".repeat(min - 1))));
            values.extend(format.filter(|format| format.name != "header_value").map(|_| json!("\u{1F600} \n")));
            values
        }
        ColumnType::Int { min, max } => {
            vec![json!(min - 1), json!(max + 1), json!(1.5), json!("x"), json!(" 3"), json!(true), json!([])]
        }
        ColumnType::Number { min, max } => {
            vec![json!(min - 0.001), json!(max + 0.001), json!("x"), json!("+1"), json!(false)]
        }
        ColumnType::Bool => vec![json!("yes"), json!(2), json!([])],
        ColumnType::BoolOrText { max, .. } => {
            vec![json!(2), json!([]), json!("x".repeat(max + 1)), json!("\u{1F600} \n")]
        }
        ColumnType::IdOrUuid => vec![json!(0), json!(-1), json!(1.5), json!("x"), json!("7 "), json!(true), json!([])],
        ColumnType::Choice(_) => vec![json!("nope"), json!(1), json!([])],
        ColumnType::List { min, max, of, .. } => {
            let mut values = vec![json!("x"), json!({"a": 1}), json!(vec![1; max + 1])];
            values.extend((*min > 0).then(|| json!([])));
            values.extend(matches!(of, ColumnType::Record(_) | ColumnType::Tagged(_)).then(|| json!([5])));
            values.extend(matches!(of, ColumnType::Tagged(_)).then(|| json!([{"type": "nope"}])));
            values.extend(matches!(of, ColumnType::Int { .. }).then(|| json!([0])));
            values
        }
        ColumnType::Record(_) | ColumnType::Tagged(_) => vec![json!("x")],
        ColumnType::Variables => vec![json!("x"), json!([1]), json!({"a": [null]}), json!({"a b": 1})],
        ColumnType::Object { bytes_max } => vec![json!("x"), json!([1]), json!({"a": "x".repeat(*bytes_max)})],
        ColumnType::Iso
        | ColumnType::Sql
        | ColumnType::Decimal
        | ColumnType::Flag
        | ColumnType::Any
        | ColumnType::Json { .. }
        | ColumnType::Whole { .. } => Vec::new(),
    };
    if matches!(column.spec.need, Need::Required) {
        values.push(Value::Null);
    }
    values
}
