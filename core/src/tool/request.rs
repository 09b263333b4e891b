//! The request to a tool's endpoint (docs/api.md, How parameters reach the endpoint), and its answer.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::tables::{BodyFormat, StaticField, TestedRequest};
use super::values::{Values, plain};
use super::{Parameter, ParameterType, Tool, ToolHeader, by_name};
use crate::http::refusal::{Halt, Refusal};
use crate::json::{JsonNumber, Members, ToJson, Value};
use crate::limits::{TOOL_REPLY_BYTES_MAX, TOOL_REQUEST_BYTES_MAX, URL_MAX};
use crate::outside::{Answer, Egress, HttpIn, HttpOut, Redirects, SendError, Work};
use crate::record::Secret;
use crate::template::{FilledTooLong, fill};

/// Characters that are percent-encoded in a path or query value: all but the unreserved (RFC 3986 section 2.3).
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const DOTS: &str = "A path parameter must not be . or ..";
const CONTROL: &str = "A header value must not contain control characters.";
const TOO_LONG: &str = "The URL of the request is too long.";
const TOO_LARGE: &str = "The tool's request with its placeholders filled in is larger than 64 KiB.";
/// What a secret of a header is replaced by.
const MASK: &str = "****";
/// Shortest word of a header's value that counts as a secret, bytes.
const SECRET_BYTES_MIN: usize = 8;
/// Headers whose values are no secrets.
const OPEN_HEADERS: [&str; 5] = ["accept", "accept-language", "cal-api-version", "content-type", "user-agent"];

/// A complete request to a tool's endpoint, within its size limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    out: HttpOut,
    /// Words of its headers that nobody may see, should the endpoint send them back.
    secrets: Vec<Secret>,
}

/// An argument that is sent to the endpoint.
struct Given {
    name: String,
    value: Value,
    in_url: bool,
}

impl ToolRequest {
    /// Builds the request; 502 if filling in the placeholders makes it invalid or too large.
    pub fn of(tool: &Tool, arguments: &Members, values: &Values) -> Result<Self, Halt> {
        let mut given = given(tool, arguments);
        let mut url = address(&tool.endpoint, &mut given, values).map_err(refused)?;
        let mut headers = headers(tool, values).map_err(refused)?;
        let mut rest: Members = fixed(tool);
        rest.0.extend(given.into_iter().filter(|given| !given.in_url).map(|given| (given.name, given.value)));
        let mut body = Vec::new();
        if tool.method.has_body() {
            let (media, bytes) = encoded(tool.body_format, &rest);
            body = bytes;
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                headers.push(("content-type".into(), Secret(media.into())));
            }
        } else {
            append(&mut url, &rest);
        }
        if url.chars().count() > URL_MAX {
            return Err(refused(TOO_LONG));
        }
        let out = HttpOut {
            method: tool.method.word(),
            url,
            headers,
            body,
            timeout_ms: u64::from(tool.timeout) * 1_000,
            reply_bytes_max: TOOL_REPLY_BYTES_MAX,
            egress: Egress::User,
            redirects: Redirects::SameOrigin,
        };
        // What a variable fills in is shown with the call: only what the tool itself says is a secret.
        Self::bounded(out, secrets(tool.headers.iter().map(|header| (&*header.name, &*header.value.0))))
    }

    /// Takes a request whose headers are all the service's own; 502 if it exceeds [`TOOL_REQUEST_BYTES_MAX`].
    pub fn own(out: HttpOut) -> Result<Self, Halt> {
        let secrets = secrets(out.headers.iter().map(|(name, value)| (&**name, &*value.0)));
        Self::bounded(out, secrets)
    }

    fn bounded(out: HttpOut, secrets: Vec<Secret>) -> Result<Self, Halt> {
        if out.bytes() > TOOL_REQUEST_BYTES_MAX { Err(refused(TOO_LARGE)) } else { Ok(Self { out, secrets }) }
    }

    /// Returns the time that the endpoint has to answer, seconds.
    pub fn timeout_seconds(&self) -> u64 {
        self.out.timeout_ms / 1_000
    }

    /// Returns the work that makes the request.
    pub fn work(&self) -> Work {
        Work::Http(self.out.clone())
    }

    /// Returns the endpoint's answer; 504 if it was late, 502 if it could not be reached, with a sentence that names
    /// the URL.
    pub fn response(&self, answer: Answer) -> Result<HttpIn, Refusal> {
        let error = match answer {
            Answer::Http(answer) => return Ok(answer),
            other => other.send_error(),
        };
        let says = error.sentence(&self.out.url, self.out.timeout_ms);
        Err(if error == SendError::TimedOut { Refusal::GatewayTimeout(says) } else { Refusal::BadGateway(says) })
    }

    /// Returns the request as people see it.
    pub fn shown(&self) -> TestedRequest {
        let headers = self.out.headers.iter().map(|(name, value)| (name.clone(), self.masked(&value.0)));
        TestedRequest {
            method: self.out.method.into(),
            url: self.out.url.clone(),
            headers: Some(by_name(headers)),
            body: String::from_utf8_lossy(&self.out.body).into_owned(),
        }
    }

    /// Returns a text of the endpoint with the secrets of the request's headers masked.
    pub fn masked(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_string(), |text, secret| text.replace(&secret.0, MASK))
    }
}

