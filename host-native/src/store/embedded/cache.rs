//! [`ReadCache`]: rows and scans that were read from a snapshot. A snapshot never changes, so no entry is ever stale;
//! values are cached as stored, sealed ones sealed.

use std::hash::Hash;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use switchboard_core::key::Key;
use switchboard_core::view::Bytes;

/// Cache of single rows: initial capacity in entries, and maximum weight in bytes.
const ROWS: (usize, u64) = (1_024, 4 << 20);
/// Cache of scans: initial capacity in entries, and maximum weight in bytes.
const SCANS: (usize, u64) = (128, 8 << 20);
/// Largest result of a scan that is cached, bytes.
const SCAN_BYTES_MAX: usize = 256 << 10;
/// Largest value of a single row that is cached, bytes: parts of files are larger, and read once.
pub const ROW_BYTES_MAX: usize = 16 << 10;
/// Approximate overhead of an entry, bytes.
const ENTRY_BYTES: usize = 64;

/// Rows of a scan, in its order.
pub type ScannedRows = Vec<(Key, Bytes)>;

/// Cache of one snapshot; `S` is the key of a scan: its range, order and limit.
pub struct ReadCache<S> {
    /// Values of single rows, by key.
    pub rows: Cache<Key, Arc<Bytes>, ByBytes>,
    /// Results of scans.
    pub scans: Cache<S, Arc<ScannedRows>, ByBytes>,
}

impl<S: Eq + Hash> ReadCache<S> {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self {
            rows: Cache::with_weighter(ROWS.0, ROWS.1, ByBytes),
            scans: Cache::with_weighter(SCANS.0, SCANS.1, ByBytes),
        }
    }
}

/// Weighs an entry by its bytes and `ENTRY_BYTES` for each row.
#[derive(Clone)]
pub struct ByBytes;

impl Weighter<Key, Arc<Bytes>> for ByBytes {
    fn weight(&self, key: &Key, value: &Arc<Bytes>) -> u64 {
        (key.len() + value.len() + ENTRY_BYTES) as u64
    }
}

impl<S> Weighter<S, Arc<ScannedRows>> for ByBytes {
    fn weight(&self, _: &S, rows: &Arc<ScannedRows>) -> u64 {
        let bytes = rows.iter().map(|(key, value)| key.len() + value.len() + ENTRY_BYTES);
        (bytes.sum::<usize>() + ENTRY_BYTES) as u64
    }
}

/// Copies of a running scan's rows, dropped once they exceed `SCAN_BYTES_MAX`.
#[derive(Default)]
pub struct Copies {
    rows: ScannedRows,
    bytes: usize,
}

impl Copies {
    /// Copies a row, unless the scan has become too large.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes += key.len() + value.len();
        if self.bytes <= SCAN_BYTES_MAX {
            self.rows.push((key.to_vec(), value.to_vec()));
        } else {
            self.rows = ScannedRows::new();
        }
    }

    /// Returns all rows, or `None` if they exceed `SCAN_BYTES_MAX`.
    pub fn whole(self) -> Option<ScannedRows> {
        (self.bytes <= SCAN_BYTES_MAX).then_some(self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_copied_whole_or_not_at_all() {
        for (bytes, whole) in [(SCAN_BYTES_MAX / 2 - 1, true), (SCAN_BYTES_MAX / 2, false)] {
            let mut copies = Copies::default();
            (0..2).for_each(|at| copies.push(&[at], &vec![at; bytes]));
            let rows = copies.whole();
            assert_eq!(rows.is_some(), whole);
            assert!(rows.is_none_or(|rows| rows == [(vec![0], vec![0; bytes]), (vec![1], vec![1; bytes])]));
        }
    }

    #[test]
    fn what_is_cached_stays_within_its_bytes() {
        let cache = ReadCache::<u32>::new();
        for number in 0..10_000_u32 {
            cache.rows.insert(number.to_be_bytes().to_vec(), Arc::new(vec![0; 4 << 10]));
            cache.scans.insert(number, Arc::new(vec![(vec![0], vec![0; SCAN_BYTES_MAX])]));
        }
        assert!((ROWS.1 / 2..=ROWS.1).contains(&cache.rows.weight()), "{}", cache.rows.weight());
        assert!((SCANS.1 / 2..=SCANS.1).contains(&cache.scans.weight()), "{}", cache.scans.weight());
    }
}
