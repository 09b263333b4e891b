//! Progress of reading a document, stored beside it so that each step can resume.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::tables::{DocumentProgress, NewDocument};
use crate::key::{self, Kind};
use crate::limits::{PART_BYTES, TEXT_PART_BYTES, URL_MAX};
use crate::record::{Rest, choice, count, text, texts};
use crate::store::Scope;
use crate::view::{Order, Stop};
use crate::{choice, record};

const DAMAGED: Stop = Stop::Corrupt("a document's progress has an unknown form");
/// Number of the first part of a document's text; the parts of its file come before.
const TEXT: u32 = 1 << 31;
/// Number of the part that holds a fetched page until it is read.
const PAGE: u32 = TEXT - 1;
/// Number of the part that holds the robots.txt of the current host.
const ROBOTS: u32 = TEXT - 2;

choice! {
    /// Next step of reading a document.
    pub enum Stage {
        /// Read the uploaded file.
        File = "file",
        /// Fetch the next page, or first the robots.txt of its host.
        Fetch = "fetch",
        /// Read the fetched page.
        Page = "page",
        /// Index the next slice of the text.
        Index = "index",
    }
}

/// Bounds of a page's address.
static PAGE_URL: record::ColumnType = record::ColumnType::Text { min: 1, max: URL_MAX, format: None };

record! {
    /// Progress of reading a document.
    pub struct ReadingProgress stored as "a document" {
        /// Step that is done next.
        stage: Stage = choice::<Stage>().required(),
        /// Pages still to read, in order.
        queue: Vec<String> = texts(&PAGE_URL, 0),
        /// All pages ever queued, so that none is read twice.
        seen: Vec<String> = texts(&PAGE_URL, 0),
        /// Number of pages that links may still add.
        links_left: u32 = count().required(),
        /// URL of the current page.
        page: String = text(0, URL_MAX).or_text(""),
        /// Redirects followed for the page at the head of the queue.
        hops: u32 = count().required(),
        /// Host whose robots.txt is stored: scheme, host and port.
        robots_of: String = text(0, URL_MAX).or_text(""),
        /// Parts of the text.
        parts: u32 = count().or_int(0),
        /// Part of the text that is indexed next, from 0.
        part: u32 = count().required(),
        /// Byte within that part.
        byte: u32 = count().required(),
        /// Terms already written of the passages that start there.
        terms: u32 = count().or_int(0),
        /// Passages indexed so far.
        passages: u32 = count().required(),
        /// Reason of the first failure.
        failure: Option<String> = text(0, 255).sparse(),
    }
}

impl ReadingProgress {
    /// Starts with an uploaded file.
    pub fn of_file() -> Self {
        Self {
            stage: Stage::File,
            queue: Vec::new(),
            seen: Vec::new(),
            links_left: 0,
            page: String::new(),
            hops: 0,
            robots_of: String::new(),
            parts: 0,
            part: 0,
            byte: 0,
            terms: 0,
            passages: 0,
            failure: None,
            rest: Rest::default(),
        }
    }

    /// Starts with the pages of a website.
    pub fn of_site(new: &NewDocument) -> Self {
        let mut queue: Vec<String> = Vec::new();
        for url in new.url.iter().chain(new.links.iter().map(|link| &link.link)) {
            if !queue.contains(url) {
                queue.push(url.clone());
            }
        }
        Self {
            stage: Stage::Fetch,
            seen: queue.clone(),
            queue,
            links_left: new.relative_links_limit,
            ..Self::of_file()
        }
    }

    /// Returns what people are told of it.
    pub fn shown(&self) -> DocumentProgress {
        let count = |pages: &[String]| u32::try_from(pages.len()).unwrap_or(u32::MAX);
        let (done, total) = match count(&self.seen) {
            0 => (self.part.min(self.parts), self.parts.max(1)),
            pages => (pages.saturating_sub(count(&self.queue)), pages),
        };
        DocumentProgress { done, total }
    }

    /// Queues the links of a page, within the document's limit.
    pub fn follow(&mut self, links: Vec<String>) {
        for link in links {
            if self.links_left == 0 {
                return;
            }
            if !self.seen.contains(&link) {
                self.links_left -= 1;
                self.seen.push(link.clone());
                self.queue.push(link);
            }
        }
    }

    /// Records a reason of failure, unless there is one already.
    pub fn fail(&mut self, reason: &str) {
        self.failure.get_or_insert_with(|| reason.to_string());
    }
}

/// Reads the file of a document.
pub fn file(account: Scope<'_>, document: u32) -> Result<Vec<u8>, Stop> {
    let parts = account.scan(between(account, document, 0, ROBOTS), Order::Ascending, usize::from(u8::MAX))?;
    Ok(parts.into_iter().flat_map(|(_, bytes)| bytes).collect())
}

