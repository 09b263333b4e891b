//! Keys of the recordings of calls.

use core::ops::Range;

use super::{Key, Space, Table, below, key, with};

/// Returns the key of an object that holds, or is to hold, the recording of a call, by the number of its upload; keys
/// sort by call.
pub fn recording(space: Space, call: u32, upload: u64) -> Key {
    with(key(space, Table::Recording, 12), &[&call.to_be_bytes(), &upload.to_be_bytes()])
}

/// Returns the range of the objects of a call.
pub fn recordings(space: Space, call: u32) -> Range<Key> {
    below(with(key(space, Table::Recording, 4), &[&call.to_be_bytes()]))
}

/// Returns the range of all objects of an account.
pub fn all_recordings(space: Space) -> Range<Key> {
    below(key(space, Table::Recording, 0))
}

/// Parses call and upload of a [`recording`] key.
pub fn read_recording(key: &[u8]) -> Option<(u32, u64)> {
    let (call, upload) = key.get(6..)?.split_at_checked(4)?;
    Some((u32::from_be_bytes(call.try_into().ok()?), u64::from_be_bytes(upload.try_into().ok()?)))
}

/// Returns the key of what all recordings of an account have in common.
pub fn recording_account(space: Space) -> Key {
    key(space, Table::RecordingAccount, 0)
}
