//! Built-in tools of an assistant: their records, and the two forms in which clients send them (docs/api.md, Built-in
//! tools).
//!
//! The members of a tool stand beside its `type` or inside `data`. The service keeps the first form, and repeats the
//! members in `data` for a tool that was sent with it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::mask;
use crate::json::{self, Members, ToJson, Value};
use crate::key::Kind;
use crate::limits::{ENTRIES_MAX, URL_MAX};
use crate::record::{
    ColumnType, Json, Ref, Secret, Table, TaggedUnion, any, boolean, choice, form_unless, format as form, id, int,
    list, require, text, texts,
};
use crate::{choice, record, tagged};

record! {
    /// Hands the call to a person.
    pub struct CallTransfer stored as "an assistant" {
        /// The number to transfer to, E.164; any text when `custom`.
        phone_number: String = text(1, 64).required(),
        /// Tells the model when to transfer the call.
        description: Option<String> = text(1, 1_000).sparse(),
        /// Whether the model may choose the number itself.
        custom: bool = boolean().or_bool(false),
        /// IANA time zone in which availability is judged.
        timezone: Option<String> = text(1, 64).form(&form::ZONE).sparse(),
        /// Whether the person is told about the call before the customer is handed over.
        warm_transfer: bool = boolean().or_bool(false),
        /// What the person is told in a warm transfer.
        warm_transfer_message: Option<String> = text(1, 1_000).sparse(),
        /// The members again, where the tool was sent with `data`.
        data: Option<Json> = any().sparse(),
    } rules {
        form_unless("phone_number", &form::E164, "custom", &["true"]),
    }
}

choice! {
    /// Which number a person sees during a warm transfer.
    pub enum CallerIdMode {
        /// That of `outbound_phone_id`.
        OutboundNumber = "outbound_number",
        /// The customer's.
        CustomerNumber = "customer_number",
        /// That of `custom_caller_id`.
        Custom = "custom",
    }
}

choice! {
    /// What the customer hears while waiting.
    pub enum HoldMusic {
        /// Music.
        Music = "hold_music",
        /// Silence.
        None = "none",
    }
}

record! {
    /// Calls a person, explains the call, and brings both together.
    pub struct WarmCallTransfer stored as "an assistant" {
        /// The person's number, E.164; a SIP address when `custom_sip`.
        supervisor_phone: String = text(1, 255).required(),
        /// The account's number that the person is called from.
        outbound_phone_id: Option<u64> = id().exists(Ref::Row(Kind::Number)).sparse(),
        /// Tells the model when to transfer the call.
        description: Option<String> = text(1, 1_000).sparse(),
        /// Whether `supervisor_phone` is a SIP address.
        custom_sip: bool = boolean().or_bool(false),
        /// Which number the person sees.
        caller_id_mode: CallerIdMode = choice::<CallerIdMode>().or_text("outbound_number"),
        /// Number that the person sees in `custom`.
        custom_caller_id: Option<String> = text(1, 64).sparse(),
        /// What the customer hears while waiting.
        hold_music: HoldMusic = choice::<HoldMusic>().or_text("hold_music"),
        /// Volume of the music, percent.
        hold_music_volume: u32 = int(0, 100).or_int(80),
        /// What the customer is told before waiting.
        hold_message: Option<String> = text(1, 1_000).sparse(),
        /// How the call is summarised for the person.
        summary_instructions: Option<String> = text(1, 1_000).sparse(),
        /// First sentence that the person hears.
        briefing_initial_message: Option<String> = text(1, 1_000).sparse(),
        /// What both hear once they are connected.
        connected_message: Option<String> = text(1, 1_000).sparse(),
        /// The members again, where the tool was sent with `data`.
        data: Option<Json> = any().sparse(),
    } rules {
        form_unless("supervisor_phone", &form::E164, "custom_sip", &["true"]),
        require("custom_caller_id", "caller_id_mode", &["custom"]),
    }
}

record! {
    /// Lets the model hang up.
    pub struct EndCall stored as "an assistant" {
        /// Tells the model when to end the call.
        description: Option<String> = text(1, 1_000).sparse(),
        /// The members again, where the tool was sent with `data`.
        data: Option<Json> = any().sparse(),
    }
}

record! {
    /// Lets the model send keypad tones.
    pub struct DtmfInput stored as "an assistant" {
        /// Tells the model when to send keypad tones, such as in menus.
        description: Option<String> = text(1, 1_000).sparse(),
        /// The members again, where the tool was sent with `data`.
        data: Option<Json> = any().sparse(),
    }
}

