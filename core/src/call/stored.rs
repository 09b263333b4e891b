//! A call as it is kept: what the API shows, and behind it what its engine and its clocks need.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::states::{CallEvent, MOVES};
use super::tables::{Call, CallStatus, CallType};
use crate::collection::Facet;
use crate::id;
use crate::json::{self, Members, Number, Object, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::{COLLECTED_BYTES_MAX, VARIABLES_MAX};
use crate::record::Choice;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// What is said of a call whose row cannot be read.
pub const DAMAGED: Stop = Stop::Corrupt("a call has an unknown form");

/// The filters of calls.
pub(super) mod tag {
    pub const STATUS: u8 = 1;
    pub const TYPE: u8 = 2;
    pub const PHONE: u8 = 3;
    pub const ASSISTANT: u8 = 4;
    pub const CAMPAIGN: u8 = 5;
    pub const ENGAGED: u8 = 6;
    pub const LINE: u8 = 7;
}

/// Calls that an engine has: what a plan's `parallel_calls` counts.
pub fn facet_of_engaged() -> Facet {
    Facet::new(tag::ENGAGED, b"")
}

/// Running calls of a campaign, queued ones among them: what its `max_calls_in_parallel` counts.
pub fn facet_of_line(campaign: u32) -> Facet {
    Facet::id(tag::LINE, campaign)
}

/// What the API does not show of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// The engine that has it, by its token; 0 is the one inside the program.
    pub engine: Option<u32>,
    /// Until when it is that engine's.
    pub lease: Option<Timestamp>,
    /// The engine's last sequence number.
    pub seq: u32,
    /// The service's own count of events.
    pub events: u32,
    /// When it began to ring.
    pub ringing_at: Option<Timestamp>,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// The time of its last event.
    pub last_at: Timestamp,
    /// How long it may ring, seconds.
    pub ringing_time: u32,
    /// How long it may last, seconds.
    pub max_duration: u32,
    /// Bytes of transcript that were kept.
    pub transcript_bytes: usize,
    /// Since when its engine is told to hang up.
    pub hangup_at: Option<Timestamp>,
    /// Of a call to a secondary contact: the lead that it is for, by count.
    pub main: Option<u32>,
    /// What it was given.
    pub input: Members,
    /// What it collected, and what was extracted from it.
    pub extracted: Members,
    /// What its engine makes of it.
    pub analysis: Option<Value>,
    /// Tries of the work after it.
    pub tries: u32,
    /// What was taken off the balance for it, millionths of a dollar.
    pub charged_micros: i64,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its count.
    pub count: u32,
    /// What the API shows.
    pub shown: Members,
    /// What it does not show.
    pub live: Live,
    before: Row,
}

