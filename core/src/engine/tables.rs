//! API records of the engine interface; the events that engines report are in `event`.

use alloc::string::String;
use alloc::vec::Vec;

use super::PROTOCOL;
use super::event::{EngineEvent, Evaluation};
use super::telephony::Telephony;
use crate::account::attached::LEG;
use crate::call::command::Command;
use crate::call::tables::{Call, CallStatus, CallType};
use crate::catalogue::Mode;
use crate::limits::{
    ARGUMENT_FAULTS_BYTES_MAX, ARGUMENTS_BYTES_MAX, CAPACITY_MAX, CLAIM_WAIT_SECONDS, CLAIMED_MAX, ENGINE_EVENTS_MAX,
    ENGINE_LEGS_MAX, FILTER_MAX, HEARTBEAT_CALLS_MAX, PASSAGES_MAX, REGISTRATIONS_TOLD_MAX, TOOL_EVENT_BODY_BYTES_MAX,
    TRUNK_CHECKS_MAX,
};
use crate::number::registration::ToldRegistration;
use crate::record::{
    ColumnType, Iso, Json, Secret, Variables, any, any_within, boolean, bytes, choice, choices, count, format, id, ids,
    int, iso, list, number, object, require, tagged, text, texts, variables,
};
use crate::{choice, record};

record! {
    /// Calls that an engine wants.
    pub struct ClaimFilter {
        /// Ids of accounts; those of all accounts if empty.
        account_ids: Vec<u64> = ids(FILTER_MAX),
        /// Ids of the trunks by which calls go out; all if empty.
        trunk_ids: Vec<u64> = ids(FILTER_MAX),
        /// Types of calls; all types if empty.
        types: Vec<CallType> = choices::<CallType>(3),
    }
}

record! {
    /// Body of `POST /engine/claim`.
    pub struct Claim {
        /// Name of the engine, shown in the call's event `claimed`.
        engine: String = text(1, 64).required(),
        /// Modes that the engine can carry; all of them if empty.
        modes: Vec<Mode> = choices::<Mode>(3),
        /// Most calls to claim now; 0 waits for commands alone.
        capacity: u32 = int(0, CAPACITY_MAX as i64).or_int(1),
        /// Longest wait for a call, seconds; 0 answers at once.
        wait: u32 = int(0, CLAIM_WAIT_SECONDS as i64).or_int(0),
        /// Edition of the interface that the engine speaks: with 2 it reports `dialing` before anything rings, so that a
        /// call which it loses before is given to another.
        protocol: u32 = int(1, PROTOCOL as i64).or_int(1),
        /// Calls that the engine wants; it narrows what its token may have.
        filter: Option<ClaimFilter> = object::<ClaimFilter>(),
        /// Whether the engine checks SIP trunks; such checks go to tokens with `telephony` alone.
        checks: bool = boolean().or_bool(false),
    }
}

record! {
    /// A SIP trunk that a user wants checked.
    pub struct AskedTrunkCheck {
        /// Id of the check, to answer it by.
        id: String = text(0, 36).required(),
        /// The trunk, with its credentials.
        trunk: Telephony = object::<Telephony>().required(),
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
        /// How the call reaches the network; null where its number belongs to nothing that an engine could use.
        telephony: Option<Telephony> = object::<Telephony>(),
        /// Time at which the engine's lease ends; each report renews it.
        lease: Option<Iso> = iso(),
        /// Number of the next event that the engine reports.
        next_seq: u32 = count().required(),
    }
}

record! {
    /// Answer of `POST /engine/claim`.
    pub struct ClaimedCalls {
        /// Claimed calls, at most `capacity`; empty if none came within the wait.
        calls: Vec<Claimed> = list::<Claimed>(CLAIMED_MAX),
        /// New commands to calls that the engine has; empty for an engine of edition 1.
        commands: Vec<Command> = list::<Command>(0),
        /// Trunks to check, each answered within half a minute; only for an engine that says that it checks them.
        checks: Vec<AskedTrunkCheck> = list::<AskedTrunkCheck>(TRUNK_CHECKS_MAX),
    }
}

record! {
    /// Body of `POST /engine/heartbeat`: the calls of an engine, and what it says of itself.
    pub struct Heartbeat {
        /// Name of the engine, as in its claims.
        engine: String = text(1, 64).required(),
        /// Edition of the interface that the engine speaks.
        protocol: u32 = int(1, PROTOCOL as i64).or_int(2),
        /// Ids of the calls whose leases are renewed.
        calls: Vec<u64> = ids(HEARTBEAT_CALLS_MAX),
        /// Version of the engine's program.
        version: Option<String> = text(1, 64),
        /// Name of the machine it runs on.
        host: Option<String> = text(1, 255),
        /// Most calls that it carries at once.
        capacity: Option<u32> = int(0, 100_000),
        /// Calls that it carries now.
        running: Option<u32> = int(0, 100_000),
        /// How busy its machine is, from 0 to 1.
        load: Option<f64> = number(0.0, 1.0),
        /// Ways to telephones and browsers that it has, such as `sip`, `twilio` or `web`.
        legs: Vec<String> = texts(&LEG, ENGINE_LEGS_MAX),
        /// Where browsers reach its web leg: an https URL, or http on this machine.
        web_url: Option<String> = text(1, 255).form(&format::PRIVATE_URL),
        /// Trunks that the engine registers with, and how that goes; their accounts see it on the trunk.
        trunks: Vec<ToldRegistration> = list::<ToldRegistration>(REGISTRATIONS_TOLD_MAX),
    }
}

