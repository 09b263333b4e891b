//! The rows of the index: written and deleted in slices, hidden at once.
//!
//! A segment is up to 32 passages of one document. Each of its terms is a row under the knowledgebase and the term, so
//! that a search reads one range of rows for each word, and adding reads only the rows of the documents. A document's
//! row holds the number of its searchable segments; rows of any other segment are ignored.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use switchboard_stemmers::{IndexLanguage, stem, tokens};

use super::stored::{Indexed, Posting, postings_to_bytes, read_terms, terms_to_bytes};
use crate::key;
use crate::limits::search::{PASSAGE_BYTES_MAX, PASSAGES_MAX, SEGMENT_PASSAGES_MAX, SEGMENTS_MAX, SLICE_TERMS};
use crate::store::Scope;
use crate::view::{Order, Stop};

const DAMAGED: Stop = Stop::Corrupt("a key of the search index has an unknown form");

/// Result of adding passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The passages are searchable.
    Stored,
    /// This many of their terms are written so far: the next step continues behind them.
    Terms(u32),
    /// The knowledgebase has no room for them; nothing was stored.
    Full,
}

/// Returns the searchable documents of a knowledgebase, by local id.
pub fn documents(account: Scope<'_>, base: u32) -> Result<Vec<(u32, Indexed)>, Stop> {
    // Every document has a segment, so there are at most as many documents as segments.
    let rows =
        account.scan(key::indexed_of(account.space(), base), Order::Ascending, SEGMENTS_MAX as usize)?.into_iter();
    rows.map(|(at, bytes)| Ok((key::read_indexed(&at).ok_or(DAMAGED)?, Indexed::from_bytes(&bytes)?))).collect()
}

/// Returns the number of searchable passages in a knowledgebase; reads one row for each of its documents.
pub fn count(account: Scope<'_>, base: u32) -> Result<u32, Stop> {
    Ok(documents(account, base)?.iter().map(|(_, indexed)| indexed.passages).sum())
}

/// Adds the next passages of a document, 1 to [`SEGMENT_PASSAGES_MAX`] of them, as split by
/// [`Passages`](super::Passages), with at most [`SLICE_TERMS`] of their terms in one step. `written` is the number of
/// terms that are stored already, 0 at first; after [`Added::Terms`] the same passages must be added again with the
/// number it holds.
pub fn add(
    account: Scope<'_>,
    base: u32,
    document: u32,
    language: IndexLanguage,
    passages: &[&str],
    written: u32,
) -> Result<Added, Stop> {
    let few = (1..=SEGMENT_PASSAGES_MAX).contains(&passages.len());
    let short = passages.iter().all(|passage| passage.len() <= PASSAGE_BYTES_MAX);
    assert!(few && short, "a segment has a few passages of bounded length");
    let documents = documents(account, base)?;
    let sum = |part: fn(&Indexed) -> u32| documents.iter().map(|(_, indexed)| part(indexed)).sum::<u32>();
    let added = u32::try_from(passages.len()).expect("a segment has few passages");
    if sum(|indexed| indexed.passages) + added > PASSAGES_MAX || sum(|indexed| indexed.segments) == SEGMENTS_MAX {
        return Ok(Added::Full);
    }
    let own = documents.binary_search_by_key(&document, |(number, _)| *number);
    let mut indexed = own.map_or_else(|_| Indexed::default(), |at| documents[at].1);
    let segment = u16::try_from(indexed.segments).map_err(|_| Stop::OverBudget)?;
    let (terms, words) = terms_of_all(language, passages);
    let first = written as usize;
    if first == 0 {
        begin(account, (base, document, segment), passages, &terms)?;
    }
    for (term, postings) in terms.iter().skip(first).take(SLICE_TERMS) {
        account.put(key::posting(account.space(), base, term, document, segment), postings_to_bytes(postings))?;
    }
    if terms.len() > first + SLICE_TERMS {
        return Ok(Added::Terms(u32::try_from(first + SLICE_TERMS).map_err(|_| Stop::OverBudget)?));
    }
    indexed.segments += 1;
    indexed.passages += added;
    indexed.words += words;
    indexed.languages |= 1 << language as u32;
    account.put(key::indexed(account.space(), base, document), indexed.to_bytes())?;
    Ok(Added::Stored)
}

