//! The cells of one CSV record (RFC 4180): commas, quotation marks that may hold anything, doubled to stand
//! for themselves.

use alloc::vec::Vec;

use csv_core::{ReadRecordResult, Reader};

/// Takes records apart.
pub struct Splitter {
    parser: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Splitter {
    fn default() -> Self {
        Self { parser: Reader::new(), text: Vec::new(), ends: Vec::new() }
    }
}

impl Splitter {
    /// The cells of a record without the end of its line.
    pub fn cells(&mut self, record: &str) -> Vec<&str> {
        // No cell is longer than what it is written with, and every cell but the last ends with a comma.
        self.text.resize(record.len() + 1, 0);
        self.ends.resize(record.bytes().filter(|byte| *byte == b',').count() + 2, 0);
        self.parser.reset();
        // An end of line before the record changes nothing, but that a byte order mark in its front is text.
        self.parser.read_record(b"\n", &mut self.text, &mut self.ends);
        let (mut rest, mut wrote, mut count) = (record.as_bytes(), 0, 0);
        loop {
            let (result, read, text, ends) =
                self.parser.read_record(rest, &mut self.text[wrote..], &mut self.ends[count..]);
            (rest, wrote, count) = (&rest[read..], wrote + text, count + ends);
            // The end of a record is told when there is nothing more to read.
            if result != ReadRecordResult::InputEmpty {
                break;
            }
        }
        let starts = core::iter::once(0).chain(self.ends[..count].iter().copied());
        let cell = |(from, to): (usize, &usize)| {
            core::str::from_utf8(&self.text[from..*to]).expect("text is cut at ASCII characters only")
        };
        starts.zip(&self.ends[..count]).map(cell).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_record() {
        let cases: [(&str, &[&str]); 9] = [
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            (",", &["", ""]),
            ("\"\"", &[""]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("\"say \"\"hi\"\"\",\"x\r\ny\"", &["say \"hi\"", "x\r\ny"]),
            ("a\"b,\"c\"d", &["a\"b", "cd"]),
            (" a , b", &[" a ", " b"]),
            ("\u{feff}ă,\0", &["\u{feff}ă", "\0"]),
        ];
        let mut splitter = Splitter::default();
        for (record, cells) in cases {
            assert_eq!(splitter.cells(record), cells, "{record:?}");
        }
    }
}
