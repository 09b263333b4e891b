//! Scripts: what happens in a simulated call, from the first ringing to the cost.
//!
//! Pure: a script follows from the call and a seed, and the same two give the same script. It is made of
//! [`beat::Beat`]s; the player of the engine plays them and knows nothing of plots.
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
//!
//! No talk is longer than the assistant's `max_duration`, in simulated time.

pub mod beat;
mod draw;
mod fill;
pub mod lines;
mod scene;
#[cfg(test)]
mod tests;

use self::beat::{Act, AnsweredBy, Beat, Party, limited};
use self::fill::Goal;
use self::lines::EXCHANGES;
use self::scene::Scene;
use super::call::{CallInfo, Function, Knowledge, Transfer};

/// A number that belongs to nobody, for transfers to a number of the model's choice.
const ANY_NUMBER: &str = "+12025550100";
/// Characters of a knowledge text that are read aloud.
const QUOTE_CHARS: usize = 200;

/// How a call goes.
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
            _ => Self::Talks,
        }
    }
}

/// The script of a call.
pub fn script(call: &CallInfo, seed: u64) -> Vec<Beat> {
    let mut scene = Scene::new(call, seed);
    let plot = Plot::of(call);
    match plot {
        Plot::Talks => talks(&mut scene),
        Plot::Busy => scene.act(1_000, Act::Fail("busy")),
        Plot::NoAnswer => {
            scene.ring();
            scene.act(call.assistant.ringing_seconds.saturating_mul(1_000), Act::Fail("no-answer"));
        }
        Plot::Voicemail => voicemail(&mut scene),
        Plot::HangsUp => hangs_up(&mut scene),
        Plot::Fails => scene.act(700, Act::Fail("carrier-error")),
        Plot::TalksOn => talks_on(&mut scene),
        Plot::Tools => asks_tools(&mut scene),
        Plot::Transfer => transfers(&mut scene),
        Plot::Knowledge => asks_knowledge(&mut scene),
        Plot::Silence => falls_silent(&mut scene),
        Plot::Refuses => refuses(&mut scene),
    }
    // A call that falls silent has no end to bring forward.
    if plot == Plot::Silence {
        return scene.beats;
    }
    limited(scene.beats, call.assistant.max_duration_seconds.saturating_mul(1_000))
}

fn talks(scene: &mut Scene<'_>) {
    scene.opening();
    if scene.call.assistant.sends_tones {
        menu(scene);
    }
    let count = scene.draw.between("exchanges", 2, 4);
    for exchange in scene.draw.some("exchange", &EXCHANGES, count as usize) {
        scene.exchange(exchange);
    }
    let call = scene.call;
    if let Some(at) = call.assistant.tools.len().checked_sub(1) {
        let at = scene.draw.between("tool", 0, u32::try_from(at).unwrap_or(0));
        ask_tool(scene, &call.assistant.tools[at as usize]);
    }
    if call.assistant.knowledge == Knowledge::Search && scene.draw.coin("search") {
        search(scene);
    }
    agrees(scene);
}

/// The line leads through a menu first.
fn menu(scene: &mut Scene<'_>) {
    scene.human("One moment, you are in the house's menu. Press one to be put through to me.");
    scene.act(800, Act::Dtmf("1".into()));
    scene.human("There you are.");
}

/// Questions of the schema, agreement and farewell; who hangs up is drawn where the assistant may.
fn agrees(scene: &mut Scene<'_>) {
    scene.questions(Goal::Agreed);
    scene.human(scene.one_of("agreement", &lines::AGREEMENTS));
    scene.bot(scene.one_of("farewell", &lines::FAREWELLS));
    if scene.call.assistant.ends_calls && scene.draw.coin("who ends") {
        return scene.close(Goal::Agreed, Some(true), Party::Assistant, "end-call");
    }
    scene.human(scene.one_of("goodbye", &lines::GOODBYES));
    scene.close(Goal::Agreed, Some(true), Party::Customer, "hung-up");
}

