//! The checks: a JSON object against a [`Table`], every failing field at once (docs/api.md, Validation).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::cell::Cell;
use super::errors::{Errors, ValuePath};
use super::field::Choice;
use super::format::Format;
use super::{Column, ColumnType, Literal, Need, OTHER, Record, Rule, Strictness, Table, When, variables};
use crate::json::{self, Members, ToJson, Value};

/// Where the members come from: a query has text alone, and writes booleans as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberSource {
    /// Members of a JSON body.
    Body,
    /// Parameters of a query string.
    Query,
}

/// Result of a check: cells in column order, and errors.
#[derive(Debug)]
pub struct Checked {
    table: &'static Table,
    cells: Vec<Cell>,
    /// Errors so far; a handler adds those that it alone can detect.
    pub errors: Errors,
}

impl Checked {
    /// Returns the cell of a column; [`Cell::None`] where it is absent without a default or failed its check.
    pub fn get(&self, name: &str) -> &Cell {
        let at = self.table.columns.iter().position(|column| column.name == name);
        at.and_then(|at| self.cells.get(at)).unwrap_or(&Cell::None)
    }

    /// Returns the columns with their cells, in table order.
    pub fn columns(&self) -> impl Iterator<Item = (&'static Column, &Cell)> {
        self.table.columns.iter().zip(&self.cells)
    }

    /// Builds the record, or returns all errors in the order of the table.
    pub fn finish<T: Record>(mut self) -> Result<T, Errors> {
        if self.errors.is_empty() {
            return Ok(T::from_cells(&mut super::Cells::of(Cell::Record(self.cells))));
        }
        self.errors.sort(self.table);
        Err(self.errors)
    }
}

/// Checks members against a table.
pub fn check(table: &'static Table, members: Members, source: MemberSource) -> Checked {
    let mut errors = Errors::default();
    let cells = record(table, members, source, &ValuePath::Whole, &mut errors);
    Checked { table, cells, errors }
}

/// Applies the supplied members to the stored ones and checks the result as a whole, so that an update can never leave
/// what a creation would refuse. `null` clears the columns that allow it, and changes nothing where there is no value,
/// so that what was read can be sent back whole.
pub fn check_update(table: &'static Table, mut stored: Members, supplied: Members) -> Checked {
    let mut nulls = Errors::default();
    for (name, value) in supplied.0 {
        let Some(column) = table.columns.iter().find(|column| column.is_named(&name)) else {
            continue;
        };
        let is_set = || stored.get(column.name).is_some_and(|value| !is_empty(value, &column.spec.kind));
        if !is_empty(&value, &column.spec.kind) {
            stored.set(column.name, value);
        } else if column.spec.clears || !is_set() {
            stored.remove(column.name);
        } else if matches!(column.spec.need, Need::Required) {
            nulls.say(column.name, "field is required.");
        } else {
            nulls.say(column.name, "field must not be null.");
        }
    }
    let mut checked = check(table, stored, MemberSource::Body);
    for (field, sentences) in nulls.0 {
        sentences.into_iter().for_each(|sentence| checked.errors.add(&field, sentence));
    }
    checked
}

/// Returns whether a value means "absent": `null`, and `""` for text (docs/api.md, Lenient values).
fn is_empty(value: &Value, kind: &ColumnType) -> bool {
    match (value, kind) {
        (Value::Null, _) => true,
        (
            Value::Text(text),
            ColumnType::Text { .. } | ColumnType::BoolOrText { .. } | ColumnType::Choice(_) | ColumnType::IdOrUuid,
        ) => text.is_empty(),
        _ => false,
    }
}

