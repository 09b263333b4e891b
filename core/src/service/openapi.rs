//! The `OpenAPI` 3.1 document, generated only from the route table and the tables of bodies, queries and replies: no
//! path or operation gets special treatment here.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::routes::ROUTES;
use super::{Service, causes};
use crate::http::cause::{Cause, ErrorBody};
use crate::http::page;
use crate::http::refusal::{Form, Invalid};
use crate::http::route::{BodyKind, ReplyForm, Route, Who};
use crate::json::{JsonNumber, Members, Value};
use crate::record::schema::{self, Purpose, object, string, strings};
use crate::record::{Column, Need, Table};

/// Builds the document.
pub fn document() -> Value {
    let mut paths = Members::default();
    for route in ROUTES {
        for path in route.paths {
            operation(&mut paths, route, path);
        }
    }
    object([
        ("openapi", string("3.1.0")),
        (
            "info",
            object([
                ("title", string("Switchboard")),
                ("version", string(&Service::version())),
                (
                    "description",
                    string(
                        "A self-hosted voice assistant management service. Every operation under `/user` answers under `/api/user` as well.",
                    ),
                ),
                ("license", object([("name", string("Apache-2.0")), ("identifier", string("Apache-2.0"))])),
            ]),
        ),
        ("servers", Value::List([object([("url", string("/"))])].into())),
        ("paths", Value::Object(paths)),
        (
            "components",
            object([
                ("parameters", object([("Prefer", prefer())])),
                ("headers", object([("IgnoredMembers", ignored_members())])),
                (
                    "securitySchemes",
                    object([
                        (
                            "token",
                            object([
                                ("type", string("http")),
                                ("scheme", string("bearer")),
                                ("description", string("An API key or a session token.")),
                            ]),
                        ),
                        (
                            "operator",
                            object([
                                ("type", string("http")),
                                ("scheme", string("bearer")),
                                ("description", string("The operator's token.")),
                            ]),
                        ),
                        (
                            "engine",
                            object([
                                ("type", string("http")),
                                ("scheme", string("bearer")),
                                ("description", string("A token of a voice engine.")),
                            ]),
                        ),
                    ]),
                ),
            ]),
        ),
    ])
}

/// Describes the header by which a request has unknown members refused.
fn prefer() -> Value {
    let says = "`handling=strict` refuses members of the body that the operation does not know (RFC 7240).";
    parameter("Prefer", "header", false, says, object([("type", string("string"))]))
}

/// Describes the header that names ignored members.
fn ignored_members() -> Value {
    let says = "Members of the body that the operation does not know and ignored: a list of strings (RFC 8941).";
    object([("description", string(says)), ("schema", object([("type", string("string"))]))])
}

fn refers(to: &str) -> Value {
    object([("$ref", string(&format!("#/components/{to}")))])
}

fn operation(paths: &mut Members, route: &Route, path: &str) {
    if paths.get(path).is_none() {
        paths.set(path, Value::Object(Members::default()));
    }
    let Some((_, Value::Object(item))) = paths.0.iter_mut().find(|(name, _)| name == path) else { return };
    let alias = route.paths.first() != Some(&path);
    item.set(&route.method.name().to_lowercase(), describe(route, if alias { "Alias" } else { "" }));
    if route.patch {
        item.set("patch", describe(route, if alias { "PatchAlias" } else { "Patch" }));
    }
}

fn describe(route: &Route, suffix: &str) -> Value {
    let mut members = Members::default();
    members.set("operationId", string(&format!("{}{suffix}", route.id)));
    members.set("summary", string(route.summary));
    members.set("tags", strings(&[route.tag]));
    let security = match route.who {
        Who::Anyone => Vec::new(),
        Who::User => [object([("token", Value::List(Vec::new()))])].into(),
        Who::Operator => [object([("operator", Value::List(Vec::new()))])].into(),
        Who::Engine => [object([("engine", Value::List(Vec::new()))])].into(),
    };
    members.set("security", Value::List(security));
    let parameters = parameters(route);
    if !parameters.is_empty() {
        members.set("parameters", Value::List(parameters));
    }
    if let Some(body) = body(route) {
        members.set("requestBody", body);
    }
    members.set("responses", responses(route));
    Value::Object(members)
}

fn parameters(route: &Route) -> Vec<Value> {
    let named = route.parameters();
    let mut parameters: Vec<Value> =
        named.map(|name| parameter(name, "path", true, "", object([("type", string("string"))]))).collect();
    for column in route.query.map_or(&[][..], |table| table.columns) {
        parameters.push(query(column));
    }
    if takes_members(route) && !route.strict {
        parameters.push(refers("parameters/Prefer"));
    }
    parameters
}

/// Returns whether the body of an operation may be a JSON object.
fn takes_members(route: &Route) -> bool {
    matches!(route.body, BodyKind::Json(..) | BodyKind::Document(_))
}

