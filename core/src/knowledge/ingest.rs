//! Reading of documents: files and pages become text, and text becomes passages that can be searched.
//!
//! Each step does one thing: fetch, read, or index a slice. Its result is stored in the document's row.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use url::Url;

use super::documents::{self, set_status};
use super::links;
use super::progress::{self, FetchedKind, ReadingProgress, Stage};
use super::robots::Robots;
use super::search::{self, Added, IndexLanguage, Passages};
use super::tables::{Document, DocumentStatus, DocumentType};
use crate::job::{self, Task, TaskContext, TaskOutcome as Done};
use crate::json::ToJson;
use crate::key::Kind;
use crate::limits::search::{PASSAGE_BYTES_MAX, SEGMENT_PASSAGES_MAX};
use crate::limits::{PAGE_BYTES_MAX, PAGE_TIMEOUT_MS, REDIRECTS_MAX, ROBOTS_BYTES_MAX, TEXT_WINDOW_PARTS};
use crate::outside::{Answer, Egress, Extracted, HttpIn, HttpOut, Redirects, TextForm, Work as Asked, named};
use crate::record::{Secret, Stored};
use crate::store::Row;
use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("a document has an unknown form");
const FULL: &str = "The knowledgebase has no room for more text.";
const BROKEN: &str = "The text could not be read.";
/// Most tries if the text reader breaks.
const READS_MAX: u32 = 3;
const EMPTY: &str = "No text was found.";
/// Longest wait for the text of a file, seconds: only a few files are read at once.
const EXTRACT_SECONDS: u64 = 900;

/// A document that is being read.
struct Reading<'w, 'a> {
    work: &'w TaskContext<'a>,
    number: u32,
    base: u32,
    row: Row,
    progress: ReadingProgress,
}

/// Runs the next step of a document: reads its file, or fetches or reads a page.
pub fn ingest(work: &TaskContext<'_>, number: u32) -> Result<Done, Stop> {
    let Some(mut reading) = Reading::load(work, number)? else { return Ok(Done::Done) };
    match reading.progress.stage {
        Stage::File => reading.file(),
        Stage::Fetch => reading.fetch(),
        Stage::Page => reading.page(),
        Stage::Index => {
            job::add(work.account, work.now, Task::Index(number))?;
            Ok(Done::Done)
        }
    }
}

/// Indexes the next slice of a document's text.
pub fn index(work: &TaskContext<'_>, number: u32) -> Result<Done, Stop> {
    let Some(mut reading) = Reading::load(work, number)? else { return Ok(Done::Done) };
    if reading.progress.stage == Stage::Index { reading.slice() } else { Ok(Done::Done) }
}

/// Ends the reading of a document that cannot go on: the document fails.
pub fn give_up(work: &TaskContext<'_>, number: u32, reason: &str) -> Result<(), Stop> {
    match Reading::load(work, number)? {
        Some(mut reading) => reading.end(Some(reason)).map(drop),
        None => Ok(()),
    }
}

/// Removes one slice of a deleted document from the index.
pub fn drop_passages(work: &TaskContext<'_>, base: u32, number: u32) -> Result<Done, Stop> {
    Ok(if search::drop_slice(work.account, base, number)? { Done::Done } else { Done::More })
}

impl<'w, 'a> Reading<'w, 'a> {
    fn load(work: &'w TaskContext<'a>, number: u32) -> Result<Option<Self>, Stop> {
        let Some(row) = work.account.find(Kind::Document, number)? else { return Ok(None) };
        if Document::MEMBERS.status.read(&row.public)? != DocumentStatus::Processing {
            return Ok(None);
        }
        let base = documents::base_of(&row).ok_or(DAMAGED)?;
        let progress = ReadingProgress::read(&row.private)?;
        Ok(Some(Self { work, number, base, row, progress }))
    }

    fn save(&mut self) -> Result<(), Stop> {
        let after = Row { private: self.progress.to_json(), ..self.row.clone() };
        self.work.account.replace(Kind::Document, self.number, &self.row, &after)?;
        self.row = after;
        Ok(())
    }

    fn kind(&self) -> Result<DocumentType, Stop> {
        Document::MEMBERS.r#type.read(&self.row.public)
    }

    fn file(&mut self) -> Result<Done, Stop> {
        let (account, number) = (self.work.account, self.number);
        let form = match self.kind()? {
            DocumentType::Pdf => TextForm::Pdf,
            DocumentType::Docx => TextForm::Docx,
            DocumentType::Txt | DocumentType::Website => TextForm::Txt,
        };
        if self.work.asks.answered() == 0 {
            let bytes = progress::file(account, number)?;
            self.work.asks.ask(|| Asked::Extract { form, bytes });
            return Ok(Done::WaitsFor(EXTRACT_SECONDS));
        }
        match self.work.asks.ask(|| Asked::Extract { form, bytes: Vec::new() }) {
            Some(Answer::Extracted(Ok(Extracted { text, .. }))) => {
                progress::drop_file(account, number)?;
                self.index_text(&text)
            }
            Some(Answer::Extracted(Err(reason))) => self.end(Some(&reason)),
            // The reader itself broke, which says nothing about the file.
            _ if self.work.attempt < READS_MAX => Ok(Done::Later),
            _ => self.end(Some(BROKEN)),
        }
    }

