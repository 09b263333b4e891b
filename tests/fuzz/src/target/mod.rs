//! [`Target`]: code that parses foreign data, with the promises it makes. One file per target.

mod answer;
mod chat;
mod file;
mod idempotency;
mod import;
mod json;
mod multipart;
mod request;
mod robots;
mod row;
mod session;
mod settings;
mod template;
mod tenancy;
mod token;
mod wire;

use switchboard_core::outside::TextForm;
use switchboard_sim::random::Random;

use crate::town::Town;

/// Outcome of an input that broke no promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// One word for the table: a status, or another result.
    pub said: String,
    /// Details that distinguish new outcomes from known ones.
    pub kind: String,
}

impl Seen {
    /// Creates an outcome described by one word.
    pub fn word(said: &str) -> Self {
        Self { said: said.into(), kind: said.into() }
    }
}

/// Code that is fed inputs.
pub trait Target {
    /// Returns the name on the command line.
    fn name(&self) -> &'static str;

    /// Draws an input, at random or from the corpus.
    fn draw(&self, random: &mut Random) -> Vec<u8>;

    /// Runs one input, depending on its bytes alone; the error names the broken promise. A panic is one too.
    fn run(&self, input: &[u8]) -> Result<Seen, String>;
}

/// All targets, with their share of a million inputs: expensive ones get few. Those without a share run only when
/// named.
pub const NAMES: &[(&str, u64)] = &[
    ("request", 312_000),
    ("query", 110_000),
    ("multipart", 40_000),
    ("answer", 80_000),
    ("session", 2_500),
    ("row", 40_000),
    ("wire", 142_500),
    ("import", 15_000),
    ("json", 90_000),
    ("settings", 40_000),
    ("token", 40_000),
    ("template", 30_000),
    ("chat", 20_000),
    ("robots", 20_000),
    ("html", 5_000),
    ("txt", 4_000),
    ("docx", 3_000),
    ("pdf", 6_000),
    ("tenancy", 0),
    ("idempotency", 0),
];

/// Distributes a number of inputs over the targets.
pub fn shares(count: u64) -> Vec<(&'static str, u64)> {
    let whole: u64 = NAMES.iter().map(|(_, share)| share).sum();
    let part = |share: u64| u64::try_from(u128::from(count) * u128::from(share) / u128::from(whole)).unwrap_or(0);
    let mut shares: Vec<(&'static str, u64)> =
        NAMES.iter().filter(|(_, share)| *share > 0).map(|(name, share)| (*name, part(*share))).collect();
    let given: u64 = shares.iter().map(|(_, count)| count).sum();
    // The first target gets what rounding leaves over.
    shares[0].1 += count - given;
    shares
}

/// Creates the target of a name.
///
/// # Panics
/// If there is no such target.
pub fn named<'t>(town: &'t Town, name: &str) -> Box<dyn Target + 't> {
    match name {
        "request" => Box::new(request::Requests::all(town)),
        "query" => Box::new(request::Requests::reads(town)),
        "multipart" => Box::new(multipart::Forms::new(town)),
        "answer" => Box::new(answer::Answers::new(town)),
        "session" => Box::new(session::Sessions::new(town)),
        "row" => Box::new(row::Rows::new(town)),
        "wire" => Box::new(wire::Messages::new(town)),
        "import" => Box::new(import::Imports::new(town)),
        "json" => Box::new(json::Json::new(town)),
        "settings" => Box::new(settings::Settings::new()),
        "token" => Box::new(token::Tokens::new(town)),
        "template" => Box::new(template::Templates),
        "chat" => Box::new(chat::Chats::new()),
        "robots" => Box::new(robots::RobotsFiles::new()),
        "html" => Box::new(file::Files::new(TextForm::Html)),
        "txt" => Box::new(file::Files::new(TextForm::Txt)),
        "docx" => Box::new(file::Files::new(TextForm::Docx)),
        "pdf" => Box::new(file::Files::new(TextForm::Pdf)),
        "tenancy" => Box::new(tenancy::Tenancy::new(town)),
        "idempotency" => Box::new(idempotency::Copies::new(town)),
        other => panic!("there is no target {other}"),
    }
}

/// Mutates an input of the corpus, or falls back to `draw`.
fn mutated(random: &mut Random, corpus: &[Vec<u8>], draw: impl FnOnce(&mut Random) -> Vec<u8>) -> Vec<u8> {
    match random.pick(corpus) {
        Some(input) if random.chance(300) => {
            let mut input = input.clone();
            if random.chance(900) {
                crate::mutate::bytes(random, &mut input);
            }
            input
        }
        _ => draw(random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_shared_out_to_the_last() {
        for count in [1, 999, 1_000_000, 100_000_000] {
            assert_eq!(shares(count).iter().map(|(_, share)| share).sum::<u64>(), count);
        }
        assert_eq!(NAMES.iter().map(|(_, share)| share).sum::<u64>(), 1_000_000);
    }
}
