//! The tables of operations, one for each tag of the `OpenAPI` document.

use std::collections::BTreeMap;

use switchboard_core::http::request::Method;
use switchboard_core::http::route::{ReplyForm, Route, Who};
use switchboard_core::json::Value;
use switchboard_core::service::openapi;
use switchboard_core::service::routes::ROUTES;

const HEAD: &str = "\
| Operation | What it does | Success | Refusals |
|---|---|---|---|
";
/// Statuses that every operation, or every one with a token, may answer: the page states them once.
const COMMON: [&str; 4] = ["401", "429", "431", "503"];

/// Returns the table of a tag's operations, in the order of the route table.
pub fn table(tag: &str) -> Result<String, String> {
    let document = openapi::document();
    let operations = ROUTES.iter().map(|route| (route, describe(&document, route)));
    let rows: String = operations
        .filter(|(_, operation)| operation.tag == tag)
        .map(|(route, operation)| row(route, &operation))
        .collect();
    if rows.is_empty() { Err(format!("no operation has the tag \"{tag}\"")) } else { Ok(HEAD.to_owned() + &rows) }
}

/// Returns the tags of all operations, each with its number of operations.
pub fn tags() -> BTreeMap<String, usize> {
    let document = openapi::document();
    let mut tags = BTreeMap::new();
    for route in ROUTES {
        *tags.entry(describe(&document, route).tag).or_default() += 1;
    }
    tags
}

/// Returns the route of an operation, named by its method and path: `POST /user/lead`.
pub fn find(operation: &str) -> Result<&'static Route, String> {
    let found = ROUTES.iter().find(|route| {
        let (method, path) = operation.split_once(' ').unwrap_or_default();
        route.method.name() == method && route.paths.contains(&path)
    });
    found.ok_or_else(|| format!("there is no operation \"{operation}\""))
}

/// Returns the name of an operation: its method and first path.
pub fn name(route: &Route) -> String {
    format!("{} {}", route.method.name(), route.paths[0])
}

/// The parts of an operation in the `OpenAPI` document that the tables show.
struct Operation {
    tag: String,
    refusals: Vec<String>,
}

fn describe(document: &Value, route: &Route) -> Operation {
    let item = document.member("paths").and_then(|paths| paths.member(route.paths[0]));
    let operation = item.and_then(|item| item.member(&route.method.name().to_lowercase()));
    let operation = operation.expect("the document has every row of the route table");
    let tag = operation.member("tags").and_then(Value::as_list).and_then(<[Value]>::first);
    let responses = operation.member("responses").and_then(Value::as_object).map(|responses| &responses.0[..]);
    let statuses = responses.unwrap_or_default().iter().map(|(status, _)| status);
    Operation {
        tag: tag.and_then(Value::as_text).unwrap_or_default().to_owned(),
        refusals: statuses.filter(|status| is_own_refusal(status)).cloned().collect(),
    }
}

fn is_own_refusal(status: &str) -> bool {
    status >= "400" && !COMMON.contains(&status)
}

fn row(route: &Route, operation: &Operation) -> String {
    let mut methods = vec![format!("`{} {}`", route.method.name(), route.paths[0])];
    if route.patch {
        methods.insert(0, "`PATCH`,".into());
    }
    let also: Vec<String> = route.paths[1..].iter().map(|path| format!(", also `{path}`")).collect();
    let mut refusals = operation.refusals.clone();
    refusals.sort();
    let refusals = if refusals.is_empty() { "–".to_owned() } else { refusals.join(" ") };
    let token = match route.who {
        Who::Anyone => " No token.",
        Who::Visitor => " With or without a token.",
        Who::Operator if !route.paths[0].starts_with("/admin") => " The operator's token.",
        _ => "",
    };
    let (names, summary, success) = (methods.join(" "), route.summary, success(route));
    format!("| {names}{} | {summary}{token} | {} {success} | {refusals} |\n", also.concat(), route.status)
}

/// Returns the shape of a successful answer, as the tables show it.
fn success(route: &Route) -> String {
    match route.shape {
        ReplyForm::Message => "`{message}`".into(),
        ReplyForm::Bare(_) => "the record".into(),
        ReplyForm::BareOrPage(_) => "the record, or `text/html`".into(),
        ReplyForm::BareOrStream(_) => "the record, or `text/event-stream`".into(),
        ReplyForm::BareList(_) => "`[…]`".into(),
        ReplyForm::Data(_) => "`{data}`".into(),
        ReplyForm::DataList(_) | ReplyForm::CallEvents => "`{data: […]}`".into(),
        ReplyForm::Page(_) if route.csv.is_some() => "page, or `text/csv`".into(),
        ReplyForm::Page(_) => "page".into(),
        ReplyForm::PageOrCursor(_) => "page, or by cursor".into(),
        ReplyForm::MessageData(_) => "`{message, data}`".into(),
        ReplyForm::MessageEmpty => "`{message, data: []}`".into(),
        ReplyForm::MessageMember(name, _) => format!("`{{message, {name}}}`"),
        ReplyForm::MemberList(name, _) => format!("`{{{name}: […]}}`"),
        ReplyForm::Secrets(_) if route.method == Method::Get => "`{secrets: […]}`".into(),
        ReplyForm::Secrets(_) => "`{message, secrets: […]}`".into(),
        ReplyForm::Feed(_) => "`{data: […], last_seq}`".into(),
        ReplyForm::Status => "`{status}`".into(),
        ReplyForm::Media(media) => format!("`{media}`"),
        ReplyForm::Object(media) => format!("`{media}`; 206 a part of it"),
    }
}
