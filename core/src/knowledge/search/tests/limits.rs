//! Steps stay within their budgets at the largest sizes, whatever the text.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use switchboard_stemmers::tokens::TERM_BYTES_MAX;

use super::{BASE, House};
use crate::key;
use crate::key::Space;
use crate::knowledge::search::stored::Indexed;
use crate::knowledge::search::{Added, IndexLanguage, Passages, add, rank, text};
use crate::limits::search::{PASSAGES_MAX, QUERY_TERMS_MAX, SEGMENT_PASSAGES_MAX, SEGMENTS_MAX};

#[test]
fn a_full_knowledgebase_takes_no_more() {
    for (indexed, passages, want) in [
        (Indexed { segments: 1, passages: PASSAGES_MAX - 2, ..Indexed::default() }, &["a", "b"][..], Added::Stored),
        (Indexed { segments: 1, passages: PASSAGES_MAX - 1, ..Indexed::default() }, &["a", "b"], Added::Full),
        (Indexed { segments: SEGMENTS_MAX - 1, passages: 1, ..Indexed::default() }, &["a"], Added::Stored),
        (Indexed { segments: SEGMENTS_MAX, passages: 1, ..Indexed::default() }, &["a"], Added::Full),
    ] {
        let mut house = House::default();
        house.step(|account| account.put(key::indexed(Space::Account(3), BASE, 1), indexed.to_bytes()));
        let (added, changes) = house.step(|account| add(account, BASE, 2, IndexLanguage::Plain, passages, 0));
        assert_eq!(added, want, "{indexed:?}");
        assert_eq!(changes.is_empty(), want == Added::Full);
    }
}

#[test]
#[should_panic(expected = "a few passages")]
fn a_segment_of_too_many_passages_is_a_bug() {
    House::default().step(|account| add(account, BASE, 1, IndexLanguage::Plain, &["a"; SEGMENT_PASSAGES_MAX + 1], 0));
}

/// Searches every segment of the largest knowledgebase for every term of a query.
#[test]
fn the_largest_search_is_within_budget() {
    let words: Vec<String> = ('a'..='q').map(|letter| format!("b{letter}nningen")).collect();
    let languages = [IndexLanguage::English, IndexLanguage::German, IndexLanguage::Dutch];
    let terms = rank::terms_of(&words.join(" "), &languages);
    assert_eq!(terms.len(), QUERY_TERMS_MAX);
    let passage = terms.join(" ");
    let mut house = House::default();
    for segment in 0..SEGMENTS_MAX {
        // Plain text keeps its words as stems; each of the other languages has one segment.
        let language = languages.get(segment as usize).copied().unwrap_or(IndexLanguage::Plain);
        house.add(segment / 3, language, &[passage.as_str()]);
    }
    assert_eq!(house.search(&words.join(" "), 20).len(), 20);
    let (text, _) = house.step(|account| text(account, BASE, usize::MAX));
    assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), SEGMENTS_MAX as usize);
}

#[test]
fn hostile_texts_are_bounded() {
    let mut letters = 0x4e00_u32;
    let han: String = core::iter::from_fn(|| {
        letters = 0x4e00 + letters.wrapping_mul(1_103_515_245).wrapping_add(12_345) % 0x51a0;
        char::from_u32(letters)
    })
    .take(40_000)
    .collect();
    let singles: String = (0..40_000).filter_map(|n| char::from_u32(0x250 + n % 80)).flat_map(|c| [c, ' ']).collect();
    let texts = ["a", "\u{200b}", "\u{202e}אב ", "𝕒 ", "\0", "a\u{301}", "漢", "ﬃ", "İ", "' ", "1.", "ย์"];
    let repeated = texts.iter().map(|unit| unit.repeat((1 << 20) / unit.len()));
    for hostile in repeated.chain([han, singles]) {
        for language in IndexLanguage::ALL {
            let passages: Vec<&str> = Passages::new(&hostile).take(SEGMENT_PASSAGES_MAX).collect();
            if passages.is_empty() {
                continue;
            }
            let mut house = House::default();
            house.add(1, language, &passages);
            let longest = house.memory.rows().keys().map(Vec::len).max();
            assert!(longest <= Some(TERM_BYTES_MAX + 24), "{longest:?}");
            house.search(&hostile, 20);
        }
        IndexLanguage::of(&hostile);
    }
}