choice! {
    /// Key with which the customer ends the input.
    pub enum StopKey {
        /// The hash key.
        Hash = "#",
        /// The star key.
        Star = "*",
    }
}

record! {
    /// Collects digits that the customer types.
    pub struct CollectKeypad stored as "an assistant" {
        /// Tells the model when to ask for digits.
        description: Option<String> = text(1, 1_000).sparse(),
        /// Time without a key after which the input ends, seconds.
        timeout: u32 = int(1, 30).or_int(5),
        /// Key that ends the input.
        stop_key: StopKey = choice::<StopKey>().or_text("#"),
        /// The members again, where the tool was sent with `data`.
        data: Option<Json> = any().sparse(),
    }
}

record! {
    /// Hands the call to another assistant.
    pub struct AssistantTransfer stored as "an assistant" {
        /// The account's assistant that takes over; another one.
        assistant_id: u64 = id().exists(Ref::Row(Kind::Assistant)).required(),
        /// Tells the model when to hand over.
        description: Option<String> = text(1, 1_000).sparse(),
        /// What is said before the other assistant takes over.
        message_before_transfer: Option<String> = text(1, 1_000).sparse(),
        /// Whether the other assistant says its greeting.
        speak_transfer_greeting: bool = boolean().or_bool(false),
        /// The members again, where the tool was sent with `data`.
        data: Option<Json> = any().sparse(),
    }
}

choice! {
    /// Which installation of the calendar service is asked.
    pub enum CalendarEndpoint {
        /// The one in the United States; the operator may have set another.
        Us = "us",
        /// The one in the European Union.
        Eu = "eu",
        /// The one at `calcom_custom_endpoint`.
        Custom = "custom",
    }
}

record! {
    /// A further field of a booking.
    pub struct BookingField stored as "an assistant" {
        /// Name of the field at the calendar service.
        slug: String = text(1, 255).required(),
        /// Type of the field at the calendar service, such as `text` or `select`.
        r#type: Option<String> = text(1, 64).sparse(),
        /// What the model asks the customer for.
        label: Option<String> = text(1, 1_000).sparse(),
        /// Whether a booking needs it.
        required: bool = boolean().or_bool(false),
        /// The values to choose from; any value if empty.
        options: Vec<String> = texts(&OPTION, ENTRIES_MAX),
    }
}

/// Bounds of one value to choose from.
static OPTION: ColumnType = ColumnType::Text { min: 1, max: 255, format: None };

record! {
    /// Offers times and books them through an external calendar service.
    pub struct CalendarIntegration stored as "an assistant" {
        /// API key of the calendar service; shown masked.
        calendar_api_key: Secret = text(1, 255).alias(&["calcom_api_key"]).required(),
        /// Slug of the event to book at the calendar service.
        calendar_event_slug: String = text(1, 255).alias(&["calcom_event_slug"]).required(),
        /// Tells the model when to offer scheduling.
        description: Option<String> = text(1, 1_000).sparse(),
        /// Slug of the team whose event it is; not given: the key's owner.
        calcom_team_slug: Option<String> = text(1, 255).sparse(),
        /// Which installation of the calendar service is asked.
        calcom_endpoint: CalendarEndpoint = choice::<CalendarEndpoint>().or_text("us"),
        /// Its URL in `custom`.
        calcom_custom_endpoint: Option<String> = text(1, URL_MAX).form(&form::URL).sparse(),
        /// Further fields of a booking.
        calcom_booking_fields: Vec<BookingField> = list::<BookingField>(ENTRIES_MAX).unique("slug"),
        /// The members again, where the tool was sent with `data`.
        data: Option<Json> = any().sparse(),
    } rules {
        require("calcom_custom_endpoint", "calcom_endpoint", &["custom"]),
    }
}

tagged! {
    /// A built-in tool of an assistant, told apart by its `type`.
    pub enum BuiltInTool {
        /// Hands the call to a person.
        CallTransfer(CallTransfer) = "call_transfer",
        /// Calls a person, explains the call, and brings both together.
        WarmCallTransfer(WarmCallTransfer) = "warm_call_transfer",
        /// Hands the call to another assistant.
        AssistantTransfer(AssistantTransfer) = "assistant_transfer",
        /// Hangs up the call.
        EndCall(EndCall) = "end_call",
        /// Sends keypad tones, for menus.
        DtmfInput(DtmfInput) = "dtmf_input",
        /// Collects digits that the customer types.
        CollectKeypad(CollectKeypad) = "collect_keypad",
        /// Books through a calendar service.
        CalendarIntegration(CalendarIntegration) = "calendar_integration",
    }
}

