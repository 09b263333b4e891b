//! Lists as CSV, read by the library that programs use.

use csv_core::{ReadRecordResult, ReaderBuilder};

/// Returns the cells of each line, the header included; a byte-order mark is left out.
///
/// # Panics
/// If the file is not UTF-8, or its lines do not have as many cells as its header.
pub fn rows(file: &[u8], separator: u8) -> Vec<Vec<String>> {
    let mut rest = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut reader = ReaderBuilder::new().delimiter(separator).build();
    let (mut out, mut ends) = (vec![0; rest.len() + 1], [0; 64]);
    let mut rows: Vec<Vec<String>> = Vec::new();
    loop {
        let (result, read, _, count) = reader.read_record(rest, &mut out, &mut ends);
        rest = &rest[read..];
        match result {
            ReadRecordResult::Record => {
                let mut from = 0;
                let cells = ends[..count].iter().map(|end| {
                    let cell = &out[std::mem::replace(&mut from, *end)..*end];
                    String::from_utf8(cell.to_vec()).expect("a file is UTF-8")
                });
                rows.push(cells.collect());
                assert_eq!(rows[rows.len() - 1].len(), rows[0].len(), "every line has the cells of the header");
            }
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::End => return rows,
            other => panic!("{other:?}"),
        }
    }
}

/// Returns the first cell of each line but the header: the ids of a list.
pub fn ids(file: &[u8], separator: u8) -> Vec<String> {
    rows(file, separator).into_iter().skip(1).map(|mut cells| cells.swap_remove(0)).collect()
}
