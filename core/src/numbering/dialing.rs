//! How numbers are written in each country, and their E.164 form: trunk prefix dropped, calling code added.
//!
//! The facts are data (`core/data/dialing.txt`), a line a calling code:
//! `code|countries|international prefixes|trunk prefixes|digits of national numbers`, the last as `26:8 7:9-10` for
//! numbers of 8 digits that begin with 2 or 6 and numbers of 9 or 10 that begin with 7. `00` is an international prefix
//! everywhere; prefixes that select a carrier are left out where the plain one serves. Lines without countries are
//! services that belong to none. The codes are those of ITU-T E.164 and ISO 3166-1 (with XK for Kosovo); prefixes and
//! lengths follow libphonenumber 9.0 for landlines, mobile and toll-free numbers.
//!
//! It does not know which numbers are in service, and reads nothing that may mean two numbers: a wrong one rings at a
//! stranger's.

use alloc::format;
use alloc::string::String;

use crate::record::format::Format;

static SHIPPED: &str = include_str!("../../data/dialing.txt");

/// International prefix that is read everywhere, besides those of a country (ITU-T E.164 recommends it).
const ABROAD: &str = "00";

/// A country that has a numbering plan, as an ISO 3166-1 alpha-2 code in either case; kept in capitals.
pub static COUNTRY: Format = Format {
    name: "country",
    pattern: "^[A-Za-z]{2}$",
    known_as: Some("iso-3166-1-alpha-2"),
    says: "must be the two letters of a country (ISO 3166-1 alpha-2), such as US.",
    tidy: Some(str::to_ascii_uppercase),
    accepts: |text| DialingCountry::of(text).is_some(),
};

/// How numbers are dialed in a country.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialingCountry {
    /// ISO 3166-1 alpha-2 code, in capitals.
    pub iso: &'static str,
    plan: DialingPlan,
}

/// A line of the data, part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DialingPlan {
    code: &'static str,
    countries: &'static str,
    abroad: &'static str,
    trunk: &'static str,
    digits: &'static str,
}

/// Why a text is not read as a number of a country.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It has no form that the country's numbers have.
    NoNumber,
    /// It may mean either of these numbers.
    Ambiguous(String, String),
}

impl DialingCountry {
    /// Finds how numbers are dialed in the country of a code in capitals.
    pub fn of(iso: &str) -> Option<Self> {
        plans().find_map(|plan| {
            let iso = plan.countries.split(' ').find(|known| !known.is_empty() && *known == iso)?;
            Some(Self { iso, plan })
        })
    }

    /// Returns the E.164 form of a number as it is written in this country, without a `+`: a national number with or
    /// without its trunk prefix, or one behind an international prefix. A number whose `+` was lost is read where it
    /// cannot be a national one.
    pub fn e164(&self, written: &str) -> Result<String, Unread> {
        // A spreadsheet that takes numbers for quantities may write `.0` behind them.
        let written = written.trim();
        let written = written.strip_suffix(".0").unwrap_or(written);
        let digits: String = written.chars().filter(|c| !is_mark(*c)).collect();
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Unread::NoNumber);
        }
        let mut meant = self.national(&digits).into_iter().chain(self.international(&digits));
        let first = meant.next().ok_or(Unread::NoNumber)?;
        match meant.find(|other| *other != first) {
            Some(other) => Err(Unread::Ambiguous(first, other)),
            None => Ok(first),
        }
    }

    /// Returns an E.164 number as it is dialed in this country: a number of its own behind the trunk prefix, another one
    /// behind the international prefix.
    pub fn dialed(&self, e164: &str) -> String {
        let digits = e164.trim_start_matches('+');
        match digits.strip_prefix(self.plan.code).filter(|number| self.plan.has(number)) {
            Some(number) => format!("{}{number}", prefixes(self.plan.trunk).next().unwrap_or_default()),
            None => format!("{}{digits}", prefixes(self.plan.abroad).next().unwrap_or(ABROAD)),
        }
    }

    /// Reads a national number. A trunk prefix goes first: `8 800 …` in Russia, where numbers begin with 8 too.
    fn national(&self, digits: &str) -> Option<String> {
        if digits.starts_with(ABROAD) {
            return None;
        }
        let behind_trunk = prefixes(self.plan.trunk).filter_map(|trunk| digits.strip_prefix(trunk));
        let number = behind_trunk.chain([digits]).find(|number| self.plan.has(number))?;
        Some(format!("+{}{number}", self.plan.code))
    }

    /// Reads a number with a calling code, behind each prefix that it may be dialed with, and behind none.
    fn international<'d>(&self, digits: &'d str) -> impl Iterator<Item = String> + use<'d> {
        let lost = digits.strip_prefix(self.plan.code).filter(|number| self.plan.has(number)).map(|_| digits);
        let abroad = prefixes(self.plan.abroad).chain([ABROAD]).filter_map(|prefix| digits.strip_prefix(prefix));
        let known =
            |number: &&str| plans().any(|plan| number.strip_prefix(plan.code).is_some_and(|rest| plan.has(rest)));
        abroad.filter(known).chain(lost).map(|number| format!("+{number}"))
    }
}

