//! Reader of a file's records ([`Records`]), which yields each with the line on which it starts.
//!
//! An import reads a window of its file at a time and stops before a record that is incomplete in it; the next window
//! starts there. Only a record that exceeds the limit is skipped across several windows.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::csv::CsvParser;
use super::tables::{Encoding, Separator};
use crate::limits::IMPORT_RECORD_BYTES_MAX;

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// CSV (RFC 4180): a record ends at a line end outside quotation marks.
    Csv,
    /// One JSON record on each line; blank lines are skipped.
    Lines,
}

/// How a CSV file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// What separates the cells of a record.
    pub separator: Separator,
    /// How its characters are written.
    pub encoding: Encoding,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { separator: Separator::Comma, encoding: Encoding::Utf8 }
    }
}

/// State of the parser within a record that is too long, for the next window to go on with. The number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Within {
    /// At a place where a quotation mark opens: the start of a field, or behind a closing mark, which it continues.
    FieldStart = 1,
    /// In a field without quotation marks, where one is text.
    Bare = 2,
    /// Between two quotation marks.
    Quoted = 3,
}

impl Within {
    /// Parses a stored number. Number 4, which stood for the place behind a closing quotation mark, is still read.
    pub const fn from_u8(number: u8) -> Option<Self> {
        Some(match number {
            1 | 4 => Self::FieldStart,
            2 => Self::Bare,
            3 => Self::Quoted,
            _ => return None,
        })
    }
}

/// How far a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Bytes read so far, a byte order mark included.
    pub offset: u32,
    /// Line of the next byte, from 1.
    pub line: u32,
    /// Whether the last byte was a carriage return, so that a line feed does not count as another line.
    pub after_return: bool,
    /// Parser state while a record that is too long is being skipped; otherwise `None`.
    pub within: Option<Within>,
}

impl Position {
    /// Returns the start of a file, behind a byte order mark of `mark_bytes` bytes.
    pub const fn start(mark_bytes: u32) -> Self {
        Self { offset: mark_bytes, line: 1, after_return: false, within: None }
    }
}

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedRecord {
    /// It has more than [`IMPORT_RECORD_BYTES_MAX`] bytes.
    TooLong,
    /// The file ends inside quotation marks.
    Unclosed,
    /// It is not UTF-8.
    Encoding,
}

impl MalformedRecord {
    /// Returns the sentence that the account sees.
    pub const fn text(self) -> &'static str {
        match self {
            Self::TooLong => "The line is longer than 65536 bytes; a quotation mark may be missing.",
            Self::Unclosed => "A quotation mark is not closed.",
            Self::Encoding => "The line is not valid UTF-8.",
        }
    }
}

/// A record of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum ImportRecord<'r> {
    /// Cells of a CSV record.
    Cells(Vec<Cow<'r, str>>),
    /// Text of a line.
    Line(&'r str),
}

/// Next item of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum NextRecord<'r> {
    /// A record, and the line on which it starts.
    Record(u32, ImportRecord<'r>),
    /// A record that cannot be read, and the line on which it starts.
    Malformed(u32, MalformedRecord),
    /// The next record is incomplete in this window.
    Pause,
    /// No record is left in the file.
    End,
}

/// Reader of the records in a window.
pub struct Records<'w> {
    format: ImportFormat,
    encoding: Encoding,
    /// Bytes of the window from the position on.
    rest: &'w [u8],
    /// Whether the window ends with the file.
    at_end: bool,
    position: Position,
    parser: CsvParser,
    record_bytes_max: usize,
}

impl<'w> Records<'w> {
    /// Starts at a position. A window that does not end with the file must hold more bytes than the longest record.
    pub fn new(format: ImportFormat, dialect: Dialect, position: Position, window: &'w [u8], at_end: bool) -> Self {
        let (parser, record_bytes_max) = (CsvParser::new(dialect), IMPORT_RECORD_BYTES_MAX);
        Self { format, encoding: dialect.encoding, rest: window, at_end, position, parser, record_bytes_max }
    }

