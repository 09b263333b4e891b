//! Campaigns and assistants as the claims see them.

use serde::Deserialize;
use switchboard_core::campaign::tables::CampaignStatus;

use super::{Fact, json, word};

/// A campaign, reduced to what the claims need.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// State of the campaign.
    pub status: CampaignStatus,
    /// Settings from its creation or last change.
    pub rules: Rules,
}

/// Settings that its dialer follows.
#[derive(Clone, Debug, Deserialize)]
pub struct Rules {
    /// State, a word of the API.
    pub status: String,
    /// Id of the assistant that calls.
    pub assistant_id: u64,
    /// Time zone of the calling hours, an IANA name.
    pub timezone: String,
    /// Most calls at once.
    pub max_calls_in_parallel: usize,
    /// Start of the calling hours, `HH:MM:SS`, local time.
    pub allowed_hours_start_time: String,
    /// End of the calling hours, `HH:MM:SS`, local time.
    pub allowed_hours_end_time: String,
    /// Days on which it calls, words of the API.
    pub allowed_days: Vec<String>,
    /// Rounds after the first one.
    pub max_retries: u32,
    /// Pause between rounds, minutes.
    pub retry_interval: u64,
    /// Whether voicemail counts as not reached.
    pub retry_on_voicemail: bool,
    /// Whether a missed goal counts as not reached.
    pub retry_on_goal_incomplete: bool,
    /// Variable that tells whether the goal was reached.
    pub goal_completion_variable: Option<String>,
    /// Whether it completes once every lead is done.
    pub mark_complete_when_no_leads: bool,
}

impl Fact for Campaign {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        let rules: Rules = json(public)?;
        Some(Self { status: word(&rules.status)?, rules })
    }
}

/// Stored settings of an assistant.
#[derive(Clone, Debug, Deserialize)]
pub struct Assistant {
    /// State, `active` or `inactive`.
    pub status: String,
    /// UUID that strangers name it by.
    pub uuid: String,
    /// Direction of its calls, `inbound` or `outbound`.
    pub r#type: String,
    /// Whether the post-call webhook is on.
    pub is_webhook_active: bool,
    /// URL of the post-call webhook.
    pub webhook_url: Option<String>,
    /// Whether the post-call webhook is sent for completed calls only.
    pub send_webhook_only_on_completed: bool,
    /// URL of the inbound webhook.
    pub inbound_webhook_url: Option<String>,
    /// URL of the webhook of ended conversations.
    pub conversation_ended_webhook_url: Option<String>,
    /// How long nobody says anything until a conversation ends, minutes.
    pub conversation_inactivity_timeout: u64,
    /// Whether each end of a conversation is told, not only the first.
    pub conversation_ended_retrigger: bool,
}

impl Fact for Assistant {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        json(public)
    }
}