impl DialingPlan {
    /// Returns whether national numbers of this plan may begin and be as long as this one.
    fn has(&self, number: &str) -> bool {
        let begins = |first: &str| number.chars().next().is_some_and(|digit| first.contains(digit));
        let spans = self.digits.split(' ').filter_map(|span| span.split_once(':'));
        spans.filter(|(first, _)| begins(first)).any(|(_, lengths)| {
            lengths.split(',').any(|span| {
                let (min, max) = span.split_once('-').unwrap_or((span, span));
                let bound = |text: &str| text.parse::<usize>().ok();
                bound(min).is_some_and(|min| min <= number.len()) && bound(max).is_some_and(|max| number.len() <= max)
            })
        })
    }
}

/// Reads the plans, in the order of the data.
fn plans() -> impl Iterator<Item = DialingPlan> {
    SHIPPED.lines().filter_map(|line| {
        let mut parts = line.split('|');
        let mut part = || parts.next();
        Some(DialingPlan { code: part()?, countries: part()?, abroad: part()?, trunk: part()?, digits: part()? })
    })
}

fn prefixes(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(' ').filter(|prefix| !prefix.is_empty())
}

/// Returns whether people write this between the digits of a number: `(415) 555-0100`, `030/123`, `8~10`, and the
/// dashes and blanks of word processors.
const fn is_mark(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '.' | '-' | '(' | ')' | '/' | '~' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2010}'..='\u{2014}'
    )
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn numbers_are_read_as_their_country_writes_them() {
        for (iso, written, want) in [
            ("DE", "030 123456", "+4930123456"),
            ("DE", "030/12 34 56", "+4930123456"),
            ("DE", "(030) 123\u{2013}456", "+4930123456"),
            ("DE", "0049 30 123456", "+4930123456"),
            ("DE", "30123456", "+4930123456"),
            ("DE", "30123456.0", "+4930123456"),
            ("IT", "06 1234 5678", "+390612345678"),
            ("IT", "392 123 4567", "+393921234567"),
            ("IT", "39 392 123 4567", "+393921234567"),
            ("IT", "0044 20 7946 0958", "+442079460958"),
            ("FR", "01.23.45.67.80", "+33123456780"),
            ("FR", "33123456780", "+33123456780"),
            ("GB", "020 7946 0958", "+442079460958"),
            ("US", "(415) 555-0100", "+14155550100"),
            ("US", "1-415-555-0100", "+14155550100"),
            ("US", "011 44 20 7946 0958", "+442079460958"),
            ("US", "00 44 20 7946 0958", "+442079460958"),
            ("PR", "787 555 0100", "+17875550100"),
            ("RU", "8 (495) 123-45-67", "+74951234567"),
            ("RU", "812 123 45 67", "+78121234567"),
            ("RU", "8~10 1 415 555 0100", "+14155550100"),
            ("KZ", "8 701 123 45 67", "+77011234567"),
            ("BY", "8 029 123-45-67", "+375291234567"),
            ("HU", "06 30 123 4567", "+36301234567"),
            ("LT", "8 612 34567", "+37061234567"),
            ("LT", "0 612 34567", "+37061234567"),
            ("LT", "800 12345", "+37080012345"),
            ("AU", "0412 345 678", "+61412345678"),
            ("AU", "0011 1 415 555 0100", "+14155550100"),
            ("JP", "010 49 30 123456", "+4930123456"),
            ("CI", "07 01 23 45 67", "+2250701234567"),
            ("ES", "612 34 56 78", "+34612345678"),
            ("BR", "0 11 91234-5678", "+5511912345678"),
            ("IN", "91234 56789", "+919123456789"),
            ("XK", "044 123 456", "+38344123456"),
            ("US", "011 800 1234 5678", "+80012345678"),
        ] {
            assert_eq!(read(iso, written).as_deref(), Ok(want), "{iso} {written}");
        }
    }

    #[test]
    fn nothing_is_guessed() {
        for (iso, written) in [
            ("US", "555-0100"),
            ("US", "115 555 0100"),
            ("US", "415 555 0100 ext 5"),
            ("US", "415 555 01001"),
            ("US", "4.155550E+9"),
            ("FR", "0 33 1 23 45 67 80"),
            ("DE", "0049 (0)30 123456"),
            ("DE", "00999 123456"),
            ("DE", "12"),
            ("DE", "0000000000"),
            ("DE", "+4930123456"),
            ("DE", ""),
            ("DE", "."),
            ("DE", "\u{0663}\u{0664}\u{0665}\u{0666}\u{0667}\u{0668}"),
            ("DE", &"9".repeat(60_000)),
        ] {
            assert_eq!(read(iso, written), Err(Unread::NoNumber), "{iso} {written}");
        }
        for (iso, written, first, second) in [
            // A mobile number without its plus, or one of the area whose code begins with 49.
            ("DE", "49151 2345678", "+49491512345678", "+491512345678"),
            // Abroad is dialed with 009 in Nigeria, and written with 00 by most.
            ("NG", "0091 98765 43210", "+19876543210", "+919876543210"),
        ] {
            assert_eq!(read(iso, written), Err(Unread::Ambiguous(first.into(), second.into())), "{iso} {written}");
        }
    }

    #[test]
    fn a_country_is_a_code_of_two_letters() {
        for iso in ["DE", "US", "VA", "XK", "AX"] {
            assert!((COUNTRY.accepts)(iso), "{iso}");
        }
        for iso in ["", " ", "D", "DE ", "de", "EU", "ZZ", "GB GG", "00", "|"] {
            assert!(!(COUNTRY.accepts)(iso), "{iso}");
        }
    }

    /// Whatever the data says is used, and no text is read as a number that E.164 does not have.
    #[test]
    fn the_shipped_plans_are_whole() {
        assert_eq!(plans().count(), SHIPPED.lines().count());
        let mut countries: Vec<&str> = plans().flat_map(|plan| prefixes(plan.countries)).collect();
        let count = countries.len();
        countries.sort_unstable();
        countries.dedup();
        assert_eq!((countries.len(), count), (245, 245), "a country has one plan");
        for plan in plans() {
            assert!((1..=3).contains(&plan.code.len()) && !plan.code.starts_with('0'), "{plan:?}");
            for other in plans() {
                assert!(plan == other || !other.code.starts_with(plan.code), "no code begins another: {plan:?}");
            }
            let digits = [plan.code, plan.abroad, plan.trunk].concat().replace(' ', "");
            assert!(digits.bytes().all(|byte| byte.is_ascii_digit()), "{plan:?}");
            for span in plan.digits.split(' ') {
                let (first, lengths) = span.split_once(':').expect("digits, and lengths");
                assert!(!first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit()), "{plan:?}");
                for length in lengths.split([',', '-']) {
                    let length: usize = length.parse().expect("a length");
                    assert!((4..=15 - plan.code.len()).contains(&length), "{plan:?}");
                    assert!(plan.has(&format!("{}{}", &first[..1], "0".repeat(length - 1))), "{plan:?}");
                }
            }
        }
    }

    fn read(iso: &str, written: &str) -> Result<String, Unread> {
        DialingCountry::of(iso).expect("a country").e164(written)
    }
}
