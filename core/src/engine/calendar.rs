//! `calendar_integration` (docs/api.md, Creating an assistant): free times are offered and booked through Cal.com's
//! public API (version 2). The service makes the requests itself, so that nobody else gets the calendar's key.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::assistant::built_in::{BookingField, BuiltInTool, CalendarEndpoint, CalendarIntegration};
use crate::assistant::rows::tools;
use crate::assistant::tables::Assistant;
use crate::http::ctx::Ctx;
use crate::http::refusal::Halt;
use crate::json::{self, Members, Object, Value};
use crate::limits::TOOL_REPLY_BYTES_MAX;
use crate::outside::{Answer, Egress, HttpIn, HttpOut, Redirects};
use crate::record::Secret;
use crate::store::Row;
use crate::tool::{FunctionParameter, ToolRequest, Values, function_of, plain, schema_of};
use crate::view::Stop;

/// Timeout of one request, seconds; each function makes two.
const TIMEOUT_SECONDS: u64 = 10;
const SLOTS: &str = "calendar_slots";
const BOOK: &str = "calendar_book";

/// Calendar of an assistant, and whether it is to be read or booked.
pub struct Calendar {
    tool: CalendarIntegration,
    timezone: String,
    books: bool,
}

/// URL of the installation in the European Union.
const EU_URL: &str = "https://api.cal.eu";

/// Returns the functions that a model may call if the assistant has a calendar.
pub fn functions(tool: &CalendarIntegration) -> [Value; 2] {
    let about = tool.description.as_deref().unwrap_or("Schedules an appointment.");
    let days = [
        ("start_date", "string", "The first day to look at, YYYY-MM-DD"),
        ("end_date", "string", "The last day to look at, YYYY-MM-DD"),
    ];
    let booking = [
        ("start", "string", "The start of a free time, as it was offered"),
        ("name", "string", "The customer's name"),
        ("email", "string", "The customer's e-mail address"),
    ];
    [
        schema_of(SLOTS, &alloc::format!("{about} Lists the times that are free."), &days),
        function_of(
            BOOK,
            &alloc::format!("{about} Books a free time."),
            booking
                .into_iter()
                .map(FunctionParameter::required)
                .chain(tool.calcom_booking_fields.iter().map(asked_for)),
        ),
    ]
}

/// Returns the parameter for a further field of a booking.
fn asked_for(field: &BookingField) -> FunctionParameter<'_> {
    let description = field.label.as_deref().unwrap_or(&field.slug);
    FunctionParameter {
        name: &field.slug,
        kind: "string",
        description,
        options: &field.options,
        required: field.required,
    }
}

impl Calendar {
    /// Returns the calendar for a function's name, if the assistant has one.
    pub fn of(assistant: &Row, name: &str) -> Result<Option<Self>, Stop> {
        if ![SLOTS, BOOK].contains(&name) {
            return Ok(None);
        }
        let timezone = Assistant::MEMBERS.timezone.read(&assistant.public)?;
        let calendar = tools(assistant)?.into_iter().find_map(|tool| match tool {
            BuiltInTool::CalendarIntegration(calendar) => Some(calendar),
            _ => None,
        });
        Ok(calendar.map(|tool| Self { tool, timezone, books: name == BOOK }))
    }

    /// Returns the function, as the model knows it.
    pub fn function(&self) -> Value {
        let [slots, book] = functions(&self.tool);
        if self.books { book } else { slots }
    }

    /// Returns the timeout of both requests together, seconds.
    pub const fn timeout_seconds() -> u64 {
        2 * TIMEOUT_SECONDS
    }

