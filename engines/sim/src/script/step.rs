//! Steps: what happens in a call, and how long after what came before; and how a call is cut short.

use serde_json::{Map, Value};

/// What the carrier takes for a second of talk, millionths of a US dollar.
const CARRIER_MICROS_PER_SECOND: u32 = 200;
/// What a second of talk costs in all, millionths of a US dollar.
const TOTAL_MICROS_PER_SECOND: u32 = 1_500;

/// One thing that happens in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptStep {
    /// How long after the step before, milliseconds of simulated time.
    pub after_ms: u32,
    /// What happens.
    pub act: ScriptAct,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptAct {
    /// The customer's telephone rings.
    Ring,
    /// Somebody, or something, picks up.
    Answer(Pickup),
    /// A line was spoken.
    Say(Speaker, String),
    /// The conversation brought up variables.
    Variables(Map<String, Value>),
    /// Keypad tones.
    Dtmf(String),
    /// The call is handed over to a number.
    Transfer(String),
    /// A tool is asked; its answer is mentioned in the assistant's next line.
    Tool {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// The knowledgebase is asked; what it has is told in the assistant's next line.
    Knowledge(String),
    /// The recording can be had here.
    Recording(String),
    /// What the engine makes of the call.
    Analysis(CallAnalysis),
    /// The call that was answered ends.
    End {
        /// Who ended it.
        by: Party,
        /// Why.
        reason: &'static str,
    },
    /// The call comes to nothing; the reasons `busy` and `no-answer` have states of their own.
    Fail(&'static str),
    /// What the call costs.
    Cost(CallCost),
}

/// Who picks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pickup {
    /// A person.
    Human,
    /// Voicemail.
    Machine,
    /// That is not known: the customer called.
    Unknown,
}

impl Pickup {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Machine => "machine",
            Self::Unknown => "unknown",
        }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The assistant.
    Bot,
    /// The customer, or the machine that picked up.
    Human,
}

impl Speaker {
    /// The word on the wire.
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
    /// The customer.
    Customer,
    /// The assistant.
    Assistant,
    /// Neither: the service said so, or the longest duration was reached.
    Service,
}

impl Party {
    /// The word on the wire.
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
    /// Content.
    Positive,
    /// Neither.
    Neutral,
    /// Annoyed.
    Negative,
}

impl CallSentiment {
    /// The word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Neutral => "neutral",
            Self::Negative => "negative",
        }
    }
}

/// What the engine makes of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallAnalysis {
    /// Whether the call reached its goal; `None` when that cannot be said.
    pub success: Option<bool>,
    /// The tone of the customer.
    pub sentiment: CallSentiment,
    /// The call in a sentence.
    pub summary: String,
    /// A value for each entry of the assistant's `post_call_schema`.
    pub variables: Map<String, Value>,
}

/// What a call costs, millionths of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCost {
    /// The carrier's part.
    pub carrier_micros: u32,
    /// In all.
    pub total_micros: u32,
}

impl CallCost {
    /// The cost of a talk; a second that began counts whole.
    pub fn of(talked_ms: u32) -> Self {
        let seconds = talked_ms.div_ceil(1_000);
        Self {
            carrier_micros: seconds.saturating_mul(CARRIER_MICROS_PER_SECOND),
            total_micros: seconds.saturating_mul(TOTAL_MICROS_PER_SECOND),
        }
    }
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallProgress {
    /// Since it was answered, milliseconds of simulated time; `None` before that.
    pub talked_ms: Option<u32>,
    /// Whether it has ended or failed.
    pub over: bool,
}

impl CallProgress {
    /// The progress after a step.
    pub fn after(self, step: &ScriptStep) -> Self {
        let talked_ms = match step.act {
            ScriptAct::Answer(_) => Some(0),
            _ => self.talked_ms.map(|talked| talked.saturating_add(step.after_ms)),
        };
        Self { talked_ms, over: self.over || matches!(step.act, ScriptAct::End { .. } | ScriptAct::Fail(_)) }
    }
}

/// What is played instead of the rest of a script when a call that is not over is cut short.
///
/// The recording and the analysis stay, the latter without a verdict; before the answer there is only a
/// failure to report.
pub fn cut_short(rest: &[ScriptStep], progress: CallProgress, reason: &'static str) -> Vec<ScriptStep> {
    let Some(talked_ms) = progress.talked_ms else {
        return vec![ScriptStep { after_ms: 0, act: ScriptAct::Fail(reason) }];
    };
    let mut acts: Vec<ScriptAct> = rest.iter().filter_map(|step| kept(&step.act)).collect();
    acts.push(ScriptAct::End { by: Party::Service, reason });
    acts.push(ScriptAct::Cost(CallCost::of(talked_ms)));
    acts.into_iter().map(|act| ScriptStep { after_ms: 0, act }).collect()
}

fn kept(act: &ScriptAct) -> Option<ScriptAct> {
    match act {
        ScriptAct::Recording(_) => Some(act.clone()),
        ScriptAct::Analysis(analysis) => Some(ScriptAct::Analysis(CallAnalysis {
            success: None,
            sentiment: CallSentiment::Neutral,
            summary: "The call was cut short before its goal was reached or missed.".into(),
            variables: analysis.variables.clone(),
        })),
        _ => None,
    }
}

/// The script with no talk longer than the assistant allows; what follows an end takes no time.
pub fn limited(steps: Vec<ScriptStep>, max_ms: u32) -> Vec<ScriptStep> {
    let mut progress = CallProgress::default();
    for (at, step) in steps.iter().enumerate() {
        let next = progress.after(step);
        if next.talked_ms.is_some_and(|talked| talked > max_ms) {
            let at_limit = CallProgress { talked_ms: Some(max_ms), over: false };
            let mut closing = cut_short(&steps[at..], at_limit, "max-duration");
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
