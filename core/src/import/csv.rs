//! CSV parser (RFC 4180): finds the end of a record, and the cells in it. Quotation marks may enclose anything, and are
//! doubled to stand for themselves; a line ends with a carriage return, a line feed or both.

use alloc::vec::Vec;

use csv_core::{ReadRecordResult, Reader};

use super::records::Within;

/// Bytes skipped at a time.
const SKIPPED_BYTES: usize = 4 << 10;

/// Parser for one record after another.
pub struct CsvParser {
    reader: Reader,
    text: Vec<u8>,
    text_bytes: usize,
    ends: Vec<usize>,
    cells: usize,
}

impl Default for CsvParser {
    fn default() -> Self {
        Self { reader: Reader::new(), text: Vec::new(), text_bytes: 0, ends: Vec::new(), cells: 0 }
    }
}

impl CsvParser {
    /// Starts a record, or resumes within one whose cells are not needed.
    pub fn begin(&mut self, within: Option<Within>) {
        self.reader.reset();
        // The library strips a byte order mark from the first bytes it sees, which in the middle of a file is text. An
        // empty line before a record changes nothing.
        self.forget();
        self.feed(b"\n");
        self.feed(within.map_or(b"", |within| match within {
            Within::FieldStart => b"x,",
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
        // The three states treat a quotation mark followed by a comma differently.
        let (mut text, mut ends) = ([0; 4], [0; 4]);
        match self.reader.read_record(b"\",", &mut text, &mut ends) {
            (.., 0) => Within::FieldStart,
            (_, _, 0, _) => Within::Quoted,
            _ => Within::Bare,
        }
    }

    /// Returns the cells of the last complete record, which must be valid UTF-8.
    pub fn cells(&self) -> Vec<&str> {
        let ends = &self.ends[..self.cells];
        let starts = core::iter::once(0).chain(ends.iter().copied());
        let cell = |(from, to): (usize, &usize)| {
            core::str::from_utf8(&self.text[from..*to]).expect("text is cut at ASCII characters only")
        };
        starts.zip(ends).map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
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
        let mut parser = CsvParser::default();
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
    fn where_within_a_record_it_stands() {
        let mut parser = CsvParser::default();
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
