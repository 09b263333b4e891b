//! ZIP archives of a few small files, stored as they are: the host compresses nothing either, and no library writes them
//! without a standard library. The same files give the same bytes.

use alloc::vec::Vec;

use crate::checksum::CRC32;

/// Signature and version of a file, of its entry in the directory, and of the directory's end (APPNOTE.TXT 6.3.10,
/// sections 4.3.7, 4.3.12 and 4.3.16).
const FILE: [u8; 4] = *b"PK\x03\x04";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";
/// Version 2.0; names are UTF-8 (bit 11); stored; midnight of 1980-01-01, the first time that the format knows.
const KIND: [u8; 10] = [20, 0, 0, 8, 0, 0, 0, 0, 0x21, 0];

/// An archive under construction. All its files together have less than 4 GiB.
#[derive(Default)]
pub struct StoredArchive {
    files: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl StoredArchive {
    /// Adds a file under a name of its own.
    pub fn add(&mut self, name: &str, content: &[u8]) {
        let length = |length: usize| u32::try_from(length).expect("less than 4 GiB").to_le_bytes();
        let name_length = u16::try_from(name.len()).expect("a short name").to_le_bytes();
        let (sum, bytes, at) = (CRC32.checksum(content).to_le_bytes(), length(content.len()), length(self.files.len()));
        // The same description stands before the file and in the directory; there are no further fields.
        let described = [&KIND[..], &sum, &bytes, &bytes, &name_length, &[0; 2]].concat();
        self.files.extend([&FILE[..], &described, name.as_bytes(), content].concat());
        // By version 2.0; no comment, the first disk, no attributes.
        self.directory.extend([&ENTRY[..], &[20, 0], &described, &[0; 10], &at, name.as_bytes()].concat());
        self.count += 1;
    }

    /// Returns the archive.
    pub fn finish(self) -> Vec<u8> {
        let length = |length: usize| u32::try_from(length).expect("less than 4 GiB").to_le_bytes();
        let (count, at) = (self.count.to_le_bytes(), length(self.files.len()));
        let end = [&END[..], &[0; 4], &count, &count, &length(self.directory.len()), &at, &[0; 2]].concat();
        [self.files, self.directory, end].concat()
    }
}
