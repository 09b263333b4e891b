//! Splits text into words: for an index and for its queries, so that both see the same.
//!
//! A word is a run of letters and digits, in lower case and without diacritics. Scripts without spaces have no such
//! runs: there every pair of neighbouring characters is a word, and so is a single character on its own.

use alloc::string::String;

use super::fold;

/// Longest word, bytes; the rest of a longer one is dropped.
pub const TERM_BYTES_MAX: usize = 64;

/// Returns whether a character belongs to a script that is written without spaces, or whose words rarely appear without
/// suffixes (Korean): Thai, Lao, Burmese, Khmer, kana, Han, Hangul.
pub fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ecf}' | '\u{1000}'..='\u{103f}'
        | '\u{1780}'..='\u{17d3}' | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether a character is part of a word: a letter, a digit, or the virama that joins letters in Indic scripts.
pub fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || (('\u{900}'..'\u{e00}').contains(&letter) && letter as u32 & 0x7f == 0x4d)
}

/// Calls `take` with every word of a text, in order. A word has at most [`TERM_BYTES_MAX`] bytes and no zero byte.
pub fn each(text: &str, mut take: impl FnMut(&str)) {
    let (mut word, mut run) = (String::new(), Run::default());
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            run.end(&mut take);
            push(&mut word, letter);
        } else if is_unspaced(letter) {
            end(&mut word, &mut take);
            run.next(letter, &mut take);
        } else if is_word(letter) {
            run.end(&mut take);
            push(&mut word, letter);
        } else if !fold::is_silent(letter) {
            run.end(&mut take);
            end(&mut word, &mut take);
        }
    }
    run.end(&mut take);
    end(&mut word, &mut take);
}

fn push(word: &mut String, letter: char) {
    let length = word.len();
    if length < TERM_BYTES_MAX {
        fold::push(word, letter);
    }
    if word.len() > TERM_BYTES_MAX {
        word.truncate(length);
    }
}

fn end(word: &mut String, take: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        take(word);
        word.clear();
    }
}

/// The current run of characters of a script without spaces.
#[derive(Default)]
struct Run {
    last: Option<char>,
    paired: bool,
}

impl Run {
    fn next(&mut self, letter: char, take: &mut impl FnMut(&str)) {
        if let Some(last) = self.last {
            let mut pair = [0; 8];
            let first = last.encode_utf8(&mut pair).len();
            let length = first + letter.encode_utf8(&mut pair[first..]).len();
            take(core::str::from_utf8(&pair[..length]).expect("two characters are valid UTF-8"));
            self.paired = true;
        }
        self.last = Some(letter);
    }

    fn end(&mut self, take: &mut impl FnMut(&str)) {
        if let Some(last) = self.last.take().filter(|_| !self.paired) {
            take(last.encode_utf8(&mut [0; 4]));
        }
        self.paired = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each(text, |word| words.push(word.to_string()));
        words
    }

    #[test]
    fn texts_as_words() {
        for (text, want) in [
            ("The customer's 24/7 line: +40 700-001!", "the customer s 24 7 line 40 700 001"),
            ("support@acme.example", "support acme example"),
            ("zero\u{200b}width so\u{ad}ft", "zerowidth soft"),
            ("हिन्दी", "हिन्दी"),
            ("東京都に", "東京 京都 都に"),
            ("火 is fire", "火 is fire"),
            ("iPhone充電", "iphone 充電"),
            ("ไทย", "ไท ทย"),
            ("한국어 말", "한국 국어 말"),
            ("\0 \u{202e}--- \u{200b}", ""),
        ] {
            assert_eq!(words(text).join(" "), want, "{text:?}");
        }
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(words(&"a".repeat(1 << 20)), ["a".repeat(TERM_BYTES_MAX)]);
        assert_eq!(words(&"ხ".repeat(99)), ["ხ".repeat(TERM_BYTES_MAX / 3)]);
    }

    proptest! {
        #[test]
        fn words_are_bounded_and_stay_what_they_are(text in "\\PC*|[a-zß-ſ ɐİẞ]{0,80}") {
            for word in words(&text) {
                prop_assert!(!word.is_empty() && word.len() <= TERM_BYTES_MAX && !word.contains('\0'));
            }
            let once = words(&text).join(" ");
            let spaced = !text.chars().any(is_unspaced);
            prop_assert!(!spaced || words(&once).join(" ") == once, "{once}");
        }
    }
}