    /// Returns the position reached: the end of a record, or a place within one that is being skipped.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// Reads the next record.
    pub fn next(&mut self) -> NextRecord<'_> {
        if let Some(within) = self.position.within.take() {
            self.pass_over(within);
        }
        self.skip_blanks();
        if self.rest.is_empty() {
            return if self.at_end { NextRecord::End } else { NextRecord::Pause };
        }
        let line = self.position.line;
        // One byte more than the longest record: its line end, or the byte that makes it too long.
        let head = &self.rest[..self.rest.len().min(self.record_bytes_max + 1)];
        let record = match self.end_of(head) {
            Some(bytes) => &self.take(bytes)[..bytes - 1],
            None if head.len() > self.record_bytes_max => {
                self.position.within = Some(self.within());
                self.take(head.len());
                return NextRecord::Malformed(line, MalformedRecord::TooLong);
            }
            None if !self.at_end => return NextRecord::Pause,
            None => {
                let record = self.take(head.len());
                // The last line of a file need not have a line end, but its quotation marks must be closed.
                if self.format == ImportFormat::Csv && self.parser.feed(b"\n").is_none() {
                    return NextRecord::Malformed(line, MalformedRecord::Unclosed);
                }
                record
            }
        };
        match (self.format, core::str::from_utf8(record)) {
            (ImportFormat::Csv, Err(_)) if self.encoding == Encoding::Latin1 => {
                NextRecord::Record(line, ImportRecord::Cells(self.parser.cells()))
            }
            (_, Err(_)) => NextRecord::Malformed(line, MalformedRecord::Encoding),
            (ImportFormat::Csv, Ok(_)) => NextRecord::Record(line, ImportRecord::Cells(self.parser.cells())),
            (ImportFormat::Lines, Ok(text)) => NextRecord::Record(line, ImportRecord::Line(text)),
        }
    }

    /// Returns the length of the record at the start of `bytes`, its line end included.
    fn end_of(&mut self, bytes: &[u8]) -> Option<usize> {
        match self.format {
            ImportFormat::Csv => {
                self.parser.begin(None);
                self.parser.feed(bytes)
            }
            ImportFormat::Lines => line(bytes),
        }
    }

    /// Returns the parser state within the record that was begun.
    fn within(&mut self) -> Within {
        match self.format {
            ImportFormat::Csv => self.parser.within(),
            ImportFormat::Lines => Within::Bare,
        }
    }

    /// Skips to the end of a record that is too long, or to the end of the window.
    fn pass_over(&mut self, within: Within) {
        let end = match self.format {
            ImportFormat::Csv => {
                self.parser.begin(Some(within));
                self.parser.skip(self.rest)
            }
            ImportFormat::Lines => line(self.rest),
        };
        if end.is_none() && !self.at_end {
            self.position.within = Some(self.within());
        }
        self.take(end.unwrap_or(self.rest.len()));
    }

    /// Skips to the first byte of the next record.
    fn skip_blanks(&mut self) {
        let blank = |byte: &u8| match self.format {
            ImportFormat::Csv => matches!(byte, b'\r' | b'\n'),
            ImportFormat::Lines => matches!(byte, b'\r' | b'\n' | b' ' | b'\t'),
        };
        let bytes = self.rest.iter().position(|byte| !blank(byte)).unwrap_or(self.rest.len());
        self.take(bytes);
    }

    /// Advances by `bytes`, counts their lines and returns them.
    fn take(&mut self, bytes: usize) -> &'w [u8] {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        let Position { offset, line, after_return, .. } = &mut self.position;
        *offset += u32::try_from(bytes).expect("a file has fewer bytes");
        for byte in taken {
            let returned = self.format == ImportFormat::Csv && *byte == b'\r';
            *line += u32::from(returned || *byte == b'\n' && !*after_return);
            *after_return = returned;
        }
        taken
    }
}

