//! The player: reports a script to the service, event by event, at the pace of the script, and carries out commands
//! between its steps.
//!
//! `at` of an event is the real time at which it happened here, never a future time: at a speed above 1 the durations
//! that the service computes are shorter than the script's by that factor, while the costs are those of the script's
//! own time.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::Engine;
use super::call::{CallInfo, spoken};
use super::command::EngineCommand;
use super::desk::{CallMessage, CallPlace};
use super::obey::obeyed;
use super::outbox::{Outbox, OutboxError};
use super::pacing::Pacing;
use super::script::lines::{LookupAnswer, with_answer};
use super::script::step::{CallProgress, ScriptAct, ScriptStep, Speaker, SpokenLine};
use super::wire::{EventsReply, ToolOutcome};

/// Most commands of one call that are carried out; the rest are ignored.
const COMMANDS_MAX: usize = 1_000;
/// How often a tool's request that got no answer is sent again.
const TOOL_TRIES_MAX: u32 = 5;

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

/// Plays the steps of a call to their end; at its `place` it learns what claims and heartbeats bring.
pub async fn play(engine: &Engine, call: &CallInfo, steps: Vec<ScriptStep>, place: CallPlace) -> Result<(), LeftCall> {
    let player = Player {
        engine,
        pace: engine.pace,
        call: call.id,
        steps: steps.into(),
        outbox: Outbox::new(call.next_seq),
        progress: CallProgress::default(),
        answer: None,
        place,
        commands: VecDeque::new(),
        known: BTreeSet::new(),
        tools: 0,
        queued: None,
        heard: Instant::now(),
    };
    player.run().await
}

struct Player<'e> {
    engine: &'e Engine,
    pace: Pacing,
    call: u64,
    steps: VecDeque<ScriptStep>,
    outbox: Outbox,
    progress: CallProgress,
    /// Answer that the assistant's next line mentions.
    answer: Option<LookupAnswer>,
    place: CallPlace,
    /// Commands that are to be carried out, in the order in which they came.
    commands: VecDeque<EngineCommand>,
    /// Ids of all commands that came: the service repeats each until its end is reported.
    known: BTreeSet<String>,
    /// How many tools were asked for.
    tools: u32,
    /// When the oldest unsent event was added; `None` if all are sent.
    queued: Option<Instant>,
    /// When the service last renewed the lease.
    heard: Instant,
}

