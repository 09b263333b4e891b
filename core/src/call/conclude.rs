//! The work after a call: evaluation, and extraction of the fields of `post_call_schema`
//! (docs/api.md, The engine interface).

use super::ending;
use super::rows::{CallRow, formatted};
use super::tables::CallStatus;
use crate::assistant::rows::of_call;
use crate::assistant::tables::{Assistant, Extract};
use crate::job::{TaskContext, TaskOutcome};
use crate::json::Members;
use crate::llm;
use crate::record::{Json, MemberTuple};
use crate::store::Row;
use crate::view::Stop;

/// Waits before the retries of a failed model request, seconds; after the last one the request is given up.
const WAITS: [u64; 3] = [5, 30, 120];

/// Concludes a call with the operator's model or, without one or once its retries are used up, with the analysis that
/// the call's engine sent.
pub fn conclude(work: &TaskContext<'_>, count: u32) -> Result<TaskOutcome, Stop> {
    let Some(mut call) = CallRow::find(work.account, count)? else { return Ok(TaskOutcome::Done) };
    let over = matches!(call.status(), CallStatus::Ended | CallStatus::EndedByAssistant | CallStatus::EndedByCustomer);
    let Some(assistant) = of_call(work.account, call.assistant())?.filter(|_| over) else {
        ending::complete(work.account, &mut call, work.now)?;
        return Ok(TaskOutcome::Done);
    };
    let wish = wish(&assistant)?;
    if let Some(model) = &work.setup.config.llm {
        let transcript = formatted(&call.transcript(work.account)?);
        let Some(answer) = work.asks.ask(|| model.request(&wish, &transcript)) else { return Ok(TaskOutcome::Waits) };
        match model.read(&wish, &answer) {
            Some(found) => {
                take(&mut call, &wish, &found);
                ending::complete(work.account, &mut call, work.now)?;
                return Ok(TaskOutcome::Done);
            }
            None => {
                if let Some(wait) = WAITS.get(call.live.tries as usize) {
                    call.live.tries += 1;
                    call.save(work.account, work.now)?;
                    return Ok(TaskOutcome::At(work.now.plus_seconds(*wait)));
                }
            }
        }
    }
    let said = call.live.analysis.take();
    if let Some(found) = said.as_ref().and_then(|said| said.0.as_object()) {
        take(&mut call, &wish, &llm::ModelAnswer::of(&wish, found));
    }
    ending::complete(work.account, &mut call, work.now)?;
    Ok(TaskOutcome::Done)
}

fn take(call: &mut CallRow, wish: &llm::Wish, found: &llm::ModelAnswer) {
    if wish.evaluation
        && let Some(evaluation) = &found.evaluation
    {
        call.shown.evaluation = Some(Json(evaluation.clone()));
    }
    call.collect(&Members(found.variables.clone()));
}

/// Returns what a call's conclusion shall produce: the evaluation, the fields of `post_call_schema`, both or neither.
pub fn wish(assistant: &Row) -> Result<llm::Wish, Stop> {
    let its = Assistant::MEMBERS;
    let (evaluation, fields) = (its.post_call_evaluation, its.post_call_schema).read(&assistant.public)?;
    let field =
        |Extract { name, r#type, description, .. }| llm::ExtractionField { name, kind: r#type.word(), description };
    Ok(llm::Wish { evaluation, fields: fields.into_iter().map(field).collect() })
}
