//! Keys of the search index of knowledgebases.

use core::ops::Range;

use super::{Key, Space, Table, below, key, with};

/// Returns the key of what is searchable of a document; keys sort by knowledgebase and document.
pub fn indexed(space: Space, base: u32, document: u32) -> Key {
    with(key(space, Table::Indexed, 8), &[&base.to_be_bytes(), &document.to_be_bytes()])
}

/// Returns the range of the searchable documents of a knowledgebase.
pub fn indexed_of(space: Space, base: u32) -> Range<Key> {
    below(with(key(space, Table::Indexed, 4), &[&base.to_be_bytes()]))
}

/// Parses the document at the end of an [`indexed`] key.
pub fn read_indexed(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(10..)?.try_into().ok()?))
}

/// Returns the key of a segment of a document's index; keys sort by knowledgebase, document and segment.
pub fn segment(space: Space, base: u32, document: u32, segment: u16) -> Key {
    let parts: [&[u8]; 3] = [&base.to_be_bytes(), &document.to_be_bytes(), &segment.to_be_bytes()];
    with(key(space, Table::Segment, 10), &parts)
}

/// Returns the range of the segments of a document.
pub fn segments(space: Space, base: u32, document: u32) -> Range<Key> {
    below(with(key(space, Table::Segment, 8), &[&base.to_be_bytes(), &document.to_be_bytes()]))
}

/// Parses the segment at the end of a [`segment`] key.
pub fn read_segment(key: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(key.get(14..)?.try_into().ok()?))
}

/// Returns the key of a term's positions in a segment; keys sort by knowledgebase, term, document and segment. No term
/// has a zero byte, so the keys of one term are never a prefix of another's.
pub fn posting(space: Space, base: u32, term: &str, document: u32, segment: u16) -> Key {
    let (base, document, segment) = (base.to_be_bytes(), document.to_be_bytes(), segment.to_be_bytes());
    with(key(space, Table::Posting, term.len() + 11), &[&base, term.as_bytes(), &[0], &document, &segment])
}

/// Returns the range of a term's positions in a knowledgebase.
pub fn postings(space: Space, base: u32, term: &str) -> Range<Key> {
    below(with(key(space, Table::Posting, term.len() + 5), &[&base.to_be_bytes(), term.as_bytes(), &[0]]))
}

/// Parses document and segment at the end of a [`posting`] key.
pub fn read_posting(key: &[u8]) -> Option<(u32, u16)> {
    let (document, segment) = key.get(key.len().checked_sub(6)?..)?.split_at(4);
    Some((u32::from_be_bytes(document.try_into().ok()?), u16::from_be_bytes(segment.try_into().ok()?)))
}

/// Returns the key of the text of a passage; keys sort by knowledgebase, document, segment and place in the segment.
pub fn passage(space: Space, base: u32, document: u32, segment: u16, place: u8) -> Key {
    let (base, document, segment) = (base.to_be_bytes(), document.to_be_bytes(), segment.to_be_bytes());
    with(key(space, Table::Passage, 11), &[&base, &document, &segment, &[place]])
}

/// Returns the range of the passages of a document, in the order of its text.
pub fn passages(space: Space, base: u32, document: u32) -> Range<Key> {
    below(with(key(space, Table::Passage, 8), &[&base.to_be_bytes(), &document.to_be_bytes()]))
}

/// Returns the range of the passages of a segment.
pub fn passages_of(space: Space, base: u32, document: u32, segment: u16) -> Range<Key> {
    let (base, document, segment) = (base.to_be_bytes(), document.to_be_bytes(), segment.to_be_bytes());
    below(with(key(space, Table::Passage, 10), &[&base, &document, &segment]))
}
