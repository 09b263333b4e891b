//! Telephone numbering facts for the ten countries whose numbers the service can sell.
//!
//! For the simulated carrier, whose virtual numbers come from here, and for whoever shows a number
//! to a person. It never keeps a list of numbers (each is computed from its index), never asks a
//! network or a clock, and never proves that a number is in service.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt::Write as _;

/// The ten countries, as ISO 3166-1 alpha-2 codes, in the order the service lists them.
#[rustfmt::skip]
pub const COUNTRIES: [&str; 10] = ["US", "CA", "GB", "AU", "IL", "PL", "FI", "NL", "DK", "IT"];

/// How many virtual numbers the inventory of each country holds.
const SIZE: usize = 4_000;

/// Spreads successive turns apart; ends in 3, so within a power of ten no two turns meet.
const STEP: u64 = 6_381_736_173;

/// National length, price in US cents, address requirement, whether it takes SMS, and prefixes.
struct Kind(usize, u32, &'static str, bool, &'static str);

/// One country. In its lists of prefixes the empty prefix begins every number, and `-` none.
struct Row {
    iso: &'static str,
    code: &'static str,
    own: &'static str,
    away: &'static str,                              // what others use within its own
    styles: &'static [(&'static str, &'static str)], // layouts in turn; `x` a digit, `*` the rest
    kinds: &'static [Kind],
}

