//! Lists as CSV (RFC 4180): every row that the filters select, newest first, written piece by piece if the host streams
//! pieces, so that no account's rows are ever in memory whole.
//!
//! A further piece is the same request run again with the last row that was written
//! ([`Unwritten::Below`]): rows that were deleted meanwhile are not there, newer ones are not looked for.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::accept;
use super::ctx::Ctx;
use super::list::{ListChunk, piece_bytes};
use super::refusal::{Halt, Refusal};
use super::reply::{Content, Reply};
use super::request::Request;
use super::route::Route;
use crate::choice;
use crate::collection::{Ids, Query};
use crate::json::{self, Members, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::{CSV_BYTES_MAX, CSV_READ_ROWS};
use crate::outside::Unwritten;
use crate::record::{Errors, Table};
use crate::store::Scope;
use crate::view::Stop;

const MEDIA: &str = "text/csv";
/// Mark by which spreadsheets know UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const LINE_END: &[u8] = b"\r\n";

choice! {
    /// What separates the cells of a list as CSV.
    pub enum CsvSeparator {
        /// A comma, for programs and for spreadsheets with a decimal point.
        Comma = ",",
        /// A semicolon, for spreadsheets with a decimal comma.
        Semicolon = ";",
    }
}

/// Returns whether the caller prefers CSV to JSON, and the operation has it.
pub fn is_wanted(route: &Route, request: &Request) -> bool {
    route.csv.is_some() && accept::prefers(request, MEDIA)
}

/// Replies with the rows of a query that `keep` keeps; its offset and limit are ignored. `write` turns a stored row into
/// its JSON, whose members become the cells.
pub fn reply(
    ctx: &Ctx<'_>,
    (scope, kind): (Scope<'_>, Kind),
    (query, separator): (&Query, Option<CsvSeparator>),
    keep: impl FnMut(u32) -> Result<bool, Stop>,
    write: impl FnMut(u32, &[u8], &mut Vec<u8>) -> Result<(), Stop>,
) -> Result<Reply, Halt> {
    let table = ctx.route.shape.table().expect("only lists of records are CSV as well");
    let mut query = query.clone();
    let mut sheet = Sheet::new(table, separator.unwrap_or(CsvSeparator::Comma));
    if let Some(Unwritten::Below(last)) = ctx.rest() {
        query.range.end = query.range.end.min(*last);
    } else {
        sheet.head();
    }
    let last = fill(&mut sheet, piece_bytes(ctx).unwrap_or(CSV_BYTES_MAX), (scope, kind), &query, keep, write)?;
    let content = match last {
        Some(_) if piece_bytes(ctx).is_none() => return Err(too_long()),
        None if ctx.rest().is_none() => Content::Json(sheet.out),
        last => Content::Piece(ListChunk { bytes: sheet.out, rest: last.map(Unwritten::Below) }),
    };
    let file = ctx.route.csv.unwrap_or_default();
    Ok(Reply::streamed(content)
        .header("content-type", "text/csv; charset=utf-8")
        .header("content-disposition", format!("attachment; filename=\"{file}\"")))
}

/// Writes rows until the sheet has `most` bytes, and returns the last one written if there may be more.
fn fill(
    sheet: &mut Sheet,
    most: usize,
    (scope, kind): (Scope<'_>, Kind),
    query: &Query,
    mut keep: impl FnMut(u32) -> Result<bool, Stop>,
    mut write: impl FnMut(u32, &[u8], &mut Vec<u8>) -> Result<(), Stop>,
) -> Result<Option<u32>, Stop> {
    let (rows, mut json) = (key::rows(scope.space(), kind), Vec::new());
    let (mut last, mut is_full) = (None, false);
    let mut ids = Ids::of(scope, kind, query)?;
    while let Some(stretch) = ids.more()? {
        for some in stretch.chunks(CSV_READ_ROWS) {
            let mut kept = Vec::with_capacity(some.len());
            for id in some {
                if keep(*id)? {
                    kept.push(*id);
                }
            }
            let read = scope.each_of(&rows, &kept, |at, row| {
                is_full = sheet.out.len() >= most;
                if is_full {
                    // The only way to end a scan early; it is no error.
                    return Err(Stop::OverBudget);
                }
                json.clear();
                write(kept[at], row, &mut json)?;
                last = Some(kept[at]);
                sheet.row(&json)
            });
            match read {
                Err(Stop::OverBudget) if is_full => return Ok(last),
                Ok(false) => return Err(Stop::Corrupt("a set names a row that is not there")),
                read => read?,
            };
        }
    }
    Ok(None)
}

fn too_long() -> Halt {
    let mut errors = Errors::default();
    errors.add(
        "accept",
        format!(
            "The rows have more than {CSV_BYTES_MAX} bytes as CSV, the most that this host sends; please filter them."
        ),
    );
    Refusal::Invalid(errors).into()
}

/// Lines of cells.
struct Sheet {
    table: &'static Table,
    separator: CsvSeparator,
    out: Vec<u8>,
}

impl Sheet {
    const fn new(table: &'static Table, separator: CsvSeparator) -> Self {
        Self { table, separator, out: Vec::new() }
    }

    /// Writes the line with the names of the columns. A semicolon is asked for by whoever opens the file in a
    /// spreadsheet, which needs the mark; programs, which take commas, would read it as part of the first name.
    fn head(&mut self) {
        if self.separator == CsvSeparator::Semicolon {
            self.out.extend_from_slice(BYTE_ORDER_MARK);
        }
        for (at, column) in self.table.columns.iter().enumerate() {
            self.cell(at, column.name);
        }
        self.out.extend_from_slice(LINE_END);
    }

    /// Writes the line of a record.
    fn row(&mut self, record: &[u8]) -> Result<(), Stop> {
        let Ok(Value::Object(members)) = json::parse(record) else {
            return Err(Stop::Corrupt("a row of a list is no JSON object"));
        };
        for (at, column) in self.table.columns.iter().enumerate() {
            self.member(at, &members, column.name);
        }
        self.out.extend_from_slice(LINE_END);
        Ok(())
    }

    fn member(&mut self, at: usize, members: &Members, name: &str) {
        match members.get(name) {
            None | Some(Value::Null) => self.cell(at, ""),
            Some(Value::Text(text)) => self.cell(at, text),
            Some(other) => self.cell(at, &String::from_utf8_lossy(&other.to_json())),
        }
    }

    /// Writes a cell, in quotation marks where it needs them.
    fn cell(&mut self, at: usize, text: &str) {
        let separator = self.separator.word();
        if at > 0 {
            self.out.extend_from_slice(separator.as_bytes());
        }
        let is_quoted = text.contains(['"', '\r', '\n']) || text.contains(separator);
        if is_quoted {
            self.out.push(b'"');
        }
        if is_formula(text) {
            self.out.push(b'\'');
        }
        if is_quoted {
            self.out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
            self.out.push(b'"');
        } else {
            self.out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Returns whether a spreadsheet would read a text as a formula: then its cell begins with an apostrophe more. So does
/// one whose apostrophes stand before such a text, that each cell has one meaning.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Returns the text of a cell: without the apostrophe that keeps it from being a formula.
pub fn text_of(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|_| is_formula(cell)).unwrap_or(cell)
}