fn record(
    table: &'static Table,
    members: Members,
    source: MemberSource,
    place: &ValuePath<'_>,
    errors: &mut Errors,
) -> Vec<Cell> {
    let mut given: Vec<Option<Value>> = table.columns.iter().map(|_| None).collect();
    let mut next = 0;
    if let Some(at) = table.columns.iter().position(|column| !column.spec.kind.is_member()) {
        given[at] = Some(Value::Object(members.clone()));
    }
    for (name, value) in members.0 {
        let named = |column: &Column| column.is_named(&name);
        // Members mostly come in table order: the search starts where the last one was found.
        let ahead = table.columns[next..].iter().position(named).map(|at| next + at);
        let Some(at) = ahead.or_else(|| table.columns[..next].iter().position(named)) else { continue };
        given[at] = Some(value);
        next = at;
    }
    let mut cells = Vec::with_capacity(table.columns.len());
    for (column, value) in table.columns.iter().zip(given) {
        let value = value.filter(|value| {
            !(is_empty(value, &column.spec.kind) || source == MemberSource::Query && value.as_text() == Some(""))
        });
        let member = ValuePath::Member(place, column.name);
        let field = if column.spec.kind.is_member() { member } else { *place };
        cells.push(match value {
            Some(value) => one(&column.spec.kind, value, source, &field, errors),
            None => absent(column, &field, errors),
        });
    }
    for rule in table.rules {
        check_rule(rule, table, &cells, place, errors);
    }
    cells
}

fn absent(column: &Column, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    if matches!(column.spec.need, Need::Required) {
        errors.say(&field.text(), "field is required.");
    }
    default_of(column)
}

/// Returns the cell of an absent column.
pub(super) fn default_of(column: &Column) -> Cell {
    match column.spec.need {
        Need::Optional | Need::Required => Cell::None,
        Need::Default(Literal::Bool(value)) => Cell::Bool(value),
        Need::Default(Literal::Int(value)) => Cell::Int(value),
        Need::Default(Literal::Number(value)) => Cell::Number(value),
        Need::Default(Literal::Text(value)) => Cell::Text(value.to_owned()),
        Need::Default(Literal::Words(words)) => {
            Cell::List(words.iter().map(|word| Cell::Text((*word).to_owned())).collect())
        }
    }
}

fn one(
    kind: &'static ColumnType,
    value: Value,
    source: MemberSource,
    field: &ValuePath<'_>,
    errors: &mut Errors,
) -> Cell {
    match kind {
        ColumnType::Text { min, max, format } => text(*min, *max, *format, value, field, errors),
        ColumnType::Int { min, max } => int(*min, *max, &value, source, field, errors),
        ColumnType::Number { min, max } => number(*min, *max, &value, field, errors),
        ColumnType::Bool => boolean(&value, source, field, errors),
        ColumnType::BoolOrText { max, format } => match value {
            Value::Text(_) => text(1, *max, Some(format), value, field, errors),
            Value::Bool(_) | Value::Number(_) => boolean(&value, source, field, errors),
            _ => wrong(field, "field must be a boolean or a string.", errors),
        },
        ColumnType::IdOrUuid => id_or_uuid(&value, field, errors),
        ColumnType::Choice(words) => word(words, &value, field, errors),
        ColumnType::List { of, min, max, unique } => list(of, *min..=*max, *unique, value, source, field, errors),
        ColumnType::Record(table) => match value {
            Value::Object(members) => Cell::Record(record(table, members, source, field, errors)),
            _ => wrong(field, "field must be an object.", errors),
        },
        ColumnType::Tagged(variants) => tagged(variants, value, source, field, errors),
        ColumnType::Variables => variables::check(value, field, errors),
        ColumnType::Object { bytes_max } | ColumnType::Whole { bytes_max } => object(*bytes_max, value, field, errors),
        ColumnType::Json { bytes_max } => {
            let is_large = value.to_json().len() > *bytes_max;
            if is_large { wrong(field, &too_large(*bytes_max), errors) } else { Cell::Json(value) }
        }
        ColumnType::Iso | ColumnType::Sql | ColumnType::Decimal | ColumnType::Flag | ColumnType::Any => Cell::None,
    }
}

fn wrong(field: &ValuePath<'_>, says: &str, errors: &mut Errors) -> Cell {
    errors.say(&field.text(), says);
    Cell::None
}