    /// Stores a text that was read, and schedules its indexing.
    fn index_text(&mut self, text: &str) -> Result<Done, Stop> {
        self.progress.parts = progress::keep_text(self.work.account, self.number, text)?;
        self.progress.stage = Stage::Index;
        (self.progress.part, self.progress.byte) = (0, 0);
        self.save()?;
        job::add(self.work.account, self.work.now, Task::Index(self.number))?;
        Ok(Done::Done)
    }

    /// Fetches the next page, once the robots.txt of its host is stored and allows it.
    fn fetch(&mut self) -> Result<Done, Stop> {
        let Some(next) = self.progress.queue.first().cloned() else { return self.end(None) };
        let Ok(url) = Url::parse(&next) else { return self.skip("The address of a page cannot be read.") };
        let origin = url.origin().ascii_serialization();
        if self.progress.robots_of != origin {
            return self.robots(origin);
        }
        let kept = progress::load_fetched(self.work.account, self.number, FetchedKind::Robots)?.unwrap_or_default();
        let query = url.query().map_or(String::new(), |query| format!("?{query}"));
        if !Robots::parse(&kept).allows(&format!("{}{query}", url.path())) {
            return self.skip(&format!("{} is not read: the site's robots.txt does not allow it.", named(&next)));
        }
        let Some(answer) = self.work.asks.ask(|| get(&next, PAGE_BYTES_MAX, Redirects::None)) else {
            return Ok(Done::Waits);
        };
        self.fetched(next, answer)
    }

    fn robots(&mut self, origin: String) -> Result<Done, Stop> {
        let url = format!("{origin}/robots.txt");
        let Some(answer) = self.work.asks.ask(|| get(&url, ROBOTS_BYTES_MAX, Redirects::Any)) else {
            return Ok(Done::Waits);
        };
        // RFC 9309 section 2.3.1: a missing file allows everything, an unreachable one nothing.
        let rules = match answer {
            Answer::Http(HttpIn { status: 200..=299, body, .. }) => body,
            Answer::Http(HttpIn { status: 300..=499, .. }) => Vec::new(),
            Answer::Http(HttpIn { status, .. }) => return self.skip(&answered_with(&url, status)),
            answer => return self.skip(&unanswered(&url, &answer)),
        };
        progress::keep(self.work.account, self.number, FetchedKind::Robots, Some(rules))?;
        self.progress.robots_of = origin;
        self.save()?;
        Ok(Done::More)
    }

    fn fetched(&mut self, page: String, answer: Answer) -> Result<Done, Stop> {
        let answer = match answer {
            Answer::Http(answer) => answer,
            answer => return self.skip(&unanswered(&page, &answer)),
        };
        if let Some(next) = redirected(&page, &answer).filter(|_| self.progress.hops < REDIRECTS_MAX) {
            // The target has robots rules of its own: it is fetched like any other page.
            self.progress.queue[0] = next;
            self.progress.hops += 1;
            self.save()?;
            return Ok(Done::More);
        }
        if !(200..300).contains(&answer.status) {
            return self.skip(&answered_with(&page, answer.status));
        }
        let media = answer.header("content-type").unwrap_or("text/html").to_lowercase();
        if form_of(&media).is_none() {
            return self.skip(&format!("{} is neither HTML nor text.", named(&page)));
        }
        self.progress.page = page;
        self.progress.stage = Stage::Page;
        // The media type is stored on a line before the page.
        let kept = [media.as_bytes(), b"\n", &answer.body].concat();
        progress::keep(self.work.account, self.number, FetchedKind::Page, Some(kept))?;
        self.save()?;
        Ok(Done::More)
    }

    fn page(&mut self) -> Result<Done, Stop> {
        let (account, number) = (self.work.account, self.number);
        let kept = progress::load_fetched(account, number, FetchedKind::Page)?.ok_or(DAMAGED)?;
        let end = kept.iter().position(|byte| *byte == b'\n').ok_or(DAMAGED)?;
        let form = core::str::from_utf8(&kept[..end]).ok().and_then(form_of).ok_or(DAMAGED)?;
        let asked = self.work.asks.ask(|| Asked::Extract { form, bytes: kept[end + 1..].to_vec() });
        let Some(answer) = asked else { return Ok(Done::WaitsFor(EXTRACT_SECONDS)) };
        match answer {
            Answer::Extracted(Ok(read)) => {
                progress::keep(account, number, FetchedKind::Page, None)?;
                let follow = links::follow(&self.progress.page, read.base_href.as_deref(), &read.links);
                self.progress.follow(follow);
                self.index_text(&read.text)
            }
            Answer::Extracted(Err(reason)) => {
                progress::keep(account, number, FetchedKind::Page, None)?;
                self.skip(&reason)
            }
            _ if self.work.attempt < READS_MAX => Ok(Done::Later),
            _ => self.skip(BROKEN),
        }
    }

