//! Spoken lines, general enough to fit any business and so every assistant.

use super::fill::{CallFacts, Goal};

/// A question of the customer and the assistant's answer.
pub struct QuestionAndAnswer {
    /// What they talk about, as part of a sentence.
    pub topic: &'static str,
    /// The customer's question, as spoken.
    pub human: &'static str,
    /// The assistant's answer, as spoken.
    pub bot: &'static str,
}

const fn exchange(topic: &'static str, human: &'static str, bot: &'static str) -> QuestionAndAnswer {
    QuestionAndAnswer { topic, human, bot }
}

/// First line of every answered call, noted before anything is spoken: whoever reads the transcript knows what wrote it.
pub const NOTICE: &str = "This is the simulated engine: it plays a script. It reads no prompt and asks no model.";

/// Exchanges that conversations are made of.
pub static EXCHANGES: [QuestionAndAnswer; 12] = [
    exchange(
        "opening hours",
        "When could I come by in person?",
        "The door is open on weekdays from nine to six, and on Saturdays until noon.",
    ),
    exchange(
        "delivery times",
        "How long would I have to wait until it arrives?",
        "Three working days is usual, and you get a message in the morning of the day it comes.",
    ),
    exchange(
        "prices",
        "What would that come to in the end?",
        "The price on the offer is the whole price; nothing is added afterwards.",
    ),
    exchange(
        "the contract",
        "Would I be bound to anything for years?",
        "No, a month's notice is enough, and a short message from you will do.",
    ),
    exchange(
        "payment",
        "May I pay by card, or do you send a bill?",
        "Both are fine. With a bill you have two weeks' time.",
    ),
    exchange(
        "an appointment",
        "Is there still something free this week?",
        "Yes, Thursday morning has two openings left. I can hold one of them for you.",
    ),
    exchange(
        "a change of address",
        "We have moved since then. Do you need the new address?",
        "That would help. I will put it down right after our call.",
    ),
    exchange(
        "a repair",
        "The one I have makes a strange noise. Is that covered?",
        "It is, within the first two years. Somebody would have a look at it at your place.",
    ),
    exchange(
        "an earlier order",
        "What became of the order from last month?",
        "It left the warehouse complete, and the receipt carries a signature of your household.",
    ),
    exchange(
        "privacy",
        "Where did you get my number from?",
        "You left it with a request of yours. I can have it removed whenever you say so.",
    ),
    exchange(
        "guarantees",
        "And if I am not happy with it after all?",
        "Then it goes back within thirty days, and the return costs you nothing.",
    ),
    exchange(
        "the next steps",
        "What happens once I have said yes?",
        "You get everything in writing today, and you have until Friday to think it over.",
    ),
];

/// How customers answer the telephone.
pub const HELLOS: [&str; 4] = [
    "Hello, you are speaking with {customer}.",
    "Yes, {customer} here. What is it about?",
    "Good day, this is {customer}.",
    "{customer}, hello. I have a few minutes.",
];

/// How the assistant continues after the greeting.
pub const OPENERS: [&str; 4] = [
    "Thank you for taking the call, {customer}. It will not take long.",
    "Good that I reach you, {customer}. I have a short question.",
    "Nice to hear you, {customer}. May I come straight to the point?",
    "Thanks, {customer}. I am calling about your request.",
];

/// How a customer agrees.
pub const AGREEMENTS: [&str; 4] = [
    "That sounds good. Let us do it that way.",
    "All right, you have convinced me.",
    "Fine by me. Please go ahead.",
    "Yes, I would like that.",
];

/// How a customer refuses.
pub const REFUSALS: [&str; 3] = [
    "No, thank you. I am not interested.",
    "I have to say no; I do not want that.",
    "Please stop here. It is nothing for me.",
];

/// How the assistant says goodbye.
pub const FAREWELLS: [&str; 3] = [
    "Wonderful. Thank you for your time, {customer}, and goodbye.",
    "Then all is settled. Have a pleasant day, {customer}.",
    "I will see to it. Goodbye, {customer}.",
];

/// How the customer says goodbye.
pub const GOODBYES: [&str; 3] = ["Thank you, goodbye.", "Bye then.", "Thanks for the call. Goodbye."];

/// Names for customers whose call has none.
pub const NAMES: [&str; 8] = [
    "Alex Morgan",
    "Dana Whitlock",
    "Jordan Ellis",
    "Robin Hale",
    "Sam Okafor",
    "Taylor Brandt",
    "Noor Haddad",
    "Kim Larsen",
];

/// Streets for made-up addresses of customers.
pub const STREETS: [&str; 4] = ["Harbour Street", "Mill Lane", "Station Road", "Orchard Way"];

/// Towns for made-up addresses of customers.
pub const CITIES: [&str; 4] = ["Riverton", "Eastbridge", "Norwood", "Lakeside"];

/// Result of a request, mentioned in the assistant's next line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupAnswer {
    /// Status from a tool's endpoint; `None` when it was not reached.
    Tool(Option<u16>),
    /// Best passage of the knowledgebase; `None` when nothing was found.
    Knowledge(Option<String>),
}

/// Returns the assistant's line, extended by what it has just learned.
pub fn with_answer(line: &str, answer: &LookupAnswer) -> String {
    match answer {
        LookupAnswer::Tool(Some(status)) => format!("{line} The system answered with status {status}."),
        LookupAnswer::Tool(None) => format!("{line} The system could not be reached."),
        LookupAnswer::Knowledge(Some(passage)) => format!("{line} Here is what it says: {passage}"),
        LookupAnswer::Knowledge(None) => format!("{line} I found nothing about that."),
    }
}

/// Summarizes the call in a sentence.
pub fn summary(facts: &CallFacts<'_>) -> String {
    let (assistant, customer, topic) = (&facts.call.assistant.name, facts.customer, facts.topic);
    match facts.goal {
        Goal::Agreed => format!("{customer} talked with {assistant} about {topic} and agreed to go on."),
        Goal::Refused => format!("{customer} heard {assistant} out and refused."),
        Goal::Unreached => format!("{assistant} had no conversation with the customer."),
    }
}