fn query(column: &Column) -> Value {
    let Value::Object(mut schema) = schema::column(column, Purpose::Update) else { return Value::Null };
    schema.remove("description");
    let required = matches!(column.spec.need, Need::Required);
    let mut parameter = parameter(column.name, "query", required, column.doc.trim(), Value::Object(schema));
    // `?status=` counts as not given.
    if let (Value::Object(members), false) = (&mut parameter, required) {
        members.set("allowEmptyValue", Value::Bool(true));
    }
    parameter
}

fn parameter(name: &str, place: &str, required: bool, doc: &str, schema: Value) -> Value {
    let mut members = Members::default();
    members.set("name", string(name));
    members.set("in", string(place));
    members.set("required", Value::Bool(required));
    if !doc.is_empty() {
        members.set("description", string(doc));
    }
    members.set("schema", schema);
    Value::Object(members)
}

fn body(route: &Route) -> Option<Value> {
    let (table, purpose, form) = match route.body {
        BodyKind::None => return None,
        BodyKind::File(types, _) => return Some(file(types)),
        BodyKind::Json(table, purpose) => (table, purpose, false),
        BodyKind::Document(table) => (table, Purpose::Create, true),
    };
    let mut content = Members::default();
    let mut schema = schema::of(table, purpose);
    if let (true, Value::Object(members)) = (route.strict, &mut schema) {
        members.set("additionalProperties", Value::Bool(false));
    }
    content.set("application/json", media(schema));
    if form {
        let text = || object([("type", string("string"))]);
        let kinds = object([("type", string("string")), ("enum", strings(&["pdf", "txt", "docx"]))]);
        let file = object([("type", string("string")), ("contentMediaType", string("application/octet-stream"))]);
        let properties = object([("name", text()), ("description", text()), ("type", kinds), ("file", file)]);
        content.set(
            "multipart/form-data",
            media(object([
                ("type", string("object")),
                ("required", strings(&["name", "type", "file"])),
                ("properties", properties),
            ])),
        );
    }
    let required =
        table.columns.iter().any(|column| matches!(column.spec.need, Need::Required)) && purpose == Purpose::Create;
    Some(object([("required", Value::Bool(required)), ("content", Value::Object(content))]))
}

/// Describes a file body: text without a schema of its own.
fn file(types: &[&str]) -> Value {
    let mut content = Members::default();
    for name in types {
        let doc = match *name {
            "text/csv" => "UTF-8, with a header row.",
            "application/x-ndjson" => "UTF-8, a JSON object a line.",
            _ => "",
        };
        content.set(name, media(object([("type", string("string")), ("description", string(doc))])));
    }
    object([("required", Value::Bool(true)), ("content", Value::Object(content))])
}

fn media(schema: Value) -> Value {
    object([("schema", schema)])
}

fn responses(route: &Route) -> Value {
    let mut responses = Members::default();
    responses.set(&route.status.to_string(), tagged(route, success(route, route.shape)));
    if let Some(shape) = route.looks {
        responses.set("200", success(route, shape));
    }
    if route.etag {
        let unchanged = object([("description", string("What `If-None-Match` names is still what there is."))]);
        responses.set("304", tagged(route, unchanged));
    }
    let mut refusals: BTreeMap<u16, Vec<Cause>> = BTreeMap::new();
    for cause in causes::of(route) {
        refusals.entry(cause.status()).or_default().push(cause);
    }
    for (status, causes) in refusals {
        responses.set(&status.to_string(), refusal(route, &causes));
    }
    Value::Object(responses)
}

/// Describes the responses of one status: each cause once, as a list if there are several, and each form of their
/// bodies.
fn refusal(route: &Route, causes: &[Cause]) -> Value {
    let (mut says, mut forms): (Vec<&str>, Vec<Value>) = (Vec::new(), Vec::new());
    for cause in causes {
        let form = form(route, *cause);
        says.extend(Some(cause.doc()).filter(|doc| !says.contains(doc)));
        forms.extend(form.filter(|form| !forms.contains(form)));
    }
    let says = if says.len() > 1 { format!("- {}", says.join("\n- ")) } else { says.concat() };
    match forms.len() {
        0 => object([("description", string(&says))]),
        1 => response(&says, "application/json", forms.remove(0)),
        _ => response(&says, "application/json", object([("anyOf", Value::List(forms))])),
    }
}

/// Returns the schema of a refusal's body; `None` if it has no body.
fn form(route: &Route, cause: Cause) -> Option<Value> {
    let text = || object([("type", string("string"))]);
    let own = if route.form == Form::Error { "error" } else { "message" };
    Some(match cause.body() {
        ErrorBody::Empty => return None,
        ErrorBody::Message => members(&[("message", text())]),
        ErrorBody::Own => members(&[(own, text())]),
        ErrorBody::Fields if route.invalid == Invalid::Error && cause != Cause::Unknown => {
            members(&[("error", text())])
        }
        ErrorBody::Fields => fields(),
        ErrorBody::Wait => members(&[("message", text()), ("retry_after", integer())]),
        ErrorBody::Unsuccessful => members(&[("message", text()), ("success", object([("type", string("boolean"))]))]),
        ErrorBody::NextSeq => members(&[("message", text()), ("next_seq", integer())]),
    })
}

