//! Steps: what happens in a call, and after which pause; and how a call is cut short.

use serde_json::{Map, Value};

/// Speaking time per character, milliseconds: about 150 words a minute.
const CHARACTER_MS: u32 = 65;
/// Characters of a token, as language models count English.
const TOKEN_CHARACTERS: u32 = 4;
/// The carrier's price of a second of talk, millionths of a US dollar.
const CARRIER_MICROS_PER_SECOND: u32 = 200;
/// The total price of a second of talk, millionths of a US dollar.
const TOTAL_MICROS_PER_SECOND: u32 = 1_500;

/// One step of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptStep {
    /// Pause after the previous step, milliseconds of simulated time.
    pub after_ms: u32,
    /// What happens after the pause.
    pub act: ScriptAct,
}

/// An event in a call, or a request to the service.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptAct {
    /// The engine begins to dial.
    Dial,
    /// The engine gives the call back before it dials, for this reason.
    Release(&'static str),
    /// The customer's telephone rings.
    Ring,
    /// A person or voicemail picks up.
    Answer(Pickup),
    /// Who picked up is known now.
    Detect(Pickup),
    /// A line was spoken.
    Say(SpokenLine),
    /// The turn was answered this quickly.
    Metrics(TurnTimes),
    /// The conversation produced variables.
    Variables(Map<String, Value>),
    /// The assistant sends keypad tones.
    Dtmf(String),
    /// The call is being transferred to this number.
    Transfer(String, TransferState),
    /// The customer waits.
    Hold,
    /// The conversation goes on.
    Resume,
    /// A command of the service was carried out, or refused for this reason.
    Command(Value, Option<&'static str>),
    /// A tool is called; the assistant's next line mentions the answer.
    Tool {
        /// Name of the tool.
        name: String,
        /// Arguments of the call.
        arguments: Map<String, Value>,
    },
    /// The knowledgebase is searched for this; the assistant's next line mentions the result.
    Knowledge(String),
    /// URL of the recording.
    Recording(String),
    /// The engine's analysis of the call.
    Analysis(ScriptedAnalysis),
    /// An answered call ends.
    End {
        /// Who ended the call.
        by: Party,
        /// Reason on the wire, such as `max-duration`.
        reason: &'static str,
    },
    /// The call fails before an answer, for this reason; `busy` and `no-answer` have states of their own.
    Fail(&'static str),
    /// The quality of the line.
    Quality(LineQuality),
    /// What the call used.
    Usage(CallUsage),
    /// The cost of the call.
    Cost(CallCost),
}

/// A line of the transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpokenLine {
    /// Who spoke it.
    pub speaker: Speaker,
    /// What was heard of it.
    pub text: String,
    /// Number of its turn, from 0 for what is said before the customer speaks; `None` for a line that nobody spoke.
    pub turn: Option<u32>,
    /// How sure the transcriber is of what the customer said, hundredths; 0 for the assistant's lines.
    pub confidence: u32,
    /// Whether the other side cut it off.
    pub is_interrupted: bool,
}

impl SpokenLine {
    /// Returns how long it takes to speak, milliseconds of simulated time.
    pub fn duration_ms(&self) -> u32 {
        if self.turn.is_none() { 0 } else { spoken_ms(&self.text) }
    }
}

/// Returns how long it takes to speak a text, milliseconds of simulated time.
pub fn spoken_ms(text: &str) -> u32 {
    characters(text).saturating_mul(CHARACTER_MS)
}

fn characters(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// How long the parts of a turn took, milliseconds of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnTimes {
    /// Number of the turn.
    pub turn: u32,
    /// Until it was clear that the customer had finished.
    pub endpoint_ms: u32,
    /// Until the words were there.
    pub stt_ms: u32,
    /// Until the model's first token.
    pub llm_ms: u32,
    /// Until the first sound.
    pub tts_ms: u32,
    /// On the line.
    pub transport_ms: u32,
}

impl TurnTimes {
    /// Returns the sum of the parts.
    pub const fn total_ms(self) -> u32 {
        self.endpoint_ms + self.stt_ms + self.llm_ms + self.tts_ms + self.transport_ms
    }
}

/// How far a transfer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferState {
    /// It was asked for.
    Started,
    /// The other side took the call.
    Accepted,
}

