//! [`Prose`]: builds normalised text, whatever format it was read from.

use switchboard_core::limits::TEXT_BYTES_MAX;

/// Most characters of a title; the rest is cut.
const TITLE_CHARS_MAX: usize = 255;

/// Text being built: no control characters, no spaces at the ends of lines or two in a row, and never two blank lines
/// together.
#[derive(Default)]
pub struct Prose {
    text: String,
    /// Separation to write before the next character.
    gap: Gap,
    /// Whether the last character was a carriage return: a line feed after it belongs to the same line end.
    returned: bool,
}

/// Error for more text than `TEXT_BYTES_MAX`.
#[derive(Debug)]
pub struct TextTooLong;

impl From<TextTooLong> for String {
    fn from(_: TextTooLong) -> Self {
        format!("There is more than {} MB of text.", TEXT_BYTES_MAX / 1_000_000)
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    Nothing,
    Space,
    Line,
    Blank,
}

impl Prose {
    /// Appends text and keeps its line ends.
    pub fn push(&mut self, text: &str) -> Result<(), TextTooLong> {
        text.chars().try_for_each(|c| self.push_char(c))
    }

    /// Appends text in which line ends are spaces.
    pub fn push_flowing(&mut self, text: &str) -> Result<(), TextTooLong> {
        text.chars().try_for_each(|c| self.push_char(if c.is_whitespace() { ' ' } else { c }))
    }

    /// Separates the next text by a space at least.
    pub fn space(&mut self) {
        self.gap = self.gap.max(Gap::Space);
    }

    /// Starts a new line before the next text.
    pub fn line(&mut self) {
        self.gap = self.gap.max(Gap::Line);
    }

    /// Starts a new paragraph, after a blank line.
    pub fn paragraph(&mut self) {
        self.gap = Gap::Blank;
    }

    /// Ends a line; the second in a row makes a blank line.
    pub fn line_end(&mut self) {
        self.gap = if self.gap < Gap::Line { Gap::Line } else { Gap::Blank };
    }

    /// Returns the text, without white space at its end.
    pub fn finish(self) -> String {
        self.text
    }

    fn push_char(&mut self, c: char) -> Result<(), TextTooLong> {
        let returned = std::mem::replace(&mut self.returned, c == '\r');
        match c {
            '\n' if returned => {}
            '\n' | '\r' | '\u{b}' | '\u{85}' | '\u{2028}' => self.line_end(),
            '\u{c}' | '\u{2029}' => self.paragraph(),
            c if c.is_whitespace() => self.space(),
            // Soft hyphen, zero-width space, word joiner, byte order mark: invisible, so dropped.
            '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => {}
            c if c.is_control() => {}
            '\u{fb00}'..='\u{fb06}' => return self.write(ligature(c)),
            c => return self.write(c.encode_utf8(&mut [0; 4])),
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), TextTooLong> {
        let gap = match std::mem::take(&mut self.gap) {
            _ if self.text.is_empty() => "",
            Gap::Nothing => "",
            Gap::Space => " ",
            Gap::Line => "\n",
            Gap::Blank => "\n\n",
        };
        if self.text.len() + gap.len() + text.len() > TEXT_BYTES_MAX {
            return Err(TextTooLong);
        }
        self.text.push_str(gap);
        self.text.push_str(text);
        Ok(())
    }
}

/// Returns the letters of a typographic ligature, so that the text can be searched.
fn ligature(c: char) -> &'static str {
    match c {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        _ => "st",
    }
}

/// Normalises a title to one line of at most `TITLE_CHARS_MAX` characters; `None` if it is empty.
pub fn title(text: &str) -> Option<String> {
    let mut prose = Prose::default();
    // A title over the text limit is cut like any other.
    let _ = prose.push_flowing(text);
    let title: String = prose.finish().chars().take(TITLE_CHARS_MAX).collect();
    Some(title.trim_end().to_owned()).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        let mut prose = Prose::default();
        prose.push(text).expect("little text");
        prose.finish()
    }

    #[test]
    fn whitespace_is_normal() {
        for (text, expected) in [
            ("", ""),
            (" \n\n a \n", "a"),
            ("a  b\tc\u{a0}d", "a b c d"),
            ("a \n b", "a\nb"),
            ("a\r\nb\rc\n\rd", "a\nb\nc\n\nd"),
            ("a\n\n\n\n b", "a\n\nb"),
            ("a\r\n\r\n\r\nb", "a\n\nb"),
            ("a\u{c}b\u{2028}c\u{2029}d", "a\n\nb\nc\n\nd"),
            ("a\0b\u{1b}\u{7f}c\u{9f}", "abc"),
            ("\u{feff}so\u{ad}ft\u{200b}ly", "softly"),
            ("o\u{fb03}ce \u{fb01}nd", "office find"),
        ] {
            assert_eq!(kept(text), expected, "{text:?}");
        }
    }

    #[test]
    fn gaps_never_shrink() {
        let mut prose = Prose::default();
        for (gap, text) in [
            (Prose::space as fn(&mut Prose), "a"),
            (Prose::space, "b"),
            (Prose::line, "c"),
            (Prose::paragraph, "d"),
            (
                |prose| {
                    prose.paragraph();
                    prose.line();
                    prose.space();
                },
                "e",
            ),
        ] {
            gap(&mut prose);
            prose.push(text).expect("little text");
        }
        assert_eq!(prose.finish(), "a b\nc\n\nd\n\ne");
    }

    #[test]
    fn there_is_a_bound() {
        let mut prose = Prose::default();
        let most = "x".repeat(TEXT_BYTES_MAX);
        prose.push(&most).expect("as much as is kept");
        assert!(prose.push(" \n").is_ok(), "white space at the end is not kept");
        assert!(prose.push("y").is_err());
        assert_eq!(prose.finish().len(), TEXT_BYTES_MAX);
    }

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(title(" A \n title\u{7} "), Some("A title".into()));
        assert_eq!(title(" \n"), None);
        assert_eq!(title(&"ä".repeat(300)).expect("a title").chars().count(), TITLE_CHARS_MAX);
    }
}
