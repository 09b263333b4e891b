//! What an operation may answer, for the `OpenAPI` document: its success by the form of its reply, its refusals by their
//! causes. Every schema and every refusal is a component.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::components::{Components, Section};
use super::{media, takes_members};
use crate::http::cause::{Cause, ErrorBody};
use crate::http::page;
use crate::http::refusal::{Form, Invalid};
use crate::http::route::{ReplyForm, Route};
use crate::json::{JsonNumber, Members, Value};
use crate::record::Table;
use crate::record::schema::{Purpose, TableUse, object, string, whole};
use crate::service::causes;

/// Describes all answers of an operation, by status.
pub fn of(route: &Route, components: &mut Components) -> Value {
    let mut responses = Members::default();
    let own = success(route, route.shape, components);
    responses.set(&route.status.to_string(), tagged(route, own, components));
    if let ReplyForm::Object(media_type) = route.shape {
        responses.set("206", response("The part that `Range` names.", media_type, Value::Object(Members::default())));
    }
    if let Some(shape) = route.looks {
        responses.set("200", success(route, shape, components));
    }
    if route.etag {
        let unchanged = object([("description", string("What `If-None-Match` names is still what there is."))]);
        let unchanged = tagged(route, unchanged, components);
        responses.set("304", components.named(Section::Responses, "Unchanged", unchanged));
    }
    let mut refusals: BTreeMap<u16, Vec<Cause>> = BTreeMap::new();
    for cause in causes::of(route) {
        refusals.entry(cause.status()).or_default().push(cause);
    }
    for (status, causes) in refusals {
        responses.set(&status.to_string(), refusal(route, &causes, components));
    }
    Value::Object(responses)
}

/// Describes the responses of one status: each cause once, as a list if there are several, and each form of their
/// bodies. It is named after its causes.
fn refusal(route: &Route, causes: &[Cause], components: &mut Components) -> Value {
    let (mut says, mut forms): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for cause in causes {
        says.extend(Some(cause.doc()).filter(|doc| !says.contains(doc)));
        forms.extend(form(route, *cause).filter(|form| !forms.contains(form)));
    }
    let names: Vec<String> = causes.iter().map(|cause| format!("{cause:?}")).collect();
    let suffix = match route.form {
        Form::Status => "OfConversation",
        Form::Success => "OfReply",
        _ if forms.contains(&ERROR_TEXT) => "AsText",
        _ => "",
    };
    let name = names.join("Or") + suffix;
    let says = if says.len() > 1 { format!("- {}", says.join("\n- ")) } else { says.concat() };
    let mut schemas: Vec<Value> =
        forms.into_iter().map(|name| components.named(Section::Schemas, name, error(name))).collect();
    let response = match schemas.len() {
        0 => object([("description", string(&says))]),
        1 => response(&says, "application/json", schemas.remove(0)),
        _ => response(&says, "application/json", object([("anyOf", Value::List(schemas))])),
    };
    components.named(Section::Responses, &name, response)
}

/// Name of the schema of an error whose only member is `error`.
const ERROR_TEXT: &str = "ErrorText";

/// Returns the name of the schema of a refusal's body; `None` if it has no body.
fn form(route: &Route, cause: Cause) -> Option<&'static str> {
    Some(match (cause.body(), route.form) {
        (ErrorBody::Empty, _) => return None,
        (ErrorBody::Fields, Form::Status) => "ConversationValidationError",
        (ErrorBody::Fields, Form::Success) => "ReplyValidationError",
        (ErrorBody::Wait, Form::Status) => "ConversationWaitError",
        (ErrorBody::Wait, Form::Success) => "ReplyWaitError",
        (_, Form::Status) => "ConversationError",
        (_, Form::Success) => "ReplyError",
        (ErrorBody::Own, Form::Error) => ERROR_TEXT,
        (ErrorBody::Fields, _) if route.invalid == Invalid::Error && cause != Cause::Unknown => ERROR_TEXT,
        (ErrorBody::Message | ErrorBody::Own, _) => "Error",
        (ErrorBody::Fields, _) => "ValidationError",
        (ErrorBody::Wait, _) => "WaitError",
        (ErrorBody::Unsuccessful, _) => "UnsuccessfulError",
        (ErrorBody::NextSeq, _) => "OrderError",
    })
}

/// Returns the schema of an error by its name.
fn error(name: &str) -> Value {
    let message = ("message", text());
    let truth = || object([("type", string("boolean"))]);
    let sentences = || object([("type", string("object")), ("additionalProperties", array(text()))]);
    let (status, success) = (("status", truth()), ("success", truth()));
    let (own, code) = (("error", text()), ("error_code", text()));
    match name {
        "ConversationError" => whole([status, own, message]),
        "ConversationValidationError" => whole([status, own, message, ("errors", sentences())]),
        "ConversationWaitError" => whole([status, own, message, ("retry_after", integer())]),
        "ReplyError" => whole([success, own, code, message]),
        "ReplyValidationError" => whole([success, own, code, message, ("errors", sentences())]),
        "ReplyWaitError" => whole([success, own, code, message, ("retry_after", integer())]),
        ERROR_TEXT => whole([("error", text())]),
        "ValidationError" => whole([message, ("errors", sentences())]),
        "WaitError" => whole([message, ("retry_after", integer())]),
        "UnsuccessfulError" => whole([message, success]),
        "OrderError" => whole([message, ("next_seq", integer())]),
        _ => whole([message]),
    }
}

