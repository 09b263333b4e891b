//! The end of a conversation: nobody said anything for the assistant's time of inactivity. The model extracts and evaluates
//! once, then it is reported: an event in the feed, and the webhook that the assistant asks for (docs/api.md, The end of a
//! conversation).

use alloc::string::String;
use alloc::vec::Vec;

use super::rows::{ConversationMessage, ConversationRow};
use super::tables::{Conversation, Customer, Role};
use crate::assistant::rows::of_call;
use crate::assistant::tables::{Assistant, INACTIVITY_MINUTES};
use crate::call;
use crate::id;
use crate::job::{self, Task, TaskContext, TaskOutcome};
use crate::json::{Object, ToJson};
use crate::key::Kind;
use crate::limits::TURN_LAPSE_SECONDS;
use crate::llm::{Llm, ModelAnswer, Wish};
use crate::record::{Json, MemberTuple};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;
use crate::webhook::{DeliveryRow, DeliveryState, Subject, Webhook, publish};

/// Waits before the retries of a failed model request, seconds; after the last one the request is given up.
const WAITS: [u64; 3] = [5, 30, 120];

/// Plans the end of a conversation in which somebody just said something. Its clock is read when the task is due: one
/// task serves however many messages.
pub fn watch(
    account: Scope<'_>,
    conversation: &mut ConversationRow,
    assistant: &Assistant,
    now: Timestamp,
) -> Result<(), Stop> {
    conversation.live.last_at = conversation.live.last_at.max(now);
    if conversation.live.ended_at.is_some() {
        conversation.live.ended_at = None;
        conversation.live.tries = 0;
    }
    let task = Task::EndConversation(conversation.count);
    if job::is_planned(account, &task)? {
        return Ok(());
    }
    job::add(account, now.plus_seconds(60 * u64::from(assistant.conversation_inactivity_timeout)), task)
}

/// Ends a conversation if nobody said anything for long enough.
pub fn conclude(work: &TaskContext<'_>, count: u32) -> Result<TaskOutcome, Stop> {
    let (account, now) = (work.account, work.now);
    let Some(mut conversation) = ConversationRow::find(account, count)? else { return Ok(TaskOutcome::Done) };
    if conversation.live.ended_at.is_some() {
        return Ok(TaskOutcome::Done);
    }
    let row = of_call(account, conversation.assistant())?;
    let minutes = match &row {
        Some(row) => Assistant::MEMBERS.conversation_inactivity_timeout.read(&row.public)?,
        None => INACTIVITY_MINUTES,
    };
    let due = conversation.live.last_at.plus_seconds(60 * u64::from(minutes));
    if now < due {
        return Ok(TaskOutcome::At(due));
    }
    if conversation.live.turn.as_ref().is_some_and(|turn| turn.holds(now)) {
        return Ok(TaskOutcome::At(now.plus_seconds(TURN_LAPSE_SECONDS)));
    }
    let messages = conversation.messages(account)?;
    let wish = match &row {
        Some(row) if conversation.live.user_messages > 0 => call::wish(row)?,
        _ => Wish { evaluation: false, fields: Vec::new() },
    };
    if let Some(model) = &work.setup.config.llm
        && !wish.is_empty()
        && (conversation.live.tries as usize) <= WAITS.len()
        && let Some(outcome) = ask(work, &mut conversation, (model, &wish), &messages)?
    {
        return Ok(outcome);
    }
    conversation.live.end(now);
    report(account, &mut conversation, row.as_ref(), &messages, now)?;
    conversation.save(account, now)?;
    Ok(TaskOutcome::Done)
}

/// Gives the analysis up: the conversation ends without it.
pub fn give_up(work: &TaskContext<'_>, count: u32) -> Result<(), Stop> {
    let Some(mut conversation) = ConversationRow::find(work.account, count)? else { return Ok(()) };
    conversation.live.end(work.now);
    conversation.save(work.account, work.now)
}

/// Asks the model about the conversation; returns what the task does next, `None` if it goes on to the report.
fn ask(
    work: &TaskContext<'_>,
    conversation: &mut ConversationRow,
    (model, wish): (&Llm, &Wish),
    messages: &[ConversationMessage],
) -> Result<Option<TaskOutcome>, Stop> {
    let transcript = formatted(messages);
    let Some(answer) = work.asks.ask(|| model.request(wish, &transcript)) else { return Ok(Some(TaskOutcome::Waits)) };
    if let Some(found) = model.read(wish, &answer) {
        take(conversation, found);
        return Ok(None);
    }
    let wait = WAITS.get(conversation.live.tries as usize);
    conversation.live.tries += 1;
    let Some(wait) = wait else { return Ok(None) };
    conversation.save(work.account, work.now)?;
    Ok(Some(TaskOutcome::At(work.now.plus_seconds(*wait))))
}

