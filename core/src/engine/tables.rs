//! The tables of the engine interface.

use alloc::string::String;
use alloc::vec::Vec;

use crate::call::tables::{AnsweredBy, Call, CallStatus, Sender};
use crate::catalogue::Mode;
use crate::limits::{CAPACITY_MAX, CLAIM_WAIT_SECONDS, CLAIMED_MAX, ENGINE_EVENTS_MAX, TRANSCRIPT_BYTES_MAX, URL_MAX};
use crate::record::{
    Iso, Json, Kind, Variables, any, boolean, bytes, choice, choices, format, id, int, iso, list, number, object,
    require, tagged, text, texts, variables,
};
use crate::{choice, record, tagged};

record! {
    /// Body of `POST /engine/claim`.
    pub struct Claim {
        /// The engine's name, for the events of a call.
        engine: String = text(1, 64).required(),
        /// The modes it can carry; all when none is named.
        modes: Vec<Mode> = choices::<Mode>(3),
        /// Calls that it can take now.
        capacity: u32 = int(1, CAPACITY_MAX as i64).or_int(1),
        /// How long to wait for a call, seconds.
        wait: u32 = int(0, CLAIM_WAIT_SECONDS as i64).or_int(0),
    }
}

record! {
    /// A call that an engine has.
    pub struct Claimed {
        /// The call.
        call: Call = object::<Call>().required(),
        /// The assistant, complete and compiled.
        assistant: Option<Json> = any(),
        /// Until when the call is this engine's.
        lease: Option<Iso> = iso(),
    }
}

record! {
    /// What `POST /engine/claim` answers.
    pub struct ClaimedCalls {
        /// The calls, at most as many as the engine can take.
        calls: Vec<Claimed> = list::<Claimed>(CLAIMED_MAX),
    }
}

choice! {
    /// Calls that an engine brings.
    pub enum Arrival {
        /// From a telephone.
        Inbound = "inbound",
        /// From a browser.
        Web = "web",
    }
}

record! {
    /// Body of `POST /engine/calls`.
    pub struct NewArrival {
        /// How it comes.
        r#type: Arrival = choice::<Arrival>().required(),
        /// Inbound: the customer's number, E.164; not given when it is withheld.
        from: Option<String> = text(1, 16).form(&format::E164),
        /// Inbound: the number that was called, E.164.
        to: Option<String> = text(1, 16).form(&format::E164),
        /// Web: the assistant.
        assistant_id: Option<u64> = id(),
        /// What the call is given.
        variables: Variables = variables(),
    } rules {
        require("to", "type", &["inbound"]),
        require("assistant_id", "type", &["web"]),
    }
}

choice! {
    /// How a call felt.
    pub enum Sentiment {
        /// Good.
        Positive = "positive",
        /// Neither.
        Neutral = "neutral",
        /// Bad.
        Negative = "negative",
    }
}

/// The largest sequence number.
const SEQ_MAX: i64 = 1 << 31;

record! {
    /// It rings.
    pub struct Ringing {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
    }
}

record! {
    /// Somebody, or something, picked up.
    pub struct Answered {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Who.
        answered_by: AnsweredBy = choice::<AnsweredBy>().or_text("unknown"),
    }
}

record! {
    /// Something was said.
    pub struct Transcript {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it was said.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Who said it.
        sender: Sender = choice::<Sender>().required(),
        /// What was said.
        text: String = text(1, TRANSCRIPT_BYTES_MAX * 4).required(),
    }
}

record! {
    /// Variables were collected.
    pub struct Collected {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// The variables; the later one wins.
        variables: Variables = variables(),
    }
}

record! {
    /// A recording is available.
    pub struct Recording {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Where it is.
        url: String = text(1, URL_MAX).form(&format::URL).required(),
    }
}

record! {
    /// The call goes on with somebody else.
    pub struct Transfer {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Whom: a number or an address.
        to: String = text(1, 255).required(),
    }
}

record! {
    /// Keys were pressed.
    pub struct Dtmf {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Which.
        digits: String = text(1, 64).required(),
    }
}

record! {
    /// The call is over.
    pub struct Ended {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Who ended it: `customer`, `assistant` or something else.
        by: Option<String> = text(1, 64),
        /// Why.
        reason: Option<String> = text(1, 255),
    }
}

record! {
    /// The call could not be carried out.
    pub struct Failed {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// Why: `busy` and `no-answer` give those states.
        reason: Option<String> = text(1, 255),
    }
}