fn text(
    min: usize,
    max: usize,
    format: Option<&Format>,
    value: Value,
    field: &ValuePath<'_>,
    errors: &mut Errors,
) -> Cell {
    let Value::Text(mut text) = value else { return wrong(field, "field must be a string.", errors) };
    if let Some(tidy) = format.and_then(|format| format.tidy) {
        text = tidy(&text);
    }
    let length = text.chars().count();
    let before = errors.0.len();
    if length > max {
        errors.say(&field.text(), &format!("field must not be greater than {max} characters."));
    }
    if length < min {
        errors.say(&field.text(), &format!("field must be at least {min} characters."));
    }
    if let Some(format) = format {
        form(format, &text, &field.text(), errors);
    }
    if errors.0.len() > before { Cell::None } else { Cell::Text(text) }
}

fn form(format: &Format, text: &str, field: &str, errors: &mut Errors) {
    if (format.accepts)(text) {
        return;
    }
    match format.says.strip_prefix('=') {
        Some(sentence) => errors.add(field, sentence),
        None => errors.say(field, &format!("field {}", format.says)),
    }
}

fn int(min: i64, max: i64, value: &Value, source: MemberSource, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    let whole = match value {
        Value::Number(number) => number.as_whole(),
        // A query has text alone: a number in it is read as one of a body.
        Value::Text(text) if source == MemberSource::Query && is_json_number(text) => {
            match json::parse(text.as_bytes()) {
                Ok(Value::Number(number)) => number.as_whole(),
                _ => None,
            }
        }
        Value::Text(text) if is_json_number(text) && !text.contains(['.', 'e', 'E']) => text.parse().ok(),
        _ => None,
    };
    let Some(n) = whole else { return wrong(field, "field must be an integer.", errors) };
    if (min..=max).contains(&n) {
        return Cell::Int(n);
    }
    let says = match (n < min, max >= super::ID_MAX) {
        (true, true) => format!("field must be at least {min}."),
        (false, true) => format!("field must not be greater than {max}."),
        _ => format!("field must be between {min} and {max}."),
    };
    wrong(field, &says, errors)
}

fn number(min: f64, max: f64, value: &Value, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    let number = match value {
        Value::Number(number) => Some(number.as_f64()),
        Value::Text(text) if is_json_number(text) => text.parse().ok().filter(|n: &f64| n.is_finite()),
        _ => None,
    };
    match number {
        None => wrong(field, "field must be a number.", errors),
        Some(n) if (min..=max).contains(&n) => Cell::Number(n),
        Some(_) => wrong(field, &format!("field must be between {min} and {max}."), errors),
    }
}

/// Returns whether a text is a number as RFC 8259 section 6 has it: no spaces, no `+`, no leading zeros.
fn is_json_number(text: &str) -> bool {
    fn digits(text: &str) -> &str {
        text.trim_start_matches(|c: char| c.is_ascii_digit())
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let rest = digits(unsigned);
    let whole = &unsigned[..unsigned.len() - rest.len()];
    if whole.is_empty() || whole.len() > 1 && whole.starts_with('0') {
        return false;
    }
    let rest = match rest.strip_prefix('.') {
        Some(fraction) if digits(fraction).len() < fraction.len() => digits(fraction),
        Some(_) => return false,
        None => rest,
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent).is_empty()
        }
        None => rest.is_empty(),
    }
}

fn boolean(value: &Value, source: MemberSource, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    let truth = match value {
        Value::Bool(truth) => Some(*truth),
        Value::Number(number) => match number.as_whole() {
            Some(1) => Some(true),
            Some(0) => Some(false),
            _ => None,
        },
        Value::Text(text) => match (text.as_str(), source) {
            ("1", _) | ("true", MemberSource::Query) => Some(true),
            ("0", _) | ("false", MemberSource::Query) => Some(false),
            _ => None,
        },
        _ => None,
    };
    truth.map_or_else(|| wrong(field, "field must be true or false.", errors), Cell::Bool)
}

