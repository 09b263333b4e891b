//! [`Target`]: something that reads what others wrote, with the promises that it makes. A file a target.

mod answer;
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

/// What came of an input that broke no promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// In a word, for the table: a status, or what became of it.
    pub said: String,
    /// In full, to tell new outcomes from known ones.
    pub kind: String,
}

impl Seen {
    /// An outcome that one word tells.
    pub fn word(said: &str) -> Self {
        Self { said: said.into(), kind: said.into() }
    }
}

/// Something that is given inputs.
pub trait Target {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Draws an input.
    fn draw(&self, random: &mut Random) -> Vec<u8>;

    /// Runs one input, by nothing but its bytes; the error names the promise that was broken. A panic is one.
    fn run(&self, input: &[u8]) -> Result<Seen, String>;
}

/// Every target, and how many of a million inputs it gets: the costly ones few. Those with none are asked for by
/// name.
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
    ("token", 50_000),
    ("template", 40_000),
    ("robots", 20_000),
    ("html", 5_000),
    ("txt", 4_000),
    ("docx", 3_000),
    ("pdf", 6_000),
    ("tenancy", 0),
    ("idempotency", 0),
];

/// A number of inputs, shared out.
pub fn shares(count: u64) -> Vec<(&'static str, u64)> {
    let whole: u64 = NAMES.iter().map(|(_, share)| share).sum();
    let part = |share: u64| u64::try_from(u128::from(count) * u128::from(share) / u128::from(whole)).unwrap_or(0);
    let mut shares: Vec<(&'static str, u64)> =
        NAMES.iter().filter(|(_, share)| *share > 0).map(|(name, share)| (*name, part(*share))).collect();
    let given: u64 = shares.iter().map(|(_, count)| count).sum();
    // What rounding leaves over goes to the first.
    shares[0].1 += count - given;
    shares
}

/// The target of a name.
///
/// # Panics
/// Where there is none.
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

/// An input of the corpus, mutated; else what `draw` gives.
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
