//! Where the records of a file begin and end, for an import that reads it in pieces: [`Reader`] gives one
//! record at a time, knows its line, passes over one that is too long, and stops and goes on anywhere.
//!
//! It holds no more than one record, and does not look at what is in it.

use alloc::vec::Vec;

use crate::json::{ToJson, Value};
use crate::limits::IMPORT_RECORD_BYTES_MAX;
use crate::record::{Cell, Field};
use crate::view::Stop;

const TOO_LONG: &str = "The line is longer than 65536 bytes; a quotation mark may be missing.";
const UNCLOSED: &str = "A quotation mark is not closed.";

/// What ends a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// CSV (RFC 4180): an end of line outside quotation marks.
    Csv,
    /// One record a line; blank lines hold none.
    Lines,
}

/// Where within a record the reading stands; the number is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Before a record.
    #[default]
    Before = 0,
    /// At the start of a field.
    Field = 1,
    /// In a field without quotation marks, or behind the closing one.
    Bare = 2,
    /// Between quotation marks.
    Quoted = 3,
    /// Behind a quotation mark that closes, unless another follows.
    Quote = 4,
}

impl State {
    const ALL: [Self; 5] = [Self::Before, Self::Field, Self::Bare, Self::Quoted, Self::Quote];
}

impl ToJson for State {
    fn write(&self, out: &mut Vec<u8>) {
        (*self as u32).write(out);
    }
}

impl Field for State {
    fn from_cell(_: Cell) -> Self {
        Self::default()
    }

    fn from_json(value: Value) -> Option<Self> {
        let number = value.as_u64()?;
        Self::ALL.into_iter().find(|state| *state as u64 == number)
    }
}

/// How far a file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes read.
    pub offset: u32,
    /// The line of the next byte, from 1.
    pub line: u32,
    /// Whether the last byte was a carriage return, which ends a line alone or before a line feed.
    pub after_return: bool,
    /// Where within a record that is.
    pub state: State,
    /// Whether that record is too long and passed over.
    pub passing: bool,
}

impl Place {
    /// The start of a file, behind a byte order mark of so many bytes.
    pub fn start(mark: u32) -> Self {
        Self { offset: mark, line: 1, after_return: false, state: State::Before, passing: false }
    }

    /// Takes one byte; true when it ended a record, of which it is no part.
    fn take(&mut self, framing: Framing, byte: u8) -> bool {
        let (from, next) = (self.state, next(framing, self.state, byte));
        let returned = framing == Framing::Csv && byte == b'\r';
        if returned || byte == b'\n' && !self.after_return {
            self.line += 1;
        }
        self.offset += 1;
        self.after_return = returned;
        self.state = next;
        from != State::Before && next == State::Before
    }
}

fn next(framing: Framing, state: State, byte: u8) -> State {
    match framing {
        Framing::Csv => next_of_csv(state, byte),
        Framing::Lines => next_of_lines(state, byte),
    }
}

/// The states of the CSV parser that splits the record later, so that both see the same records.
fn next_of_csv(state: State, byte: u8) -> State {
    match (state, byte) {
        (State::Quoted, b'"') => State::Quote,
        (State::Quoted, _) | (State::Before | State::Field | State::Quote, b'"') => State::Quoted,
        (_, b'\n' | b'\r') => State::Before,
        (_, b',') => State::Field,
        _ => State::Bare,
    }
}

fn next_of_lines(state: State, byte: u8) -> State {
    match (state, byte) {
        (_, b'\n') | (State::Before, b' ' | b'\t' | b'\r') => State::Before,
        _ => State::Bare,
    }
}

/// The bytes of a file.
pub trait Source {
    /// Some bytes from `offset` on; none at the end of the file.
    fn from(&mut self, offset: u32) -> Result<&[u8], Stop>;
}

impl Source for &[u8] {
    fn from(&mut self, offset: u32) -> Result<&[u8], Stop> {
        Ok(self.get(offset as usize..).unwrap_or_default())
    }
}

