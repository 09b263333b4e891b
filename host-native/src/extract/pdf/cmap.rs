//! `ToUnicode` tables, which map the codes of a font to text (PDF 32000-1, 9.10.3; Adobe Technical Note 5411).
//!
//! Only the mappings are parsed, not the PostScript program around them, so that any writer's framing works. Ranges
//! stay ranges: a short table of very many codes costs nothing.

use std::collections::BTreeMap;

/// Most mappings of one table; further ones are ignored.
const MAPPINGS_MAX: usize = 1 << 18;
/// Most operands before an operator: three for each mapping of the longest list, and their brackets.
const OPERANDS_MAX: usize = 1 << 20;
/// Longest code, bytes.
const CODE_BYTES_MAX: usize = 4;

/// A parsed `ToUnicode` table.
#[derive(Debug, Default)]
pub struct ToUnicodeMap {
    /// Code space ranges: lowest and highest code, of the same length.
    spaces: Vec<(Vec<u8>, Vec<u8>)>,
    /// Mappings by the first code of each range: its last code, and the text of the first in UTF-16.
    ranges: BTreeMap<u32, (u32, Vec<u16>)>,
}

/// Token of a table's syntax.
#[derive(Debug)]
enum Token<'a> {
    Hex(Vec<u8>),
    Open,
    Close,
    Word(&'a [u8]),
}

impl ToUnicodeMap {
    /// Parses a table; invalid parts map nothing.
    pub fn parse(bytes: &[u8]) -> Self {
        let (mut table, mut operands, mut rest) = (Self::default(), Vec::new(), bytes);
        while let Some((token, after)) = next(rest) {
            rest = after;
            match token {
                Token::Word(b"endcodespacerange") => table.spaces(&operands),
                Token::Word(b"endbfchar") => table.chars(&operands),
                Token::Word(b"endbfrange") => table.ranges(&operands),
                Token::Word(_) => {}
                operand if operands.len() < OPERANDS_MAX => {
                    operands.push(operand);
                    continue;
                }
                _ => break,
            }
            operands.clear();
        }
        table
    }

    /// Returns the text of a code.
    pub fn meaning(&self, code: u32) -> Option<String> {
        let (first, (last, units)) = self.ranges.range(..=code).next_back()?;
        let mut units = units.clone();
        // Within a range, the last UTF-16 unit counts up with the code.
        let up = u16::try_from(code - first).ok().filter(|_| code <= *last)?;
        let end = units.last_mut()?;
        *end = end.checked_add(up)?;
        String::from_utf16(&units).ok()
    }

    /// Returns the length of the first code of a string, if a code space range contains it.
    pub fn code_bytes(&self, bytes: &[u8]) -> Option<usize> {
        let within = |(low, high): &&(Vec<u8>, Vec<u8>)| {
            let start = bytes.get(..low.len());
            start.is_some_and(|start| {
                start.iter().zip(low).zip(high).all(|((byte, low), high)| (low..=high).contains(&byte))
            })
        };
        self.spaces.iter().find(within).map(|(low, _)| low.len())
    }

