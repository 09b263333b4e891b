//! Storage of an import's file and of its columns, in parts of which a slice reads one or two.

use alloc::vec::Vec;

use super::columns::Columns;
use crate::key::{self, Kind};
use crate::limits::{IMPORT_PART_BYTES, IMPORT_RECORD_BYTES_MAX, IMPORT_TURN_PARTS};
use crate::store::Scope;
use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("a part of an import is not there");
/// Number of the part that holds the columns; those of the file follow.
const COLUMNS: u32 = 0;

/// Stores the columns of a file's header.
pub fn put_columns(account: Scope<'_>, number: u32, columns: &Columns) -> Result<(), Stop> {
    account.put(key::part(account.space(), Kind::Import, number, COLUMNS), columns.to_json())
}

/// Stores the next parts after `kept`, at most [`IMPORT_TURN_PARTS`]; returns the new number, or `None` once the file
/// is complete.
pub fn put_next(account: Scope<'_>, number: u32, file: &[u8], kept: u32) -> Result<Option<u32>, Stop> {
    let mut parts = (COLUMNS + 1..).zip(file.chunks(IMPORT_PART_BYTES as usize)).skip(kept as usize);
    for (at, part) in parts.by_ref().take(IMPORT_TURN_PARTS) {
        account.put(key::part(account.space(), Kind::Import, number, at), part.to_vec())?;
    }
    Ok(parts.next().map(|(at, _)| at - COLUMNS - 1))
}

/// Reads the stored columns.
pub fn columns(account: Scope<'_>, number: u32) -> Result<Columns, Stop> {
    Columns::from_json(&account.get(key::part(account.space(), Kind::Import, number, COLUMNS))?.ok_or(DAMAGED)?)
}

/// Reads the file, of `file_bytes` bytes, from `offset`: the rest of that part, and the next one if the rest is not
/// longer than the longest record. If no record ends in these bytes, it is too long or the file ends.
pub fn window(account: Scope<'_>, number: u32, file_bytes: u32, offset: u32) -> Result<Vec<u8>, Stop> {
    let part = |at: u32| account.get(key::part(account.space(), Kind::Import, number, at))?.ok_or(DAMAGED);
    let bytes_min = (file_bytes.saturating_sub(offset) as usize).min(IMPORT_RECORD_BYTES_MAX + 1);
    let mut parts = COLUMNS + 1 + offset / IMPORT_PART_BYTES..;
    let mut before = (offset % IMPORT_PART_BYTES) as usize;
    let mut window = Vec::new();
    while window.len() < bytes_min {
        let part = part(parts.next().ok_or(DAMAGED)?)?;
        window.extend_from_slice(part.get(core::mem::take(&mut before)..).ok_or(DAMAGED)?);
    }
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Space;
    use crate::memory::Memory;
    use crate::store::Tx;

    #[test]
    fn a_file_is_read_part_by_part_and_a_lost_part_is_told() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let account = tx.scope(Space::Account(1));
        let bytes: Vec<u8> = (0..=250).cycle().take(2 * IMPORT_PART_BYTES as usize + 5).collect();
        put_columns(account, 1, &Columns::default()).expect("sound");
        assert_eq!(put_next(account, 1, &bytes, 0), Ok(None));
        let length = u32::try_from(bytes.len()).expect("small");
        let mut read = Vec::new();
        while read.len() < bytes.len() {
            let window = window(account, 1, length, u32::try_from(read.len()).expect("small")).expect("sound");
            assert!(window.len() > IMPORT_RECORD_BYTES_MAX || read.len() + window.len() == bytes.len());
            // As if a record in this window went on into the next.
            read.extend_from_slice(&window[..window.len().min(70_001)]);
        }
        assert_eq!(window(account, 1, length, length), Ok(Vec::new()));
        assert!(read == bytes);
        assert_eq!(columns(account, 1), Ok(Columns::default()));
        account.delete(key::part(account.space(), Kind::Import, 1, 2)).expect("sound");
        assert_eq!(window(account, 1, length, IMPORT_PART_BYTES - 1), Err(DAMAGED));
        assert!(window(account, 1, length, 0).is_ok());
    }

    #[test]
    fn a_file_is_kept_turn_by_turn() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let account = tx.scope(Space::Account(1));
        let (turn, part) = (u32::try_from(IMPORT_TURN_PARTS).expect("small"), IMPORT_PART_BYTES as usize);
        for (bytes, turns) in [(1, 1), (8 * part, 1), (8 * part + 1, 2), (16 * part, 2), (20 * part - 1, 3)] {
            let file = alloc::vec![7; bytes];
            let (mut kept, mut taken) = (Some(0), 0);
            while let Some(so_far) = kept {
                assert_eq!(so_far, taken * turn);
                kept = put_next(account, 1, &file, so_far).expect("sound");
                taken += 1;
            }
            assert_eq!(taken, turns, "{bytes} bytes");
        }
    }
}
