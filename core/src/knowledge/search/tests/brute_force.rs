//! A search finds the same as BM25 computed directly over every passage.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{BASE, House};
use crate::knowledge::search::{IndexLanguage, hide, index, rank};

/// Largest difference between scores in fixed point and in floating point.
const NEAR: f64 = 0.002;

#[derive(Clone, Debug)]
struct Document {
    language: IndexLanguage,
    passages: Vec<String>,
    hidden: bool,
}

fn words(most: usize) -> impl Strategy<Value = String> {
    let word = prop::sample::select(&["run", "runs", "running", "die", "Tage", "tag", "cat", "cats", "the", "x1"][..]);
    prop::collection::vec(word, 1..most).prop_map(|words| words.join(" "))
}

fn document() -> impl Strategy<Value = Document> {
    let language = prop::sample::select(&[IndexLanguage::Plain, IndexLanguage::English, IndexLanguage::German][..]);
    (language, prop::collection::vec(words(12), 1..40), prop::bool::weighted(0.2))
        .prop_map(|(language, passages, hidden)| Document { language, passages, hidden })
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("few"))
}

/// Computes every passage's score, by document and place.
fn scores(documents: &[Document], terms: &[String]) -> Vec<(u32, String, f64)> {
    let shown = (1..).zip(documents).filter(|(_, document)| !document.hidden);
    let passages: Vec<_> = shown
        .flat_map(|(number, document)| document.passages.iter().map(move |text| (number, document.language, text)))
        .map(|(number, language, text)| (number, text, index::terms_of(language, text)))
        .collect();
    let (all, length) = (number(passages.len()), passages.iter().map(|(.., (_, length))| f64::from(*length)));
    let average = length.sum::<f64>() / all;
    let having = |term: &String| number(passages.iter().filter(|(.., (counts, _))| counts.contains_key(term)).count());
    let weights: Vec<f64> =
        terms.iter().map(having).map(|having| (1.0 + (all - having + 0.5) / (having + 0.5)).ln()).collect();
    let score =
        |(number, text, (counts, length)): &(u32, &String, (alloc::collections::BTreeMap<String, u32>, u32))| {
            let share = |term| {
                let count = f64::from(counts.get(term).copied().unwrap_or(0));
                count * 2.2 / (count + 1.2 * (0.25 + 0.75 * f64::from(*length) / average))
            };
            (*number, (*text).clone(), terms.iter().zip(&weights).map(|(term, weight)| weight * share(term)).sum())
        };
    passages.iter().map(score).collect()
}

proptest! {
    #[test]
    fn search_is_bm25(
        documents in prop::collection::vec(document(), 1..5),
        query in words(8),
        limit in 0_usize..25,
    ) {
        let mut house = House::default();
        for (number, document) in (1..).zip(&documents) {
            let passages: Vec<&str> = document.passages.iter().map(String::as_str).collect();
            house.add(number, document.language, &passages);
            if document.hidden {
                house.step(|account| hide(account, BASE, number));
            }
        }
        let used = |language: &IndexLanguage| documents.iter().any(|it| !it.hidden && it.language == *language);
        let languages: Vec<IndexLanguage> = IndexLanguage::ALL.into_iter().filter(used).collect();
        let mut want = scores(&documents, &rank::terms_of(&query, &languages));
        want.retain(|(.., score)| *score > 0.0);
        // A stable sort keeps equal ones by document and place.
        want.sort_by(|(.., a), (.., b)| b.total_cmp(a));
        let hits = house.search(&query, limit);
        prop_assert_eq!(hits.len(), want.len().min(limit.min(20)));
        for (hit, (document, text, score)) in hits.iter().zip(&want) {
            let told = f64::from(hit.score) / 10_000.0;
            prop_assert!((told - score).abs() < NEAR, "{told} for {score}");
            // Nearly equal scores may come in either order.
            let alone = want.iter().filter(|(.., other)| (other - score).abs() < NEAR).count() == 1;
            prop_assert!(!alone || (hit.document, &hit.text) == (*document, text));
        }
        prop_assert!(hits.is_sorted_by(|a, b| a.score > b.score || a.score == b.score && a.document <= b.document));
    }
}

#[test]
fn equal_scores_go_by_document_and_place() {
    let mut house = House::default();
    for document in [9, 2, 5] {
        house.add(document, IndexLanguage::Plain, &["open one", "open two", "closed"]);
    }
    let hits = house.search("open", 5);
    let want = [(2, "open one"), (2, "open two"), (5, "open one"), (5, "open two"), (9, "open one")];
    assert_eq!(super::seen(&hits), want);
}

#[test]
fn a_word_that_every_passage_has_still_finds_them() {
    let mut house = House::default();
    house.add(1, IndexLanguage::Plain, &vec!["acme"; 2_000]);
    assert_eq!(house.search("acme", 20).len(), 20);
}