record! {
    /// What the call cost.
    pub struct Cost {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// What the carrier took, USD.
        carrier_cost: f64 = number(0.0, 1_000_000.0).or_number(0.0),
        /// What it cost in all, USD.
        total_cost: f64 = number(0.0, 1_000_000.0).or_number(0.0),
    }
}

record! {
    /// How well a call went.
    pub struct Evaluation {
        /// Whether it reached its goal; null when that cannot be told.
        success: Option<bool> = boolean(),
        /// How it felt.
        sentiment: Sentiment = choice::<Sentiment>().required(),
        /// What happened.
        summary: String = text(1, 4_000).required(),
    }
}

record! {
    /// What the engine itself makes of the call: used where the operator configured no model.
    pub struct Analysis {
        /// The engine's own count of events, from 1.
        seq: u32 = int(1, SEQ_MAX).required(),
        /// When it happened.
        at: Option<String> = text(1, 40).form(&format::INSTANT),
        /// How well the call went.
        evaluation: Option<Evaluation> = object::<Evaluation>(),
        /// The fields of `post_call_schema`.
        variables: Variables = variables(),
    }
}

tagged! {
    /// What happened in a call.
    pub enum EngineEvent {
        /// It rings.
        Ringing(Ringing) = "ringing",
        /// Somebody, or something, picked up.
        Answered(Answered) = "answered",
        /// Something was said.
        Transcript(Transcript) = "transcript",
        /// Variables were collected.
        Variables(Collected) = "variables",
        /// A recording is available.
        Recording(Recording) = "recording",
        /// The call goes on with somebody else.
        Transfer(Transfer) = "transfer",
        /// Keys were pressed.
        Dtmf(Dtmf) = "dtmf",
        /// The call is over.
        Ended(Ended) = "ended",
        /// The call could not be carried out.
        Failed(Failed) = "failed",
        /// What the call cost.
        Cost(Cost) = "cost",
        /// What the engine makes of the call.
        Analysis(Analysis) = "analysis",
    }
}

record! {
    /// What the event `claimed` of a call says.
    pub struct ClaimedBy {
        /// The engine's name.
        engine: String = text(0, 64).required(),
    }
}

record! {
    /// What the event `unsupported` of a call says.
    pub struct Unsupported {
        /// The settings of its assistant that do not apply.
        settings: Vec<String> = texts(&SETTING, 8),
    }
}

/// A setting of an assistant.
static SETTING: Kind = Kind::Text { min: 1, max: 64, format: None };

record! {
    /// What the event `tool` of a call says.
    pub struct ToolAsked {
        /// The tool.
        name: String = text(0, 255).required(),
        /// The status of its endpoint's answer.
        status: Option<u32> = int(100, 599).sparse(),
        /// From the request to the end of the answer, milliseconds.
        duration_ms: Option<u64> = bytes(0, i64::MAX).sparse(),
        /// Why nothing was asked.
        error: Option<String> = text(0, 255).sparse(),
    }
}

record! {
    /// What an engine makes of its call, as the call keeps it.
    pub struct CallAnalysis {
        /// How well it went.
        evaluation: Option<Evaluation> = object::<Evaluation>(),
        /// The fields of `post_call_schema`.
        variables: Variables = variables(),
    }
}

record! {
    /// Body of `POST /engine/calls/{id}/events`.
    pub struct Report {
        /// What happened, in order; nothing renews the lease.
        events: Vec<EngineEvent> = tagged::<EngineEvent>(ENGINE_EVENTS_MAX),
    }
}

record! {
    /// What an engine is told to do.
    pub struct Command {
        /// `hangup`
        r#type: String = text(0, 16).required(),
    }
}

record! {
    /// What `POST /engine/calls/{id}/events` answers.
    pub struct Reported {
        /// Where the call stands.
        call_status: CallStatus = choice::<CallStatus>().required(),
        /// Until when the call is this engine's; null once it is over.
        lease: Option<Iso> = iso(),
        /// What to do.
        commands: Vec<Command> = list::<Command>(8),
    }
}

record! {
    /// What a tool's endpoint answered an engine.
    pub struct ToolReply {
        /// Its status.
        status: u32 = int(100, 599).required(),
        /// Its body, cut at 1 MiB.
        body: String = text(0, 0).required(),
        /// From the request to the end of the answer, milliseconds.
        duration_ms: u64 = id().required(),
    }
}