/// Returns the words of header values that are secrets. A value may have placeholders, which end a word.
fn secrets<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Secret> {
    let closed = headers.filter(|(name, _)| !OPEN_HEADERS.iter().any(|open| name.eq_ignore_ascii_case(open)));
    let words = closed.flat_map(|(_, value)| {
        let filled = fill(value, value.len(), |_| None, |_| " ".to_string());
        let literal = filled.map_or_else(|FilledTooLong| value.to_string(), |filled| filled.text);
        literal.split_whitespace().map(ToString::to_string).collect::<Vec<_>>()
    });
    words.filter(|word| word.len() >= SECRET_BYTES_MIN).map(Secret).collect()
}

fn refused(says: &str) -> Halt {
    Refusal::BadGateway(says.to_string()).into()
}

/// Returns the fields that every request of the tool carries.
fn fixed(tool: &Tool) -> Members {
    let field = |field: &StaticField| (field.key.clone(), Value::Text(field.value.clone()));
    Members(tool.static_fields.iter().map(field).collect())
}

/// Writes the members of a body; returns its media type too.
fn encoded(format: Option<BodyFormat>, members: &Members) -> (&'static str, Vec<u8>) {
    if format != Some(BodyFormat::Form) {
        return ("application/json", members.to_json());
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in &members.0 {
        form.append_pair(name, &plain(value));
    }
    ("application/x-www-form-urlencoded", form.finish().into_bytes())
}

/// Returns the arguments that the schema names; others are not sent.
fn given(tool: &Tool, arguments: &Members) -> Vec<Given> {
    let names = tool.schema.iter().map(|parameter| &parameter.name);
    names
        .filter_map(|name| Some(Given { name: name.clone(), value: arguments.get(name)?.clone(), in_url: false }))
        .collect()
}

/// Returns the URL with `{parameter}` and `{{variable}}` filled in, percent-encoded; marks the arguments used in it.
fn address(endpoint: &str, given: &mut [Given], values: &Values) -> Result<String, &'static str> {
    let path_end = endpoint.find(['?', '#']).unwrap_or(endpoint.len());
    let encode = |text: &str| utf8_percent_encode(text, KEPT).to_string();
    let mut url = String::new();
    for (at, part) in [&endpoint[..path_end], &endpoint[path_end..]].into_iter().enumerate() {
        let value = |name: &str| Some(encode(&values.get(name).unwrap_or_default()));
        let known =
            fill(part, TOOL_REQUEST_BYTES_MAX, value, |_| String::new()).map_err(|FilledTooLong| TOO_LARGE)?.text;
        let filled = parameters(&known, |name| {
            let given = given.iter_mut().find(|given| given.name == name)?;
            given.in_url = true;
            Some(encode(&plain(&given.value)))
        });
        let filled = filled.map_err(|FilledTooLong| TOO_LARGE)?;
        // No value may form a dot segment, by itself or with the text around it (`%2e{city}`): the count of dot
        // segments must be that of harmless values.
        if at == 0 && part.contains('{') {
            let one = |_: &str| Some("x".to_string());
            let neutral = fill(part, TOOL_REQUEST_BYTES_MAX, one, |_| "x".to_string());
            let neutral =
                neutral.and_then(|neutral| parameters(&neutral.text, one)).map_err(|FilledTooLong| TOO_LARGE)?;
            if dot_segments(&filled) != dot_segments(&neutral) {
                return Err(DOTS);
            }
        }
        url.push_str(&filled);
    }
    Ok(url)
}

/// Counts the path segments that the URL parser takes for `.` or `..`, however they are spelled.
fn dot_segments(url: &str) -> usize {
    let is_one = |segment: &&str| {
        let parsed = Url::parse(&alloc::format!("http://a/x/{segment}/x")).ok();
        parsed.and_then(|url| Some(url.path_segments()?.count())) != Some(3)
    };
    url.split(['/', '\\']).skip(3).filter(is_one).count()
}

