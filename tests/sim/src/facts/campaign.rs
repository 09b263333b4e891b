//! Campaigns and their assistants.

use serde::Deserialize;
use switchboard_core::campaign::tables::CampaignStatus;

use super::{Fact, json, word};

/// A campaign.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Where it stands.
    pub status: CampaignStatus,
    /// What its creation says.
    pub rules: Rules,
}

/// The members of a campaign that its dialer goes by.
#[derive(Clone, Debug, Deserialize)]
pub struct Rules {
    /// The word of its state.
    pub status: String,
    /// The assistant that calls.
    pub assistant_id: u64,
    /// The zone of its hours.
    pub timezone: String,
    /// Calls at once.
    pub max_calls_in_parallel: usize,
    /// `HH:MM:SS`
    pub allowed_hours_start_time: String,
    /// `HH:MM:SS`
    pub allowed_hours_end_time: String,
    /// Words of days.
    pub allowed_days: Vec<String>,
    /// Further rounds.
    pub max_retries: u32,
    /// Between rounds, minutes.
    pub retry_interval: u64,
    /// Whether voicemail counts as not reached.
    pub retry_on_voicemail: bool,
    /// Whether a missed goal counts as not reached.
    pub retry_on_goal_incomplete: bool,
    /// The variable that tells of the goal.
    pub goal_completion_variable: Option<String>,
    /// Whether it completes.
    pub mark_complete_when_no_leads: bool,
}

impl Fact for Campaign {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        let rules: Rules = json(public)?;
        Some(Self { status: word(&rules.status)?, rules })
    }
}

/// An assistant.
#[derive(Clone, Debug, Deserialize)]
pub struct Assistant {
    /// `active` or `inactive`
    pub status: String,
    /// `inbound` or `outbound`
    pub r#type: String,
    /// Whether the post-call webhook is on.
    pub is_webhook_active: bool,
    /// Where it goes.
    pub webhook_url: Option<String>,
    /// Whether it is only sent for completed calls.
    pub send_webhook_only_on_completed: bool,
    /// Where the inbound webhook goes.
    pub inbound_webhook_url: Option<String>,
}

impl Fact for Assistant {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        json(public)
    }
}