impl BuiltInTool {
    /// Returns the members again, where the tool was sent with `data`.
    pub fn data(&mut self) -> &mut Option<Json> {
        match self {
            Self::CallTransfer(tool) => &mut tool.data,
            Self::WarmCallTransfer(tool) => &mut tool.data,
            Self::AssistantTransfer(tool) => &mut tool.data,
            Self::EndCall(tool) => &mut tool.data,
            Self::DtmfInput(tool) => &mut tool.data,
            Self::CollectKeypad(tool) => &mut tool.data,
            Self::CalendarIntegration(tool) => &mut tool.data,
        }
    }

    /// Returns whether the tool has a secret.
    pub const fn has_secret(&self) -> bool {
        matches!(self, Self::CalendarIntegration(_))
    }

    /// Returns the id of another row that the tool names.
    pub const fn reference(&self) -> Option<u64> {
        match self {
            Self::WarmCallTransfer(tool) => tool.outbound_phone_id,
            Self::AssistantTransfer(tool) => Some(tool.assistant_id),
            _ => None,
        }
    }

    /// Repeats the members in `data`, if the tool was sent with it.
    pub fn repeat(&mut self) {
        if self.data().take().is_some() {
            let members = members(self);
            *self.data() = Some(Json(Value::Object(members)));
        }
    }
}

/// Returns the members of a tool that stand beside its `type`.
fn members(tool: &BuiltInTool) -> Members {
    let Ok(Value::Object(mut members)) = json::parse(&tool.to_json()) else { return Members::default() };
    members.remove("type");
    members.remove("data");
    members
}

/// The form in which the tools of a body were sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SentForm {
    /// Whether each tool was sent with `data`; `None` if the body has no tools.
    with_data: Option<Vec<bool>>,
    /// What is wrong: fields and sentences.
    pub errors: Vec<(String, String)>,
}

impl SentForm {
    /// Marks the tools that were sent with `data`, or that were before, if the body has no tools.
    pub fn mark(&self, tools: &mut [BuiltInTool], before: &mut [BuiltInTool]) {
        let of_before = || before.iter_mut().map(|tool| tool.data().is_some()).collect();
        let with_data: Vec<bool> = self.with_data.clone().unwrap_or_else(of_before);
        for (tool, _) in tools.iter_mut().zip(with_data).filter(|(_, with_data)| *with_data) {
            *tool.data() = Some(Json(Value::Object(Members::default())));
        }
    }
}

/// Moves the members of each tool's `data` beside its `type`. A member that is given in both places counts where it
/// differs from the `stored` tool of the same place. Members that a tool does not have are errors.
pub fn flatten(supplied: &mut Members, stored: &[BuiltInTool]) -> SentForm {
    let mut form = SentForm::default();
    let Some((_, Value::List(tools))) = supplied.0.iter_mut().find(|(name, _)| name == "tools") else { return form };
    let mut with_data = Vec::with_capacity(tools.len());
    for (at, tool) in tools.iter_mut().enumerate() {
        let Value::Object(tool) = tool else {
            with_data.push(false);
            continue;
        };
        let data = tool.remove("data").filter(|data| *data != Value::Null);
        with_data.push(data.is_some());
        let Some((word, table)) = variant(tool) else { continue };
        let unknown = tool.0.iter().filter(|(name, _)| name != "type" && column(table, name).is_none());
        form.errors.extend(unknown.map(|(name, _)| not_known(&format!("tools.{at}.{name}"))));
        let before = stored.get(at).filter(|before| word_of(before) == word).map(shown);
        match data {
            Some(Value::Object(data)) => {
                merge(tool, data, &Place { at, table, before: before.as_ref() }, &mut form.errors);
            }
            Some(Value::List(empty)) if empty.is_empty() => {}
            Some(_) => {
                let field = format!("tools.{at}.data");
                let says = format!("The {field} field must be an object.");
                form.errors.push((field, says));
            }
            None => {}
        }
    }
    form.with_data = Some(with_data);
    form
}

/// Where a tool stands in the list, its columns, and the stored tool of the same place as answers show it.
struct Place<'p> {
    at: usize,
    table: &'static Table,
    before: Option<&'p Members>,
}

fn merge(tool: &mut Members, data: Members, place: &Place<'_>, errors: &mut Vec<(String, String)>) {
    for (name, value) in data.0 {
        let field = format!("tools.{}.data.{name}", place.at);
        let Some(column) = column(place.table, &name) else {
            errors.push(not_known(&field));
            continue;
        };
        let flat = tool.0.iter_mut().find(|(name, _)| column.is_named(name)).map(|(_, flat)| flat);
        let stored = place.before.and_then(|before| before.get(column.name));
        match flat {
            None => tool.set(column.name, value),
            Some(flat) if *flat == value || stored == Some(&value) => {}
            Some(flat) if stored == Some(&*flat) => *flat = value,
            Some(_) => {
                let says = format!("The {} field differs from that of the tool itself.", field.replace('_', " "));
                errors.push((field, says));
            }
        }
    }
}