/// Replaces each `{name}` by its value, or by nothing if it has none.
fn parameters(text: &str, mut value: impl FnMut(&str) -> Option<String>) -> Result<String, FilledTooLong> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, after)) = inner.split_once('}') else {
            out.push('{');
            rest = inner;
            continue;
        };
        out.push_str(&value(name).unwrap_or_default());
        if out.len() > TOOL_REQUEST_BYTES_MAX {
            return Err(FilledTooLong);
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn append(url: &mut String, rest: &Members) {
    if rest.0.is_empty() {
        return;
    }
    let fragment = url.find('#').map(|at| url.split_off(at)).unwrap_or_default();
    let mut separator = if url.contains('?') { '&' } else { '?' };
    for (name, value) in &rest.0 {
        url.push(separator);
        url.push_str(&utf8_percent_encode(name, KEPT).to_string());
        url.push('=');
        url.push_str(&utf8_percent_encode(&plain(value), KEPT).to_string());
        separator = '&';
    }
    url.push_str(&fragment);
}

fn headers(tool: &Tool, values: &Values) -> Result<Vec<(String, Secret)>, &'static str> {
    let mut headers = Vec::new();
    let mut left = TOOL_REQUEST_BYTES_MAX;
    for ToolHeader { name, value, .. } in &tool.headers {
        let known = |name: &str| Some(values.get(name).unwrap_or_default());
        let value = fill(&value.0, left, known, |_| String::new()).map_err(|FilledTooLong| TOO_LARGE)?.text;
        left -= value.len();
        if value.bytes().any(|b| b < b' ' || b == 0x7f) {
            return Err(CONTROL);
        }
        headers.push((name.clone(), Secret(value)));
    }
    Ok(headers)
}

