//! Splits a text into passages, which are what a search finds and shows.
//!
//! A passage has about 800 characters and ends at the end of a paragraph or sentence, if there is one nearby. Passages
//! do not overlap, so that all of them in order are the text.

use switchboard_stemmers::tokens::{is_unspaced, is_word};

use crate::limits::search::PASSAGE_CHARS_MAX;

/// Preferred length of a passage, characters; one of a script without spaces counts as two.
const AIM: usize = 800;
/// Longest heading, characters: a line that short without a full stop at its end stays with what follows.
const HEADING_MAX: usize = 80;
/// Number of characters that a passage may be shorter for the sake of ending at each kind of border.
const PARAGRAPH_WORTH: usize = 500;
const SENTENCE_WORTH: usize = 250;
const LINE_WORTH: usize = 200;
/// Score below which a border is passed over for a cut within a word; a space at this width has it.
const HARD_CUT_WORTH: usize = 300;

/// Iterator over the passages of a text, in order; none is empty.
///
/// A cut depends only on the text behind its beginning, so a text may be split in slices: [`Passages::at`] returns
/// where the next passage begins, and [`Passages::resume`] continues there.
#[derive(Clone, Debug)]
pub struct Passages<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Passages<'t> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Resumes at byte `at`, as returned by [`Self::at`].
    pub fn resume(text: &'t str, at: usize) -> Self {
        Self { text, at: text.floor_char_boundary(at) }
    }

    /// Returns the byte behind the last passage.
    pub fn at(&self) -> usize {
        self.at
    }
}

impl<'t> Iterator for Passages<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let begin = rest.find(|letter: char| !letter.is_whitespace()).unwrap_or(rest.len());
            let end = begin + cut(&rest[begin..]);
            self.at += end;
            // A text without words cannot be found: rows of dashes are no passages.
            if rest[begin..end].contains(is_word) {
                return Some(rest[begin..end].trim_end());
            }
        }
        None
    }
}

/// Returns the length of a text's first passage, bytes: at least one, unless the text is empty.
fn cut(text: &str) -> usize {
    let (mut width, mut best, mut line) = (0, (0, 0), Line::default());
    for (at, letter) in text.char_indices() {
        width += if is_unspaced(letter) { 2 } else { 1 };
        if width > PASSAGE_CHARS_MAX {
            return if best.0 < HARD_CUT_WORTH { at } else { best.1 };
        }
        if let Some(worth) = line.border(letter, &text[at..])
            && width.min(AIM) + worth > best.0
        {
            best = (width.min(AIM) + worth, at + letter.len_utf8());
        }
    }
    text.len()
}

/// State of the line that is being scanned.
#[derive(Default)]
struct Line {
    length: usize,
    /// Whether a sentence ends here: a full stop, and any quotes or brackets behind it.
    stopped: bool,
}

impl Line {
    /// Returns the worth of a cut behind `letter`, the first one of `rest`, or `None` if that is no border.
    fn border(&mut self, letter: char, rest: &str) -> Option<usize> {
        self.length += 1;
        match letter {
            '\n' => {
                let short = core::mem::take(&mut self.length) <= HEADING_MAX;
                let blank = rest[1..].trim_start_matches([' ', '\t', '\r']).starts_with('\n');
                let heading = short && !core::mem::take(&mut self.stopped);
                Some(if blank && !heading {
                    PARAGRAPH_WORTH
                } else if heading {
                    0
                } else {
                    LINE_WORTH
                })
            }
            '。' | '！' | '？' | '।' | '۔' => {
                self.stopped = true;
                Some(SENTENCE_WORTH)
            }
            '.' | '!' | '?' | '…' | '؟' => {
                self.stopped = true;
                None
            }
            '"' | '\'' | ')' | ']' | '»' | '”' | '’' | '\r' => None,
            _ if letter.is_whitespace() => {
                // A blank may follow a stop at the end of a line: the stop still counts for the line.
                Some(if self.stopped { SENTENCE_WORTH } else { 0 })
            }
            _ => {
                self.stopped = false;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn letters(text: &str) -> String {
        text.chars().filter(|letter| is_word(*letter)).collect()
    }

    /// Checks the properties that the passages of every text have.
    fn check(text: &str) {
        let passages: Vec<&str> = Passages::new(text).collect();
        for passage in &passages {
            assert!(passage.contains(is_word));
            assert!(passage.chars().count() <= PASSAGE_CHARS_MAX);
        }
        assert_eq!(letters(&passages.concat()), letters(text));
        let (mut at, mut resumed) = (0, Vec::new());
        loop {
            let mut slice = Passages::resume(text, at);
            let Some(passage) = slice.next() else { break };
            resumed.push(passage);
            at = slice.at();
        }
        assert_eq!(resumed, passages);
    }

    #[test]
    fn a_short_text_is_one_passage() {
        assert_eq!(
            Passages::new(" \n Open from nine.\n\nClosed on Sunday. ").collect::<Vec<_>>(),
            ["Open from nine.\n\nClosed on Sunday."]
        );
        assert_eq!(Passages::new(" \u{200b}\n--- … \0").count(), 0);
    }

    #[test]
    fn cuts_follow_paragraphs_then_sentences_then_words() {
        let sentence = "Every guest gets a key at the desk. ";
        let paragraph = [&sentence.repeat(17), "\n\n"].concat();
        let passages: Vec<_> = Passages::new(&paragraph.repeat(3)).map(str::len).collect();
        assert_eq!(passages, [sentence.len() * 17 - 1; 3], "a paragraph each");
        for passage in Passages::new(&sentence.repeat(100)) {
            assert!(passage.ends_with("desk.") && passage.len() <= 840, "{passage}");
        }
        for passage in Passages::new(&"word ".repeat(1000)) {
            assert!(passage.ends_with("word") && passage.len() <= PASSAGE_CHARS_MAX);
        }
        for passage in Passages::new(&"一二三四五六七八九。".repeat(300)) {
            assert!(passage.ends_with('。') && passage.chars().count() <= PASSAGE_CHARS_MAX / 2);
        }
    }

    #[test]
    fn a_heading_stays_with_its_text() {
        let text = [
            "A sentence of some words. ".repeat(26).as_str(),
            "\n\nOpening hours\n\n",
            &"From nine to six. ".repeat(20),
        ]
        .concat();
        let passages: Vec<_> = Passages::new(&text).collect();
        assert!(passages[1].starts_with("Opening hours\n\nFrom nine"), "{passages:?}");
    }

    #[test]
    fn hostile_texts_are_cut_too() {
        for unit in ["a", " ", "\u{200b}", "\u{202e}א", "𝕒", "\0", "\n", "。", "a\u{301}", "漢", ". ", "a\n\n"] {
            check(&unit.repeat((1 << 20) / unit.len()));
        }
    }

    proptest! {
        #[test]
        fn no_word_is_lost(text in "(\\PC|[a-z .\n\t]{1,400}|[漢字。]{1,90}){0,40}") {
            check(&text);
        }
    }
}
