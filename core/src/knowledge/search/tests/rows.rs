//! Rows that the index leaves in the store, and rows that it does not.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{BASE, House, seen};
use crate::knowledge::search::{IndexLanguage, count, drop_slice, hide, text};
use crate::limits::search::{SEGMENT_PASSAGES_MAX, SLICE_TERMS};

impl House {
    /// Drops a document slice by slice; returns the number of slices.
    fn drop(&mut self, document: u32) -> usize {
        let mut slices = 0;
        loop {
            let (done, changes) = self.step(|account| drop_slice(account, BASE, document));
            slices += 1;
            assert!(changes.len() <= SLICE_TERMS + SEGMENT_PASSAGES_MAX + 2, "{}", changes.len());
            if done {
                return slices;
            }
        }
    }
}

#[test]
fn a_hidden_document_is_gone_at_once_and_its_rows_soon() {
    let mut house = House::default();
    house.add(1, IndexLanguage::English, &["We open at nine.", "Dogs are welcome."]);
    let before = house.clone();
    let many: Vec<String> = (0..70_u32).map(|n| format!("Opening {n} of {} dogs", n * n)).collect();
    house.add(2, IndexLanguage::English, &many.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(house.search("opened", 20).len(), 20);
    assert_eq!(house.step(|account| count(account, BASE)).0, 72);

    let ((), changes) = house.step(|account| hide(account, BASE, 2));
    assert_eq!(changes.len(), 1);
    assert_eq!(seen(&house.search("opened", 20)), [(1, "We open at nine.")]);
    assert_eq!(house.step(|account| count(account, BASE)).0, 2);
    let while_hidden = house.search("dogs", 5);

    assert_eq!(house.drop(2), 3, "a slice a segment");
    assert_eq!(house, before);
    assert_eq!(house.search("dogs", 5), while_hidden);
    assert_eq!(house.drop(2), 1, "nothing is left to do");
    assert_eq!(house, before);
}

#[test]
fn a_segment_of_many_terms_goes_in_slices() {
    let mut house = House::default();
    let words: Vec<String> = (0..SEGMENT_PASSAGES_MAX)
        .map(|passage| (0..80).map(|word| format!("{passage}x{word}")).collect::<Vec<_>>().join(" "))
        .collect();
    house.add(4, IndexLanguage::Plain, &words.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(house.drop(4), (SEGMENT_PASSAGES_MAX * 80).div_ceil(SLICE_TERMS));
    assert_eq!(house, House::default());
}

#[test]
fn a_segment_is_found_once_all_its_terms_are_written() {
    let words: Vec<String> = (0..3_000).map(|word| format!("w{word:04}")).collect();
    let passages: Vec<String> = words.chunks(100).map(|words| words.join(" ")).collect();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    for earlier in [false, true] {
        let mut house = House::default();
        if earlier {
            house.add(1, IndexLanguage::Plain, &["w0000 and more"]);
        }
        // The places of the second document begin where those of the first end.
        house.add(2, IndexLanguage::Plain, &["w0000 besides"]);
        let before = house.clone();
        let (found, counted) = (house.search("w0000", 20), house.step(|account| count(account, BASE)).0);
        let (mut written, mut slices) = (0, 1);
        while let Some(more) = house.add_slice(1, IndexLanguage::Plain, &passages, written) {
            assert_eq!(house.search("w0000", 20), found);
            assert_eq!(house.step(|account| count(account, BASE)).0, counted);
            let mut gone = house.clone();
            gone.drop(1);
            assert!(earlier || gone == before, "what was dropped half written leaves nothing");
            gone.add(2, IndexLanguage::Plain, &["w0001"]);
            assert_eq!(gone.search("w0001", 20).len(), 1);
            (written, slices) = (more, slices + 1);
        }
        assert_eq!(slices, words.len().div_ceil(SLICE_TERMS));
        assert_eq!(house.search("w0000", 20).len(), found.len() + 1);
        assert_eq!(house.search("w2999", 20).len(), 1);
        if !earlier {
            house.drop(1);
            assert_eq!(house, before);
        }
    }
}

#[test]
fn other_knowledgebases_and_longer_words_are_apart() {
    let mut house = House::default();
    house.add(1, IndexLanguage::Plain, &["car"]);
    house.add(2, IndexLanguage::Plain, &["cart"]);
    let (hits, _) = house.step(|account| super::search(account, BASE + 1, "car", 5));
    assert_eq!(hits, []);
    assert_eq!(seen(&house.search("car", 5)), [(1, "car")]);
    assert_eq!(house.search("", 5), []);
    assert_eq!(house.search("ca", 5), []);
    assert_eq!(house.search("car", 0), []);
}

#[test]
fn a_prompt_gets_the_texts_in_order() {
    let mut house = House::default();
    let many: Vec<String> = (0..100_u32).map(|n| format!("größer {n}")).collect();
    house.add(5, IndexLanguage::Plain, &["last"]);
    house.add(2, IndexLanguage::Plain, &many.iter().map(String::as_str).collect::<Vec<_>>());
    let whole = [many.join("\n").as_str(), "last"].join("\n\n");
    for most in [0, 1, 3, 4, 500, whole.len() - 1, whole.len(), usize::MAX] {
        let (text, _) = house.step(|account| text(account, BASE, most));
        assert_eq!(text, whole[..whole.floor_char_boundary(most)]);
    }
}

proptest! {
    #[test]
    fn any_words_leave_no_row_behind(
        documents in prop::collection::vec(prop::collection::vec("\\PC{1,30}|[a-c ]{1,60}", 1..40), 1..4),
    ) {
        let mut house = House::default();
        for (number, passages) in (1..).zip(&documents) {
            house.add(number, IndexLanguage::ALL[number as usize], &passages.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for (number, passages) in (1..).zip(&documents) {
            house.search(&passages[0], 5);
            house.drop(number);
        }
        prop_assert_eq!(house, House::default());
    }
}
