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

/// Counts the segments of a message: 160 characters of the GSM alphabet or 70 of any other in a single one, 153 or 67
/// each if there are several (3GPP TS 23.038). ASCII other than the backtick counts as the GSM alphabet.
pub fn segments(body: &str) -> u32 {
    let units = body.encode_utf16().count();
    let plain = body.is_ascii() && !body.contains('`');
    let (single, part) = if plain { (160, 153) } else { (70, 67) };
    u32::try_from(if units <= single { 1 } else { units.div_ceil(part) }).unwrap_or(u32::MAX)
}
