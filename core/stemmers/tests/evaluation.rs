//! Measures what stemming is worth: questions whose words are inflected differently in their answers, found by the
//! unstemmed words, by the stems of this crate, and by those of Snowball.
//!
//! `pairs/` has 48 questions and answers per language, as callers of a hotel, a shop or a clinic might ask. An answer
//! is found when it is among the first five of its language by BM25. The floors are below what was measured, so that a
//! loss of recall fails the test. `cargo test -p switchboard-stemmers --test evaluation -- --nocapture` prints all.

use std::collections::BTreeMap;

use rust_stemmers::{Algorithm, Stemmer};
use switchboard_stemmers::{IndexLanguage, stem, tokens};

const PAIRS: [(IndexLanguage, Algorithm, &str); 10] = [
    (IndexLanguage::English, Algorithm::English, include_str!("../pairs/en.txt")),
    (IndexLanguage::German, Algorithm::German, include_str!("../pairs/de.txt")),
    (IndexLanguage::French, Algorithm::French, include_str!("../pairs/fr.txt")),
    (IndexLanguage::Spanish, Algorithm::Spanish, include_str!("../pairs/es.txt")),
    (IndexLanguage::Italian, Algorithm::Italian, include_str!("../pairs/it.txt")),
    (IndexLanguage::Portuguese, Algorithm::Portuguese, include_str!("../pairs/pt.txt")),
    (IndexLanguage::Dutch, Algorithm::Dutch, include_str!("../pairs/nl.txt")),
    (IndexLanguage::Romanian, Algorithm::Romanian, include_str!("../pairs/ro.txt")),
    (IndexLanguage::Swedish, Algorithm::Swedish, include_str!("../pairs/sv.txt")),
    (IndexLanguage::Russian, Algorithm::Russian, include_str!("../pairs/ru.txt")),
];
/// Pairs in each language's file.
const COUNT: usize = 48;
/// The usual parameters of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// A text as the count of each of its terms.
type Terms = BTreeMap<String, f64>;

/// Splits a text into words, in lower case.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    lower.split(|letter| !tokens::is_word(letter)).filter(|word| !word.is_empty()).map(String::from).collect()
}

/// Folds a word as an index does: without diacritics. Snowball stems first, since its rules need the accents.
fn folded(word: &str) -> String {
    let mut folded = String::new();
    tokens::each(word, |part| folded.push_str(part));
    folded
}

fn terms(text: &str, become_term: impl Fn(&str) -> String) -> Terms {
    let mut terms = Terms::new();
    words(text).iter().for_each(|word| *terms.entry(become_term(word)).or_default() += 1.0);
    terms
}

/// Returns how many questions find their answer among the first five.
fn recall(pairs: &[(&str, &str)], language: IndexLanguage, become_term: impl Fn(&str) -> String + Copy) -> usize {
    let answers: Vec<Terms> = pairs.iter().map(|(_, answer)| terms(answer, become_term)).collect();
    let found = pairs.iter().enumerate().filter(|(own, (question, _))| {
        let asked = words(question).into_iter().filter(|word| !language.is_function_word(&folded(word)));
        let query: Vec<String> = asked.map(|word| become_term(&word)).collect();
        let scores: Vec<f64> = answers.iter().map(|answer| score(&answers, answer, &query)).collect();
        let better = scores.iter().filter(|score| **score >= scores[*own]).count();
        scores[*own] > 0.0 && better <= 5
    });
    found.count()
}

#[expect(clippy::cast_precision_loss, reason = "there are 48")]
fn score(answers: &[Terms], answer: &Terms, query: &[String]) -> f64 {
    let length = |terms: &Terms| terms.values().sum::<f64>();
    let count = answers.len() as f64;
    let average = answers.iter().map(length).sum::<f64>() / count;
    let one = |term: &String| {
        let times = answer.get(term)?;
        let holders = answers.iter().filter(|answer| answer.contains_key(term)).count() as f64;
        let rarity = (1.0 + (count - holders + 0.5) / (holders + 0.5)).ln();
        Some(rarity * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length(answer) / average)))
    };
    query.iter().filter_map(one).sum()
}

#[test]
fn stems_find_what_words_miss() {
    let mut totals = [0; 3];
    for (language, algorithm, text) in PAIRS {
        let pairs: Vec<(&str, &str)> =
            text.lines().map(|line| line.split_once(" | ").expect("question and answer")).collect();
        assert_eq!(pairs.len(), COUNT);
        let own = |word: &str| {
            let mut word = folded(word);
            stem(language, &mut word);
            word
        };
        let snowball = Stemmer::create(algorithm);
        let found = [
            recall(&pairs, language, folded),
            recall(&pairs, language, own),
            recall(&pairs, language, |word| folded(&snowball.stem(word))),
        ];
        let [words, stems, snowballs] = found;
        println!("{language:?}: words {words}, stems {stems}, Snowball {snowballs} of {COUNT}");
        totals.iter_mut().zip(found).for_each(|(total, found)| *total += found);
        assert!(words * 2 < COUNT && stems * 100 >= COUNT * 95 && stems >= snowballs, "{language:?}: {found:?}");
    }
    println!("all: words {}, stems {}, Snowball {} of {}", totals[0], totals[1], totals[2], COUNT * PAIRS.len());
}
