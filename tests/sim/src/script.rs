//! [`Script`]: what happens in a call, as its engine will report it; drawn at random.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::random::Random;

/// Events that an engine reports together.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Pause after the previous beat, seconds.
    pub after_seconds: u64,
    /// Events, without sequence numbers.
    pub events: Vec<Value>,
}

/// The remaining beats of a call.
pub type Script = VecDeque<Beat>;

/// The course of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    Talk,
    Voicemail,
    Busy,
    NobodyAnswers,
    /// It rings longer than allowed: the service ends it.
    RingsOn,
    Fails,
    /// It lasts longer than allowed: the engine is told to hang up.
    TalksOn,
    /// The engine holds it and never dials.
    NeverDialed,
}

const COURSES: [(u64, Course); 8] = [
    (480, Course::Talk),
    (140, Course::Voicemail),
    (120, Course::Busy),
    (120, Course::NobodyAnswers),
    (40, Course::RingsOn),
    (60, Course::Fails),
    (35, Course::TalksOn),
    (5, Course::NeverDialed),
];

fn beat(after_seconds: u64, events: Vec<Value>) -> Beat {
    Beat { after_seconds, events }
}

/// Draws the script of an engine that gives its call back.
pub fn release(random: &mut Random) -> Script {
    let said = json!({ "type": "release", "reason": random.one(&["no trunk", "no such region"]) });
    [beat(random.within(0..=4), vec![said])].into()
}

/// Draws the script of a call with these limits for ringing and for the whole call, seconds; an engine of edition 2 says
/// first that it dials.
pub fn draw(random: &mut Random, ringing_time: u64, max_duration: u64, protocol: u64) -> Script {
    let course = random.weighed(&COURSES);
    let ringing = beat(random.within(0..=2), vec![json!({ "type": "ringing" })]);
    let failed = |after, reason: &str| beat(after, vec![json!({ "type": "failed", "reason": reason })]);
    let beats = match course {
        Course::Busy => vec![failed(random.within(1..=3), "busy")],
        Course::Fails => vec![failed(random.within(0..=9), "the carrier refused")],
        Course::NobodyAnswers => vec![ringing, failed(ringing_time.saturating_sub(1), "no-answer")],
        Course::RingsOn => vec![ringing, beat(ringing_time + 90, Vec::new())],
        Course::NeverDialed => vec![beat(700, Vec::new())],
        Course::Talk | Course::Voicemail | Course::TalksOn => {
            let mut beats = Vec::new();
            if random.chance(900) {
                beats.push(ringing);
            }
            beats.extend(talk(random, course, ringing_time, max_duration));
            beats
        }
    };
    let mut script: Script = beats.into();
    if protocol == 2 && course != Course::NeverDialed {
        script.push_front(beat(random.within(0..=3), vec![json!({ "type": "dialing" })]));
        if course == Course::Talk && random.chance(300) {
            // A line that was said before the end, and is told after it.
            let mut late = said("human", "Goodbye");
            late["late"] = json!(true);
            script.push_back(beat(random.within(0..=3), vec![late]));
        }
    }
    script
}

fn said(sender: &str, text: &str) -> Value {
    json!({ "type": "transcript", "sender": sender, "text": text })
}

fn talk(random: &mut Random, course: Course, ringing_time: u64, max_duration: u64) -> Vec<Beat> {
    let who = if course == Course::Voicemail { "machine" } else { random.one(&["human", "human", "unknown"]) };
    let picked_up = random.below(ringing_time.saturating_sub(1).max(1)).min(8);
    let mut beats = vec![beat(picked_up, vec![json!({ "type": "answered", "answered_by": who })])];
    if random.chance(850) {
        beats.push(beat(random.within(1..=4), vec![said("bot", "Hello"), said("human", "Who is there?")]));
    }
    if course == Course::TalksOn {
        beats.push(beat(max_duration + 90, Vec::new()));
        return beats;
    }
    let reached = random.chance(700);
    let mut last = Vec::new();
    if random.chance(500) {
        last.push(json!({ "type": "variables", "variables": { "goal": reached, "size": 42 } }));
    }
    if random.chance(500) {
        let evaluation = json!({ "success": reached, "sentiment": "positive", "summary": "They agreed." });
        last.push(json!({ "type": "analysis", "evaluation": evaluation, "variables": { "goal": reached } }));
    }
    last.push(json!({ "type": "ended", "by": random.one(&["customer", "assistant", "line"]) }));
    beats.push(beat(random.within(1..=max_duration.min(60) - 1), last));
    let mut cost = || {
        let cents = random.one(&[1, 3, 7, 25]);
        json!({ "type": "cost", "carrier_cost": 0.01, "total_cost": f64::from(cents) / 100.0 })
    };
    if reached {
        beats.push(beat(2, vec![json!({ "type": "recording", "url": "https://rec.example/1.mp3" }), cost(), cost()]));
    }
    beats
}
