//! English stems after M. F. Porter's second algorithm ("Porter2"): removes inflection and derivation in five steps, so
//! that `returned`, `returning` and `returns` share a stem.
//!
//! It works on words in the index's form: lower-case ASCII letters. Any other word is left unchanged.

use alloc::string::String;

/// Words whose stems the steps would get wrong: the algorithm's own list, then common irregular forms.
const IRREGULAR: &str = "skis>ski skies>sky dying>die lying>lie tying>tie idly>idl gently>gentl ugly>ugli \
    early>earli only>onli singly>singl \
    children>child men>man women>woman feet>foot teeth>tooth mice>mous \
    began>begin begun>begin bought>buy broke>break broken>break brought>bring built>build chose>choos \
    chosen>choos driven>drive drove>drive forgot>forget forgotten>forget found>find gave>give given>give \
    held>hold kept>keep lost>lose made>make met>meet paid>pay sent>send sold>sell spent>spend spoke>speak \
    spoken>speak stole>steal stolen>steal taken>take told>tell took>take written>write wrote>write";
/// Words that only look inflected, kept unchanged.
const FIXED: &[&str] = &["sky", "news", "howe", "atlas", "cosmos", "bias", "andes"];
/// Words kept unchanged after a plural's `s` is removed.
const FIXED_SINGULAR: &[&str] = &["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];
/// Prefixes after which the first region starts, although the rule would start it earlier.
const BEGINNINGS: &[&str] = &["gener", "commun", "arsen"];

type Endings = &'static [(&'static str, &'static str)];

/// Endings of step 2 with their replacements, in the first region; longer ones first.
const STEP_2: Endings = &[
    ("ational", "ate"),
    ("fulness", "ful"),
    ("iveness", "ive"),
    ("ization", "ize"),
    ("ousness", "ous"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("tional", "tion"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ation", "ate"),
    ("entli", "ent"),
    ("fulli", "ful"),
    ("iviti", "ive"),
    ("ousli", "ous"),
    ("abli", "able"),
    ("alli", "al"),
    ("anci", "ance"),
    ("ator", "ate"),
    ("enci", "ence"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];
/// Endings of step 3 with their replacements, in the first region.
const STEP_3: Endings = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("ative", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];
/// Endings that step 4 removes, in the second region.
const STEP_4: &[&str] = &[
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize", "ous",
    "al", "er", "ic",
];

/// Replaces a word by its stem.
pub fn stem(word: &mut String) {
    if word.len() < 3 || !word.bytes().all(|letter| letter.is_ascii_lowercase()) || FIXED.contains(&word.as_str()) {
        return;
    }
    if let Some(stem) = irregular(word) {
        word.replace_range(.., stem);
        return;
    }
    let mut word = Word::new(word);
    word.plural();
    if FIXED_SINGULAR.contains(&word.text.as_str()) {
        return;
    }
    word.past();
    word.final_y();
    word.replace(STEP_2);
    word.replace(STEP_3);
    word.residual();
    word.final_e_or_l();
    // A consonant `y` was marked by a capital.
    word.text.make_ascii_lowercase();
}

/// Returns the listed stem of a word that the steps would get wrong.
fn irregular(word: &str) -> Option<&'static str> {
    // Every word of every text passes here: the table is scanned as bytes, without UTF-8 checks.
    let entries = IRREGULAR.as_bytes().split(|byte| *byte == b' ');
    let mut stems = entries.filter_map(|entry| entry.strip_prefix(word.as_bytes())?.strip_prefix(b">"));
    stems.next().map(|stem| core::str::from_utf8(stem).expect("a part of a table of texts"))
}

/// A word with the starts of its two regions.
struct Word<'w> {
    text: &'w mut String,
    first: usize,
    second: usize,
}

impl<'w> Word<'w> {
    fn new(text: &'w mut String) -> Self {
        mark_consonant_y(text);
        let begun = BEGINNINGS.iter().find(|beginning| text.starts_with(**beginning));
        let first = begun.map_or_else(|| region(text, 0), |beginning| beginning.len());
        let second = region(text, first);
        Self { text, first, second }
    }

    fn at(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn is_vowel_at(&self, at: usize) -> bool {
        self.at(at).is_some_and(is_vowel)
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.text.bytes().take(end).any(is_vowel)
    }

    /// Returns where `ending` begins, if the word has it.
    fn ends(&self, ending: &str) -> Option<usize> {
        self.text.strip_suffix(ending).map(str::len)
    }

    /// Step 1a: removes plural endings.
    fn plural(&mut self) {
        if let Some(at) = self.ends("sses") {
            self.text.truncate(at + 2);
        } else if let Some(at) = self.ends("ied").or_else(|| self.ends("ies")) {
            self.text.truncate(if at > 1 { at + 1 } else { at + 2 });
        } else if self.ends("us").is_some() || self.ends("ss").is_some() {
        } else if let Some(at) = self.ends("s").filter(|at| self.has_vowel_before(at.saturating_sub(1))) {
            self.text.truncate(at);
        }
    }

    /// Step 1b: removes past and participle endings.
    fn past(&mut self) {
        if let Some(at) = self.ends("eedly").or_else(|| self.ends("eed")) {
            if at >= self.first {
                self.text.truncate(at + 2);
            }
            return;
        }
        let at = ["ingly", "edly", "ing", "ed"].iter().find_map(|ending| self.ends(ending));
        let Some(at) = at.filter(|at| self.has_vowel_before(*at)) else { return };
        self.text.truncate(at);
        if ["at", "bl", "iz"].iter().any(|ending| self.ends(ending).is_some()) {
            self.text.push('e');
        } else if self.ends_doubled() {
            self.text.pop();
        } else if self.is_short() {
            self.text.push('e');
        }
    }

    /// Step 1c: replaces a final `y`.
    fn final_y(&mut self) {
        if let Some(at) = self.ends("y").or_else(|| self.ends("Y"))
            && at > 1
            && !self.is_vowel_at(at - 1)
        {
            self.text.truncate(at);
            self.text.push('i');
        }
    }

    /// Steps 2 and 3: replace derivational endings.
    fn replace(&mut self, endings: Endings) {
        let found = endings.iter().find_map(|(ending, by)| Some((*ending, *by, self.ends(ending)?)));
        let Some((ending, by, at)) = found.filter(|(_, _, at)| *at >= self.first) else { return };
        let before = at.checked_sub(1).and_then(|at| self.at(at));
        let fits = match ending {
            "ogi" => before == Some(b'l'),
            "li" => before.is_some_and(|letter| b"cdeghkmnrt".contains(&letter)),
            "ative" => at >= self.second,
            _ => true,
        };
        if fits {
            self.text.truncate(at);
            self.text.push_str(by);
        }
    }

    /// Step 4: removes the remaining derivational endings.
    fn residual(&mut self) {
        let found = STEP_4.iter().find_map(|ending| Some((*ending, self.ends(ending)?)));
        let Some((ending, at)) = found.filter(|(_, at)| *at >= self.second) else { return };
        let before = at.checked_sub(1).and_then(|at| self.at(at));
        if ending != "ion" || matches!(before, Some(b's' | b't')) {
            self.text.truncate(at);
        }
    }

    /// Step 5: removes a final `e` or a doubled `l`.
    fn final_e_or_l(&mut self) {
        if let Some(at) = self.ends("e") {
            if at >= self.second || at >= self.first && !self.is_short_syllable_before(at) {
                self.text.truncate(at);
            }
        } else if let Some(at) = self.ends("ll")
            && at + 1 >= self.second
        {
            self.text.pop();
        }
    }

    fn ends_doubled(&self) -> bool {
        ["bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"].iter().any(|pair| self.ends(pair).is_some())
    }

    fn is_short(&self) -> bool {
        self.first >= self.text.len() && self.is_short_syllable_before(self.text.len())
    }

    /// Returns whether a short syllable ends at `end`: one vowel between consonants, or one that begins the word.
    fn is_short_syllable_before(&self, end: usize) -> bool {
        if end == 2 {
            return self.is_vowel_at(0) && !self.is_vowel_at(1);
        }
        end > 2
            && !self.is_vowel_at(end - 3)
            && self.is_vowel_at(end - 2)
            && !self.is_vowel_at(end - 1)
            && !matches!(self.at(end - 1), Some(b'w' | b'x' | b'Y'))
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// Writes each consonant `y` as a capital: at the start of a word, and after a vowel.
fn mark_consonant_y(text: &mut String) {
    let mut marked = String::with_capacity(text.len() + 1);
    for letter in text.chars() {
        let after_vowel = marked.bytes().last().is_none_or(is_vowel);
        marked.push(if letter == 'y' && after_vowel { 'Y' } else { letter });
    }
    *text = marked;
}

/// Returns where the region begins that follows the first consonant after a vowel, searching from `from`.
fn region(text: &str, from: usize) -> usize {
    let letters = &text.as_bytes()[from..];
    let at = letters.windows(2).position(|pair| is_vowel(pair[0]) && !is_vowel(pair[1]));
    at.map_or(text.len(), |at| from + at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_stems() {
        for (word, want) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("ties", "tie"),
            ("gas", "gas"),
            ("gaps", "gap"),
            ("kiwis", "kiwi"),
            ("agreed", "agre"),
            ("feed", "feed"),
            ("luxuriating", "luxuri"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("falling", "fall"),
            ("cry", "cri"),
            ("by", "by"),
            ("say", "say"),
            ("enjoyed", "enjoy"),
            ("youth", "youth"),
            ("rational", "ration"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("generously", "generous"),
            ("generalization", "general"),
            ("communism", "communism"),
            ("sensibility", "sensibl"),
            ("hopefulness", "hope"),
            ("technological", "technolog"),
            ("electricity", "electr"),
            ("adjustable", "adjust"),
            ("replacement", "replac"),
            ("adoption", "adopt"),
            ("probate", "probat"),
            ("rate", "rate"),
            ("controlled", "control"),
            ("consistently", "consist"),
            ("knightly", "knight"),
            ("national", "nation"),
            ("early", "earli"),
            ("news", "news"),
            ("succeeds", "succeed"),
            ("innings", "inning"),
            ("covid19", "covid19"),
            ("как", "как"),
        ] {
            let mut stemmed = String::from(word);
            stem(&mut stemmed);
            assert_eq!(stemmed, want, "{word}");
        }
    }

    #[test]
    fn irregular_forms_meet_their_regular_ones() {
        for (irregular, regular) in [
            ("children", "child"),
            ("mice", "mouse"),
            ("chosen", "choosing"),
            ("drove", "drives"),
            ("forgotten", "forgetting"),
            ("lost", "losing"),
            ("paid", "pays"),
            ("stolen", "stealing"),
            ("took", "taking"),
            ("wrote", "writing"),
        ] {
            let stems = [irregular, regular].map(|word| {
                let mut word = String::from(word);
                stem(&mut word);
                word
            });
            assert_eq!(stems[0], stems[1], "{irregular}");
        }
    }

    #[test]
    fn the_longest_ending_is_found_first() {
        assert!(STEP_2.is_sorted_by_key(|(ending, _)| core::cmp::Reverse(ending.len())));
        assert!(STEP_3.is_sorted_by_key(|(ending, _)| core::cmp::Reverse(ending.len())));
        assert!(STEP_4.is_sorted_by_key(|ending| core::cmp::Reverse(ending.len())));
    }
}