fn not_known(field: &str) -> (String, String) {
    (field.to_owned(), format!("The {} field is not known.", field.replace('_', " ")))
}

fn variant(tool: &Members) -> Option<(&'static str, &'static Table)> {
    let word = tool.get("type")?.as_text()?;
    BuiltInTool::VARIANTS.iter().find(|(name, _)| *name == word).copied()
}

/// Returns the column of a member; `data` is none of a tool's own members.
fn column(table: &'static Table, name: &str) -> Option<&'static crate::record::Column> {
    table.columns.iter().find(|column| column.is_named(name) && column.name != "data")
}

fn word_of(tool: &BuiltInTool) -> String {
    let Ok(tool) = json::parse(&tool.to_json()) else { return String::new() };
    tool.member("type").and_then(Value::as_text).map(ToString::to_string).unwrap_or_default()
}

/// Returns the members of a stored tool as answers show them, secrets masked.
fn shown(tool: &BuiltInTool) -> Members {
    let mut masked = mask::tools(Vec::from([tool.clone()]));
    masked.pop().map(|tool| members(&tool)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str, stored: &[BuiltInTool]) -> (String, SentForm) {
        let Ok(Value::List(tools)) = json::parse(text.as_bytes()) else { panic!("{text}") };
        let mut supplied = Members::default();
        supplied.set("tools", Value::List(tools));
        let form = flatten(&mut supplied, stored);
        let tools = supplied.remove("tools").expect("tools");
        (String::from_utf8(tools.to_json()).expect("UTF-8"), form)
    }

    fn fields(form: &SentForm) -> Vec<&str> {
        form.errors.iter().map(|(field, _)| field.as_str()).collect()
    }

    #[test]
    fn data_is_moved_beside_the_type() {
        let (tools, form) = flat(
            r#"[{"type":"end_call","data":{"description":"Bye"}},{"type":"end_call","data":[]},{"type":"end_call"}]"#,
            &[],
        );
        assert_eq!(tools, r#"[{"type":"end_call","description":"Bye"},{"type":"end_call"},{"type":"end_call"}]"#);
        assert_eq!(form, SentForm { with_data: Some([true, true, false].into()), errors: Vec::new() });
        let (tools, form) =
            flat(r#"[{"type":"calendar_integration","calcom_api_key":"k","data":{"calendar_api_key":"k"}}]"#, &[]);
        assert_eq!(
            (tools.as_str(), fields(&form).len()),
            (r#"[{"type":"calendar_integration","calcom_api_key":"k"}]"#, 0)
        );
    }

    #[test]
    fn of_two_values_the_one_that_differs_from_the_stored_one_counts() {
        let stored = BuiltInTool::EndCall(EndCall {
            description: Some("Old".into()),
            data: None,
            rest: crate::record::Rest::default(),
        });
        let sent = |flat: &str, data: &str| {
            format!(r#"[{{"type":"end_call","description":"{flat}","data":{{"description":"{data}"}}}}]"#)
        };
        let one = |text: &str| format!(r#"[{{"type":"end_call","description":"{text}"}}]"#);
        let stored = core::slice::from_ref(&stored);
        for (outer, inner, want) in [("Old", "New", "New"), ("New", "Old", "New"), ("New", "New", "New")] {
            let (tools, form) = flat(&sent(outer, inner), stored);
            assert_eq!((tools, fields(&form)), (one(want), Vec::new()), "{outer} {inner}");
        }
        assert_eq!(fields(&flat(&sent("One", "Other"), stored).1), ["tools.0.data.description"]);
        assert_eq!(fields(&flat(&sent("Old", "New"), &[]).1), ["tools.0.data.description"]);
    }

    #[test]
    fn what_a_tool_does_not_have_is_an_error() {
        let (_, form) = flat(
            r#"[{"type":"end_call","speed":1,"data":{"volume":2,"type":"x"}},{"type":"end_call","data":"x"},{"type":"no","a":1},7]"#,
            &[],
        );
        assert_eq!(fields(&form), ["tools.0.speed", "tools.0.data.volume", "tools.0.data.type", "tools.1.data"]);
        assert_eq!(form.errors[0].1, "The tools.0.speed field is not known.");
    }
}