fn take(conversation: &mut ConversationRow, found: ModelAnswer) {
    conversation.shown.evaluation = found.evaluation.map(Json).or(conversation.shown.evaluation.take());
    for (name, value) in found.variables {
        conversation.live.extracted.0.set(&name, value.clone());
        conversation.shown.variables.0.set(&name, value);
    }
}

/// Publishes the end in the feed, and queues its webhook. A conversation in which the person said nothing is not told,
/// and one that was told before only if its assistant wishes that.
fn report(
    account: Scope<'_>,
    conversation: &mut ConversationRow,
    assistant: Option<&Row>,
    messages: &[ConversationMessage],
    now: Timestamp,
) -> Result<(), Stop> {
    let its = Assistant::MEMBERS;
    let (url, again) = match assistant {
        Some(row) => (its.conversation_ended_webhook_url, its.conversation_ended_retrigger).read(&row.public)?,
        None => (None, false),
    };
    if conversation.live.user_messages == 0 || conversation.live.reports > 0 && !again {
        return Ok(());
    }
    conversation.live.reports += 1;
    let payload = payload(account, conversation, messages, now);
    let mentions = [(Kind::Conversation, conversation.count)];
    let ended = publish(account, "conversation.ended", &payload, &mentions, now)?;
    if let Some(url) = url {
        let subject = Subject::Conversation { count: conversation.count, uuid: conversation.shown.id.clone() };
        let state =
            DeliveryState::new(&ended, conversation.count, conversation.assistant(), Webhook::ConversationEnded, false);
        DeliveryRow::enter_about(account, &ended, ("conversation.ended", &subject), url, &state, now)?;
    }
    Ok(())
}

fn payload(
    account: Scope<'_>,
    conversation: &ConversationRow,
    messages: &[ConversationMessage],
    now: Timestamp,
) -> Vec<u8> {
    let Conversation { customer, .. } = &conversation.shown;
    let of_customer = |part: fn(&Customer) -> &Option<String>| customer.as_ref().and_then(|known| part(known).clone());
    let mut bytes = Vec::new();
    let mut object = Object::open(&mut bytes);
    object.member("id", id::of(account.space(), conversation.count));
    object.member("conversation_id", &conversation.shown.id).member("assistant_id", &conversation.shown.assistant_id);
    object.member("type", conversation.shown.r#type).member("message_count", conversation.shown.message_count);
    object.member("status", "ended");
    object
        .member("extracted_variables", &conversation.live.extracted)
        .member("input_variables", &conversation.live.input);
    let lines: Vec<Line<'_>> = messages.iter().map(Line).collect();
    object.member("transcript", &lines[..]).member("formatted_transcript", formatted(messages));
    object.member("evaluation", &conversation.shown.evaluation);
    let none: [u64; 0] = [];
    object.member("attachments", &none[..]);
    object.member("customer_phone", of_customer(|known| &known.phone));
    object.member("customer_name", of_customer(|known| &known.name));
    object.member("sender", None::<u64>).member("external_identifier", &conversation.shown.external_identifier);
    object.member("created_at", conversation.shown.created_at.0.iso()).member("ended_at", now.iso());
    object.close();
    bytes
}

/// A message as the payload shows it.
struct Line<'m>(&'m ConversationMessage);

impl ToJson for Line<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let Self(message) = self;
        let mut object = Object::open(out);
        object.member("role", message.role).member("content", &message.content);
        object.member("timestamp", message.at.0.iso()).member("timestamp_unix", message.at.0.seconds());
        object.close();
    }
}

/// Formats what was said as text: "AI: …" or "Customer: …", one line for each message.
fn formatted(messages: &[ConversationMessage]) -> String {
    let of = |message: &ConversationMessage| {
        alloc::format!("{}: {}", if message.role == Role::Assistant { "AI" } else { "Customer" }, message.content)
    };
    messages.iter().map(of).collect::<Vec<_>>().join("\n")
}
