//! API records of calls.

use alloc::string::String;

use super::reasons::EndedReason;
use crate::http::csv::CsvSeparator;
use crate::record::{
    Json, Sql, Strictness, Variables, any, choice, count, format, id, int, number, object, ordered, per_page, sql,
    text, variables,
};
use crate::{choice, record};

choice! {
    /// State of a call (docs/api.md, States).
    pub enum CallStatus {
        /// Queued for an engine, or being dialed.
        Initiated = "initiated",
        /// The customer's phone rings.
        Ringing = "ringing",
        /// The line was busy.
        Busy = "busy",
        /// Answered and still going on.
        InProgress = "in-progress",
        /// Ended by neither side, such as at its longest duration; the work after it is pending.
        Ended = "ended",
        /// Over, and all work after it is done or given up.
        Completed = "completed",
        /// The customer hung up; the work after it is pending.
        EndedByCustomer = "ended_by_customer",
        /// The assistant hung up; the work after it is pending.
        EndedByAssistant = "ended_by_assistant",
        /// Nobody picked up within the ringing time.
        NoAnswer = "no-answer",
        /// Could not be carried out, such as without an engine, or was cancelled while queued.
        Failed = "failed",
    }
}

impl CallStatus {
    /// Returns whether the call is not over yet.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Initiated | Self::Ringing | Self::InProgress)
    }
}

choice! {
    /// How a call came about.
    pub enum CallType {
        /// The customer called one of the account's numbers.
        Inbound = "inbound",
        /// The assistant called the customer.
        Outbound = "outbound",
        /// The customer talks in a browser.
        Web = "web",
    }
}

choice! {
    /// Who picked up, as far as the engine can tell.
    pub enum AnsweredBy {
        /// A person, not a machine.
        Human = "human",
        /// Voicemail, or another machine.
        Machine = "machine",
        /// Not known, or not answered.
        Unknown = "unknown",
    }
}

choice! {
    /// Who says a line of the transcript.
    pub enum Sender {
        /// The assistant said it.
        Bot = "bot",
        /// The customer said it.
        Human = "human",
    }
}

record! {
    /// Query of `GET /user/calls`.
    pub struct CallQuery {
        /// Only calls in this state.
        status: Option<CallStatus> = choice::<CallStatus>(),
        /// Only calls of this type.
        r#type: Option<CallType> = choice::<CallType>(),
        /// Only calls with this customer's number; the whole number, not a part of it.
        phone_number: Option<String> = text(1, 32),
        /// Only calls of this assistant.
        assistant_id: Option<u64> = id(),
        /// Only calls of this campaign.
        campaign_id: Option<u64> = id(),
        /// Only calls made on or after this UTC day, `YYYY-MM-DD`.
        date_from: Option<String> = text(1, 10).form(&format::DATE),
        /// Only calls made on or before this UTC day, `YYYY-MM-DD`.
        date_to: Option<String> = text(1, 10).form(&format::DATE),
        /// For `text/csv`: what separates cells; a comma if not given.
        separator: Option<CsvSeparator> = choice::<CsvSeparator>(),
        /// Number of calls on a page.
        per_page: u32 = per_page(15),
        /// Number of the page, from 1.
        page: u64 = id().or_int(1),
    } rules {
        ordered("date_from", "date_to", Strictness::OrEqual, "field must not be before the date from field."),
    }
}

record! {
    /// Middle of each part of the turns, milliseconds; null where no turn had it.
    pub struct LatencyStages stored as "a call" {
        /// Until the engine knew that the customer had finished.
        endpoint_ms: Option<u32> = count(),
        /// Until the words were there.
        stt_ms: Option<u32> = count(),
        /// Until the model's first token.
        llm_ms: Option<u32> = count(),
        /// Until the first sound.
        tts_ms: Option<u32> = count(),
        /// On the line and in the engine's buffers.
        transport_ms: Option<u32> = count(),
        /// Waiting for tools.
        tool_ms: Option<u32> = count(),
    }
}

record! {
    /// How long answers took, from the end of the customer's speech to the first sound, milliseconds.
    pub struct Latency stored as "a call" {
        /// Half of the turns took no longer.
        p50: u32 = count().required(),
        /// Nine of ten turns took no longer.
        p90: u32 = count().required(),
        /// The longest.
        max: u32 = count().required(),
        /// Number of turns.
        turns: u32 = count().required(),
        /// Where the time went.
        stages: LatencyStages = object::<LatencyStages>().required(),
    }
}