record! {
    /// Answer of `POST /engine/heartbeat`.
    pub struct RenewedLeases {
        /// Time at which the leases end, unless a request holds one longer.
        lease: Iso = iso().required(),
        /// Ids of those calls that are not this engine's, or are over: hang them up.
        lost: Vec<u64> = ids(HEARTBEAT_CALLS_MAX),
        /// Commands to carry out now.
        commands: Vec<Command> = list::<Command>(0),
        /// Whether the operator drains the engine: it gets no more calls.
        drain: bool = boolean().required(),
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
        /// Inbound: the customer as the network tells it: a number, an extension, `anonymous`. One that is no E.164 number
        /// is the call's `from_raw`.
        from: Option<String> = text(1, 64),
        /// Inbound: the number that was called, as the trunk writes it; it selects the assistant.
        to: Option<String> = text(1, 64),
        /// Inbound: id of the trunk over which the call came; the number must be its own.
        trunk_id: Option<u64> = id(),
        /// Inbound: what the network calls the call, such as its SIP Call-ID. The same call comes back while it is not
        /// over, on its UTC day.
        external_id: Option<String> = text(1, 128).form(&format::PRINTABLE),
        /// Web: the token of a web call that was made, which the browser showed.
        token: Option<Secret> = text(1, 64),
        /// Web: origin of the page, as the browser told it.
        origin: Option<String> = text(1, 255),
        /// Web without a token: id of the assistant that the visitor talks to.
        assistant_id: Option<u64> = id(),
        /// Variables that the call starts with.
        variables: Variables = variables(),
        /// Name of the engine, as in its claims: a claim of that name is answered with the call's commands.
        engine: Option<String> = text(1, 64),
        /// Edition of the interface that the engine speaks.
        protocol: u32 = int(1, PROTOCOL as i64).or_int(1),
    } rules {
        require("to", "type", &["inbound"]),
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
        arguments: Option<Json> = any(),
        /// HTTP status of the endpoint's answer; null if there was none.
        status: Option<u32> = int(100, 599),
        /// Body of the answer as text, cut at 4 KiB, the secrets of the tool's headers masked; null without an answer.
        body: Option<String> = text(0, TOOL_EVENT_BODY_BYTES_MAX),
        /// Why there is no answer, with the URL, or why no request was made; null if there is an answer.
        error: Option<String> = text(0, ARGUMENT_FAULTS_BYTES_MAX),
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
    /// An event of a type that this release does not know.
    pub struct IgnoredEvent {
        /// The engine's number of the event.
        seq: u32 = count().required(),
        /// Type of the event.
        r#type: String = text(0, 64).required(),
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
        commands: Vec<Command> = list::<Command>(0),
        /// Events of the list whose type this release does not know; they are stored all the same.
        ignored: Vec<IgnoredEvent> = list::<IgnoredEvent>(ENGINE_EVENTS_MAX),
    }
}

record! {
    /// Limits of the engine interface.
    pub struct EngineLimits {
        /// Most events of one report.
        events_per_report: u32 = count().required(),
        /// Largest report, bytes.
        report_bytes: u64 = bytes(0, i64::MAX).required(),
        /// Largest event of a type that this release does not know, bytes.
        unknown_event_bytes: u32 = count().required(),
        /// Most events of a call.
        events_per_call: u32 = count().required(),
        /// Most bytes of the events of a call.
        event_bytes_per_call: u64 = bytes(0, i64::MAX).required(),
        /// Most bytes of a call's transcript.
        transcript_bytes_per_call: u64 = bytes(0, i64::MAX).required(),
        /// Longest wait of a claim, seconds.
        claim_wait_seconds: u64 = bytes(0, i64::MAX).required(),
        /// Most calls of a claim.
        calls_per_claim: u32 = count().required(),
        /// How often a call that was not dialed is offered again.
        returns_per_call: u32 = count().required(),
    }
}

record! {
    /// Answer of `GET /engine`.
    pub struct Interface {
        /// Edition of the interface.
        protocol: u32 = count().required(),
        /// Release of the service.
        release: String = text(0, 64).required(),
        /// Types of events that this release knows.
        event_types: Vec<String> = texts(&EVENT_TYPE, 0).required(),
        /// How long an engine keeps a call without reporting, seconds.
        lease_seconds: u64 = bytes(0, i64::MAX).required(),
        /// Limits of the interface.
        limits: EngineLimits = object::<EngineLimits>().required(),
    }
}

/// Bounds of an event's type.
static EVENT_TYPE: ColumnType = ColumnType::Text { min: 1, max: 64, format: None };

record! {
    /// Body of `POST /engine/calls/{id}/tools/{name}`.
    pub struct ToolCall {
        /// Arguments by parameter name, as the model gives them: any JSON, of which what the function's schema names is
        /// sent.
        arguments: Option<Json> = any_within(ARGUMENTS_BYTES_MAX),
        /// Events that led to the request, taken before it is made: one round trip, in the right order.
        events: Vec<EngineEvent> = tagged::<EngineEvent>(ENGINE_EVENTS_MAX),
    }
}

record! {
    /// What a refusal says besides, where the events of the request were taken.
    pub struct TakenEvents {
        /// State of the call after these events.
        call_status: CallStatus = choice::<CallStatus>().required(),
        /// Number of the next event.
        next_seq: u32 = count().required(),
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
