//! Calling hours: on which days and between which times of day, in the campaign's zone.
//!
//! Asked by `running.rs` before a call is placed, and by `dialer.rs` when an engine claims it.

use super::tables::Weekday;
use crate::record::Choice;
use crate::time::Timestamp;
use crate::zone::Zone;

/// Calling hours of a campaign, in seconds of the local day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    /// First second of the day at which calls may start.
    pub start: u32,
    /// End of the hours, exclusive. An end of 23:59 means the end of the day, 86,400.
    pub end: u32,
    /// Allowed weekdays, Monday first.
    pub days: [bool; 7],
}

/// Whether the calling hours are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Open at this moment.
    Open,
    /// Closed; opens at this time.
    At(Timestamp),
    /// Never opens: no day is allowed.
    Never,
}

/// Days searched for the next opening: a week and a day, and two more for changes of the clock.
const DAYS_AHEAD: u64 = 10;
const DAY: u32 = 86_400;

impl Hours {
    /// Parses the members of a campaign: two times `HH:MM:SS`, and the days.
    pub fn of(start: &str, end: &str, days: &[Weekday]) -> Self {
        let end = if end.starts_with("23:59") { DAY } else { seconds(end) };
        let mut allowed = [false; 7];
        for (at, day) in Weekday::ALL.iter().enumerate() {
            allowed[at] = days.contains(day);
        }
        Self { start: seconds(start), end, days: allowed }
    }

    fn hold(&self, weekday: u8, seconds: u32) -> bool {
        self.days[usize::from(weekday % 7)] && (self.start..self.end).contains(&seconds)
    }

    /// Returns whether the hours are open at `now`, and otherwise when they open next.
    pub fn opening(&self, zone: &Zone, now: Timestamp) -> Opening {
        let today = zone.local(now);
        if self.hold(today.weekday, today.seconds) {
            return Opening::Open;
        }
        let openings = (0..DAYS_AHEAD).filter_map(|ahead| {
            let day = today.plus_days(ahead).filter(|day| self.days[usize::from(day.weekday)])?;
            let at = zone.instant(day, self.start).filter(|at| *at > now)?;
            // A change to summer time may skip all the hours of a day.
            let local = zone.local(at);
            self.hold(local.weekday, local.seconds).then_some(at)
        });
        openings.min().map_or(Opening::Never, Opening::At)
    }
}

const WEEK: u64 = 7 * DAY as u64;
/// Weeks that a forecast looks ahead: ten years.
const WEEKS_AHEAD: u64 = 520;

impl Hours {
    /// Returns the open seconds from `from` to `to`. Whole weeks count alike, whatever the clock does in them.
    pub fn open_seconds(&self, zone: &Zone, from: Timestamp, to: Timestamp) -> u64 {
        let weeks = to.seconds_since(from) / WEEK;
        let rest = from.plus_seconds(weeks * WEEK);
        let parts = self.windows(zone, rest).map(|(open, close)| close.min(to).seconds_since(open.max(rest)));
        weeks * self.week() + parts.sum::<u64>()
    }

    /// Returns when `seconds` more open seconds have passed after `now`; `None` if the hours never open, or it is more
    /// than ten years ahead.
    pub fn after(&self, zone: &Zone, now: Timestamp, seconds: u64) -> Option<Timestamp> {
        let weeks = seconds.checked_div(self.week()).filter(|weeks| *weeks < WEEKS_AHEAD)?;
        let from = now.plus_seconds(weeks * WEEK);
        let mut left = seconds % self.week();
        for (open, close) in self.windows(zone, from) {
            let open = open.max(from);
            let there = close.seconds_since(open);
            if left <= there {
                return Some(open.plus_seconds(left));
            }
            left -= there;
        }
        // A change of the clock has taken hours away: the rest is in the next week, to the day.
        Some(from.plus_seconds(WEEK + left))
    }

    /// Returns the open seconds of a week.
    fn week(&self) -> u64 {
        let days = self.days.iter().map(|open| u64::from(*open)).sum::<u64>();
        days * u64::from(self.end.saturating_sub(self.start))
    }

    /// Returns the openings and closings of the days around and after `from`, of eight days in all.
    fn windows(&self, zone: &Zone, from: Timestamp) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let today = zone.local(from);
        (0..=7).filter_map(move |ahead| {
            let day = today.plus_days(ahead).filter(|day| self.days[usize::from(day.weekday)])?;
            let open = zone.instant(day, self.start)?;
            Some((open, open.plus_seconds(u64::from(self.end - self.start))))
        })
    }
}

