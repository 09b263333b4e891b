//! The listeners: accept connections within limits, and drain running requests at a stop.

mod connection;
mod engines;
mod exchange;
mod files;
mod followed;
mod front;
mod incoming;
mod list;
mod nodes;
mod object;
mod owed;
mod pages;
mod parts;
mod pass;
mod patient;
mod place;
mod response;
mod routes;
mod seats;
mod store;
mod stream;
mod upload;
mod waiting;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use switchboard_core::budget::CONNECTIONS;
use switchboard_core::http::request::Door;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

pub use self::front::{Entrance, Front};
pub use self::routes::{OwnHost, Routes};
use self::seats::Seats;
use crate::room::Holder;
use crate::sparse::Sparse;

/// Default of the most connections at once; more are turned away.
pub const CONNECTIONS_MAX: u64 = CONNECTIONS.all;
/// File descriptors kept for everything else: the operator's own address, requests to the outside, the store, files
/// being read.
const RESERVE: u64 = 768;
/// Connections that may wait in the listen backlog.
const BACKLOG: u32 = 4_096;
static NOT_ACCEPTED: Sparse = Sparse::new();
/// How long a stop waits for running requests.
const DRAIN: Duration = Duration::from_secs(30);

/// Answers to connections that are turned away: for lack of room, or because the share of their address is used up.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 79\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{\"message\":\"Too many connections are open. Try again shortly.\",\"retry_after\":1}";
const SHARE_USED: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 94\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{\"message\":\"Too many connections of this address are open. Close some first.\",\"retry_after\":1}";
/// Most turned-away connections at once that are waited for until they have read the answer; further ones are closed
/// right after it is sent.
static TURNED_AWAY: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(256)));
/// How long such a connection may take to read it.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of its request that are read and dropped: closing a socket with unread bytes may discard the answer.
const FAREWELL_BYTES_MAX: u64 = 64 << 10;

/// Raises the limit of open files and returns how many of the wished connections it allows, 1 at least.
pub fn room(wished: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If it cannot be raised, the limit that there is counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = wished.min(descriptors.saturating_sub(RESERVE)).max(1);
    if room < wished {
        tracing::warn!(
            descriptors,
            connections = room,
            "fewer connections than configured: raise the limit of open files"
        );
    }
    room
}

/// Binds a listener; an address in `TIME_WAIT` is reused, so that a restart succeeds at once.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves all listeners until `stop` changes, then lets running requests finish.
pub async fn serve(front: Arc<Front>, listeners: Vec<(TcpListener, Entrance)>, stop: watch::Receiver<bool>) {
    let loops = listeners.into_iter().map(|(listener, entrance)| {
        let room = match entrance {
            Entrance::Clients(Door::Main) => &front.rooms.connections,
            Entrance::Clients(Door::Admin) => &front.rooms.admin_connections,
            Entrance::Nodes => &front.rooms.node_connections,
        };
        let seats = Seats::new(Arc::clone(room));
        tokio::spawn(accept(Arc::clone(&front), listener, entrance, seats, stop.clone()))
    });
    for listening in loops.collect::<Vec<_>>() {
        if let Err(error) = listening.await {
            tracing::error!(%error, "a listener failed");
        }
    }
}

async fn accept(
    front: Arc<Front>,
    listener: TcpListener,
    entrance: Entrance,
    seats: Arc<Seats>,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            _ = stop.changed() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Mostly out of file descriptors: a pause lets connections close.
                if let Some(more) = NOT_ACCEPTED.more() {
                    tracing::warn!(%error, more, "a connection was not accepted");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (front, seats, watcher, stop) = (Arc::clone(&front), Arc::clone(&seats), graceful.watcher(), stop.clone());
        tokio::spawn(async move {
            let holder = if entrance == Entrance::Nodes { Holder::Service } else { front.holder(peer.ip()) };
            match seats.take(holder).await {
                Ok(seat) => {
                    front.metrics.opened();
                    connection::run(&front, stream, peer, entrance, seat, watcher, stop).await;
                    front.metrics.closed();
                }
                Err(full) => turn_away(&front, stream, if full.is_own() { SHARE_USED } else { BUSY }),
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time");
    }
}

/// Answers a connection that there is no room, without blocking the listener.
fn turn_away(front: &Front, mut stream: TcpStream, answer: &'static [u8]) {
    front.metrics.turned_away();
    let Ok(permit) = Arc::clone(&TURNED_AWAY).try_acquire_owned() else {
        // The send buffer of a new connection holds this answer; nobody waits until it is read.
        let _ = stream.into_std().and_then(|mut stream| stream.write_all(answer));
        return;
    };
    tokio::spawn(async move {
        let farewell = async {
            stream.write_all(answer).await?;
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(FAREWELL_BYTES_MAX), &mut tokio::io::sink()).await
        };
        // A client that does not read in time misses the answer.
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        drop(permit);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_turned_away_hears_a_whole_answer() {
        for answer in [BUSY, SHARE_USED] {
            let text = std::str::from_utf8(answer).expect("ASCII");
            let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
            assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{}", body.len());
            let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
            assert!(body["message"].is_string() && body["retry_after"] == 1);
        }
    }
}
