//! One request that renews the leases of all calls, says how the engine is, and brings what is lost and commanded.

use serde_json::json;
use tokio::sync::watch;

use super::Engine;
use super::desk::CallMessage;

/// Periods without a heartbeat after a service that has none.
const ABSENT_PERIODS: u32 = 6;
/// Most calls that a heartbeat may name (docs/api.md, The engine interface).
const CALLS_MAX: usize = 10_000;
/// Where Linux keeps the name of the host.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Sends heartbeats for ever. Without them, or where the service has none, each call renews its own lease.
pub async fn beat(engine: &Engine, capacity: usize, drain: &watch::Receiver<bool>) {
    let host = tokio::fs::read_to_string(HOST_NAME).await.ok().map(|name| name.trim().to_string());
    loop {
        let mut pause = engine.pace.renew;
        let calls = engine.desk.calls();
        let load = share(calls.len()) / share(capacity);
        let about = json!({
            "engine": super::wire::NAME,
            "protocol": super::wire::PROTOCOL,
            "load": (load * 1e3).round() / 1e3,
            "version": env!("CARGO_PKG_VERSION"),
            "host": host,
            // An engine that drains carries what it has, and no more.
            "capacity": if *drain.borrow() { 0 } else { capacity },
            "running": calls.len(),
            "legs": [super::wire::NAME],
        });
        let mut shares: Vec<&[u64]> = calls.chunks(CALLS_MAX).collect();
        if shares.is_empty() {
            shares.push(&[]);
        }
        for named in shares {
            match engine.wire.heartbeat(named, &about).await {
                Ok(reply) => {
                    engine.desk.drain(reply.drain);
                    for call in named {
                        let lost = reply.lost.contains(call);
                        engine.desk.tell(*call, if lost { CallMessage::Lost } else { CallMessage::Renewed });
                    }
                    engine.desk.command(reply.commands);
                }
                Err(missed) => {
                    tracing::debug!(status = missed.status, "a heartbeat was not taken");
                    if matches!(missed.status, Some(404 | 405)) {
                        pause = engine.pace.renew.saturating_mul(ABSENT_PERIODS);
                    }
                    pause = pause.max(missed.retry_after);
                }
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Returns a count of calls, at most [`super::CAPACITY_MAX`], as a number to divide.
fn share(of: usize) -> f64 {
    u32::try_from(of).map_or(0.0, f64::from)
}