    /// Skips the current page, for this reason.
    fn skip(&mut self, reason: &str) -> Result<Done, Stop> {
        self.progress.fail(reason);
        self.next_page()
    }

    fn next_page(&mut self) -> Result<Done, Stop> {
        if !self.progress.queue.is_empty() {
            self.progress.queue.remove(0);
        }
        self.progress.hops = 0;
        if self.progress.queue.is_empty() {
            return self.end(None);
        }
        self.progress.stage = Stage::Fetch;
        self.save()?;
        job::add(self.work.account, self.work.now, Task::Ingest(self.number))?;
        Ok(Done::Done)
    }

    fn slice(&mut self) -> Result<Done, Stop> {
        let (account, number) = (self.work.account, self.number);
        let (part, byte) = (self.progress.part, self.progress.byte as usize);
        let (parts, more) = progress::text_from(account, number, part, TEXT_WINDOW_PARTS)?;
        let text = parts.concat();
        let mut cut = Passages::resume(&text, byte);
        let mut passages = Vec::new();
        // A passage near the end of the window may continue behind it.
        while passages.len() < SEGMENT_PASSAGES_MAX && (!more || cut.at() + 2 * PASSAGE_BYTES_MAX < text.len()) {
            let Some(passage) = cut.next() else { break };
            passages.push(passage);
        }
        let over = !more && (cut.at() >= text.len() || passages.is_empty());
        if !passages.is_empty() {
            let language = IndexLanguage::of(&passages.join("\n"));
            match search::add(account, self.base, number, language, &passages, self.progress.terms)? {
                Added::Full => return self.end(Some(FULL)),
                Added::Terms(written) => {
                    self.progress.terms = written;
                    self.save()?;
                    return Ok(Done::More);
                }
                Added::Stored => self.progress.terms = 0,
            }
            self.progress.passages += u32::try_from(passages.len()).unwrap_or(0);
        }
        if over {
            progress::drop_text(account, number)?;
            return self.next_page();
        }
        (self.progress.part, self.progress.byte) = place(part, &parts, cut.at());
        self.save()?;
        Ok(Done::More)
    }

    /// Ends the reading: the document is active, or it failed.
    fn end(&mut self, failure: Option<&str>) -> Result<Done, Stop> {
        let account = self.work.account;
        let reason = failure.map(ToString::to_string).or_else(|| {
            let nothing = self.progress.passages == 0;
            nothing.then(|| self.progress.failure.clone().unwrap_or_else(|| EMPTY.to_string()))
        });
        if reason.is_some() {
            search::hide(account, self.base, self.number)?;
            job::add(account, self.work.now, Task::DropPassages(self.base, self.number))?;
        }
        let row = Row { private: Vec::new(), ..self.row.clone() };
        set_status(account, self.number, &self.row, row, reason, self.work.now)?;
        job::add(account, self.work.now, Task::DropParts(Kind::Document, self.number))?;
        Ok(Done::Done)
    }
}

/// Says that a URL has no response, and why.
fn unanswered(url: &str, answer: &Answer) -> String {
    answer.send_error().sentence(url, PAGE_TIMEOUT_MS)
}

fn answered_with(url: &str, status: u16) -> String {
    format!("{} answered with status {status}.", named(url))
}

/// Converts a byte position in the window to a part and the byte within it.
fn place(first: u32, parts: &[String], at: usize) -> (u32, u32) {
    let (mut part, mut rest) = (first, at);
    for text in parts {
        if rest < text.len() {
            break;
        }
        (part, rest) = (part + 1, rest - text.len());
    }
    (part, u32::try_from(rest).expect("a part of a text is small"))
}

/// Returns the target of a redirect (RFC 9110 section 15.4).
fn redirected(page: &str, answer: &HttpIn) -> Option<String> {
    if ![301, 302, 303, 307, 308].contains(&answer.status) {
        return None;
    }
    let to = Url::parse(page).ok()?.join(answer.header("location")?).ok()?;
    ["http", "https"].contains(&to.scheme()).then(|| to.into())
}

fn form_of(media: &str) -> Option<TextForm> {
    match media.split(';').next().unwrap_or_default().trim() {
        "text/html" | "application/xhtml+xml" => Some(TextForm::Html),
        "text/plain" | "text/markdown" => Some(TextForm::Txt),
        "application/pdf" => Some(TextForm::Pdf),
        _ => None,
    }
}

fn get(url: &str, reply_bytes_max: usize, redirects: Redirects) -> Asked {
    let agent = format!("{}/{}", super::robots::PRODUCT_TOKEN, env!("CARGO_PKG_VERSION"));
    let headers = Vec::from([
        ("user-agent".to_string(), Secret(agent)),
        ("accept".to_string(), Secret("text/html, text/plain, application/pdf".into())),
    ]);
    Asked::Http(HttpOut {
        method: "GET",
        url: url.into(),
        headers,
        body: Vec::new(),
        timeout_ms: PAGE_TIMEOUT_MS,
        reply_bytes_max,
        egress: Egress::User,
        redirects,
    })
}