fn between(account: Scope<'_>, document: u32, from: u32, to: u32) -> core::ops::Range<key::Key> {
    let part = |at| key::part(account.space(), Kind::Document, document, at);
    part(from)..part(to)
}

/// Deletes the file once it was read.
pub fn drop_file(account: Scope<'_>, document: u32) -> Result<(), Stop> {
    for (at, _) in account.scan(between(account, document, 0, ROBOTS), Order::Ascending, usize::from(u8::MAX))? {
        account.delete(at)?;
    }
    Ok(())
}

/// Data stored between two steps.
#[derive(Clone, Copy)]
pub enum FetchedKind {
    /// A fetched page, behind a line with its media type.
    Page,
    /// The robots.txt of the current host.
    Robots,
}

fn kept(account: Scope<'_>, document: u32, what: FetchedKind) -> key::Key {
    let at = match what {
        FetchedKind::Page => PAGE,
        FetchedKind::Robots => ROBOTS,
    };
    key::part(account.space(), Kind::Document, document, at)
}

/// Stores such data, cut at [`PART_BYTES`], or deletes it with `None`.
pub fn keep(account: Scope<'_>, document: u32, what: FetchedKind, bytes: Option<Vec<u8>>) -> Result<(), Stop> {
    let at = kept(account, document, what);
    match bytes {
        Some(mut bytes) => {
            bytes.truncate(PART_BYTES);
            account.put(at, bytes)
        }
        None => account.delete(at),
    }
}

/// Reads such data; `None` if there is none.
pub fn load_fetched(account: Scope<'_>, document: u32, what: FetchedKind) -> Result<Option<Vec<u8>>, Stop> {
    account.get(kept(account, document, what))
}

/// Stores a text in parts, cut between characters; returns how many they are.
pub fn keep_text(account: Scope<'_>, document: u32, text: &str) -> Result<u32, Stop> {
    let (mut rest, mut parts) = (text, 0);
    while !rest.is_empty() {
        let (part, more) = rest.split_at(rest.floor_char_boundary(TEXT_PART_BYTES.min(rest.len())));
        account.put(key::part(account.space(), Kind::Document, document, TEXT + parts), part.as_bytes().to_vec())?;
        (rest, parts) = (more, parts + 1);
    }
    Ok(parts)
}

/// Reads at most `most` parts of the text from `part` on; returns whether there are more.
pub fn text_from(account: Scope<'_>, document: u32, part: u32, most: usize) -> Result<(Vec<String>, bool), Stop> {
    let end = key::parts(account.space(), Kind::Document, document).end;
    let start = key::part(account.space(), Kind::Document, document, TEXT + part);
    let mut parts = Vec::new();
    for (_, bytes) in account.scan(start..end, Order::Ascending, most + 1)? {
        parts.push(String::from_utf8(bytes).map_err(|_| DAMAGED)?);
    }
    let more = parts.len() > most;
    parts.truncate(most);
    Ok((parts, more))
}

/// Deletes the text once it was indexed.
pub fn drop_text(account: Scope<'_>, document: u32) -> Result<(), Stop> {
    /// Most parts of the longest text.
    const PARTS: usize = 128;
    let end = key::parts(account.space(), Kind::Document, document).end;
    let start = key::part(account.space(), Kind::Document, document, TEXT);
    for (at, _) in account.scan(start..end, Order::Ascending, PARTS)? {
        account.delete(at)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::ToJson;
    use crate::record::Stored;
    use alloc::vec;

    #[test]
    fn progress_reads_back_and_links_are_bounded() {
        let mut progress = ReadingProgress { links_left: 2, seen: vec!["a".into()], ..ReadingProgress::of_file() };
        progress.follow(vec!["a".into(), "b".into(), "c".into(), "d".into()]);
        assert_eq!((progress.queue.join(","), progress.links_left), ("b,c".into(), 0));
        progress.fail("first");
        progress.fail("second");
        assert_eq!(ReadingProgress::read(&progress.to_json()), Ok(progress));
        assert!(ReadingProgress::read(b"{}").is_err());
    }

    #[test]
    fn pages_and_pieces_of_a_text_are_counted() {
        let shown = |progress: &ReadingProgress| {
            let DocumentProgress { done, total } = progress.shown();
            (done, total)
        };
        let mut file = ReadingProgress::of_file();
        assert_eq!(shown(&file), (0, 1), "its text is not known yet");
        (file.parts, file.part) = (5, 2);
        assert_eq!(shown(&file), (2, 5));
        let (seen, queue) = (vec!["a".into(), "b".into()], vec!["b".into()]);
        let mut site = ReadingProgress { seen, queue, links_left: 1, ..ReadingProgress::of_file() };
        assert_eq!(shown(&site), (1, 2));
        site.follow(vec!["c".into()]);
        (site.parts, site.part) = (9, 3);
        assert_eq!(shown(&site), (1, 3), "of a website pages count");
    }
}
