//! The simulated carrier: every answer is computed from the question and the seed.

use alloc::format;
use alloc::string::ToString;

use super::{Ask, Told, segments};
use crate::numbering;
use crate::seed::Seed;

/// Most offers returned by one search.
const OFFERS: usize = 30;

/// Answers a question; never fails.
pub fn answer(ask: &Ask<'_>, seed: &Seed) -> Told {
    match ask {
        Ask::Search { country, digits } => Told::Offers(numbering::inventory(country, digits, OFFERS)),
        Ask::Buy(number) | Ask::Owned(number) => match numbering::offer(number) {
            Some(offer) => Told::Ours { id: (*number).to_string(), sms_capable: offer.sms_capable },
            None => Told::NotAvailable,
        },
        Ask::Release(_) => Told::Released,
        Ask::Verified(_) => Told::Verified(true),
        Ask::Message { body, .. } => {
            let sid = format!("SM{}", uuid::Uuid::from_bytes(seed.uuid("message")).simple());
            Told::Sent { sid, status: "queued".into(), segments: segments(body) }
        }
    }
}
