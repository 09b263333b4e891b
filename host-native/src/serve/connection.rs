//! One connection: HTTP/1.1, or HTTP/2 when it begins with its preface; slow ones are closed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use switchboard_core::http::request::Door;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::exchange;
use crate::host::Host;

/// Until the head of a request must be complete, and how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(15);
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Streams of one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves a connection until it ends.
pub async fn run(
    host: &Arc<Host>,
    stream: TcpStream,
    peer: SocketAddr,
    door: Door,
    watcher: Watcher,
    mut stop: watch::Receiver<bool>,
) {
    // Small answers leave at once.
    let _ = stream.set_nodelay(true);
    let second = tokio::select! {
        // A connection that never said anything holds up no drain.
        _ = stop.changed() => return,
        second = tokio::time::timeout(HEAD, is_http2(&stream)) => second,
    };
    let Ok(Ok(second)) = second else { return };
    let service = service_fn(|request| exchange::answer(Arc::clone(host), request, peer.ip(), door));
    let io = TokioIo::new(stream);
    let ended = if second {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(32 << 10)
            .keep_alive_interval(HEAD)
            .keep_alive_timeout(HEAD);
        watcher.watch(builder.serve_connection(io, service)).await
    } else {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES_MAX).half_close(false);
        watcher.watch(builder.serve_connection(io, service)).await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Whether the connection begins with the preface of HTTP/2 (RFC 9113 section 3.4).
async fn is_http2(stream: &TcpStream) -> std::io::Result<bool> {
    let mut start = [0; PREFACE.len()];
    loop {
        let read = stream.peek(&mut start).await?;
        if read == 0 || start[..read] != PREFACE[..read] {
            return Ok(false);
        }
        if read == PREFACE.len() {
            return Ok(true);
        }
        // What was peeked stays readable: waiting for more is a pause.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
