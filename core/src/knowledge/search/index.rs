//! The index's rows: written and deleted in slices, hidden at once.
//!
//! A segment is up to 32 passages of one document. Each of its terms is a row under the knowledgebase and the term, so
//! a search reads one stretch of rows for each word, and adding reads nothing but the document's own row. That row
//! says how many segments are searchable; rows of others mean nothing.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use switchboard_stemmers::{Language, stem, tokens};

use super::stored::{Indexed, Posting, postings_to_bytes, read_terms, terms_to_bytes};
use crate::key;
use crate::limits::search::{PASSAGE_BYTES_MAX, PASSAGES_MAX, SEGMENT_PASSAGES_MAX, SEGMENTS_MAX, SLICE_TERMS};
use crate::store::Scope;
use crate::view::{Order, Stop};

const DAMAGED: Stop = Stop::Corrupt("a key of the search index has an unknown form");

/// What became of passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// They are searchable.
    Stored,
    /// So many of their terms are written: the next step goes on behind them.
    Terms(u32),
    /// The knowledgebase has no room for them; nothing was stored.
    Full,
}

/// The searchable documents of a knowledgebase, by number.
pub fn documents(account: Scope<'_>, base: u32) -> Result<Vec<(u32, Indexed)>, Stop> {
    // Every document has a segment, so there are no more documents than segments.
    let rows =
        account.scan(key::indexed_of(account.space(), base), Order::Ascending, SEGMENTS_MAX as usize)?.into_iter();
    rows.map(|(at, bytes)| Ok((key::read_indexed(&at).ok_or(DAMAGED)?, Indexed::from_bytes(&bytes)?))).collect()
}

/// Passages that a search of a knowledgebase looks at: one row read for each of its documents.
pub fn count(account: Scope<'_>, base: u32) -> Result<u32, Stop> {
    Ok(documents(account, base)?.iter().map(|(_, indexed)| indexed.passages).sum())
}

/// Adds the next passages of a document, from 1 to [`SEGMENT_PASSAGES_MAX`] of them, as
/// [`Passages`](super::Passages) cuts them: at most [`SLICE_TERMS`] of their terms a step. `written` of them are there,
/// none at first; where it ends with [`Added::Terms`], the same passages come again with that many.
pub fn add(
    account: Scope<'_>,
    base: u32,
    document: u32,
    language: Language,
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

/// The terms of passages, each with where it stands, and how many words all of them have.
fn terms_of_all(language: Language, passages: &[&str]) -> (BTreeMap<String, Vec<Posting>>, u32) {
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

/// Writes what a segment is of: its passages, and the list of its terms, by which they are deleted.
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

/// The terms of a passage with how often each is there, and how many words that are.
pub(super) fn terms_of(language: Language, text: &str) -> (BTreeMap<String, u32>, u32) {
    let (mut counts, mut length) = (BTreeMap::new(), 0);
    tokens::each(text, |word| {
        let mut term = String::from(word);
        stem(language, &mut term);
        *counts.entry(term).or_insert(0) += 1;
        length += 1;
    });
    (counts, length)
}

/// Takes a document out of search, in this very step; its rows go with [`drop_slice`].
pub fn hide(account: Scope<'_>, base: u32, document: u32) -> Result<(), Stop> {
    let at = key::indexed(account.space(), base, document);
    if account.get(at.clone())?.is_some() {
        account.delete(at)?;
    }
    Ok(())
}

/// Deletes some rows of a document, at most [`SLICE_TERMS`] and a few; tells whether it has none left.
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

/// The passages of all documents in order, a line each and a blank line between documents, up to `bytes_max`
/// bytes: knowledge as a part of a prompt.
pub fn text(account: Scope<'_>, base: u32, bytes_max: usize) -> Result<String, Stop> {
    /// Passages read at once.
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
