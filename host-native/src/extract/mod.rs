//! Extracts the text of uploaded files and web pages.
//!
//! [`read`] takes bytes that a stranger chose. It avoids panics and bounds its output, but a file can still cost much
//! time and memory in a parser: a running service reads through [`child::Extractor`], a process that the system stops.

pub mod check;
pub mod child;
pub mod confined;
mod docx;
mod html;
pub mod lock;
mod pdf;
mod prose;
mod txt;

use switchboard_core::limits::FILE_BYTES_MAX;
use switchboard_core::outside::{Extracted, TextForm};

/// Reads the text of a file or page. The error is a complete sentence for the sender, at most 255 characters. HTML also
/// yields its base URL, its links and whether it asks not to be indexed; a page without text is an error only if it has
/// no links either.
pub fn read(form: TextForm, bytes: &[u8]) -> Result<Extracted, String> {
    let noun = noun(form);
    if bytes.is_empty() {
        return Err(format!("The {noun} is empty."));
    }
    if bytes.len() > FILE_BYTES_MAX {
        return Err(format!("The {noun} is larger than {} MB.", FILE_BYTES_MAX / 1_000_000));
    }
    let extracted = match form {
        TextForm::Pdf => pdf::read(bytes),
        TextForm::Docx => docx::read(bytes),
        TextForm::Txt => txt::read(bytes),
        TextForm::Html => html::read(bytes),
    }?;
    if extracted.text.is_empty() && extracted.links.is_empty() && !extracted.noindex {
        return Err(format!("The {noun} has no text."));
    }
    Ok(extracted)
}

/// Returns the word for the input in sentences to its sender.
fn noun(form: TextForm) -> &'static str {
    if form == TextForm::Html { "page" } else { "file" }
}
