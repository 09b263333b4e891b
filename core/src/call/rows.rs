//! Calls as they are stored: what the API shows, and behind it what their engines and clocks need.

use alloc::string::String;
use alloc::vec::Vec;

use super::states::{CallEvent, MOVES};
use super::tables::{Call, CallStatus, Sender};
use crate::collection::Facet;
use crate::id;
use crate::json::{self, Members, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::{COLLECTED_BYTES_MAX, VARIABLES_MAX};
use crate::record;
use crate::record::{
    Cell, Cells, Iso, Json, Record, Rest, Sql, Stored, Variables, any, choice, count, iso, micros, signed, text,
    variables,
};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

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

record! {
    /// What the API does not show of a call.
    pub struct Live stored as "a call" {
        /// The engine that has it, by its token; 0 is the one inside the program.
        engine: Option<u32> = count().sparse(),
        /// Until when it is that engine's.
        lease: Option<Timestamp> = micros().sparse(),
        /// The engine's last sequence number.
        seq: u32 = count().required(),
        /// The service's own count of events.
        events: u32 = count().required(),
        /// When it began to ring.
        ringing_at: Option<Timestamp> = micros().sparse(),
        /// When it was answered.
        answered_at: Option<Timestamp> = micros().sparse(),
        /// When it was over.
        ended_at: Option<Timestamp> = micros().sparse(),
        /// The time of its last event.
        last_at: Timestamp = micros().required(),
        /// How long it may ring, seconds.
        ringing_time: u32 = count().required(),
        /// How long it may last, seconds.
        max_duration: u32 = count().required(),
        /// Bytes of transcript that were kept.
        transcript_bytes: u32 = count().required(),
        /// Since when its engine is told to hang up.
        hangup_at: Option<Timestamp> = micros().sparse(),
        /// Of a call to a secondary contact: the lead that it is for, by count.
        main: Option<u32> = count().sparse(),
        /// What it was given.
        input: Variables = variables(),
        /// What it collected, and what was extracted from it.
        extracted: Variables = variables(),
        /// What its engine makes of it.
        analysis: Option<Json> = any().sparse(),
        /// Tries of the work after it.
        tries: u32 = count().required(),
        /// What was taken off the balance for it, millionths of a dollar.
        charged_micros: i64 = signed().or_int(0),
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::from_cells(&mut Cells::of(Cell::None))
    }
}

record! {
    /// An event of a call, under the service's own count; behind these members stands what it says.
    pub struct CallEventRow stored as "an event of a call" {
        /// Its number, from 1.
        seq: u32 = count().required(),
        /// When it happened.
        at: Option<Iso> = iso(),
        /// What happened.
        r#type: String = text(0, 64).required(),
    }
}

record! {
    /// An event of a call that says a line of its transcript.
    pub struct SaidEvent stored as "an event of a call" {
        /// `transcript`
        r#type: String = text(0, 64).required(),
        /// When it was said.
        at: Iso = iso().required(),
        /// Who said it.
        sender: Option<Sender> = choice::<Sender>(),
        /// What was said.
        text: Option<String> = text(0, 0),
    }
}

/// A call with its row.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRow {
    /// Its count.
    pub count: u32,
    /// What the API shows.
    pub shown: Call,
    /// What it does not show.
    pub live: Live,
    before: Row,
}