#[rustfmt::skip] // packed, so that it can be read as a table
const TABLE: [Row; 10] = [
    Row { iso: "US", code: "1", own: "", away: "242 246 264 268 284 340 345 441 473 649 658 664 \
            670 671 684 721 758 767 784 787 809 829 849 868 869 876 939 0 1 211 29 311 37 39 411 \
            49 511 555 59 611 711 79 811 89 911 96 99", // islands, then no area codes
        styles: &[("", "(xxx) xxx-xxxx")], kinds: &[Kind(10, 115, "none", true, "201 202 206 212 \
            213 214 215 224 267 303 305 310 312 313 314 323 332 347 404 407 408 412 415 425 469 \
            503 504 512 602 615 617 619 646 650 702 703 713 718 720 737 801 808 813 907 917")] },
    Row { iso: "CA", code: "1", away: "-", own: "204 226 236 249 250 257 263 273 289 306 343 354 \
            365 367 368 382 403 416 418 428 431 437 438 450 468 474 506 514 519 548 579 581 584 \
            587 600 604 613 622 633 639 647 672 683 705 709 742 753 778 780 782 807 819 825 867 \
            873 879 902 905 942", styles: &[("", "(xxx) xxx-xxxx")], kinds: &[Kind(10, 115, "none",
            true, "204 236 250 306 343 403 416 418 437 438 506 514 604 613 647 709 867 902")] },
    Row { iso: "GB", code: "44", own: "", away: "1481 1534 1624 74576 7509 7524 7624 77003 77007 \
            77008 7781 7797 7829 7839 79111 79117 7937", // Guernsey, Jersey, Isle of Man
        styles: &[("2 5 70 76", "0xx xxxx xxxx"), ("7", "0xxxx xxxxxx"),
            ("3 8 9 11 121 131 141 151 161 191", "0xxx xxx xxxx|0xxx xxxxxx"), ("1", "0xxxx *")],
        kinds: &[Kind(10, 115, "none", true, "7400 7412 7460 7488 7520 7723 7850 7903 7974"),
            Kind(10, 90, "local", false, "203 207 208 1212 1132 1173 1312 1412 1512 1612 1223")] },
    Row { iso: "AU", code: "61", own: "", away: "89162 89164", // Cocos, Christmas Island
        styles: &[("130 18 19", "xxxx xxx xxx|xxx xxxx"), ("13", "xx xx xx"),
            ("4 14", "0xxx xxx xxx"), ("2 3 7 8", "(0x) xxxx xxxx")],
        kinds: &[Kind(9, 650, "none", true, "412 418 423 435 447 456 468 477 488"),
            Kind(9, 300, "local", false, "28 29 38 39 73 863 893")] },
    Row { iso: "IL", code: "972", own: "", away: "-",
        styles: &[("1", "x-xxx-xxx-xxx"), ("5 7", "0xx-xxx-xxxx"), ("2 3 4 8 9", "0x-xxx-xxxx")],
        kinds: &[Kind(9, 1_500, "foreign", true, "502 523 526 532 545 584"),
            Kind(8, 425, "none", false, "25 36 37 48 86 97")] },
    Row { iso: "PL", code: "48", own: "", away: "-", styles: &[("21 39 45 50 51 53 57 60 64 66 \
            69 70 72 73 78 79 80 88", "xxx xxx xxx"), ("", "xx xxx xx xx")],
        kinds: &[Kind(9, 600, "foreign", true, "501 515 532 602 661 722 781 881"),
            Kind(9, 100, "local", false, "122 224 225 226 322 426 585 616 713 814")] },
    Row { iso: "FI", code: "358", own: "", away: "18", // the Åland Islands
        styles: &[("100 200 300 600 700 707 708 709 800", "0xxx *"),
            ("1 4 20 29 50 71 73 75", "0xx *"), ("2 3 5 6 8 9", "0x *")], kinds: &[
            Kind(9, 500, "none", true, "40 44 45 50"), Kind(8, 300, "local", false, "22 32 94")] },
    Row { iso: "NL", code: "31", own: "", away: "-", styles: &[("80 90", "0xxx *"), ("6", "0x *"),
            ("11 16 17 18 22 25 29 31 32 34 41 47 48 49 51 52 54 56 57 59", "0xxx xxx xxx"),
            ("1 2 3 4 5 7 8 91", "0xx xxx xxxx"), ("97", "0xxx xxx *")],
        kinds: &[Kind(9, 700, "inventory", true, "61 62 63 64 65 68"),
            Kind(9, 350, "local", false, "102 103 202 206 243 302 402 505 702 703 172 223")] },
    Row { iso: "DK", code: "45", own: "", away: "-", styles: &[("", "xx xx xx xx")],
        kinds: &[Kind(8, 1_000, "none", true, "201 223 251 26 28 301 409 425 503 527 606"),
            Kind(8, 200, "foreign", false, "331 353 363 382 391 861 893 983")] },
    Row { iso: "IT", code: "39", own: "", away: "06698", // the Vatican
        styles: &[("02 06", "xx xxxx xxxx|xx xxx xxxx|xx *"), ("010 011 015 019 030 031 035 039 \
            040 041 045 049 050 051 055 059 070 071 075 079 080 081 085 089 090 091 095 099",
            "xxx xxx xxxx|xxx xxxx xxxx|xxx *"), ("0", "xxxx xxx xxxx|xxxx *"), ("", "xxx xxx *")],
        kinds: &[Kind(10, 2_500, "inventory", true, "320 328 333 338 339 340 347 348 349 366 391"),
            Kind(10, 250, "local", false, "0236 0287 0645 0687 011 051 055 081 0331 0522 0577")] },
];

/// A number of the simulated carrier that can be bought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The number in E.164 form.
    pub number: String,
    /// Its country, one of [`COUNTRIES`].
    pub country: &'static str,
    /// Monthly price in US cents.
    pub price_cents: u32,
    /// The address its buyer must give: `none`, `local`, `foreign` or `inventory`.
    pub address_requirements: &'static str,
    /// Whether it can send and receive SMS.
    pub sms_capable: bool,
}

/// True for `+` and 2 to 15 digits, the first not 0 (ITU-T E.164).
pub fn is_e164(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default().as_bytes();
    let sized = (2..=15).contains(&digits.len()) && !digits.starts_with(b"0");
    sized && digits.iter().all(u8::is_ascii_digit)
}

/// ISO code of the country of an E.164 number, if one of the ten; others on its code are not it.
pub fn country_of(e164: &str) -> Option<&'static str> {
    locate(e164).map(|(row, _)| row.iso)
}

/// The number as people of its country write it, or the text itself outside the ten countries.
pub fn display(e164: &str) -> String {
    national(e164).unwrap_or_else(|| e164.to_owned())
}

