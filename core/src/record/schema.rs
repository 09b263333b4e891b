//! Tables as JSON Schema, draft 2020-12: the dialect of `OpenAPI` 3.1.
//!
//! The schema of a body is strict: it omits the spellings of docs/api.md, Lenient values.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::format::Format;
use super::{Column, ColumnType, Literal, Need, OTHER, Rule, Table, When};
use crate::json::{JsonNumber, Members, Value};

/// Purpose of a schema: which members are required and which may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Body of a creation.
    Create,
    /// Body of an update: every member optional, `null` allowed where it clears.
    Update,
    /// Reply: every member is present.
    Reply,
}

/// Builds a JSON object from pairs of name and value.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(Members(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect()))
}

/// Builds a JSON string.
pub fn string(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Builds a JSON array of strings.
pub fn strings(texts: &[&str]) -> Value {
    Value::List(texts.iter().map(|text| string(text)).collect())
}

/// Returns the schema of an object that always has these members.
pub fn whole<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let names = properties.each_ref().map(|(name, _)| *name);
    object([("type", string("object")), ("required", strings(&names)), ("properties", object(properties))])
}

fn integer(n: i64) -> Value {
    Value::Number(u64::try_from(n).map_or(JsonNumber::Signed(n), JsonNumber::Unsigned))
}

fn size(n: usize) -> Value {
    Value::Number(JsonNumber::Unsigned(n as u64))
}

/// What one schema describes: a table, and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct TableUse {
    /// The table.
    pub table: &'static Table,
    /// What for.
    pub purpose: Purpose,
    /// Value of the member `type` that tells it from other tables; `None` where it stands alone.
    pub tag: Option<&'static str>,
    /// Whether members that it does not have are refused.
    pub strict: bool,
}

impl TableUse {
    /// Returns the use of a table that stands alone and may have further members.
    pub const fn of(table: &'static Table, purpose: Purpose) -> Self {
        Self { table, purpose, tag: None, strict: false }
    }

    /// Returns the uses of the tables directly within it.
    pub fn nested(&self) -> Vec<Self> {
        fn within(kind: &ColumnType) -> Vec<(Option<&'static str>, &'static Table)> {
            match kind {
                ColumnType::Record(table) => [(None, *table)].into(),
                ColumnType::Tagged(variants) => variants.iter().map(|(word, table)| (Some(*word), *table)).collect(),
                ColumnType::List { of, .. } => within(of),
                _ => Vec::new(),
            }
        }
        let found = self.table.columns.iter().flat_map(|column| within(&column.spec.kind));
        found.map(|(tag, table)| Self { tag, ..Self::of(table, inner(self.purpose)) }).collect()
    }
}

/// Returns the purpose of a table within another: an entry of a list is sent whole, even in an update.
const fn inner(purpose: Purpose) -> Purpose {
    match purpose {
        Purpose::Reply => Purpose::Reply,
        Purpose::Create | Purpose::Update => Purpose::Create,
    }
}

/// Returns the schema of a table as it is used; `refer` returns what stands for a table within it.
pub fn of(used: &TableUse, refer: &dyn Fn(&TableUse) -> Value) -> Value {
    let TableUse { table, purpose, tag, strict } = *used;
    let mut members = Members::default();
    members.set("type", string("object"));
    members.set("description", string(table.doc.trim()));
    // Rows of older releases have variants with fewer members.
    let own = table
        .columns
        .iter()
        .filter(|column| is_required(column, purpose) && !(tag.is_some() && purpose == Purpose::Reply));
    let word = tag.filter(|word| *word != OTHER);
    let required: Vec<&str> = word.map(|_| "type").into_iter().chain(own.map(|column| column.name)).collect();
    if !required.is_empty() {
        members.set("required", strings(&required));
    }
    let tag = word.map(|word| ("type".to_string(), object([("const", string(word))])));
    let own = table
        .columns
        .iter()
        .filter(|column| column.spec.kind.is_member())
        .map(|one| (one.name.to_string(), column(one, purpose, refer)));
    members.set("properties", Value::Object(Members(tag.into_iter().chain(own).collect())));
    if strict {
        members.set("additionalProperties", Value::Bool(false));
    }
    let rules: Vec<Value> = table.rules.iter().filter_map(rule).collect();
    if purpose == Purpose::Create && !rules.is_empty() {
        members.set("allOf", Value::List(rules));
    }
    Value::Object(members)
}

fn is_required(column: &Column, purpose: Purpose) -> bool {
    match purpose {
        Purpose::Create => matches!(column.spec.need, Need::Required),
        Purpose::Update => false,
        Purpose::Reply => !column.spec.sparse,
    }
}

