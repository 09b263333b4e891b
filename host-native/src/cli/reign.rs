//! [`Reign`]: a host that serves, and what runs beside it.

use std::net::SocketAddr;
use std::sync::Arc;

use switchboard::clock;
use switchboard::edge::EdgeToken;
use switchboard::host::{Host, HostOptions};
use switchboard::seal::Seal;
use switchboard::send::{self, Outside};
use switchboard::serve::{Front, Serving};
use switchboard::settings::{ServeSettings, Yields};
use switchboard::store::{Store, StoreEnd};
use switchboard::vault::Vault;
use switchboard_core::account::token::{Token, TokenKind};
use switchboard_core::egress::Filter;
use switchboard_core::http::reply::Reply;
use switchboard_core::settings::Configured;
use switchboard_core::setup::{BuiltIn, Config};
use switchboard_engine_sim as engine;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};

use super::Failed;
use super::login_link::near;
use super::run::{Process, WriterThread};

/// A host that does not serve yet.
pub struct Heir {
    host: Arc<Host>,
    writer: WriterThread,
    engine: Option<Token>,
}

/// A host that serves.
pub struct Reign {
    host: Arc<Host>,
    writer: WriterThread,
    stop: watch::Sender<bool>,
    schedule: JoinHandle<()>,
    engine: Option<JoinHandle<Result<(), engine::UnfitSettings>>>,
    beside: Vec<AbortHandle>,
}

impl Reign {
    /// Prepares a host over a store. It may wait for the store.
    pub fn host(process: &Process, store: Store) -> Result<Heir, Failed> {
        let settings = &process.settings;
        let Configured { mut config, rate_limits, egress_allow } = settings.service()?;
        config.settings = settings.shown();
        config.login_code = process.link.as_ref().map(|link| link.code(process.clock.now()));
        let engine = settings.simulated_engine().map(|yields| inside(&mut config, yields)).transpose()?;
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
        Ok(Heir { host, writer, engine })
    }

    /// Begins to serve; returns the owner's secrets if the store was empty.
    pub async fn begin(
        process: &Process,
        Heir { host, writer, engine }: Heir,
        front: &Front,
        address: SocketAddr,
    ) -> Result<(Self, Option<Reply>), Failed> {
        let secrets = host.first_start().await.map_err(|error| error as Failed)?;
        let (stop, stopping) = watch::channel(false);
        let schedule = tokio::spawn(Arc::clone(&host).schedule(stopping.clone()));
        let locks = Arc::clone(&host);
        let mut beside = vec![tokio::spawn(async move { locks.tell_of_locks().await }).abort_handle()];
        if let Some(vault) = host.vault.clone() {
            beside.push(tokio::spawn(async move { vault.tell_of_trouble().await }).abort_handle());
        }
        front.set(Serving::Here(Arc::clone(&host)));
        let engine = engine.map(|token| attach(&process.settings, address, &token, stopping)).transpose()?;
        Ok((Self { host, writer, stop, schedule, engine, beside }, secrets))
    }

    /// Waits until the store has ended, and returns why.
    pub async fn ended(&self) -> StoreEnd {
        self.host.store.ended().await
    }

    /// Lets nothing wait any more, and begins no more work.
    pub fn stop(&self) {
        self.host.close();
        let _ = self.stop.send(true);
    }

    /// Gives the rows up to another node.
    pub async fn hand_over(&self) {
        self.host.store.hand_over().await;
    }

    /// Waits for the end of what runs beside the host, which was told to stop.
    pub async fn end(self) -> Result<WriterThread, Failed> {
        if let Some(engine) = self.engine {
            engine.await??;
        }
        self.schedule.await?;
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

/// Makes a token for the built-in simulated engine, valid as long as the process runs.
fn inside(config: &mut Config, Yields(yields): Yields) -> Result<Token, Failed> {
    let token = Token::new(TokenKind::Engine, 0, 0, &clock::seed()?.derive("engine"));
    config.engine = Some(BuiltIn { digest: token.digest(), yields });
    Ok(token)
}

/// Starts the simulated engine in this process; it connects over HTTP to the address that any engine uses.
fn attach(
    settings: &ServeSettings,
    address: SocketAddr,
    token: &Token,
    stopping: watch::Receiver<bool>,
) -> Result<JoinHandle<Result<(), engine::UnfitSettings>>, Failed> {
    let near = near(address);
    let mut own = engine::EngineSettings::new(format!("http://{near}"), token.text());
    own.speed = settings.engine_speed.unwrap_or(own.speed);
    own.seed = settings.engine_seed.unwrap_or(own.seed);
    Ok(tokio::spawn(engine::run(own, send::client()?.build()?, stopping)))
}
