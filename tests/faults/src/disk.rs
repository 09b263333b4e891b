//! [`Disk`]: a disk in memory with the files of a store, which logs every operation, and [`Cut`], which computes what is
//! left after a power failure.
//!
//! A real disk may keep, lose or tear whatever was written since the last sync of its file, in any combination, down to
//! sectors of 512 bytes; a sync of one file says nothing of the other. The length of a file changes atomically, and
//! bytes past the length that was kept are lost.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;
use switchboard::store::{IntegrityCheck, Store, StoreError, StoreFile};
use switchboard_sim::random::Random;

/// Size of a sector, which a disk writes atomically, bytes.
pub const SECTOR_BYTES: usize = 512;

/// Content of the files of a store; one that is not there is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Content of its tables.
    pub tables: Vec<u8>,
    /// Content of its log.
    pub log: Vec<u8>,
}

impl Image {
    fn file(&mut self, file: StoreFile) -> &mut Vec<u8> {
        match file {
            StoreFile::Tables => &mut self.tables,
            StoreFile::Log => &mut self.log,
        }
    }

    fn apply(&mut self, Op { file, change }: &Op) {
        apply(self.file(*file), change);
    }
}

/// One operation on a file.
#[derive(Clone)]
pub struct Op {
    /// The file.
    pub file: StoreFile,
    /// What it does.
    pub change: FileChange,
}

/// What an operation does to its file.
#[derive(Clone)]
pub enum FileChange {
    /// Writes these bytes at this offset.
    Write(usize, Vec<u8>),
    /// Sets the length of the file.
    Length(usize),
    /// Makes all earlier operations on the file durable.
    Sync,
}

/// Failure mode of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Every operation succeeds.
    None,
    /// After this many more writes, every write fails for lack of space.
    Full(u64),
    /// After this many more writes and syncs, every sync fails for lack of space.
    Unsynced(u64),
    /// After this many more operations everything fails, even reads.
    Broken(u64),
}

struct Platter {
    image: Image,
    log: Vec<Op>,
    trouble: Trouble,
    /// The file that has the trouble; `None`: both.
    troubled: Option<StoreFile>,
}

/// A disk in memory; clones share it.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<Platter>>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("ops", &self.ops()).finish_non_exhaustive()
    }
}

impl Disk {
    /// Creates a disk with this content.
    pub fn of(image: Image) -> Self {
        let platter = Platter { image, log: Vec::new(), trouble: Trouble::None, troubled: None };
        Self(Arc::new(Mutex::new(platter)))
    }