/// Returns the length of the first line, its line end included.
fn line(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString};
    use proptest::prelude::*;

    /// Line of a record, and its cells or text, or its error.
    type Found = (u32, Result<Vec<String>, MalformedRecord>);

    /// Reads every record, in windows of `window_bytes`.
    fn all(format: ImportFormat, file: &[u8], window_bytes: usize, record_bytes_max: usize) -> Vec<Found> {
        let mut position = Position::start(0);
        let mut found = Vec::new();
        loop {
            let rest = &file[position.offset as usize..];
            let window = &rest[..rest.len().min(window_bytes)];
            let records = Records::new(format, Dialect::default(), position, window, window.len() == rest.len());
            let mut records = Records { record_bytes_max, ..records };
            loop {
                match records.next() {
                    NextRecord::Pause => break,
                    NextRecord::End => return found,
                    NextRecord::Malformed(line, malformed) => found.push((line, Err(malformed))),
                    NextRecord::Record(line, ImportRecord::Line(text)) => {
                        found.push((line, Ok([text.to_string()].into())));
                    }
                    NextRecord::Record(line, ImportRecord::Cells(cells)) => {
                        found.push((line, Ok(cells.iter().map(ToString::to_string).collect())));
                    }
                }
            }
            assert!(records.position().offset > position.offset, "a window goes on");
            position = records.position();
        }
    }

    #[test]
    fn records_have_the_line_on_which_they_start() {
        type Expected = &'static [(u32, &'static [&'static str])];
        let cases: [(ImportFormat, &str, Expected); 8] = [
            (ImportFormat::Csv, "", &[]),
            (ImportFormat::Csv, "a,b\nc,d\n", &[(1, &["a", "b"]), (2, &["c", "d"])]),
            (ImportFormat::Csv, "a\r\n\r\n\"x\r\ny\"\r\nz", &[(1, &["a"]), (3, &["x\r\ny"]), (5, &["z"])]),
            (ImportFormat::Csv, "a\rb\r\rc", &[(1, &["a"]), (2, &["b"]), (4, &["c"])]),
            (ImportFormat::Csv, "a\"b\nc\"\n", &[(1, &["a\"b"]), (2, &["c\""])]),
            (ImportFormat::Csv, "\"a\"\"\n\"\n\"b\"c\n", &[(1, &["a\"\n"]), (3, &["bc"])]),
            (ImportFormat::Lines, "{}\r\n \t\r\n\n{\"a\":\"\\\"\"}", &[(1, &["{}\r"]), (4, &["{\"a\":\"\\\"\"}"])]),
            (ImportFormat::Lines, "  {}", &[(1, &["{}"])]),
        ];
        for (format, file, want) in cases {
            let found = all(format, file.as_bytes(), 1 << 20, IMPORT_RECORD_BYTES_MAX);
            let cells = |cells: &[&str]| Ok(cells.iter().map(ToString::to_string).collect());
            assert_eq!(found, want.iter().map(|(line, record)| (*line, cells(record))).collect::<Vec<_>>(), "{file:?}");
        }
    }

    #[test]
    fn what_is_too_long_or_open_is_named_once_and_passed_over() {
        let long = "x".repeat(IMPORT_RECORD_BYTES_MAX + 1);
        let most = "y".repeat(IMPORT_RECORD_BYTES_MAX);
        let huge = format!("\"{}\n{}\"", "a,".repeat(200_000), "b".repeat(300_000));
        let file = format!("1\n{long}\n{most}\n{huge}\n2\n\"open\n{}", "3\n".repeat(5));
        for window_bytes in [IMPORT_RECORD_BYTES_MAX + 1, 130_048, 1 << 20] {
            let found = all(ImportFormat::Csv, file.as_bytes(), window_bytes, IMPORT_RECORD_BYTES_MAX);
            let bytes = |(line, record): &Found| {
                (*line, record.as_ref().map(|cells| cells.concat().len()).map_err(|malformed| *malformed))
            };
            let want = [
                (1, Ok(1)),
                (2, Err(MalformedRecord::TooLong)),
                (3, Ok(IMPORT_RECORD_BYTES_MAX)),
                (4, Err(MalformedRecord::TooLong)),
                (6, Ok(1)),
                (7, Err(MalformedRecord::Unclosed)),
            ];
            assert_eq!(found.iter().map(bytes).collect::<Vec<_>>(), want);
        }
    }

    #[test]
    fn a_record_is_utf_8_as_it_is_written() {
        // The letter is whole in the cell and cut in two by a quotation mark in the file.
        let found = all(ImportFormat::Csv, b"a\n\"\xc3\"\xa9\n\xff,b\n\xc3\xa9", 1 << 20, IMPORT_RECORD_BYTES_MAX);
        let wrong = Err(MalformedRecord::Encoding);
        assert_eq!(found[1..3], [(2, wrong.clone()), (3, wrong)]);
        assert_eq!(found[3], (4, Ok(["é".to_string()].into())));
    }

    #[test]
    fn the_sentence_names_the_limit() {
        assert!(MalformedRecord::TooLong.text().contains(&format!("{IMPORT_RECORD_BYTES_MAX} bytes")));
    }

    #[test]
    fn a_stored_number_is_read_back() {
        for within in [Within::FieldStart, Within::Bare, Within::Quoted] {
            assert_eq!(Within::from_u8(within as u8), Some(within));
        }
        assert_eq!((Within::from_u8(4), Within::from_u8(0)), (Some(Within::FieldStart), None));
    }

    proptest! {
        #[test]
        fn windows_change_nothing(
            file in "[a,\"\r\n é]{0,60}", lines: bool, record_bytes_max in 1_usize..20, more in 1_usize..20,
        ) {
            let format = if lines { ImportFormat::Lines } else { ImportFormat::Csv };
            let whole = all(format, file.as_bytes(), 1 << 20, record_bytes_max);
            prop_assert_eq!(all(format, file.as_bytes(), record_bytes_max + more, record_bytes_max), whole);
        }

        /// The parser starts anew for each record, and yields what it yields for the whole file.
        #[test]
        fn records_are_those_of_the_whole_file(file in "[a,\"\r\n ]{0,60}") {
            let found = all(ImportFormat::Csv, file.as_bytes(), 1 << 20, IMPORT_RECORD_BYTES_MAX);
            // The library treats an open quotation mark as if it were closed at the end of the file.
            if let Ok(apart) = found.into_iter().map(|(_, record)| record).collect::<Result<Vec<_>, _>>() {
                prop_assert_eq!(apart, whole(&file));
            }
        }
    }

    /// Parses the records of a file with the library alone.
    fn whole(file: &str) -> Vec<Vec<String>> {
        let (mut reader, mut records) = (csv_core::Reader::new(), Vec::new());
        let (mut output, mut ends) = ([0; 128], [0; 128]);
        let (mut rest, mut out, mut end) = (file.as_bytes(), 0, 0);
        loop {
            let (result, read, wrote, ended) = reader.read_record(rest, &mut output[out..], &mut ends[end..]);
            (rest, out, end) = (&rest[read..], out + wrote, end + ended);
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::Record => {
                    let starts = core::iter::once(0).chain(ends[..end].iter().copied());
                    let cell = |(from, to): (usize, &usize)| String::from_utf8_lossy(&output[from..*to]).into_owned();
                    records.push(starts.zip(&ends[..end]).map(cell).collect());
                    (out, end) = (0, 0);
                }
                _ => return records,
            }
        }
    }
}
