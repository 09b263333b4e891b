//! How a CSV file is written, found from the file itself: spreadsheets write semicolons and tabs where the comma is part of
//! numbers, and the characters of the system they run on.

use super::records::{Dialect, ImportFormat, ImportRecord, NextRecord, Position, Records};
use super::tables::{Encoding, Separator};

/// Marks at the start of a file in UTF-16.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// Starts of a spreadsheet's own files: archives (`.xlsx`, `.ods`), and those of old Excel (`.xls`).
const WORKBOOK: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];
const SEPARATORS: [Separator; 3] = [Separator::Comma, Separator::Semicolon, Separator::Tab];

/// Returns how a file is written, or what is wrong with it; `separator` is the one that was named.
pub fn dialect(file: &[u8], separator: Option<Separator>) -> Result<Dialect, &'static str> {
    if UTF_16.iter().any(|mark| file.starts_with(mark)) {
        return Err("The file is written in UTF-16; please save it as UTF-8.");
    }
    if WORKBOOK.iter().any(|start| file.starts_with(start)) {
        return Err("The file is a workbook; please save it as CSV.");
    }
    let encoding = encoding(file);
    let cells = |separator: Separator| header_cells(file, Dialect { separator, encoding });
    // One that separates nothing is no sign. Of two that find as many cells the first is taken.
    let found = SEPARATORS.into_iter().rev().map(|separator| (cells(separator), separator));
    let found = found.filter(|(count, _)| *count > 1).max_by_key(|(count, _)| *count).map(|(_, separator)| separator);
    Ok(Dialect { separator: separator.or(found).unwrap_or(Separator::Comma), encoding })
}

/// Returns UTF-8 if the file is that, or if some character of several bytes is: what is wrong in it is then told by line.
fn encoding(file: &[u8]) -> Encoding {
    let mut is_whole = true;
    for chunk in file.utf8_chunks() {
        if !chunk.valid().is_ascii() {
            return Encoding::Utf8;
        }
        is_whole &= chunk.invalid().is_empty();
    }
    if is_whole { Encoding::Utf8 } else { Encoding::Latin1 }
}

fn header_cells(file: &[u8], dialect: Dialect) -> usize {
    match Records::new(ImportFormat::Csv, dialect, Position::start(0), file, true).next() {
        NextRecord::Record(_, ImportRecord::Cells(cells)) => cells.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_the_one_of_the_header() {
        for (file, want) in [
            ("phone_number,name\n1;2;3;4,5", Separator::Comma),
            ("phone_number;name\n1,2,3,4;5", Separator::Semicolon),
            ("phone_number\tname", Separator::Tab),
            ("\"Name, first\";phone_number", Separator::Semicolon),
            ("phone_number", Separator::Comma),
            ("a,b;c", Separator::Comma),
            ("\"", Separator::Comma),
            ("phone_number,\"a\n1;2", Separator::Comma),
            ("", Separator::Comma),
        ] {
            assert_eq!(dialect(file.as_bytes(), None).map(|found| found.separator), Ok(want), "{file}");
        }
        let named = dialect(b"a,b,c", Some(Separator::Tab)).map(|found| found.separator);
        assert_eq!(named, Ok(Separator::Tab));
    }

    #[test]
    fn a_file_is_latin_1_where_nothing_in_it_is_utf_8() {
        let of = |file: &[u8]| dialect(file, None).map(|found| found.encoding);
        assert_eq!(of(b"M\xfcller"), Ok(Encoding::Latin1));
        assert_eq!(of("Müller".as_bytes()), Ok(Encoding::Utf8));
        assert_eq!(of(b"plain"), Ok(Encoding::Utf8));
        assert_eq!(of(b"M\xc3\xbcller\nM\xfcller"), Ok(Encoding::Utf8), "one bad line among good ones");
        assert!(of(b"\xff\xfea\0").is_err_and(|says| says.contains("UTF-16")));
        assert!(of(b"PK\x03\x04\x14\0").is_err_and(|says| says.contains("save it as CSV")));
    }
}
