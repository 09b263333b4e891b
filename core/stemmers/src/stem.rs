//! Removes inflection: [`stem`], one light stemmer per language.
//!
//! English follows a published algorithm; the others remove endings by table and normalize the rest. A word that has a
//! digit, or is too short to have an ending, is left unchanged.

use alloc::string::String;

use super::endings::{
    DUTCH, DUTCH_LATE, FRENCH, GERMAN, ITALIAN, PORTUGUESE, ROMANIAN, RUSSIAN, SPANISH, SWEDISH, Step,
};
use super::english;
use super::language::IndexLanguage;

/// Fewest letters of a word that may have an ending.
const SHORTEST: usize = 4;

/// Replaces a word in the index's form by its stem.
pub fn stem(language: IndexLanguage, word: &mut String) {
    if language == IndexLanguage::English {
        return english::stem(word);
    }
    if word.bytes().any(|letter| letter.is_ascii_digit()) || word.chars().count() < SHORTEST {
        return;
    }
    match language {
        IndexLanguage::Plain | IndexLanguage::English => {}
        IndexLanguage::German => {
            join_umlauts(word);
            take_off(word, GERMAN);
        }
        IndexLanguage::French => {
            take_off(word, FRENCH);
            undouble(word);
        }
        IndexLanguage::Spanish => take_off(word, SPANISH),
        IndexLanguage::Italian => take_off(word, ITALIAN),
        IndexLanguage::Portuguese => take_off(word, PORTUGUESE),
        IndexLanguage::Dutch => {
            take_off(word, DUTCH);
            settle_dutch(word);
            take_off(word, DUTCH_LATE);
        }
        IndexLanguage::Romanian => {
            take_off(word, ROMANIAN);
            join_diphthongs(word);
        }
        IndexLanguage::Swedish => {
            take_off(word, SWEDISH);
            undouble(word);
        }
        IndexLanguage::Russian => {
            take_off(word, RUSSIAN);
            drop_fleeting_vowel(word);
        }
    }
}

fn take_off(word: &mut String, steps: &[Step]) {
    for step in steps {
        let Some((ending, by)) = find(step, word) else { continue };
        word.truncate(word.len() - ending);
        word.push_str(by);
    }
}

/// Returns the length in bytes of the ending that a step removes, and its replacement.
fn find(step: &Step, word: &str) -> Option<(usize, &'static str)> {
    // Every word of every text passes here: endings are compared as bytes.
    for entry in step.endings.as_bytes().split(|byte| *byte == b' ') {
        let end = entry.iter().position(|byte| *byte == b'>').unwrap_or(entry.len());
        if word.as_bytes().ends_with(&entry[..end]) && word[..word.len() - end].chars().nth(step.least - 1).is_some() {
            let by = entry.get(end + 1..).unwrap_or_default();
            return Some((end, core::str::from_utf8(by).expect("a part of a table of texts")));
        }
    }
    None
}

/// Replaces `ae`, `oe`, `ue` typed for umlauts by the vowel that the index writes; `ue` after a vowel or a `q` is none
/// (`neue`, `quer`).
fn join_umlauts(word: &mut String) {
    if !["ae", "oe", "ue"].iter().any(|pair| word.contains(pair)) {
        return;
    }
    let mut joined = String::with_capacity(word.len());
    let mut before = None;
    for letter in word.chars() {
        let last = joined.chars().last();
        let stands = last == Some('u') && matches!(before, Some('a' | 'e' | 'i' | 'o' | 'u' | 'q'));
        if letter == 'e' && matches!(last, Some('a' | 'o' | 'u')) && !stands {
            continue;
        }
        before = last;
        joined.push(letter);
    }
    *word = joined;
}

/// Closes the vowel that Romanian opens in some forms when stressed: `covor`, `covoare`; `plec`, `pleacă`.
fn join_diphthongs(word: &mut String) {
    if word.contains("oa") || word.contains("ea") {
        *word = word.replace("oa", "o").replace("ea", "e");
    }
}

