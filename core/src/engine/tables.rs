//! API records of the engine interface.

use alloc::string::String;
use alloc::vec::Vec;

use crate::call::tables::{AnsweredBy, Call, CallStatus, Sender};
use crate::catalogue::Mode;
use crate::limits::{
    CAPACITY_MAX, CLAIM_WAIT_SECONDS, CLAIMED_MAX, ENGINE_EVENTS_MAX, PASSAGES_MAX, TOOL_EVENT_BODY_BYTES_MAX,
    TRANSCRIPT_BYTES_MAX, URL_MAX,
};
use crate::record::{
    ColumnType, Iso, Json, Variables, any, boolean, bytes, choice, choices, format, id, int, iso, list, number, object,
    require, tagged, text, texts, variables,
};
use crate::{choice, record, tagged};

record! {
    /// Body of `POST /engine/claim`.
    pub struct Claim {
        /// Name of the engine, shown in the call's event `claimed`.
        engine: String = text(1, 64).required(),
        /// Modes that the engine can carry; all of them if empty.
        modes: Vec<Mode> = choices::<Mode>(3),
        /// Most calls to claim now.
        capacity: u32 = int(1, CAPACITY_MAX as i64).or_int(1),
        /// Longest wait for a call, seconds; 0 answers at once.
        wait: u32 = int(0, CLAIM_WAIT_SECONDS as i64).or_int(0),
    }
}

record! {
    /// A call that an engine has claimed.
    pub struct Claimed {
        /// The call, as the API shows it.
        call: Call = object::<Call>().required(),
        /// The assistant, compiled: every stored member, and behind them prompts, voice, models, timings, functions and
        /// knowledge.
        assistant: Option<Json> = any(),
        /// Time at which the engine's lease ends; each report renews it.
        lease: Option<Iso> = iso(),
    }
}

record! {
    /// Answer of `POST /engine/claim`.
    pub struct ClaimedCalls {
        /// Claimed calls, at most `capacity`; empty if none came within the wait.
        calls: Vec<Claimed> = list::<Claimed>(CLAIMED_MAX),
    }
}

choice! {
    /// Type of a call that an engine reports.
    pub enum Arrival {
        /// A call from a telephone to one of the account's numbers.
        Inbound = "inbound",
        /// A call from a browser.
        Web = "web",
    }
}

