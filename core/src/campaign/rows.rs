//! Campaigns as they are stored: the object that the API shows, without private state.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::{Campaign, CampaignOfCall, CampaignStatus, NewCampaign};
use crate::collection::Facet;
use crate::id;
use crate::json::ToJson;
use crate::key::Kind;
use crate::record::{Iso, Rest, Stored};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;
use crate::zone::Zone;

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

/// Returns the campaign as payloads of calls show it, or `None` if there is no such campaign.
pub fn webhook_json(account: Scope<'_>, count: u32) -> Result<Option<Vec<u8>>, Stop> {
    let Some(row) = account.find(Kind::Campaign, count)? else { return Ok(None) };
    let campaign = Campaign::read(&row.public)?;
    let shown = CampaignOfCall {
        id: campaign.id,
        name: campaign.name,
        status: campaign.status,
        allowed_hours_start_time: campaign.allowed_hours_start_time,
        allowed_hours_end_time: campaign.allowed_hours_end_time,
        allowed_days: campaign.allowed_days,
        max_calls_in_parallel: campaign.max_calls_in_parallel,
        max_retries: campaign.max_retries,
        retry_interval: campaign.retry_interval,
        created_at: campaign.created_at,
        updated_at: campaign.updated_at,
    };
    Ok(Some(shown.to_json()))
}

impl Campaign {
    /// Builds a campaign in the state `draft`, with `lines` calls at once if it says nothing of them; its times of day
    /// get seconds.
    pub fn new(new: NewCampaign, timezone: String, lines: u32, id: u64, at: Timestamp) -> Self {
        Self {
            id,
            name: new.name,
            status: CampaignStatus::Draft,
            assistant_id: new.assistant_id,
            max_calls_in_parallel: new.max_calls_in_parallel.unwrap_or(lines),
            allowed_hours_start_time: with_seconds(&new.allowed_hours_start_time),
            allowed_hours_end_time: with_seconds(&new.allowed_hours_end_time),
            allowed_days: new.allowed_days,
            max_retries: new.max_retries,
            retry_interval: new.retry_interval,
            retry_on_voicemail: new.retry_on_voicemail,
            retry_on_goal_incomplete: new.retry_on_goal_incomplete,
            goal_completion_variable: new.goal_completion_variable,
            mark_complete_when_no_leads: new.mark_complete_when_no_leads,
            starts_at: new.starts_at.and_then(|text| starts_at(&text, &timezone)).map(Iso),
            phone_number_ids: new.phone_number_ids,
            timezone,
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

/// Returns the instant of a checked `starts_at`: a local time that the clock skips is the moment of the skip.
fn starts_at(text: &str, zone: &str) -> Option<Timestamp> {
    if let Some(at) = Timestamp::parse_iso(text) {
        return Some(at);
    }
    // The day of a local time is read as one of UTC: only what the calendar shows is taken of it.
    let shown = Zone::of("Etc/UTC").local(Timestamp::parse_iso(&with_zone(text))?);
    Zone::of(zone).instant(shown, shown.seconds)
}

/// Returns a local time as if it were one of UTC.
fn with_zone(text: &str) -> String {
    alloc::format!("{}Z", if text.len() == 16 { alloc::format!("{text}:00") } else { text.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_an_instant_or_a_local_time() {
        for (text, zone, want) in [
            ("2026-11-20T07:00:00Z", "Europe/Bucharest", "2026-11-20T07:00:00.000000Z"),
            ("2026-11-20T07:00:00.250000Z", "Europe/Bucharest", "2026-11-20T07:00:00.250000Z"),
            ("2026-11-20T09:00", "Europe/Bucharest", "2026-11-20T07:00:00.000000Z"),
            ("2026-07-20T09:00:30", "Europe/Bucharest", "2026-07-20T06:00:30.000000Z"),
            // The clock goes from 2:00 to 3:00: the first valid time after is the moment of the skip.
            ("2026-03-08T02:30", "America/New_York", "2026-03-08T07:00:00.000000Z"),
            ("2026-11-01T01:30", "America/New_York", "2026-11-01T05:30:00.000000Z"),
        ] {
            assert_eq!(starts_at(text, zone).map(Timestamp::iso).as_deref(), Some(want), "{text} {zone}");
        }
    }
}
