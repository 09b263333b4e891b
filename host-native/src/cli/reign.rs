//! [`Reign`]: a host that serves, and what runs beside it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard::edge::EdgeToken;
use switchboard::host::{Host, HostOptions};
use switchboard::seal::Seal;
use switchboard::send::Outside;
use switchboard::serve::Front;
use switchboard::settings::ServeSettings;
use switchboard::store::{LaneId, Store, StoreEnd, StoreError};
use switchboard::vault::Vault;
use switchboard::writer::Failure;
use switchboard_core::egress::Filter;
use switchboard_core::http::reply::Reply;
use switchboard_core::settings::Configured;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

use super::Failed;
use super::run::{Process, WriterThread};
use super::simulated::BuiltInEngine;

/// A host that does not serve yet.
pub struct Heir {
    host: Arc<Host>,
    writer: WriterThread,
}

/// A host that serves.
pub struct Reign {
    host: Arc<Host>,
    writer: WriterThread,
    stop: watch::Sender<bool>,
    /// Until it is known to have ended.
    schedule: Option<JoinHandle<()>>,
    beside: Vec<AbortHandle>,
}

/// Why a host does not begin to serve.
#[derive(Debug)]
pub struct FirstStartFailed(Failure);

impl fmt::Display for FirstStartFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the first start failed: {:?}", self.0)
    }
}

impl Error for FirstStartFailed {}

/// Returns whether a host did not begin to serve since its store was not reached, or is another node's: it may be there
/// later.
pub fn is_passing(error: &Failed) -> bool {
    match error.downcast_ref() {
        Some(FirstStartFailed(failure)) => *failure == Failure::Unavailable,
        None => matches!(error.downcast_ref(), Some(StoreError::Unavailable(_))),
    }
}

impl Reign {
    /// Prepares a host over a store. It may wait for the store.
    pub fn host(process: &Process, store: Store, engine: Option<&BuiltInEngine>) -> Result<Heir, Failed> {
        let settings = &process.settings;
        let Configured { mut config, rate_limits, egress_allow } = settings.service()?;
        config.settings = settings.shown();
        config.engine = engine.map(BuiltInEngine::known);
        config.login_code = process.link.as_ref().map(|link| link.code(process.clock.now()));
        let store = sealed(store, settings)?.counted()?.reserving();
        let vault = Vault::open(settings.recordings.as_deref(), &process.folder, store.is_sealed())?;
        let means = HostOptions {
            config,
            store,
            rate_limits,
            clock: Arc::clone(&process.clock),
            outside: Outside::World(Filter::new(egress_allow)),
            edge: settings.store_token.as_deref().map(EdgeToken::new).transpose()?,
            rooms: Arc::clone(&process.rooms),
            metrics: Arc::clone(&process.metrics),
            vault,
        };
        let (host, writer) = Host::start(means).map_err(|error| error as Failed)?;
        Ok(Heir { host, writer })
    }

    /// Begins to serve; returns the owner's secrets if the store was empty.
    pub async fn begin(Heir { host, writer }: Heir, front: &Front) -> Result<(Self, Option<Reply>), FirstStartFailed> {
        let secrets = host.first_start().await.map_err(FirstStartFailed)?;
        let (stop, stopping) = watch::channel(false);
        let schedule = Some(tokio::spawn(Arc::clone(&host).schedule(stopping)));
        let locks = Arc::clone(&host);
        let mut beside = vec![tokio::spawn(async move { locks.tell_of_locks().await }).abort_handle()];
        if let Some(vault) = host.vault.clone() {
            beside.push(tokio::spawn(async move { vault.tell_of_trouble().await }).abort_handle());
        }
        front.begin(Arc::clone(&host));
        Ok((Self { host, writer, stop, schedule, beside }, secrets))
    }

    /// Waits until the store has ended, and returns why.
    pub fn ended(&self) -> impl Future<Output = StoreEnd> + Send + 'static {
        self.host.store.ended()
    }

    /// Lets nothing wait any more, and begins no more work.
    pub fn stop(&self) {
        self.host.close();
        let _ = self.stop.send(true);
    }

    /// Waits for what its jobs send, as it was told to stop; what takes longer is handed back to them.
    pub async fn settle(&mut self, limit: Duration) -> Result<(), Failed> {
        let Some(schedule) = &mut self.schedule else { return Ok(()) };
        if let Ok(ended) = timeout(limit, schedule).await {
            self.schedule = None;
            ended?;
        } else {
            self.host.hand_back();
        }
        Ok(())
    }

    /// Reads and writes nothing any more: another lane of this process gets the rows.
    pub async fn retire(&self) {
        self.host.store.retire().await;
    }

    /// Gives the rows up to other nodes, but for so many slots; returns the store of those that stay. `others` are lanes of
    /// this process that have retired, and end with it.
    pub async fn hand_over(&self, keep: usize, others: Vec<LaneId>) -> Option<Store> {
        self.host.store.hand_over(keep, others).await
    }

    /// Waits for the end of what runs beside the host, which was told to stop.
    pub async fn end(self) -> Result<WriterThread, Failed> {
        if let Some(schedule) = self.schedule {
            schedule.await?;
        }
        self.beside.iter().for_each(AbortHandle::abort);
        Ok(self.writer)
    }
}

/// Gives the store its seal keys; without any, warns that secrets are stored in clear.
fn sealed(store: Store, settings: &ServeSettings) -> Result<Store, Failed> {
    let seal = Seal::of(settings.seal_key_file.as_deref(), settings.seal_keys.as_deref())?;
    if seal.current().is_none() {
        tracing::warn!("secrets stand in the store in clear: no seal key is set (--seal-key-file)");
    }
    let (store, count) = store.sealed(seal)?;
    if count > 0 {
        tracing::info!(count, "values were sealed with the current key");
    }
    Ok(store)
}
