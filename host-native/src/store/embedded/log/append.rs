//! The thread that writes records: a commit puts its rows into the table meanwhile.

use std::io::{Error, Result};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use redb::StorageBackend;

/// Bytes for a place of the file.
struct Piece {
    at: u64,
    bytes: Vec<u8>,
}

/// Writes pieces of a file, each synced before the next one.
#[derive(Debug)]
pub(super) struct Appender {
    /// `None` once the thread is to end.
    pieces: Option<SyncSender<Piece>>,
    done: Receiver<Result<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Appender {
    /// Starts the thread.
    pub fn start(file: Arc<dyn StorageBackend>) -> Result<Self> {
        let (pieces, queue) = sync_channel::<Piece>(1);
        let (tell, done) = sync_channel(1);
        let work = move || {
            while let Ok(Piece { at, bytes }) = queue.recv() {
                let written = file.write(at, &bytes).and_then(|()| file.sync_data());
                if tell.send(written).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log".into()).spawn(work)?;
        Ok(Self { pieces: Some(pieces), done, thread: Some(thread) })
    }

    /// Begins to write a piece. There is one at a time.
    pub fn begin(&self, at: u64, bytes: Vec<u8>) -> Result<()> {
        let sent = self.pieces.as_ref().map(|pieces| pieces.send(Piece { at, bytes }));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(gone()) }
    }

    /// Waits until the piece is on the disk.
    pub fn wait(&self) -> Result<()> {
        self.done.recv().unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> Error {
    Error::other("its thread has ended")
}

impl Drop for Appender {
    fn drop(&mut self) {
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            // A panic of it was told by what waited for it.
            let _ = thread.join();
        }
    }
}
