//! The writer of a script: tracks who speaks, times the lines and appends the steps.

use serde_json::Map;

use super::draw::Draw;
use super::fill::{CallFacts, Goal};
use super::lines;
use super::step::{
    CallProgress, CallSentiment, LineQuality, Party, Pickup, ScriptAct, ScriptStep, ScriptedAnalysis, Speaker,
    SpokenLine, TurnTimes,
};
use crate::call::{CallInfo, spoken};

/// Base URL of simulated recordings, in a domain reserved for examples (RFC 2606).
const RECORDINGS: &str = "https://recordings.example.com/simulated";
/// Entries of `post_call_schema` that the assistant asks about aloud.
const QUESTIONS_MAX: usize = 3;

/// A script being written.
pub struct ScriptWriter<'c> {
    /// The call as it was claimed.
    pub call: &'c CallInfo,
    /// Source of the call's draws.
    pub draw: Draw,
    /// Steps written so far.
    pub steps: Vec<ScriptStep>,
    /// What was talked about last.
    pub topic: &'static str,
    customer: String,
    named: bool,
    progress: CallProgress,
    turn: u32,
    speaker: Speaker,
}

impl<'c> ScriptWriter<'c> {
    /// Begins the script of a call.
    pub fn new(call: &'c CallInfo, seed: u64) -> Self {
        let draw = Draw::new(seed, call.id);
        let given = call.variables.get("customer_name").and_then(serde_json::Value::as_str);
        let given = given.map(|name| spoken(name, &call.variables)).filter(|name| !name.is_empty());
        let named = given.is_some();
        let customer = given.unwrap_or_else(|| (*draw.pick("name", &lines::NAMES)).to_string());
        let progress = CallProgress::default();
        let (topic, steps, turn, speaker) = ("the call", Vec::new(), 0, Speaker::Bot);
        Self { call, draw, steps, topic, customer, named, progress, turn, speaker }
    }

    /// Appends a step, `after_ms` after the previous one.
    pub fn act(&mut self, after_ms: u32, act: ScriptAct) {
        let step = ScriptStep { after_ms, act };
        self.progress = self.progress.after(&step);
        self.steps.push(step);
    }

    /// Has the assistant say a line.
    pub fn bot(&mut self, line: &str) {
        self.say(Speaker::Bot, line);
    }

    /// Has the customer say a line.
    pub fn human(&mut self, line: &str) {
        self.say(Speaker::Human, line);
    }

    /// Has the customer say a line which cuts off what the assistant was saying.
    pub fn interrupt(&mut self, line: &str) {
        let bot = |step: &&mut ScriptStep| matches!(&step.act, ScriptAct::Say(said) if said.speaker == Speaker::Bot);
        if let Some(ScriptStep { act: ScriptAct::Say(said), .. }) = self.steps.iter_mut().rev().find(bot) {
            let heard = said.text.chars().count() / 2;
            said.text = said.text.chars().take(heard).collect::<String>().trim_end().into();
            said.is_interrupted = true;
        }
        self.human(line);
    }

    /// Appends a line at the time when it has been spoken, after a short pause; behind an answer, how quick it was.
    fn say(&mut self, speaker: Speaker, line: &str) {
        let text = spoken(&line.replace("{customer}", &self.customer), &self.call.variables);
        if text.is_empty() {
            return;
        }
        let label = self.steps.len();
        let answers = speaker == Speaker::Bot && self.speaker == Speaker::Human;
        // A turn begins when the customer speaks.
        self.turn += u32::from(speaker == Speaker::Human && (self.speaker == Speaker::Bot || self.turn == 0));
        self.speaker = speaker;
        let confidence =
            if speaker == Speaker::Human { self.draw.between(&format!("confidence {label}"), 86, 99) } else { 0 };
        let said = SpokenLine { speaker, text, turn: Some(self.turn), confidence, is_interrupted: false };
        let times = answers.then(|| self.times(label));
        let pause = times.map_or_else(|| self.draw.between(&format!("pause {label}"), 300, 1_200), TurnTimes::total_ms);
        self.act(said.duration_ms().saturating_add(pause), ScriptAct::Say(said));
        if let Some(times) = times {
            self.act(0, ScriptAct::Metrics(times));
        }
    }

    /// Draws how long the parts of a turn take.
    fn times(&self, label: usize) -> TurnTimes {
        let draw = |part: &str, low, high| self.draw.between(&format!("{part} {label}"), low, high);
        TurnTimes {
            turn: self.turn,
            endpoint_ms: draw("endpoint", 180, 260),
            stt_ms: draw("stt", 60, 180),
            llm_ms: draw("llm", 220, 620),
            tts_ms: draw("tts", 90, 210),
            transport_ms: draw("transport", 30, 70),
        }
    }

