//! Calls as they are stored: the object that the API shows, and the private state of engine, lease and clocks.

use alloc::string::String;
use alloc::vec::Vec;

use super::command::PendingCommand;
use super::reasons::EndedReason;
use super::recording;
use super::states::{CallEvent, MOVES};
use super::tables::{Call, CallStatus, Sender};
use super::web::WebPass;
use crate::collection::Facet;
use crate::id;
use crate::json::{self, Members, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::{
    CALL_EVENTS_BYTES_MAX, CALL_EVENTS_MAX, COLLECTED_BYTES_MAX, COMMANDS_MAX, RETURNS_MAX, VARIABLES_MAX,
};
use crate::record;
use crate::record::{
    Cell, Cells, ColumnType, Iso, Json, Record, Rest, Sql, Stored, Variables, any, boolean, choice, count, iso, list,
    micros, object, signed, text, texts, variables,
};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Facet tags that calls are filtered by.
pub(super) mod tag {
    pub const STATUS: u8 = 1;
    pub const TYPE: u8 = 2;
    pub const PHONE: u8 = 3;
    pub const ASSISTANT: u8 = 4;
    pub const CAMPAIGN: u8 = 5;
    pub const ENGAGED: u8 = 6;
    pub const LINE: u8 = 7;
}

/// Returns the facet of the calls with a status.
pub fn facet_of_status(status: CallStatus) -> Facet {
    Facet::new(tag::STATUS, status.word().as_bytes())
}

/// Returns the facet of running calls that an engine has claimed, which a plan's `parallel_calls` limits.
pub fn facet_of_engaged() -> Facet {
    Facet::new(tag::ENGAGED, b"")
}

/// Returns the facet of a campaign's running calls, queued ones included, which its `max_calls_in_parallel` limits.
pub fn facet_of_line(campaign: u32) -> Facet {
    Facet::id(tag::LINE, campaign)
}

record! {
    /// Private part of a call's row, which the API does not show.
    pub struct Live stored as "a call" {
        /// Token id of the engine that claimed the call; 0 is the built-in engine, `None` while the call is queued.
        engine: Option<u32> = count().sparse(),
        /// Name of that engine, from its claim.
        engine_name: Option<String> = text(0, 64).sparse(),
        /// What the browser of a web call shows; `None` of other calls.
        pass: Option<WebPass> = object::<WebPass>().sparse(),
        /// Edition of the interface that it speaks.
        protocol: u32 = count().or_int(1),
        /// When it began to dial: from then on the call is given to no other.
        dialing_at: Option<Timestamp> = micros().sparse(),
        /// How often the call went back to the queue.
        returns: u32 = count().or_int(0),
        /// Engines that gave the call back, as [`Engine::party`](crate::http::caller::Engine::party) names them.
        refused_by: Vec<String> = texts(&PARTY, RETURNS_MAX as usize).sparse(),
        /// Last sequence number taken from the engine; 0 before the first event.
        seq: u32 = count().required(),
        /// Number of stored events, and so the last sequence number of the service's own count.
        events: u32 = count().required(),
        /// Bytes of those events; 0 for a call of a release that did not count them.
        event_bytes: u32 = count().or_int(0),
        /// When it began to ring; `None` if it never did.
        ringing_at: Option<Timestamp> = micros().sparse(),
        /// When it was answered; `None` if it was not.
        answered_at: Option<Timestamp> = micros().sparse(),
        /// When it ended, whatever the outcome.
        ended_at: Option<Timestamp> = micros().sparse(),
        /// Time of its last event; no later event is dated before it.
        last_at: Timestamp = micros().required(),
        /// Time it may ring, seconds; the assistant's setting when the call was made.
        ringing_time: u32 = count().required(),
        /// Longest duration from its answer, seconds; the assistant's setting when the call was made.
        max_duration: u32 = count().required(),
        /// Transcript bytes stored so far, at most `TRANSCRIPT_BYTES_MAX`.
        transcript_bytes: u32 = count().required(),
        /// Since when its engine has been told to hang up.
        hangup_at: Option<Timestamp> = micros().sparse(),
        /// When its engine said how that command ended.
        hangup_end: Option<Timestamp> = micros().sparse(),
        /// Commands that its engine has not ended.
        commands: Vec<PendingCommand> = list::<PendingCommand>(COMMANDS_MAX).sparse(),
        /// Number of commands that it was ever sent.
        commanded: u32 = count().or_int(0),
        /// Local id of the lead, for a call to one of its secondary contacts.
        main: Option<u32> = count().sparse(),
        /// Whether its recording was deleted: none is taken after that.
        unrecorded: Option<bool> = boolean().sparse(),
        /// Variables that it was given.
        input: Variables = variables(),
        /// Variables that were collected during the call or extracted after it.
        extracted: Variables = variables(),
        /// Analysis that its engine sent, used if the operator's model does not conclude the call.
        analysis: Option<Json> = any().sparse(),
        /// Failed requests to the operator's model so far.
        tries: u32 = count().required(),
        /// Whether the engine reported a cost, which wins over what the call used.
        is_priced: Option<bool> = boolean().sparse(),
        /// Turns that its engine measured.
        measured: u32 = count().or_int(0),
        /// Events that were dropped because the call had its most.
        dropped: u32 = count().or_int(0),
        /// Amount already charged to the balance, millionths of a dollar.
        charged_micros: i64 = signed().or_int(0),
    }
}

/// Bounds of the name of an engine that gave a call back.
static PARTY: ColumnType = ColumnType::Text { min: 1, max: 80, format: None };

impl Default for Live {
    fn default() -> Self {
        Self::from_cells(&mut Cells::of(Cell::None))
    }
}

record! {
    /// An event of a call, numbered by the service; its own members follow these.
    pub struct CallEventRow stored as "an event of a call" {
        /// Sequence number, from 1.
        seq: u32 = count().required(),
        /// Time of the event.
        at: Option<Iso> = iso(),
        /// Type, such as `initiated`, `ringing` or `transcript`.
        r#type: String = text(0, 64).required(),
    }
}

record! {
    /// A transcript event of a call, which holds one line.
    pub struct SaidEvent stored as "an event of a call" {
        /// Type of the event, always `transcript`.
        r#type: String = text(0, 64).required(),
        /// Time at which it was said.
        at: Iso = iso().required(),
        /// Who said it; every `transcript` event has one.
        sender: Option<Sender> = choice::<Sender>(),
        /// Text of the line; every `transcript` event has one.
        text: Option<String> = text(0, 0),
    }
}

/// A call that was read, with the row it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRow {
    /// Local id within the account.
    pub count: u32,
    /// The call object that the API shows.
    pub shown: Call,
    /// State that the API does not show.
    pub live: Live,
    before: Row,
}

