//! [`ReadCache`]: what was read of a snapshot, for whoever reads the same next. A snapshot never changes, so nothing in
//! it is ever stale; values are as they are stored, sealed ones sealed.

use std::hash::Hash;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use switchboard_core::key::Key;
use switchboard_core::view::Bytes;

/// Single rows: how many a new cache has room for at once, and how much they may weigh, bytes.
const ROWS: (usize, u64) = (1_024, 4 << 20);
/// Results of scans: the same.
const SCANS: (usize, u64) = (128, 8 << 20);
/// The longest result of a scan that is cached, bytes.
const SCAN_BYTES_MAX: usize = 256 << 10;
/// The longest single row that is cached, bytes: parts of files are read once.
pub const ROW_BYTES_MAX: usize = 16 << 10;
/// What an entry takes beside its bytes, about.
const ENTRY_BYTES: usize = 64;

/// The rows that a scan gave.
pub type ScannedRows = Vec<(Key, Bytes)>;

/// The cache of one snapshot; `S` says what a scan reads.
pub struct ReadCache<S> {
    /// Single rows by their keys.
    pub rows: Cache<Key, Arc<Bytes>, ByBytes>,
    /// What scans gave.
    pub scans: Cache<S, Arc<ScannedRows>, ByBytes>,
}

impl<S: Eq + Hash> ReadCache<S> {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            rows: Cache::with_weighter(ROWS.0, ROWS.1, ByBytes),
            scans: Cache::with_weighter(SCANS.0, SCANS.1, ByBytes),
        }
    }
}

/// Weighs entries by their bytes.
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

/// Copies of the rows of a scan while it runs, until they are too long to be cached.
#[derive(Default)]
pub struct Copies {
    rows: ScannedRows,
    bytes: usize,
}

impl Copies {
    /// Copies a row.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes += key.len() + value.len();
        if self.bytes <= SCAN_BYTES_MAX {
            self.rows.push((key.to_vec(), value.to_vec()));
        } else {
            self.rows = ScannedRows::new();
        }
    }

    /// All of them, unless they are too long.
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