impl Stored {
    /// A call of the account.
    pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Call, count)?.map(|row| Self::of(count, row)).transpose()
    }

    /// One whose row is at hand.
    pub(super) fn of(count: u32, row: Row) -> Result<Self, Stop> {
        let shown = row.members(DAMAGED)?;
        let live = if row.private.is_empty() { Live::default() } else { Live::read(&row.private).ok_or(DAMAGED)? };
        Ok(Self { count, shown, live, before: row })
    }

    /// Enters a new call.
    pub fn enter(account: Scope<'_>, count: u32, shown: &Call, live: &Live, at: Timestamp) -> Result<(), Stop> {
        let filed = Filed {
            status: shown.status,
            kind: shown.r#type.word(),
            assistant: id::count(shown.assistant_id),
            phone: shown.client_phone_number.as_deref(),
            campaign: shown.campaign_id.map(id::count),
            engine: live.engine,
        };
        let row = Row { facets: filed.facets(), public: shown.to_json(), private: live.to_json() };
        account.insert(Kind::Call, count, at, &row)
    }

    /// Writes it back.
    pub fn save(&mut self, account: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
        self.shown.set("updated_at", Value::Text(now.sql()));
        let row = self.row()?;
        account.replace(Kind::Call, self.count, &self.before, &row)?;
        self.before = row;
        Ok(())
    }

    fn row(&self) -> Result<Row, Stop> {
        Ok(Row { facets: self.facets()?, public: self.shown.to_json(), private: self.live.to_json() })
    }

    fn facets(&self) -> Result<Vec<Facet>, Stop> {
        let filed = Filed {
            status: self.status()?,
            kind: self.text("type").ok_or(DAMAGED)?,
            assistant: id::count(self.number("assistant_id").ok_or(DAMAGED)?),
            phone: self.text("client_phone_number"),
            campaign: self.campaign(),
            engine: self.live.engine,
        };
        Ok(filed.facets())
    }

    /// Where it stands.
    pub fn status(&self) -> Result<CallStatus, Stop> {
        self.text("status").and_then(CallStatus::of).ok_or(DAMAGED)
    }

    /// How it came about.
    pub fn kind(&self) -> Result<CallType, Stop> {
        self.text("type").and_then(CallType::of).ok_or(DAMAGED)
    }

    /// Moves it, if its state allows that.
    pub fn moved(&mut self, event: CallEvent) -> Result<bool, Stop> {
        let Some(next) = MOVES.next(self.status()?, event) else { return Ok(false) };
        self.shown.set("status", Value::Text(next.word().into()));
        Ok(true)
    }

    /// A text that the API shows.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.shown.get(name).and_then(Value::as_text)
    }

    /// A whole number that the API shows.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.shown.get(name).and_then(Value::as_u64)
    }

    /// Its assistant, by count.
    pub fn assistant(&self) -> u32 {
        id::count(self.number("assistant_id").unwrap_or(0))
    }

    /// Its campaign, by count.
    pub fn campaign(&self) -> Option<u32> {
        self.number("campaign_id").map(id::count)
    }

    /// Its lead, by count.
    pub fn lead(&self) -> Option<u32> {
        self.number("lead_id").map(id::count)
    }

    /// When it was made.
    pub fn created_at(&self) -> Result<Timestamp, Stop> {
        self.text("created_at").and_then(Timestamp::parse_sql).ok_or(DAMAGED)
    }

    /// Adds variables that were collected or extracted; the later one wins. What would make more of them than
    /// [`VARIABLES_MAX`], or more bytes than [`COLLECTED_BYTES_MAX`], is left out.
    pub fn collect(&mut self, variables: &Members) {
        let member = |name: &str, value: &Value| name.to_json().len() + value.to_json().len() + 2;
        let mut bytes: usize = self.live.extracted.0.iter().map(|(name, value)| member(name, value)).sum();
        for (name, value) in &variables.0 {
            let before = self.live.extracted.get(name);
            let after = bytes - before.map_or(0, |before| member(name, before)) + member(name, value);
            let is_many = before.is_none() && self.live.extracted.0.len() >= VARIABLES_MAX;
            if !is_many && after <= COLLECTED_BYTES_MAX {
                self.live.extracted.set(name, value.clone());
                bytes = after;
            }
        }
        let mut all = self.live.input.clone();
        self.live.extracted.0.iter().for_each(|(name, value)| all.set(name, value.clone()));
        self.shown.set("variables", Value::Object(all));
    }

    /// Writes an event down under the service's own count.
    pub fn note(&mut self, account: Scope<'_>, at: Timestamp, name: &str, rest: &Members) -> Result<(), Stop> {
        self.live.note(account, self.count, at, name, rest)
    }

    /// What was said, in order.
    pub fn transcript(&self, account: Scope<'_>) -> Result<Vec<Line>, Stop> {
        /// A call has up to 10,000 events: only those that say so are read as JSON. Their type stands behind number and
        /// time, before anything that an engine wrote.
        const TYPE: &[u8] = b"\"type\":\"transcript\"";
        const HEAD_BYTES: usize = 96;
        let mut lines = Vec::new();
        for (_, bytes) in account.scan(
            key::call_events(account.space(), self.count, 0),
            Order::Ascending,
            self.live.events as usize,
        )? {
            if !bytes[..bytes.len().min(HEAD_BYTES)].windows(TYPE.len()).any(|window| window == TYPE) {
                continue;
            }
            let event = json::parse(&bytes).map_err(|_| DAMAGED)?;
            let text = |name: &str| event.member(name).and_then(Value::as_text);
            if text("type") != Some("transcript") {
                continue;
            }
            let at = text("at").and_then(Timestamp::parse_iso).ok_or(DAMAGED)?;
            lines.push(Line { bot: text("sender") == Some("bot"), text: text("text").ok_or(DAMAGED)?.to_string(), at });
        }
        Ok(lines)
    }
}