impl TransferState {
    /// Returns the word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Accepted => "accepted",
        }
    }
}

/// The quality of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineQuality {
    /// Mean opinion score, hundredths.
    pub mos_hundredths: u32,
    /// Lost packets of ten thousand.
    pub loss_myriadths: u32,
    /// Jitter, milliseconds.
    pub jitter_ms: u32,
    /// Round-trip time, milliseconds.
    pub rtt_ms: u32,
}

/// Who or what picks up an answered call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pickup {
    /// A person picks up.
    Human,
    /// Voicemail or another machine.
    Machine,
    /// Unknown: the customer called.
    Unknown,
}

impl Pickup {
    /// Returns the word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Machine => "machine",
            Self::Unknown => "unknown",
        }
    }

    /// Returns what it is more exactly, as the wire says it; `None` if that is unknown.
    pub const fn kind(self) -> Option<&'static str> {
        match self {
            Self::Human => Some("person"),
            Self::Machine => Some("voicemail"),
            Self::Unknown => None,
        }
    }

    /// Returns whether a tone was heard after which it records.
    pub const fn beeps(self) -> bool {
        matches!(self, Self::Machine)
    }
}

/// The speaker of a line in the transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speaker {
    /// The assistant, in the `bot` lines of the transcript.
    #[default]
    Bot,
    /// The customer, or the machine that picked up.
    Human,
}

impl Speaker {
    /// Returns the word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Bot => "bot",
            Self::Human => "human",
        }
    }
}

/// Who ends a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The customer hung up.
    Customer,
    /// The assistant hung up.
    Assistant,
    /// Neither: the service ended it, or the longest duration was reached.
    Service,
}

impl Party {
    /// Returns the word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Assistant => "assistant",
            Self::Service => "service",
        }
    }
}

/// The tone of the customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSentiment {
    /// The customer was content.
    Positive,
    /// The customer was neither content nor annoyed.
    Neutral,
    /// The customer was annoyed.
    Negative,
}

impl CallSentiment {
    /// Returns the word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Neutral => "neutral",
            Self::Negative => "negative",
        }
    }
}

/// The engine's analysis of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedAnalysis {
    /// Whether the call reached its goal; `None` when unknown.
    pub success: Option<bool>,
    /// The tone of the customer.
    pub sentiment: CallSentiment,
    /// Summary in one sentence.
    pub summary: String,
    /// Value of each entry of the assistant's `post_call_schema`.
    pub variables: Map<String, Value>,
}

/// Cost of a call, millionths of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCost {
    /// The carrier's share of the total.
    pub carrier_micros: u32,
    /// The total, including the carrier's share.
    pub total_micros: u32,
}

impl CallCost {
    /// Returns the cost of a talk; a started second counts in full.
    pub fn of(talked_ms: u32) -> Self {
        let seconds = talked_ms.div_ceil(1_000);
        Self {
            carrier_micros: seconds.saturating_mul(CARRIER_MICROS_PER_SECOND),
            total_micros: seconds.saturating_mul(TOTAL_MICROS_PER_SECOND),
        }
    }
}

/// What a call used of speech, model and line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallUsage {
    /// Speech of the customer, milliseconds.
    pub heard_ms: u32,
    /// Characters that the assistant spoke.
    pub spoken_characters: u32,
    /// Tokens that a model would have read: the conversation so far, with each of its answers.
    pub tokens_in: u32,
    /// Tokens that a model would have written.
    pub tokens_out: u32,
    /// Time since the answer, milliseconds.
    pub line_ms: u32,
}

/// Progress of a call through its script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallProgress {
    /// Time since the answer, milliseconds of simulated time; `None` before it.
    pub talked_ms: Option<u32>,
    /// Whether the call has ended or failed, or was given back.
    pub over: bool,
    /// Whether the customer waits.
    pub on_hold: bool,
    used: CallUsage,
    characters: u32,
}