/// Adds a sample for each parameter without an argument, by its type: `"test"`, `1` or `true`.
pub fn samples(tool: &Tool, arguments: &Members) -> Members {
    let mut out = arguments.clone();
    for Parameter { name, r#type, .. } in &tool.schema {
        if out.get(name).is_none() {
            let sample = match r#type {
                ParameterType::String => Value::Text("test".into()),
                ParameterType::Number => Value::Number(JsonNumber::Unsigned(1)),
                ParameterType::Boolean => Value::Bool(true),
            };
            out.set(name, sample);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::record::Stored;
    use crate::time::Timestamp;
    use alloc::format;

    fn asked(tool: &str, arguments: &str) -> Result<HttpOut, Halt> {
        let tool = Tool::read(tool.as_bytes()).expect("a tool");
        let Ok(Value::Object(arguments)) = json::parse(arguments.as_bytes()) else { panic!("an object") };
        let mut values = Values::without_call("Etc/UTC", Timestamp::from_seconds(1_790_000_000));
        values.set("customer_phone", "+40 7");
        values.set("bad", "a\r\nb");
        ToolRequest::of(&tool, &arguments, &values).map(|asked| asked.out)
    }

    fn tool(method: &str, endpoint: &str, headers: &str) -> String {
        let parameter = |name: &str, kind: &str| format!(r#"{{"name":"{name}","type":"{kind}","description":"d"}}"#);
        let schema = [parameter("city", "string"), parameter("days", "number"), parameter("wet", "boolean")].join(",");
        let times = r#""created_at":"2026-09-21T00:00:00.000000Z","updated_at":"2026-09-21T00:00:00.000000Z""#;
        format!(
            r#"{{"id":1,"name":"t","description":"d","endpoint":"{endpoint}","method":"{method}","timeout":7,"headers":{headers},"schema":[{schema}],{times}}}"#
        )
    }

    #[test]
    fn parameters_reach_the_endpoint() {
        let all = r#"{"city":"Cluj Napoca/&","days":2,"wet":true,"other":1}"#;
        for (method, endpoint, arguments, url, body) in [
            ("GET", "https://a/w", all, "https://a/w?city=Cluj%20Napoca%2F%26&days=2&wet=true", ""),
            ("GET", "https://a/w?x=1#f", r#"{"days":2}"#, "https://a/w?x=1&days=2#f", ""),
            ("DELETE", "https://a/{city}/{days}", all, "https://a/Cluj%20Napoca%2F%26/2?wet=true", ""),
            ("POST", "https://a/{city}", r#"{"city":"x","wet":false}"#, "https://a/x", r#"{"wet":false}"#),
            ("PUT", "https://a/", "{}", "https://a/", "{}"),
            ("GET", "https://a/{other}/{city}", r#"{"other":"o"}"#, "https://a//", ""),
            ("GET", "https://a/?p={{customer_phone}}&q={{none}}", "{}", "https://a/?p=%2B40%207&q=", ""),
            ("PATCH", "https://a/{{current_date}}", r#"{"days":1.5}"#, "https://a/2026-09-21", r#"{"days":1.5}"#),
            ("GET", "https://a/x{city}", r#"{"city":".."}"#, "https://a/x..", ""),
            ("GET", "https://a/b/../%2e/{city}", r#"{"city":"x"}"#, "https://a/b/../%2e/x", ""),
        ] {
            let got = asked(&tool(method, endpoint, "[]"), arguments).expect(endpoint);
            assert_eq!((got.url.as_str(), core::str::from_utf8(&got.body)), (url, Ok(body)), "{method} {endpoint}");
        }
    }

    #[test]
    fn static_fields_and_forms() {
        let more =
            |method: &str, more: &str| tool(method, "https://a/{city}", "[]").replacen('{', &format!("{{{more},"), 1);
        let fields = r#""static_fields":[{"key":"k","value":"a b"},{"key":"x","value":"{{customer_phone}}"}]"#;
        let arguments = r#"{"city":"x","days":2}"#;
        let got = asked(&more("GET", fields), arguments).expect("a request");
        assert_eq!(got.url, "https://a/x?k=a%20b&x=%7B%7Bcustomer_phone%7D%7D&days=2", "placeholders stay");
        let got = asked(&more("POST", fields), arguments).expect("a request");
        assert_eq!(core::str::from_utf8(&got.body), Ok(r#"{"k":"a b","x":"{{customer_phone}}","days":2}"#));
        let form = format!("{fields},{}", r#""body_format":"form""#);
        let got = asked(&more("POST", &form), arguments).expect("a request");
        assert_eq!(core::str::from_utf8(&got.body), Ok("k=a+b&x=%7B%7Bcustomer_phone%7D%7D&days=2"));
        assert_eq!(got.headers[0].1.0, "application/x-www-form-urlencoded");
    }

    #[test]
    fn what_would_lead_elsewhere_stops_the_request() {
        for (endpoint, headers, arguments) in [
            ("https://a/{city}/x", "[]", r#"{"city":".."}"#),
            ("https://a/{city}", "[]", r#"{"city":"."}"#),
            ("https://a/w/%2e{city}/x", "[]", r#"{"city":"."}"#),
            ("https://a/w/{city}%2E/x", "[]", r#"{"city":"."}"#),
            ("https://a/w/{city}{wet}/x", "[]", r#"{"city":".","wet":"."}"#),
            ("https://a/w/.{city}", "[]", r#"{"city":""}"#),
            ("https://a/{x/y}/{city}", "[]", r#"{"city":".."}"#),
            (r"https://a/w\\{city}", "[]", r#"{"city":".."}"#),
            ("https://a/", r#"[{"name":"X-A","value":"{{bad}}"}]"#, "{}"),
        ] {
            let stopped = asked(&tool("GET", endpoint, headers), arguments);
            assert!(matches!(stopped, Err(Halt::Refuse(Refusal::BadGateway(_)))), "{endpoint}");
        }
        let long = format!(r#"{{"city":"{}"}}"#, "x".repeat(3_000));
        assert!(asked(&tool("GET", "https://a/{city}", "[]"), &long).is_err());
    }

    #[test]
    fn headers_are_filled_in() {
        let headers =
            r#"[{"name":"X-Phone","value":"p {{customer_phone}}{{none}}"},{"name":"Content-Type","value":"text/x"}]"#;
        let got = asked(&tool("POST", "https://a/", headers), "{}").expect("a request");
        let plain: Vec<_> = got.headers.iter().map(|(name, value)| (name.as_str(), value.0.as_str())).collect();
        assert_eq!(plain, [("X-Phone", "p +40 7"), ("Content-Type", "text/x")]);
    }
    #[test]
    fn secrets_of_headers_are_masked_in_what_the_endpoint_sends_back() {
        let headers = r#"[{"name":"Authorization","value":"Bearer sk_live_0123"},{"name":"X-Key","value":"key-of-ours{{customer_phone}}"},
            {"name":"Accept","value":"application/json"},{"name":"X-Short","value":"short"}]"#;
        let tool = Tool::read(tool("GET", "https://a/", headers).as_bytes()).expect("a tool");
        let values = Values::without_call("Etc/UTC", Timestamp::from_seconds(1_790_000_000));
        let asked = ToolRequest::of(&tool, &Members::default(), &values).expect("a request");
        for (text, want) in [
            ("Bearer sk_live_0123, key-of-ours+40", "Bearer ****, ****+40"),
            ("a short application/json", "a short application/json"),
        ] {
            assert_eq!(asked.masked(text), want);
        }
    }
}
