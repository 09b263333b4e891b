//! Versions of read results: the store compares them before it commits.

use sha2::{Digest, Sha256};

use crate::key::Key;
use crate::view::{Bytes, Found, Read};

/// Version of the value or rows that a read found: the first half of their SHA-256 (FIPS 180-4).
///
/// It depends on the content, not on time: a row that was changed and changed back has the same version, and so has
/// every decision based on it.
pub type Version = [u8; 16];

/// A read and the version of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The read; never a rate limit, which has no version.
    pub read: Read,
    /// Version of its result.
    pub version: Version,
}

/// Returns the version of a key's value; a missing value has one too.
pub fn of_value(value: Option<&[u8]>) -> Version {
    let mut hash = Sha256::new();
    match value {
        None => hash.update([0]),
        Some(value) => {
            hash.update([1]);
            hash.update(value);
        }
    }
    half(hash)
}

/// Returns the version of a scan's rows.
pub fn of_rows(rows: &[(Key, Bytes)]) -> Version {
    let mut hash = Sha256::new();
    hash.update([2]);
    for bytes in rows.iter().flat_map(|(key, value)| [key, value]) {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    }
    half(hash)
}

/// Returns the version of a read's result; `None` for a rate limit.
pub fn of(found: &Found) -> Option<Version> {
    match found {
        Found::Value(value) => Some(of_value(value.as_deref())),
        Found::Rows(rows) => Some(of_rows(rows)),
        Found::Rate(_) => None,
    }
}

fn half(hash: Sha256) -> Version {
    let mut version = [0; 16];
    version.copy_from_slice(&hash.finalize()[..16]);
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_has_another_version() {
        let row = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
        let all = [
            of_value(None),
            of_value(Some(b"")),
            of_value(Some(b"a")),
            of_rows(&[]),
            of_rows(&[row(b"a", b"bc")]),
            of_rows(&[row(b"ab", b"c")]),
            of_rows(&[row(b"a", b""), row(b"b", b"c")]),
        ];
        let different: alloc::collections::BTreeSet<Version> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(of(&Found::Value(None)), Some(all[0]));
        assert_eq!(of(&Found::Rate(None)), None);
    }
}
