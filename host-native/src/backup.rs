//! Backups: a file with every row of one snapshot, and a count and digest at the end. Sealed values stay sealed: a
//! backup needs the keys of its store.
//!
//! Format: `SWBK1\n`; for each row the lengths of key and value (u32 LE), key and value; then `0xffff_ffff` twice, the
//! number of rows (u64 LE) and the SHA-256 of everything before it. That digest tells whether two stores have the same
//! rows, wherever they are kept.

use std::fmt::{self, Write as _};
use std::io::{Read, Write};

use sha2::{Digest, Sha256};
use switchboard_core::key::Key;
use switchboard_core::view::Bytes;

use crate::store::{Store, StoreError, StoredVisitor};

const MAGIC: &[u8; 6] = b"SWBK1\n";
/// Most bytes of a key and its value: a reader holds one row at a time.
const ROW_BYTES_MAX: usize = 64 << 20;
const UNREAD: &str = "the backup cannot be read";

/// What a backup of some rows ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsDigest {
    /// Number of rows.
    pub rows: u64,
    /// SHA-256 of the backup before it.
    pub sha256: [u8; 32],
}

impl RowsDigest {
    /// Returns the digest in hexadecimal.
    pub fn hex(&self) -> String {
        self.sha256.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl fmt::Display for RowsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows, SHA-256 {}", self.rows, self.hex())
    }
}

/// Writes a snapshot of the store to `out`; returns the number of rows.
pub fn write(store: &Store, out: &mut dyn Write) -> Result<u64, StoreError> {
    let mut backup = BackupWriter::begin(out)?;
    store.whole()?.each_stored(&mut |key, value| backup.put(key, value))?;
    Ok(backup.end()?.rows)
}

/// Writes a backup, row by row in the order of their keys.
pub struct BackupWriter<W> {
    out: W,
    digest: Sha256,
    rows: u64,
}

impl<W: Write> BackupWriter<W> {
    /// Writes what comes before the rows.
    pub fn begin(out: W) -> Result<Self, StoreError> {
        let mut backup = Self { out, digest: Sha256::new(), rows: 0 };
        backup.write(MAGIC)?;
        Ok(backup)
    }

    /// Writes a row; fails for one that no reader would take.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if key.len() + value.len() > ROW_BYTES_MAX {
            return Err(StoreError::of("the backup cannot be written", &TOO_LARGE));
        }
        self.write(&length(key))?;
        self.write(&length(value))?;
        self.write(key)?;
        self.write(value)?;
        self.rows += 1;
        Ok(())
    }

    /// Writes count and digest, and flushes.
    pub fn end(mut self) -> Result<RowsDigest, StoreError> {
        self.write(&[0xff; 8])?;
        self.write(&self.rows.to_le_bytes())?;
        let sha256: [u8; 32] = self.digest.finalize().into();
        self.out.write_all(&sha256).and_then(|()| self.out.flush()).map_err(|error| unwritten(&error))?;
        Ok(RowsDigest { rows: self.rows, sha256 })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.digest.update(bytes);
        self.out.write_all(bytes).map_err(|error| unwritten(&error))
    }
}

const TOO_LARGE: &str = "a row is larger than 64 MiB";

fn unwritten(error: &std::io::Error) -> StoreError {
    StoreError::of("the backup cannot be written", error)
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// Reads a backup row by row. Whether it is whole is known at its end alone.
pub struct BackupReader<R> {
    input: R,
    digest: Sha256,
    rows: u64,
    last: Option<Key>,
}

impl<R: Read> BackupReader<R> {
    /// Reads what comes before the rows; fails if it is no backup.
    pub fn begin(input: R) -> Result<Self, StoreError> {
        let mut backup = Self { input, digest: Sha256::new(), rows: 0, last: None };
        if backup.take(MAGIC.len()).ok().as_deref() != Some(MAGIC) {
            return Err(damaged("it is not a backup"));
        }
        Ok(backup)
    }

    /// Shows every row, and fails at the end if they are not what was written.
    pub fn each(mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        while let Some((key, value)) = self.next()? {
            if self.last.as_ref().is_some_and(|last| *last >= key) {
                return Err(damaged("its rows are not in the order of their keys"));
            }
            visit(&key, &value)?;
            self.last = Some(key);
        }
        let rows = self.take(8)?;
        let digest = self.digest.clone().finalize();
        if rows != self.rows.to_le_bytes() || self.take(32)? != digest.as_slice() {
            return Err(damaged("its digest does not fit"));
        }
        if self.input.read(&mut [0]).map_err(|error| StoreError::of(UNREAD, &error))? > 0 {
            return Err(damaged("something follows its end"));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<(Key, Bytes)>, StoreError> {
        let (key, value) = (self.number()?, self.number()?);
        if (key, value) == (u32::MAX, u32::MAX) {
            return Ok(None);
        }
        let (key, value) = (key as usize, value as usize);
        if key.saturating_add(value) > ROW_BYTES_MAX {
            return Err(damaged(TOO_LARGE));
        }
        self.rows += 1;
        Ok(Some((self.take(key)?, self.take(value)?)))
    }

    fn take(&mut self, bytes: usize) -> Result<Vec<u8>, StoreError> {
        // Do not allocate by the length: it may be damaged.
        let mut taken = Vec::new();
        let read = (&mut self.input).take(bytes as u64).read_to_end(&mut taken);
        if read.map_err(|error| StoreError::of(UNREAD, &error))? < bytes {
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

fn damaged(why: &str) -> StoreError {
    StoreError::of(UNREAD, &why)
}
