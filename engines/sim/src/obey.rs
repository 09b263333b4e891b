//! What a command does to the rest of a script.

use super::call::spoken;
use super::command::{CommandOrder, EngineCommand};
use super::script::step::{
    CallProgress, Party, ScriptAct, ScriptStep, Speaker, SpokenLine, TransferState, cut_short, spoken_ms,
};

const UNANSWERED: &str = "The call is not answered yet.";
const ENDING: &str = "The call is ending.";
const WAITING: &str = "The customer is on hold.";
const TALKING: &str = "The customer is not on hold.";
const UNREAD: &str = "The simulated engine plays a script: it has no mind to keep this in.";
const UNKNOWN: &str = "The simulated engine knows no such command.";
const SILENT: &str = "There is nothing in it to say.";

/// Returns the steps that follow once a command has come: what it asks for, its end, and the rest of the script.
pub fn obeyed(command: &EngineCommand, rest: &[ScriptStep], progress: CallProgress) -> Vec<ScriptStep> {
    let is_ending = rest.iter().take_while(|step| step.after_ms == 0).any(|step| is_end(&step.act));
    let done = ScriptAct::Command(command.id.clone(), None);
    let cut = |by, reason| ending(done.clone(), cut_short(rest, progress, by, reason));
    let refusal = match &command.order {
        CommandOrder::Unknown => UNKNOWN,
        // It is about to end as it is: what was commanded is done.
        CommandOrder::HangUp | CommandOrder::End { .. } if is_ending => return before([at_once(done)], rest),
        CommandOrder::HangUp => return cut(Party::Service, "hangup"),
        _ if is_ending => ENDING,
        _ if progress.talked_ms.is_none() => UNANSWERED,
        CommandOrder::Context => UNREAD,
        CommandOrder::End { after_sentence } => {
            let speaks = rest.first().filter(|step| *after_sentence && is_bot_line(&step.act));
            return before(speaks.cloned(), &cut(Party::Assistant, "end"));
        }
        CommandOrder::Resume if progress.on_hold => return before([at_once(ScriptAct::Resume), at_once(done)], rest),
        CommandOrder::Resume => TALKING,
        CommandOrder::Transfer(to) => {
            let transfer = |state| at_once(ScriptAct::Transfer(to.clone(), state));
            let states = [TransferState::Started, TransferState::Accepted].map(transfer);
            return before(states, &cut(Party::Assistant, "transferred"));
        }
        _ if progress.on_hold => WAITING,
        CommandOrder::Hold => return before([at_once(ScriptAct::Hold), at_once(done)], rest),
        CommandOrder::Dtmf(digits) => return before([at_once(ScriptAct::Dtmf(digits.clone())), at_once(done)], rest),
        CommandOrder::Say(text) => match line(text) {
            Some(line) => return before([line, at_once(done)], rest),
            None => SILENT,
        },
    };
    before([at_once(ScriptAct::Command(command.id.clone(), Some(refusal)))], rest)
}

/// Puts the end of a command before the end of its call, behind which no event may tell it.
fn ending(done: ScriptAct, mut steps: Vec<ScriptStep>) -> Vec<ScriptStep> {
    steps.insert(0, at_once(done));
    steps
}

fn before(first: impl IntoIterator<Item = ScriptStep>, rest: &[ScriptStep]) -> Vec<ScriptStep> {
    first.into_iter().chain(rest.iter().cloned()).collect()
}

fn at_once(act: ScriptAct) -> ScriptStep {
    ScriptStep { after_ms: 0, act }
}

fn line(text: &str) -> Option<ScriptStep> {
    let text = spoken(text, &serde_json::Map::new());
    let said = SpokenLine { text, turn: Some(0), ..SpokenLine::default() };
    let is_said = !said.text.is_empty();
    is_said.then(|| ScriptStep { after_ms: spoken_ms(&said.text), act: ScriptAct::Say(said) })
}

fn is_bot_line(act: &ScriptAct) -> bool {
    matches!(act, ScriptAct::Say(line) if line.speaker == Speaker::Bot)
}

fn is_end(act: &ScriptAct) -> bool {
    matches!(act, ScriptAct::End { .. } | ScriptAct::Fail(_) | ScriptAct::Release(_))
}
