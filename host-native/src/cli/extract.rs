//! The command `extract`: the process that reads one file for the service. Its standard output is JSON only.

use clap::Args;
use switchboard::extract::confined::{self, Bounds};
use switchboard::extract::{check, lock};
use switchboard_core::outside::TextForm;
use switchboard_core::record::Choice;

use super::Failed;

/// Read a file from standard input and print its text as JSON.
#[derive(Args)]
pub struct ExtractArgs {
    /// Format of the file: pdf, docx, txt or html
    #[arg(long, value_parser = form, required_unless_present = "check")]
    form: Option<TextForm>,
    /// Lock the process, try what it must not do, and report the results
    #[arg(long)]
    check: bool,
    /// Id of the parent process: this one ends with it
    #[arg(long)]
    parent: Option<u32>,
    /// Limit of address space, bytes
    #[arg(long, default_value_t = Bounds::default().memory_bytes)]
    memory_bytes: u64,
    /// Limit of processor time, seconds
    #[arg(long, default_value_t = Bounds::default().cpu_seconds)]
    cpu_seconds: u64,
}

fn form(word: &str) -> Result<TextForm, String> {
    let form = TextForm::ALL.iter().find(|form| form.word() == word);
    form.copied().ok_or_else(|| format!("there is no form {word}: {} are", TextForm::WORDS.join(", ")))
}

/// Reads a file from standard input, or runs the self-check.
pub fn extract(file: &ExtractArgs) -> Result<(), Failed> {
    let bounds = Bounds { memory_bytes: file.memory_bytes, cpu_seconds: file.cpu_seconds };
    if let Some(parent) = file.parent {
        lock::end_with(parent)?;
    }
    match file.form {
        Some(form) => confined::run(form, bounds, &mut std::io::stdin().lock(), &mut std::io::stdout().lock()),
        None => check::run(bounds, &mut std::io::stdout().lock()),
    }
}
