//! The listeners: connections, limits, and a drain that lets running requests finish.

mod connection;
mod docs;
mod exchange;
mod incoming;
mod list;
mod owed;
mod pages;
mod parts;
mod patient;
mod response;
mod seats;
mod store;
mod stream;

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use switchboard_core::budget::CONNECTIONS;
use switchboard_core::http::request::Door;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use self::seats::Seats;
use crate::host::Host;
use crate::room::Holder;
use crate::sparse::Sparse;

/// Connections at once, where nothing else is said; more are turned away.
pub const CONNECTIONS_MAX: u64 = CONNECTIONS.all;
/// Descriptors kept for everything else: that address, requests to the outside, the store, files being read.
const RESERVE: u64 = 768;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4_096;
static NOT_ACCEPTED: Sparse = Sparse::new();
/// How long a drain waits for running requests.
const DRAIN: Duration = Duration::from_secs(30);

/// What a connection hears for which there is no room, or none in the share of its address.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 79\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{\"message\":\"Too many connections are open. Try again shortly.\",\"retry_after\":1}";
const SHARE_USED: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 94\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{\"message\":\"Too many connections of this address are open. Close some first.\",\"retry_after\":1}";
/// Connections that are waited for until they have heard it.
static TURNED_AWAY: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(256)));
/// How long one that is turned away may take to hear it.
const FAREWELL: Duration = Duration::from_secs(1);
/// How much of what it said meanwhile is read, so that closing does not take the answer with it.
const FAREWELL_BYTES_MAX: u64 = 64 << 10;

/// How many connections this process can have of those wished for, after asking the system for more descriptors.
pub fn room(wished: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it may not be raised, what there is counts.
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

/// Binds a listener.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until told to stop, then lets running requests finish.
pub async fn serve(host: Arc<Host>, listeners: Vec<(TcpListener, Door)>, stop: watch::Receiver<bool>) {
    let loops = listeners.into_iter().map(|(listener, door)| {
        let room = if door == Door::Admin { &host.rooms.admin_connections } else { &host.rooms.connections };
        let seats = Seats::new(Arc::clone(room));
        tokio::spawn(accept(Arc::clone(&host), listener, door, seats, stop.clone()))
    });
    for listening in loops.collect::<Vec<_>>() {
        if let Err(error) = listening.await {
            tracing::error!(%error, "a listener failed");
        }
    }
}

async fn accept(
    host: Arc<Host>,
    listener: TcpListener,
    door: Door,
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
                // Out of descriptors, mostly: pausing lets connections close.
                if let Some(more) = NOT_ACCEPTED.more() {
                    tracing::warn!(%error, more, "a connection was not accepted");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (host, seats, watcher, stop) = (Arc::clone(&host), Arc::clone(&seats), graceful.watcher(), stop.clone());
        tokio::spawn(async move {
            match seats.take(holder(&host, peer.ip())) {
                Ok(seat) => {
                    host.metrics.opened();
                    connection::run(&host, stream, peer, door, seat, watcher, stop).await;
                    host.metrics.closed();
                }
                Err(full) => turn_away(&host, stream, if full.is_own() { SHARE_USED } else { BUSY }),
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time");
    }
}

/// Whose connections an address's count among: proxies that the operator trusts carry those of many.
fn holder(host: &Host, peer: IpAddr) -> Holder {
    let trusted = host.service.setup.config.trust_proxy.iter().any(|net| net.contains(&peer));
    if trusted { Holder::Service } else { Holder::nobody(peer) }
}

/// Tells a connection that there is no room, without waiting for it.
fn turn_away(host: &Host, mut stream: TcpStream, answer: &'static [u8]) {
    host.metrics.turned_away();
    let Ok(permit) = Arc::clone(&TURNED_AWAY).try_acquire_owned() else {
        // A new connection takes so few bytes at once; nobody waits until they are read.
        let _ = stream.into_std().and_then(|mut stream| stream.write_all(answer));
        return;
    };
    tokio::spawn(async move {
        let farewell = async {
            stream.write_all(answer).await?;
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(FAREWELL_BYTES_MAX), &mut tokio::io::sink()).await
        };
        // Whoever does not listen misses it.
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