/// What comes next in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A record and the line on which it starts.
    Record(u32, Vec<u8>),
    /// A record that cannot be taken: the line on which it starts, and why.
    Broken(u32, &'static str),
    /// Nothing more before the byte up to which is read.
    Pause,
    /// The end of the file.
    End,
}

/// Reads record by record.
pub struct Reader<S> {
    /// What ends a record.
    pub framing: Framing,
    /// The file.
    pub source: S,
    /// How far it was read; a pause within a record that can be taken leaves it before that record.
    pub place: Place,
}

impl<S: Source> Reader<S> {
    /// The next record, if it ends before the byte `until`.
    pub fn next(&mut self, until: u32) -> Result<Found, Stop> {
        let Self { framing, source, place } = self;
        let (mut record, mut start) = (Vec::new(), *place);
        loop {
            let bytes = source.from(place.offset)?;
            if bytes.is_empty() {
                return Ok(end(place, start, record));
            }
            for byte in bytes {
                if place.offset >= until {
                    if place.state != State::Before && !place.passing {
                        *place = start;
                    }
                    return Ok(Found::Pause);
                }
                if place.state == State::Before {
                    start = *place;
                }
                if place.take(*framing, *byte) {
                    if !core::mem::take(&mut place.passing) {
                        return Ok(Found::Record(start.line, record));
                    }
                } else if place.state != State::Before && !place.passing {
                    record.push(*byte);
                    if record.len() > IMPORT_RECORD_BYTES_MAX {
                        place.passing = true;
                        return Ok(Found::Broken(start.line, TOO_LONG));
                    }
                }
            }
        }
    }
}

