//! The simulated carrier: every answer follows from the question alone.

use alloc::format;
use alloc::string::ToString;

use super::{Ask, Told, segments};
use crate::numbering;
use crate::seed::Seed;

/// Offers of one search.
const OFFERS: usize = 30;

/// What the simulated carrier answers.
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
