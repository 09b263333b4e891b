//! CSV parser (RFC 4180): finds the end of a record, and the cells in it. Quotation marks may enclose anything, and are
//! doubled to stand for themselves; a line ends with a carriage return, a line feed or both.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::records::{Dialect, Within};
use super::tables::Encoding;

/// Bytes skipped at a time.
const SKIPPED_BYTES: usize = 4 << 10;

/// Parser for one record after another.
pub struct CsvParser {
    dialect: Dialect,
    reader: Reader,
    text: Vec<u8>,
    text_bytes: usize,
    ends: Vec<usize>,
    cells: usize,
}

impl CsvParser {
    /// Creates a parser for files that are written so.
    pub fn new(dialect: Dialect) -> Self {
        let reader = ReaderBuilder::new().delimiter(dialect.separator.byte()).build();
        Self { dialect, reader, text: Vec::new(), text_bytes: 0, ends: Vec::new(), cells: 0 }
    }

    /// Starts a record, or resumes within one whose cells are not needed.
    pub fn begin(&mut self, within: Option<Within>) {
        self.reader.reset();
        // The library strips a byte order mark from the first bytes it sees, which in the middle of a file is text. An
        // empty line before a record changes nothing.
        self.forget();
        self.feed(b"\n");
        let field_start = [b'x', self.dialect.separator.byte()];
        self.feed(within.map_or(b"", |within| match within {
            Within::FieldStart => &field_start,
            Within::Bare => b"x",
            Within::Quoted => b"\"",
        }));
    }

    fn forget(&mut self) {
        (self.text_bytes, self.cells) = (0, 0);
    }

    /// Parses bytes of the record; once it ends, returns how many of them belong to it, its line end included.
    pub fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut fed = 0;
        // The library takes an empty input for the end of the file.
        while fed < bytes.len() {
            // A cell is never longer than its source text.
            let room = self.text_bytes + bytes.len() - fed;
            self.text.resize(self.text.len().max(room), 0);
            self.ends.resize(self.ends.len().max(self.cells + 16), 0);
            let (result, read, wrote, ended) =
                self.reader.read_record(&bytes[fed..], &mut self.text[self.text_bytes..], &mut self.ends[self.cells..]);
            (fed, self.text_bytes, self.cells) = (fed + read, self.text_bytes + wrote, self.cells + ended);
            if result == ReadRecordResult::Record {
                return Some(fed);
            }
        }
        None
    }

    /// Like [`Self::feed`], for a record whose cells are not needed.
    pub fn skip(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut skipped = 0;
        for part in bytes.chunks(SKIPPED_BYTES) {
            self.forget();
            if let Some(read) = self.feed(part) {
                return Some(skipped + read);
            }
            skipped += part.len();
        }
        None
    }

    /// Returns the state within a record, on which alone the rest depends. The record cannot be continued after this
    /// call.
    pub fn within(&mut self) -> Within {
        // The three states treat a quotation mark followed by a separator differently.
        let (mut text, mut ends) = ([0; 4], [0; 4]);
        match self.reader.read_record(&[b'"', self.dialect.separator.byte()], &mut text, &mut ends) {
            (.., 0) => Within::FieldStart,
            (_, _, 0, _) => Within::Quoted,
            _ => Within::Bare,
        }
    }

    /// Returns the cells of the last complete record, which must be text in the file's encoding.
    pub fn cells(&self) -> Vec<Cow<'_, str>> {
        let ends = &self.ends[..self.cells];
        let starts = core::iter::once(0).chain(ends.iter().copied());
        let cell = |(from, to): (usize, &usize)| {
            let bytes = &self.text[from..*to];
            match self.dialect.encoding {
                Encoding::Utf8 => {
                    Cow::Borrowed(core::str::from_utf8(bytes).expect("text is cut at ASCII characters only"))
                }
                Encoding::Latin1 => latin1(bytes),
            }
        };
        starts.zip(ends).map(cell).collect()
    }
}

/// Reads bytes as ISO 8859-1, whose control characters from 0x80 on are the letters and marks that Windows writes there.
fn latin1(bytes: &[u8]) -> Cow<'_, str> {
    const WINDOWS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match core::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => Cow::Owned(
            bytes
                .iter()
                .map(|byte| match byte {
                    0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
                    byte => char::from(*byte),
                })
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::Separator;
    use super::*;

    #[test]
    fn cells_of_a_record() {
        let many: Vec<&str> = alloc::vec!["x"; 100];
        let many_text = many.join(",");
        let cases: [(&str, &[&str]); 10] = [
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            (",", &["", ""]),
            ("\"\"", &[""]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("\"say \"\"hi\"\"\",\"x\r\ny\"", &["say \"hi\"", "x\r\ny"]),
            ("a\"b,\"c\"d", &["a\"b", "cd"]),
            (" a , b", &[" a ", " b"]),
            ("\u{feff}ă,\0", &["\u{feff}ă", "\0"]),
            (&many_text, &many),
        ];
        let mut parser = CsvParser::new(Dialect::default());
        for (record, cells) in cases {
            for piece in [1, 3, 1_000] {
                parser.begin(None);
                let open = record.as_bytes().chunks(piece).all(|bytes| parser.feed(bytes).is_none());
                assert!(open && parser.feed(b"\n") == Some(1), "{record:?}");
                assert_eq!(parser.cells(), cells, "{record:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn cells_are_separated_and_written_as_the_file_has_it() {
        for separator in [Separator::Semicolon, Separator::Tab] {
            let mut parser = CsvParser::new(Dialect { separator, encoding: Encoding::Latin1 });
            parser.begin(None);
            let sign = char::from(separator.byte());
            let mut record = alloc::format!("Ana,B{sign}\"x{sign}y\"{sign}").into_bytes();
            record.extend_from_slice(b"M\xfcller \x80\x9f\n");
            assert!(parser.feed(&record).is_some());
            assert_eq!(parser.cells(), ["Ana,B", &alloc::format!("x{sign}y"), "Müller €Ÿ"]);
        }
    }

    #[test]
    fn where_within_a_record_it_stands() {
        let mut parser = CsvParser::new(Dialect::default());
        for (text, within) in [
            ("a", Within::Bare),
            ("a,", Within::FieldStart),
            ("\"", Within::Quoted),
            ("a,\"b\r\n", Within::Quoted),
            ("\"a\"", Within::FieldStart),
            ("\"a\"\"", Within::Quoted),
            ("\"a\"b", Within::Bare),
            ("a\"", Within::Bare),
        ] {
            parser.begin(None);
            assert_eq!((parser.feed(text.as_bytes()), parser.within()), (None, within), "{text:?}");
            parser.begin(Some(within));
            assert_eq!(parser.within(), within);
        }
    }
}