    fn spaces(&mut self, operands: &[Token<'_>]) {
        for pair in operands.as_chunks::<2>().0 {
            if let [Token::Hex(low), Token::Hex(high)] = pair
                && low.len() == high.len()
                && (1..=CODE_BYTES_MAX).contains(&low.len())
            {
                self.spaces.push((low.clone(), high.clone()));
            }
        }
    }

    fn chars(&mut self, operands: &[Token<'_>]) {
        for pair in operands.as_chunks::<2>().0 {
            if let [Token::Hex(from), Token::Hex(to)] = pair
                && let Some(from) = number(from)
            {
                self.map(from, from, to);
            }
        }
    }

    /// Adds ranges, each `first last meaning` or `first last [meaning …]`.
    fn ranges(&mut self, operands: &[Token<'_>]) {
        let mut rest = operands;
        while let [Token::Hex(first), Token::Hex(last), third, after @ ..] = rest {
            rest = after;
            let (first, last) = (number(first), number(last));
            if let Token::Hex(to) = third {
                if let (Some(first), Some(last)) = (first, last) {
                    self.map(first, last, to);
                }
                continue;
            }
            let end = rest.iter().position(|token| matches!(token, Token::Close)).unwrap_or(rest.len());
            for (code, to) in (first.unwrap_or(u32::MAX)..=last.unwrap_or(0)).zip(&rest[..end]) {
                if let Token::Hex(to) = to {
                    self.map(code, code, to);
                }
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }

    fn map(&mut self, first: u32, last: u32, to: &[u8]) {
        let units: Vec<u16> = match to {
            [one] => vec![u16::from(*one)],
            more => more.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect(),
        };
        if self.ranges.len() < MAPPINGS_MAX {
            self.ranges.insert(first, (last, units));
        }
    }
}

fn number(code: &[u8]) -> Option<u32> {
    let fits = (1..=CODE_BYTES_MAX).contains(&code.len());
    fits.then(|| code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// Returns the next token and the bytes after it.
fn next(bytes: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let mut rest = bytes.trim_ascii_start();
    while let [b'%', comment @ ..] = rest {
        let end = comment.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(comment.len());
        rest = comment[end..].trim_ascii_start();
    }
    let is_word = |byte: &u8| !byte.is_ascii_whitespace() && !b"<>[]%".contains(byte);
    Some(match rest {
        [] => return None,
        [b'[', after @ ..] => (Token::Open, after),
        [b']', after @ ..] => (Token::Close, after),
        // Dictionaries belong to the framing.
        [b'<', b'<', after @ ..] | [b'>', after @ ..] => (Token::Word(b""), after),
        [b'<', after @ ..] => {
            let end = after.iter().position(|byte| *byte == b'>').unwrap_or(after.len());
            (Token::Hex(unhex(&after[..end])), after.get(end + 1..).unwrap_or_default())
        }
        word => {
            let end = word.iter().position(|byte| !is_word(byte)).unwrap_or(word.len());
            (Token::Word(&word[..end]), &word[end..])
        }
    })
}

/// Decodes hexadecimal digits; an odd last digit counts as if a zero followed.
fn unhex(digits: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Vec<u8> = digits.iter().filter_map(digit).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_found_in_any_frame() {
        let frame = "%!PS\n/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CIDSystemInfo << /Registry \
            (Adobe) /Supplement 0 >> def\n1 begincodespacerange<00><FF>endcodespacerange 4 beginbfchar\r<01> <0103> % a\n\
            <02><D83DDE00>\n<3> <66 00 69>\n<04> <05> endbfchar 2 beginbfrange <10> <12> <0078> <20> <22> [<0061> <0062>\n\
            <00630064>] endbfrange endcmap";
        let table = ToUnicodeMap::parse(frame.as_bytes());
        for (code, meaning) in [
            (0x01, Some("ă")),
            (0x02, Some("😀")),
            (0x30, Some("\u{6600}")),
            (0x04, Some("\u{5}")),
            (0x10, Some("x")),
            (0x12, Some("z")),
            (0x13, None),
            (0x20, Some("a")),
            (0x22, Some("cd")),
            (0x23, None),
            (0x00, None),
        ] {
            assert_eq!(table.meaning(code).as_deref(), meaning, "{code:x}");
        }
    }

    #[test]
    fn codes_are_as_long_as_their_space() {
        let table = ToUnicodeMap::parse(b"2 begincodespacerange <00> <80> <8140> <9FFC> endcodespacerange");
        for (bytes, length) in
            [(&b"\x41\x42"[..], Some(1)), (b"\x81\x40\x41", Some(2)), (b"\x81\x10", None), (b"\x81", None), (b"", None)]
        {
            assert_eq!(table.code_bytes(bytes), length, "{bytes:?}");
        }
    }

    #[test]
    fn tables_without_sense_map_nothing_and_cost_nothing() {
        for table in [
            "",
            "beginbfrange <00> endbfrange",
            "beginbfrange <01> <00> [<0041>] <02> <03> [",
            "<",
            "beginbfchar <0000000001> <0041> <> <0041> endbfchar",
            "beginbfchar <01> <D800> <02> <> endbfchar",
            "[ ] ] endbfrange endbfchar endcodespacerange",
        ] {
            let table = ToUnicodeMap::parse(table.as_bytes());
            assert!((0..4).all(|code| table.meaning(code).is_none()), "{table:?}");
        }
        let all = ToUnicodeMap::parse(b"beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange");
        assert_eq!((all.meaning(1).as_deref(), all.meaning(u32::MAX)), (Some("B"), None));
    }
}
