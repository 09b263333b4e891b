//! CRC-32 of small texts and keys: it tells them apart and finds typing errors; it protects nothing.

use crc::{CRC_32_ISO_HDLC, Crc};

/// CRC-32 as in zip and gzip. Its table is built once.
pub(crate) static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
