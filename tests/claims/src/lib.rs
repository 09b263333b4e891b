//! A claim is a sentence, an aim, and the measured figure. Programs that measure print theirs as a table, and append
//! them to a file for the page of all figures if the environment names one.

use std::io::{Error, Write};

use serde_json::{Value, json};

/// Environment variable with the file to which claims are appended, one JSON object per line.
pub const FILE: &str = "SWITCHBOARD_CLAIMS";
/// Header of the table of claims.
pub const HEAD: &str = "| claim | aim | figure | |\n|---|---|---|---|";

/// Whether a figure meets its aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The figure meets the aim.
    Met,
    /// The figure falls short of the aim.
    Missed,
    /// There is no aim: the figure is only stated.
    Stated,
}

impl Verdict {
    const ALL: [Self; 3] = [Self::Met, Self::Missed, Self::Stated];

    /// Returns the word shown on the page of figures.
    pub fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Stated => "",
        }
    }

    fn of(met: bool) -> Self {
        if met { Self::Met } else { Self::Missed }
    }
}

/// A claim with its measured figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Sentence that is claimed.
    pub text: String,
    /// Aim with its unit; empty without an aim.
    pub aim: String,
    /// Measured figure with its unit.
    pub figure: String,
    /// Whether the figure meets the aim.
    pub verdict: Verdict,
}

impl Claim {
    /// Creates a claim whose figure should not exceed its aim.
    pub fn at_most(text: impl Into<String>, aim: f64, figure: f64, unit: &str) -> Self {
        Self {
            text: text.into(),
            aim: format!("≤ {}", with(aim, unit)),
            figure: with(figure, unit),
            verdict: Verdict::of(figure <= aim),
        }
    }

    /// Creates a claim whose figure should not be below its aim.
    pub fn at_least(text: impl Into<String>, aim: f64, figure: f64, unit: &str) -> Self {
        Self {
            text: text.into(),
            aim: format!("≥ {}", with(aim, unit)),
            figure: with(figure, unit),
            verdict: Verdict::of(figure >= aim),
        }
    }

    /// Creates a claim that holds or does not.
    pub fn holds(text: impl Into<String>, aim: impl Into<String>, figure: impl Into<String>, met: bool) -> Self {
        Self { text: text.into(), aim: aim.into(), figure: figure.into(), verdict: Verdict::of(met) }
    }

    /// Creates a claim without an aim.
    pub fn stated(text: impl Into<String>, figure: impl Into<String>) -> Self {
        Self { text: text.into(), aim: String::new(), figure: figure.into(), verdict: Verdict::Stated }
    }

    /// Formats the claim as a row of the table.
    pub fn row(&self) -> String {
        let Self { text, aim, figure, verdict } = self;
        format!("| {text} | {aim} | {figure} | {} |", verdict.word())
    }

    /// Serializes the claim for a file.
    pub fn to_json(&self) -> Value {
        json!({ "text": self.text, "aim": self.aim, "figure": self.figure, "verdict": self.verdict.word() })
    }

    /// Parses a claim from a file; `None` for anything else.
    pub fn of_json(json: &Value) -> Option<Self> {
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let word = text("verdict")?;
        let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word)?;
        Some(Self { text: text("text")?, aim: text("aim")?, figure: text("figure")?, verdict })
    }
}

/// Formats a figure to three significant digits, with its unit.
fn with(figure: f64, unit: &str) -> String {
    let digits = match figure.abs() {
        0.0 => 0,
        below if below < 1.0 => 3,
        below if below < 10.0 => 2,
        below if below < 100.0 => 1,
        _ => 0,
    };
    let figure = format!("{figure:.digits$}");
    let figure = if figure.contains('.') { figure.trim_end_matches('0').trim_end_matches('.') } else { &figure };
    if unit.is_empty() { figure.to_owned() } else { format!("{figure} {unit}") }
}

/// Prints a table of claims, and appends them to the file that the environment names; returns whether none is missed.
pub fn tell(claims: &[Claim]) -> Result<bool, Error> {
    println!("\n{HEAD}");
    claims.iter().for_each(|claim| println!("{}", claim.row()));
    if let Some(path) = std::env::var_os(FILE) {
        let mut file = std::fs::File::options().append(true).create(true).open(path)?;
        claims.iter().try_for_each(|claim| writeln!(file, "{}", claim.to_json()))?;
    }
    Ok(claims.iter().all(|claim| claim.verdict != Verdict::Missed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_held_against_its_aim() {
        let most = |figure| Claim::at_most("a", 5.0, figure, "ms").verdict;
        assert_eq!((most(5.0), most(5.1)), (Verdict::Met, Verdict::Missed));
        let least = |figure| Claim::at_least("a", 0.5, figure, "").verdict;
        assert_eq!((least(0.5), least(0.49)), (Verdict::Met, Verdict::Missed));
        assert_eq!(most(f64::NAN), Verdict::Missed, "what could not be measured is not met");
        assert_eq!(Claim::at_most("a", 0.03, 0.0151, "ms").row(), "| a | ≤ 0.03 ms | 0.015 ms | met |");
        assert_eq!(Claim::at_least("a", 1000.0, 20.0, "").row(), "| a | ≥ 1000 | 20 | MISSED |");
    }

    #[test]
    fn a_claim_reads_back() {
        for claim in [
            Claim::stated("a", "1 ms"),
            Claim::holds("b", "always", "2 times", true),
            Claim::at_most("c", 1.0, 2.0, "s"),
        ] {
            assert_eq!(Claim::of_json(&claim.to_json()), Some(claim));
        }
        assert_eq!(Claim::of_json(&json!({ "text": "d", "verdict": "met" })), None);
    }
}
