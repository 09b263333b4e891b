//! Serialization of the index rows: numbers as varints (LEB128), terms as the difference from the one before.

use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::search::PASSAGE_BYTES_MAX;
use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("a row of the search index has an unknown form");
/// Format of a document's row; a change to words or rows gets another number.
const FORMAT: u8 = 1;

fn push(out: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        out.push(u8::try_from(number & 0x7f).expect("seven bits fit") | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).expect("seven bits fit"));
}

/// Reader over the bytes of a row.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn byte(&mut self) -> Result<u8, Stop> {
        let (first, rest) = self.0.split_first().ok_or(DAMAGED)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u32, Stop> {
        let mut number = 0;
        for shift in (0..32).step_by(7) {
            let byte = self.byte()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DAMAGED)
    }

    fn bytes(&mut self, count: usize) -> Result<&'b [u8], Stop> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(DAMAGED)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// Searchable part of a document, which is found as long as this row exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// Number of searchable segments.
    pub segments: u32,
    /// Number of searchable passages.
    pub passages: u32,
    /// Number of words in all these passages.
    pub words: u32,
    /// Languages of the segments, one bit each: `1 << language`.
    pub languages: u32,
}

impl Indexed {
    /// Serializes the document's row.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::from([FORMAT]);
        [self.segments, self.passages, self.words, self.languages].iter().for_each(|number| push(&mut bytes, *number));
        bytes
    }

    /// Parses a stored row.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Stop> {
        let mut reader = Reader(bytes);
        if reader.byte()? != FORMAT {
            return Err(DAMAGED);
        }
        let mut number = || reader.number();
        Ok(Self { segments: number()?, passages: number()?, words: number()?, languages: number()? })
    }
}

/// Occurrences of a term in one passage of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Index of the passage in the segment.
    pub place: u8,
    /// Occurrences of the term in the passage, at least one.
    pub count: u32,
    /// Length of the passage, words.
    pub length: u32,
}

/// Serializes the postings of a term in one segment, which are sorted by place.
pub fn postings_to_bytes(postings: &[Posting]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(postings.len() * 3);
    let mut next = 0;
    for Posting { place, count, length } in postings {
        // Most terms occur once in a passage: one bit is enough then.
        push(&mut bytes, (u32::from(*place) - next) << 1 | u32::from(*count > 1));
        if *count > 1 {
            push(&mut bytes, *count);
        }
        push(&mut bytes, *length);
        next = u32::from(*place) + 1;
    }
    bytes
}

/// Passes every posting of a stored row to `take`.
pub fn read_postings(bytes: &[u8], mut take: impl FnMut(Posting)) -> Result<(), Stop> {
    let (mut reader, mut next) = (Reader(bytes), 0);
    while !reader.0.is_empty() {
        let head = reader.number()?;
        let place = u8::try_from(next + (head >> 1)).map_err(|_| DAMAGED)?;
        let count = if head & 1 == 1 { reader.number()? } else { 1 };
        let length = reader.number()?;
        // A passage has no more words than bytes.
        if count > length || length as usize > PASSAGE_BYTES_MAX {
            return Err(DAMAGED);
        }
        take(Posting { place, count, length });
        next = u32::from(place) + 1;
    }
    Ok(())
}

/// Serializes the terms of a segment, in order: for each the length shared with the one before, and the rest.
pub fn terms_to_bytes<'t>(terms: impl Iterator<Item = &'t str>) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), "");
    for term in terms {
        let same = term.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
        for length in [same, term.len() - same] {
            push(&mut bytes, u32::try_from(length).expect("a term is short"));
        }
        bytes.extend_from_slice(&term.as_bytes()[same..]);
        before = term;
    }
    bytes
}

/// Parses the terms of a stored row.
pub fn read_terms(bytes: &[u8]) -> Result<Vec<String>, Stop> {
    let (mut reader, mut terms, mut term) = (Reader(bytes), Vec::new(), Vec::new());
    while !reader.0.is_empty() {
        term.truncate(reader.number()? as usize);
        let added = reader.number()? as usize;
        term.extend_from_slice(reader.bytes(added)?);
        terms.push(String::from_utf8(term.clone()).map_err(|_| DAMAGED)?);
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_read_back(
            postings in prop::collection::btree_map(any::<u8>(), (1..=4_000_u32, 1..=4_000_u32), 0..32),
            terms in prop::collection::btree_set("\\PC{0,9}|[ab]{1,9}", 0..40),
            numbers: [u32; 4],
        ) {
            let postings: Vec<Posting> =
                postings.into_iter().map(|(place, (count, length))| Posting { place, count: count.min(length), length }).collect();
            let mut read = Vec::new();
            prop_assert_eq!(read_postings(&postings_to_bytes(&postings), |posting| read.push(posting)), Ok(()));
            prop_assert_eq!(read, postings);
            let stored = terms_to_bytes(terms.iter().map(String::as_str));
            prop_assert_eq!(read_terms(&stored).map(BTreeSet::from_iter), Ok(terms));
            let [segments, passages, words, languages] = numbers;
            let indexed = Indexed { segments, passages, words, languages };
            prop_assert_eq!(Indexed::from_bytes(&indexed.to_bytes()), Ok(indexed));
        }

        #[test]
        fn damage_is_told(bytes: Vec<u8>) {
            let _ = read_postings(&bytes, |posting| assert!(posting.count <= posting.length));
            let _ = read_terms(&bytes);
            let _ = Indexed::from_bytes(&bytes);
        }
    }

    #[test]
    fn rows_of_another_form_are_refused() {
        for bytes in [&[][..], &[2, 0, 0, 0, 0], &[1, 0x80]] {
            assert_eq!(Indexed::from_bytes(bytes), Err(DAMAGED));
        }
        assert_eq!(read_postings(&[0xff; 6], |_| ()), Err(DAMAGED));
        assert_eq!(read_postings(&[0], |_| ()), Err(DAMAGED));
        assert_eq!(read_terms(&[0, 9, b'x']), Err(DAMAGED));
    }
}
