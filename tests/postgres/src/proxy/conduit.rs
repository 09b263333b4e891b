//! [`Conduit`]: one connection through a proxy.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::Shared;
use super::faults::{Faults, Flow, Loss};

/// Most bytes that are read at once. What is shorter ends a request.
const CHUNK_BYTES: usize = 64 * 1_024;
/// Most chunks under way in one direction, so 4 MiB.
const CHUNKS_MAX: usize = 64;

/// Bytes under way, and when they are to arrive.
type Chunk = (Instant, Vec<u8>);

/// The connection is to be cut.
struct Cut;

impl From<io::Error> for Cut {
    // Whatever one side sees, the other one sees as well.
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// One connection through a proxy.
pub struct Conduit {
    shared: Arc<Shared>,
    faults: watch::Receiver<Faults>,
    random: Mutex<fastrand::Rng>,
    /// How long it lives, as a share of the longest life.
    life: f64,
    /// Number of times that all connections had been cut before it came.
    cuts: u64,
    /// The next answer is to be lost.
    loses_answer: AtomicBool,
    /// Bytes of it were swallowed, by [`Flow`].
    has_gap: [AtomicBool; 2],
}

impl Conduit {
    pub fn new(shared: Arc<Shared>, faults: watch::Receiver<Faults>, number: u64) -> Self {
        // Neighbouring seeds must not give neighbours the same numbers.
        let seed = shared.seed ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = fastrand::Rng::with_seed(seed);
        let (life, cuts) = (random.f64(), faults.borrow().cuts);
        let (loses_answer, has_gap) = (AtomicBool::default(), Default::default());
        Self { shared, faults, random: Mutex::new(random), life, cuts, loses_answer, has_gap }
    }

    /// Carries bytes both ways until both sides have closed, or it is cut.
    pub async fn carry(self, mut client: TcpStream) {
        let is_cut = match TcpStream::connect(self.shared.target()).await {
            Ok(mut server) => {
                let is_cut = self.join(&mut client, &mut server).await;
                // Closed without waiting for anything, a connection is reset.
                let _ = is_cut.then(|| server.set_zero_linger());
                is_cut
            }
            Err(_) => true,
        };
        if is_cut {
            let _ = client.set_zero_linger();
            self.shared.counters.cuts.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns whether it is to be cut, once it is or both sides have closed.
    async fn join(&self, client: &mut TcpStream, server: &mut TcpStream) -> bool {
        // If it cannot be set, small chunks take a little longer.
        let _ = (server.set_nodelay(true), client.set_nodelay(true));
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let both = async {
            let requests = self.flow(Flow::ToServer, from_client, to_server);
            let answers = self.flow(Flow::ToClient, from_server, to_client);
            tokio::try_join!(requests, answers)
        };
        tokio::select! {
            closed = both => closed.is_err(),
            () = self.cut() => true,
        }
    }

    /// Returns when the link cuts it.
    async fn cut(&self) {
        let (mut faults, mut end) = (self.faults.clone(), None);
        loop {
            let now = faults.borrow_and_update().clone();
            let has_gap = |flow: Flow| self.has_gap[flow as usize].load(Ordering::Relaxed);
            let is_healed = |flow: Flow| has_gap(flow) && !now.swallowed[flow as usize];
            if now.cuts != self.cuts || is_healed(Flow::ToServer) || is_healed(Flow::ToClient) {
                return;
            }
            let longest = now.longest_life;
            let life = longest.map(|longest| *end.get_or_insert_with(|| Instant::now() + longest.mul_f64(self.life)));
            let ended = async {
                match life {
                    Some(end) => sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ended => return,
                changed = faults.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Carries one direction until its side closes.
    async fn flow(&self, flow: Flow, from: ReadHalf<'_>, to: WriteHalf<'_>) -> Result<(), Cut> {
        let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
        tokio::try_join!(self.read(flow, from, sender), self.write(flow, receiver, to)).map(drop)
    }

    async fn read(&self, flow: Flow, mut from: ReadHalf<'_>, to: mpsc::Sender<Chunk>) -> Result<(), Cut> {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let length = from.read(&mut buffer).await?;
            let (delay, is_swallowed) = {
                let faults = self.faults.borrow();
                (faults.delays[flow as usize], faults.swallowed[flow as usize])
            };
            if is_swallowed {
                self.has_gap[flow as usize].store(true, Ordering::Relaxed);
                self.shared.counters.swallowed.fetch_add(length as u64, Ordering::Relaxed);
                if length == 0 {
                    // Nobody learns that it was closed, until the link is healed.
                    std::future::pending::<()>().await;
                }
                continue;
            }
            if length == 0 {
                return Ok(());
            }
            let cuts = self.decide(flow, length)?;
            let due = Instant::now() + delay;
            // The other end of the channel is there as long as nothing is cut.
            to.send((due, buffer[..length].to_vec())).await.map_err(|_| Cut)?;
            if cuts {
                to.send((due, Vec::new())).await.map_err(|_| Cut)?;
            }
        }
    }

    /// Decides what becomes of a chunk: lost (`Err`), passed on, or passed on with a cut behind it (`true`).
    fn decide(&self, flow: Flow, length: usize) -> Result<bool, Cut> {
        if flow == Flow::ToClient {
            return if self.loses_answer.load(Ordering::Relaxed) { Err(Cut) } else { Ok(false) };
        }
        let loss = if length < CHUNK_BYTES { self.next_loss() } else { None };
        let Some(loss) = loss else { return Ok(false) };
        self.shared.counters.losses.fetch_add(1, Ordering::Relaxed);
        // The answer may be quicker than the cut.
        self.loses_answer.store(true, Ordering::Relaxed);
        match loss {
            Loss::Request => Err(Cut),
            Loss::Connection => Ok(true),
            Loss::Answer => Ok(false),
        }
    }

    fn next_loss(&self) -> Option<Loss> {
        let wanted = self.shared.next_loss.lock().unwrap_or_else(PoisonError::into_inner).take();
        let drawn = || {
            let (loss, per_mille) = self.faults.borrow().loss?;
            let drawn = self.random.lock().unwrap_or_else(PoisonError::into_inner).u32(..1_000);
            (drawn < per_mille).then_some(loss)
        };
        wanted.or_else(drawn)
    }

    async fn write(&self, flow: Flow, mut from: mpsc::Receiver<Chunk>, mut to: WriteHalf<'_>) -> Result<(), Cut> {
        while let Some((due, chunk)) = from.recv().await {
            wait_until(due).await;
            if chunk.is_empty() {
                return Err(Cut);
            }
            to.write_all(&chunk).await?;
            self.shared.counters.passed[flow as usize].fetch_add(chunk.len() as u64, Ordering::Relaxed);
        }
        to.shutdown().await?;
        Ok(())
    }
}

/// Waits until a moment on a thread of its own: ticks of the runtime's timer, of a millisecond, would decide what comes late.
async fn wait_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        let _ = spawn_blocking(move || std::thread::sleep(left)).await;
    }
}
