//! The tables of bodies, queries and answers, with a row for each member.

use switchboard_core::http::route::{BodyKind, Route};
use switchboard_core::json::ToJson;
use switchboard_core::record::schema::Purpose;
use switchboard_core::record::{Column, ColumnType, ID_MAX, Literal, Need, OTHER, Ref, Rule, Table, When};
use switchboard_core::service::routes::ROUTES;

use crate::operations;

const ASKED: &str = "\
| Member | Type | Bounds | Default | What it is |
|---|---|---|---|---|
";
const ANSWERED: &str = "\
| Member | Type | What it is |
|---|---|---|
";

/// Returns the table of an operation's body. `A besides B`: only the members of A's body that B's lacks.
pub fn of_body(operation: &str) -> Result<String, String> {
    let (operation, known) = match operation.split_once(" besides ") {
        Some((operation, other)) => (operation, body(operations::find(other)?).map_or(&[][..], |table| table.columns)),
        None => (operation, &[][..]),
    };
    let route = operations::find(operation)?;
    let table = body(route).ok_or_else(|| format!("{operation} reads no JSON"))?;
    let columns = table.columns.iter().filter(|column| !known.iter().any(|other| other.name == column.name));
    let rows = columns.flat_map(|column| match route.body {
        BodyKind::Json(_, Purpose::Update) => asked(table, column, ("", ""), &cleared(column, "–")),
        _ => asked(table, column, ("", ""), &default(table, column)),
    });
    Ok(ASKED.to_owned() + &rows.collect::<String>())
}

/// Returns the table of an operation's query parameters.
pub fn of_query(operation: &str) -> Result<String, String> {
    let table = operations::find(operation)?.query.ok_or_else(|| format!("{operation} has no query"))?;
    Ok(ASKED.to_owned() + &all_asked(table.columns, table, "", "").concat())
}

/// Returns the table of the record in an operation's successful answer.
pub fn of_answer(operation: &str) -> Result<String, String> {
    let route = operations::find(operation)?;
    let table = route.shape.table().ok_or_else(|| format!("{operation} answers with no record"))?;
    Ok(ANSWERED.to_owned() + &all_answered(table.columns, table, "", "").concat())
}

/// Returns the column table of an operation's JSON body; `None` if it reads no JSON.
pub fn body(route: &Route) -> Option<&'static Table> {
    match route.body {
        BodyKind::Json(table, _) | BodyKind::Document(table) => Some(table),
        BodyKind::None | BodyKind::File(..) | BodyKind::Object(..) => None,
    }
}

/// Returns the tables within a column: an object's, a list's entries', or one for each `type`, with that word.
pub fn inner(kind: &ColumnType) -> Vec<(&'static str, &'static Table)> {
    match kind {
        ColumnType::Record(table) => vec![("", *table)],
        ColumnType::Tagged(variants) => variants.to_vec(),
        ColumnType::List { of, .. } => inner(of),
        _ => Vec::new(),
    }
}

fn all_asked(columns: &[Column], table: &Table, prefix: &str, tag: &str) -> Vec<String> {
    let members = columns.iter().filter(|column| column.spec.kind.is_member());
    members.flat_map(|column| asked(table, column, (prefix, tag), &default(table, column))).collect()
}

/// Returns the rows of a request member: its own, and those of the tables within.
fn asked(table: &Table, column: &Column, (prefix, tag): (&str, &str), default: &str) -> Vec<String> {
    let name = format!("{prefix}{}", column.name);
    let (kind, bounds) = (type_of(&column.spec.kind), bounds(table, column));
    let own =
        format!("| {} | {kind} | {bounds} | {default} | {}{} |\n", member(&name, tag), what(column), spelled(column));
    let words = tags(&column.spec.kind).map(|words| {
        format!("| `{name}[].type` | text | {} | required | Which of these an entry is. |\n", either(&words))
    });
    [own].into_iter().chain(words).chain(nested(column, &name, all_asked)).collect()
}

fn all_answered(columns: &[Column], _: &Table, prefix: &str, tag: &str) -> Vec<String> {
    columns.iter().flat_map(|column| answered(column, prefix, tag)).collect()
}

