//! The listeners: connections, limits, and a drain that lets running requests finish.

mod connection;
mod docs;
mod exchange;
mod pages;
mod store;
mod stream;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use switchboard_core::http::request::Door;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::host::Host;

/// Connections at once; more wait in the listen queue.
const CONNECTIONS_MAX: usize = 16_384;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4_096;
/// How long a drain waits for running requests.
const DRAIN: Duration = Duration::from_secs(30);

/// Binds a listener.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until told to stop, then lets running requests finish.
pub async fn serve(host: Arc<Host>, listeners: Vec<(TcpListener, Door)>, stop: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let loops = listeners.into_iter().map(|(listener, door)| {
        tokio::spawn(accept(Arc::clone(&host), listener, door, Arc::clone(&slots), stop.clone()))
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
    slots: Arc<Semaphore>,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { break };
        let accepted = tokio::select! {
            _ = stop.changed() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, mostly: pausing lets connections close.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (host, watcher, stop) = (Arc::clone(&host), graceful.watcher(), stop.clone());
        tokio::spawn(async move {
            host.metrics.opened();
            connection::run(&host, stream, peer, door, watcher, stop).await;
            host.metrics.closed();
            drop(slot);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time");
    }
}
