//! Backups: a file with every row of one snapshot, and a count and digest at the end. Sealed values stay sealed: a
//! backup needs the keys of its store.
//!
//! Format: `SWBK1\n`; for each row the lengths of key and value (u32 LE), key and value; then `0xffff_ffff` twice, the
//! number of rows (u64 LE) and the SHA-256 of everything before it.

use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use switchboard_core::key;

use crate::store::{Store, StoreError};

const MAGIC: &[u8; 6] = b"SWBK1\n";
/// Rows read from the snapshot at once.
const SLICE: usize = 256;
/// Bytes of rows after which a restore commits.
const COMMIT_BYTES: usize = 8 << 20;

/// Writes a snapshot of the store to `out`; returns the number of rows.
pub fn write(store: &Store, out: &mut dyn Write) -> Result<u64, StoreError> {
    let snapshot = store.whole()?;
    let mut digest = Sha256::new();
    let mut put = |bytes: &[u8]| -> Result<(), StoreError> {
        digest.update(bytes);
        out.write_all(bytes).map_err(|error| StoreError::of("the backup cannot be written", &error))
    };
    put(MAGIC)?;
    let (mut range, mut count) = (key::everything(), 0_u64);
    loop {
        let slice = snapshot.stored(range.clone(), SLICE)?;
        let Some((last, _)) = slice.last() else { break };
        range.start = [last.as_slice(), &[0]].concat();
        count += slice.len() as u64;
        for (key, value) in &slice {
            put(&length(key))?;
            put(&length(value))?;
            put(key)?;
            put(value)?;
        }
    }
    put(&[0xff; 8])?;
    put(&count.to_le_bytes())?;
    let digest = digest.finalize();
    out.write_all(&digest).map_err(|error| StoreError::of("the backup cannot be written", &error))?;
    Ok(count)
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// Restores a backup into a folder that does not exist or is empty; returns the number of rows. A damaged backup is
/// refused as a whole: the folder is removed again.
pub fn restore(input: &mut dyn Read, folder: &Path) -> Result<u64, StoreError> {
    if folder.exists() && std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(StoreError::of("nothing was restored", &"the folder is not empty"));
    }
    let done = fill(input, folder);
    if done.is_err() {
        // A part of a damaged backup is not a store.
        let _ = std::fs::remove_dir_all(folder);
    }
    done
}

fn fill(input: &mut dyn Read, folder: &Path) -> Result<u64, StoreError> {
    let store = Store::open(folder)?;
    let mut input = Hashing { input, digest: Sha256::new() };
    if input.take(MAGIC.len())? != MAGIC {
        return Err(damaged("it is not a backup"));
    }
    let (mut rows, mut bytes, mut count) = (Vec::new(), 0, 0_u64);
    loop {
        let (key, value) = (input.number()?, input.number()?);
        if (key, value) == (u32::MAX, u32::MAX) {
            break;
        }
        let key = input.take(key as usize)?;
        let value = input.take(value as usize)?;
        bytes += key.len() + value.len();
        count += 1;
        rows.push((key, value));
        if bytes > COMMIT_BYTES {
            store.put_back(std::mem::take(&mut rows))?;
            bytes = 0;
        }
    }
    let told: [u8; 8] = input.take(8)?.try_into().map_err(|_| damaged("it ends early"))?;
    let digest = input.digest.clone().finalize();
    if u64::from_le_bytes(told) != count || input.take(32)? != digest.as_slice() {
        return Err(damaged("its digest does not fit"));
    }
    store.put_back(rows)?;
    Ok(count)
}

fn damaged(why: &str) -> StoreError {
    StoreError::of("the backup cannot be read", &why)
}

struct Hashing<'i> {
    input: &'i mut dyn Read,
    digest: Sha256,
}

impl Hashing<'_> {
    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, StoreError> {
        // Do not allocate by the length: it may be damaged.
        let mut taken = Vec::new();
        let read = self
            .input
            .take(bytes as u64)
            .read_to_end(&mut taken)
            .map_err(|error| StoreError::of("the backup cannot be read", &error))?;
        if read < bytes {
            return Err(damaged("it ends early"));
        }
        self.digest.update(&taken);
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, StoreError> {
        let bytes: [u8; 4] = self.take(4)?.try_into().map_err(|_| damaged("it ends early"))?;
        Ok(u32::from_le_bytes(bytes))
    }
}