/// Adds to a successful response the headers that the operation sends besides those of every answer.
fn tagged(route: &Route, mut response: Value, components: &mut Components) -> Value {
    let Value::Object(members) = &mut response else { return response };
    let header = |says: &str| {
        let says = ("description", string(says));
        object([says, ("schema", text())])
    };
    if route.etag {
        let tag = header("Names the state of what is shown, for `If-None-Match` and `If-Match`.");
        members.set("headers", object([("ETag", components.named(Section::Headers, "EntityTag", tag))]));
    } else if takes_members(route) && !route.strict {
        let says = "Members of the body that the operation does not know and ignored: a list of strings (RFC 8941).";
        let ignored = components.named(Section::Headers, "IgnoredMembers", header(says));
        members.set("headers", object([("X-Ignored-Members", ignored)]));
    }
    response
}

fn response(doc: &str, media_type: &str, schema: Value) -> Value {
    let mut content = Members::default();
    content.set(media_type, media(schema));
    object([("description", string(doc)), ("content", Value::Object(content))])
}

/// Describes an answer that `Accept` turns from JSON into text of another media type: a live stream, a page, CSV.
fn also(schema: Value, other: &str) -> Value {
    let content = object([("application/json", media(schema)), (other, media(text()))]);
    object([("description", string("Done.")), ("content", content)])
}

fn success(route: &Route, shape: ReplyForm, components: &mut Components) -> Value {
    let record = |components: &Components, table| components.record(&TableUse::of(table, Purpose::Reply));
    let schema = match shape {
        ReplyForm::Bare(table) => record(components, table),
        ReplyForm::BareOrPage(table) => return also(record(components, table), "text/html"),
        ReplyForm::BareOrStream(table) => return also(record(components, table), "text/event-stream"),
        ReplyForm::BareList(table) => array(record(components, table)),
        ReplyForm::Media(media_type) | ReplyForm::Object(media_type) => {
            return response("Done.", media_type, Value::Object(Members::default()));
        }
        _ => {
            let (name, schema) = envelope(route, shape, components, &record);
            let schema = components.named(Section::Schemas, &name, schema);
            if let ReplyForm::Feed(_) | ReplyForm::CallEvents = shape {
                return also(schema, "text/event-stream");
            }
            if route.csv.is_some() {
                return also(schema, "text/csv");
            }
            schema
        }
    };
    response("Done.", "application/json", schema)
}

/// Returns the name and the schema of what an answer puts around its records.
fn envelope(
    route: &Route,
    shape: ReplyForm,
    components: &mut Components,
    record: &dyn Fn(&Components, &'static Table) -> Value,
) -> (String, Value) {
    let message = ("message", text());
    let shown = shape.table().map(|table| (table.name, record(components, table)));
    let (name, shown) = shown.unwrap_or(("", Value::Null));
    match shape {
        ReplyForm::Data(_) => (format!("{name}Data"), whole([("data", shown)])),
        ReplyForm::DataList(_) => (format!("{name}List"), whole([("data", array(shown))])),
        ReplyForm::MemberList(member, _) => (format!("{name}List"), whole([(member, array(shown))])),
        ReplyForm::MessageData(_) => (format!("{name}WithMessage"), whole([message, ("data", shown)])),
        ReplyForm::MessageMember(member, _) => (format!("{name}WithMessage"), whole([message, (member, shown)])),
        ReplyForm::Secrets(_) if route.method.is_write() => {
            (format!("{name}ListWithMessage"), whole([message, ("secrets", array(shown))]))
        }
        ReplyForm::Secrets(_) => (format!("{name}List"), whole([("secrets", array(shown))])),
        ReplyForm::PageOrCursor(table) => {
            let link = components.named(Section::Schemas, "PageLink", page::link_schema());
            let by_page = components.named(Section::Schemas, &format!("{name}Page"), page::schema(shown.clone(), link));
            let by_cursor = components.named(Section::Schemas, &format!("{name}Slice"), page::cursor_schema(shown));
            (format!("{}List", table.name), object([("anyOf", Value::List([by_page, by_cursor].into()))]))
        }
        ReplyForm::Page(_) => {
            let link = components.named(Section::Schemas, "PageLink", page::link_schema());
            (format!("{name}Page"), page::schema(shown, link))
        }
        ReplyForm::Feed(_) => (format!("{name}Feed"), whole([("data", array(shown)), ("last_seq", integer())])),
        ReplyForm::CallEvents => {
            let event = whole([("seq", integer()), ("at", text()), ("type", text())]);
            let event = components.named(Section::Schemas, "CallEvent", event);
            ("CallEventFeed".to_string(), whole([("data", array(event))]))
        }
        ReplyForm::Status => ("ServiceStatus".to_string(), whole([("status", text())])),
        ReplyForm::MessageEmpty => {
            let Value::Object(mut nothing) = array(object([("type", string("object"))])) else { unreachable!() };
            nothing.set("maxItems", Value::Number(JsonNumber::Unsigned(0)));
            ("EmptyWithMessage".to_string(), whole([message, ("data", Value::Object(nothing))]))
        }
        _ => ("Confirmation".to_string(), whole([message])),
    }
}

fn array(items: Value) -> Value {
    object([("type", string("array")), ("items", items)])
}

fn integer() -> Value {
    object([("type", string("integer"))])
}

fn text() -> Value {
    object([("type", string("string"))])
}
