//! [`Proxy`]: a link to a server, on loopback, that can be bad: it delays, cuts, swallows, refuses and loses answers.
//!
//! It knows nothing of what passes. What it draws comes from a seed: connections are numbered as they arrive, and each
//! draws from a generator of its own.

mod conduit;
mod faults;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::instance::free_port;
use crate::runtime::{finish, spawn, wait_until};
use conduit::Conduit;
use faults::Faults;
pub use faults::{Flow, Loss};

/// Longest wait for the next connection after one that failed for want of file descriptors.
const BREATH: Duration = Duration::from_millis(10);

/// What has passed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Connections that were taken.
    pub connections: u64,
    /// Connections that the proxy cut, lost requests and answers included.
    pub cuts: u64,
    /// Requests and answers that were lost.
    pub losses: u64,
    /// Bytes that were passed on to the server.
    pub bytes_to_server: u64,
    /// Bytes that were passed on to clients.
    pub bytes_to_client: u64,
    /// Bytes that were swallowed.
    pub bytes_swallowed: u64,
}

/// The counters behind [`Traffic`].
#[derive(Default)]
struct Counters {
    connections: AtomicU64,
    cuts: AtomicU64,
    losses: AtomicU64,
    passed: [AtomicU64; 2],
    swallowed: AtomicU64,
}

/// What all connections of a proxy share.
struct Shared {
    target: Mutex<SocketAddr>,
    seed: u64,
    counters: Counters,
    /// A loss that waits for the next request.
    next_loss: Mutex<Option<Loss>>,
}

impl Shared {
    fn target(&self) -> SocketAddr {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A link to a server; it and its connections end with this value.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    faults: watch::Sender<Faults>,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Proxy {
    /// Opens a link to a server that passes everything, and prints the seed of what it will draw.
    pub fn open(target: SocketAddr, seed: u64) -> Result<Self, String> {
        let address = (Ipv4Addr::LOCALHOST, free_port()?).into();
        eprintln!("proxy {address} to {target}: SEED={seed}");
        let shared =
            Shared { target: Mutex::new(target), seed, counters: Counters::default(), next_loss: Mutex::default() };
        let faults = watch::Sender::new(Faults::default());
        let proxy = Self { address, shared: Arc::new(shared), faults, accepting: Mutex::default() };
        proxy.listen()?;
        Ok(proxy)
    }

    /// Returns where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what has passed so far.
    pub fn traffic(&self) -> Traffic {
        let Counters { connections, cuts, losses, passed, swallowed } = &self.shared.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            connections: count(connections),
            cuts: count(cuts),
            losses: count(losses),
            bytes_to_server: count(&passed[Flow::ToServer as usize]),
            bytes_to_client: count(&passed[Flow::ToClient as usize]),
            bytes_swallowed: count(swallowed),
        }
    }

    /// Delays what comes from here on; order and rate stay, up to 4 MiB under way a connection and direction.
    pub fn delay(&self, flow: Flow, time: Duration) {
        self.faults.send_modify(|faults| faults.delays[flow as usize] = time);
    }

    /// Leads connections from here on to another server, as an address that moves with a failover does.
    pub fn turn_to(&self, target: SocketAddr) {
        *self.shared.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
    }

    /// Cuts all connections there are. Both ends see a reset.
    pub fn cut(&self) {
        self.faults.send_modify(|faults| faults.cuts += 1);
    }

    /// Cuts each connection, those that are open and those to come, after a drawn time of at most `longest`.
    pub fn cut_within(&self, longest: Duration) {
        self.faults.send_modify(|faults| faults.longest_life = Some(longest));
    }

    /// Loses the next request of any connection in this way, and cuts that connection. A request is what a client sends
    /// until it pauses.
    pub fn lose_next(&self, loss: Loss) {
        *self.shared.next_loss.lock().unwrap_or_else(PoisonError::into_inner) = Some(loss);
    }

    /// Loses requests from here on in this way with this probability, per mille. It begins with those by which a client
    /// logs in.
    pub fn lose(&self, loss: Loss, per_mille: u32) {
        self.faults.send_modify(|faults| faults.loss = Some((loss, per_mille)));
    }

    /// Swallows everything that flows this way, closing included, and closes nothing: a link that is half open. Both
    /// ways: a partition.
    pub fn swallow(&self, flow: Flow) {
        self.faults.send_modify(|faults| faults.swallowed[flow as usize] = true);
    }

    /// Refuses new connections; those that are open stay.
    pub fn refuse(&self) {
        let accepting = self.accepting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = accepting {
            task.abort();
            // Its listener is closed when the task is gone.
            let _ = finish(task);
        }
    }

    /// Passes everything again. Connections of which something was swallowed are cut.
    pub fn heal(&self) -> Result<(), String> {
        *self.shared.next_loss.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.faults.send_modify(Faults::heal);
        self.listen()
    }

    /// Listens, unless it does already.
    fn listen(&self) -> Result<(), String> {
        let mut accepting = self.accepting.lock().unwrap_or_else(PoisonError::into_inner);
        if accepting.is_none() {
            let address = self.address;
            let mut listener = Err(ErrorKind::AddrInUse.into());
            // A process that is being started holds what listened here before until it runs its program.
            let _ = wait_until("nobody listens there", || {
                listener = finish(async move { TcpListener::bind(address).await });
                !listener.as_ref().is_err_and(|error: &io::Error| error.kind() == ErrorKind::AddrInUse)
            });
            let listener = listener.map_err(|error| format!("the proxy's address {address}: {error}"))?;
            *accepting = Some(spawn(accept(listener, Arc::clone(&self.shared), self.faults.subscribe())));
        }
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Connections end when the sender of faults is gone.
        self.refuse();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, faults: watch::Receiver<Faults>) {
    loop {
        let accepted: io::Result<_> = listener.accept().await;
        let Ok((client, _)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let number = shared.counters.connections.load(Ordering::Relaxed);
        let conduit = Conduit::new(Arc::clone(&shared), faults.clone(), number);
        // Whoever sees it counted can cut it.
        shared.counters.connections.store(number + 1, Ordering::Relaxed);
        tokio::spawn(conduit.carry(client));
    }
}
