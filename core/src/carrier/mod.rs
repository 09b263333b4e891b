//! Carriers: they sell numbers and send messages.
//!
//! An operation asks a carrier one question at a time ([`Ask`]). The simulated carrier answers at once from
//! [`crate::numbering`]; Twilio is asked by an outgoing HTTP request, as data.

mod simulated;
pub mod twilio;

use alloc::string::String;
use alloc::vec::Vec;

use crate::numbering::{self, Offer};
use crate::outside::{AskedWork, Work};
use crate::seed::Seed;

/// The configured carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Simulated: a deterministic inventory, and messages that go nowhere.
    Simulated,
    /// Twilio's REST API.
    Twilio(twilio::Twilio),
}

/// Question to a carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask<'a> {
    /// Find numbers for sale in a country that contain these digits.
    Search {
        /// Country as an ISO 3166-1 alpha-2 code.
        country: &'a str,
        /// Digits that the number must contain; empty: any number.
        digits: &'a str,
    },
    /// Buy this number, in E.164 form.
    Buy(&'a str),
    /// Check whether we own this number, after a purchase or release that was not answered.
    Owned(&'a str),
    /// Return the number with this carrier id.
    Release(&'a str),
    /// Check whether this caller id is verified.
    Verified(&'a str),
    /// Send a message.
    Message {
        /// Sender's number, in E.164 form.
        from: &'a str,
        /// Receiver's number, in E.164 form.
        to: &'a str,
        /// Text of the message.
        body: &'a str,
    },
}

/// Answer of a carrier.
#[derive(Clone, Debug, PartialEq)]
pub enum CarrierAnswer {
    /// Numbers for sale; may be empty.
    Offers(Vec<Offer>),
    /// We own the number.
    Ours {
        /// The carrier's id of the number, needed to return it.
        id: String,
        /// Whether it can send messages.
        sms_capable: bool,
    },
    /// We do not own the number.
    NotOurs,
    /// The number is not for sale.
    NotAvailable,
    /// The number was returned, now or earlier.
    Released,
    /// Whether the caller id is verified.
    Verified(bool),
    /// The message was accepted.
    Sent {
        /// The carrier's id of the message.
        sid: String,
        /// Status of the message in the carrier's words, for example `queued`.
        status: String,
        /// Segments that it was split into, and that are charged.
        segments: u32,
    },
    /// The receiver's number does not exist or cannot receive messages.
    NoSuchNumber,
    /// The carrier refused, or its answer was not understood.
    Failed,
    /// No usable answer: the request may or may not have taken effect.
    Silent,
}

/// Price of one message segment, millionths of a dollar.
pub const SEGMENT_MICROS: i64 = 7_900;

impl Carrier {
    /// Asks a question; `None` means that the answer is still to come, and that the caller runs again with it.
    pub fn ask(&self, asks: &AskedWork<'_>, seed: &Seed, ask: &Ask<'_>) -> Option<CarrierAnswer> {
        match self {
            Self::Simulated => Some(simulated::answer(ask, seed)),
            Self::Twilio(twilio) => Some(twilio.read(ask, &asks.ask(|| Work::Http(twilio.request(ask)))?)),
        }
    }

    /// Returns the monthly price of a number, millionths of a dollar; 0 if the simulated carrier does not sell it.
    pub fn price_micros(&self, e164: &str) -> i64 {
        let cents = match self {
            Self::Simulated => numbering::offer(e164).map_or(0, |offer| offer.price_cents),
            Self::Twilio(twilio) => twilio.number_price_cents,
        };
        i64::from(cents) * 10_000
    }
}

/// Characters of the GSM 7-bit alphabet besides the ASCII ones that it shares (3GPP TS 23.038, 6.2.1).
const GSM_OTHER: &str = "£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà";
/// Characters that take two places there, an escape and one of the extension table.
const GSM_ESCAPED: &str = "\u{c}^{}\\[~]|€";

/// Counts the segments of a message: 160 characters of the GSM alphabet or 70 UTF-16 units of any other in a single
/// one, 153 or 67 each if there are several. No character is split between two (3GPP TS 23.038 and 23.040).
pub fn segments(body: &str) -> u32 {
    let is_gsm = body.chars().all(|c| septets(c).is_some());
    let (single, part) = if is_gsm { (160, 153) } else { (70, 67) };
    let places = |c: char| if is_gsm { septets(c).unwrap_or(1) } else { c.len_utf16() };
    if body.chars().map(places).sum::<usize>() <= single {
        return 1;
    }
    let (mut segments, mut room) = (0, 0);
    for places in body.chars().map(places) {
        if room < places {
            segments += 1;
            room = part;
        }
        room -= places;
    }
    segments
}

/// Returns the places that a character takes in the GSM alphabet; `None` if it has none there.
fn septets(c: char) -> Option<usize> {
    let is_shared = matches!(c, '\n' | '\r' | ' '..='~') && !"`^{}\\[~]|".contains(c);
    match c {
        c if is_shared || GSM_OTHER.contains(c) => Some(1),
        c if GSM_ESCAPED.contains(c) => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn segments_are_counted_by_the_alphabet() {
        for (unit, times, count) in [
            ("", 0, 1),
            ("x", 160, 1),
            ("x", 161, 2),
            ("x", 306, 2),
            ("x", 307, 3),
            // Outside ASCII, yet in the GSM alphabet.
            ("é", 160, 1),
            ("£", 161, 2),
            // In ASCII, yet of two places; an escape is not split from its character: 76 fit where 153 places are.
            ("{", 80, 1),
            ("{", 81, 2),
            ("{", 152, 2),
            ("{", 153, 3),
            ("€", 80, 1),
            // Outside the GSM alphabet.
            ("`", 70, 1),
            ("`", 71, 2),
            ("ș", 134, 2),
            ("ș", 135, 3),
            // Two units each, which are not split: 33 fit where 67 units are.
            ("\u{1F600}", 35, 1),
            ("\u{1F600}", 36, 2),
            ("\u{1F600}", 66, 2),
            ("\u{1F600}", 67, 3),
        ] {
            assert_eq!(segments(&unit.repeat(times)), count, "{times} times {unit:?}");
        }
    }
}
