//! A claimed call, reduced to what a script needs.
//!
//! The claim (docs/api.md, The claimed assistant) carries the call object and the assistant with all its members. A
//! member that is missing or of another type counts as absent, so that a newer service can still be served.

use serde_json::{Map, Value};

/// Longest spoken line, characters; the rest is cut off.
pub const SPOKEN_CHARS_MAX: usize = 2_000;
/// Custom tools of one call that are used; the rest are ignored.
const TOOLS_MAX: usize = 50;
/// Functions that the engine executes itself, without a request to a tool's endpoint.
const BUILT_IN: [&str; 7] = [
    "call_transfer",
    "warm_call_transfer",
    "assistant_transfer",
    "end_call",
    "dtmf_input",
    "collect_keypad",
    "calendar_integration",
];

/// A call as its script sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallInfo {
    /// Id of the call, above 0.
    pub id: u64,
    /// Number of the first event that the service expects.
    pub next_seq: u64,
    /// `outbound`, `inbound` or `web`.
    pub kind: String,
    /// The customer's number, E.164; `None` where the claim has none.
    pub customer_phone: Option<String>,
    /// When the call was made, `YYYY-MM-DD HH:MM:SS`; empty where the claim does not say.
    pub created_at: String,
    /// Variables of the assistant, overridden by those of the call.
    pub variables: Map<String, Value>,
    /// Settings of the assistant that conducts the call.
    pub assistant: AssistantInfo,
}

/// The assistant's settings that a script needs.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own, with its name on the wire")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssistantInfo {
    /// Name of the assistant, `the assistant` where it has none.
    pub name: String,
    /// First line of the assistant; empty where it has none.
    pub greeting: String,
    /// Whether the customer speaks first.
    pub wait_for_customer: bool,
    /// Longest call, seconds, at most 1,200; 600 where the claim does not say.
    pub max_duration_seconds: u32,
    /// How long it rings unanswered, seconds, at most 60; 30 where the claim does not say.
    pub ringing_seconds: u32,
    /// Whether the call is recorded.
    pub record: bool,
    /// Whether the assistant hangs up on voicemail; true where the claim does not say.
    pub end_call_on_voicemail: bool,
    /// Message left on voicemail; `None` leaves none.
    pub voice_mail_message: Option<String>,
    /// Target of transfers; `None` without a `call_transfer` tool.
    pub transfer: CallTarget,
    /// Whether it has the `end_call` tool, to end the call itself.
    pub ends_calls: bool,
    /// Whether it has the `dtmf_input` tool, to send keypad tones.
    pub sends_tones: bool,
    /// Custom tools, at most 50.
    pub tools: Vec<Function>,
    /// Knowledge besides its prompt.
    pub knowledge: Knowledge,
    /// Entries of `post_call_schema`, extracted after the call.
    pub extracts: Vec<ExtractField>,
}

/// Where an assistant may transfer a call to.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CallTarget {
    /// Nowhere: there is no `call_transfer` tool.
    #[default]
    None,
    /// The number of the `call_transfer` tool, E.164.
    To(String),
    /// Any number: the tool is `custom` and has none of its own.
    Custom,
}

/// Knowledge of an assistant besides its prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Knowledge {
    /// No knowledgebase and no text.
    #[default]
    None,
    /// A knowledgebase that is searched during the call.
    Search,
    /// A text that came with the call.
    Text(String),
}

/// A custom tool that the service calls for the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Name of the tool: ASCII letters, digits and `_`.
    pub name: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// An entry of `post_call_schema`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractField {
    /// Name of the extracted variable.
    pub name: String,
    /// `string`, `number` or `bool`.
    pub kind: String,
    /// What to extract, as the assistant's author describes it; may be empty.
    pub description: String,
}

impl CallInfo {
    /// Reads one entry of a claim; `None` when the call has no id.
    pub fn read(claimed: &Value) -> Option<Self> {
        let (call, assistant) = (&claimed["call"], &claimed["assistant"]);
        let mut variables = object(&assistant["variables"]);
        variables.extend(object(&call["variables"]));
        Some(Self {
            id: call["id"].as_u64().filter(|id| *id > 0)?,
            next_seq: claimed["next_seq"].as_u64().unwrap_or(1).max(1),
            kind: text(&call["type"]).unwrap_or_else(|| "outbound".into()),
            customer_phone: text(&call["client_phone_number"]),
            created_at: text(&call["created_at"]).unwrap_or_default(),
            assistant: AssistantInfo::read(assistant, &variables),
            variables,
        })
    }

    /// Returns the last four digits of the customer's number; `None` if it has fewer.
    pub fn last_digits(&self) -> Option<u16> {
        let digits: Vec<char> = self.customer_phone.as_deref()?.chars().filter(char::is_ascii_digit).collect();
        let last = digits.len().checked_sub(4)?;
        digits[last..].iter().collect::<String>().parse().ok()
    }
}

