//! The `OpenAPI` 3.1 document, generated only from the route table and the tables of bodies, queries and replies: no
//! path or operation gets special treatment here. The committed `openapi.json` adds paragraphs and examples
//! (`operations/`), which do not weigh on the module for WebAssembly: the native host serves that file.

mod answers;
mod components;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use components::{Components, Section};

use super::Service;
use super::routes::ROUTES;
use crate::http::multipart::FORM;
use crate::http::route::{BodyKind, Route, Who};
use crate::json::{Members, Value};
use crate::record::schema::{self, Purpose, object, string, strings};
use crate::record::{Column, Need};

/// Builds the document.
pub fn document() -> Value {
    let (mut paths, mut components) = (Members::default(), Components::of(ROUTES));
    for route in ROUTES {
        for path in route.paths {
            operation(&mut paths, route, path, &mut components);
        }
    }
    let mut components = components.members();
    components.set("securitySchemes", security_schemes());
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
        ("components", Value::Object(components)),
    ])
}

fn security_schemes() -> Value {
    let bearer =
        |says: &str| object([("type", string("http")), ("scheme", string("bearer")), ("description", string(says))]);
    object([
        ("token", bearer("An API key or a session token.")),
        ("operator", bearer("The operator's token.")),
        ("engine", bearer("A token of a voice engine.")),
    ])
}

/// Describes the header by which a request has unknown members refused.
fn prefer() -> Value {
    let says = "`handling=strict` refuses members of the body that the operation does not know (RFC 7240).";
    parameter("Prefer", "header", false, says, object([("type", string("string"))]))
}

fn operation(paths: &mut Members, route: &Route, path: &str, components: &mut Components) {
    if paths.get(path).is_none() {
        paths.set(path, Value::Object(Members::default()));
    }
    let Some((_, Value::Object(item))) = paths.0.iter_mut().find(|(name, _)| name == path) else { return };
    let alias = match route.paths.iter().position(|own| *own == path) {
        None | Some(0) => String::new(),
        Some(1) => "Alias".into(),
        Some(at) => format!("Alias{at}"),
    };
    item.set(&route.method.name().to_lowercase(), describe(route, &alias, components));
    if route.patch {
        item.set("patch", describe(route, &format!("Patch{alias}"), components));
    }
}

fn describe(route: &Route, suffix: &str, components: &mut Components) -> Value {
    let mut members = Members::default();
    members.set("operationId", string(&format!("{}{suffix}", route.id)));
    members.set("summary", string(route.summary));
    members.set("tags", strings(&[route.tag]));
    let security = match route.who {
        Who::Anyone => Vec::new(),
        Who::User => [object([("token", Value::List(Vec::new()))])].into(),
        Who::Visitor => [object([]), object([("token", Value::List(Vec::new()))])].into(),
        Who::Operator => [object([("operator", Value::List(Vec::new()))])].into(),
        Who::Engine => [object([("engine", Value::List(Vec::new()))])].into(),
    };
    members.set("security", Value::List(security));
    let parameters = parameters(route, components);
    if !parameters.is_empty() {
        members.set("parameters", Value::List(parameters));
    }
    if let Some(body) = body(route, components) {
        members.set("requestBody", body);
    }
    members.set("responses", answers::of(route, components));
    Value::Object(members)
}

fn parameters(route: &Route, components: &mut Components) -> Vec<Value> {
    let named = route.parameters();
    let mut parameters: Vec<Value> =
        named.map(|name| parameter(name, "path", true, "", object([("type", string("string"))]))).collect();
    for column in route.query.map_or(&[][..], |table| table.columns) {
        parameters.push(query(column, components));
    }
    if takes_members(route) && !route.strict {
        parameters.push(components.named(Section::Parameters, "Prefer", prefer()));
    }
    parameters
}

/// Returns whether the body of an operation may be a JSON object.
fn takes_members(route: &Route) -> bool {
    matches!(route.body, BodyKind::Json(..) | BodyKind::Document(_))
}

fn query(column: &Column, components: &Components) -> Value {
    let schema = schema::column(column, Purpose::Update, &|nested| components.record(nested));
    let Value::Object(mut schema) = schema else { return Value::Null };
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

fn body(route: &Route, components: &Components) -> Option<Value> {
    if let BodyKind::File(types, _) | BodyKind::Object(types, _) = route.body {
        return Some(file(types));
    }
    let used = components::body(route)?;
    let mut content = Members::default();
    content.set("application/json", media(components.record(&used)));
    if let BodyKind::Document(_) = route.body {
        content.set(FORM, media(form()));
    }
    let required = used.purpose == Purpose::Create
        && used.table.columns.iter().any(|column| matches!(column.spec.need, Need::Required));
    Some(object([("required", Value::Bool(required)), ("content", Value::Object(content))]))
}

/// Describes the form by which a file is uploaded.
fn form() -> Value {
    let text = || object([("type", string("string"))]);
    let kinds = object([("type", string("string")), ("enum", strings(&["pdf", "txt", "docx"]))]);
    let file = object([("type", string("string")), ("contentMediaType", string("application/octet-stream"))]);
    let properties = object([("name", text()), ("description", text()), ("type", kinds), ("file", file)]);
    let required = strings(&["name", "type", "file"]);
    object([("type", string("object")), ("required", required), ("properties", properties)])
}

/// Describes a file body: text without a schema of its own.
fn file(types: &[&str]) -> Value {
    let mut content = Members::default();
    for name in types {
        let doc = match *name {
            "text/csv" => "UTF-8, with a header row.",
            "application/x-ndjson" => "UTF-8, a JSON object a line.",
            FORM => {
                content.set(name, media(form_of_file()));
                continue;
            }
            // Bytes, of which a schema can say nothing.
            name if name.starts_with("audio/") => {
                content.set(name, media(Value::Object(Members::default())));
                continue;
            }
            _ => "",
        };
        content.set(name, media(object([("type", string("string")), ("description", string(doc))])));
    }
    object([("required", Value::Bool(true)), ("content", Value::Object(content))])
}

/// Describes a form with a file, in which the parameters of the query may stand too.
fn form_of_file() -> Value {
    let file = object([
        ("type", string("string")),
        ("contentMediaType", string("application/octet-stream")),
        ("description", string("The file, of one of the other types by its content type or its name.")),
    ]);
    object([
        ("type", string("object")),
        ("description", string("Other fields are taken as parameters of the query.")),
        ("required", strings(&["file"])),
        ("properties", object([("file", file)])),
    ])
}

fn media(schema: Value) -> Value {
    object([("schema", schema)])
}

/// Returns the document as text.
pub fn text() -> String {
    written(&document())
}

/// Returns a document as text, with the upper levels one member per line: the committed form.
pub fn written(document: &Value) -> String {
    let mut out = String::new();
    pretty(document, 0, &mut out);
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
        Value::Object(members) if depth < 5 && !members.0.is_empty() => {
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
