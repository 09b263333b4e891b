//! The events of a call: appended one after another, each of an engine's once and in order, and one dialing at most.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchboard_core::limits::RETURNS_MAX;

use super::{Commit, Held, holds};
use crate::mirror::At;

/// Events of which a call has one at most.
const ONCE: [&str; 5] = ["dialing", "ringing", "answered", "ended", "failed"];

/// What is known of a call's events.
#[derive(Debug, Default)]
struct Told {
    last: u32,
    once: BTreeSet<String>,
    releases: u32,
    /// Numbers of the lines that were said before the end, as the engine counts.
    lines: BTreeSet<u64>,
}

/// State of the claims about the events of calls.
#[derive(Debug, Default)]
pub struct Telling {
    calls: BTreeMap<At, Told>,
}

impl Telling {
    /// Checks the new events of a commit.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        commit.diff.call_events.iter().try_for_each(|(at, seq, event)| self.follow(*at, *seq, event))
    }

    fn follow(&mut self, at: At, seq: u32, event: &Value) -> Held {
        let told = self.calls.entry(at).or_default();
        holds!(seq == told.last + 1, "events of a call are appended: {seq} behind {} of {at:?}", told.last);
        told.last = seq;
        let kind = event["type"].as_str().unwrap_or_default();
        if ONCE.contains(&kind) {
            holds!(told.once.insert(kind.into()), "a call has one {kind} at most: {at:?}");
        }
        holds!(
            kind != "claimed" || !told.once.contains("dialing"),
            "nobody is rung twice: {at:?} is claimed after it was dialed"
        );
        told.releases += u32::from(kind == "release");
        holds!(told.releases <= RETURNS_MAX, "a call is given back three times at most: {at:?}");
        if let Some(line) = line_of(event["text"].as_str().unwrap_or_default()) {
            let before = told.lines.last().copied().unwrap_or_default();
            holds!(line > before, "every event is taken once and in order: line {line} of {at:?} behind {before}");
            told.lines.insert(line);
        }
        Ok(())
    }

    /// Returns whether a line of a call is stored.
    pub fn has(&self, at: At, line: u64) -> bool {
        self.calls.get(&at).is_some_and(|told| told.lines.contains(&line))
    }
}

/// Numbers a line of the transcript.
pub fn numbered(text: &str, line: u64) -> String {
    format!("{text} #{line}")
}

/// Returns the number of a numbered line.
pub fn line_of(text: &str) -> Option<u64> {
    text.rsplit_once('#')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what is said of the last of these events; all before it must hold.
    fn last(events: &[(u32, Value)]) -> Held {
        let mut telling = Telling::default();
        let (last, before) = events.split_last().expect("there are events");
        before.iter().for_each(|(seq, event)| telling.follow((0, 1), *seq, event).expect("it holds"));
        telling.follow((0, 1), last.0, &last.1)
    }

    #[test]
    fn each_claim_can_fail() {
        let of = |kind: &str| json!({ "type": kind });
        let line = |line| json!({ "type": "transcript", "text": numbered("Hello", line) });
        for (events, claim) in [
            (vec![(1, of("claimed")), (2, of("dialing")), (3, line(4)), (4, line(6))], None),
            (vec![(1, of("claimed")), (3, of("dialing"))], Some("events of a call are appended")),
            (vec![(1, of("claimed")), (1, of("dialing"))], Some("events of a call are appended")),
            (vec![(1, of("dialing")), (2, of("dialing"))], Some("a call has one dialing at most")),
            (vec![(1, of("ended")), (2, of("ended"))], Some("a call has one ended at most")),
            (vec![(1, of("dialing")), (2, of("claimed"))], Some("nobody is rung twice")),
            (vec![(1, line(4)), (2, line(4))], Some("every event is taken once and in order")),
            (vec![(1, line(4)), (2, line(3))], Some("every event is taken once and in order")),
            ((1..=4).map(|seq| (seq, of("release"))).collect(), Some("a call is given back three times at most")),
        ] {
            let held = last(&events);
            assert_eq!(
                held.as_ref().err().map(|fault| claim.is_some_and(|claim| fault.starts_with(claim))),
                claim.map(|_| true),
                "{events:?}: {held:?}"
            );
        }
    }
}
