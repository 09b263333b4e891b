//! API records of what engines report: the events of a call, each numbered by its engine.

use alloc::string::String;
use alloc::vec::Vec;

use crate::call::tables::{AnsweredBy, Sender};
use crate::limits::{ENGINE_EVENTS_MAX, SETTINGS_MAX, TRANSCRIPT_BYTES_MAX, UNKNOWN_EVENT_BYTES_MAX, URL_MAX};
use crate::record::{
    ColumnType, Json, Variables, boolean, choice, format, int, number, object, tagged, text, texts, variables, whole,
};
use crate::time::Timestamp;
use crate::{choice, record, tagged};

/// Largest sequence number of an engine's event.
const SEQ_MAX: i64 = 1 << 31;
/// Largest number of a turn.
const TURN_MAX: i64 = 1_000_000;
/// Longest part of a turn, milliseconds.
const PART_MS_MAX: i64 = 3_600_000;
/// Largest amount of one report of usage: seconds, characters or tokens.
const AMOUNT_MAX: f64 = 1e9;

/// Writes the record of an event: number and time, then its own members.
macro_rules! event {
    ($(#[doc = $doc:literal])* pub struct $name:ident { $($body:tt)* }) => {
        record! {
            $(#[doc = $doc])*
            pub struct $name {
                /// The engine's own count of events, from 1.
                seq: u32 = int(1, SEQ_MAX).required(),
                /// Time of the event, which for what was said is the time of saying; the time of the report if not given.
                at: Option<String> = text(1, 40).form(&format::INSTANT),
                $($body)*
            }
        }
    };
}

event! {
    /// The engine begins to dial: from here on the call is never given to another.
    pub struct Dialing {}
}

event! {
    /// The engine gives the call back before it dialed; the call waits for another.
    pub struct Release {
        /// Reason, as the engine words it.
        reason: Option<String> = text(1, 255),
    }
}

event! {
    /// The customer's phone rings.
    pub struct Ringing {}
}

event! {
    /// A person, or voicemail, picked up.
    pub struct Answered {
        /// Who picked up, as far as the engine can tell.
        answered_by: AnsweredBy = choice::<AnsweredBy>().or_text("unknown"),
    }
}

choice! {
    /// What has picked up.
    pub enum PickupKind {
        /// A person.
        Person = "person",
        /// Voicemail, which records after its announcement.
        Voicemail = "voicemail",
        /// A machine that asks who calls, and may pass the call on.
        Screening = "screening",
        /// A menu that wants keys or words.
        Menu = "menu",
    }
}

event! {
    /// Who picked up is known now: later than `answered`, which could not tell.
    pub struct Detected {
        /// Who picked up; the call object shows it from here on.
        answered_by: AnsweredBy = choice::<AnsweredBy>().required(),
        /// What it is, more exactly.
        kind: Option<PickupKind> = choice::<PickupKind>().sparse(),
        /// Whether the tone was heard after which voicemail records.
        beep: Option<bool> = boolean().sparse(),
    }
}

event! {
    /// A line of the transcript.
    pub struct Transcript {
        /// Who said it: `bot` is the assistant, `human` the customer.
        sender: Sender = choice::<Sender>().required(),
        /// Text as it was heard: of a line that was interrupted, the part that was spoken.
        text: String = text(1, TRANSCRIPT_BYTES_MAX * 4).required(),
        /// Number of the turn that the line belongs to.
        turn: Option<u32> = int(0, TURN_MAX).sparse(),
        /// When the line began to be spoken.
        started_at: Option<String> = text(1, 40).form(&format::INSTANT).sparse(),
        /// When it ended.
        ended_at: Option<String> = text(1, 40).form(&format::INSTANT).sparse(),
        /// Whether the other side cut it off.
        interrupted: Option<bool> = boolean().sparse(),
        /// Language that was spoken, as a BCP 47 tag such as `de-CH`.
        language: Option<String> = text(1, 35).sparse(),
        /// How sure the transcriber is, 0 to 1.
        confidence: Option<f64> = number(0.0, 1.0).sparse(),
    }
}

event! {
    /// What has been understood of a line that is not over; it is never stored.
    pub struct Partial {
        /// Number of the turn.
        turn: Option<u32> = int(0, TURN_MAX).sparse(),
        /// Text so far.
        text: String = text(1, 4_000).required(),
    }
}

event! {
    /// Variables were collected in the call.
    pub struct Collected {
        /// The variables; the later value of a name wins.
        variables: Variables = variables(),
    }
}

event! {
    /// A recording is available; ignored unless the assistant records.
    pub struct Recording {
        /// URL of the recording.
        url: String = text(1, URL_MAX).form(&format::URL).required(),
    }
}

choice! {
    /// How a call is transferred.
    pub enum TransferMode {
        /// The carrier connects both; the assistant leaves at once.
        Blind = "blind",
        /// The assistant first talks to whom the call goes to.
        Warm = "warm",
        /// The engine connects both and stays in the line.
        Bridge = "bridge",
    }
}

choice! {
    /// How far a transfer has come.
    pub enum TransferStatus {
        /// Asked for.
        Started = "started",
        /// The other side took the call.
        Accepted = "accepted",
        /// It did not; the assistant goes on.
        Failed = "failed",
    }
}

event! {
    /// The call is transferred to somebody else.
    pub struct Transfer {
        /// Target of the transfer: a number or an address.
        to: String = text(1, 255).required(),
        /// How it is transferred.
        mode: Option<TransferMode> = choice::<TransferMode>().sparse(),
        /// How far it has come.
        status: Option<TransferStatus> = choice::<TransferStatus>().sparse(),
        /// Why it failed.
        reason: Option<String> = text(1, 255).sparse(),
    }
}

choice! {
    /// Who pressed keys.
    pub enum KeyPresser {
        /// The customer typed them.
        Customer = "customer",
        /// The assistant sent them.
        Assistant = "assistant",
    }
}

event! {
    /// Keys were pressed on the keypad. Those of a customer are stored as their number alone, unless the assistant has the
    /// tool `collect_keypad`.
    pub struct Dtmf {
        /// The keys, in order.
        digits: String = text(1, 64).required(),
        /// Who pressed them; the customer if not given.
        by: Option<KeyPresser> = choice::<KeyPresser>().sparse(),
    }
}

event! {
    /// The customer waits: nobody hears the other.
    pub struct Hold {}
}

event! {
    /// The conversation goes on.
    pub struct Resume {}
}

event! {
    /// How long the parts of a turn took, from the end of the customer's speech to the first sound of the answer.
    pub struct TurnMetrics {
        /// Number of the turn.
        turn: Option<u32> = int(0, TURN_MAX).sparse(),
        /// Until the engine knew that the customer had finished, milliseconds.
        endpoint_ms: Option<u32> = int(0, PART_MS_MAX).sparse(),
        /// Until the words were there, milliseconds.
        stt_ms: Option<u32> = int(0, PART_MS_MAX).sparse(),
        /// Until the model's first token, milliseconds.
        llm_ms: Option<u32> = int(0, PART_MS_MAX).sparse(),
        /// Until the first sound, milliseconds.
        tts_ms: Option<u32> = int(0, PART_MS_MAX).sparse(),
        /// On the line and in the engine's buffers, milliseconds.
        transport_ms: Option<u32> = int(0, PART_MS_MAX).sparse(),
        /// Waiting for tools, milliseconds.
        tool_ms: Option<u32> = int(0, PART_MS_MAX).sparse(),
        /// All together, milliseconds; the call's `latency` is made of these.
        total_ms: Option<u32> = int(0, PART_MS_MAX).sparse(),
        /// Whether the answer was cut off.
        interrupted: Option<bool> = boolean().sparse(),
    }
}

event! {
    /// Quality of the line.
    pub struct Quality {
        /// Mean opinion score, 1 to 5 (ITU-T G.107).
        mos: Option<f64> = number(1.0, 5.0).sparse(),
        /// Share of packets that were lost, 0 to 1.
        loss: Option<f64> = number(0.0, 1.0).sparse(),
        /// Jitter (RFC 3550), milliseconds.
        jitter_ms: Option<f64> = number(0.0, 60_000.0).sparse(),
        /// Round-trip time, milliseconds.
        rtt_ms: Option<f64> = number(0.0, 60_000.0).sparse(),
        /// Name of the codec.
        codec: Option<String> = text(1, 64).sparse(),
    }
}

event! {
    /// What the call used since the last such event: the amounts of all of them add up, and are priced by the operator's
    /// price list unless a `cost` is reported.
    pub struct UsageReport {
        /// Speech that was understood, seconds.
        stt_seconds: f64 = number(0.0, AMOUNT_MAX).or_number(0.0),
        /// Characters that were spoken.
        tts_characters: f64 = number(0.0, AMOUNT_MAX).or_number(0.0),
        /// Tokens that the model read.
        llm_tokens_in: f64 = number(0.0, AMOUNT_MAX).or_number(0.0),
        /// Tokens that the model wrote.
        llm_tokens_out: f64 = number(0.0, AMOUNT_MAX).or_number(0.0),
        /// Time on the telephone network, seconds.
        carrier_seconds: f64 = number(0.0, AMOUNT_MAX).or_number(0.0),
    }
}

/// Bounds of a setting's name.
static SETTING: ColumnType = ColumnType::Text { min: 1, max: 64, format: None };

event! {
    /// What of the assistant the engine cannot do; the call goes on without it.
    pub struct UnsupportedSettings {
        /// Names of the settings.
        settings: Vec<String> = texts(&SETTING, SETTINGS_MAX).required(),
    }
}

choice! {
    /// How a command ended.
    pub enum CommandStatus {
        /// It was carried out.
        Done = "done",
        /// It was not.
        Refused = "refused",
    }
}

event! {
    /// The end of a command.
    pub struct CommandEnd {
        /// Id of the command.
        id: String = text(1, 64).required(),
        /// How it ended.
        status: CommandStatus = choice::<CommandStatus>().required(),
        /// Why it was refused.
        reason: Option<String> = text(1, 255).sparse(),
    }
}

event! {
    /// The call has ended.
    pub struct Ended {
        /// Who ended it: `customer`, `assistant`, or anything else for neither.
        by: Option<String> = text(1, 64),
        /// Reason, as the engine words it.
        reason: Option<String> = text(1, 255),
    }
}

event! {
    /// The call could not be carried out, or broke off.
    pub struct Failed {
        /// Reason; `busy` and `no-answer` lead to those states, anything else to `failed`.
        reason: Option<String> = text(1, 255),
    }
}

event! {
    /// Cost of the call; a later event replaces an earlier one.
    pub struct Cost {
        /// Part of the cost that the carrier takes, USD.
        carrier_cost: f64 = number(0.0, 1_000_000.0).or_number(0.0),
        /// Total cost of the call, USD; this is what the balance is charged.
        total_cost: f64 = number(0.0, 1_000_000.0).or_number(0.0),
    }
}

choice! {
    /// Sentiment of a call as a whole.
    pub enum Sentiment {
        /// Good on the whole.
        Positive = "positive",
        /// Neither good nor bad.
        Neutral = "neutral",
        /// Bad on the whole.
        Negative = "negative",
    }
}

record! {
    /// Evaluation of a call.
    pub struct Evaluation {
        /// Whether the call reached its goal; null if that cannot be told.
        success: Option<bool> = boolean(),
        /// Sentiment of the call as a whole.
        sentiment: Sentiment = choice::<Sentiment>().required(),
        /// Short account of what happened in the call.
        summary: String = text(1, 4_000).required(),
    }
}

event! {
    /// The engine's own analysis of the call, used where the operator configured no model.
    pub struct Analysis {
        /// Evaluation of the call.
        evaluation: Option<Evaluation> = object::<Evaluation>(),
        /// Values for the fields of `post_call_schema`.
        variables: Variables = variables(),
    }
}

event! {
    /// An event of a type that this release does not know: stored with all its members, and named in `ignored`.
    pub struct UnknownEvent {
        /// Type of the event.
        r#type: String = text(1, 64).form(&format::EVENT_TYPE).required(),
        /// The event with all its members.
        event: Json = whole(UNKNOWN_EVENT_BYTES_MAX),
    }
}

/// Writes the enum of all events, with what is common to them.
macro_rules! events {
    ($(#[doc = $doc:literal])* pub enum $name:ident { $($(#[doc = $event_doc:literal])* $event:ident($type:ty) = $word:literal),* $(,)? }) => {
        tagged! {
            $(#[doc = $doc])*
            pub enum $name { $($(#[doc = $event_doc])* $event($type) = $word),* }
        }

        impl $name {
            /// Types of all events that this release knows.
            pub const TYPES: &'static [&'static str] = &[$($word),*];

            /// Returns the engine's number of the event.
            pub fn seq(&self) -> u32 {
                match self { $(Self::$event(event) => event.seq),* }
            }

            /// Returns the time that the event names.
            pub fn at(&self) -> Option<Timestamp> {
                match self { $(Self::$event(event) => event.at.as_deref()),* }.and_then(Timestamp::parse_iso)
            }
        }
    };
}

events! {
    /// An event of a call, as its engine reports it.
    pub enum EngineEvent {
        /// The engine begins to dial.
        Dialing(Dialing) = "dialing",
        /// The engine gives the call back.
        Release(Release) = "release",
        /// The customer's phone rings.
        Ringing(Ringing) = "ringing",
        /// A person, or voicemail, picked up.
        Answered(Answered) = "answered",
        /// Who picked up is known now.
        Detected(Detected) = "detected",
        /// A line of the transcript.
        Transcript(Transcript) = "transcript",
        /// What has been understood so far.
        Partial(Partial) = "partial",
        /// Variables were collected in the call.
        Variables(Collected) = "variables",
        /// A recording is available.
        Recording(Recording) = "recording",
        /// The call is transferred to somebody else.
        Transfer(Transfer) = "transfer",
        /// Keys were pressed on the keypad.
        Dtmf(Dtmf) = "dtmf",
        /// The customer waits.
        Hold(Hold) = "hold",
        /// The conversation goes on.
        Resume(Resume) = "resume",
        /// How long a turn took.
        Metrics(TurnMetrics) = "metrics",
        /// Quality of the line.
        Quality(Quality) = "quality",
        /// What the call used.
        Usage(UsageReport) = "usage",
        /// What of the assistant the engine cannot do.
        Unsupported(UnsupportedSettings) = "unsupported",
        /// The end of a command.
        Command(CommandEnd) = "command",
        /// The call has ended.
        Ended(Ended) = "ended",
        /// The call could not be carried out, or broke off.
        Failed(Failed) = "failed",
        /// Cost of the call.
        Cost(Cost) = "cost",
        /// The engine's own analysis of the call.
        Analysis(Analysis) = "analysis",
        /// An event of a type that this release does not know.
        Unknown(UnknownEvent) = "*",
    }
}

record! {
    /// Body of `POST /engine/calls/{id}/events`.
    pub struct Report {
        /// Events of the call, in order; an empty list renews the lease.
        events: Vec<EngineEvent> = tagged::<EngineEvent>(ENGINE_EVENTS_MAX),
    }
}