impl Player<'_> {
    async fn run(mut self) -> Result<(), LeftCall> {
        let mut played = Instant::now();
        while let Some(step) = self.steps.front() {
            // While the customer waits, only a command goes on.
            let due = (!self.progress.on_hold || step.after_ms == 0).then(|| played + self.pace.real(step.after_ms));
            self.wait(due).await?;
            if let Some(command) = self.next_command() {
                let rest = obeyed(&command, self.steps.make_contiguous(), self.progress);
                self.steps = rest.into();
            } else if let Some(step) = self.steps.pop_front() {
                self.perform(step).await?;
            }
            played = Instant::now();
        }
        self.flush().await
    }

    /// Waits until a step is due or a command has come, reporting and renewing meanwhile.
    async fn wait(&mut self, due: Option<Instant>) -> Result<(), LeftCall> {
        if self.queued.is_some_and(|queued| due.is_none_or(|due| queued + self.pace.batch < due)) {
            self.flush().await?;
        }
        while let Ok(message) = self.place.messages.try_recv() {
            self.hear(message)?;
        }
        while !self.is_ready() {
            let renewal = self.heard + self.pace.silence;
            let until = due.map_or(renewal, |due| due.min(renewal));
            tokio::select! {
                Some(message) = self.place.messages.recv() => self.hear(message)?,
                () = tokio::time::sleep_until(until) => {
                    if due.is_some_and(|due| due <= renewal) {
                        break;
                    }
                    self.post().await?;
                    // Sends earlier events again if the service asked for them.
                    self.flush().await?;
                }
            }
        }
        Ok(())
    }

    fn hear(&mut self, message: CallMessage) -> Result<(), LeftCall> {
        match message {
            CallMessage::Command(command) => self.command(command),
            CallMessage::Renewed => self.heard = Instant::now(),
            CallMessage::Lost => return Err(LeftCall::Gone),
        }
        Ok(())
    }

    /// Queues a command that is new; one for a call that is over came too late.
    fn command(&mut self, command: EngineCommand) {
        let is_open = !self.progress.over && self.known.len() < COMMANDS_MAX;
        if is_open && self.known.insert(command.id.to_string()) {
            self.commands.push_back(command);
        }
    }

    async fn perform(&mut self, step: ScriptStep) -> Result<(), LeftCall> {
        self.progress = self.progress.after(&step);
        if self.progress.over {
            self.commands.clear();
        }
        match step.act {
            ScriptAct::Tool { name, arguments } => {
                let answer = self.ask_tool(&name, &arguments).await?;
                self.answer = Some(LookupAnswer::Tool(answer));
            }
            ScriptAct::Knowledge(query) => {
                // The service must learn what led to a search before it.
                self.flush().await?;
                if !self.is_to_end() {
                    let passage = self.engine.wire.knowledge(self.call, &query).await;
                    self.answer = Some(LookupAnswer::Knowledge(passage));
                }
            }
            ScriptAct::Say(line) if line.speaker == Speaker::Bot && self.answer.is_some() => {
                let answer = self.answer.take().map(|answer| with_answer(&line.text, &answer));
                // A passage is foreign text: placeholders and overlong parts are removed.
                let text = spoken(&answer.unwrap_or_else(|| line.text.clone()), &Map::new());
                self.queue(&ScriptAct::Say(SpokenLine { text, ..line }));
            }
            act => self.queue(&act),
        }
        Ok(())
    }

    fn queue(&mut self, act: &ScriptAct) {
        let lasted = match act {
            ScriptAct::Say(line) => self.pace.real(line.duration_ms()),
            _ => Duration::ZERO,
        };
        self.outbox.push(self.engine.clock.now(), lasted, act);
        self.queued.get_or_insert_with(Instant::now);
    }

    /// Asks a tool, and gives up when the service wants the call to end; returns the status of its endpoint, if it
    /// answered. The events that led to it travel with the request.
    async fn ask_tool(&mut self, name: &str, arguments: &Map<String, Value>) -> Result<Option<u16>, LeftCall> {
        let mut tries = 0;
        while tries < TOOL_TRIES_MAX {
            self.tools += 1;
            // Unique for ever: calls are numbered, and a call that comes back is claimed at another time.
            let key = format!("{}-{}-{}", self.call, self.engine.clock.now().as_microsecond(), self.tools);
            let batch = self.outbox.batch();
            let (count, body) = (batch.len(), json!({ "arguments": arguments, "events": batch }));
            loop {
                let (engine, call) = (self.engine, self.call);
                let reply = tokio::select! {
                    biased;
                    ended = self.until_hang_up() => return ended.map(|()| None),
                    reply = engine.wire.tool(call, name, &body, &key) => reply,
                };
                match reply {
                    ToolOutcome::Asked(status) => {
                        self.took(count);
                        return Ok(Some(status));
                    }
                    ToolOutcome::NotAsked(next_seq) => {
                        next_seq.into_iter().for_each(|next_seq| self.outbox.took_until(next_seq));
                        return Ok(None);
                    }
                    ToolOutcome::Conflict(next_seq) => {
                        tries += 1;
                        self.outbox.resume(next_seq)?;
                        // Another list of events is another request.
                        break;
                    }
                    ToolOutcome::Away(unanswered) => {
                        tries += 1;
                        if tries >= TOOL_TRIES_MAX {
                            break;
                        }
                        tokio::time::sleep(self.pace.pause(self.call, tries).max(unanswered.retry_after)).await;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns once the service wants the call to end.
    async fn until_hang_up(&mut self) -> Result<(), LeftCall> {
        while !self.is_to_end() {
            match self.place.messages.recv().await {
                Some(message) => self.hear(message)?,
                None => std::future::pending().await,
            }
        }
        Ok(())
    }

    /// Returns whether a command can be carried out now: one that ends the call at any time, another once the one before
    /// has ended.
    fn is_ready(&self) -> bool {
        let is_busy = self.steps.iter().any(|step| matches!(step.act, ScriptAct::Command(..)));
        self.is_to_end() || (!is_busy && !self.commands.is_empty())
    }

    /// Takes the next command that can be carried out.
    fn next_command(&mut self) -> Option<EngineCommand> {
        if !self.is_ready() {
            return None;
        }
        let ends = self.commands.iter().position(EngineCommand::ends);
        self.commands.remove(ends.unwrap_or(0))
    }

    /// Returns whether a command wants the call to end.
    fn is_to_end(&self) -> bool {
        self.commands.iter().any(EngineCommand::ends)
    }

    fn took(&mut self, count: usize) {
        self.outbox.took(count);
        self.heard = Instant::now();
        if self.outbox.is_empty() {
            self.queued = None;
        }
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
            match self.engine.wire.events(self.call, batch).await {
                EventsReply::Taken { over, commands } => {
                    self.took(count);
                    commands.into_iter().for_each(|command| self.command(command));
                    return if over && !self.progress.over { Err(LeftCall::Over) } else { Ok(()) };
                }
                EventsReply::Conflict(next_seq) => return Ok(self.outbox.resume(next_seq)?),
                EventsReply::Gone => return Err(LeftCall::Gone),
                EventsReply::Refused(status) => return Err(LeftCall::Refused(status)),
                EventsReply::Away(unanswered) => {
                    tokio::time::sleep(self.pace.pause(self.call, tries).max(unanswered.retry_after)).await;
                }
            }
        }
        Err(LeftCall::Away)
    }
}
