//! The commands `serve` and `dev`: start, signals and orderly stop.

use std::io::{ErrorKind, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ArgMatches;
use rustix::fs::{Access, Mode, access};
use rustix::process::umask;
use switchboard::clock::{self, Clock};
use switchboard::metrics::Metrics;
use switchboard::private;
use switchboard::rooms::Rooms;
use switchboard::serve::{self, Entrance, Front};
use switchboard::settings::{LogFormat, ServeSettings};
use switchboard::store::Store;
use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::Door;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

use super::announce::announce;
use super::login_link::LoginLink;
use super::reign::Reign;
use super::simulated::BuiltInEngine;
use super::{Failed, node};

const DATA: &str = "./switchboard-data";
/// How long tasks that still run may take when the process ends.
const END: Duration = Duration::from_secs(5);

/// Runs the service until a signal stops it.
pub fn serve(settings: ServeSettings, given: &ArgMatches, json: bool) -> Result<(), Failed> {
    start(settings.load(given)?, None, json)
}

/// Runs the service with the settings of [`ServeSettings::for_development`], and shows a link that logs its owner in.
pub fn dev(settings: ServeSettings, given: &ArgMatches, json: bool) -> Result<(), Failed> {
    start(settings.load(given)?.for_development(), Some(LoginLink::new()?), json)
}

fn start(settings: ServeSettings, link: Option<LoginLink>, json: bool) -> Result<(), Failed> {
    log(&settings);
    // Whatever is written here is for its owner alone, also where a library creates the file.
    umask(Mode::from_raw_mode(0o077));
    let process = Process::of(settings, link, json)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let writers = if let Some(url) = &process.settings.store {
        process.make_folder()?;
        runtime.block_on(node::run(&process, url))
    } else {
        let store = Store::open(&process.folder)?;
        runtime.block_on(run(&process, store))
    };
    // Dropping the last handle lets the writer finish its queue and end.
    runtime.shutdown_timeout(END);
    for writer in writers? {
        writer.join().map_err(|_| "the writer failed")?;
    }
    Ok(())
}

/// What stays while hosts come and go.
pub struct Process {
    pub settings: ServeSettings,
    pub folder: PathBuf,
    pub rooms: Arc<Rooms>,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<Clock>,
    /// Link that logs the owner in; only for development.
    pub link: Option<LoginLink>,
    json: bool,
}

/// A host's thread, to be joined after everything else has ended.
pub type WriterThread = std::thread::JoinHandle<()>;

impl Process {
    fn of(settings: ServeSettings, link: Option<LoginLink>, json: bool) -> Result<Self, Failed> {
        // Refused before anything is opened.
        settings.service()?;
        let folder = settings.data.clone().unwrap_or_else(|| PathBuf::from(DATA));
        let connections = serve::room(settings.max_connections.map_or(serve::CONNECTIONS_MAX, u64::from));
        let rooms = Arc::new(Rooms::with_connections(connections));
        let metrics = Arc::new(Metrics::of(&rooms));
        let clock = Arc::new(Clock::at(settings.pace));
        Ok(Self { settings, folder, rooms, metrics, clock, link, json })
    }

    /// Makes the data folder, where no store does so: a first start writes its secrets there when the owner is made
    /// already, and nobody can learn them any more.
    fn make_folder(&self) -> Result<(), Failed> {
        let made = private::create_folder(&self.folder)
            .and_then(|()| Ok(access(&self.folder, Access::WRITE_OK | Access::EXEC_OK)?));
        made.map_err(|error| format!("the data folder {} cannot be used: {error}", self.folder.display()).into())
    }

    /// Returns what the listeners share, for nobody who serves yet.
    pub fn front(&self) -> Result<Front, Failed> {
        let trusted = self.settings.service()?.config.trust_proxy;
        Ok(Front::new(Arc::clone(&self.rooms), Arc::clone(&self.metrics), &trusted))
    }

    /// Binds the listeners for clients; returns the address of the first.
    pub fn listeners(&self) -> Result<(Vec<(TcpListener, Entrance)>, SocketAddr), Failed> {
        let listener = bind(self.settings.listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 8080))), "--listen")?;
        let address = listener.local_addr()?;
        let mut listeners = vec![(listener, Entrance::Clients(Door::Main))];
        if let Some(admin) = self.settings.admin_listen {
            listeners.push((bind(admin, "--admin-listen")?, Entrance::Clients(Door::Admin)));
        }
        Ok((listeners, address))
    }

    /// Says that requests are answered at `address`, and on the first start the owner's secrets.
    pub fn announce(&self, address: SocketAddr, secrets: Option<&Reply>) -> Result<(), Failed> {
        let link = self.link.as_ref().and_then(|link| link.at(address));
        announce(&self.settings, &self.folder, address, secrets, link, self.json)
    }

    /// Removes the ready file: a script that reads it later must not take the server for running.
    pub fn retire(&self) {
        if let Some(file) = &self.settings.ready_file {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// The signals that stop the process in order.
pub struct Signals {
    term: Signal,
    int: Signal,
}

impl Signals {
    pub fn new() -> Result<Self, Failed> {
        Ok(Self { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of them.
    pub async fn stop(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
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
pub fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Failed> {
    serve::bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => {
            format!("{address} is in use by another program: {flag} chooses another address").into()
        }
        _ => format!("{address} cannot be listened on ({flag}): {error}").into(),
    })
}

/// Serves a store that is this process's alone.
async fn run(process: &Process, store: Store) -> Result<Vec<WriterThread>, Failed> {
    let engine = BuiltInEngine::of(&process.settings, &clock::seed()?);
    let host = Reign::host(process, store, engine.as_ref())?;
    let (listeners, address) = process.listeners()?;
    let front = Arc::new(process.front()?);
    let (reign, secrets) = Reign::begin(host, &front).await?;
    let mut signals = Signals::new()?;
    let (stop, stopping) = watch::channel(false);
    let serving = tokio::spawn(serve::serve(front, listeners, stopping));
    let engine = engine.map(|engine| engine.attach(&process.settings, address)).transpose()?;
    process.announce(address, secrets.as_ref())?;
    let ended = tokio::select! {
        () = signals.stop() => None,
        why = reign.ended() => Some(why),
    };
    tracing::info!("stopping: running requests finish, nothing new is taken");
    reign.stop();
    if let Some(engine) = &engine {
        engine.stop();
    }
    let _ = stop.send(true);
    let (writer, served) = tokio::join!(reign.end(), serving);
    served?;
    if let Some(engine) = engine {
        engine.end().await?;
    }
    process.retire();
    match ended {
        // Whoever supervises the process starts it again.
        Some(why) => Err(format!("the store has ended: {why}").into()),
        None => Ok(vec![writer?]),
    }
}
