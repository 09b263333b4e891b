//! How far the reading of a document came: kept beside it, so that any step can go on.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::tables::NewDocument;
use crate::key::{self, Kind};
use crate::limits::{PART_BYTES, TEXT_PART_BYTES, URL_MAX};
use crate::record::{Rest, choice, count, text, texts};
use crate::store::Scope;
use crate::view::{Order, Stop};
use crate::{choice, record};

const DAMAGED: Stop = Stop::Corrupt("a document's progress has an unknown form");
/// Where the parts of a document's text begin, behind those of its file.
const TEXT: u32 = 1 << 31;
/// Where a page that was fetched waits to be read.
const PAGE: u32 = TEXT - 1;
/// Where the robots.txt of the host at hand is.
const ROBOTS: u32 = TEXT - 2;

choice! {
    /// What comes next.
    pub enum Stage {
        /// The file is read.
        File = "file",
        /// The next page is fetched, or its host's robots.txt first.
        Fetch = "fetch",
        /// The page that was fetched is read.
        Page = "page",
        /// Its text is indexed.
        Index = "index",
    }
}

/// The address of a page.
static PAGE_URL: record::Kind = record::Kind::Text { min: 1, max: URL_MAX, format: None };

record! {
    /// How far the reading of a document came.
    pub struct ReadingProgress stored as "a document" {
        /// What comes next.
        stage: Stage = choice::<Stage>().required(),
        /// Pages to read, in order.
        queue: Vec<String> = texts(&PAGE_URL, 0),
        /// Pages that were queued ever, so that none is read twice.
        seen: Vec<String> = texts(&PAGE_URL, 0),
        /// Pages that may still be added by links.
        links_left: u32 = count().required(),
        /// The page at hand.
        page: String = text(0, URL_MAX).or_text(""),
        /// Redirects that led to it.
        hops: u32 = count().required(),
        /// The host whose robots.txt is at hand: scheme, host and port.
        robots_of: String = text(0, URL_MAX).or_text(""),
        /// The part of the text that is indexed next.
        part: u32 = count().required(),
        /// The byte within it.
        byte: u32 = count().required(),
        /// Terms of the passages there that are written.
        terms: u32 = count().or_int(0),
        /// Passages that were indexed.
        passages: u32 = count().required(),
        /// Why the first thing that failed did.
        failure: Option<String> = text(0, 255).sparse(),
    }
}

impl ReadingProgress {
    /// Of a file that was uploaded.
    pub fn of_file() -> Self {
        Self {
            stage: Stage::File,
            queue: Vec::new(),
            seen: Vec::new(),
            links_left: 0,
            page: String::new(),
            hops: 0,
            robots_of: String::new(),
            part: 0,
            byte: 0,
            terms: 0,
            passages: 0,
            failure: None,
            rest: Rest::default(),
        }
    }

    /// Of a website.
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

    /// Queues the links of a page, as far as the document's limit goes.
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

    /// Notes why something failed, unless something did before.
    pub fn fail(&mut self, reason: &str) {
        self.failure.get_or_insert_with(|| reason.to_string());
    }
}

/// The file of a document.
pub fn file(account: Scope<'_>, document: u32) -> Result<Vec<u8>, Stop> {
    let parts = account.scan(between(account, document, 0, ROBOTS), Order::Ascending, usize::from(u8::MAX))?;
    Ok(parts.into_iter().flat_map(|(_, bytes)| bytes).collect())
}

fn between(account: Scope<'_>, document: u32, from: u32, to: u32) -> core::ops::Range<key::Key> {
    let part = |at| key::part(account.space(), Kind::Document, document, at);
    part(from)..part(to)
}

/// Takes the file away once it was read.
pub fn drop_file(account: Scope<'_>, document: u32) -> Result<(), Stop> {
    for (at, _) in account.scan(between(account, document, 0, ROBOTS), Order::Ascending, usize::from(u8::MAX))? {
        account.delete(at)?;
    }
    Ok(())
}

/// Something that waits between two steps.
#[derive(Clone, Copy)]
pub enum Kept {
    /// A page that was fetched.
    Page,
    /// A robots.txt.
    Robots,
}

fn kept(account: Scope<'_>, document: u32, what: Kept) -> key::Key {
    let at = match what {
        Kept::Page => PAGE,
        Kept::Robots => ROBOTS,
    };
    key::part(account.space(), Kind::Document, document, at)
}

/// Keeps it, or with `None` takes it away.
pub fn keep(account: Scope<'_>, document: u32, what: Kept, bytes: Option<Vec<u8>>) -> Result<(), Stop> {
    let at = kept(account, document, what);
    match bytes {
        Some(mut bytes) => {
            bytes.truncate(PART_BYTES);
            account.put(at, bytes)
        }
        None => account.delete(at),
    }
}

/// What was kept.
pub fn take(account: Scope<'_>, document: u32, what: Kept) -> Result<Option<Vec<u8>>, Stop> {
    account.get(kept(account, document, what))
}

/// Keeps a text in parts of whole characters.
pub fn keep_text(account: Scope<'_>, document: u32, text: &str) -> Result<(), Stop> {
    let (mut rest, mut at) = (text, TEXT);
    while !rest.is_empty() {
        let (part, more) = rest.split_at(rest.floor_char_boundary(TEXT_PART_BYTES.min(rest.len())));
        account.put(key::part(account.space(), Kind::Document, document, at), part.as_bytes().to_vec())?;
        (rest, at) = (more, at + 1);
    }
    Ok(())
}

/// The parts of the text from one on, at most so many, and whether there are more.
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

/// Takes the text away.
pub fn drop_text(account: Scope<'_>, document: u32) -> Result<(), Stop> {
    /// Parts of the longest text.
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
}
