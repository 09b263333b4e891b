//! What is stored of recordings: a row for each object, and one for all of an account.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64ct::{Base64UrlUnpadded, Encoding};

use crate::id;
use crate::json::ToJson;
use crate::key::{self, Space};
use crate::limits::URL_MAX;
use crate::object::ObjectKey;
use crate::record::{Rest, Secret, Stored, boolean, choice, count, micros, signed, text};
use crate::seed::Seed;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use crate::{choice, record};

/// Objects of a call that are looked at: its recording, uploads that are under way, and what is being deleted.
const OBJECTS_MAX: usize = 64;

choice! {
    /// Media type of a recording.
    pub enum AudioType {
        /// WAVE.
        Wav = "audio/wav",
        /// Ogg, such as Opus or Vorbis.
        Ogg = "audio/ogg",
        /// MPEG, such as MP3.
        Mpeg = "audio/mpeg",
    }
}

choice! {
    /// State of an object.
    pub enum ObjectState {
        /// Being uploaded, unless its host died.
        Pending = "pending",
        /// The recording of its call.
        Kept = "kept",
        /// To be deleted.
        Dropped = "dropped",
    }
}

record! {
    /// An object that holds, or is to hold, the recording of a call.
    pub struct RecordingRow stored as "a recording" {
        /// What becomes of it.
        state: ObjectState = choice::<ObjectState>().required(),
        /// When its upload began.
        began_at: Timestamp = micros().required(),
        /// Media type, as the engine named it.
        media: AudioType = choice::<AudioType>().required(),
        /// Key that encrypts it, base64.
        key: Secret = text(0, 64).required(),
        /// Length of the recording, bytes; 0 while it is being uploaded.
        bytes: u32 = count().or_int(0),
        /// Whether it is encrypted with the key.
        sealed: bool = boolean().or_bool(false),
        /// Base URL of the upload: that of its links in webhooks, for which nobody asks.
        base_url: String = text(0, URL_MAX).required(),
    }
}

record! {
    /// What all recordings of an account have in common.
    pub struct RecordingAccount stored as "the recordings of an account" {
        /// Key that signs their links, base64.
        key: Secret = text(0, 64).required(),
        /// Length of all of them that are stored, bytes.
        bytes: i64 = signed().or_int(0),
    }
}

record! {
    /// Answer to an uploaded recording.
    pub struct UploadedRecording {
        /// Signed URL of the recording, as the call shows it today.
        url: String = text(0, 2_048).required(),
    }
}

record! {
    /// Members of the event that says that a call has a recording.
    pub struct RecordingNote {
        /// Media type.
        content_type: AudioType = choice::<AudioType>().required(),
        /// Length, bytes.
        bytes: u32 = count().required(),
    }
}

/// An object of a call: its row, and what its key says.
#[derive(Clone, Debug)]
pub struct CallObject {
    /// Count of the call.
    pub call: u32,
    /// Number of the upload, drawn.
    pub upload: u64,
    /// What is stored.
    pub row: RecordingRow,
}

impl CallObject {
    /// Returns the objects of a call.
    pub fn all(account: Scope<'_>, call: u32) -> Result<Vec<Self>, Stop> {
        let rows = account.scan(key::recordings(account.space(), call), Order::Ascending, OBJECTS_MAX)?;
        rows.iter().map(|(at, row)| Self::read(at, row)).collect()
    }

    /// Reads an object from its key and row.
    pub fn read(at: &[u8], row: &[u8]) -> Result<Self, Stop> {
        let (call, upload) = key::read_recording(at).ok_or(RecordingRow::DAMAGED)?;
        Ok(Self { call, upload, row: RecordingRow::read(row)? })
    }

    /// Returns the object that is the recording of a call.
    pub fn kept(account: Scope<'_>, call: u32) -> Result<Option<Self>, Stop> {
        Ok(Self::all(account, call)?.into_iter().find(|object| object.row.state == ObjectState::Kept))
    }

    /// Returns an object of a call by the number of its upload.
    pub fn find(account: Scope<'_>, call: u32, upload: u64) -> Result<Option<Self>, Stop> {
        let at = key::recording(account.space(), call, upload);
        account.get(at.clone())?.map(|row| Self::read(&at, &row)).transpose()
    }

    /// Returns the object of a name.
    pub fn named(account: Scope<'_>, name: &str) -> Result<Option<Self>, Stop> {
        let parts = name.split_once('/').and_then(|(_, rest)| rest.split_once('-'));
        let Some((call, upload)) = parts else { return Ok(None) };
        match (id::parse(account.space(), call), u64::from_str_radix(upload, 16)) {
            (Some(call), Ok(upload)) => Self::find(account, call, upload),
            _ => Ok(None),
        }
    }

    /// Writes the row.
    pub fn save(&self, account: Scope<'_>) -> Result<(), Stop> {
        account.put(key::recording(account.space(), self.call, self.upload), self.row.to_json())
    }

    /// Returns the name of the object.
    pub fn name(&self, space: Space) -> String {
        let Space::Account(number) = space else { unreachable!("only accounts have calls") };
        format!("{}/{}-{:016x}", id::user(number), id::of(space, self.call), self.upload)
    }

    /// Returns the key of the object.
    pub fn key(&self) -> Result<ObjectKey, Stop> {
        decoded(&self.row.key).map(ObjectKey).ok_or(RecordingRow::DAMAGED)
    }
}

impl RecordingAccount {
    /// Loads what the recordings of an account have in common; `None` before the first.
    pub fn load(account: Scope<'_>) -> Result<Option<Self>, Stop> {
        account.get(key::recording_account(account.space()))?.map(|bytes| Self::read(&bytes)).transpose()
    }

    /// Loads it, or begins it with a key that is drawn.
    pub fn begin(account: Scope<'_>, seed: &Seed) -> Result<Self, Stop> {
        let new = || Self { key: encoded(&seed.derive("recording-links")), bytes: 0, rest: Rest::default() };
        Ok(Self::load(account)?.unwrap_or_else(new))
    }

    /// Writes it back.
    pub fn save(&self, account: Scope<'_>) -> Result<(), Stop> {
        account.put(key::recording_account(account.space()), self.to_json())
    }

    /// Returns the key that signs links.
    pub fn signing_key(&self) -> Result<[u8; 32], Stop> {
        decoded(&self.key).ok_or(Self::DAMAGED)
    }
}

/// Returns 32 bytes as they are stored.
pub fn encoded(bytes: &[u8; 32]) -> Secret {
    Secret(Base64UrlUnpadded::encode_string(bytes))
}

/// Reads 32 bytes from base64.
fn decoded(Secret(text): &Secret) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    (Base64UrlUnpadded::decode(text, &mut bytes).ok()?.len() == 32).then_some(bytes)
}