/// The first `limit` offers whose E.164 digits contain `digits`, by index; the same on every host.
pub fn inventory(country: &str, digits: &str, limit: usize) -> Vec<Offer> {
    let Some(row) = TABLE.iter().find(|row| row.iso == country) else {
        return Vec::new();
    };
    let lots: Vec<_> = row.kinds.iter().flat_map(|kind| lots(row, kind)).collect();
    let mut text = String::new();
    // The prefixes take turns, so that the first few offers already show the choice.
    (0..)
        .flat_map(|turn| lots.iter().map(move |lot| (turn, lot)))
        .map(|(turn, &(kind, low, room))| (kind, low + (low / 1_009 + turn * STEP) % room))
        .filter(|(_, number)| dialable(*number))
        .take(SIZE)
        .filter(|(_, number)| holds(*number, digits, &mut text))
        .take(limit)
        .map(|(kind, number)| Offer {
            number: format!("+{number}"),
            country: row.iso,
            price_cents: kind.1,
            address_requirements: kind.2,
            sms_capable: kind.3,
        })
        .collect()
}

/// The offer of exactly this number if it is in the inventory of any country, else `None`.
pub fn offer(e164: &str) -> Option<Offer> {
    let near = inventory(country_of(e164)?, e164.get(1..)?, SIZE);
    near.into_iter().find(|offer| offer.number == e164)
}

/// The country of an E.164 number, and the number without its calling code.
fn locate(e164: &str) -> Option<(&'static Row, &str)> {
    let digits = e164.strip_prefix('+').filter(|_| is_e164(e164))?;
    // Backwards, so that Canada takes its area codes before the United States take the rest.
    TABLE.iter().rev().find_map(|row| {
        let rest = digits.strip_prefix(row.code)?;
        let sized = rest.len() == 10 || rest.len() > 4 && row.code != "1";
        (sized && begins(rest, row.own) && !begins(rest, row.away)).then_some((row, rest))
    })
}

/// Whether a number begins with one of the prefixes in a list.
fn begins(number: &str, list: &str) -> bool {
    list.split(' ').any(|prefix| number.starts_with(prefix))
}

/// The number in the first layout for its prefix that takes its length.
fn national(e164: &str) -> Option<String> {
    let (row, digits) = locate(e164)?;
    let (_, layouts) = row.styles.iter().find(|style| begins(digits, style.0))?;
    let takes = |it: &&str| it.ends_with('*') || it.matches('x').count() == digits.len();
    let layout = layouts.split('|').find(takes)?;
    let (mut rest, mut text) = (digits.chars(), String::new());
    for mark in layout.chars() {
        match mark {
            'x' => text.extend(rest.next()),
            '*' => text.extend(rest.by_ref()),
            other => text.push(other),
        }
    }
    Some(text)
}

/// The prefixes of a kind, each with its lowest number and how many it holds.
fn lots(row: &Row, kind: &'static Kind) -> impl Iterator<Item = (&'static Kind, u64, u64)> {
    kind.4.split(' ').map(move |head| {
        let lowest = format!("{}{head:0<1$}", row.code, kind.0).parse();
        let room = core::iter::repeat_n(10, kind.0 - head.len()).product();
        (kind, lowest.unwrap_or_default(), room)
    })
}

/// Whether a number is not North American, or has an exchange code in use: not N11, and not 555.
fn dialable(number: u64) -> bool {
    let exchange = number / 10_000 % 1_000;
    let open = exchange >= 200 && exchange % 100 != 11 && exchange != 555;
    open || number / 10_000_000_000 != 1
}

/// Whether the digits of a number contain the wanted ones; `text` is reused to spare allocations.
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

    #[test]
    fn e164_edges() {
        assert!(is_e164("+12") && is_e164("+123456789012345"));
        let mut bad = "/+/+1/12/+02/+1234567890123456/+1 2/++12/+1\u{662}".split('/');
        assert!(bad.all(|text| !is_e164(text)));
    }
}