record! {
    /// Parts of a call's cost by the operator's price list, USD.
    pub struct CostBreakdown stored as "a call" {
        /// Telephone network.
        carrier: f64 = number(0.0, 0.0).required(),
        /// Understanding of speech.
        stt: f64 = number(0.0, 0.0).required(),
        /// Language model.
        llm: f64 = number(0.0, 0.0).required(),
        /// Synthesis of speech.
        tts: f64 = number(0.0, 0.0).required(),
        /// The service itself.
        platform: f64 = number(0.0, 0.0).required(),
    }
}

record! {
    /// A call of the account.
    pub struct Call stored as "a call" {
        /// Id of the call, assigned by the service.
        id: u64 = id().required(),
        /// Name of the assistant when the call was made.
        assistant_name: String = text(0, 255).required(),
        /// Name of the campaign when the call was made; null for a call of no campaign.
        campaign_name: Option<String> = text(0, 255),
        /// Who called: `inbound` the customer, `outbound` the assistant; `web` is a call from a browser.
        r#type: CallType = choice::<CallType>().required(),
        /// Time from answer to end, seconds; 0 until the call ends, or if it was not answered.
        duration: u32 = int(0, 0).required(),
        /// Number of the assistant that the call shows or came in on, E.164; null if there is none.
        assistant_phone_number: Option<String> = text(0, 16),
        /// Number of the customer, E.164; null if it is not known.
        client_phone_number: Option<String> = text(0, 16),
        /// Current state of the call.
        status: CallStatus = choice::<CallStatus>().required(),
        /// Transcript as text, one line for each turn: `AI: …` or `Customer: …`; empty as long as nothing was said.
        transcript: String = text(0, 0).required(),
        /// Variables that the call was given, overlaid with those collected in it or extracted after it.
        variables: Variables = variables(),
        /// Evaluation after the call; null until it is made, or without `post_call_evaluation`.
        evaluation: Option<Json> = any(),
        /// Last answer to the call's webhook: its status and body; null until there is one.
        webhook_response: Option<Json> = any(),
        /// Part of the cost that the carrier takes, USD; 0 until the engine reports it.
        carrier_cost: f64 = number(0.0, 0.0).required(),
        /// Total cost of the call, USD; 0 until the engine reports it.
        total_cost: f64 = number(0.0, 0.0).required(),
        /// Who picked up: `human`, `machine` (voicemail) or `unknown`.
        answered_by: AnsweredBy = choice::<AnsweredBy>().required(),
        /// URL of the recording; null if there is none.
        recording_url: Option<String> = text(0, 2_048),
        /// When the call was made, UTC.
        created_at: Sql = sql().required(),
        /// When the call last changed, UTC.
        updated_at: Sql = sql().required(),
        /// Id of the assistant that speaks in the call.
        assistant_id: u64 = id().required(),
        /// Id of the campaign that placed the call; null for any other call.
        campaign_id: Option<u64> = id(),
        /// Id of the lead that the call is to; null for a call to no lead.
        lead_id: Option<u64> = id(),
        /// Why the call ended; null while it runs, and for a call that ended before the service kept this.
        ended_reason: Option<EndedReason> = choice::<EndedReason>(),
        /// What an inbound call showed in place of a number, such as `anonymous`; null if it showed a number.
        from_raw: Option<String> = text(0, 64),
        /// How long answers took; null until the call is over, and if its engine did not report it.
        latency: Option<Latency> = object::<Latency>(),
        /// Parts of the cost by the operator's price list; null if the engine did not report what it used.
        cost_breakdown: Option<CostBreakdown> = object::<CostBreakdown>(),
    }
}

record! {
    /// Body of `POST /user/make_call`.
    pub struct NewCall {
        /// Number to call, E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
        /// Id of the assistant that calls, of either type.
        assistant_id: u64 = id().required(),
        /// Variables for this call, filled into the assistant's prompts.
        variables: Variables = variables(),
    }
}

record! {
    /// State of a call that was just placed.
    pub struct Placed {
        /// Id of the call.
        id: u64 = id().required(),
        /// State of the call, always `initiated`.
        status: CallStatus = choice::<CallStatus>().required(),
    }
}

record! {
    /// Answer of `POST /user/make_call`.
    pub struct PlacedCall {
        /// Always `Call initiated successfully`.
        message: String = text(0, 255).required(),
        /// Id of the call.
        call_id: u64 = id().required(),
        /// State of the call, always `initiated`.
        status: CallStatus = choice::<CallStatus>().required(),
        /// The same id and state once more.
        data: Placed = object::<Placed>().required(),
    }
}

record! {
    /// Query of `GET /user/calls/{id}/events`.
    pub struct EventsQuery {
        /// Sequence number (the service's own) after which to start; 0 or nothing starts with the first event.
        after: Option<u32> = int(0, 4_294_967_295),
    }
}