impl CallProgress {
    /// Returns the progress after a step.
    pub fn after(mut self, step: &ScriptStep) -> Self {
        self.talked_ms = match step.act {
            ScriptAct::Answer(_) => Some(0),
            _ => self.talked_ms.map(|talked| talked.saturating_add(step.after_ms)),
        };
        match &step.act {
            ScriptAct::End { .. } | ScriptAct::Fail(_) | ScriptAct::Release(_) => self.over = true,
            ScriptAct::Hold => self.on_hold = true,
            ScriptAct::Resume => self.on_hold = false,
            ScriptAct::Say(line) if line.turn.is_some() => self.hear(line),
            _ => {}
        }
        self
    }

    fn hear(&mut self, line: &SpokenLine) {
        let (length, used) = (characters(&line.text), &mut self.used);
        match line.speaker {
            Speaker::Human => used.heard_ms = used.heard_ms.saturating_add(line.duration_ms()),
            Speaker::Bot => {
                used.spoken_characters = used.spoken_characters.saturating_add(length);
                used.tokens_in = used.tokens_in.saturating_add(self.characters.div_ceil(TOKEN_CHARACTERS));
                used.tokens_out = used.tokens_out.saturating_add(length.div_ceil(TOKEN_CHARACTERS));
            }
        }
        self.characters = self.characters.saturating_add(length);
    }

    /// Returns what the call has used so far.
    pub fn usage(self) -> CallUsage {
        CallUsage { line_ms: self.talked_ms.unwrap_or(0), ..self.used }
    }

    /// Returns the end of an answered call, with what is known only then.
    pub fn ending(self, by: Party, reason: &'static str, quality: LineQuality) -> [ScriptAct; 4] {
        [
            ScriptAct::End { by, reason },
            ScriptAct::Quality(quality),
            ScriptAct::Usage(self.usage()),
            ScriptAct::Cost(CallCost::of(self.talked_ms.unwrap_or(0))),
        ]
    }
}

/// Returns the steps that replace the rest of a script when a running call is cut short.
///
/// The recording, the analysis and the quality of the line stay, the analysis without a verdict; before the answer only a
/// failure is reported.
pub fn cut_short(rest: &[ScriptStep], progress: CallProgress, by: Party, reason: &'static str) -> Vec<ScriptStep> {
    let at_once = |act| ScriptStep { after_ms: 0, act };
    if progress.talked_ms.is_none() {
        return vec![at_once(ScriptAct::Fail(reason))];
    }
    let mut acts: Vec<ScriptAct> = rest.iter().filter_map(|step| kept(&step.act)).collect();
    let quality = rest.iter().find_map(|step| match step.act {
        ScriptAct::Quality(quality) => Some(quality),
        _ => None,
    });
    let silent = |act: &ScriptAct| quality.is_some() || !matches!(act, ScriptAct::Quality(_));
    acts.extend(progress.ending(by, reason, quality.unwrap_or_default()).into_iter().filter(silent));
    acts.into_iter().map(at_once).collect()
}

fn kept(act: &ScriptAct) -> Option<ScriptAct> {
    match act {
        ScriptAct::Recording(_) => Some(act.clone()),
        // What was still being carried out is not any more.
        ScriptAct::Command(id, reason) => {
            Some(ScriptAct::Command(id.clone(), Some(reason.unwrap_or("The call ended before."))))
        }
        ScriptAct::Analysis(analysis) => Some(ScriptAct::Analysis(ScriptedAnalysis {
            success: None,
            sentiment: CallSentiment::Neutral,
            summary: "The call was cut short before its goal was reached or missed.".into(),
            variables: analysis.variables.clone(),
        })),
        _ => None,
    }
}

/// Returns the script with no talk longer than the assistant allows; steps after the end take no time.
pub fn limited(steps: Vec<ScriptStep>, max_ms: u32) -> Vec<ScriptStep> {
    let mut progress = CallProgress::default();
    for (at, step) in steps.iter().enumerate() {
        let next = progress.after(step);
        if next.talked_ms.is_some_and(|talked| talked > max_ms) {
            let at_limit = CallProgress { talked_ms: Some(max_ms), ..progress };
            let mut closing = cut_short(&steps[at..], at_limit, Party::Service, "max-duration");
            if let Some(first) = closing.first_mut() {
                first.after_ms = max_ms.saturating_sub(progress.talked_ms.unwrap_or(0));
            }
            let mut played = steps[..at].to_vec();
            played.append(&mut closing);
            return played;
        }
        progress = next;
    }
    steps
}