/// Keeps an id, or the UUID that stands for it, as text. A number that is no id names nothing, as an unknown one.
fn id_or_uuid(value: &Value, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    let text = match value {
        Value::Number(number) => number.as_whole().filter(|id| *id > 0).map(|id| id.to_string()),
        Value::Text(text) if (super::format::ID_OR_UUID.accepts)(text) => Some(text.clone()),
        _ => None,
    };
    text.map_or_else(|| wrong(field, "field must be an id or a UUID.", errors), Cell::Text)
}

fn word(words: &[&str], value: &Value, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    match value {
        Value::Text(text) if words.contains(&text.as_str()) => Cell::Text(text.clone()),
        Value::Text(_) => {
            errors.not_among(&field.text(), words.iter().copied());
            Cell::None
        }
        _ => wrong(field, "field must be a string.", errors),
    }
}

/// Keeps an object as it is.
fn too_large(bytes_max: usize) -> String {
    format!("field must not be larger than {bytes_max} bytes.")
}

fn object(bytes_max: usize, value: Value, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    match value {
        Value::Object(members) if members.to_json().len() <= bytes_max => Cell::Object(members),
        Value::Object(_) => wrong(field, &too_large(bytes_max), errors),
        _ => wrong(field, "field must be an object.", errors),
    }
}

fn list(
    of: &'static ColumnType,
    lengths: RangeInclusive<usize>,
    unique: Option<&str>,
    value: Value,
    source: MemberSource,
    field: &ValuePath<'_>,
    errors: &mut Errors,
) -> Cell {
    let Value::List(entries) = value else { return wrong(field, "field must be an array.", errors) };
    if entries.len() > *lengths.end() {
        return wrong(field, &format!("field must not have more than {} items.", lengths.end()), errors);
    }
    if entries.len() < *lengths.start() {
        return wrong(field, &format!("field must have at least {} item.", lengths.start()), errors);
    }
    let mut seen = BTreeSet::new();
    let mut cells = Vec::with_capacity(entries.len());
    for (at, entry) in entries.into_iter().enumerate() {
        let entry_place = ValuePath::Entry(field, at);
        let key = unique.and_then(|member| entry.member(member)?.as_text().map(ToString::to_string));
        if let Some(member) = unique
            && key.is_some_and(|key| !seen.insert(key))
        {
            errors.say(&ValuePath::Member(&entry_place, member).text(), "field has a duplicate value.");
        }
        cells.push(one(of, entry, source, &entry_place, errors));
    }
    Cell::List(cells)
}

fn tagged(
    variants: &'static [(&'static str, &'static Table)],
    value: Value,
    source: MemberSource,
    field: &ValuePath<'_>,
    errors: &mut Errors,
) -> Cell {
    let Value::Object(members) = value else { return wrong(field, "field must be an object.", errors) };
    let tag = ValuePath::Member(field, "type");
    match members.get("type") {
        None | Some(Value::Null) => wrong(&tag, "field is required.", errors),
        Some(Value::Text(word)) => {
            if let Some((name, table)) = variant(variants, word) {
                Cell::Tagged(name, record(table, members, source, field, errors))
            } else {
                errors.not_among(&tag.text(), variants.iter().map(|(name, _)| *name));
                Cell::None
            }
        }
        Some(_) => wrong(&tag, "field must be a string.", errors),
    }
}

/// Returns the variant of a type: its own, else that of all other types.
pub(super) fn variant(
    variants: &'static [(&'static str, &'static Table)],
    word: &str,
) -> Option<&'static (&'static str, &'static Table)> {
    let of = |word: &str| variants.iter().find(|(name, _)| *name == word);
    of(word).filter(|(name, _)| *name != OTHER).or_else(|| of(OTHER))
}