/// Adds to a successful response the headers that the operation sends besides those of every answer.
fn tagged(route: &Route, mut response: Value) -> Value {
    let Value::Object(members) = &mut response else { return response };
    if route.etag {
        let tag = object([("schema", object([("type", string("string"))]))]);
        members.set("headers", object([("ETag", tag)]));
    } else if takes_members(route) && !route.strict {
        members.set("headers", object([("X-Ignored-Members", refers("headers/IgnoredMembers"))]));
    }
    response
}

fn response(doc: &str, media_type: &str, schema: Value) -> Value {
    let mut content = Members::default();
    content.set(media_type, media(schema));
    object([("description", string(doc)), ("content", Value::Object(content))])
}

fn fields() -> Value {
    let sentences = object([("type", string("array")), ("items", object([("type", string("string"))]))]);
    let errors = object([("type", string("object")), ("additionalProperties", sentences)]);
    let properties = object([("message", object([("type", string("string"))])), ("errors", errors)]);
    object([("type", string("object")), ("required", strings(&["message", "errors"])), ("properties", properties)])
}

fn success(route: &Route, shape: ReplyForm) -> Value {
    let record = |table: &Table| schema::of(table, Purpose::Reply);
    let array = |items: Value| object([("type", string("array")), ("items", items)]);
    let text = || object([("type", string("string"))]);
    let schema = match shape {
        ReplyForm::Message => members(&[("message", text())]),
        ReplyForm::Bare(table) => record(table),
        ReplyForm::BareOrPage(table) => return also(record(table), "text/html"),
        ReplyForm::BareList(table) => array(record(table)),
        ReplyForm::Data(table) => members(&[("data", record(table))]),
        ReplyForm::DataList(table) => members(&[("data", array(record(table)))]),
        ReplyForm::Page(table) => page::schema(table),
        ReplyForm::MessageData(table) => members(&[("message", text()), ("data", record(table))]),
        ReplyForm::MessageEmpty => {
            let nothing = [
                ("type", string("array")),
                ("items", object([("type", string("object"))])),
                ("maxItems", integer_of(0)),
            ];
            members(&[("message", text()), ("data", object(nothing))])
        }
        ReplyForm::MessageMember(name, table) => members(&[("message", text()), (name, record(table))]),
        ReplyForm::MemberList(name, table) => members(&[(name, array(record(table)))]),
        ReplyForm::Models(table) => array(without_code(record(table))),
        ReplyForm::Secrets(table) if writes(route) => {
            members(&[("message", text()), ("secrets", array(record(table)))])
        }
        ReplyForm::Secrets(table) => members(&[("secrets", array(record(table)))]),
        ReplyForm::Feed(table) => {
            return also(members(&[("data", array(record(table))), ("last_seq", integer())]), "text/event-stream");
        }
        ReplyForm::CallEvents => {
            let event = members(&[("seq", integer()), ("at", text()), ("type", text())]);
            return also(members(&[("data", array(event))]), "text/event-stream");
        }
        ReplyForm::Status => members(&[("status", text())]),
        ReplyForm::Media(media_type) => return response("Done.", media_type, Value::Object(Members::default())),
    };
    response("Done.", "application/json", schema)
}

fn writes(route: &Route) -> bool {
    route.method.is_write()
}

fn integer_of(number: u64) -> Value {
    Value::Number(JsonNumber::Unsigned(number))
}

fn integer() -> Value {
    object([("type", string("integer"))])
}

/// Describes an answer that `Accept` turns from JSON into text of another media type: a live stream, a page.
fn also(schema: Value, other: &str) -> Value {
    let text = media(object([("type", string("string"))]));
    let content = object([("application/json", media(schema)), (other, text)]);
    object([("description", string("Done.")), ("content", content)])
}

fn without_code(mut schema: Value) -> Value {
    if let Value::Object(members) = &mut schema {
        members.set("required", strings(&["id", "name"]));
    }
    schema
}

fn members(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties = properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    object([
        ("type", string("object")),
        ("required", strings(&names)),
        ("properties", Value::Object(Members(properties))),
    ])
}

/// Returns the document as text, with the upper levels one member per line: the committed form.
pub fn text() -> String {
    let mut out = String::new();
    pretty(&document(), 0, &mut out);
    out.push('\n');
    out
}

fn pretty(value: &Value, depth: usize, out: &mut String) {
    use crate::json::ToJson;
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(core::iter::repeat_n(' ', depth));
    };
    let inline = |value: &Value| String::from_utf8(value.to_json()).unwrap_or_default();
    match value {
        Value::Object(members) if depth < 6 && !members.0.is_empty() => {
            out.push('{');
            for (at, (name, member)) in members.0.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(out, depth + 1);
                out.push_str(&inline(&Value::Text(name.clone())));
                out.push(':');
                pretty(member, depth + 1, out);
            }
            line(out, depth);
            out.push('}');
        }
        value => out.push_str(&inline(value)),
    }
}
