//! Carriers: where purchasable numbers come from and messages go.
//!
//! An operation asks a carrier one thing at a time ([`Ask`]). The simulated carrier answers at once from
//! [`crate::numbering`]; Twilio is asked over HTTP-out, as data.

mod simulated;
pub mod twilio;

use alloc::string::String;
use alloc::vec::Vec;

use crate::numbering::{self, Offer};
use crate::outside::{Asks, Work};
use crate::seed::Seed;

/// The configured carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A deterministic inventory and messages that go nowhere.
    Simulated,
    /// Twilio's REST API.
    Twilio(twilio::Twilio),
}

/// One question to a carrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask<'a> {
    /// Numbers of a country that contain these digits.
    Search {
        /// ISO 3166-1 alpha-2.
        country: &'a str,
        /// Digits, or none.
        digits: &'a str,
    },
    /// Buy this number.
    Buy(&'a str),
    /// Whether this number is ours: what an unanswered purchase or release came to.
    Owned(&'a str),
    /// Give the number with this carrier id back.
    Release(&'a str),
    /// Whether this caller id is confirmed.
    Verified(&'a str),
    /// Send a message.
    Message {
        /// From this number.
        from: &'a str,
        /// To this one.
        to: &'a str,
        /// Its text.
        body: &'a str,
    },
}

/// What a carrier answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// Offers.
    Offers(Vec<Offer>),
    /// The number is ours.
    Ours {
        /// The carrier's id of it.
        id: String,
        /// Whether it can send messages.
        sms_capable: bool,
    },
    /// The number is not ours.
    NotOurs,
    /// The number cannot be had.
    NotAvailable,
    /// It was given back.
    Released,
    /// Whether the caller id is confirmed.
    Verified(bool),
    /// The message was taken.
    Sent {
        /// The carrier's id of the message.
        sid: String,
        /// Its status.
        status: String,
        /// Parts it was cut into.
        segments: u32,
    },
    /// The carrier knows no such receiver.
    NoSuchNumber,
    /// The carrier refused, or gave an answer that makes no sense.
    Failed,
    /// No answer: what was asked may or may not have happened.
    Silent,
}

/// Price of one message segment, millionths of a dollar.
pub const SEGMENT_MICROS: i64 = 7_900;

impl Carrier {
    /// Asks; nothing yet means that the caller comes back with the answer.
    pub fn ask(&self, asks: &Asks<'_>, seed: &Seed, ask: &Ask<'_>) -> Option<Told> {
        match self {
            Self::Simulated => Some(simulated::answer(ask, seed)),
            Self::Twilio(twilio) => Some(twilio.read(ask, &asks.ask(|| Work::Http(twilio.request(ask)))?)),
        }
    }

    /// The monthly price of a number, millionths of a dollar.
    pub fn price_micros(&self, e164: &str) -> i64 {
        let cents = match self {
            Self::Simulated => numbering::offer(e164).map_or(0, |offer| offer.price_cents),
            Self::Twilio(twilio) => twilio.number_price_cents,
        };
        i64::from(cents) * 10_000
    }
}

/// Segments of a message: 160 characters of the GSM alphabet or 70 of any other, a little less once there
/// are several (3GPP TS 23.038).
pub fn segments(body: &str) -> u32 {
    let units = body.encode_utf16().count();
    let plain = body.is_ascii() && !body.contains('`');
    let (single, part) = if plain { (160, 153) } else { (70, 67) };
    u32::try_from(if units <= single { 1 } else { units.div_ceil(part) }).unwrap_or(u32::MAX)
}