impl AssistantInfo {
    fn read(from: &Value, variables: &Map<String, Value>) -> Self {
        let built_in = |kind: &str| list(&from["tools"]).iter().find(|tool| tool["type"] == kind);
        let say = |member: &Value| text(member).map(|line| spoken(&line, variables)).filter(|line| !line.is_empty());
        Self {
            name: text(&from["name"]).map_or_else(|| "the assistant".into(), |name| spoken(&name, variables)),
            greeting: say(&from["greeting"]).or_else(|| say(&from["initial_message"])).unwrap_or_default(),
            wait_for_customer: flag(&from["wait_for_customer"], false),
            max_duration_seconds: seconds(&from["max_duration"], 600, 1_200),
            ringing_seconds: seconds(&from["ringing_time"], 30, 60),
            record: flag(&from["record"], false),
            end_call_on_voicemail: flag(&from["end_call_on_voicemail"], true),
            voice_mail_message: say(&from["voice_mail_message"]),
            transfer: built_in("call_transfer").map_or(CallTarget::None, |tool| {
                text(&tool["phone_number"]).map_or(CallTarget::Custom, CallTarget::To)
            }),
            ends_calls: built_in("end_call").is_some(),
            sends_tones: built_in("dtmf_input").is_some(),
            tools: tools(from),
            knowledge: knowledge(from),
            extracts: extracts(&from["post_call_schema"]),
        }
    }
}

/// Returns the custom tools, at most as many as are attached, without the built-in ones.
fn tools(assistant: &Value) -> Vec<Function> {
    let attached = assistant["tool_ids"].as_array().map_or(TOOLS_MAX, Vec::len).min(TOOLS_MAX);
    let named = |function: &Value| {
        // The name becomes part of a URL path.
        let plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = text(&function["name"]).filter(plain).filter(|name| !BUILT_IN.contains(&name.as_str()))?;
        Some(Function { name, parameters: function["parameters"].clone() })
    };
    list(&assistant["functions"]).iter().filter_map(named).take(attached).collect()
}

fn knowledge(assistant: &Value) -> Knowledge {
    match text(&assistant["knowledge"]) {
        Some(text) => Knowledge::Text(text),
        None if assistant["knowledgebase_id"].is_u64() => Knowledge::Search,
        None => Knowledge::None,
    }
}

fn extracts(schema: &Value) -> Vec<ExtractField> {
    let entry = |entry: &Value| {
        let description = text(&entry["description"]).unwrap_or_default();
        Some(ExtractField { name: text(&entry["name"])?, kind: text(&entry["type"])?, description })
    };
    list(schema).iter().filter_map(entry).collect()
}

/// Returns a line as it can be spoken: placeholders filled, unknown ones removed, cut to [`SPOKEN_CHARS_MAX`].
pub fn spoken(line: &str, variables: &Map<String, Value>) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else {
            rest = after;
            continue;
        };
        match variables.get(name.trim()) {
            Some(Value::String(value)) => out.push_str(value),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => out.push_str(&value.to_string()),
            _ => {}
        }
        rest = behind;
    }
    out.push_str(rest);
    // A value may itself contain braces; replacing them with a space forms no new pair.
    let out = out.replace("{{", " ").replace("}}", " ");
    out.trim().chars().take(SPOKEN_CHARS_MAX).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(String::from)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Reads a boolean, also in its stored form of 1 and 0; `absent` for anything else.
fn flag(value: &Value, absent: bool) -> bool {
    value.as_bool().or_else(|| value.as_u64().map(|number| number != 0)).unwrap_or(absent)
}

fn seconds(value: &Value, absent: u32, most: u32) -> u32 {
    value.as_u64().and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(absent).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_be_spoken() {
        let variables = object(&json!({ "a": "A", "n": 7, "yes": true, "odd": "{{a}}", "list": [1] }));
        for (line, expected) in [
            ("no placeholder", "no placeholder"),
            ("{{a}} and {{ n }}, {{yes}}", "A and 7, true"),
            ("x{{unknown}}y{{list}}z", "xyz"),
            ("  {{a}}  ", "A"),
            ("open {{a", "open a"),
            ("{{a}} }} {{", "A"),
            ("{{odd}}", "a"),
            ("{}}{", "{ {"),
            ("{{{a}}}", "}"),
            ("", ""),
        ] {
            assert_eq!(spoken(line, &variables), expected, "{line:?}");
        }
        assert_eq!(spoken(&"ä".repeat(3_000), &variables).chars().count(), SPOKEN_CHARS_MAX);
    }

    #[test]
    fn the_digits_that_choose() {
        for (phone, expected) in [
            (Some("+12025550007"), Some(7)),
            (Some("+1 202 555 00 12"), Some(12)),
            (Some("0004"), Some(4)),
            (Some("+12"), None),
            (Some("unknown"), None),
            (None, None),
        ] {
            let call = CallInfo { customer_phone: phone.map(String::from), ..CallInfo::default() };
            assert_eq!(call.last_digits(), expected, "{phone:?}");
        }
    }

    #[test]
    fn members_of_other_types_count_as_not_given() {
        let odd = json!({
            "call": { "id": 1, "type": 4, "client_phone_number": {}, "variables": [] },
            "assistant": { "name": 1, "max_duration": "long", "tools": {}, "functions": "x", "post_call_schema": 3,
                "record": "yes", "knowledgebase_id": "5", "tool_ids": null },
        });
        let call = CallInfo::read(&odd).expect("it has an id");
        assert_eq!((call.kind.as_str(), call.assistant.max_duration_seconds), ("outbound", 600));
        assert_eq!((call.assistant.record, &call.assistant.knowledge), (false, &Knowledge::None));
        let large = json!({ "call": { "id": 1 }, "assistant": { "max_duration": u64::MAX, "ringing_time": 0 } });
        let call = CallInfo::read(&large).expect("it has an id");
        assert_eq!((call.assistant.max_duration_seconds, call.assistant.ringing_seconds), (600, 1));
    }
}
