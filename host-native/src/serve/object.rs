//! Objects as bodies of answers: read as their client takes them, a window at a time.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame};
use switchboard_core::http::refusal::Refusal;
use switchboard_core::object::ObjectRead;
use tokio::sync::mpsc;

use super::response::ResponseBody;
use crate::host::Host;
use crate::room::{Held, Holder};
use crate::vault::{ObjectReadError, Vault, WINDOW_BYTES};

/// Windows in the channel: the next one is read once the last was taken.
const WINDOWS: usize = 1;
const MISSING: &str = "Recording not found";
const DAMAGED: &str = "The recording is damaged: what is stored is not what was uploaded.";
const UNREACHABLE: &str = "The recording cannot be read now: what keeps recordings did not answer.";

/// Opens a part of an object for a holder, the address that asks for it. The first window is read before anything is
/// answered, so that what is missing or damaged is told.
pub async fn open(host: &Host, object: ObjectRead, holder: Holder) -> Result<ResponseBody, Refusal> {
    let vault = host.vault.clone().ok_or(Refusal::NotKept)?;
    let (downloads, answers) = (&host.rooms.recording_downloads, &host.rooms.answers);
    let held = [
        downloads.try_take(holder, 1)?,
        downloads.try_take(Holder::Account(object.account), 1)?,
        answers.try_take(holder, 2 * WINDOW_BYTES)?,
    ];
    let first = vault.read(&object, object.range.start).await.map_err(refusal)?;
    let (windows, wait) = mpsc::channel(WINDOWS);
    tokio::spawn(send(vault, object, first, windows));
    Ok(Windows { wait, _held: held }.boxed())
}

fn refusal(error: ObjectReadError) -> Refusal {
    match error {
        ObjectReadError::Missing => Refusal::NotFound(MISSING),
        ObjectReadError::Damaged => Refusal::BadGateway(DAMAGED.into()),
        ObjectReadError::Unreachable => Refusal::BadGateway(UNREACHABLE.into()),
    }
}

type Windowed = Result<Bytes, std::io::Error>;

/// Sends window after window, until the end, an error, or the client's going away.
async fn send(vault: Arc<Vault>, object: ObjectRead, first: Bytes, windows: mpsc::Sender<Windowed>) {
    let mut at = object.range.start + first.len() as u64;
    if windows.send(Ok(first)).await.is_err() {
        return;
    }
    while at < object.range.end {
        // Reserve room first, so that at most two windows are in memory.
        let Ok(room) = windows.reserve().await else { return };
        match vault.read(&object, at).await {
            Ok(bytes) => {
                at += bytes.len() as u64;
                room.send(Ok(bytes));
            }
            Err(_) => return room.send(Err(std::io::Error::other("the recording broke off"))),
        }
    }
}

/// The body of such an answer. Its length is in the head alone: as long as its end is not sent, the connection is busy.
struct Windows {
    wait: mpsc::Receiver<Windowed>,
    _held: [Held; 3],
}

impl Body for Windows {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(ready!(self.wait.poll_recv(context)).map(|window| window.map(Frame::data)))
    }
}
