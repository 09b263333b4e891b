//! Extracts text from Word files (Office Open XML): a zip archive whose main part is XML.
//!
//! The XML is read as a stream with limits on its bytes and tags, so that neither a small archive of a large text nor
//! deep nesting costs more than they allow.

use std::io::{BufReader, Cursor, Read};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use switchboard_core::outside::Extracted;
use zip::ZipArchive;
use zip::result::ZipError;

use super::prose::{Prose, TextTooLong, title};

/// Path of the main part as Word writes it; another path is found through the archive's relations.
const MAIN_PART: &str = "word/document.xml";
const RELATIONS: &str = "_rels/.rels";
const PROPERTIES: &str = "docProps/core.xml";
/// Most bytes of the unpacked main part.
const MAIN_BYTES_MAX: u64 = 128 << 20;
/// Most bytes of any other unpacked part.
const SIDE_BYTES_MAX: u64 = 1 << 20;
/// Most tags and pieces of text in a part.
const EVENTS_MAX: usize = 20_000_000;
/// First bytes of older Word files, and of encrypted ones of today.
const COMPOUND_FILE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

const NOT_DOCX: &str = "The file is not a DOCX.";
const OLDER: &str = "The file is an older or an encrypted Word file: only a plain DOCX can be read.";
const ENCRYPTED: &str = "The DOCX is encrypted.";
const DAMAGED: &str = "The DOCX is damaged.";
const TOO_LARGE: &str = "The DOCX is too large when it is unpacked.";

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Reads the text of a document: paragraphs, tables row by row, and text boxes at their position. Text deleted or moved
/// away under change tracking, field codes, notes, headers and footers are left out.
pub fn read(bytes: &[u8]) -> Result<Extracted, String> {
    if bytes.starts_with(COMPOUND_FILE) {
        return Err(OLDER.into());
    }
    let mut archive = Archive::new(Cursor::new(bytes)).map_err(|_| NOT_DOCX)?;
    let main = if archive.index_for_name(MAIN_PART).is_some() {
        MAIN_PART.to_owned()
    } else {
        main_part(&mut archive).ok_or(NOT_DOCX)?
    };
    let mut body = Body::default();
    walk(&mut archive, &main, MAIN_BYTES_MAX, &mut |event| body.take(event))?;
    let mut name = Title::default();
    // If the title cannot be read, there is none.
    let _ = walk(&mut archive, PROPERTIES, SIDE_BYTES_MAX, &mut |event| name.take(event));
    Ok(Extracted { title: title(&name.text), text: body.prose.finish(), ..Extracted::default() })
}

/// Returns the part that the archive's relations name as the document.
fn main_part(archive: &mut Archive<'_>) -> Option<String> {
    let mut found = None;
    let relations = walk(archive, RELATIONS, SIDE_BYTES_MAX, &mut |event| {
        if let Event::Start(tag) | Event::Empty(tag) = event
            && attribute(tag, "Type").is_some_and(|kind| kind.ends_with("/officeDocument"))
        {
            found = attribute(tag, "Target").map(|target| target.trim_start_matches('/').to_owned());
        }
        Ok(())
    });
    relations.ok().and(found)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).ok().flatten()?;
    Some(attribute.value.into_owned())
}

/// Parses a part and calls `visit` for each event; an error of `visit` stops it.
fn walk(
    archive: &mut Archive<'_>,
    part: &str,
    bytes_max: u64,
    visit: &mut dyn FnMut(&Event<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let file = archive.by_name(part).map_err(|error| match error {
        ZipError::FileNotFound => NOT_DOCX,
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => ENCRYPTED,
        _ => DAMAGED,
    })?;
    let mut reader = Reader::from_reader(BufReader::new(file.take(bytes_max)));
    let (mut buffer, mut depth) = (Vec::new(), 0_usize);
    for _ in 0..EVENTS_MAX {
        buffer.clear();
        let Ok(event) = reader.read_event_into(&mut buffer) else { return Err(broken(reader.into_inner()).into()) };
        match &event {
            Event::Start(_) => depth += 1,
            // The reader checks that each end tag has its start tag.
            Event::End(_) => depth -= 1,
            Event::Eof if depth == 0 => return Ok(()),
            Event::Eof => return Err(broken(reader.into_inner()).into()),
            Event::DocType(_) => return Err(DAMAGED.into()),
            _ => {}
        }
        visit(&event)?;
    }
    Err(TOO_LARGE.into())
}

/// Returns why a part ended early: at its size limit, or because it is damaged.
fn broken<R: Read>(reader: BufReader<std::io::Take<R>>) -> &'static str {
    let limit_reached = reader.buffer().is_empty() && reader.into_inner().limit() == 0;
    if limit_reached { TOO_LARGE } else { DAMAGED }
}