/// Returns the rows of an answer's member: its own, and those of the tables within.
fn answered(column: &Column, prefix: &str, tag: &str) -> Vec<String> {
    let name = format!("{prefix}{}", column.name);
    let or_null = if may_be_null(column) { " or null" } else { "" };
    let (member, kind, what) = (member(&name, tag), type_of(&column.spec.kind), what(column));
    if let [(_, table)] = inner(&column.spec.kind)[..]
        && let Some(home) = home(table)
    {
        return vec![format!("| {member} | {kind}{or_null} | {what} As `{home}` answers. |\n")];
    }
    let words = match column.spec.kind {
        ColumnType::Choice(words) => format!(": {}", either(words)),
        _ => String::new(),
    };
    let own = format!("| {member} | {kind}{words}{or_null} | {what} |\n");
    let words = tags(&column.spec.kind)
        .map(|words| format!("| `{name}[].type` | text: {} | Which of these an entry is. |\n", either(&words)));
    [own].into_iter().chain(words).chain(nested(column, &name, all_answered)).collect()
}

/// Lists and variables are empty instead of null, and "any JSON" includes null already.
fn may_be_null(column: &Column) -> bool {
    matches!(column.spec.need, Need::Optional)
        && !matches!(
            column.spec.kind,
            ColumnType::List { .. } | ColumnType::Variables | ColumnType::Any | ColumnType::Json { .. }
        )
}

/// Returns the values of `type` that distinguish the entries of a tagged list.
fn tags(kind: &ColumnType) -> Option<Vec<&'static str>> {
    match kind {
        ColumnType::List { of: ColumnType::Tagged(variants), .. } => {
            Some(variants.iter().map(|(word, _)| *word).filter(|word| *word != OTHER).collect())
        }
        _ => None,
    }
}

/// Returns the rows of the tables within a column.
fn nested(column: &Column, name: &str, rows: fn(&[Column], &Table, &str, &str) -> Vec<String>) -> Vec<String> {
    let list = if matches!(column.spec.kind, ColumnType::List { .. }) { "[]" } else { "" };
    let prefix = format!("{name}{list}.");
    let tables: Vec<_> = inner(&column.spec.kind).into_iter().filter(|(tag, _)| *tag != OTHER).collect();
    if let [(tag, table)] = tables[..] {
        return rows(table.columns, table, &prefix, tag);
    }
    // What all of them have is said once.
    let is_common =
        |column: &Column| tables.iter().all(|(_, table)| table.columns.iter().any(|own| own.name == column.name));
    let split = |table: &Table| table.columns.iter().copied().partition::<Vec<Column>, _>(is_common);
    let common = tables.first().into_iter().flat_map(|(_, table)| rows(&split(table).0, table, &prefix, ""));
    let own = tables.iter().flat_map(|(tag, table)| rows(&split(table).1, table, &prefix, tag));
    common.chain(own).collect()
}

/// Returns the operation that answers with this record, to refer to it. A record of up to 8 members is shown wherever
/// it occurs.
fn home(table: &Table) -> Option<String> {
    const SHORT: usize = 8;
    let route = ROUTES.iter().find(|route| route.shape.table().is_some_and(|other| other.name == table.name));
    route.filter(|_| table.columns.len() > SHORT).map(operations::name)
}

fn member(name: &str, tag: &str) -> String {
    if tag.is_empty() { format!("`{name}`") } else { format!("`{name}` of `{tag}`") }
}

fn what(column: &Column) -> String {
    column.doc.trim().replace('|', "\\|")
}

fn spelled(column: &Column) -> String {
    column.spec.aliases.first().map(|alias| format!(" Also spelled `{alias}`.")).unwrap_or_default()
}

fn type_of(kind: &ColumnType) -> &'static str {
    match kind {
        ColumnType::Text { .. } | ColumnType::Choice(_) => "text",
        ColumnType::Int { .. } => "integer",
        ColumnType::Number { .. } => "number",
        ColumnType::Bool => "boolean",
        ColumnType::BoolOrText { .. } => "boolean or text",
        ColumnType::IdOrUuid => "id or UUID",
        ColumnType::List { of: ColumnType::Int { .. }, .. } => "list of integers",
        ColumnType::List { of: ColumnType::Text { .. } | ColumnType::Choice(_), .. } => "list of texts",
        ColumnType::List { .. } => "list of objects",
        ColumnType::Record(_) | ColumnType::Tagged(_) | ColumnType::Object { .. } => "object",
        ColumnType::Variables => "variables",
        ColumnType::Iso => "time (ISO)",
        ColumnType::Sql => "time (SQL)",
        ColumnType::Decimal => "decimal text",
        ColumnType::Flag => "1 or 0",
        ColumnType::Any | ColumnType::Json { .. } | ColumnType::Whole { .. } => "any JSON",
    }
}

fn bounds(table: &Table, column: &Column) -> String {
    let mut parts = bounds_of(&column.spec.kind);
    parts.extend(column.spec.exists.map(|named| names(named).to_owned()));
    parts.extend(table.rules.iter().filter_map(|rule| bound_by(rule, column.name)));
    if parts.is_empty() { "–".into() } else { parts.join("; ") }
}

