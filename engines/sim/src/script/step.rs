//! Steps: what happens in a call, and after which pause; and how a call is cut short.

use serde_json::{Map, Value};

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
    /// The customer's telephone rings.
    Ring,
    /// A person or voicemail picks up.
    Answer(Pickup),
    /// A line was spoken.
    Say(Speaker, String),
    /// The conversation produced variables.
    Variables(Map<String, Value>),
    /// Keypad tones are sent.
    Dtmf(String),
    /// The call is transferred to this number.
    Transfer(String),
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
    /// The cost of the call.
    Cost(CallCost),
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
}

/// The speaker of a line in the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The assistant, in the `bot` lines of the transcript.
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

/// Progress of a call through its script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallProgress {
    /// Time since the answer, milliseconds of simulated time; `None` before it.
    pub talked_ms: Option<u32>,
    /// Whether the call has ended or failed.
    pub over: bool,
}

impl CallProgress {
    /// Returns the progress after a step.
    pub fn after(self, step: &ScriptStep) -> Self {
        let talked_ms = match step.act {
            ScriptAct::Answer(_) => Some(0),
            _ => self.talked_ms.map(|talked| talked.saturating_add(step.after_ms)),
        };
        Self { talked_ms, over: self.over || matches!(step.act, ScriptAct::End { .. } | ScriptAct::Fail(_)) }
    }
}

/// Returns the steps that replace the rest of a script when a running call is cut short.
///
/// The recording and the analysis stay, the latter without a verdict; before the answer only a failure is reported.
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