fn seconds(clock: &str) -> u32 {
    let mut parts = clock.split(':').map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 3_600 + next() * 60 + next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORK: [Weekday; 5] =
        [Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday, Weekday::Friday];

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_iso(text).expect("a time")
    }

    #[test]
    fn hours_are_those_of_the_zone() {
        let hours = Hours::of("09:00:00", "18:00:00", &WORK);
        let bucharest = Zone::of("Europe/Bucharest");
        for (now, want) in [
            ("2026-11-20T07:00:00Z", Opening::Open),
            ("2026-11-20T06:59:59Z", Opening::At(at("2026-11-20T07:00:00Z"))),
            ("2026-11-20T15:59:59Z", Opening::Open),
            ("2026-11-20T16:00:00Z", Opening::At(at("2026-11-23T07:00:00Z"))),
            // Summer time ends on the night of 25 October.
            ("2026-10-23T15:00:00Z", Opening::At(at("2026-10-26T07:00:00Z"))),
            ("2026-10-22T15:00:00Z", Opening::At(at("2026-10-23T06:00:00Z"))),
        ] {
            assert_eq!(hours.opening(&bucharest, at(now)), want, "{now}");
        }
        assert_eq!(
            Hours::of("09:00:00", "18:00:00", &[]).opening(&bucharest, at("2026-11-20T07:00:00Z")),
            Opening::Never
        );
        let all_day = Hours::of("00:00:00", "23:59:00", Weekday::ALL);
        assert_eq!(all_day.opening(&bucharest, at("2026-11-20T21:59:59Z")), Opening::Open);
    }

    #[test]
    fn a_leap_of_the_clock_opens_at_the_leap_or_not_at_all() {
        let new_york = Zone::of("America/New_York");
        let before = at("2026-03-08T05:30:00Z");
        let half_gone = Hours::of("02:30:00", "04:00:00", &[Weekday::Sunday]);
        assert_eq!(half_gone.opening(&new_york, before), Opening::At(at("2026-03-08T07:00:00Z")));
        let all_gone = Hours::of("02:10:00", "02:50:00", &[Weekday::Sunday]);
        assert_eq!(all_gone.opening(&new_york, before), Opening::At(at("2026-03-15T06:10:00Z")));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// The next opening is the first open minute that a minute-by-minute search finds.
        #[test]
        fn the_next_opening_is_the_first_open_minute(
            zone in prop::sample::select(&["Europe/Bucharest", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kolkata"][..]),
            minute in 29_000_000_u64..30_500_000, start in 0_u32..1_400, length in 1_u32..500, days in prop::array::uniform7(any::<bool>()),
        ) {
            let zone = Zone::of(zone);
            let hours = Hours { start: start * 60, end: ((start + length) * 60).min(DAY), days };
            let now = Timestamp::from_seconds(minute * 60);
            let open = |at: Timestamp| { let local = zone.local(at); hours.hold(local.weekday, local.seconds) };
            let walked = (0..11 * 1_440).map(|ahead| now.plus_seconds(ahead * 60)).find(|at| open(*at));
            match hours.opening(&zone, now) {
                Opening::Open => prop_assert_eq!(walked, Some(now)),
                Opening::At(at) => prop_assert_eq!(walked, Some(at)),
                Opening::Never => prop_assert!(days.iter().all(|day| !day) || walked.is_none(), "{:?}", walked),
            }
        }
    }

    #[test]
    fn open_time_is_counted_and_laid_ahead() {
        let hours = Hours::of("09:00:00", "18:00:00", &WORK);
        let bucharest = Zone::of("Europe/Bucharest");
        let friday = at("2026-11-20T07:00:00Z");
        for (to, open) in [
            ("2026-11-20T07:30:00Z", 1_800),
            ("2026-11-21T12:00:00Z", 9 * 3_600),
            ("2026-11-23T08:00:00Z", 10 * 3_600),
            ("2026-12-04T07:00:00Z", 90 * 3_600),
        ] {
            assert_eq!(hours.open_seconds(&bucharest, friday, at(to)), open, "{to}");
        }
        assert_eq!(hours.open_seconds(&bucharest, friday, at("2026-11-19T07:00:00Z")), 0);
        for (seconds, want) in [
            (1_800, Some("2026-11-20T07:30:00Z")),
            (9 * 3_600, Some("2026-11-20T16:00:00Z")),
            (9 * 3_600 + 60, Some("2026-11-23T07:01:00Z")),
            (91 * 3_600, Some("2026-12-04T08:00:00Z")),
            (u64::MAX, None),
        ] {
            assert_eq!(hours.after(&bucharest, friday, seconds), want.map(at), "{seconds}");
        }
        assert_eq!(Hours::of("09:00:00", "18:00:00", &[]).after(&bucharest, friday, 60), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// So many open seconds lie before the moment that they are laid ahead to.
        #[test]
        fn what_is_laid_ahead_is_counted_back(
            minute in 29_000_000_u64..30_500_000, start in 0_u32..1_400, length in 1_u32..500,
            days in prop::array::uniform7(any::<bool>()), ahead in 1_u64..10_000_000,
        ) {
            prop_assume!(days.contains(&true));
            let zone = Zone::of("Etc/UTC");
            let hours = Hours { start: start * 60, end: ((start + length) * 60).min(DAY), days };
            let now = Timestamp::from_seconds(minute * 60);
            if let Some(at) = hours.after(&zone, now, ahead) {
                prop_assert_eq!(hours.open_seconds(&zone, now, at), ahead);
            }
        }
    }
}
