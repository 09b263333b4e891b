//! The tables of calls.

use alloc::string::String;

use crate::record::{
    Json, Sql, Strictness, Variables, any, choice, format, id, int, number, ordered, sql, text, variables,
};
use crate::{choice, record};

choice! {
    /// The states of a call (docs/api.md, States).
    pub enum CallStatus {
        /// Asked for; no engine has it yet, or it is being dialed.
        Initiated = "initiated",
        /// It rings.
        Ringing = "ringing",
        /// The line was busy.
        Busy = "busy",
        /// People talk.
        InProgress = "in-progress",
        /// It ended by itself.
        Ended = "ended",
        /// All work after it is done.
        Completed = "completed",
        /// The customer hung up.
        EndedByCustomer = "ended_by_customer",
        /// The assistant hung up.
        EndedByAssistant = "ended_by_assistant",
        /// Nobody answered.
        NoAnswer = "no-answer",
        /// It could not be carried out.
        Failed = "failed",
    }
}

impl CallStatus {
    /// Whether the call is still going on.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Initiated | Self::Ringing | Self::InProgress)
    }
}

choice! {
    /// How a call came about.
    pub enum CallType {
        /// A customer called.
        Inbound = "inbound",
        /// The assistant called.
        Outbound = "outbound",
        /// From a browser.
        Web = "web",
    }
}

choice! {
    /// Who picked up.
    pub enum AnsweredBy {
        /// A person.
        Human = "human",
        /// Voicemail.
        Machine = "machine",
        /// It is not known.
        Unknown = "unknown",
    }
}

choice! {
    /// Who says a line of the transcript.
    pub enum Sender {
        /// The assistant.
        Bot = "bot",
        /// The customer.
        Human = "human",
    }
}

record! {
    /// Query of `GET /user/calls`.
    pub struct CallQuery {
        /// Calls in this state.
        status: Option<CallStatus> = choice::<CallStatus>(),
        /// Calls of this type.
        r#type: Option<CallType> = choice::<CallType>(),
        /// Calls with this customer; the whole number.
        phone_number: Option<String> = text(1, 32),
        /// Calls of this assistant.
        assistant_id: Option<u64> = id(),
        /// Calls of this campaign.
        campaign_id: Option<u64> = id(),
        /// From this UTC day on.
        date_from: Option<String> = text(1, 10).form(&format::DATE),
        /// Until this UTC day, included.
        date_to: Option<String> = text(1, 10).form(&format::DATE),
        /// Rows a page.
        per_page: u32 = int(1, 100).or_int(15),
        /// The page, from 1.
        page: u64 = id().or_int(1),
    } rules {
        ordered("date_from", "date_to", Strictness::OrEqual, "field must not be before the date from field."),
    }
}

record! {
    /// A call.
    pub struct Call stored as "a call" {
        /// Its id.
        id: u64 = id().required(),
        /// The assistant's name when the call was made.
        assistant_name: String = text(0, 255).required(),
        /// The campaign's name when the call was made.
        campaign_name: Option<String> = text(0, 255),
        /// How it came about.
        r#type: CallType = choice::<CallType>().required(),
        /// From answer to end, seconds.
        duration: u32 = int(0, 0).required(),
        /// The assistant's number.
        assistant_phone_number: Option<String> = text(0, 16),
        /// The customer's number.
        client_phone_number: Option<String> = text(0, 16),
        /// Where it stands.
        status: CallStatus = choice::<CallStatus>().required(),
        /// What was said, as text.
        transcript: String = text(0, 0).required(),
        /// What the call was given, then what it collected.
        variables: Variables = variables(),
        /// How well it went.
        evaluation: Option<Json> = any(),
        /// The last answer of the webhook.
        webhook_response: Option<Json> = any(),
        /// What the carrier took, USD.
        carrier_cost: f64 = number(0.0, 0.0).required(),
        /// What it cost in all, USD.
        total_cost: f64 = number(0.0, 0.0).required(),
        /// Who picked up.
        answered_by: AnsweredBy = choice::<AnsweredBy>().required(),
        /// Where its recording is.
        recording_url: Option<String> = text(0, 2_048),
        /// When it was made, UTC.
        created_at: Sql = sql().required(),
        /// When it last changed, UTC.
        updated_at: Sql = sql().required(),
        /// The assistant.
        assistant_id: u64 = id().required(),
        /// The campaign.
        campaign_id: Option<u64> = id(),
        /// The lead.
        lead_id: Option<u64> = id(),
    }
}

record! {
    /// Body of `POST /user/make_call`.
    pub struct NewCall {
        /// Whom to call, E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
        /// Who calls.
        assistant_id: u64 = id().required(),
        /// Filled into the assistant's prompts.
        variables: Variables = variables(),
    }
}

record! {
    /// A call that was placed.
    pub struct Placed {
        /// Its id.
        id: u64 = id().required(),
        /// `initiated`
        status: CallStatus = choice::<CallStatus>().required(),
    }
}

record! {
    /// What `POST /user/make_call` answers.
    pub struct PlacedCall {
        /// `Call initiated successfully`
        message: String = text(0, 255).required(),
        /// The call's id.
        call_id: u64 = id().required(),
        /// `initiated`
        status: CallStatus = choice::<CallStatus>().required(),
        /// The same once more.
        data: Placed = crate::record::object::<Placed>().required(),
    }
}