fn voicemail(scene: &mut Scene<'_>) {
    scene.ring();
    scene.answer(AnsweredBy::Machine);
    scene.human("You have reached a mailbox. Nobody can take the call; please speak after the tone.");
    if let Some(message) = &scene.call.assistant.voice_mail_message {
        scene.bot(message);
    }
    if scene.call.assistant.end_call_on_voicemail {
        return scene.close(Goal::Unreached, None, Party::Assistant, "voicemail");
    }
    let greeting = scene.call.assistant.greeting.clone();
    scene.bot(&greeting);
    scene.human("The mailbox is full. The call ends here.");
    scene.close(Goal::Unreached, None, Party::Customer, "voicemail");
}

fn hangs_up(scene: &mut Scene<'_>) {
    scene.ring();
    scene.answer(AnsweredBy::Human);
    scene.act(600, Act::Say(beat::Speaker::Human, "Not now.".into()));
    scene.close(Goal::Refused, Some(false), Party::Customer, "hung-up");
}

fn talks_on(scene: &mut Scene<'_>) {
    scene.opening();
    let most_ms = scene.call.assistant.max_duration_seconds.saturating_mul(1_000);
    let order = scene.draw.some("exchange", &EXCHANGES, EXCHANGES.len());
    // Each exchange takes time, so the limit is reached.
    for exchange in order.iter().cycle() {
        if scene.talked_ms() > most_ms {
            break;
        }
        scene.exchange(exchange);
    }
    scene.close(Goal::Unreached, None, Party::Service, "max-duration");
}

fn asks_tools(scene: &mut Scene<'_>) {
    scene.opening();
    let call = scene.call;
    for tool in &call.assistant.tools {
        ask_tool(scene, tool);
    }
    if call.assistant.tools.is_empty() {
        scene.human("Could you look that up for me?");
        scene.bot("I am sorry, I have no system that I could ask.");
    }
    agrees(scene);
}

fn ask_tool(scene: &mut Scene<'_>, tool: &Function) {
    scene.human("Could you look that up for me?");
    scene.bot("One moment, please.");
    let arguments = scene.facts(Goal::Agreed).arguments(tool);
    scene.act(300, Act::Tool { name: tool.name.clone(), arguments });
    scene.bot("Thank you for waiting.");
}

fn transfers(scene: &mut Scene<'_>) {
    scene.opening();
    scene.human("I would rather speak with a person about this.");
    let to = match &scene.call.assistant.transfer {
        Transfer::None => {
            scene.bot("I am sorry, there is nobody I could put you through to.");
            scene.human("Then I will try it another way. Goodbye.");
            return scene.close(Goal::Refused, Some(false), Party::Customer, "hung-up");
        }
        Transfer::To(number) => number.clone(),
        Transfer::Custom => ANY_NUMBER.into(),
    };
    scene.bot("Of course, {customer}. I am putting you through; please stay on the line.");
    scene.act(1_000, Act::Transfer(to));
    scene.close(Goal::Agreed, Some(true), Party::Assistant, "transferred");
}

fn asks_knowledge(scene: &mut Scene<'_>) {
    scene.opening();
    search(scene);
    agrees(scene);
}

fn search(scene: &mut Scene<'_>) {
    let exchange = scene.draw.pick("search topic", &EXCHANGES);
    scene.topic = exchange.topic;
    scene.human(&format!("What do your documents say about {}?", exchange.topic));
    match &scene.call.assistant.knowledge {
        Knowledge::None => scene.bot("I have no documents that I could look into."),
        Knowledge::Search => {
            scene.bot("Let me look into them.");
            scene.act(300, Act::Knowledge(exchange.topic.into()));
            scene.bot("I have looked it up.");
        }
        Knowledge::Text(text) => {
            let quote: String =
                text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(QUOTE_CHARS).collect();
            scene.bot(&format!("They begin like this: {quote}"));
        }
    }
}

fn falls_silent(scene: &mut Scene<'_>) {
    scene.opening();
    let exchange = scene.draw.pick("exchange", &EXCHANGES);
    scene.human(exchange.human);
}

fn refuses(scene: &mut Scene<'_>) {
    scene.opening();
    scene.human(scene.one_of("refusal", &lines::REFUSALS));
    scene.bot("I understand. Is there anything that would change your mind?");
    scene.human("No, there is not. Please do not call again.");
    scene.bot("I will note that. Goodbye, {customer}.");
    scene.close(Goal::Refused, Some(false), Party::Customer, "hung-up");
}
