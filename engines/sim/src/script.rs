//! Scripts: what happens in a simulated call, from the first ring to the cost.
//!
//! Deterministic: the same call and seed give the same script. A script is made of [`step::ScriptStep`]s; the engine's
//! player plays them and knows nothing of plots.
//!
//! The last four digits of the customer's number choose the plot:
//!
//! | Digits | What happens |
//! |---|---|
//! | `0001`, and all that are not named here | somebody answers and talks: questions, one custom tool, a search where there is a knowledgebase, agreement |
//! | `0002` | the line is busy |
//! | `0003` | nobody answers within `ringing_time` |
//! | `0004` | voicemail: `voice_mail_message` is left; with `end_call_on_voicemail` the assistant hangs up then, else the machine does |
//! | `0005` | the customer hangs up at once |
//! | `0006` | the call fails: `carrier-error` |
//! | `0007` | somebody talks on until told to hang up, or until `max_duration` |
//! | `0008` | each custom tool is asked once |
//! | `0009` | the customer wants a person: the call goes to the number of `call_transfer`; to +1 202 555 0100 where that tool is `custom` without a number; nowhere without the tool |
//! | `0010` | the customer asks what only the knowledgebase knows |
//! | `0011` | the engine falls silent in the middle: the lease of the call runs out |
//! | `0012` | the customer refuses: success, and every extracted boolean, is false |
//! | `0013` | the engine gives the call back before it dials |
//!
//! No talk is longer than the assistant's `max_duration`, in simulated time.

mod draw;
mod fill;
pub mod lines;
pub mod step;
#[cfg(test)]
mod tests;
mod writer;

use self::fill::Goal;
use self::lines::EXCHANGES;
use self::step::{Party, Pickup, ScriptAct, ScriptStep, TransferState, limited};
use self::writer::ScriptWriter;
use super::call::{CallInfo, CallTarget, Function, Knowledge};

/// A number from the range reserved for fiction, for transfers to a number of the model's choice.
const ANY_NUMBER: &str = "+12025550100";
/// Characters of a knowledge text that are read out.
const QUOTE_CHARS: usize = 200;

/// The course of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plot {
    Talks,
    Busy,
    NoAnswer,
    Voicemail,
    HangsUp,
    Fails,
    TalksOn,
    Tools,
    Transfer,
    Knowledge,
    Silence,
    Refuses,
    GivesBack,
}

impl Plot {
    fn of(call: &CallInfo) -> Self {
        match call.last_digits() {
            Some(2) => Self::Busy,
            Some(3) => Self::NoAnswer,
            Some(4) => Self::Voicemail,
            Some(5) => Self::HangsUp,
            Some(6) => Self::Fails,
            Some(7) => Self::TalksOn,
            Some(8) => Self::Tools,
            Some(9) => Self::Transfer,
            Some(10) => Self::Knowledge,
            Some(11) => Self::Silence,
            Some(12) => Self::Refuses,
            Some(13) => Self::GivesBack,
            _ => Self::Talks,
        }
    }
}

/// Writes the script of a call.
pub fn script(call: &CallInfo, seed: u64) -> Vec<ScriptStep> {
    let mut writer = ScriptWriter::new(call, seed);
    let plot = Plot::of(call);
    match plot {
        Plot::Talks => talks(&mut writer),
        Plot::Busy => fails(&mut writer, 1_000, "busy"),
        Plot::NoAnswer => {
            writer.ring();
            writer.act(call.assistant.ringing_seconds.saturating_mul(1_000), ScriptAct::Fail("no-answer"));
        }
        Plot::Voicemail => voicemail(&mut writer),
        Plot::HangsUp => hangs_up(&mut writer),
        Plot::Fails => fails(&mut writer, 700, "carrier-error"),
        Plot::TalksOn => talks_on(&mut writer),
        Plot::Tools => asks_tools(&mut writer),
        Plot::Transfer => transfers(&mut writer),
        Plot::Knowledge => asks_knowledge(&mut writer),
        Plot::Silence => falls_silent(&mut writer),
        Plot::Refuses => refuses(&mut writer),
        Plot::GivesBack => writer.act(300, ScriptAct::Release("no line reaches this number")),
    }
    // The plot that falls silent has no end to move forward.
    if plot == Plot::Silence {
        return writer.steps;
    }
    limited(writer.steps, call.assistant.max_duration_seconds.saturating_mul(1_000))
}

fn fails(writer: &mut ScriptWriter<'_>, after_ms: u32, reason: &'static str) {
    writer.dial();
    writer.act(after_ms, ScriptAct::Fail(reason));
}

fn talks(writer: &mut ScriptWriter<'_>) {
    writer.opening();
    if writer.call.assistant.sends_tones {
        menu(writer);
    }
    let count = writer.draw.between("exchanges", 2, 4);
    for exchange in writer.draw.some("exchange", &EXCHANGES, count as usize) {
        writer.exchange(exchange);
    }
    let call = writer.call;
    if let Some(at) = call.assistant.tools.len().checked_sub(1) {
        let at = writer.draw.between("tool", 0, u32::try_from(at).unwrap_or(0));
        ask_tool(writer, &call.assistant.tools[at as usize]);
    }
    if call.assistant.knowledge == Knowledge::Search && writer.draw.coin("search") {
        search(writer);
    }
    agrees(writer);
}

/// Plays a phone menu: the assistant has to press a key first.
fn menu(writer: &mut ScriptWriter<'_>) {
    writer.human("One moment, you are in the house's menu. Press one to be put through to me.");
    writer.act(800, ScriptAct::Dtmf("1".into()));
    writer.human("There you are.");
}