impl CallRow {
    /// Finds a call of the account.
    pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Call, count)?.map(|row| Self::of(count, row)).transpose()
    }

    /// Finds calls of the account, in the order of their counts, with one read.
    pub fn find_all(account: Scope<'_>, counts: &[u32]) -> Result<Vec<Option<Self>>, Stop> {
        let keys: Vec<_> = counts.iter().map(|count| key::row(account.space(), Kind::Call, *count)).collect();
        let rows = account.get_many(&keys)?;
        let read = |(count, row): (&u32, Option<Vec<u8>>)| {
            row.map(|bytes| Self::of(*count, Row::from_bytes(&bytes)?)).transpose()
        };
        counts.iter().zip(rows).map(read).collect()
    }

    /// Parses a row that was already read.
    pub(super) fn of(count: u32, row: Row) -> Result<Self, Stop> {
        let shown = Call::read(&row.public)?;
        let live = if row.private.is_empty() { Live::default() } else { Live::read(&row.private)? };
        Ok(Self { count, shown, live, before: row })
    }

    /// Stores a new call.
    pub fn enter(account: Scope<'_>, count: u32, shown: &Call, live: &Live, at: Timestamp) -> Result<(), Stop> {
        account.insert(Kind::Call, count, at, &row(shown, live))
    }

    /// Writes the call back, with `now` as its `updated_at`.
    pub fn save(&mut self, account: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
        self.shown.updated_at = Sql(now);
        let row = row(&self.shown, &self.live);
        account.replace(Kind::Call, self.count, &self.before, &row)?;
        self.before = row;
        Ok(())
    }

    /// Returns its current state.
    pub fn status(&self) -> CallStatus {
        self.shown.status
    }

    /// Applies an event to the state; returns `false`, and changes nothing, if the state does not allow it.
    pub fn moved(&mut self, event: CallEvent) -> bool {
        let next = MOVES.next(self.shown.status, event);
        self.shown.status = next.unwrap_or(self.shown.status);
        next.is_some()
    }

    /// Applies an event of its engine that ends the call, for the reason that these words say; `false` as in
    /// [`Self::moved`].
    pub fn ended(&mut self, event: CallEvent, words: Option<&str>) -> bool {
        let moved = self.moved(event);
        if moved {
            self.shown.ended_reason = Some(EndedReason::of_engine(event, words, self.live.hangup_reason()));
        }
        moved
    }

    /// Returns whether its evaluation says that it succeeded.
    pub fn is_success(&self) -> bool {
        let evaluation = self.shown.evaluation.as_ref();
        evaluation.is_some_and(|Json(value)| value.member("success") == Some(&Value::Bool(true)))
    }

    /// Returns whether it has a recording that the service keeps itself.
    pub fn has_own_recording(&self) -> bool {
        self.shown.recording_url.as_deref().is_some_and(recording::is_own)
    }

    /// Returns the local id of its assistant.
    pub fn assistant(&self) -> u32 {
        id::count(self.shown.assistant_id)
    }

    /// Returns whether a visitor of a widget asked for it.
    pub fn is_visited(&self) -> bool {
        self.live.pass.as_ref().is_some_and(|pass| pass.visited == Some(true))
    }

    /// Returns the local id of its campaign.
    pub fn campaign(&self) -> Option<u32> {
        self.shown.campaign_id.map(id::count)
    }

    /// Returns the local id of the lead or secondary contact it calls.
    pub fn lead(&self) -> Option<u32> {
        self.shown.lead_id.map(id::count)
    }

    /// Adds variables that were collected or extracted; the later value of a name wins. A variable that would exceed
    /// [`VARIABLES_MAX`] or, in bytes of all, [`COLLECTED_BYTES_MAX`], is dropped.
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

    /// Stores an event under the service's next sequence number; `said` is an object with the event's own members.
    pub fn note(&mut self, account: Scope<'_>, at: Timestamp, name: &str, said: &impl ToJson) -> Result<(), Stop> {
        self.live.note(account, self.count, at, name, said)
    }

    /// Stores an event as [`Self::note`] does; returns `false`, and stores nothing, if the call has [`CALL_EVENTS_MAX`]
    /// events already, or would have more than [`CALL_EVENTS_BYTES_MAX`] bytes of them.
    pub fn note_within(
        &mut self,
        account: Scope<'_>,
        at: Timestamp,
        name: &str,
        said: &impl ToJson,
    ) -> Result<bool, Stop> {
        let event = self.live.event(at, name, said);
        let bytes = self.live.event_bytes as usize + event.len();
        if self.live.events >= CALL_EVENTS_MAX || bytes > CALL_EVENTS_BYTES_MAX {
            return Ok(false);
        }
        self.live.store(account, self.count, event).map(|()| true)
    }

    /// Reads the lines of the transcript from the events, in order.
    pub fn transcript(&self, account: Scope<'_>) -> Result<Vec<Line>, Stop> {
        let said = self.events_of::<SaidEvent>(account, "transcript")?;
        let line = |said: SaidEvent| {
            let text = said.text.ok_or(SaidEvent::DAMAGED)?;
            Ok(Line { bot: said.sender == Some(Sender::Bot), text, at: said.at.0 })
        };
        said.into_iter().map(line).collect()
    }

    /// Reads the events of a type, in order. Only these are parsed as JSON, for a call has up to 20,000 events. The type
    /// comes behind number and time, before anything that an engine wrote, so it is in the first `HEAD_BYTES`.
    pub(super) fn events_of<T: Stored>(&self, account: Scope<'_>, name: &str) -> Result<Vec<T>, Stop> {
        const HEAD_BYTES: usize = 96;
        let wanted = alloc::format!("\"type\":\"{name}\"");
        let is_wanted = |bytes: &[u8]| {
            let head = &bytes[..bytes.len().min(HEAD_BYTES)];
            head.windows(wanted.len()).any(|window| window == wanted.as_bytes())
        };
        let all = key::call_events(account.space(), self.count, 0);
        let events = account.scan(all, Order::Ascending, self.live.events as usize)?;
        let mut found = Vec::new();
        for (_, bytes) in events.iter().filter(|(_, bytes)| is_wanted(bytes)) {
            // An event of a type that this release does not know may have such a member within another.
            if CallEventRow::MEMBERS.r#type.read(bytes)? == name {
                found.push(T::read(bytes)?);
            }
        }
        Ok(found)
    }
}

