//! [`Disk`]: a disk in memory that logs every operation, and [`Cut`], which computes what is left after a power
//! failure.
//!
//! A real disk may keep, lose or tear whatever was written since the last sync, in any combination, down to sectors of
//! 512 bytes. The length of a file changes atomically, and bytes past the length that was kept are lost.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;
use switchboard_sim::random::Random;

/// Size of a sector, which a disk writes atomically, bytes.
pub const SECTOR_BYTES: usize = 512;

/// One operation that changes a disk.
#[derive(Clone)]
pub enum Op {
    /// Writes these bytes at this offset.
    Write(usize, Vec<u8>),
    /// Sets the length of the file.
    Length(usize),
    /// Makes all earlier operations durable.
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
    bytes: Vec<u8>,
    log: Vec<Op>,
    trouble: Trouble,
}

/// A disk in memory; clones share it.
#[derive(Clone)]
pub struct Disk(Arc<Mutex<Platter>>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("bytes", &self.lock().bytes.len()).finish_non_exhaustive()
    }
}

impl Disk {
    /// Creates a disk with this content.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Platter { bytes, log: Vec::new(), trouble: Trouble::None })))
    }

    fn lock(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of operations so far.
    pub fn ops(&self) -> usize {
        self.lock().log.len()
    }

    /// Returns the content, durable or not.
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// Returns the log of operations.
    pub fn log(&self) -> Vec<Op> {
        self.lock().log.clone()
    }

    /// Sets how it fails from here on.
    pub fn fail(&self, trouble: Trouble) {
        self.lock().trouble = trouble;
    }

    fn change(&self, op: Op) -> io::Result<()> {
        let mut platter = self.lock();
        platter.spend(Some(&op))?;
        apply(&mut platter.bytes, &op);
        platter.log.push(op);
        Ok(())
    }
}

impl Platter {
    /// Counts an operation against the failure mode, and fails if it is due; `None` is a read.
    fn spend(&mut self, op: Option<&Op>) -> io::Result<()> {
        let (left, fails, error) = match (&mut self.trouble, op) {
            (Trouble::None, _) | (Trouble::Full(_), None | Some(Op::Sync)) | (Trouble::Unsynced(_), None) => {
                return Ok(());
            }
            (Trouble::Full(left), _) => (left, true, io::ErrorKind::StorageFull),
            (Trouble::Unsynced(left), op) => (left, matches!(op, Some(Op::Sync)), io::ErrorKind::StorageFull),
            (Trouble::Broken(left), _) => (left, true, io::ErrorKind::Other),
        };
        if *left == 0 && fails {
            return Err(error.into());
        }
        *left = left.saturating_sub(1);
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut platter = self.lock();
        platter.spend(None)?;
        let at = place(offset)?;
        let found = platter.bytes.get(at..at.saturating_add(out.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Op::Length(place(len)?))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(Op::Sync)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Op::Write(place(offset)?, data.to_vec()))
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Applies an operation; bytes past the end are dropped.
fn apply(bytes: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write(at, data) => keep(bytes, *at, data),
        Op::Length(length) => bytes.resize(*length, 0),
        Op::Sync => {}
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
    synced_at: usize,
    synced: Vec<u8>,
}

impl<'l> Cut<'l> {
    /// Starts before the first operation, on a disk with this content.
    pub fn before(log: &'l [Op], bytes: Vec<u8>) -> Self {
        Self { log, at: 0, synced_at: 0, synced: bytes }
    }

    /// Returns the number of operations before the cut.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Advances by one operation; returns false at the end.
    pub fn step(&mut self) -> bool {
        let Some(op) = self.log.get(self.at) else { return false };
        self.at += 1;
        if matches!(op, Op::Sync) {
            self.log[self.synced_at..self.at].iter().for_each(|op| apply(&mut self.synced, op));
            self.synced_at = self.at;
        }
        true
    }

    /// Draws what may be left on the disk: everything that was synced, and all, nothing or any part of the rest.
    pub fn image(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        let fates: &[(u64, Fate)] = random.one(&[
            &[(1, Fate::Kept)][..],
            &[(1, Fate::Lost)][..],
            &[(1, Fate::Kept), (1, Fate::Lost), (2, Fate::Torn)][..],
            &[(8, Fate::Kept), (1, Fate::Torn)][..],
            &[(8, Fate::Lost), (1, Fate::Kept)][..],
        ]);
        for op in &self.log[self.synced_at..self.at] {
            match (random.weighed(fates), op) {
                (Fate::Lost, _) => {}
                (Fate::Torn, Op::Write(at, data)) => tear(&mut bytes, *at, data, random),
                (Fate::Kept | Fate::Torn, op) => apply(&mut bytes, op),
            }
        }
        bytes
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
        let disk = Disk::of(Vec::new());
        disk.set_len(2_048).expect("room");
        disk.write(0, &[1; 1_024]).expect("room");
        disk.sync_data().expect("room");
        disk.write(512, &[2; 1_024]).expect("room");
        let log = disk.log();
        let mut cut = Cut::before(&log, Vec::new());
        while cut.step() {}
        let mut random = Random::new(1);
        let (mut old, mut new, mut torn) = (false, false, false);
        for _ in 0..1_000 {
            let image = cut.image(&mut random);
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
        let disk = Disk::of(vec![7; 512]);
        disk.fail(Trouble::Full(1));
        disk.write(0, &[8]).expect("one write has room");
        assert_eq!(disk.write(0, &[9]).expect_err("no room").kind(), io::ErrorKind::StorageFull);
        let mut out = [0; 2];
        disk.read(0, &mut out).expect("a read needs no room");
        assert_eq!((out, disk.ops()), ([8, 7], 1));
    }
}