fn check_rule(rule: &Rule, table: &Table, cells: &[Cell], place: &ValuePath<'_>, errors: &mut Errors) {
    let at = |name: &str| ValuePath::Member(place, name).text();
    let cell = |name: &str| table.columns.iter().position(|c| c.name == name).map_or(&Cell::None, |at| &cells[at]);
    let failed = |name: &str, errors: &Errors| !errors.is_empty() && errors.has(&at(name));
    match rule {
        Rule::Require(_, when) | Rule::Fixed(.., when) | Rule::OneOf(_, when) | Rule::Form(.., when)
            if failed(when.field, errors) => {}
        Rule::Require(field, when) => {
            if holds(when, cell(when.field)) && is_none(cell(field)) && !failed(field, errors) {
                errors.say(&at(field), "field is required.");
            }
        }
        Rule::Fixed(field, value, says, when) => {
            let differs = !is_none(cell(field)) && *cell(field) != literal(*value);
            if holds(when, cell(when.field)) && differs && !failed(field, errors) {
                errors.add(&at(field), *says);
            }
        }
        Rule::OneOf(fields, when) => {
            let wrong = fields.iter().any(|field| failed(field, errors));
            if holds(when, cell(when.field)) && fields.iter().all(|field| is_none(cell(field))) && !wrong {
                errors.say(&at(fields[0]), "field is required.");
            }
        }
        Rule::Form(field, format, when) => {
            if let Cell::Text(text) = cell(field)
                && holds(when, cell(when.field))
            {
                form(format, text, &at(field), errors);
            }
        }
        Rule::Ordered(low, high, strictness, says) => {
            let (Cell::Text(first), Cell::Text(second)) = (cell(low), cell(high)) else { return };
            if first > second || *strictness == Strictness::Strict && first == second {
                errors.say(&at(high), says);
            }
        }
    }
}

fn holds(when: &When, cell: &Cell) -> bool {
    let named = match cell {
        Cell::Text(word) => when.is.contains(&word.as_str()),
        Cell::Bool(truth) => when.is.contains(&if *truth { "true" } else { "false" }),
        _ => false,
    };
    named != when.unless
}

fn is_none(cell: &Cell) -> bool {
    match cell {
        Cell::None => true,
        Cell::List(entries) => entries.is_empty(),
        _ => false,
    }
}

fn literal(literal: Literal) -> Cell {
    match literal {
        Literal::Bool(value) => Cell::Bool(value),
        Literal::Int(value) => Cell::Int(value),
        Literal::Number(value) => Cell::Number(value),
        Literal::Text(value) => Cell::Text(value.to_owned()),
        Literal::Words(_) => Cell::None,
    }
}

/// Returns the value of a choice cell (for [`choice!`](crate::choice!)).
pub fn choice_of<T: Choice>(cell: &Cell) -> T {
    let known = match cell {
        Cell::Text(text) => T::of(text),
        _ => None,
    };
    known.unwrap_or(T::ALL[0])
}

/// Splits a tagged cell into its word and its record (for [`tagged!`](crate::tagged!)).
pub fn tag_of(cell: Cell) -> (&'static str, Cell) {
    match cell {
        Cell::Tagged(word, cells) => (word, Cell::Record(cells)),
        _ => ("", Cell::None),
    }
}

/// Splits a stored tagged record into its word and its record (for [`tagged!`](crate::tagged!)).
pub fn tag_of_json(value: Value) -> Option<(String, Value)> {
    let Value::Object(mut members) = value else { return None };
    let word = members.remove("type")?.into_text()?;
    Some((word, Value::Object(members)))
}

/// Writes a record with its `type` in front (for [`tagged!`](crate::tagged!)).
pub fn write_tagged(out: &mut Vec<u8>, word: &str, record: &impl ToJson) {
    out.extend_from_slice(b"{\"type\":");
    word.write(out);
    let body = record.to_json();
    if body.len() > 2 {
        out.push(b',');
    }
    out.extend_from_slice(&body[1..]);
}

#[cfg(test)]
mod tests;
