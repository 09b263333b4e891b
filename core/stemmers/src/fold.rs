//! Letters in the index's form: lower case, without the diacritics that people leave out when they type.
//!
//! What looks alike to a reader becomes the same: `É`, `é`, `e` with a combining mark and a typed `e`; the ligature `ﬁ`
//! of a PDF and `fi`; full-width and plain digits. Marks that no one types (niqqud, harakat) and invisible characters
//! (soft hyphens, joiners, direction marks) are dropped without ending a word.

use alloc::string::String;

/// First and last character of a range, and the replacement for each of them. Sorted, without overlaps.
const PLAIN: &[(char, char, &str)] = &[
    ('\u{ad}', '\u{ad}', ""),
    ('µ', 'µ', "μ"),
    ('ß', 'ß', "ss"),
    ('à', 'å', "a"),
    ('æ', 'æ', "ae"),
    ('ç', 'ç', "c"),
    ('è', 'ë', "e"),
    ('ì', 'ï', "i"),
    ('ð', 'ð', "d"),
    ('ñ', 'ñ', "n"),
    ('ò', 'ö', "o"),
    ('ø', 'ø', "o"),
    ('ù', 'ü', "u"),
    ('ý', 'ý', "y"),
    ('þ', 'þ', "th"),
    ('ÿ', 'ÿ', "y"),
    ('ā', 'ą', "a"),
    ('ć', 'č', "c"),
    ('ď', 'đ', "d"),
    ('ē', 'ě', "e"),
    ('ĝ', 'ģ', "g"),
    ('ĥ', 'ħ', "h"),
    ('ĩ', 'ı', "i"),
    ('ĳ', 'ĳ', "ij"),
    ('ĵ', 'ĵ', "j"),
    ('ķ', 'ĸ', "k"),
    ('ĺ', 'ł', "l"),
    ('ń', 'ŋ', "n"),
    ('ō', 'ő', "o"),
    ('œ', 'œ', "oe"),
    ('ŕ', 'ř', "r"),
    ('ś', 'š', "s"),
    ('ţ', 'ŧ', "t"),
    ('ũ', 'ų', "u"),
    ('ŵ', 'ŵ', "w"),
    ('ŷ', 'ŷ', "y"),
    ('ź', 'ž', "z"),
    ('ſ', 'ſ', "s"),
    ('ơ', 'ơ', "o"),
    ('ư', 'ư', "u"),
    ('ș', 'ș', "s"),
    ('ț', 'ț', "t"),
    ('\u{300}', '\u{36f}', ""),
    ('ΐ', 'ΐ', "ι"),
    ('ά', 'ά', "α"),
    ('έ', 'έ', "ε"),
    ('ή', 'ή', "η"),
    ('ί', 'ί', "ι"),
    ('ΰ', 'ΰ', "υ"),
    ('ς', 'ς', "σ"),
    ('ϊ', 'ϊ', "ι"),
    ('ϋ', 'ϋ', "υ"),
    ('ό', 'ό', "ο"),
    ('ύ', 'ύ', "υ"),
    ('ώ', 'ώ', "ω"),
    ('ё', 'ё', "е"),
    ('\u{591}', '\u{5bd}', ""),
    ('\u{5bf}', '\u{5bf}', ""),
    ('\u{5c1}', '\u{5c2}', ""),
    ('\u{5c7}', '\u{5c7}', ""),
    ('\u{610}', '\u{61a}', ""),
    ('آ', 'أ', "ا"),
    ('إ', 'إ', "ا"),
    ('ة', 'ة', "ه"),
    ('\u{640}', '\u{640}', ""),
    ('ى', 'ى', "ي"),
    ('\u{64b}', '\u{65f}', ""),
    ('\u{670}', '\u{670}', ""),
    ('ک', 'ک', "ك"),
    ('ی', 'ی', "ي"),
    ('ạ', 'ặ', "a"),
    ('ẹ', 'ệ', "e"),
    ('ỉ', 'ị', "i"),
    ('ọ', 'ợ', "o"),
    ('ụ', 'ự', "u"),
    ('ỳ', 'ỹ', "y"),
    ('\u{200b}', '\u{200f}', ""),
    ('\u{202a}', '\u{202e}', ""),
    ('\u{2060}', '\u{2064}', ""),
    ('ﬀ', 'ﬀ', "ff"),
    ('ﬁ', 'ﬁ', "fi"),
    ('ﬂ', 'ﬂ', "fl"),
    ('ﬃ', 'ﬃ', "ffi"),
    ('ﬄ', 'ﬄ', "ffl"),
    ('ﬅ', 'ﬆ', "st"),
    ('\u{feff}', '\u{feff}', ""),
];

/// Distance of full-width letters and digits from the plain ones.
const FULL_WIDTH: u32 = 0xfee0;

fn plain(letter: char) -> Option<&'static str> {
    let at = PLAIN.partition_point(|(_, last, _)| *last < letter);
    PLAIN.get(at).filter(|(first, _, _)| *first <= letter).map(|(_, _, text)| *text)
}

/// Returns whether a character is invisible, or a mark on the one before: it neither ends nor begins a word.
pub fn is_silent(letter: char) -> bool {
    plain(letter) == Some("")
}

/// Appends a letter or digit in the index's form.
pub fn push(out: &mut String, letter: char) {
    if letter.is_ascii() {
        return out.push(letter.to_ascii_lowercase());
    }
    for small in letter.to_lowercase() {
        match plain(small) {
            Some(text) => out.push_str(text),
            None if matches!(small, '０'..='９' | 'ａ'..='ｚ') => {
                out.push(char::from_u32(small as u32 - FULL_WIDTH).expect("a full-width letter has a plain one"));
            }
            None => out.push(small),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(PLAIN.iter().all(|(first, last, _)| first <= last));
        assert!(PLAIN.is_sorted_by(|(_, last, _), (first, _, _)| last < first));
    }

    #[test]
    fn letters_lose_case_and_marks() {
        for (word, want) in [
            ("École", "ecole"),
            ("E\u{301}cole", "ecole"),
            ("GRÖẞE", "grosse"),
            ("Łódź", "lodz"),
            ("ȘTIINȚĂ", "stiinta"),
            ("ştiinţă", "stiinta"),
            ("İstanbul", "istanbul"),
            ("ΟΔΟΣ", "οδοσ"),
            ("ὁδός", "ὁδοσ"),
            ("Ёлка", "елка"),
            ("Việt", "viet"),
            ("ｆｕｌｌ２", "full2"),
            ("ef\u{ad}ﬁcient", "efficient"),
            ("مُحَمَّد", "محمد"),
            ("שָׁלוֹם", "שלום"),
        ] {
            let mut out = String::new();
            word.chars().for_each(|letter| push(&mut out, letter));
            assert_eq!(out, want, "{word}");
        }
    }
}
