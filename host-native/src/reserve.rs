//! [`Reserve`]: a file of allocated blocks beside the store. On a full disk it is deleted, so that deletes and the ends
//! of calls can still be written.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use switchboard_core::limits::FULL_SECONDS;

use crate::private;

const FILE: &str = "reserve";
/// Size of the reserve, bytes: a delete changes some dozens of pages of 4 KiB.
const RESERVE_BYTES: u64 = 32 << 20;
/// Free space needed before a reserve is made again, bytes: with less, the next write would give it up.
const ROOM_BYTES: u64 = RESERVE_BYTES + (8 << 20);
/// How often a full disk is checked for room.
const AGAIN: Duration = Duration::from_secs(FULL_SECONDS);
/// Unit of `st_blocks`, bytes.
const BLOCK_BYTES: u64 = 512;

/// Disk space kept for writes that must succeed on a full disk.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    given_up: AtomicBool,
    /// When the disk was last checked for room; locked while the file is created or deleted.
    looked: Mutex<Instant>,
}

impl Reserve {
    /// Keeps a reserve in a folder, created once its disk has room; `None` if the file system cannot keep one.
    pub fn keep(folder: &Path) -> Option<Self> {
        let path = folder.join(FILE);
        match make(&path, RESERVE_BYTES) {
            Ok(()) => {}
            Err(error) if lacks_room(&error) => {
                tracing::warn!(%error, "the disk has no room for a reserve of {RESERVE_BYTES} bytes");
            }
            Err(error) => {
                tracing::warn!(%error, "there is no reserve for a full disk: deletes are refused on one as well");
                return None;
            }
        }
        Some(Self { path, given_up: AtomicBool::default(), looked: Mutex::new(Instant::now()) })
    }

    /// Returns whether the disk is full; while it is, checks every `AGAIN` whether it has room and makes the reserve
    /// again.
    pub fn is_given_up(&self) -> bool {
        if self.given_up.load(Ordering::Acquire)
            && let Ok(looked) = self.looked.try_lock()
            && looked.elapsed() >= AGAIN
        {
            self.make_again(looked);
        }
        self.given_up.load(Ordering::Acquire)
    }

    fn make_again(&self, mut looked: MutexGuard<'_, Instant>) {
        *looked = Instant::now();
        match make(&self.path, ROOM_BYTES) {
            Ok(()) => tracing::info!("the disk has room: everything is carried out again, and a reserve is kept"),
            Err(error) if lacks_room(&error) => return,
            Err(error) => {
                tracing::warn!(%error, "no reserve can be kept: whether the disk has room is tried by writing");
            }
        }
        self.given_up.store(false, Ordering::Release);
    }

    /// Deletes the reserve, so that what must be written has its space.
    pub fn give_up(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        *looked = Instant::now();
        if let Err(error) = remove(&self.path) {
            tracing::error!(%error, "the reserve cannot be given up");
        }
        if !self.given_up.swap(true, Ordering::AcqRel) {
            tracing::error!("the disk is full: only deletes and the ends of calls are carried out, from a reserve");
        }
    }
}

/// Returns whether an operation failed for lack of disk space, quota or file size.
pub fn lacks_room(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// Returns the bytes that the disk of a folder has left for this process.
pub fn free_bytes(folder: &Path) -> Result<u64> {
    let disk = statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Creates the reserve if at least `room` bytes are free; an existing one stays.
fn make(path: &Path, room: u64) -> Result<()> {
    if path.metadata().is_ok_and(|meta| meta.blocks().saturating_mul(BLOCK_BYTES) >= RESERVE_BYTES) {
        return Ok(());
    }
    remove(path)?;
    // Trying without enough room would take the last space from a running write.
    if free_bytes(path.parent().unwrap_or(path))? < room {
        return Err(ErrorKind::StorageFull.into());
    }
    let file = private::create(path)?;
    fill(&file, room).inspect_err(|_| drop(remove(path)))
}

fn fill(file: &File, room: u64) -> Result<()> {
    fallocate(file, FallocateFlags::empty(), 0, room)?;
    file.set_len(RESERVE_BYTES)
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Moves the last check back, so that the next call checks again.
    fn wait(reserve: &Reserve) {
        let earlier = Instant::now().checked_sub(AGAIN).expect("the machine runs longer than that");
        *reserve.looked.lock().expect("nobody panics") = earlier;
    }

    #[test]
    fn a_reserve_is_given_up_and_made_again() {
        let folder = std::env::temp_dir().join(format!("switchboard-reserve-{}", std::process::id()));
        private::create_folder(&folder).expect("a folder");
        let file = folder.join(FILE);
        std::fs::write(&file, "cut short").expect("room");
        let reserve = Reserve::keep(&folder).expect("the file system keeps one");
        let meta = file.metadata().expect("it is there");
        assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (RESERVE_BYTES, 0o600));
        assert!(meta.blocks() * BLOCK_BYTES >= RESERVE_BYTES, "it holds real blocks");
        assert!(!reserve.is_given_up());

        reserve.give_up();
        assert!(!file.exists() && reserve.is_given_up(), "room is not looked for at once");
        wait(&reserve);
        assert!(!reserve.is_given_up());
        assert_eq!(file.metadata().expect("it is there again").len(), RESERVE_BYTES);

        // An error other than a lack of room does not keep writes refused.
        reserve.give_up();
        std::fs::remove_dir_all(&folder).expect("it was made");
        wait(&reserve);
        assert!(!reserve.is_given_up());
    }
}