record! {
    /// Body of `POST /engine/calls`.
    pub struct NewArrival {
        /// Whether the call comes from a telephone or a browser.
        r#type: Arrival = choice::<Arrival>().required(),
        /// Inbound: the customer's number, E.164; not given if it is withheld.
        from: Option<String> = text(1, 16).form(&format::E164),
        /// Inbound: the number that was called, E.164; it selects the assistant.
        to: Option<String> = text(1, 16).form(&format::E164),
        /// Web: id of the assistant that the visitor talks to.
        assistant_id: Option<u64> = id(),
        /// Variables that the call starts with.
        variables: Variables = variables(),
    } rules {
        require("to", "type", &["inbound"]),
        require("assistant_id", "type", &["web"]),
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

/// Largest sequence number of an engine's event.
const SEQ_MAX: i64 = 1 << 31;

record! {
    /// The customer's phone rings.
    pub struct Ringing {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
    }
}

record! {
    /// A person, or voicemail, picked up.
    pub struct Answered {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Who picked up, as far as the engine can tell.
        answered_by: AnsweredBy = choice::<AnsweredBy>().or_text("unknown"),
    }
}

record! {
    /// A line of the transcript.
    pub struct Transcript {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time at which it was said; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Who said it: `bot` is the assistant, `human` the customer.
        sender: Sender = choice::<Sender>().required(),
        /// Text that was said.
        text: String = text(1, TRANSCRIPT_BYTES_MAX * 4).required(),
    }
}

record! {
    /// Variables were collected in the call.
    pub struct Collected {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// The variables; the later value of a name wins.
        variables: Variables = variables(),
    }
}

record! {
    /// A recording is available; ignored unless the assistant records.
    pub struct Recording {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// URL of the recording.
        url: String = text(1, URL_MAX).form(&format::URL).required(),
    }
}

record! {
    /// The call is transferred to somebody else.
    pub struct Transfer {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Target of the transfer: a number or an address.
        to: String = text(1, 255).required(),
    }
}

record! {
    /// Keys were pressed on the keypad.
    pub struct Dtmf {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// The keys, in order.
        digits: String = text(1, 64).required(),
    }
}

record! {
    /// The call has ended.
    pub struct Ended {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Who ended it: `customer`, `assistant`, or anything else for neither.
        by: Option<String> = text(1, 64),
        /// Reason, as the engine words it.
        reason: Option<String> = text(1, 255),
    }
}

record! {
    /// The call could not be carried out, or broke off.
    pub struct Failed {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Reason; `busy` and `no-answer` lead to those states, anything else to `failed`.
        reason: Option<String> = text(1, 255),
    }
}

record! {
    /// Cost of the call; a later event replaces an earlier one.
    pub struct Cost {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Part of the cost that the carrier takes, USD.
        carrier_cost: f64 = number(0.0, 1_000_000.0).or_number(0.0),
        /// Total cost of the call, USD; this is what the balance is charged.
        total_cost: f64 = number(0.0, 1_000_000.0).or_number(0.0),
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

record! {
    /// The engine's own analysis of the call, used where the operator configured no model.
    pub struct Analysis {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// Time of the event; the time of the report if not given.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Evaluation of the call.
        evaluation: Option<Evaluation> = object::<Evaluation>(),
        /// Values for the fields of `post_call_schema`.
        variables: Variables = variables(),
    }
}

tagged! {
    /// An event of a call, as its engine reports it.
    pub enum EngineEvent {
        /// The customer's phone rings.
        Ringing(Ringing) = "ringing",
        /// A person, or voicemail, picked up.
        Answered(Answered) = "answered",
        /// A line of the transcript.
        Transcript(Transcript) = "transcript",
        /// Variables were collected in the call.
        Variables(Collected) = "variables",
        /// A recording is available.
        Recording(Recording) = "recording",
        /// The call is transferred to somebody else.
        Transfer(Transfer) = "transfer",
        /// Keys were pressed on the keypad.
        Dtmf(Dtmf) = "dtmf",
        /// The call has ended.
        Ended(Ended) = "ended",
        /// The call could not be carried out, or broke off.
        Failed(Failed) = "failed",
        /// Cost of the call.
        Cost(Cost) = "cost",
        /// The engine's own analysis of the call.
        Analysis(Analysis) = "analysis",
    }
}

record! {
    /// Members of a call's event `claimed`.
    pub struct ClaimedBy {
        /// Name of the engine, from its claim.
        engine: String = text(0, 64).required(),
    }
}

record! {
    /// Members of a call's event `unsupported`.
    pub struct Unsupported {
        /// Settings of the assistant that the call does without.
        settings: Vec<String> = texts(&SETTING, 8),
    }
}

/// Bounds of a setting's name.
static SETTING: ColumnType = ColumnType::Text { min: 1, max: 64, format: None };

record! {
    /// Members of a call's event `tool`.
    pub struct ToolAsked {
        /// Name of the tool.
        name: String = text(0, 255).required(),
        /// Arguments as the engine sent them.
        arguments: Variables = variables(),
        /// HTTP status of the endpoint's answer; null if there was none.
        status: Option<u32> = int(100, 599),
        /// Body of the answer as text, cut at 4 KiB, the secrets of the tool's headers masked; null without an answer.
        body: Option<String> = text(0, TOOL_EVENT_BODY_BYTES_MAX),
        /// Why there is no answer, with the URL, or why no request was made; null if there is an answer.
        error: Option<String> = text(0, 255),
        /// Time from the request to the end of the answer, milliseconds; null if there was none.
        duration_ms: Option<u64> = bytes(0, i64::MAX),
    }
}

record! {
    /// A passage in a call's event `knowledge`, without its text.
    pub struct PassageScore {
        /// Id of the document that the passage is from.
        document_id: u64 = id().required(),
        /// Relevance by BM25.
        score: f64 = number(0.0, 1_000_000.0).required(),
    }
}

record! {
    /// Members of a call's event `knowledge`.
    pub struct KnowledgeAsked {
        /// Words that were searched for.
        query: String = text(1, 1_000).required(),
        /// Passages that were found, the best first.
        passages: Vec<PassageScore> = list::<PassageScore>(PASSAGES_MAX as usize),
        /// Time that the search took; null, for it is part of a single step, in which the service's clock stands still.
        duration_ms: Option<u64> = bytes(0, i64::MAX),
    }
}

record! {
    /// The engine's analysis, as it is stored with the call.
    pub struct CallAnalysis {
        /// Evaluation of the call.
        evaluation: Option<Evaluation> = object::<Evaluation>(),
        /// Values for the fields of `post_call_schema`.
        variables: Variables = variables(),
    }
}

record! {
    /// Body of `POST /engine/calls/{id}/events`.
    pub struct Report {
        /// Events of the call, in order; an empty list renews the lease.
        events: Vec<EngineEvent> = tagged::<EngineEvent>(ENGINE_EVENTS_MAX),
    }
}

record! {
    /// A command to an engine.
    pub struct Command {
        /// Kind of command, always `hangup`.
        r#type: String = text(0, 16).required(),
    }
}

record! {
    /// Answer of `POST /engine/calls/{id}/events`.
    pub struct Reported {
        /// State of the call after these events.
        call_status: CallStatus = choice::<CallStatus>().required(),
        /// Time at which the engine's lease ends; null once the call is over.
        lease: Option<Iso> = iso(),
        /// Commands to carry out now.
        commands: Vec<Command> = list::<Command>(8),
    }
}

record! {
    /// Answer of a tool's endpoint, as an engine gets it.
    pub struct ToolReply {
        /// HTTP status of the answer.
        status: u32 = int(100, 599).required(),
        /// Body of the answer, cut at 1 MiB.
        body: String = text(0, 0).required(),
        /// Time from the request to the end of the answer, milliseconds.
        duration_ms: u64 = id().required(),
    }
}
