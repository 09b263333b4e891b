//! How often an engine asks: after failures, after refusals, and where nothing waits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::cases::RequestKind;
use crate::findings::Findings;
use crate::rules::EngineRule;
use crate::stage::SeenRequest;

/// Most claims that bring nothing, in two seconds.
const EMPTY_CLAIMS_MAX: usize = 40;
/// Most requests for one thing in a second of a failing service.
const FAILED_MAX: usize = 10;
/// Most requests in a second with a token that is refused.
const REFUSED_MAX: usize = 20;
/// Part of `Retry-After` that an engine must wait, percent: clocks differ, and answers take time.
const WAITED_PERCENT: u32 = 90;

/// What a request is about: its kind, and the call or the engine.
type Subject = (RequestKind, String);

/// Times of requests by what they are about.
#[derive(Debug, Default)]
pub struct RequestRates {
    failed: BTreeMap<Subject, VecDeque<Instant>>,
    asked_to_wait: BTreeMap<Subject, (Instant, u64)>,
    refused: VecDeque<Instant>,
    empty: BTreeMap<String, VecDeque<Instant>>,
}

fn subject(request: &SeenRequest) -> Subject {
    let name = request.call.map_or_else(|| request.body["engine"].to_string(), |call| call.to_string());
    (request.kind, name)
}

/// Adds a time and returns how many of the last lie within a window.
fn within(times: &mut VecDeque<Instant>, now: Instant, window: Duration) -> usize {
    times.push_back(now);
    while times.front().is_some_and(|first| *first + window < now) {
        times.pop_front();
    }
    times.len()
}

impl RequestRates {
    /// Checks that a request comes no earlier than the service has asked for.
    pub fn note(&mut self, request: &SeenRequest, now: Instant, findings: &mut Findings) {
        let Some((at, seconds)) = self.asked_to_wait.remove(&subject(request)) else { return };
        let waited = now - at;
        let early = waited < Duration::from_secs(seconds) * WAITED_PERCENT / 100;
        let what = format!("it came {} ms after Retry-After: {seconds}", waited.as_millis());
        findings.judge(EngineRule::RetryAfter, &request.text, early.then_some(what));
    }

    /// Notes a request that is answered 503.
    pub fn unavailable(
        &mut self,
        request: &SeenRequest,
        now: Instant,
        retry_after: Option<u64>,
        findings: &mut Findings,
    ) {
        if let Some(seconds) = retry_after {
            self.asked_to_wait.insert(subject(request), (now, seconds));
        }
        let count = within(self.failed.entry(subject(request)).or_default(), now, Duration::from_secs(1));
        if count > 1 || retry_after.is_some() {
            let what = format!("it was sent {count} times in a second");
            findings.judge(EngineRule::BacksOff, &request.text, (count > FAILED_MAX).then_some(what));
        }
    }

    /// Notes a request that is answered 401; `meant` where the token is the right one and refused all the same.
    pub fn refused(&mut self, request: &SeenRequest, now: Instant, meant: bool, findings: &mut Findings) {
        let count = within(&mut self.refused, now, Duration::from_secs(1));
        if meant {
            let what = format!("{count} requests in a second with a token that is refused");
            findings.judge(EngineRule::TokenRefused, &request.text, (count > REFUSED_MAX).then_some(what));
        }
    }

    /// Notes a claim that was answered at once and brought nothing.
    pub fn empty_claim(&mut self, engine: &str, now: Instant, request: &str, findings: &mut Findings) {
        let count = within(self.empty.entry(engine.into()).or_default(), now, Duration::from_secs(2));
        if count > 1 {
            let what = format!("{count} claims in two seconds brought nothing");
            findings.judge(EngineRule::NoPolling, request, (count > EMPTY_CLAIMS_MAX).then_some(what));
        }
    }
}