/// Plays questions of the schema, agreement and farewell; who hangs up is drawn if the assistant may.
fn agrees(writer: &mut ScriptWriter<'_>) {
    writer.questions(Goal::Agreed);
    writer.human(writer.one_of("agreement", &lines::AGREEMENTS));
    writer.bot(writer.one_of("farewell", &lines::FAREWELLS));
    if writer.call.assistant.ends_calls && writer.draw.coin("who ends") {
        return writer.close(Goal::Agreed, Some(true), Party::Assistant, "end-call");
    }
    writer.human(writer.one_of("goodbye", &lines::GOODBYES));
    writer.close(Goal::Agreed, Some(true), Party::Customer, "hung-up");
}

fn voicemail(writer: &mut ScriptWriter<'_>) {
    writer.ring();
    // What picked up is clear once it has been heard.
    writer.answer(Pickup::Unknown);
    writer.human("You have reached a mailbox. Nobody can take the call; please speak after the tone.");
    writer.act(200, ScriptAct::Detect(Pickup::Machine));
    if let Some(message) = &writer.call.assistant.voice_mail_message {
        writer.bot(message);
    }
    if writer.call.assistant.end_call_on_voicemail {
        return writer.close(Goal::Unreached, None, Party::Assistant, "voicemail");
    }
    let greeting = writer.call.assistant.greeting.clone();
    writer.bot(&greeting);
    writer.human("The mailbox is full. The call ends here.");
    writer.close(Goal::Unreached, None, Party::Customer, "voicemail");
}

fn hangs_up(writer: &mut ScriptWriter<'_>) {
    writer.ring();
    writer.answer(Pickup::Human);
    writer.human("Not now.");
    writer.close(Goal::Refused, Some(false), Party::Customer, "hung-up");
}

fn talks_on(writer: &mut ScriptWriter<'_>) {
    writer.opening();
    let most_ms = writer.call.assistant.max_duration_seconds.saturating_mul(1_000);
    let order = writer.draw.some("exchange", &EXCHANGES, EXCHANGES.len());
    // Each exchange takes time, so the loop ends at the limit.
    for exchange in order.iter().cycle() {
        if writer.talked_ms() > most_ms {
            break;
        }
        writer.exchange(exchange);
    }
    writer.close(Goal::Unreached, None, Party::Service, "max-duration");
}

fn asks_tools(writer: &mut ScriptWriter<'_>) {
    writer.opening();
    let call = writer.call;
    for tool in &call.assistant.tools {
        ask_tool(writer, tool);
    }
    if call.assistant.tools.is_empty() {
        writer.human("Could you look that up for me?");
        writer.bot("I am sorry, I have no system that I could ask.");
    }
    agrees(writer);
}

fn ask_tool(writer: &mut ScriptWriter<'_>, tool: &Function) {
    writer.human("Could you look that up for me?");
    writer.bot("One moment, please.");
    let arguments = writer.facts(Goal::Agreed).arguments(tool);
    writer.act(300, ScriptAct::Tool { name: tool.name.clone(), arguments });
    writer.bot("Thank you for waiting.");
}

fn transfers(writer: &mut ScriptWriter<'_>) {
    writer.opening();
    writer.human("I would rather speak with a person about this.");
    let to = match &writer.call.assistant.transfer {
        CallTarget::None => {
            writer.bot("I am sorry, there is nobody I could put you through to.");
            writer.human("Then I will try it another way. Goodbye.");
            return writer.close(Goal::Refused, Some(false), Party::Customer, "hung-up");
        }
        CallTarget::To(number) => number.clone(),
        CallTarget::Custom => ANY_NUMBER.into(),
    };
    writer.bot("Of course, {customer}. I am putting you through; please stay on the line.");
    writer.act(1_000, ScriptAct::Transfer(to.clone(), TransferState::Started));
    writer.act(1_500, ScriptAct::Transfer(to, TransferState::Accepted));
    writer.close(Goal::Agreed, Some(true), Party::Assistant, "transferred");
}

fn asks_knowledge(writer: &mut ScriptWriter<'_>) {
    writer.opening();
    search(writer);
    agrees(writer);
}

fn search(writer: &mut ScriptWriter<'_>) {
    let exchange = writer.draw.pick("search topic", &EXCHANGES);
    writer.topic = exchange.topic;
    writer.human(&format!("What do your documents say about {}?", exchange.topic));
    match &writer.call.assistant.knowledge {
        Knowledge::None => writer.bot("I have no documents that I could look into."),
        Knowledge::Search => {
            writer.bot("Let me look into them.");
            writer.act(300, ScriptAct::Knowledge(exchange.topic.into()));
            writer.bot("I have looked it up.");
        }
        Knowledge::Text(text) => {
            let quote: String =
                text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(QUOTE_CHARS).collect();
            writer.bot(&format!("They begin like this: {quote}"));
        }
    }
}

fn falls_silent(writer: &mut ScriptWriter<'_>) {
    writer.opening();
    let exchange = writer.draw.pick("exchange", &EXCHANGES);
    writer.human(exchange.human);
}

fn refuses(writer: &mut ScriptWriter<'_>) {
    writer.opening();
    writer.interrupt(writer.one_of("refusal", &lines::REFUSALS));
    writer.bot("I understand. Is there anything that would change your mind?");
    writer.human("No, there is not. Please do not call again.");
    writer.bot("I will note that. Goodbye, {customer}.");
    writer.close(Goal::Refused, Some(false), Party::Customer, "hung-up");
}