/// Removes a Russian vowel that occurs before the last consonant in one form only: `замок`, `замка`; `ковёр`, `ковра`.
fn drop_fleeting_vowel(word: &mut String) {
    let mut letters = word.char_indices().rev();
    if let (Some((_, last)), Some((at, 'е' | 'о')), Some((_, before)), Some(_)) =
        (letters.next(), letters.next(), letters.next(), letters.next())
        && ![last, before].iter().any(|letter| "аеиоуыэюяьй".contains(*letter))
    {
        word.remove(at);
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Removes the last of two equal consonants, so that `bell` and `bel` share a stem.
fn undouble(word: &mut String) {
    if let [.., last, end] = word.as_bytes()
        && last == end
        && end.is_ascii_lowercase()
        && !is_vowel(*end)
    {
        word.pop();
    }
}

/// Normalizes what Dutch spelling changes at the end of a stem: `kat(ten)`, `no(ten)` and `noot`, `brie(v)en` and
/// `brief`.
fn settle_dutch(word: &mut String) {
    undouble(word);
    let letters = word.as_bytes();
    if let [.., first, second, last] = *letters
        && first == second
        && matches!(first, b'a' | b'e' | b'o' | b'u')
        && !is_vowel(last)
    {
        word.remove(word.len() - 2);
    }
    let settled = match word.as_bytes().last() {
        Some(b'v') => 'f',
        Some(b'z') => 's',
        _ => return,
    };
    word.pop();
    word.push(settled);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn stems(language: IndexLanguage, text: &str) -> Vec<String> {
        let mut stems = Vec::new();
        tokens::each(text, |word| {
            let mut word = String::from(word);
            stem(language, &mut word);
            stems.push(word);
        });
        stems
    }

    #[test]
    fn forms_of_a_word_meet() {
        for (language, forms) in [
            (IndexLanguage::English, "return returned returning returns"),
            (IndexLanguage::German, "Rechnung Rechnungen rechnen rechnet"),
            (IndexLanguage::German, "Öffnung Öffnungen öffnen oeffnen"),
            (IndexLanguage::French, "réservation réservations réserver réservé réservée"),
            (IndexLanguage::French, "cheval chevaux"),
            (IndexLanguage::Spanish, "cancelación cancelaciones cancelar cancelado canceladas"),
            (IndexLanguage::Spanish, "vez veces"),
            (IndexLanguage::Italian, "prenotazione prenotazioni prenotare prenotato prenotata"),
            (IndexLanguage::Italian, "banca banche"),
            (IndexLanguage::Portuguese, "cartão cartões"),
            (IndexLanguage::Portuguese, "pagamento pagamentos pagar pago"),
            (IndexLanguage::Dutch, "bestelling bestellingen bestellen bestel"),
            (IndexLanguage::Dutch, "huis huizen"),
            (IndexLanguage::Dutch, "apparaat apparaten"),
            (IndexLanguage::Romanian, "rezervare rezervări rezervările rezervarea rezervărilor"),
            (IndexLanguage::Romanian, "student studenți studenților studentului"),
            (IndexLanguage::Swedish, "bokning bokningar bokningen boka bokade"),
            (IndexLanguage::Swedish, "nyckel nycklar nyckeln nycklarna"),
            (IndexLanguage::Russian, "доставка доставки доставкой доставку"),
            (IndexLanguage::Russian, "ковёр ковра ковры коврами"),
        ] {
            let met: BTreeSet<String> = stems(language, forms).into_iter().collect();
            assert_eq!(met.len(), 1, "{forms}: {met:?}");
        }
    }

    #[test]
    fn what_is_short_or_a_number_stays() {
        for language in IndexLanguage::ALL {
            let words = "die lab mit 24ers a1000en";
            assert_eq!(stems(language, words).join(" "), words, "{language:?}");
        }
    }

    #[test]
    fn steps_try_the_longest_ending_first_as_the_index_writes_it() {
        let tables = [GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH, DUTCH_LATE, ROMANIAN, SWEDISH, RUSSIAN];
        for step in tables.into_iter().flatten() {
            let endings: Vec<&str> = step.endings.split(' ').map(|it| it.split('>').next().unwrap_or("")).collect();
            assert!(endings.is_sorted_by_key(|ending| core::cmp::Reverse(ending.chars().count())), "{endings:?}");
            assert_eq!(stems(IndexLanguage::Plain, &endings.join(" ")), endings);
            assert_eq!(endings.iter().collect::<BTreeSet<_>>().len(), endings.len(), "{endings:?}");
        }
    }

    proptest! {
        #[test]
        fn a_stem_is_part_of_its_word_in_length(text in "[a-z]{1,12}( [а-я]{1,12})?|\\PC{1,20}") {
            for language in IndexLanguage::ALL {
                for (stem, word) in stems(language, &text).iter().zip(stems(IndexLanguage::Plain, &text)) {
                    prop_assert!(!stem.is_empty() && stem.len() <= word.len() + 1, "{stem} of {word}");
                }
            }
        }
    }
}