impl CallRow {
    /// A call of the account.
    pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Call, count)?.map(|row| Self::of(count, row)).transpose()
    }

    /// One whose row is at hand.
    pub(super) fn of(count: u32, row: Row) -> Result<Self, Stop> {
        let shown = Call::read(&row.public)?;
        let live = if row.private.is_empty() { Live::default() } else { Live::read(&row.private)? };
        Ok(Self { count, shown, live, before: row })
    }

    /// Enters a new call.
    pub fn enter(account: Scope<'_>, count: u32, shown: &Call, live: &Live, at: Timestamp) -> Result<(), Stop> {
        account.insert(Kind::Call, count, at, &row(shown, live))
    }

    /// Writes it back.
    pub fn save(&mut self, account: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
        self.shown.updated_at = Sql(now);
        let row = row(&self.shown, &self.live);
        account.replace(Kind::Call, self.count, &self.before, &row)?;
        self.before = row;
        Ok(())
    }

    /// Where it stands.
    pub fn status(&self) -> CallStatus {
        self.shown.status
    }

    /// Moves it; false where its state does not allow that.
    pub fn moved(&mut self, event: CallEvent) -> bool {
        let next = MOVES.next(self.shown.status, event);
        self.shown.status = next.unwrap_or(self.shown.status);
        next.is_some()
    }

    /// Its assistant, by count.
    pub fn assistant(&self) -> u32 {
        id::count(self.shown.assistant_id)
    }

    /// Its campaign, by count.
    pub fn campaign(&self) -> Option<u32> {
        self.shown.campaign_id.map(id::count)
    }

    /// Its lead, by count.
    pub fn lead(&self) -> Option<u32> {
        self.shown.lead_id.map(id::count)
    }

    /// Adds variables that were collected or extracted; the later one wins. What would make more of them than
    /// [`VARIABLES_MAX`], or more bytes than [`COLLECTED_BYTES_MAX`], is left out.
    pub fn collect(&mut self, variables: &Members) {
        let member = |name: &str, value: &Value| name.to_json().len() + value.to_json().len() + 2;
        let Variables(extracted) = &mut self.live.extracted;
        let mut bytes: usize = extracted.0.iter().map(|(name, value)| member(name, value)).sum();
        for (name, value) in &variables.0 {
            let before = extracted.get(name);
            let after = bytes - before.map_or(0, |before| member(name, before)) + member(name, value);
            let is_many = before.is_none() && extracted.0.len() >= VARIABLES_MAX;
            if !is_many && after <= COLLECTED_BYTES_MAX {
                extracted.set(name, value.clone());
                bytes = after;
            }
        }
        let mut all = self.live.input.clone();
        extracted.0.iter().for_each(|(name, value)| all.0.set(name, value.clone()));
        self.shown.variables = all;
    }

    /// Writes an event down under the service's own count; `said` is an object, what it says.
    pub fn note(&mut self, account: Scope<'_>, at: Timestamp, name: &str, said: &impl ToJson) -> Result<(), Stop> {
        self.live.note(account, self.count, at, name, said)
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
            let said = SaidEvent::read(&bytes)?;
            if said.r#type == "transcript" {
                let text = said.text.ok_or(SaidEvent::DAMAGED)?;
                lines.push(Line { bot: said.sender == Some(Sender::Bot), text, at: said.at.0 });
            }
        }
        Ok(lines)
    }
}

/// Keeps the answer of a call's webhook.
pub fn answered_webhook(account: Scope<'_>, count: u32, answer: Json, now: Timestamp) -> Result<(), Stop> {
    let Some(mut call) = CallRow::find(account, count)? else { return Ok(()) };
    call.shown.webhook_response = Some(answer);
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

fn row(shown: &Call, live: &Live) -> Row {
    Row { facets: facets(shown, live), public: shown.to_json(), private: live.to_json() }
}

/// What lists of calls filter by.
fn facets(shown: &Call, live: &Live) -> Vec<Facet> {
    let campaign = shown.campaign_id.map(id::count);
    let mut facets = Vec::from([
        Facet::new(tag::STATUS, shown.status.word().as_bytes()),
        Facet::new(tag::TYPE, shown.r#type.word().as_bytes()),
        Facet::id(tag::ASSISTANT, id::count(shown.assistant_id)),
    ]);
    facets.extend(shown.client_phone_number.as_ref().map(|phone| Facet::new(tag::PHONE, phone.as_bytes())));
    facets.extend(campaign.map(|count| Facet::id(tag::CAMPAIGN, count)));
    if shown.status.is_running() {
        facets.extend(live.engine.map(|_| facet_of_engaged()));
        facets.extend(campaign.map(facet_of_line));
    }
    facets
}

impl Live {
    /// Writes an event of a call down under the service's own count; `said` is an object, what it says.
    pub fn note(
        &mut self,
        account: Scope<'_>,
        call: u32,
        at: Timestamp,
        name: &str,
        said: &impl ToJson,
    ) -> Result<(), Stop> {
        self.events += 1;
        let event = CallEventRow { seq: self.events, at: Some(Iso(at)), r#type: name.into(), rest: Rest::default() };
        account.put(key::call_event(account.space(), call, self.events), json::joined(&event, said))
    }
}
