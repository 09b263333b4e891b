//! The file of an import and the columns of its header, kept in parts that a slice reads one at a time.

use alloc::vec::Vec;

use super::columns::Columns;
use super::framing::Source;
use crate::key::{self, Kind};
use crate::limits::IMPORT_PART_BYTES;
use crate::store::Scope;
use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("a part of an import is not there");
/// The part that holds the columns; those of the file follow it.
const COLUMNS: u32 = 0;

/// Keeps a file, and the columns of its header.
pub fn put(account: Scope<'_>, number: u32, columns: &Columns, file: &[u8]) -> Result<(), Stop> {
    let space = account.space();
    account.put(key::part(space, Kind::Import, number, COLUMNS), columns.to_json())?;
    for (at, part) in (COLUMNS + 1..).zip(file.chunks(IMPORT_PART_BYTES as usize)) {
        account.put(key::part(space, Kind::Import, number, at), part.to_vec())?;
    }
    Ok(())
}

/// The columns that were kept.
pub fn columns(account: Scope<'_>, number: u32) -> Result<Columns, Stop> {
    Columns::from_json(&account.get(key::part(account.space(), Kind::Import, number, COLUMNS))?.ok_or(DAMAGED)?)
}

/// A kept file, read part by part.
pub struct File<'a> {
    account: Scope<'a>,
    number: u32,
    bytes: u32,
    /// The part in hand.
    part: Option<(u32, Vec<u8>)>,
}

impl<'a> File<'a> {
    /// The file of an import, so many bytes.
    pub fn of(account: Scope<'a>, number: u32, bytes: u32) -> Self {
        Self { account, number, bytes, part: None }
    }
}

impl Source for File<'_> {
    fn from(&mut self, offset: u32) -> Result<&[u8], Stop> {
        if offset >= self.bytes {
            return Ok(&[]);
        }
        let (at, within) = (COLUMNS + 1 + offset / IMPORT_PART_BYTES, (offset % IMPORT_PART_BYTES) as usize);
        if self.part.as_ref().is_none_or(|(known, _)| *known != at) {
            let key = key::part(self.account.space(), Kind::Import, self.number, at);
            self.part = Some((at, self.account.get(key)?.ok_or(DAMAGED)?));
        }
        self.part.as_ref().and_then(|(_, bytes)| bytes.get(within..)).filter(|bytes| !bytes.is_empty()).ok_or(DAMAGED)
    }
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
        put(account, 1, &Columns::default(), &bytes).expect("sound");
        let length = u32::try_from(bytes.len()).expect("small");
        let (mut file, mut read) = (File::of(account, 1, length), Vec::new());
        while let Some(more) = file.from(u32::try_from(read.len()).expect("small")).ok().filter(|more| !more.is_empty())
        {
            read.extend_from_slice(more);
        }
        assert!(read == bytes);
        assert_eq!(columns(account, 1), Ok(Columns::default()));
        account.delete(key::part(account.space(), Kind::Import, 1, 2)).expect("sound");
        assert_eq!(File::of(account, 1, length).from(IMPORT_PART_BYTES), Err(DAMAGED));
    }
}