/// Returns the schema of one column.
pub fn column(column: &Column, purpose: Purpose, refer: &dyn Fn(&TableUse) -> Value) -> Value {
    let nullable = match purpose {
        Purpose::Create => !matches!(column.spec.need, Need::Required),
        Purpose::Update => column.spec.clears,
        Purpose::Reply => {
            matches!(column.spec.need, Need::Optional)
                && !matches!(
                    column.spec.kind,
                    ColumnType::List { .. } | ColumnType::Variables | ColumnType::Any | ColumnType::Json { .. }
                )
        }
    };
    let mut schema = kind(&column.spec.kind, purpose, nullable, refer);
    schema.set("description", string(column.doc.trim()));
    match column.spec.need {
        Need::Default(default) if purpose != Purpose::Reply => schema.set("default", literal(default)),
        _ => {}
    }
    Value::Object(schema)
}

/// Returns the schema of an object whose `type` is that of no other variant.
fn named_by_none(variants: &[(&str, &Table)]) -> Value {
    let known: Vec<&str> = variants.iter().map(|(word, _)| *word).filter(|word| *word != OTHER).collect();
    let other = object([("not", object([("enum", strings(&known))]))]);
    object([("properties", object([("type", other)]))])
}

fn literal(literal: Literal) -> Value {
    match literal {
        Literal::Bool(value) => Value::Bool(value),
        Literal::Int(value) => integer(value),
        Literal::Number(value) => Value::Number(JsonNumber::Float(value)),
        Literal::Text(value) => string(value),
        Literal::Words(words) => strings(words),
    }
}

fn typed(name: &str, nullable: bool) -> Members {
    let mut schema = Members::default();
    schema.set("type", if nullable { strings(&[name, "null"]) } else { string(name) });
    schema
}

