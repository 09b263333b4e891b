//! [`ObjectWriter`] makes an object of bytes as they come. At most two parts of it are in memory.

use std::time::Duration;

use object_store::path::Path as ObjectPath;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use switchboard_core::object::{ObjectUpload, StoredObject, UploadError};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::chunks::Sealer;
use super::{Vault, upload_error};

/// How long a part, or the end of an upload, may take.
const PART: Duration = Duration::from_mins(2);
/// Bytes after which the free space of a disk is looked at again.
const LOOK_BYTES: u64 = 8 << 20;

/// An object that is being written. [`Self::finish`] or [`Self::abort`] must end it.
pub struct ObjectWriter<'v> {
    vault: &'v Vault,
    path: ObjectPath,
    bytes_max: u64,
    sealer: Option<Sealer>,
    /// What is to be stored next.
    buffer: Vec<u8>,
    /// The upload, once there was more than a part.
    upload: Option<Box<dyn MultipartUpload>>,
    /// The part on its way.
    sending: Option<JoinHandle<object_store::Result<()>>>,
    bytes: u64,
    looked: u64,
}

impl<'v> ObjectWriter<'v> {
    pub(super) fn new(vault: &'v Vault, upload: &ObjectUpload) -> Self {
        Self {
            vault,
            path: ObjectPath::from(&*upload.name),
            bytes_max: upload.bytes_max as u64,
            sealer: vault.seals.then(|| Sealer::new(&upload.key)),
            buffer: Vec::new(),
            upload: None,
            sending: None,
            bytes: 0,
            looked: 0,
        }
    }

    /// Looks whether there is room for so many bytes more.
    pub fn look(&mut self, bytes: u64) -> Result<(), UploadError> {
        self.looked = self.bytes;
        if self.vault.has_room(bytes) { Ok(()) } else { Err(UploadError::DiskFull) }
    }

    /// Appends bytes, and waits for the part before the last.
    pub async fn write(&mut self, data: &[u8]) -> Result<(), UploadError> {
        self.bytes += data.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(UploadError::TooLarge);
        }
        if self.bytes - self.looked >= LOOK_BYTES {
            self.look(LOOK_BYTES)?;
        }
        match &mut self.sealer {
            Some(sealer) => sealer.write(data, &mut self.buffer),
            None => self.buffer.extend_from_slice(data),
        }
        while self.buffer.len() > self.vault.part_bytes {
            let rest = self.buffer.split_off(self.vault.part_bytes);
            let part = std::mem::replace(&mut self.buffer, rest);
            self.send(part).await?;
        }
        Ok(())
    }

    /// Sends a part, once the one before has arrived.
    async fn send(&mut self, part: Vec<u8>) -> Result<(), UploadError> {
        self.arrived().await?;
        if self.upload.is_none() {
            let begun = in_time(self.vault.store.put_multipart(&self.path)).await?;
            self.upload = Some(begun);
        }
        if let Some(upload) = &mut self.upload {
            self.sending = Some(tokio::spawn(upload.put_part(PutPayload::from(part))));
        }
        Ok(())
    }

    async fn arrived(&mut self) -> Result<(), UploadError> {
        let Some(sending) = self.sending.take() else { return Ok(()) };
        in_time(async { sending.await.unwrap_or_else(|error| Err(error.into())) }).await
    }

    /// Stores the rest; the object is durable then. On an error nothing is left of it.
    pub async fn finish(mut self) -> Result<StoredObject, UploadError> {
        match self.complete().await {
            Ok(()) => {
                let bytes = u32::try_from(self.bytes).map_err(|_| UploadError::TooLarge)?;
                Ok(StoredObject { bytes, sealed: self.vault.seals })
            }
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    async fn complete(&mut self) -> Result<(), UploadError> {
        if let Some(sealer) = self.sealer.take() {
            sealer.finish(&mut self.buffer);
        }
        let rest = std::mem::take(&mut self.buffer);
        if self.upload.is_none() && rest.len() <= self.vault.part_bytes {
            return in_time(self.vault.store.put(&self.path, PutPayload::from(rest))).await.map(drop);
        }
        let mut parts = rest.chunks(self.vault.part_bytes).map(<[u8]>::to_vec).collect::<Vec<_>>().into_iter();
        for part in parts.by_ref() {
            self.send(part).await?;
        }
        self.arrived().await?;
        match &mut self.upload {
            Some(upload) => in_time(upload.complete()).await.map(drop),
            None => Err(UploadError::Unreachable),
        }
    }

    /// Gives the object up: nothing of it is left, as far as what keeps it can be reached.
    pub async fn abort(mut self) {
        if let Some(sending) = self.sending.take() {
            sending.abort();
        }
        if let Some(mut upload) = self.upload.take()
            && let Err(error) = in_time(upload.abort()).await
        {
            tracing::warn!(?error, "an upload could not be called off");
        }
    }
}

/// Waits for what keeps objects, for a while.
async fn in_time<T>(work: impl Future<Output = object_store::Result<T>>) -> Result<T, UploadError> {
    let Ok(done) = timeout(PART, work).await else {
        tracing::warn!("a recording could not be stored within {} s", PART.as_secs());
        return Err(UploadError::Unreachable);
    };
    done.map_err(|error| upload_error(&error))
}
