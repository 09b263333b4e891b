//! Benefit of stemming: questions whose words are inflected differently from their answers.
//!
//! The stemmers' `pairs/` has 48 questions and answers for each language, as callers of a hotel, a shop or a clinic
//! might ask. The floors here are below the measured values, so that a loss of recall is noticed.

use alloc::format;
use alloc::vec::Vec;

use super::House;
use crate::knowledge::search::IndexLanguage;

/// A language, the beginning of callers' questions in it, and its questions and answers.
const PAIRS: [(IndexLanguage, &str, &str); 10] = [
    (
        IndexLanguage::English,
        "can you tell me what I have to do for the",
        include_str!("../../../../stemmers/pairs/en.txt"),
    ),
    (
        IndexLanguage::German,
        "können Sie mir sagen, wie das bei Ihnen ist mit dem",
        include_str!("../../../../stemmers/pairs/de.txt"),
    ),
    (
        IndexLanguage::French,
        "est-ce que vous pouvez me dire comment je fais pour",
        include_str!("../../../../stemmers/pairs/fr.txt"),
    ),
    (IndexLanguage::Spanish, "me puede decir cómo es con la", include_str!("../../../../stemmers/pairs/es.txt")),
    (IndexLanguage::Italian, "mi può dire come si fa per la", include_str!("../../../../stemmers/pairs/it.txt")),
    (
        IndexLanguage::Portuguese,
        "pode me dizer como é que se faz para a",
        include_str!("../../../../stemmers/pairs/pt.txt"),
    ),
    (IndexLanguage::Dutch, "kunt u mij zeggen hoe het is met de", include_str!("../../../../stemmers/pairs/nl.txt")),
    (IndexLanguage::Romanian, "puteți să îmi spuneți cum este cu", include_str!("../../../../stemmers/pairs/ro.txt")),
    (IndexLanguage::Swedish, "kan du säga mig hur det är med", include_str!("../../../../stemmers/pairs/sv.txt")),
    (
        IndexLanguage::Russian,
        "вы можете мне сказать, как у вас это есть с",
        include_str!("../../../../stemmers/pairs/ru.txt"),
    ),
];
/// Pairs for each language.
const COUNT: usize = 48;

type Pairs<'t> = Vec<(&'t str, &'t str)>;

fn pairs(text: &str) -> Pairs<'_> {
    let pairs: Pairs<'_> = text.lines().map(|line| line.split_once(" | ").expect("question and answer")).collect();
    assert_eq!(pairs.len(), COUNT);
    pairs
}

fn house(pairs: &Pairs<'_>, language: IndexLanguage) -> House {
    let mut house = House::default();
    house.add(language as u32, language, &pairs.iter().map(|(_, answer)| *answer).collect::<Vec<_>>());
    house
}

/// Returns how many answers are the first hit, and how many are among the first five.
fn recall(house: &mut House, pairs: &Pairs<'_>, begin: &str) -> (usize, usize) {
    let places = pairs.iter().filter_map(|(question, answer)| {
        let hits = house.search(&format!("{begin} {question}"), 5);
        hits.iter().position(|hit| hit.text == *answer)
    });
    let places: Vec<usize> = places.collect();
    (places.iter().filter(|place| **place == 0).count(), places.len())
}

#[test]
fn stems_find_what_words_miss() {
    for (language, begin, text) in PAIRS {
        let pairs = pairs(text);
        let (_, plain) = recall(&mut house(&pairs, IndexLanguage::Plain), &pairs, "");
        let (first, five) = recall(&mut house(&pairs, language), &pairs, "");
        let (spoken, spoken_five) = recall(&mut house(&pairs, language), &pairs, begin);
        std::println!("{language:?}: words {plain}, stems {five} ({first} first), spoken {spoken_five} ({spoken})");
        assert!(plain * 2 < COUNT && five * 100 >= COUNT * 95, "{language:?}: {plain}, {five}");
        assert!(first * 100 >= COUNT * 85 && spoken_five * 100 >= COUNT * 95, "{language:?}: {first}, {spoken_five}");
    }
}

#[test]
fn words_as_they_stand_are_found_as_well_as_before() {
    for (language, _, text) in PAIRS {
        let mut pairs = pairs(text);
        let questions: Vec<_> = pairs
            .iter()
            .map(|(_, answer)| {
                let mut words: Vec<&str> = answer.split(|letter: char| !letter.is_alphanumeric()).collect();
                words.sort_by_key(|word| core::cmp::Reverse(word.len()));
                words[..2].join(" ")
            })
            .collect();
        pairs.iter_mut().zip(&questions).for_each(|(pair, question)| pair.0 = question);
        let (plain, _) = recall(&mut house(&pairs, IndexLanguage::Plain), &pairs, "");
        let (first, _) = recall(&mut house(&pairs, language), &pairs, "");
        std::println!("{language:?}: words {plain}, stems {first}");
        assert!(first + 2 >= plain, "{language:?}: {plain}, {first}");
    }
}

#[test]
fn languages_share_a_knowledgebase() {
    let mut house = House::default();
    for (language, _, text) in PAIRS {
        house.add(language as u32, language, &pairs(text).iter().map(|(_, answer)| *answer).collect::<Vec<_>>());
    }
    for (language, begin, text) in PAIRS {
        let (first, five) = recall(&mut house, &pairs(text), begin);
        std::println!("{language:?}: {five} ({first})");
        assert!(five * 100 >= COUNT * 85, "{language:?}: {five}");
    }
}

#[test]
fn languages_are_told() {
    for (language, begin, text) in PAIRS {
        assert_eq!(IndexLanguage::of(text), language);
        assert_eq!(IndexLanguage::of(begin), language);
        let told: Vec<IndexLanguage> = pairs(text).iter().map(|(_, answer)| IndexLanguage::of(answer)).collect();
        let right = told.iter().filter(|told| **told == language).count();
        std::println!("{language:?}: {right} of {COUNT} single answers");
        assert!(told.iter().all(|told| [language, IndexLanguage::Plain].contains(told)), "{language:?}: {told:?}");
        assert!(right * 3 >= COUNT * 2, "{language:?}: {right}");
    }
}