    /// Draws one of these lines.
    pub fn one_of(&self, label: &str, lines: &[&'static str]) -> &'static str {
        let line: &&'static str = self.draw.pick(label, lines);
        line
    }

    /// Begins to dial, where the customer is called.
    pub fn dial(&mut self) {
        if self.call.kind == "outbound" {
            self.act(0, ScriptAct::Dial);
        }
    }

    /// Dials, and lets the customer's telephone ring.
    pub fn ring(&mut self) {
        self.dial();
        self.act(self.draw.between("dial", 300, 1_200), ScriptAct::Ring);
    }

    /// Lets someone pick up before the ringing time is over, and says what plays the call.
    pub fn answer(&mut self, by: Pickup) {
        let longest = self.call.assistant.ringing_seconds.saturating_mul(1_000) / 2;
        self.act(self.draw.between("ring", 800, 6_000).min(longest), ScriptAct::Answer(by));
        self.act(0, ScriptAct::Say(SpokenLine { text: lines::NOTICE.into(), ..SpokenLine::default() }));
    }

    /// Plays ringing, answer, greeting and the first words of both.
    pub fn opening(&mut self) {
        if self.call.kind != "web" {
            self.ring();
        }
        // Only a called customer picks up; others called themselves.
        self.answer(if self.call.kind == "outbound" { Pickup::Human } else { Pickup::Unknown });
        let greeting = self.call.assistant.greeting.clone();
        if self.call.assistant.wait_for_customer {
            self.human("Hello?");
        }
        self.bot(&greeting);
        if self.named {
            self.human(self.one_of("hello", &lines::HELLOS));
        } else {
            self.human("Hello, who is there?");
            self.bot("I would like to speak with you for a moment. May I ask your name?");
            self.human("My name is {customer}.");
            let learned = Map::from_iter([("customer_name".to_string(), self.customer.clone().into())]);
            self.act(200, ScriptAct::Variables(learned));
        }
        self.bot(self.one_of("opener", &lines::OPENERS));
    }

    /// Plays a question and its answer.
    pub fn exchange(&mut self, exchange: &lines::QuestionAndAnswer) {
        self.topic = exchange.topic;
        self.human(exchange.human);
        self.bot(exchange.bot);
    }

    /// Plays the questions whose answers are extracted after the call.
    pub fn questions(&mut self, goal: Goal) {
        for extract in self.call.assistant.extracts.iter().take(QUESTIONS_MAX) {
            let value = match self.facts(goal).value(&extract.name, &extract.kind) {
                serde_json::Value::Bool(true) => "Yes, that is right.".to_string(),
                serde_json::Value::Bool(false) => "No.".to_string(),
                serde_json::Value::String(text) => format!("Put down: {text}."),
                other => format!("Put down: {other}."),
            };
            self.bot(&format!("Let me note one thing. {}", extract.description));
            self.human(&value);
        }
    }

    /// Returns the facts known at this point.
    pub fn facts(&self, goal: Goal) -> CallFacts<'_> {
        CallFacts { call: self.call, draw: &self.draw, customer: &self.customer, topic: self.topic, goal }
    }

    /// Appends analysis, recording, end, and what is known only then.
    pub fn close(&mut self, goal: Goal, success: Option<bool>, by: Party, reason: &'static str) {
        let sentiment = match goal {
            Goal::Agreed => CallSentiment::Positive,
            Goal::Refused => CallSentiment::Negative,
            Goal::Unreached => CallSentiment::Neutral,
        };
        let facts = self.facts(goal);
        let (summary, variables) = (lines::summary(&facts), facts.extracted());
        self.act(400, ScriptAct::Analysis(ScriptedAnalysis { success, sentiment, summary, variables }));
        if self.call.assistant.record {
            self.act(0, ScriptAct::Recording(format!("{RECORDINGS}/{}.wav", self.call.id)));
        }
        let quality = self.quality();
        for act in self.progress.ending(by, reason, quality) {
            self.act(0, act);
        }
    }

    /// Draws the quality of the line.
    fn quality(&self) -> LineQuality {
        LineQuality {
            mos_hundredths: self.draw.between("mos", 405, 441),
            loss_myriadths: self.draw.between("loss", 0, 60),
            jitter_ms: self.draw.between("jitter", 2, 14),
            rtt_ms: self.draw.between("rtt", 28, 110),
        }
    }

    /// Returns the time since the answer, milliseconds.
    pub fn talked_ms(&self) -> u32 {
        self.progress.talked_ms.unwrap_or(0)
    }
}