/// Returns the text of a character-data event; `None` for other events.
fn characters(event: &Event<'_>) -> Result<Option<String>, String> {
    Ok(Some(match event {
        Event::Text(text) => text.xml10_content().into_owned(),
        Event::CData(text) => text.xml10_content().into_owned(),
        Event::GeneralRef(name) => match name.resolve_char_ref().map_err(|_| DAMAGED)? {
            Some(c) => c.to_string(),
            None => resolve_predefined_entity(name).ok_or(DAMAGED)?.to_owned(),
        },
        _ => return Ok(None),
    }))
}

/// Visitor that collects the title from a document's properties.
#[derive(Default)]
struct Title {
    inside: bool,
    text: String,
}

impl Title {
    fn take(&mut self, event: &Event<'_>) -> Result<(), String> {
        match event {
            Event::Start(tag) => self.inside = tag.local_name().as_ref() == "title",
            Event::End(_) => self.inside = false,
            event if self.inside => self.text.push_str(&characters(event)?.unwrap_or_default()),
            _ => {}
        }
        Ok(())
    }
}

/// Visitor that collects the text of a document. Element names are compared without their prefix: shapes and formulas
/// have runs and texts of the same names.
#[derive(Default)]
struct Body {
    prose: Prose,
    started: bool,
    /// Number of open runs: tabs and breaks are characters only inside a run.
    runs: usize,
    /// Whether a run's text element is open.
    text: bool,
    /// Number of open table cells: their paragraphs stay on the row's line.
    cells: usize,
    /// Nesting depth inside an element that is left out; 0: outside.
    dropped: usize,
}

impl Body {
    fn take(&mut self, event: &Event<'_>) -> Result<(), String> {
        match event {
            Event::Start(tag) => self.start(tag.local_name().as_ref())?,
            Event::Empty(tag) => self.empty(tag.local_name().as_ref())?,
            Event::End(tag) => self.end(tag.local_name().as_ref()),
            event if self.text && self.dropped == 0 => {
                self.prose.push(&characters(event)?.unwrap_or_default())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, name: &str) -> Result<(), String> {
        if !std::mem::replace(&mut self.started, true) && name != "document" {
            return Err(NOT_DOCX.into());
        }
        // A fallback repeats the content of its alternative.
        if self.dropped > 0 || matches!(name, "Fallback" | "moveFrom" | "del") {
            self.dropped += 1;
            return Ok(());
        }
        match name {
            "r" => self.runs += 1,
            "t" => self.text = self.runs > 0,
            "tc" => self.cells += 1,
            _ => self.mark(name)?,
        }
        Ok(())
    }

    fn empty(&mut self, name: &str) -> Result<(), TextTooLong> {
        if self.dropped > 0 {
            return Ok(());
        }
        if name == "p" {
            self.paragraph_end();
        }
        self.mark(name)
    }

    /// Handles elements that represent a character within a run.
    fn mark(&mut self, name: &str) -> Result<(), TextTooLong> {
        match name {
            "tab" if self.runs > 0 => self.prose.space(),
            "br" | "cr" if self.runs > 0 => self.prose.line_end(),
            "noBreakHyphen" if self.runs > 0 => self.prose.push("-")?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str) {
        if self.dropped > 0 {
            self.dropped -= 1;
            return;
        }
        match name {
            "r" => self.runs = self.runs.saturating_sub(1),
            "t" => self.text = false,
            "p" => self.paragraph_end(),
            "tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.prose.space();
            }
            "tr" => self.prose.line(),
            "tbl" => self.prose.paragraph(),
            _ => {}
        }
    }

    fn paragraph_end(&mut self) {
        if self.cells > 0 { self.prose.space() } else { self.prose.line_end() }
    }
}
