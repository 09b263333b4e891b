//! Calls as the claims see them.

use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_core::call::tables::CallStatus;
use switchboard_core::id;
use switchboard_core::time::Timestamp;

use super::{Fact, json, word};

/// A call, reduced to what the claims need.
#[derive(Clone, Debug)]
pub struct Call {
    /// State of the call.
    pub status: CallStatus,
    /// `inbound`, `outbound` or `web`.
    pub kind: String,
    /// The customer's number; `None` for calls without one.
    pub phone: Option<String>,
    /// Count of the assistant.
    pub assistant: u32,
    /// Count of the campaign; `None` for calls that no campaign placed.
    pub campaign: Option<u32>,
    /// Count of the lead; `None` where none is called.
    pub lead: Option<u32>,
    /// Who answered, a word of the API; empty before.
    pub answered_by: String,
    /// Total cost, USD, as the API shows it.
    pub total_cost: f64,
    /// Creation time, as the API shows it.
    pub created_at: String,
    /// Count of the engine token that claimed it; `None` while it waits.
    pub engine: Option<u32>,
    /// When it began to ring; `None` before.
    pub ringing_at: Option<Timestamp>,
    /// Longest time that it may ring, seconds.
    pub ringing_time: u64,
    /// When it ended; `None` while it runs.
    pub ended_at: Option<Timestamp>,
    /// When its engine began to dial; `None` before.
    pub dialing_at: Option<Timestamp>,
    /// How often it went back to the queue.
    pub returns: u32,
    /// Since when its engine is told to hang up; `None` if it is not.
    pub hangup_at: Option<Timestamp>,
    /// Variables collected in the call, and those extracted afterwards.
    pub extracted: Map<String, Value>,
}

#[derive(Deserialize)]
struct CallShown {
    status: String,
    r#type: String,
    client_phone_number: Option<String>,
    assistant_id: u64,
    campaign_id: Option<u64>,
    lead_id: Option<u64>,
    answered_by: String,
    total_cost: f64,
    created_at: String,
}

#[derive(Deserialize)]
struct CallHidden {
    engine: Option<u32>,
    ringing_at: Option<u64>,
    ringing_time: u64,
    ended_at: Option<u64>,
    hangup_at: Option<u64>,
    dialing_at: Option<u64>,
    #[serde(default)]
    returns: u32,
    extracted: Map<String, Value>,
}

impl Fact for Call {
    fn read(public: &[u8], private: &[u8]) -> Option<Self> {
        let shown: CallShown = json(public)?;
        let hidden: CallHidden = json(private)?;
        Some(Self {
            status: word(&shown.status)?,
            kind: shown.r#type,
            phone: shown.client_phone_number,
            assistant: id::count(shown.assistant_id),
            campaign: shown.campaign_id.map(id::count),
            lead: shown.lead_id.map(id::count),
            answered_by: shown.answered_by,
            total_cost: shown.total_cost,
            created_at: shown.created_at,
            engine: hidden.engine,
            ringing_at: hidden.ringing_at.map(Timestamp::from_micros),
            ringing_time: hidden.ringing_time,
            ended_at: hidden.ended_at.map(Timestamp::from_micros),
            hangup_at: hidden.hangup_at.map(Timestamp::from_micros),
            dialing_at: hidden.dialing_at.map(Timestamp::from_micros),
            returns: hidden.returns,
            extracted: hidden.extracted,
        })
    }
}

impl Call {
    /// Returns whether the call is over.
    pub const fn is_finished(&self) -> bool {
        matches!(self.status, CallStatus::Completed | CallStatus::Busy | CallStatus::NoAnswer | CallStatus::Failed)
    }
}