/// What the end of the file makes of a record that was begun.
fn end(place: &mut Place, start: Place, record: Vec<u8>) -> Found {
    let passing = core::mem::take(&mut place.passing);
    match core::mem::take(&mut place.state) {
        State::Before => Found::End,
        _ if passing => Found::End,
        State::Quoted => Found::Broken(start.line, UNCLOSED),
        _ => Found::Record(start.line, record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::cells::Splitter;
    use alloc::format;
    use alloc::string::String;
    use proptest::prelude::*;

    /// A file that comes in pieces of one size.
    struct Pieces<'f>(&'f [u8], usize);

    impl Source for Pieces<'_> {
        fn from(&mut self, offset: u32) -> Result<&[u8], Stop> {
            let rest = self.0.get(offset as usize..).unwrap_or_default();
            Ok(&rest[..rest.len().min(self.1 - offset as usize % self.1)])
        }
    }

    /// Every record, read in pieces with a stop after each `stride` bytes.
    fn all(framing: Framing, file: &[u8], piece: usize, stride: u32) -> Vec<Found> {
        let mut place = Place::start(0);
        let mut found = Vec::new();
        loop {
            let mut reader = Reader { framing, source: Pieces(file, piece), place };
            let until = place.offset + stride;
            loop {
                match reader.next(until).expect("in memory") {
                    Found::Pause => break,
                    Found::End => return found,
                    one => found.push(one),
                }
            }
            assert!(reader.place.offset > place.offset, "a slice goes on");
            place = reader.place;
        }
    }

    /// A record's line and text.
    type Line = (u32, String);

    fn records(framing: Framing, file: &str) -> Vec<Line> {
        let record = |one| match one {
            Found::Record(line, bytes) => (line, String::from_utf8(bytes).expect("text")),
            other => panic!("{other:?}"),
        };
        all(framing, file.as_bytes(), 7, 1 << 20).into_iter().map(record).collect()
    }

    #[test]
    fn records_have_the_line_on_which_they_start() {
        let one = |line: u32, text: &str| (line, String::from(text));
        let cases: [(Framing, &str, Vec<Line>); 8] = [
            (Framing::Csv, "", Vec::new()),
            (Framing::Csv, "a,b\nc,d\n", [one(1, "a,b"), one(2, "c,d")].into()),
            (Framing::Csv, "a\r\n\r\n\"x\r\ny\"\r\nz", [one(1, "a"), one(3, "\"x\r\ny\""), one(5, "z")].into()),
            (Framing::Csv, "a\rb\r\rc", [one(1, "a"), one(2, "b"), one(4, "c")].into()),
            (Framing::Csv, "a\"b\nc\"\n", [one(1, "a\"b"), one(2, "c\"")].into()),
            (Framing::Csv, "\"a\"\"\n\"\n\"b\"c\n", [one(1, "\"a\"\"\n\""), one(3, "\"b\"c")].into()),
            (Framing::Lines, "{}\r\n \t\r\n\n{\"a\":\"\\\"\"}", [one(1, "{}\r"), one(4, "{\"a\":\"\\\"\"}")].into()),
            (Framing::Lines, "  {}", [one(1, "{}")].into()),
        ];
        for (framing, file, want) in cases {
            assert_eq!(records(framing, file), want, "{file:?}");
        }
    }

    #[test]
    fn what_is_too_long_or_open_is_named_once_and_passed_over() {
        let long = "x".repeat(IMPORT_RECORD_BYTES_MAX + 1);
        let most = "y".repeat(IMPORT_RECORD_BYTES_MAX);
        let huge = format!("\"{}\n{}\"", "a,".repeat(200_000), "b".repeat(300_000));
        let file = format!("1\n{long}\n{most}\n{huge}\n2\n\"open\n{}", "3\n".repeat(5));
        for (piece, stride) in [(1_000, 70_000), (130_048, 131_072), (1 << 20, 1 << 20)] {
            let found = all(Framing::Csv, file.as_bytes(), piece, stride);
            let lines = |found: &Found| match found {
                Found::Record(line, bytes) => (*line, bytes.len()),
                Found::Broken(line, _) => (*line, 0),
                _ => (0, 0),
            };
            let want = [(1, 1), (2, 0), (3, IMPORT_RECORD_BYTES_MAX), (4, 0), (6, 1), (7, 0)];
            assert_eq!(found.iter().map(lines).collect::<Vec<_>>(), want);
            assert_eq!(found[1], Found::Broken(2, TOO_LONG));
            assert_eq!(found[5], Found::Broken(7, UNCLOSED));
        }
    }

    #[test]
    fn the_sentence_names_the_limit() {
        assert!(TOO_LONG.contains(&format!("{IMPORT_RECORD_BYTES_MAX} bytes")));
    }

    proptest! {
        #[test]
        fn pieces_and_stops_change_nothing(
            file in "[a,\"\r\n é]{0,60}", lines: bool, piece in 1_usize..9, stride in 121_u32..130,
        ) {
            let framing = if lines { Framing::Lines } else { Framing::Csv };
            let whole = all(framing, file.as_bytes(), 1 << 20, 1 << 20);
            prop_assert_eq!(all(framing, file.as_bytes(), piece, stride), whole);
        }

        /// A record on its own has the cells that it has where it stands in its file.
        #[test]
        fn records_end_where_the_parser_of_cells_says(file in "[a,\"\r\n ]{0,60}") {
            let mut apart: Vec<Vec<String>> = Vec::new();
            for found in all(Framing::Csv, file.as_bytes(), 5, 1 << 20) {
                match found {
                    Found::Record(_, bytes) => {
                        let text = String::from_utf8(bytes).expect("text");
                        apart.push(Splitter::default().cells(&text).iter().map(|cell| String::from(*cell)).collect());
                    }
                    // The parser takes what is open as if it were closed at the end of the file.
                    _ => return Ok(()),
                }
            }
            let together: Vec<Vec<String>> = whole(&file);
            prop_assert_eq!(apart, together);
        }
    }

    /// The records of a file as the CSV parser alone reads them.
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
