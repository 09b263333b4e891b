//! The simulated carrier: every answer is computed from the question and the seed.

use alloc::format;
use alloc::string::ToString;

use super::{Ask, CarrierAnswer, segments};
use crate::numbering;
use crate::seed::Seed;

/// Most offers returned by one search.
const OFFERS: usize = 30;

/// Answers a question; never fails.
pub fn answer(ask: &Ask<'_>, seed: &Seed) -> CarrierAnswer {
    match ask {
        Ask::Search { country, digits } => CarrierAnswer::Offers(numbering::inventory(country, digits, OFFERS)),
        Ask::Buy(number) | Ask::Owned(number) => match numbering::offer(number) {
            Some(offer) => CarrierAnswer::Ours { id: (*number).to_string(), sms_capable: offer.sms_capable },
            None => CarrierAnswer::NotAvailable,
        },
        Ask::Release(_) => CarrierAnswer::Released,
        Ask::Verified(_) => CarrierAnswer::Verified(true),
        Ask::Message { body, .. } => {
            let sid = format!("SM{}", uuid::Uuid::from_bytes(seed.uuid("message")).simple());
            CarrierAnswer::Sent { sid, status: "queued".into(), segments: segments(body) }
        }
    }
}
