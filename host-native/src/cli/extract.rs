//! `extract`: the process that reads one file for the service. It says nothing but JSON on its output.

use clap::Args;
use switchboard::extract::confined::{self, Bounds};
use switchboard::extract::{check, lock};
use switchboard_core::outside::TextForm;
use switchboard_core::record::Choice;

use super::Failed;

/// What to read, and with how much.
#[derive(Args)]
pub struct Extract {
    /// What the file is: pdf, docx, txt or html
    #[arg(long, value_parser = form, required_unless_present = "check")]
    form: Option<TextForm>,
    /// Lock the process, try what it must not do, and say what came of it
    #[arg(long)]
    check: bool,
    /// The process that started it, with which it ends
    #[arg(long)]
    parent: Option<u32>,
    /// Address space, bytes
    #[arg(long, default_value_t = Bounds::default().memory_bytes)]
    memory_bytes: u64,
    /// Time of a processor, seconds
    #[arg(long, default_value_t = Bounds::default().cpu_seconds)]
    cpu_seconds: u64,
}

fn form(word: &str) -> Result<TextForm, String> {
    let form = TextForm::ALL.iter().find(|form| form.word() == word);
    form.copied().ok_or_else(|| format!("there is no form {word}: {} are", TextForm::WORDS.join(", ")))
}

/// Reads the file.
pub fn extract(file: &Extract) -> Result<(), Failed> {
    let bounds = Bounds { memory_bytes: file.memory_bytes, cpu_seconds: file.cpu_seconds };
    if let Some(parent) = file.parent {
        lock::end_with(parent)?;
    }
    match file.form {
        Some(form) => confined::run(form, bounds, &mut std::io::stdin().lock(), &mut std::io::stdout().lock()),
        None => check::run(bounds, &mut std::io::stdout().lock()),
    }
}