    fn lock(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a file, empty if it is not there.
    pub fn file(&self, file: StoreFile) -> DiskFile {
        DiskFile { disk: self.clone(), file }
    }

    /// Opens the store on it, and creates one if it is empty; its log has halves of this length, bytes.
    pub fn open(&self, log_half_bytes: usize, look: IntegrityCheck) -> Result<Store, StoreError> {
        let disk = self.clone();
        Store::over(move |file| disk.file(file), log_half_bytes, look)
    }

    /// Returns the number of operations so far.
    pub fn ops(&self) -> usize {
        self.lock().log.len()
    }

    /// Returns the content, durable or not.
    pub fn image(&self) -> Image {
        self.lock().image.clone()
    }

    /// Returns the log of operations.
    pub fn log(&self) -> Vec<Op> {
        self.lock().log.clone()
    }

    /// Sets how it fails from here on.
    pub fn fail(&self, trouble: Trouble) {
        self.fail_at(trouble, None);
    }

    /// Sets how one file fails from here on, if one is given, while the other one does not.
    pub fn fail_at(&self, trouble: Trouble, file: Option<StoreFile>) {
        let mut platter = self.lock();
        (platter.trouble, platter.troubled) = (trouble, file);
    }
}

impl Platter {
    /// Counts an operation against the failure mode, and fails if it is due; `None` is a read.
    fn spend(&mut self, file: StoreFile, change: Option<&FileChange>) -> io::Result<()> {
        if self.troubled.is_some_and(|troubled| troubled != file) {
            return Ok(());
        }
        let (left, fails, error) = match (&mut self.trouble, change) {
            (Trouble::None, _) | (Trouble::Full(_), None | Some(FileChange::Sync)) | (Trouble::Unsynced(_), None) => {
                return Ok(());
            }
            (Trouble::Full(left), _) => (left, true, io::ErrorKind::StorageFull),
            (Trouble::Unsynced(left), change) => {
                (left, matches!(change, Some(FileChange::Sync)), io::ErrorKind::StorageFull)
            }
            (Trouble::Broken(left), _) => (left, true, io::ErrorKind::Other),
        };
        if *left == 0 && fails {
            return Err(error.into());
        }
        *left = left.saturating_sub(1);
        Ok(())
    }
}

/// A file of a disk.
#[derive(Clone, Debug)]
pub struct DiskFile {
    disk: Disk,
    file: StoreFile,
}

impl DiskFile {
    fn change(&self, change: FileChange) -> io::Result<()> {
        let mut platter = self.disk.lock();
        platter.spend(self.file, Some(&change))?;
        let op = Op { file: self.file, change };
        platter.image.apply(&op);
        platter.log.push(op);
        Ok(())
    }
}

impl StorageBackend for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().image.file(self.file).len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut platter = self.disk.lock();
        platter.spend(self.file, None)?;
        let (at, bytes) = (place(offset)?, platter.image.file(self.file));
        let found = bytes.get(at..at.saturating_add(out.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(FileChange::Length(place(len)?))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(FileChange::Sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(FileChange::Write(place(offset)?, data.to_vec()))
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Applies a change; bytes past the end are dropped.
fn apply(bytes: &mut Vec<u8>, change: &FileChange) {
    match change {
        FileChange::Write(at, data) => keep(bytes, *at, data),
        FileChange::Length(length) => bytes.resize(*length, 0),
        FileChange::Sync => {}
    }
}

fn keep(bytes: &mut [u8], at: usize, data: &[u8]) {
    let end = at.saturating_add(data.len()).min(bytes.len());
    if at < end {
        bytes[at..end].copy_from_slice(&data[..end - at]);
    }
}

/// A log of operations that can be cut after each of them.
pub struct Cut<'l> {
    log: &'l [Op],
    at: usize,
    /// Operations that no sync of their file has followed.
    unsynced: Vec<&'l Op>,
    synced: Image,
}

impl<'l> Cut<'l> {
    /// Starts before the first operation, on a disk with this content.
    pub fn before(log: &'l [Op], image: Image) -> Self {
        Self { log, at: 0, unsynced: Vec::new(), synced: image }
    }

    /// Returns the number of operations before the cut.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Advances by one operation; returns false at the end.
    pub fn step(&mut self) -> bool {
        let Some(op) = self.log.get(self.at) else { return false };
        self.at += 1;
        if matches!(op.change, FileChange::Sync) {
            self.unsynced.extract_if(.., |earlier| earlier.file == op.file).for_each(|op| self.synced.apply(op));
        } else {
            self.unsynced.push(op);
        }
        true
    }

    /// Draws what may be left on the disk: everything that was synced, and all, nothing or any part of the rest.
    pub fn image(&self, random: &mut Random) -> Image {
        let mut image = self.synced.clone();
        let fates: &[(u64, Fate)] = random.one(&[
            &[(1, Fate::Kept)][..],
            &[(1, Fate::Lost)][..],
            &[(1, Fate::Kept), (1, Fate::Lost), (2, Fate::Torn)][..],
            &[(8, Fate::Kept), (1, Fate::Torn)][..],
            &[(8, Fate::Lost), (1, Fate::Kept)][..],
        ]);
        for op in &self.unsynced {
            match (random.weighed(fates), &op.change) {
                (Fate::Lost, _) => {}
                (Fate::Torn, FileChange::Write(at, data)) => tear(image.file(op.file), *at, data, random),
                (Fate::Kept | Fate::Torn, _) => image.apply(op),
            }
        }
        image
    }
}

#[derive(Clone, Copy)]
enum Fate {
    Kept,
    Lost,
    Torn,
}

fn tear(bytes: &mut [u8], at: usize, data: &[u8], random: &mut Random) {
    let mut from = 0;
    while from < data.len() {
        let until = (from + SECTOR_BYTES - (at + from) % SECTOR_BYTES).min(data.len());
        if random.chance(500) {
            keep(bytes, at + from, &data[from..until]);
        }
        from = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_stays_and_what_was_not_may_be_anything() {
        let disk = Disk::of(Image::default());
        let file = disk.file(StoreFile::Tables);
        file.set_len(2_048).expect("room");
        file.write(0, &[1; 1_024]).expect("room");
        file.sync_data().expect("room");
        file.write(512, &[2; 1_024]).expect("room");
        // The other file's sync says nothing of this one.
        let other = disk.file(StoreFile::Log);
        other.set_len(512).expect("room");
        other.write(0, &[3; 512]).expect("room");
        other.sync_data().expect("room");
        let log = disk.log();
        let mut cut = Cut::before(&log, Image::default());
        while cut.step() {}
        let mut random = Random::new(1);
        let (mut old, mut new, mut torn) = (false, false, false);
        for _ in 0..1_000 {
            let Image { tables: image, log } = cut.image(&mut random);
            assert_eq!(log, [3; 512], "what was synced is there");
            assert_eq!((image.len(), &image[..512]), (2_048, &[1; 512][..]), "what was synced is there");
            assert!(image[512..1_024] == [1; 512] || image[512..1_024] == [2; 512], "a sector is whole");
            let (first, second) = (image[512] == 2, image[1_024] == 2);
            old |= !first && !second;
            new |= first && second;
            torn |= first != second;
        }
        assert!(old && new && torn);
    }

    #[test]
    fn a_full_disk_refuses_writes_and_still_reads() {
        let disk = Disk::of(Image { tables: vec![7; 512], log: vec![7; 512] });
        let [file, other] = [StoreFile::Tables, StoreFile::Log].map(|file| disk.file(file));
        disk.fail_at(Trouble::Full(1), Some(StoreFile::Tables));
        file.write(0, &[8]).expect("one write has room");
        assert_eq!(file.write(0, &[9]).expect_err("no room").kind(), io::ErrorKind::StorageFull);
        let mut out = [0; 2];
        file.read(0, &mut out).expect("a read needs no room");
        other.write(0, &[9]).expect("the other file has room");
        assert_eq!((out, disk.ops()), ([8, 7], 2));
        disk.fail(Trouble::Full(0));
        assert!(other.write(0, &[9]).is_err() && file.write(0, &[9]).is_err());
    }
}
