//! The work after a call: evaluation, and extraction of the fields of `post_call_schema`
//! (API.md, The engine side).

use alloc::vec::Vec;

use super::ending;
use super::stored::{Stored, formatted};
use super::tables::CallStatus;
use crate::assistant::{self, Kept};
use crate::job::{Progress, Work};
use crate::json::{Members, Value};
use crate::llm;
use crate::view::Stop;

/// Waits between tries, seconds; after the last one it is given up.
const WAITS: [u64; 3] = [5, 30, 120];

/// Concludes a call: by the operator's model, else by what its engine said of it.
pub fn conclude(work: &Work<'_>, count: u32) -> Result<Progress, Stop> {
    let Some(mut call) = Stored::find(work.account, count)? else { return Ok(Progress::Done) };
    let over = matches!(call.status()?, CallStatus::Ended | CallStatus::EndedByAssistant | CallStatus::EndedByCustomer);
    let Some(assistant) = assistant::kept(work.account, call.assistant())?.filter(|_| over) else {
        ending::complete(work.account, &mut call, work.now)?;
        return Ok(Progress::Done);
    };
    let wish = llm::Wish { evaluation: assistant.evaluates(), fields: assistant.fields() };
    if let Some(model) = &work.setup.config.llm {
        let transcript = formatted(&call.transcript(work.account)?);
        let Some(answer) = work.asks.ask(|| model.request(&wish, &transcript)) else { return Ok(Progress::Waits) };
        match model.read(&wish, &answer) {
            Some(found) => {
                take(&mut call, &wish, &found);
                ending::complete(work.account, &mut call, work.now)?;
                return Ok(Progress::Done);
            }
            None => {
                if let Some(wait) = WAITS.get(call.live.tries as usize) {
                    call.live.tries += 1;
                    call.save(work.account, work.now)?;
                    return Ok(Progress::At(work.now.plus_seconds(*wait)));
                }
            }
        }
    }
    let said = call.live.analysis.take();
    if let Some(found) = said.as_ref().and_then(Value::as_object) {
        take(&mut call, &wish, &llm::Found::of(&wish, found));
    }
    ending::complete(work.account, &mut call, work.now)?;
    Ok(Progress::Done)
}

fn take(call: &mut Stored, wish: &llm::Wish, found: &llm::Found) {
    if wish.evaluation
        && let Some(evaluation) = &found.evaluation
    {
        call.shown.set("evaluation", evaluation.clone());
    }
    call.collect(&Members(found.variables.clone()));
}

impl Kept {
    /// Whether there is work after a call.
    pub fn wants_conclusion(&self) -> bool {
        self.evaluates() || !self.fields().is_empty()
    }

    fn evaluates(&self) -> bool {
        self.flag("post_call_evaluation")
    }

    fn fields(&self) -> Vec<llm::Field> {
        let fields = self.members.get("post_call_schema").and_then(Value::as_list).unwrap_or_default();
        fields.iter().filter_map(llm::Field::of).collect()
    }
}
