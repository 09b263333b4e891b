//! Ranking by BM25 (Robertson and Walker, k1 = 1.2, b = 0.75) in fixed point, so that every machine computes the same
//! scores and ranks.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use switchboard_stemmers::{IndexLanguage, stem, tokens};

use super::index::documents;
use super::stored::{Posting, read_postings};
use crate::key;
use crate::limits::search::{
    HITS_MAX, QUERY_BYTES_MAX, QUERY_ROWS_MAX, QUERY_TERMS_MAX, QUERY_WORDS_MAX, SEGMENT_PASSAGES_MAX, SEGMENTS_MAX,
};
use crate::store::Scope;
use crate::view::{Order, Stop};

const DAMAGED: Stop = Stop::Corrupt("the search index names a passage that is not there");
/// Fraction bits of fixed-point logarithms and scores.
const FRACTION: u32 = 16;
/// The natural logarithm of 2, in fixed point.
const LN_2: u64 = 45_426;
/// Resolution of a returned score: parts of one.
const SCORE_PARTS: u64 = 10_000;

/// A passage that matches a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Local id of the document.
    pub document: u32,
    /// BM25 score, in ten-thousandths.
    pub score: u32,
    /// Text of the passage.
    pub text: String,
}

/// Returns the passages of a knowledgebase that match a query best, at most `limit` (and never more than [`HITS_MAX`]);
/// equal scores are ordered by document, then by position in it.
pub fn search(account: Scope<'_>, base: u32, query: &str, limit: usize) -> Result<Vec<Hit>, Stop> {
    let corpus = Corpus::load(account, base)?;
    let terms = terms_of(query, &corpus.languages());
    let mut scores = vec![0_u32; corpus.places];
    for term in &terms {
        score(account, base, &corpus, term, QUERY_ROWS_MAX / terms.len(), &mut scores)?;
    }
    // Ranking uses the rounded scores that are returned: of two equal ones, the earlier passage is first.
    for score in &mut scores {
        *score = u32::try_from((u64::from(*score) * SCORE_PARTS).div_ceil(1 << FRACTION)).unwrap_or(u32::MAX);
    }
    let best = best(&scores, limit.min(HITS_MAX));
    let places: Vec<_> = best.iter().map(|place| corpus.at(*place)).collect();
    let keys: Vec<_> = places
        .iter()
        .map(|(document, segment, place)| key::passage(account.space(), base, *document, *segment, *place))
        .collect();
    let texts = account.get_many(&keys)?;
    let hits = best.iter().zip(places).zip(texts).map(|((place, (document, ..)), text)| {
        let text = String::from_utf8(text.ok_or(DAMAGED)?).map_err(|_| DAMAGED)?;
        Ok(Hit { document, score: scores[*place], text })
    });
    hits.collect()
}

/// The searched documents, each with the place of its first passage among all passages. A segment occupies as many
/// places as it may have passages, so that an index row is enough to locate its passages.
struct Corpus {
    documents: Vec<(u32, usize)>,
    places: usize,
    passages: u64,
    words: u64,
    language_bits: u32,
}

impl Corpus {
    fn load(account: Scope<'_>, base: u32) -> Result<Self, Stop> {
        let mut corpus = Self { documents: Vec::new(), places: 0, passages: 0, words: 0, language_bits: 0 };
        for (document, indexed) in documents(account, base)? {
            corpus.documents.push((document, corpus.places));
            corpus.places += indexed.segments as usize * SEGMENT_PASSAGES_MAX;
            corpus.passages += u64::from(indexed.passages);
            corpus.words += u64::from(indexed.words);
            corpus.language_bits |= indexed.languages;
        }
        if corpus.places > SEGMENTS_MAX as usize * SEGMENT_PASSAGES_MAX { Err(DAMAGED) } else { Ok(corpus) }
    }

    fn languages(&self) -> Vec<IndexLanguage> {
        IndexLanguage::ALL.into_iter().filter(|language| self.language_bits >> *language as u32 & 1 == 1).collect()
    }

    /// Returns the place of a segment's first passage; `None` if its document is hidden, or the segment is not complete
    /// yet.
    fn first(&self, document: u32, segment: u16) -> Option<usize> {
        let at = self.documents.binary_search_by_key(&document, |(number, _)| *number).ok()?;
        let end = self.documents.get(at + 1).map_or(self.places, |(_, next)| *next);
        let first = self.documents[at].1 + usize::from(segment) * SEGMENT_PASSAGES_MAX;
        (first < end).then_some(first)
    }

