//! Telephone numbering facts for the ten countries whose numbers the service can sell.
//!
//! Used by the simulated carrier, whose virtual numbers are computed here from an index, and to show numbers to people.
//! It keeps no list of numbers, uses no network and no clock, and does not know whether a number is in service. The
//! facts are data (`plan.rs`).

pub mod dialing;
mod plan;

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt::Write as _;

use self::plan::{NumberKind, NumberingPlan, plans};
use crate::record::is_e164;

/// The ten countries, as ISO 3166-1 alpha-2 codes, in the order the service lists them.
#[rustfmt::skip]
pub const COUNTRIES: [&str; 10] = ["US", "CA", "GB", "AU", "IL", "PL", "FI", "NL", "DK", "IT"];

/// Virtual numbers in the inventory of each country.
const SIZE: usize = 4_000;

/// Distance between the numbers of successive turns. It ends in 3, so it is coprime to 10 and no two turns within a
/// power of ten yield the same number.
const STEP: u64 = 6_381_736_173;

/// A number for sale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Number in E.164 form.
    pub number: String,
    /// Country, one of [`COUNTRIES`].
    pub country: &'static str,
    /// Monthly price in US cents.
    pub price_cents: u32,
    /// Address that the buyer must provide: `none`, `local`, `foreign` or `inventory`.
    pub address_requirements: &'static str,
    /// Whether it can send and receive SMS.
    pub sms_capable: bool,
}

/// Returns the ISO code of an E.164 number's country, if it is one of the ten; other countries that share a calling
/// code return `None`.
pub fn country_of(e164: &str) -> Option<&'static str> {
    locate(e164).map(|(plan, _)| plan.iso.as_str())
}

/// Formats a number as it is written in its country; outside the ten countries the text is returned unchanged.
pub fn display(e164: &str) -> String {
    national(e164).unwrap_or_else(|| e164.to_owned())
}

/// Returns the first `limit` offers whose E.164 digits contain `digits`, by index; the same on every host.
pub fn inventory(country: &str, digits: &str, limit: usize) -> Vec<Offer> {
    let Some(plan) = plans().iter().find(|plan| plan.iso == country) else {
        return Vec::new();
    };
    let lots: Vec<_> = plan.kinds.iter().flat_map(|kind| lots(plan, kind)).collect();
    let mut text = String::new();
    // The prefixes take turns, so that the first offers already show the variety.
    (0..)
        .flat_map(|turn| lots.iter().map(move |lot| (turn, lot)))
        .map(|(turn, &(kind, low, room))| (kind, low + (low / 1_009 + turn * STEP) % room))
        .filter(|(_, number)| dialable(*number))
        .take(SIZE)
        .filter(|(_, number)| holds(*number, digits, &mut text))
        .take(limit)
        .map(|(kind, number)| Offer {
            number: format!("+{number}"),
            country: &plan.iso,
            price_cents: kind.price_cents,
            address_requirements: &kind.address_requirements,
            sms_capable: kind.sms_capable,
        })
        .collect()
}

/// Returns the offer of exactly this number; `None` if it is in no country's inventory.
pub fn offer(e164: &str) -> Option<Offer> {
    let near = inventory(country_of(e164)?, e164.get(1..)?, SIZE);
    near.into_iter().find(|offer| offer.number == e164)
}

/// Returns the plan of an E.164 number, and the number without its calling code.
fn locate(e164: &str) -> Option<(&'static NumberingPlan, &str)> {
    let digits = e164.strip_prefix('+').filter(|_| is_e164(e164))?;
    // In reverse order, so that Canada matches its area codes before the United States match the rest.
    plans().iter().rev().find_map(|plan| {
        let rest = digits.strip_prefix(plan.calling_code.as_str())?;
        let sized = rest.len() == 10 || rest.len() > 4 && plan.calling_code != "1";
        let own = plan.prefixes.is_empty() || begins(rest, &plan.prefixes);
        let foreign = plan.foreign.iter().any(|foreign| begins(rest, &foreign.prefixes));
        (sized && own && !foreign).then_some((plan, rest))
    })
}