fn kind(of: &ColumnType, purpose: Purpose, nullable: bool, refer: &dyn Fn(&TableUse) -> Value) -> Members {
    match of {
        ColumnType::Text { min, max, format } => text(*min, *max, *format, purpose, nullable),
        ColumnType::Int { min, max } => {
            let mut schema = typed("integer", nullable);
            if purpose != Purpose::Reply {
                schema.set("minimum", integer(*min));
                schema.set("maximum", integer(*max));
            }
            schema
        }
        ColumnType::Number { min, max } => {
            let mut schema = typed("number", nullable);
            if purpose != Purpose::Reply {
                schema.set("minimum", Value::Number(JsonNumber::Float(*min)));
                schema.set("maximum", Value::Number(JsonNumber::Float(*max)));
            }
            schema
        }
        ColumnType::Bool => typed("boolean", nullable),
        ColumnType::BoolOrText { max, format } => {
            let mut schema = text(1, *max, Some(format), purpose, nullable);
            schema.set("type", strings(if nullable { &["boolean", "string", "null"] } else { &["boolean", "string"] }));
            schema
        }
        ColumnType::IdOrUuid => {
            let mut schema = text(1, 36, Some(&super::format::ID_OR_UUID), purpose, nullable);
            schema.set("type", strings(if nullable { &["integer", "string", "null"] } else { &["integer", "string"] }));
            if purpose != Purpose::Reply {
                schema.set("minimum", integer(1));
            }
            schema
        }
        ColumnType::Choice(words) => {
            let mut schema = typed("string", nullable);
            // "" means "not given" as null does.
            let empty = (nullable && purpose == Purpose::Create).then(|| string(""));
            let null = nullable.then_some(Value::Null);
            schema.set("enum", Value::List(words.iter().map(|word| string(word)).chain(empty).chain(null).collect()));
            schema
        }
        ColumnType::List { of, min, max, .. } => {
            let mut schema = typed("array", nullable);
            schema.set("items", Value::Object(kind(of, purpose, false, refer)));
            if purpose != Purpose::Reply {
                schema.set("maxItems", size(*max));
                if *min > 0 {
                    schema.set("minItems", size(*min));
                }
            }
            schema
        }
        ColumnType::Record(table) => nested(&TableUse::of(table, inner(purpose)), nullable, refer),
        ColumnType::Tagged(variants) => {
            let one_of = variants.iter().map(|(word, table)| {
                let variant = refer(&TableUse { tag: Some(word), ..TableUse::of(table, inner(purpose)) });
                if *word == OTHER {
                    object([("allOf", Value::List([variant, named_by_none(variants)].into()))])
                } else {
                    variant
                }
            });
            let mut schema = Members::default();
            schema.set("oneOf", Value::List(one_of.collect()));
            schema
        }
        ColumnType::Variables => {
            let mut schema = typed("object", nullable);
            let values: &[&str] = match purpose {
                Purpose::Reply => &["string", "number", "boolean", "array", "object"],
                // A name that is null counts as not given.
                _ => &["string", "number", "boolean", "array", "object", "null"],
            };
            let mut of = Members::default();
            of.set("type", strings(values));
            let any = Value::Object(Members::default());
            let entries = object([("not", object([("type", string("null"))]))]);
            of.set("items", if purpose == Purpose::Reply { any } else { entries });
            if purpose != Purpose::Reply {
                let longest = size(crate::limits::VARIABLE_NAME_MAX);
                schema.set("propertyNames", object([("pattern", string(NAME)), ("maxLength", longest)]));
            }
            schema.set("additionalProperties", Value::Object(of));
            schema
        }
        ColumnType::Iso => formatted("date-time", nullable),
        ColumnType::Sql => patterned(r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$", nullable),
        ColumnType::Decimal => patterned(r"^[0-9]+\.[0-9]{2}$", nullable),
        ColumnType::Flag => {
            let mut schema = typed("integer", nullable);
            schema.set("enum", Value::List([integer(0), integer(1)].into()));
            schema
        }
        ColumnType::Object { .. } => typed("object", nullable),
        ColumnType::Any | ColumnType::Json { .. } | ColumnType::Whole { .. } => Members::default(),
    }
}

/// Names of variables: letters and digits of any script, and what joins them.
const NAME: &str = r"^[\p{L}\p{M}\p{N}_.-]+$";

fn formatted(format: &str, nullable: bool) -> Members {
    let mut schema = typed("string", nullable);
    schema.set("format", string(format));
    schema
}

fn patterned(pattern: &str, nullable: bool) -> Members {
    let mut schema = typed("string", nullable);
    schema.set("pattern", string(pattern));
    schema
}

fn text(min: usize, max: usize, format: Option<&Format>, purpose: Purpose, nullable: bool) -> Members {
    let mut schema = typed("string", nullable);
    if purpose == Purpose::Reply {
        return schema;
    }
    schema.set("maxLength", size(max));
    if let Some(known) = format.and_then(|format| format.known_as) {
        schema.set("format", string(known));
    }
    // "" means "not given" where a member is optional, so only what is longer must have the form.
    match (nullable, format.map(|format| format.pattern)) {
        (false, pattern) => {
            schema.set("minLength", size(min.max(1)));
            if let Some(pattern) = pattern {
                schema.set("pattern", string(pattern));
            }
        }
        (true, pattern) if min > 1 || pattern.is_some() => {
            let mut form = Members::default();
            form.set("minLength", size(min));
            if let Some(pattern) = pattern {
                form.set("pattern", string(pattern));
            }
            schema.set(
                "anyOf",
                Value::List(
                    [object([("enum", Value::List([string(""), Value::Null].into()))]), Value::Object(form)].into(),
                ),
            );
        }
        _ => {}
    }
    schema
}

fn nested(used: &TableUse, nullable: bool, refer: &dyn Fn(&TableUse) -> Value) -> Members {
    match refer(used) {
        Value::Object(schema) if !nullable => schema,
        schema => {
            let mut either = Members::default();
            either.set("anyOf", Value::List([schema, object([("type", string("null"))])].into()));
            either
        }
    }
}

/// Converts a rule to if/then; the order of two texts is the one rule that JSON Schema cannot state.
fn rule(rule: &Rule) -> Option<Value> {
    let (when, then) = match rule {
        Rule::Require(field, when) => (when, given(field)),
        Rule::OneOf(fields, when) => {
            (when, object([("anyOf", Value::List(fields.iter().map(|f| given(f)).collect()))]))
        }
        Rule::Fixed(field, value, _, when) => {
            let value = match literal(*value) {
                Value::Null => return None,
                value => value,
            };
            let allowed = object([("enum", Value::List([value, Value::Null].into()))]);
            (when, object([("properties", object([(field, allowed)]))]))
        }
        Rule::Form(field, format, when) => {
            (when, object([("properties", object([(field, Value::Object(patterned(format.pattern, false)))]))]))
        }
        Rule::Ordered(..) => return None,
    };
    Some(match (when.field.is_empty(), when.unless) {
        (true, _) => then,
        (false, false) => object([("if", condition(when)), ("then", then)]),
        (false, true) => object([("if", object([("not", condition(when))])), ("then", then)]),
    })
}

fn given(field: &str) -> Value {
    let some =
        object([("not", object([("enum", Value::List([Value::Null, string(""), Value::List(Vec::new())].into()))]))]);
    object([("required", strings(&[field])), ("properties", object([(field, some)]))])
}

fn condition(when: &When) -> Value {
    let values = when.is.iter().map(|word| match *word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        word => string(word),
    });
    let one = object([("enum", Value::List(values.collect()))]);
    object([("required", strings(&[when.field])), ("properties", object([(when.field, one)]))])
}
