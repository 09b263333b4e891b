//! Pages that only the host can make: readiness, metrics, the console, the API explorer and the backup.

use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use switchboard_core::admin::tables::{LastVerify, StoreState};
use switchboard_core::http::reply::{Content, HostPage, Reply, data};
use switchboard_core::json::ToJson;
use switchboard_core::record::Iso;
use switchboard_core::service::Service;
use switchboard_core::time::Timestamp;
use tokio::sync::mpsc;

use super::files::FileRequest;
use super::front::Front;
use super::nodes;
use super::response::{Counted, ResponseBody, full, response as plain};
use crate::backup;
use crate::history::{History, Verified};
use crate::host::Host;
use crate::reserve::free_bytes;
use crate::room::Held;

/// Chunks of a backup in the channel, of `CHUNK_BYTES` each.
const CHUNKS: usize = 8;
const CHUNK_BYTES: usize = 256 << 10;

/// Converts a reply whose content is not the host's into a response.
pub fn response(host: &Arc<Host>, mut reply: Reply, held: Option<Held>, operation: &str) -> Response<ResponseBody> {
    match reply.content {
        // The document is large and public: all responses share one copy, which is made at the first request.
        Content::Json(ref bytes) if operation == "openapi" && bytes == host.service.setup.openapi() => {
            let document = Bytes::from_owner(Document(Arc::clone(host)));
            plain(reply, Some(("application/json", full(document))))
        }
        Content::Json(ref mut bytes) if held.is_some() => {
            let bytes =
                held.map_or_else(Bytes::new, |held| Bytes::from_owner(Counted::new(std::mem::take(bytes), held)));
            plain(reply, Some(("application/json", full(bytes))))
        }
        _ => plain(reply, None),
    }
}

/// Answers with a page that only the host can make; `reply` has its status and headers.
pub async fn page(
    front: &Front,
    host: &Arc<Host>,
    page: HostPage,
    reply: Reply,
    asked: &FileRequest<'_>,
) -> Response<ResponseBody> {
    match page {
        HostPage::Ready => ready(host, reply),
        HostPage::Metrics => {
            front.tell_stored().await;
            let text = host.metrics.text(host.store.file_bytes(), host.store.is_full());
            plain(reply, Some(("application/openmetrics-text; version=1.0.0; charset=utf-8", full(text))))
        }
        HostPage::Nodes => plain(nodes::listed(host, asked.target, reply).await, None),
        HostPage::DrainNode(id) => plain(nodes::drained(host, asked.target, id, reply).await, None),
        HostPage::Docs => asked.explorer(reply),
        HostPage::Home => asked.home(reply),
        HostPage::Console => asked.console(reply),
        HostPage::Widget => asked.widget(reply),
        HostPage::Store => plain(reply, Some(("application/json", full(data(&state(host)).to_json())))),
        HostPage::Backup => plain(reply, Some(("application/octet-stream", stream(Arc::clone(host))))),
    }
}

/// The service's `OpenAPI` document, borrowed while it is being sent.
struct Document(Arc<Host>);

impl AsRef<[u8]> for Document {
    fn as_ref(&self) -> &[u8] {
        self.0.service.setup.openapi()
    }
}

fn ready(host: &Host, mut reply: Reply) -> Response<ResponseBody> {
    let body: &'static [u8] = if host.store.snapshot().is_err() {
        br#"{"message":"The store does not answer."}"#
    } else if host.store.is_full() {
        br#"{"message":"The disk is full: only deletes and the ends of calls are carried out."}"#
    } else {
        return plain(reply, Some(("application/json", full(&br#"{"status":"ready"}"#[..]))));
    };
    reply.status = 503;
    plain(reply, Some(("application/json", full(body))))
}

/// Returns what is known of the store; one in memory has no size, history or disk.
fn state(host: &Host) -> StoreState {
    let history = host.store.folder().map(History::of).unwrap_or_default();
    let iso = |seconds| Iso(Timestamp::from_seconds(seconds));
    StoreState {
        bytes: host.store.file_bytes(),
        free_bytes: host.store.folder().and_then(|folder| free_bytes(folder).ok()).unwrap_or(0),
        last_backup_at: history.backup_at.map(iso),
        last_verify: history.verified.map(|Verified { at, ok }| LastVerify { at: iso(at), ok }),
        release: Service::version(),
    }
}

/// Keeps in the store's history that a backup is complete.
fn backed_up(host: &Host) {
    let now = host.clock.now().seconds();
    let kept = host.store.folder().map(|folder| History::change(folder, |history| history.backup_at = Some(now)));
    if let Some(Err(error)) = kept {
        tracing::warn!(%error, "the time of the backup cannot be kept");
    }
}

/// Streams a backup; one that stops half way lacks its digest, and `restore` refuses it.
fn stream(host: Arc<Host>) -> ResponseBody {
    let (chunks, wait) = mpsc::channel::<Result<Bytes, std::io::Error>>(CHUNKS);
    tokio::task::spawn_blocking(move || {
        let mut out = std::io::BufWriter::with_capacity(CHUNK_BYTES, Chunks(&chunks));
        let written = backup::write(&host.store, &mut out)
            .and_then(|_| out.flush().map_err(|error| crate::store::StoreError::of("the backup stopped", &error)));
        match written {
            Ok(()) => backed_up(&host),
            Err(error) => {
                tracing::error!(%error, "a backup stopped");
                let _ = chunks.blocking_send(Err(std::io::Error::other("the backup stopped")));
            }
        }
    });
    received(wait)
}

/// Returns a body of the chunks that arrive on a channel.
pub fn received(wait: mpsc::Receiver<Result<Bytes, std::io::Error>>) -> ResponseBody {
    Received(wait).boxed()
}

struct Received(mpsc::Receiver<Result<Bytes, std::io::Error>>);

impl Body for Received {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

struct Chunks<'c>(&'c mpsc::Sender<Result<Bytes, std::io::Error>>);

impl Write for Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map(|()| bytes.len()).map_err(|_| std::io::Error::other("the reader went away"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
