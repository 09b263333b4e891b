//! The commands `serve` and `dev`: start, signals and orderly stop.

use std::io::{ErrorKind, IsTerminal};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use rustix::fs::Mode;
use rustix::process::umask;
use switchboard::clock::Clock;
use switchboard::edge::EdgeToken;
use switchboard::host::{Host, HostOptions};
use switchboard::rooms::Rooms;
use switchboard::seal::Seal;
use switchboard::send::{self, Outside};
use switchboard::settings::{LogFormat, ServeSettings, Yields};
use switchboard::store::Store;
use switchboard::vault::Vault;
use switchboard::{clock, serve};
use switchboard_core::account::token::{Token, TokenKind};
use switchboard_core::egress::Filter;
use switchboard_core::http::request::Door;
use switchboard_core::settings::Configured;
use switchboard_core::setup::{BuiltIn, Config};
use switchboard_engine_sim as engine;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing_subscriber::EnvFilter;

use super::Failed;
use super::announce::announce;

const DATA: &str = "./switchboard-data";

/// Runs the service until a signal stops it.
pub fn serve(settings: ServeSettings, given: &ArgMatches, json: bool) -> Result<(), Failed> {
    start(&settings.load(given)?, json)
}

/// Runs the service with the settings of [`ServeSettings::for_development`].
pub fn dev(settings: ServeSettings, given: &ArgMatches, json: bool) -> Result<(), Failed> {
    start(&settings.load(given)?.for_development(), json)
}

fn start(settings: &ServeSettings, json: bool) -> Result<(), Failed> {
    log(settings);
    // Whatever is written here is for its owner alone, also where a library creates the file.
    umask(Mode::from_raw_mode(0o077));
    let Configured { mut config, rate_limits, egress_allow } = settings.service()?;
    config.settings = settings.shown();
    let engine = settings.simulated_engine().map(|yields| inside(&mut config, yields)).transpose()?;
    let folder = settings.data.clone().unwrap_or_else(|| PathBuf::from(DATA));
    let store = match &settings.store {
        Some(url) => Store::of_url(url)?,
        None => Store::open(&folder)?,
    };
    let store = sealed(store, settings)?.counted()?.reserving();
    let vault = Vault::open(settings.recordings.as_deref(), &folder, store.is_sealed())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let means = HostOptions {
        config,
        store,
        rate_limits,
        clock: Clock::at(settings.pace),
        outside: Outside::World(Filter::new(egress_allow)),
        edge: settings.store_token.as_deref().map(EdgeToken::new).transpose()?,
        rooms: Rooms::with_connections(serve::room(settings.max_connections.map_or(serve::CONNECTIONS_MAX, u64::from))),
        vault,
    };
    let (host, writer) = Host::start(means).map_err(|error| error as Failed)?;
    runtime.block_on(run(Arc::clone(&host), settings, &folder, engine, json))?;
    // Dropping the last handle lets the writer finish its queue and end.
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    drop(host);
    writer.join().map_err(|_| "the writer failed")?;
    Ok(())
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
    let mut near = address;
    if near.ip().is_unspecified() {
        near.set_ip(if near.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    let mut own = engine::EngineSettings::new(format!("http://{near}"), token.text());
    own.speed = settings.engine_speed.unwrap_or(own.speed);
    own.seed = settings.engine_seed.unwrap_or(own.seed);
    Ok(tokio::spawn(engine::run(own, send::client()?.build()?, stopping)))
}

fn log(settings: &ServeSettings) {
    let wanted = std::env::var("SWITCHBOARD_LOG").ok();
    let wanted = wanted.as_deref().unwrap_or("info");
    // These libraries log a line for each malformed request of a stranger; `SWITCHBOARD_LOG` can turn them back on.
    let filter = EnvFilter::try_new(format!("h2=error,hyper=error,{wanted}"));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("h2=error,hyper=error,info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colored());
    match settings.log_format.unwrap_or_default() {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}

/// Returns whether the log may have colors: on a terminal, unless `NO_COLOR` is set (no-color.org).
fn colored() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Binds the address that a flag gives.
fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Failed> {
    serve::bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            format!("{address} is in use by another program: {flag} chooses another address").into()
        }
        _ => format!("{address} cannot be listened on ({flag}): {error}").into(),
    })
}

async fn run(
    host: Arc<Host>,
    settings: &ServeSettings,
    folder: &Path,
    token: Option<Token>,
    json: bool,
) -> Result<(), Failed> {
    let listener = bind(settings.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080))), "--listen")?;
    let address = listener.local_addr()?;
    let mut listeners = vec![(listener, Door::Main)];
    if let Some(admin) = settings.admin_listen {
        listeners.push((bind(admin, "--admin-listen")?, Door::Admin));
    }
    let secrets = host.first_start().await.map_err(|error| error as Failed)?;
    let (stop, stopping) = watch::channel(false);
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let schedule = tokio::spawn(Arc::clone(&host).schedule(stopping.clone()));
    let locks = Arc::clone(&host);
    tokio::spawn(async move { locks.tell_of_locks().await });
    if let Some(vault) = host.vault.clone() {
        tokio::spawn(async move { vault.tell_of_trouble().await });
    }
    let serving = tokio::spawn(serve::serve(Arc::clone(&host), listeners, stopping.clone()));
    let engine = token.map(|token| attach(settings, address, &token, stopping)).transpose()?;
    announce(settings, folder, address, secrets.as_ref(), json)?;
    let ended = tokio::select! {
        _ = term.recv() => None,
        _ = int.recv() => None,
        why = host.store.ended() => Some(why),
    };
    tracing::info!("stopping: running requests finish, nothing new is taken");
    host.close();
    let _ = stop.send(true);
    if let Some(engine) = engine {
        engine.await??;
    }
    serving.await?;
    schedule.await?;
    if let Some(file) = &settings.ready_file {
        // A script that reads the file later must not take the server for running.
        let _ = std::fs::remove_file(file);
    }
    // Whoever supervises the process starts it again.
    ended.map_or(Ok(()), |why| Err(format!("the store has ended: {why}").into()))
}