/// Keeps the answer of a call's webhook.
pub fn answered_webhook(account: Scope<'_>, count: u32, answer: Value, now: Timestamp) -> Result<(), Stop> {
    let Some(mut call) = Stored::find(account, count)? else { return Ok(()) };
    call.shown.set("webhook_response", answer);
    call.save(account, now)
}

/// A line of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whether the assistant said it.
    pub bot: bool,
    /// What was said.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// A transcript as text: "AI: …" and "Customer: …", a line each.
pub fn formatted(lines: &[Line]) -> String {
    let said = lines.iter().map(|line| alloc::format!("{}: {}", if line.bot { "AI" } else { "Customer" }, line.text));
    said.collect::<Vec<_>>().join("\n")
}

/// What lists of calls filter by.
struct Filed<'c> {
    status: CallStatus,
    kind: &'c str,
    assistant: u32,
    phone: Option<&'c str>,
    campaign: Option<u32>,
    engine: Option<u32>,
}

impl Filed<'_> {
    fn facets(&self) -> Vec<Facet> {
        let mut facets = Vec::from([
            Facet::new(tag::STATUS, self.status.word().as_bytes()),
            Facet::new(tag::TYPE, self.kind.as_bytes()),
            Facet::id(tag::ASSISTANT, self.assistant),
        ]);
        facets.extend(self.phone.map(|phone| Facet::new(tag::PHONE, phone.as_bytes())));
        facets.extend(self.campaign.map(|count| Facet::id(tag::CAMPAIGN, count)));
        if self.status.is_running() {
            facets.extend(self.engine.map(|_| facet_of_engaged()));
            facets.extend(self.campaign.map(facet_of_line));
        }
        facets
    }
}

impl Live {
    /// Writes an event of a call down under the service's own count.
    pub fn note(
        &mut self,
        account: Scope<'_>,
        call: u32,
        at: Timestamp,
        name: &str,
        rest: &Members,
    ) -> Result<(), Stop> {
        self.events += 1;
        let mut bytes = Vec::new();
        let mut object = Object::open(&mut bytes);
        object.member("seq", self.events).member("at", at.iso()).member("type", name);
        rest.0.iter().for_each(|(name, value)| {
            object.member(name, value);
        });
        object.close();
        account.put(key::call_event(account.space(), call, self.events), bytes)
    }

    fn read(private: &[u8]) -> Option<Self> {
        let Ok(Value::Object(members)) = json::parse(private) else { return None };
        let time = |name: &str| members.get(name).and_then(Value::as_u64).map(Timestamp::from_micros);
        let number = |name: &str| members.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let object = |name: &str| members.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        Some(Self {
            engine: number("engine"),
            lease: time("lease"),
            seq: number("seq")?,
            events: number("events")?,
            ringing_at: time("ringing_at"),
            answered_at: time("answered_at"),
            ended_at: time("ended_at"),
            last_at: time("last_at")?,
            ringing_time: number("ringing_time")?,
            max_duration: number("max_duration")?,
            transcript_bytes: number("transcript_bytes")? as usize,
            hangup_at: time("hangup_at"),
            main: number("main"),
            input: object("input"),
            extracted: object("extracted"),
            analysis: members.get("analysis").cloned(),
            tries: number("tries")?,
            charged_micros: members
                .get("charged_micros")
                .and_then(Value::as_u64)
                .and_then(|n| i64::try_from(n).ok())
                .unwrap_or(0),
        })
    }
}

impl ToJson for Live {
    fn write(&self, out: &mut Vec<u8>) {
        let time = |at: Option<Timestamp>| at.map(Timestamp::micros);
        let mut object = Object::open(out);
        object.given("engine", self.engine).given("lease", time(self.lease));
        object.member("seq", self.seq).member("events", self.events);
        object.given("ringing_at", time(self.ringing_at)).given("answered_at", time(self.answered_at));
        object.given("ended_at", time(self.ended_at)).member("last_at", self.last_at.micros());
        object.member("ringing_time", self.ringing_time).member("max_duration", self.max_duration);
        object.member("transcript_bytes", self.transcript_bytes as u64).given("hangup_at", time(self.hangup_at));
        object
            .given("main", self.main)
            .member("input", &self.input)
            .member("extracted", &self.extracted)
            .given("analysis", &self.analysis);
        object.member("tries", self.tries).member("charged_micros", self.charged_micros);
        object.close();
    }
}

/// A number as a JSON value.
pub fn whole(number: u64) -> Value {
    Value::Number(Number::Unsigned(number))
}