/// Returns the terms of passages, each with its postings, and the number of all words.
fn terms_of_all(language: IndexLanguage, passages: &[&str]) -> (BTreeMap<String, Vec<Posting>>, u32) {
    let (mut terms, mut words) = (BTreeMap::<String, Vec<Posting>>::new(), 0);
    for (place, text) in (0_u8..).zip(passages) {
        let (counts, length) = terms_of(language, text);
        for (term, count) in counts {
            terms.entry(term).or_default().push(Posting { place, count, length });
        }
        words += length;
    }
    (terms, words)
}

/// Writes the start of a segment: its passages, and the list of its terms, which is needed to delete them.
fn begin(
    account: Scope<'_>,
    at: (u32, u32, u16),
    passages: &[&str],
    terms: &BTreeMap<String, Vec<Posting>>,
) -> Result<(), Stop> {
    let (base, document, segment) = at;
    for (place, text) in (0_u8..).zip(passages) {
        account.put(key::passage(account.space(), base, document, segment, place), text.as_bytes().to_vec())?;
    }
    let list = terms_to_bytes(terms.keys().map(String::as_str));
    account.put(key::segment(account.space(), base, document, segment), list)
}

/// Returns the terms of a passage with their counts, and the number of its words.
pub(super) fn terms_of(language: IndexLanguage, text: &str) -> (BTreeMap<String, u32>, u32) {
    let (mut counts, mut length) = (BTreeMap::new(), 0);
    tokens::each(text, |word| {
        let mut term = String::from(word);
        stem(language, &mut term);
        *counts.entry(term).or_insert(0) += 1;
        length += 1;
    });
    (counts, length)
}

/// Takes a document out of search at once; [`drop_slice`] deletes its rows.
pub fn hide(account: Scope<'_>, base: u32, document: u32) -> Result<(), Stop> {
    let at = key::indexed(account.space(), base, document);
    if account.get(at.clone())?.is_some() {
        account.delete(at)?;
    }
    Ok(())
}

/// Deletes a slice of a document's rows, at most [`SLICE_TERMS`] and a few; returns whether none is left.
pub fn drop_slice(account: Scope<'_>, base: u32, document: u32) -> Result<bool, Stop> {
    hide(account, base, document)?;
    let segments = account.scan(key::segments(account.space(), base, document), Order::Ascending, 2)?;
    let Some((at, list)) = segments.first() else { return Ok(true) };
    let segment = key::read_segment(at).ok_or(DAMAGED)?;
    let mut terms = read_terms(list)?;
    for term in terms.drain(terms.len().saturating_sub(SLICE_TERMS)..) {
        account.delete(key::posting(account.space(), base, &term, document, segment))?;
    }
    if !terms.is_empty() {
        account.put(at.clone(), terms_to_bytes(terms.iter().map(String::as_str)))?;
        return Ok(false);
    }
    let range = key::passages_of(account.space(), base, document, segment);
    for (passage, _) in account.scan(range, Order::Ascending, SEGMENT_PASSAGES_MAX)? {
        account.delete(passage)?;
    }
    account.delete(at.clone())?;
    Ok(segments.len() == 1)
}

/// Returns the passages of all documents in order, each on a line and a blank line between documents, cut at
/// `bytes_max` bytes: knowledge as part of a prompt.
pub fn text(account: Scope<'_>, base: u32, bytes_max: usize) -> Result<String, Stop> {
    /// Passages read by one scan.
    const SLICE: usize = 64;
    let mut text = String::new();
    for (document, _) in documents(account, base)? {
        let mut range = key::passages(account.space(), base, document);
        let mut gap = if text.is_empty() { "" } else { "\n\n" };
        loop {
            let rows = account.scan(range.clone(), Order::Ascending, SLICE)?;
            for (_, passage) in &rows {
                let passage = core::str::from_utf8(passage).map_err(|_| DAMAGED)?;
                text.push_str(gap);
                text.push_str(passage);
                if text.len() > bytes_max {
                    text.truncate(text.floor_char_boundary(bytes_max));
                    return Ok(text);
                }
                gap = "\n";
            }
            match rows.last() {
                Some((last, _)) if rows.len() == SLICE => range.start = [last.as_slice(), &[0]].concat(),
                _ => break,
            }
        }
    }
    Ok(text)
}
