//! Campaigns as they are stored: the object that the API shows, without private state.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::{Campaign, CampaignStatus, NewCampaign};
use crate::collection::Facet;
use crate::id;
use crate::json::ToJson;
use crate::key::Kind;
use crate::record::{Iso, Rest, Stored};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Returns the facet of an assistant's campaigns.
pub fn facet_of_assistant(count: u32) -> Facet {
    Facet::id(1, count)
}

/// Returns the facet of the campaigns that call from a number.
pub fn facet_of_number(count: u32) -> Facet {
    Facet::id(2, count)
}

/// Builds the row of a campaign.
pub fn row(campaign: &Campaign) -> Row {
    let mut facets = Vec::from([facet_of_assistant(id::count(campaign.assistant_id))]);
    for number in &campaign.phone_number_ids {
        let facet = facet_of_number(id::count(*number));
        if !facets.contains(&facet) {
            facets.push(facet);
        }
    }
    Row::open(facets, campaign.to_json())
}

/// Returns the row with a change applied and `updated_at` set to `now`.
pub fn changed(row: &Row, now: Timestamp, change: impl FnOnce(&mut Campaign)) -> Result<Row, Stop> {
    let mut campaign = Campaign::read(&row.public)?;
    change(&mut campaign);
    campaign.updated_at.0 = campaign.updated_at.0.max(now);
    Ok(self::row(&campaign))
}

/// Returns the campaign's name, or `None` if there is no such campaign.
pub fn name_of(account: Scope<'_>, count: u32) -> Result<Option<String>, Stop> {
    account.find(Kind::Campaign, count)?.map(|row| Campaign::MEMBERS.name.read(&row.public)).transpose()
}

impl Campaign {
    /// Builds a campaign in the state `draft`; its times of day get seconds.
    pub fn new(new: NewCampaign, timezone: String, id: u64, at: Timestamp) -> Self {
        Self {
            id,
            name: new.name,
            status: CampaignStatus::Draft,
            assistant_id: new.assistant_id,
            timezone,
            max_calls_in_parallel: new.max_calls_in_parallel,
            allowed_hours_start_time: with_seconds(&new.allowed_hours_start_time),
            allowed_hours_end_time: with_seconds(&new.allowed_hours_end_time),
            allowed_days: new.allowed_days,
            max_retries: new.max_retries,
            retry_interval: new.retry_interval,
            retry_on_voicemail: new.retry_on_voicemail,
            retry_on_goal_incomplete: new.retry_on_goal_incomplete,
            goal_completion_variable: new.goal_completion_variable,
            mark_complete_when_no_leads: new.mark_complete_when_no_leads,
            phone_number_ids: new.phone_number_ids,
            created_at: Iso(at),
            updated_at: Iso(at),
            rest: Rest::default(),
        }
    }
}

/// Returns a time of day as `HH:MM:SS`.
pub fn with_seconds(clock: &str) -> String {
    if clock.len() == 5 { alloc::format!("{clock}:00") } else { clock.into() }
}
