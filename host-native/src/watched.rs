//! [`Watched`]: storage of the store that remembers whether a sync has failed. After that the system may have dropped
//! what it could not write, and still report success for the next sync.

use std::io::Result;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{BackendError, StorageBackend};

type Locked<T> = std::result::Result<T, BackendError>;

/// Storage with a flag for failed syncs.
#[derive(Debug)]
pub struct Watched<B> {
    storage: B,
    failed: Arc<AtomicBool>,
}

impl<B: StorageBackend> Watched<B> {
    /// Wraps storage; `failed` becomes true with the first sync that fails.
    pub fn new(storage: B, failed: Arc<AtomicBool>) -> Self {
        Self { storage, failed }
    }
}

impl<B: StorageBackend> StorageBackend for Watched<B> {
    fn sync_data(&self) -> Result<()> {
        self.storage.sync_data().inspect_err(|_| self.failed.store(true, Ordering::Release))
    }

    fn len(&self) -> Result<u64> {
        self.storage.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.storage.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.storage.set_len(len)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.storage.write(offset, data)
    }

    fn close(&self) -> Result<()> {
        self.storage.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.storage.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.storage.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.storage.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.storage.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<()> {
        self.storage.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Locked<bool> {
        self.storage.query_lock_range(start, end)
    }
}