/// Returns whether a number begins with one of these prefixes.
fn begins(number: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| number.starts_with(prefix.as_str()))
}

/// Formats the number by the first layout for its prefix, in the first form for its length.
fn national(e164: &str) -> Option<String> {
    let (plan, digits) = locate(e164)?;
    let layout = plan.layouts.iter().find(|layout| layout.prefixes.is_empty() || begins(digits, &layout.prefixes))?;
    let takes = |form: &&String| form.ends_with('*') || form.matches('x').count() == digits.len();
    let form = layout.forms.iter().find(takes)?;
    let (mut rest, mut text) = (digits.chars(), String::new());
    for mark in form.chars() {
        match mark {
            'x' => text.extend(rest.next()),
            '*' => text.extend(rest.by_ref()),
            other => text.push(other),
        }
    }
    Some(text)
}

/// Returns the prefixes of a kind, each with its lowest number and the count of its numbers.
fn lots<'p>(plan: &'p NumberingPlan, kind: &'p NumberKind) -> impl Iterator<Item = (&'p NumberKind, u64, u64)> {
    let digits = kind.digits as usize;
    kind.prefixes.iter().map(move |prefix| {
        let lowest = format!("{}{prefix:0<digits$}", plan.calling_code).parse();
        let room = core::iter::repeat_n(10, digits - prefix.len()).product();
        (kind, lowest.unwrap_or_default(), room)
    })
}

/// Returns whether a number can be assigned: in North America the exchange code must be at least 200 and not N11 or
/// 555.
fn dialable(number: u64) -> bool {
    let exchange = number / 10_000 % 1_000;
    let open = exchange >= 200 && exchange % 100 != 11 && exchange != 555;
    open || number / 10_000_000_000 != 1
}

/// Returns whether the digits of a number contain `wanted`; `text` is a buffer reused to save allocations.
fn holds(number: u64, wanted: &str, text: &mut String) -> bool {
    text.clear();
    write!(text, "{number}").is_ok() && text.contains(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inventories_are_full_unique_and_agree_with_offer() {
        let mut seen = alloc::collections::BTreeSet::new();
        for (nth, country) in COUNTRIES.into_iter().enumerate() {
            for found in inventory(country, "77", 40) {
                assert_eq!(offer(&found.number), Some(found));
            }
            for found in inventory(country, "", usize::MAX) {
                assert_eq!(country_of(&found.number), Some(country));
                seen.insert(found.number);
            }
            assert_eq!(seen.len(), (nth + 1) * SIZE, "{country}");
        }
        assert_eq!(offer("+12125550123"), None);
    }

    #[test]
    fn digits_filter_in_order() {
        let mut all = inventory("US", "", SIZE);
        all.retain(|offer| offer.sms_capable && offer.number.contains("415"));
        assert!(all.len() > 60 && inventory("US", "415", SIZE) == all);
        assert!(all.starts_with(&inventory("US", "415", 3)));
        assert!(inventory("US", "+1", 9).is_empty() && inventory("DE", "", 9).is_empty());
    }

    #[test]
    fn display_is_national() {
        let pairs = "12125550123=(212) 555-0123;14165550123=(416) 555-0123;4520123456=20 12 34 56;\
            442079460123=020 7946 0123;447400123456=07400 123456;441223456789=01223 456789;\
            61412345678=0412 345 678;61298765432=(02) 9876 5432;972502345678=050-234-5678;\
            97236123456=03-612-3456;48501234567=501 234 567;48221234567=22 123 45 67;\
            358401234567=040 1234567;35894123456=09 4123456;31612345678=06 12345678;\
            31201234567=020 123 4567;393201234567=320 123 4567;390236123456=02 3612 3456";
        for (digits, text) in pairs.split(';').filter_map(|pair| pair.split_once('=')) {
            assert_eq!(display(&format!("+{digits}")), text);
        }
        // Bahamas, Guernsey, Germany, no area code, too short.
        for other in "+12423651234 +441481256789 +4915112345678 +15552345678 +1212".split(' ') {
            assert_eq!((country_of(other), &*display(other)), (None, other));
        }
    }
}
