//! Lists of rows that may be large: written piece by piece if the host streams pieces as its client reads them, so that
//! a whole list is never in memory.
//!
//! The rows of a list and the text around them are fixed with the first piece. Each further piece is the same request
//! run again with [`Answer::Rest`](crate::outside::Answer::Rest): its rows are read when it is written, and rows
//! deleted in the meantime are skipped.

use alloc::vec::Vec;

use super::ctx::Ctx;
use super::refusal::Halt;
use super::reply::{Content, Reply};
use crate::key::{self, Kind};
use crate::limits::{PIECE_BYTES, TAGGED_BYTES_MAX};
use crate::outside::Unwritten;
use crate::store::Scope;
use crate::view::Stop;

/// One piece of a list's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListChunk {
    /// The bytes to send now.
    pub bytes: Vec<u8>,
    /// The part still to be written; `None` for the last piece.
    pub rest: Option<Unwritten>,
}

/// Row ids and the text around them, before the rows are read.
pub struct List {
    /// Bytes before the first row.
    pub head: Vec<u8>,
    /// Counts of the rows, in the order shown.
    pub rows: Vec<u32>,
    /// Bytes after the last row.
    pub tail: Vec<u8>,
}

/// Replies with a list. `list` selects the rows and is called only for the first piece; `write` turns a stored row into
/// its JSON.
pub fn reply(
    ctx: &Ctx<'_>,
    scope: Scope<'_>,
    kind: Kind,
    list: impl FnOnce() -> Result<List, Halt>,
    mut write: impl FnMut(u32, &[u8], &mut Vec<u8>) -> Result<(), Stop>,
) -> Result<Reply, Halt> {
    let is_first = ctx.rest().is_none();
    let List { head: mut out, rows, tail } = match ctx.rest() {
        Some(Unwritten::Rows { rows, tail }) => List { head: Vec::new(), rows: rows.clone(), tail: tail.clone() },
        _ => list()?,
    };
    let piece_bytes = piece_bytes(ctx).unwrap_or(usize::MAX);
    let begin = out.len();
    let mut written = 0;
    let shown = scope.each_of(&key::rows(scope.space(), kind), &rows, |at, row| {
        if out.len() >= piece_bytes {
            // The only way to end a scan early; it is no error.
            return Err(Stop::OverBudget);
        }
        if !is_first || out.len() > begin {
            out.push(b',');
        }
        let is_first_row = written == 0;
        written = at + 1;
        let before = out.len();
        write(rows[at], row, &mut out)?;
        if is_first_row {
            // Rows of one list are much alike: room for all now saves a copy at each doubling.
            let row_bytes = (out.len() - before) * 9 / 8;
            out.reserve(row_bytes.saturating_mul(rows.len() - written).min(piece_bytes) + tail.len());
        }
        Ok(())
    });
    let is_cut = out.len() >= piece_bytes && written < rows.len();
    match shown {
        Err(Stop::OverBudget) if is_cut => {}
        Ok(false) if is_first => return Err(Stop::Corrupt("a set names a row that is not there").into()),
        Err(stop) => return Err(stop.into()),
        Ok(_) => {}
    }
    if is_cut {
        let rest = Unwritten::Rows { rows: rows[written..].to_vec(), tail };
        return Ok(Reply::piece(ListChunk { bytes: out, rest: Some(rest) }));
    }
    out.extend_from_slice(&tail);
    Ok(if is_first { Reply::ok_raw(out) } else { Reply::piece(ListChunk { bytes: out, rest: None }) })
}

/// Returns how many bytes the piece that is due has, which its last row may exceed; `None` if the host takes lists whole.
pub fn piece_bytes(ctx: &Ctx<'_>) -> Option<usize> {
    let bytes = if ctx.rest().is_none() { TAGGED_BYTES_MAX } else { PIECE_BYTES };
    ctx.setup.config.lists_in_pieces.then_some(bytes)
}

/// Returns a plain JSON array of these rows.
pub fn array(rows: Vec<u32>) -> List {
    List { head: b"[".to_vec(), rows, tail: b"]".to_vec() }
}

impl Reply {
    fn piece(piece: ListChunk) -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Piece(piece) }
    }
}
