//! Simulated receivers of webhooks and tool calls, and the language model. Each has a mood that changes.

use std::collections::BTreeMap;

use serde_json::json;
use switchboard_core::outside::{Answer, HttpIn, HttpOut, SendError};
use switchboard_core::time::Timestamp;

use crate::agenda::SECOND;
use crate::random::Random;

/// How a receiver answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Accepts: 200 to 204.
    Takes,
    /// Redirects elsewhere with 307.
    Moved,
    /// Rejects with a client error.
    Refuses,
    /// Answers 410: gone for good.
    Gone,
    /// Answers 429 or 503 with `Retry-After`.
    Busy,
    /// Fails with a server error.
    Broken,
    /// Never answers, until the timeout.
    Hangs,
    /// Resets the connection, sometimes after processing the request.
    Resets,
}

/// Moods with their weights.
const MOODS: [(u64, Mood); 8] = [
    (85, Mood::Takes),
    (6, Mood::Moved),
    (8, Mood::Refuses),
    (3, Mood::Gone),
    (9, Mood::Busy),
    (10, Mood::Broken),
    (9, Mood::Hangs),
    (9, Mood::Resets),
];

/// What was received under the id of a webhook.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Body, the same each time.
    pub body: Vec<u8>,
    /// Times at which it was sent.
    pub times: Vec<Timestamp>,
    /// Whether a receiver accepted it.
    pub accepted: bool,
}

impl Seen {
    /// Returns when it was last sent.
    pub fn last(&self) -> Timestamp {
        self.times.last().copied().unwrap_or_default()
    }
}

/// Reaction of a receiver to a request.
#[derive(Clone, Debug)]
pub struct Reaction {
    /// Answer as the service sees it.
    pub answer: Answer,
    /// Delay of the answer, microseconds.
    pub after_micros: u64,
}

/// All receivers of a world.
#[derive(Debug, Default)]
pub struct Receivers {
    moods: Vec<Mood>,
    seen: BTreeMap<String, Seen>,
    /// Number of webhooks received.
    pub webhooks: u64,
}

impl Receivers {
    /// Creates `count` receivers with random moods.
    pub fn new(count: usize, random: &mut Random) -> Self {
        Self { moods: (0..count).map(|_| random.weighed(&MOODS)).collect(), ..Self::default() }
    }

    /// Returns a URL of a receiver.
    pub fn url(at: usize, path: u64) -> String {
        format!("https://r{at}.example/hook/{path}")
    }

    /// Returns the number of receivers.
    pub fn count(&self) -> usize {
        self.moods.len()
    }

    /// Returns what was received under an id.
    pub fn seen(&self, id: &str) -> Option<&Seen> {
        self.seen.get(id)
    }

    /// Returns everything received, by id.
    pub fn all_seen(&self) -> &BTreeMap<String, Seen> {
        &self.seen
    }

    /// Draws a new mood for a receiver.
    pub fn change(&mut self, at: usize, random: &mut Random) {
        if let Some(mood) = self.moods.get_mut(at) {
            *mood = random.weighed(&MOODS);
        }
    }

    /// Makes a receiver accept everything from here on.
    pub fn please(&mut self, at: usize) {
        if let Some(mood) = self.moods.get_mut(at) {
            *mood = Mood::Takes;
        }
    }

    /// Receives a webhook; fails if it differs from the one received under its id before.
    pub fn take(
        &mut self,
        id: &str,
        request: &HttpOut,
        now: Timestamp,
        random: &mut Random,
    ) -> Result<Reaction, String> {
        let reaction = self.react(request, random);
        self.webhooks += 1;
        let seen = self.seen.entry(id.to_owned()).or_insert_with(|| Seen {
            body: request.body.clone(),
            times: Vec::new(),
            accepted: false,
        });
        seen.times.push(now);
        seen.accepted |= matches!(&reaction.answer, Answer::Http(answer) if (200..300).contains(&answer.status));
        if seen.body == request.body {
            Ok(reaction)
        } else {
            Err(format!("a webhook has the very same body in every try: {id}"))
        }
    }

    /// Returns a receiver's reaction to a request.
    pub fn react(&self, request: &HttpOut, random: &mut Random) -> Reaction {
        let host = request.url.strip_prefix("https://r").and_then(|rest| rest.split('.').next());
        let at = host.and_then(|digits| digits.parse::<usize>().ok());
        let mood = at.and_then(|at| self.moods.get(at)).copied().unwrap_or(Mood::Takes);
        let took_ms = random.within(1..=request.timeout_ms.min(15_000) - 1);
        let quick_ms = if random.chance(900) { random.within(1..=400) } else { took_ms };
        let said = |status: u16, more: &[(&str, String)]| {
            let headers = more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            let body = b"{\"city\":\"Iasi\"}".to_vec();
            Answer::Http(HttpIn { status, headers, body, cut: false, duration_ms: quick_ms })
        };
        let (answer, ms) = match mood {
            Mood::Takes => (said(random.one(&[200, 201, 202, 204]), &[]), quick_ms),
            Mood::Moved => (said(307, &[("location", "https://elsewhere.example/".into())]), quick_ms),
            Mood::Refuses => (said(random.one(&[400, 401, 404, 422]), &[]), quick_ms),
            Mood::Gone => (said(410, &[]), quick_ms),
            Mood::Busy => {
                let seconds = random.weighed(&[(6, 7), (3, 1_000), (1, 200_000)]);
                (said(random.one(&[429, 503]), &[("retry-after", seconds.to_string())]), quick_ms)
            }
            Mood::Broken => (said(random.one(&[500, 502]), &[]), quick_ms),
            Mood::Hangs => (Answer::Failed(SendError::TimedOut), request.timeout_ms),
            Mood::Resets => (Answer::Failed(SendError::Unreachable), quick_ms),
        };
        Reaction { answer, after_micros: ms * SECOND / 1_000 }
    }

    /// Returns the language model's reaction: mostly an answer, sometimes nonsense or nothing.
    pub fn conclude(random: &mut Random) -> Reaction {
        let found = json!({
            "evaluation": { "success": random.chance(500), "sentiment": "neutral", "summary": "They talked." },
            "variables": { "goal": random.chance(500) },
        });
        let content = if random.chance(150) { "I cannot say.".to_owned() } else { found.to_string() };
        let body = json!({ "choices": [{ "message": { "content": content } }] }).to_string().into_bytes();
        let status = if random.chance(150) { 503 } else { 200 };
        let answer = HttpIn { status, body, ..HttpIn::default() };
        Reaction { answer: Answer::Http(answer), after_micros: random.within(SECOND / 10..=20 * SECOND) }
    }
}