    /// Converts a place to document, segment and place in the segment.
    fn at(&self, place: usize) -> (u32, u16, u8) {
        let (document, first) = self.documents[self.documents.partition_point(|(_, first)| *first <= place) - 1];
        let (segment, place) = ((place - first) / SEGMENT_PASSAGES_MAX, (place - first) % SEGMENT_PASSAGES_MAX);
        let number = u16::try_from(segment).expect("a document has fewer segments than 2^16");
        (document, number, u8::try_from(place).expect("a segment has few passages"))
    }

    /// Returns the weight of a term that `having` passages have, in fixed point: `ln(1 + (N - n + 0.5) / (n + 0.5))`.
    fn weight(&self, having: u64) -> u64 {
        let log = |number: u64| u64::from(log2(u32::try_from(number).unwrap_or(u32::MAX)));
        (log(2 * self.passages + 2).saturating_sub(log(2 * having + 1)) * LN_2) >> FRACTION
    }

    /// Returns a passage's share of a term's weight, in fixed point:
    /// `f (k1 + 1) / (f + k1 (1 - b + b length / average))`, both sides of the fraction times ten and the words of all
    /// passages.
    fn share(&self, posting: Posting) -> u64 {
        let (count, length) = (u64::from(posting.count), u64::from(posting.length));
        let least = 10 * count * self.words + 3 * self.words + 9 * length * self.passages;
        ((22 * count * self.words) << FRACTION) / least.max(1)
    }
}

/// Adds a term's scores to the passages that have it.
fn score(
    account: Scope<'_>,
    base: u32,
    corpus: &Corpus,
    term: &str,
    rows_max: usize,
    scores: &mut [u32],
) -> Result<(), Stop> {
    let mut having = Vec::new();
    for (at, bytes) in account.scan(key::postings(account.space(), base, term), Order::Ascending, rows_max)? {
        let (document, segment) = key::read_posting(&at).ok_or(DAMAGED)?;
        let Some(first) = corpus.first(document, segment) else { continue };
        read_postings(&bytes, |posting| having.push((first + usize::from(posting.place), posting)))?;
    }
    let weight = corpus.weight(having.len() as u64);
    for (place, posting) in having {
        // However common a term is, a passage that has it is found.
        let told = ((weight * corpus.share(posting)) >> FRACTION).max(1);
        let score = scores.get_mut(place).ok_or(DAMAGED)?;
        *score = score.saturating_add(u32::try_from(told).unwrap_or(u32::MAX));
    }
    Ok(())
}

/// Returns the places of the largest scores above zero, the largest first and equal ones by place.
fn best(scores: &[u32], limit: usize) -> Vec<usize> {
    let mut best: Vec<usize> = Vec::with_capacity(limit + 1);
    for (place, score) in scores.iter().enumerate().filter(|(_, score)| **score > 0) {
        if best.len() == limit && best.last().is_none_or(|last| scores[*last] >= *score) {
            continue;
        }
        let at = best.partition_point(|before| (Reverse(scores[*before]), *before) < (Reverse(*score), place));
        best.insert(at, place);
        best.truncate(limit);
    }
    best
}

/// Returns the terms of a query, stemmed in each language of a knowledgebase. Function words are left out, unless there
/// are no others.
pub(super) fn terms_of(query: &str, languages: &[IndexLanguage]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    tokens::each(&query[..query.floor_char_boundary(QUERY_BYTES_MAX)], |word| {
        if !words.iter().any(|known| known == word) {
            words.push(word.into());
        }
    });
    let holds_together = |word: &String| languages.iter().any(|language| language.is_function_word(word));
    if !words.iter().all(holds_together) {
        words.retain(|word| !holds_together(word));
    }
    words.truncate(QUERY_WORDS_MAX);
    let mut terms: Vec<String> = Vec::new();
    for (word, language) in words.iter().flat_map(|word| languages.iter().map(move |language| (word, *language))) {
        let mut term = word.clone();
        stem(language, &mut term);
        if !terms.contains(&term) && terms.len() < QUERY_TERMS_MAX {
            terms.push(term);
        }
    }
    terms
}

/// Computes the binary logarithm of a number, at least 1, in fixed point: each squaring of the fraction yields one bit.
fn log2(number: u32) -> u32 {
    let whole = number.max(1).ilog2();
    let mut fraction = u64::from(number.max(1)) << (31 - whole);
    let mut log = whole;
    for _ in 0..FRACTION {
        fraction = (fraction * fraction) >> 31;
        let bit = u32::from(fraction >= 1 << 32);
        fraction >>= bit;
        log = log << 1 | bit;
    }
    log
}