fn bounds_of(kind: &ColumnType) -> Vec<String> {
    match kind {
        ColumnType::Text { min, max, format } => {
            let length = if min == max { format!("{max} characters") } else { format!("{min} to {max} characters") };
            let form = format.map(|format| says(format.says));
            std::iter::once(length).chain(form).collect()
        }
        ColumnType::BoolOrText { max, format } => vec![format!("1 to {max} characters"), says(format.says)],
        ColumnType::Int { min, max } if *max >= ID_MAX => vec![format!("at least {min}")],
        ColumnType::Int { min, max } => vec![format!("{min} to {max}")],
        ColumnType::Number { min, max } => vec![format!("{min} to {max}")],
        ColumnType::Choice(words) => vec![either(words)],
        ColumnType::Object { bytes_max } => vec![format!("at most {bytes_max} bytes as compact JSON")],
        ColumnType::List { of, min, max, unique } => {
            let most = if *min > 0 { format!("{min} to {max} entries") } else { format!("at most {max} entries") };
            let mut parts = vec![most];
            parts.extend(bounds_of(of).into_iter().map(|bound| format!("each {bound}")));
            parts.extend(unique.map(|member| format!("no two with the same `{member}`")));
            parts
        }
        _ => Vec::new(),
    }
}

/// Phrases a format to follow "1 to 64 characters", from the end of its error's sentence.
fn says(sentence: &str) -> String {
    let end = sentence.split_once("must ").map_or(sentence, |(_, end)| end).trim_end_matches('.');
    match end.strip_prefix("be ") {
        Some(form) => form.to_owned(),
        None => format!("must {end}"),
    }
}

fn bound_by(rule: &Rule, name: &str) -> Option<String> {
    match rule {
        Rule::Fixed(field, value, _, when) if *field == name => Some(format!("{} {}", literal(*value), holds(when))),
        Rule::Form(field, form, when) if *field == name => Some(format!("{} {}", says(form.says), holds(when))),
        Rule::Ordered(low, high, ..) if *high == name => Some(format!("not before `{low}`")),
        _ => None,
    }
}

fn default(table: &Table, column: &Column) -> String {
    let own = match column.spec.need {
        Need::Required => "required".to_owned(),
        Need::Default(value) => match (value, column.spec.kind) {
            (Literal::Words(all), ColumnType::List { of: ColumnType::Choice(words), .. }) if all == *words => {
                "all of them".into()
            }
            _ => literal(value),
        },
        Need::Optional => table.rules.iter().find_map(|rule| required_by(rule, column.name)).unwrap_or("–".to_owned()),
    };
    cleared(column, &own)
}

/// Adds to a member's default that `null` clears it, where it does.
fn cleared(column: &Column, own: &str) -> String {
    match (column.spec.clears, own) {
        (false, own) => own.to_owned(),
        (true, "–") => "`null` clears it".into(),
        (true, own) => format!("{own}; `null` clears it"),
    }
}

fn required_by(rule: &Rule, name: &str) -> Option<String> {
    match rule {
        Rule::Require(field, when) if *field == name => Some(format!("required {}", holds(when))),
        Rule::OneOf(fields, when) if fields.contains(&name) && when.field.is_empty() => {
            Some(format!("{} is required", either(fields)))
        }
        Rule::OneOf(fields, when) if fields.contains(&name) => {
            Some(format!("{} is required {}", either(fields), holds(when)))
        }
        _ => None,
    }
}

fn holds(when: &When) -> String {
    let word = if when.unless { "unless" } else { "if" };
    format!("{word} `{}` is {}", when.field, either(when.is))
}

fn either(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn literal(literal: Literal) -> String {
    match literal {
        Literal::Bool(value) => format!("`{value}`"),
        Literal::Int(value) => format!("`{value}`"),
        Literal::Number(value) => format!("`{}`", String::from_utf8_lossy(&value.to_json())),
        Literal::Text(value) => format!("`{value}`"),
        Literal::Words(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
    }
}

fn names(named: Ref) -> &'static str {
    match named {
        Ref::Language => "a language of the catalogue",
        Ref::Voice => "a voice of the catalogue",
        Ref::LlmModel => "an LLM of the catalogue",
        Ref::MultimodalModel => "a multimodal model of the catalogue",
        Ref::SynthesizerProvider => "a synthesizer provider of the catalogue",
        Ref::TranscriberProvider => "a transcriber provider of the catalogue",
        Ref::Row(_) => "the account's own",
    }
}
