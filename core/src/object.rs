//! Objects: what is too large for rows, and so is kept by the host in a folder or a bucket. The core names them and
//! counts them; their bytes never come to it.

use alloc::string::String;
use core::fmt;
use core::ops::Range;

/// Key that encrypts one object and no other; `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectKey(pub [u8; 32]);

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ObjectKey(..)")
    }
}

/// An object to be made of the body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectUpload {
    /// Name of the object: segments of digits, `a` to `f` and `-`, separated by `/`. No other object ever has it.
    pub name: String,
    /// Key of the object, for a host that encrypts objects.
    pub key: ObjectKey,
    /// Number of the account that it belongs to, whose share of each budget pays for it.
    pub account: u32,
    /// Largest body, bytes.
    pub bytes_max: usize,
}

/// An object that is complete and durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Length of the body that it was made of, bytes.
    pub bytes: u32,
    /// Whether it is encrypted with its key.
    pub sealed: bool,
}

/// Why no object was made. Nothing of it is left, unless the host died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadError {
    /// The body broke off, or came too slowly.
    Cut,
    /// The body was larger than `bytes_max`.
    TooLarge,
    /// The disk that it would be on is full.
    DiskFull,
    /// The bucket could not be reached, or refused it.
    Unreachable,
}

/// A part of an object, to be sent as the body of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRead {
    /// Name of the object.
    pub name: String,
    /// Its key, if it is encrypted.
    pub key: Option<ObjectKey>,
    /// Number of the account that it belongs to.
    pub account: u32,
    /// Length of the whole, bytes.
    pub bytes: u64,
    /// The bytes to send, within that length.
    pub range: Range<u64>,
}
