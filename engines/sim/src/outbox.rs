//! The events of a call, numbered from where the service says, and how many of them it has taken.
//!
//! Does no I/O. Every event is kept until the call is over: an unanswered request is retried with the same numbers, and
//! a service that wants earlier events again gets the same ones.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::script::step::{CallCost, CallUsage, LineQuality, ScriptAct, Speaker, SpokenLine, TurnTimes};

/// Most events of one request (docs/api.md, Reporting events).
pub const EVENTS_MAX: usize = 100;
/// How often a call may resume from a number that the service names.
const RESUMES_MAX: u32 = 16;

/// The events of one call.
#[derive(Debug)]
pub struct Outbox {
    /// Number of the first event.
    first: u64,
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
    /// Creates an outbox whose first event has this number.
    pub const fn new(first: u64) -> Self {
        Self { first, events: Vec::new(), taken: 0, resumes: 0 }
    }

    /// Appends what happened at a time, having lasted this long until then, if it is reported as an event.
    pub fn push(&mut self, at: Timestamp, lasted: Duration, act: &ScriptAct) {
        let Some(mut event) = event(act) else { return };
        event["seq"] = (self.first + self.events.len() as u64).into();
        event["at"] = format!("{at:.6}").into();
        if !lasted.is_zero() {
            let began = SignedDuration::try_from(lasted).ok().and_then(|lasted| at.checked_sub(lasted).ok());
            event["started_at"] = format!("{:.6}", began.unwrap_or(at)).into();
            event["ended_at"] = event["at"].clone();
        }
        self.events.push(event);
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

    /// Marks all events below the number that the service expects as taken by it.
    pub fn took_until(&mut self, next_seq: u64) {
        let taken = usize::try_from(next_seq.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.taken = self.taken.max(taken.min(self.events.len()));
    }

    /// Moves to the number that the service expects, after it has taken nothing.
    pub fn resume(&mut self, next_seq: u64) -> Result<(), OutboxError> {
        let next = next_seq.checked_sub(self.first).and_then(|next| usize::try_from(next).ok());
        let next = next.ok_or(OutboxError::Disagreed)?;
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
        ScriptAct::Dial => json!({ "type": "dialing" }),
        ScriptAct::Release(reason) => json!({ "type": "release", "reason": reason }),
        ScriptAct::Ring => json!({ "type": "ringing" }),
        ScriptAct::Answer(by) => json!({ "type": "answered", "answered_by": by.word() }),
        ScriptAct::Detect(by) => {
            json!({ "type": "detected", "answered_by": by.word(), "kind": by.kind(), "beep": by.beeps() })
        }
        ScriptAct::Say(line) => transcript(line),
        ScriptAct::Metrics(times) => metrics(*times),
        ScriptAct::Variables(variables) => json!({ "type": "variables", "variables": variables }),
        ScriptAct::Dtmf(digits) => json!({ "type": "dtmf", "digits": digits, "by": "assistant" }),
        ScriptAct::Transfer(to, state) => {
            json!({ "type": "transfer", "to": to, "mode": "blind", "status": state.word() })
        }
        ScriptAct::Hold => json!({ "type": "hold" }),
        ScriptAct::Resume => json!({ "type": "resume" }),
        ScriptAct::Command(id, None) => json!({ "type": "command", "id": id, "status": "done" }),
        ScriptAct::Command(id, Some(reason)) => {
            json!({ "type": "command", "id": id, "status": "refused", "reason": reason })
        }
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
        ScriptAct::Quality(quality) => line_quality(*quality),
        ScriptAct::Usage(usage) => used(*usage),
        ScriptAct::Cost(CallCost { carrier_micros, total_micros }) => {
            json!({ "type": "cost", "carrier_cost": dollars(*carrier_micros), "total_cost": dollars(*total_micros) })
        }
        ScriptAct::Tool { .. } | ScriptAct::Knowledge(_) => return None,
    })
}

fn transcript(line: &SpokenLine) -> Value {
    let mut event = json!({ "type": "transcript", "sender": line.speaker.word(), "text": line.text });
    if let Some(turn) = line.turn {
        event["turn"] = turn.into();
        event["interrupted"] = line.is_interrupted.into();
        event["language"] = "en".into();
    }
    if line.speaker == Speaker::Human {
        event["confidence"] = hundredths(line.confidence).into();
    }
    event
}

fn metrics(times: TurnTimes) -> Value {
    let TurnTimes { turn, endpoint_ms, stt_ms, llm_ms, tts_ms, transport_ms } = times;
    json!({
        "type": "metrics", "turn": turn, "endpoint_ms": endpoint_ms, "stt_ms": stt_ms, "llm_ms": llm_ms,
        "tts_ms": tts_ms, "transport_ms": transport_ms, "total_ms": times.total_ms(),
    })
}

fn line_quality(quality: LineQuality) -> Value {
    json!({
        "type": "quality", "mos": hundredths(quality.mos_hundredths), "loss": f64::from(quality.loss_myriadths) / 1e4,
        "jitter_ms": quality.jitter_ms, "rtt_ms": quality.rtt_ms, "codec": "simulated",
    })
}

fn used(usage: CallUsage) -> Value {
    json!({
        "type": "usage", "stt_seconds": f64::from(usage.heard_ms) / 1e3, "tts_characters": usage.spoken_characters,
        "llm_tokens_in": usage.tokens_in, "llm_tokens_out": usage.tokens_out,
        "carrier_seconds": f64::from(usage.line_ms) / 1e3,
    })
}

fn hundredths(of: u32) -> f64 {
    f64::from(of) / 1e2
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
        let mut outbox = Outbox::new(1);
        (0..events).for_each(|_| outbox.push(second(1), Duration::ZERO, &ScriptAct::Ring));
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
        outbox.push(second(2), Duration::ZERO, &ScriptAct::Knowledge("hours".into()));
        outbox.push(second(3), Duration::ZERO, &ScriptAct::Fail("busy"));
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
    fn numbers_go_on_where_the_service_says() {
        let mut outbox = Outbox::new(6);
        for _ in 0..3 {
            outbox.push(second(1), Duration::ZERO, &ScriptAct::Ring);
        }
        assert_eq!(first(&outbox), Some(6));
        outbox.took_until(8);
        assert_eq!(first(&outbox), Some(8));
        outbox.took_until(2);
        assert_eq!(first(&outbox), Some(8), "what was taken stays so");
        assert_eq!(outbox.resume(7), Ok(()));
        assert_eq!((first(&outbox), outbox.resume(5)), (Some(7), Err(OutboxError::Disagreed)));
        outbox.took_until(u64::MAX);
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_line_says_when_it_was_spoken() {
        let mut outbox = Outbox::new(1);
        let said = SpokenLine { text: "Yes.".into(), turn: Some(2), confidence: 97, ..SpokenLine::default() };
        let line = SpokenLine { speaker: Speaker::Human, ..said };
        outbox.push(second(3), Duration::from_millis(1_500), &ScriptAct::Say(line));
        assert_eq!(
            outbox.batch()[0],
            json!({
                "seq": 1, "at": "1970-01-01T00:00:03.000000Z", "type": "transcript", "sender": "human", "text": "Yes.",
                "turn": 2, "started_at": "1970-01-01T00:00:01.500000Z", "ended_at": "1970-01-01T00:00:03.000000Z",
                "interrupted": false, "language": "en", "confidence": 0.97,
            })
        );
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