    /// Asks for the calendar's owner, then for its free times or a booking; returns the last request and its answer.
    pub fn ask(&self, ctx: &Ctx<'_>, arguments: &Members, values: &Values) -> Result<(ToolRequest, Answer), Halt> {
        let base = self.base(&ctx.setup.config.calendar_url);
        let asked = ToolRequest::own(self.request("GET", alloc::format!("{base}/v2/me"), "2024-06-14", Vec::new()))?;
        let me = ctx.ask(|| asked.work())?;
        let Some(username) = username(&me) else { return Ok((asked, me)) };
        let given = |name: &str| arguments.get(name).map(plain).or_else(|| values.get(name)).unwrap_or_default();
        let asked = if self.books { self.booking(base, &username, given) } else { self.slots(base, &username, given) };
        let asked = ToolRequest::own(asked)?;
        let answer = ctx.ask(|| asked.work())?;
        Ok((asked, answer))
    }

    /// Returns the URL of the installation that is asked; `us` is the operator's.
    fn base<'s>(&'s self, us: &'s str) -> &'s str {
        let url = match self.tool.calcom_endpoint {
            CalendarEndpoint::Us => us,
            CalendarEndpoint::Eu => EU_URL,
            CalendarEndpoint::Custom => self.tool.calcom_custom_endpoint.as_deref().unwrap_or(us),
        };
        url.trim_end_matches('/')
    }

    fn slots(&self, base: &str, username: &str, given: impl Fn(&str) -> String) -> HttpOut {
        let (owner, name) = self.owner(username);
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("eventTypeSlug", &self.tool.calendar_event_slug)
            .append_pair(owner, name)
            .append_pair("start", &given("start_date"))
            .append_pair("end", &given("end_date"))
            .append_pair("timeZone", &self.timezone)
            .finish();
        self.request("GET", alloc::format!("{base}/v2/slots?{query}"), "2024-09-04", Vec::new())
    }

    /// Returns whose event it is: the team's, or the user's.
    fn owner<'s>(&'s self, username: &'s str) -> (&'static str, &'s str) {
        self.tool.calcom_team_slug.as_deref().map_or(("username", username), |team| ("teamSlug", team))
    }

    fn booking(&self, base: &str, username: &str, given: impl Fn(&str) -> String) -> HttpOut {
        let mut attendee = Vec::new();
        let mut object = Object::open(&mut attendee);
        object.member("name", given("name")).member("email", given("email")).member("timeZone", &self.timezone);
        object.close();
        let mut body = Vec::new();
        let mut object = Object::open(&mut body);
        let (owner, name) = self.owner(username);
        object.member("eventTypeSlug", &self.tool.calendar_event_slug).member(owner, name);
        object.member("start", given("start")).member("attendee", json::Raw(&attendee));
        let fields = self.tool.calcom_booking_fields.iter().map(|field| (field.slug.clone(), given(&field.slug)));
        let fields: Vec<_> = fields.filter(|(_, value)| !value.is_empty()).collect();
        if !fields.is_empty() {
            let fields = fields.into_iter().map(|(slug, value)| (slug, Value::Text(value)));
            object.member("bookingFieldsResponses", Value::Object(Members(fields.collect())));
        }
        object.close();
        self.request("POST", alloc::format!("{base}/v2/bookings"), "2024-08-13", body)
    }

    fn request(&self, method: &'static str, url: String, version: &str, body: Vec<u8>) -> HttpOut {
        let mut headers = Vec::from([
            ("authorization".to_string(), Secret(alloc::format!("Bearer {}", self.tool.calendar_api_key.0))),
            ("cal-api-version".to_string(), Secret(version.into())),
        ]);
        if !body.is_empty() {
            headers.push(("content-type".to_string(), Secret("application/json".into())));
        }
        HttpOut {
            method,
            url,
            headers,
            body,
            timeout_ms: TIMEOUT_SECONDS * 1_000,
            reply_bytes_max: TOOL_REPLY_BYTES_MAX,
            // A URL from the assistant is the user's; only that of the configuration is the operator's.
            egress: if self.tool.calcom_endpoint == CalendarEndpoint::Us { Egress::Operator } else { Egress::User },
            redirects: Redirects::None,
        }
    }
}

fn username(me: &Answer) -> Option<String> {
    let Answer::Http(HttpIn { status: 200, body, .. }) = me else { return None };
    let value = json::parse(body).ok()?;
    value.member("data")?.member("username")?.as_text().map(ToString::to_string)
}
