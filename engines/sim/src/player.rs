//! The player: reports a script to the service, event by event, at the pace of the script.
//!
//! `at` of an event is the real time at which it happened here, never a future time: at a speed above 1 the durations
//! that the service computes are shorter than the script's by that factor, while the costs are those of the script's
//! own time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::call::{CallInfo, spoken};
use super::clock::EventClock;
use super::outbox::{Outbox, OutboxError};
use super::script::lines::{LookupAnswer, with_answer};
use super::script::script;
use super::script::step::{CallProgress, ScriptAct, ScriptStep, Speaker, cut_short};
use super::wire::{EventsReply, ServiceClient};

/// Timing of the player.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// Simulated seconds per real second.
    pub speed: f64,
    /// Longest delay of an event before it is sent, so that several share a request.
    pub batch: Duration,
    /// Longest silence towards the service, so that leases last and commands arrive.
    pub renew: Duration,
    /// First backoff before a retry; it doubles each time.
    pub backoff: Duration,
    /// Longest backoff, before up to half is added as jitter.
    pub backoff_max: Duration,
    /// Retries of one request before the call is given up.
    pub tries_max: u32,
}

impl Pacing {
    /// Returns the timing for a speed: at most ten requests a second per call, at least one in ten seconds.
    pub const fn of(speed: f64) -> Self {
        Self {
            speed,
            batch: Duration::from_millis(100),
            renew: Duration::from_secs(10),
            backoff: Duration::from_millis(200),
            backoff_max: Duration::from_secs(5),
            tries_max: 40,
        }
    }

    /// Returns the backoff before the next try, with jitter so that calls do not retry all at once.
    pub fn pause(&self, call: u64, tries: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(1 << tries.min(16)).min(self.backoff_max);
        let spread = u32::try_from(call.wrapping_add(u64::from(tries)).wrapping_mul(37) % 50).unwrap_or(0);
        doubled * (100 + spread) / 100
    }

    fn real(&self, simulated_ms: u32) -> Duration {
        Duration::from_secs_f64(f64::from(simulated_ms) / 1_000.0 / self.speed)
    }
}

/// Why a call was abandoned before its script was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftCall {
    /// The service says that the call is over.
    Over,
    /// The call is not, or no longer, this engine's.
    Gone,
    /// The service stayed unreachable through all retries.
    Away,
    /// The service refused events with this status.
    Refused(u16),
    /// Service and engine disagree on the numbers of events.
    Disagreed,
}

impl From<OutboxError> for LeftCall {
    fn from(stuck: OutboxError) -> Self {
        match stuck {
            OutboxError::Refused => Self::Over,
            OutboxError::Disagreed => Self::Disagreed,
        }
    }
}

/// Plays a call to its end.
pub async fn play(
    wire: &ServiceClient,
    clock: &EventClock,
    pace: Pacing,
    call: &CallInfo,
    seed: u64,
) -> Result<(), LeftCall> {
    let player = Player {
        wire,
        clock,
        pace,
        call: call.id,
        steps: script(call, seed).into(),
        outbox: Outbox::default(),
        progress: CallProgress::default(),
        answer: None,
        hang_up: false,
        queued: None,
        heard: Instant::now(),
    };
    player.run().await
}

struct Player<'w> {
    wire: &'w ServiceClient,
    clock: &'w EventClock,
    pace: Pacing,
    call: u64,
    steps: VecDeque<ScriptStep>,
    outbox: Outbox,
    progress: CallProgress,
    /// Answer that the assistant's next line mentions.
    answer: Option<LookupAnswer>,
    /// Whether the service wants the call to end.
    hang_up: bool,
    /// When the oldest unsent event was added; `None` if all are sent.
    queued: Option<Instant>,
    /// When the service last answered.
    heard: Instant,
}

impl Player<'_> {
    async fn run(mut self) -> Result<(), LeftCall> {
        let mut played = Instant::now();
        while let Some(step) = self.steps.front() {
            let due = played + self.pace.real(step.after_ms);
            self.wait(due).await?;
            if std::mem::take(&mut self.hang_up) {
                self.steps = cut_short(self.steps.make_contiguous(), self.progress, "hangup").into();
            } else if let Some(step) = self.steps.pop_front() {
                self.perform(step).await?;
            }
            played = Instant::now();
        }
        self.flush().await
    }

    /// Waits until a step is due or the service wants the call to end, reporting and renewing meanwhile.
    async fn wait(&mut self, due: Instant) -> Result<(), LeftCall> {
        if self.queued.is_some_and(|queued| queued + self.pace.batch < due) {
            self.flush().await?;
        }
        while !self.hang_up {
            let renewal = self.heard + self.pace.renew;
            tokio::time::sleep_until(due.min(renewal)).await;
            if due <= renewal {
                break;
            }
            self.post().await?;
            // Sends earlier events again if the service asked for them.
            self.flush().await?;
        }
        Ok(())
    }

    async fn perform(&mut self, step: ScriptStep) -> Result<(), LeftCall> {
        self.progress = self.progress.after(&step);
        if matches!(step.act, ScriptAct::Tool { .. } | ScriptAct::Knowledge(_)) {
            // The service must learn what led to a request before the request; its answer may ask to hang up.
            self.flush().await?;
            if self.hang_up {
                return Ok(());
            }
        }
        match step.act {
            ScriptAct::Tool { name, arguments } => {
                self.answer = Some(LookupAnswer::Tool(self.wire.tool(self.call, &name, &arguments).await));
            }
            ScriptAct::Knowledge(query) => {
                self.answer = Some(LookupAnswer::Knowledge(self.wire.knowledge(self.call, &query).await));
            }
            ScriptAct::Say(Speaker::Bot, line) if self.answer.is_some() => {
                let answer = self.answer.take().map(|answer| with_answer(&line, &answer));
                // A passage is foreign text: placeholders and overlong parts are removed.
                let line = spoken(&answer.unwrap_or(line), &serde_json::Map::new());
                self.queue(&ScriptAct::Say(Speaker::Bot, line));
            }
            act => self.queue(&act),
        }
        Ok(())
    }

    fn queue(&mut self, act: &ScriptAct) {
        self.outbox.push(self.clock.now(), act);
        self.queued.get_or_insert_with(Instant::now);
    }

    /// Sends all unsent events.
    async fn flush(&mut self) -> Result<(), LeftCall> {
        while !self.outbox.is_empty() {
            self.post().await?;
        }
        self.queued = None;
        Ok(())
    }

    /// Sends a batch, or renews the lease if there is none; retries until the service gives a definite answer.
    async fn post(&mut self) -> Result<(), LeftCall> {
        for tries in 0..=self.pace.tries_max {
            let batch = self.outbox.batch();
            let count = batch.len();
            match self.wire.events(self.call, batch).await {
                EventsReply::Taken { over, hang_up } => {
                    self.outbox.took(count);
                    self.heard = Instant::now();
                    self.hang_up |= hang_up && !self.progress.over;
                    return if over && !self.progress.over { Err(LeftCall::Over) } else { Ok(()) };
                }
                EventsReply::Conflict(next_seq) => return Ok(self.outbox.resume(next_seq)?),
                EventsReply::Gone => return Err(LeftCall::Gone),
                EventsReply::Refused(status) => return Err(LeftCall::Refused(status)),
                EventsReply::Away => tokio::time::sleep(self.pace.pause(self.call, tries)).await,
            }
        }
        Err(LeftCall::Away)
    }
}