/// Stores the answer of a call's webhook; does nothing if the call was deleted.
pub fn answered_webhook(account: Scope<'_>, count: u32, answer: Json, now: Timestamp) -> Result<(), Stop> {
    let Some(mut call) = CallRow::find(account, count)? else { return Ok(()) };
    call.shown.webhook_response = Some(answer);
    call.save(account, now)
}

/// A line of the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whether the assistant said it; else the customer did.
    pub bot: bool,
    /// Text of the line.
    pub text: String,
    /// Time at which it was said.
    pub at: Timestamp,
}

/// Formats a transcript as text: "AI: …" or "Customer: …", one line for each turn.
pub fn formatted(lines: &[Line]) -> String {
    let said = lines.iter().map(|line| alloc::format!("{}: {}", if line.bot { "AI" } else { "Customer" }, line.text));
    said.collect::<Vec<_>>().join("\n")
}

fn row(shown: &Call, live: &Live) -> Row {
    Row { facets: facets(shown, live), public: shown.to_json(), private: live.to_json() }
}

/// Returns the facets that lists and counts of calls use.
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
    /// Returns why its engine was told to hang up; `None` if it was not.
    pub fn hangup_reason(&self) -> Option<EndedReason> {
        let told = self.hangup_at?;
        let most = self.answered_at.map(|from| from.plus_seconds(self.max_duration.into()));
        Some(if most.is_some_and(|most| told >= most) { EndedReason::MaxDuration } else { EndedReason::Hangup })
    }

    /// Stores an event of the call under the service's next sequence number; `said` is an object with the event's own
    /// members.
    pub fn note(
        &mut self,
        account: Scope<'_>,
        call: u32,
        at: Timestamp,
        name: &str,
        said: &impl ToJson,
    ) -> Result<(), Stop> {
        self.store(account, call, self.event(at, name, said))
    }

    /// Builds the next event.
    fn event(&self, at: Timestamp, name: &str, said: &impl ToJson) -> Vec<u8> {
        let seq = self.events + 1;
        json::joined(&CallEventRow { seq, at: Some(Iso(at)), r#type: name.into(), rest: Rest::default() }, said)
    }

    fn store(&mut self, account: Scope<'_>, call: u32, event: Vec<u8>) -> Result<(), Stop> {
        self.events += 1;
        self.event_bytes = self.event_bytes.saturating_add(u32::try_from(event.len()).unwrap_or(u32::MAX));
        account.put(key::call_event(account.space(), call, self.events), event)
    }
}
