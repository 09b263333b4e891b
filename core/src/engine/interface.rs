//! `GET /engine`: what an engine can rely on.

use super::PROTOCOL;
use super::event::EngineEvent;
use super::tables::{EngineLimits, Interface};
use crate::http::ctx::Ctx;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::limits::{
    CALL_EVENTS_BYTES_MAX, CALL_EVENTS_MAX, CLAIM_WAIT_SECONDS, CLAIMED_MAX, ENGINE_EVENTS_MAX, JSON_BODY_BYTES_MAX,
    LEASE_SECONDS, RETURNS_MAX, TRANSCRIPT_BYTES_MAX, UNKNOWN_EVENT_BYTES_MAX,
};
use crate::record::OTHER;

/// `GET /engine`
#[expect(clippy::cast_possible_truncation, reason = "limits are far below 2^32")]
pub fn interface(_: &Ctx<'_>) -> Handled {
    let known = EngineEvent::TYPES.iter().filter(|word| **word != OTHER);
    Ok(Reply::ok(&Interface {
        protocol: PROTOCOL,
        release: env!("CARGO_PKG_VERSION").into(),
        event_types: known.map(|word| (*word).into()).collect(),
        lease_seconds: LEASE_SECONDS,
        limits: EngineLimits {
            events_per_report: ENGINE_EVENTS_MAX as u32,
            report_bytes: JSON_BODY_BYTES_MAX as u64,
            unknown_event_bytes: UNKNOWN_EVENT_BYTES_MAX as u32,
            events_per_call: CALL_EVENTS_MAX,
            event_bytes_per_call: CALL_EVENTS_BYTES_MAX as u64,
            transcript_bytes_per_call: TRANSCRIPT_BYTES_MAX as u64,
            claim_wait_seconds: CLAIM_WAIT_SECONDS.into(),
            calls_per_claim: CLAIMED_MAX as u32,
            returns_per_call: RETURNS_MAX,
        },
    }))
}
