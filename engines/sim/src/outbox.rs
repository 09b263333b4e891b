//! The events of a call, numbered from 1, and how many of them the service has taken.
//!
//! Does no I/O. Every event is kept until the call is over: an unanswered request is retried with the same numbers, and
//! a service that wants earlier events again gets the same ones.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::script::step::{CallCost, ScriptAct};

/// Most events of one request (docs/api.md, Reporting events).
pub const EVENTS_MAX: usize = 100;
/// How often a call may resume from a number that the service names.
const RESUMES_MAX: u32 = 16;

/// The events of one call.
#[derive(Debug, Default)]
pub struct Outbox {
    events: Vec<Value>,
    taken: usize,
    resumes: u32,
}

/// Why a call's events cannot be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutboxError {
    /// The service expects the very event that it refuses: its state does not allow it.
    Refused,
    /// The service expects a number that was never sent, or asks for a resume more than 16 times.
    Disagreed,
}

impl Outbox {
    /// Appends what happened, if it is reported as an event.
    pub fn push(&mut self, at: Timestamp, act: &ScriptAct) {
        if let Some(mut event) = event(act) {
            event["seq"] = (self.events.len() + 1).into();
            event["at"] = format!("{at:.6}").into();
            self.events.push(event);
        }
    }

    /// Returns whether the service has taken everything.
    pub fn is_empty(&self) -> bool {
        self.taken == self.events.len()
    }

    /// Returns the next events to send, at most [`EVENTS_MAX`].
    pub fn batch(&self) -> &[Value] {
        let end = self.events.len().min(self.taken + EVENTS_MAX);
        &self.events[self.taken..end]
    }

    /// Marks the next `count` events as taken by the service.
    pub fn took(&mut self, count: usize) {
        self.taken = self.events.len().min(self.taken + count);
    }

    /// Moves to the number that the service expects, after it has taken nothing.
    pub fn resume(&mut self, next_seq: u64) -> Result<(), OutboxError> {
        let next = usize::try_from(next_seq).ok().and_then(|next| next.checked_sub(1)).ok_or(OutboxError::Disagreed)?;
        if next == self.taken {
            return Err(OutboxError::Refused);
        }
        self.resumes += 1;
        if next > self.events.len() || self.resumes > RESUMES_MAX {
            return Err(OutboxError::Disagreed);
        }
        self.taken = next;
        Ok(())
    }
}

/// Returns the event of an act, without number and time; tools and searches are requests of their own.
fn event(act: &ScriptAct) -> Option<Value> {
    Some(match act {
        ScriptAct::Ring => json!({ "type": "ringing" }),
        ScriptAct::Answer(by) => json!({ "type": "answered", "answered_by": by.word() }),
        ScriptAct::Say(speaker, text) => json!({ "type": "transcript", "sender": speaker.word(), "text": text }),
        ScriptAct::Variables(variables) => json!({ "type": "variables", "variables": variables }),
        ScriptAct::Dtmf(digits) => json!({ "type": "dtmf", "digits": digits }),
        ScriptAct::Transfer(to) => json!({ "type": "transfer", "to": to }),
        ScriptAct::Recording(url) => json!({ "type": "recording", "url": url }),
        ScriptAct::Analysis(analysis) => json!({
            "type": "analysis",
            "evaluation": {
                "success": analysis.success,
                "sentiment": analysis.sentiment.word(),
                "summary": analysis.summary,
            },
            "variables": analysis.variables,
        }),
        ScriptAct::End { by, reason } => json!({ "type": "ended", "by": by.word(), "reason": reason }),
        ScriptAct::Fail(reason) => json!({ "type": "failed", "reason": reason }),
        ScriptAct::Cost(CallCost { carrier_micros, total_micros }) => {
            json!({ "type": "cost", "carrier_cost": dollars(*carrier_micros), "total_cost": dollars(*total_micros) })
        }
        ScriptAct::Tool { .. } | ScriptAct::Knowledge(_) => return None,
    })
}

fn dollars(micros: u32) -> f64 {
    f64::from(micros) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("it is near the epoch")
    }

    fn outbox(events: usize) -> Outbox {
        let mut outbox = Outbox::default();
        (0..events).for_each(|_| outbox.push(second(1), &ScriptAct::Ring));
        outbox
    }

    fn first(outbox: &Outbox) -> Option<u64> {
        outbox.batch().first().and_then(|event| event["seq"].as_u64())
    }

    #[test]
    fn numbers_start_at_one_and_batches_are_bounded() {
        let mut outbox = outbox(150);
        assert_eq!((first(&outbox), outbox.batch().len()), (Some(1), 100));
        assert_eq!(outbox.batch(), outbox.batch(), "what is not taken is sent again as it is");
        outbox.took(100);
        assert_eq!((first(&outbox), outbox.batch().len()), (Some(101), 50));
        outbox.took(50);
        assert!(outbox.is_empty() && outbox.batch().is_empty());
    }

    #[test]
    fn searches_and_tools_take_no_number() {
        let mut outbox = outbox(1);
        outbox.push(second(2), &ScriptAct::Knowledge("hours".into()));
        outbox.push(second(3), &ScriptAct::Fail("busy"));
        assert_eq!(outbox.batch().len(), 2);
        assert_eq!(
            outbox.batch()[1],
            json!({ "seq": 2, "at": "1970-01-01T00:00:03.000000Z", "type": "failed", "reason": "busy" })
        );
    }

    #[test]
    fn where_a_conflict_leads() {
        for (taken, next_seq, expected) in [
            (5, 3, Ok(Some(3))),
            (5, 1, Ok(Some(1))),
            (5, 8, Ok(Some(8))),
            (5, 11, Ok(None)),
            (5, 6, Err(OutboxError::Refused)),
            (5, 12, Err(OutboxError::Disagreed)),
            (5, 0, Err(OutboxError::Disagreed)),
            (5, u64::MAX, Err(OutboxError::Disagreed)),
        ] {
            let mut outbox = outbox(10);
            outbox.took(taken);
            assert_eq!(outbox.resume(next_seq).map(|()| first(&outbox)), expected, "{taken} taken, then {next_seq}");
        }
    }

    #[test]
    fn a_service_that_forgets_for_ever_is_left() {
        let mut outbox = outbox(10);
        let resumed = (0..100).take_while(|_| {
            outbox.took(10);
            outbox.resume(1).is_ok()
        });
        assert_eq!(resumed.count(), 16);
    }
}
