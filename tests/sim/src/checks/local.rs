//! Local time by another library than the core's: an independent check of calling hours.

use jiff::Timestamp as Instant;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use switchboard_core::time::Timestamp;

use crate::facts::Rules;

/// Returns whether a campaign may call at an instant: its local day is allowed, and its local time is at or after the
/// start of the hours and before their end. An end of 23:59 is the end of the day.
pub fn may_call(rules: &Rules, at: Timestamp) -> Result<bool, String> {
    let zone = TimeZone::get(&rules.timezone).map_err(|error| error.to_string())?;
    let micros = i64::try_from(at.micros()).map_err(|error| error.to_string())?;
    let local = Instant::from_microsecond(micros).map_err(|error| error.to_string())?.to_zoned(zone);
    let clock = format!("{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second());
    let end = if rules.allowed_hours_end_time.starts_with("23:59") { "24" } else { &rules.allowed_hours_end_time };
    let day = rules.allowed_days.iter().any(|day| day == word(local.weekday()));
    Ok(day && clock.as_str() >= rules.allowed_hours_start_time.as_str() && clock.as_str() < end)
}

const fn word(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "monday",
        Weekday::Tuesday => "tuesday",
        Weekday::Wednesday => "wednesday",
        Weekday::Thursday => "thursday",
        Weekday::Friday => "friday",
        Weekday::Saturday => "saturday",
        Weekday::Sunday => "sunday",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_those_of_the_zone() {
        let rules = |end: &str| Rules {
            status: String::new(),
            assistant_id: 1,
            timezone: "Europe/Bucharest".into(),
            max_calls_in_parallel: 1,
            allowed_hours_start_time: "09:00:00".into(),
            allowed_hours_end_time: end.into(),
            allowed_days: vec!["friday".into()],
            max_retries: 1,
            retry_interval: 10,
            retry_on_voicemail: false,
            retry_on_goal_incomplete: false,
            goal_completion_variable: None,
            mark_complete_when_no_leads: true,
        };
        for (end, at, want) in [
            ("18:00:00", "2026-11-20T07:00:00Z", true),
            ("18:00:00", "2026-11-20T06:59:59Z", false),
            ("18:00:00", "2026-11-20T16:00:00Z", false),
            ("18:00:00", "2026-11-21T08:00:00Z", false),
            ("23:59:00", "2026-11-20T21:59:59Z", true),
        ] {
            let at = Timestamp::parse_iso(at).expect("a time");
            assert_eq!(may_call(&rules(end), at), Ok(want), "{end} {at:?}");
        }
    }
}
