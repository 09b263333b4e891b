//! One trial: a server with a neighbour and attacks; then the same neighbour beside an honest load; then a second
//! start.

use std::fs::File;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::nice;
use switchboard_tests::server::{Folder, Server, binary};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::honest::Load;
use crate::neighbour::Neighbour;
use crate::process::{Course, Guard, Process, raise_limits};
use crate::report::Row;
use crate::samples::{Kind, Samples};
use crate::target::Target;
use crate::{Attack, Future, Ground, Spans, Strike};

/// How long the neighbour works before anything is measured.
const WARM: Duration = Duration::from_millis(300);
/// Attackers and the honest load would run on machines of their own: here they yield to the server and the neighbour.
const NICE: i32 = 19;
/// Address of a name server that never answers.
const SILENT: &str = "127.9.9.53";

/// An attack with the server as it sees it.
type Aimed = (&'static Attack, Arc<Target>);

/// What a trial's servers are started with.
struct Setting {
    folder: Folder,
    arguments: Vec<String>,
    ground: Ground,
    /// Keeps the name server's port bound.
    _silent: Option<UdpSocket>,
}

/// What was measured of a neighbour and the server during one phase.
struct Watched {
    samples: Samples,
    began: Instant,
    ended: Instant,
    used: Course,
}

/// Most of five rounds in which a neighbour may be late: each measures a few dozen writes, whose 99th percentile is the
/// slowest.
const LATE_MAX: usize = 2;

/// Runs attacks at the same time, on one server. If the neighbour was late and nothing else was wrong, further rounds
/// must hold, so that the median of five counts. Returns the round that decides.
pub fn run(attacks: &[&'static Attack], spans: Spans) -> Row {
    let (mut late, mut held) = (0, 0);
    loop {
        let row = round(attacks, spans);
        let count = if row.late.is_empty() { &mut held } else { &mut late };
        *count += 1;
        if late == 0 || !row.failures.is_empty() || late.max(held) > LATE_MAX {
            return row;
        }
        println!("  {}: late in {late}, held in {held} rounds: {:?}", row.name, row.late);
    }
}

fn round(attacks: &[&'static Attack], spans: Spans) -> Row {
    let began = Instant::now();
    let name: Vec<&str> = attacks.iter().map(|attack| attack.name).collect();
    let mut row = Row { name: name.join("+"), ..Row::default() };
    if attacks.len() > 2 {
        "mixed".clone_into(&mut row.name);
    }
    raise_limits();
    match Setting::new(attacks) {
        Err(why) => row.skipped = Some(why),
        Ok(setting) => {
            if let Err(why) = against(&setting, attacks, spans, &mut row) {
                row.fail(why);
            }
            row.judge();
        }
    }
    row.seconds = began.elapsed().as_secs_f64();
    row
}

fn against(setting: &Setting, attacks: &[&'static Attack], spans: Spans, row: &mut Row) -> Result<(), String> {
    let server = setting.start("data")?;
    let guard = Guard::new(Process(server.pid()));
    let targets: Vec<_> = (1..).take(attacks.len()).map(|at| Arc::new(Target::new(&server, spans.long, at))).collect();
    let attacks: Vec<Aimed> = attacks.iter().copied().zip(targets).collect();
    let (runtime, home) = (neighbours()?, Arc::new(Target::new(&server, spans.long, 0)));
    let outcome = strike(&runtime, &home, Process(server.pid()), &attacks, spans);
    let checked = outcome.as_ref().map_or(Ok(()), |_| check(&runtime, &home, &attacks));
    row.peak_mib = guard.peak_mib();
    guard.expect_end();
    let stopped = server.stop();
    let (ended, peak_mib) = guard.outcome();
    row.peak_mib = row.peak_mib.max(peak_mib);
    if ended {
        row.fail("the server took too much memory, or too long to stop, and was ended");
    } else if stopped != Some(0) {
        row.fail(format!("the server died, or did not stop well: {stopped:?}"));
    }
    row.log_lines = std::fs::read_to_string(setting.folder.path("data.log")).unwrap_or_default().lines().count();
    let lines_max: usize = attacks.iter().map(|(attack, _)| attack.log_lines_max).sum();
    if row.log_lines > lines_max {
        row.fail(format!("{} lines of log, allowed {lines_max}", row.log_lines));
    }
    checked.unwrap_or_else(|why| row.fail(why));
    if let Err(why) = setting.again(spans.after) {
        row.fail(format!("after a second start: {why}"));
    }
    let watched = outcome?;
    row.used = watched.used.rate();
    row.beside = watched.samples.p99(watched.began, watched.ended);
    watched.samples.failures.into_iter().for_each(|why| row.fail(why));
    let kinds = kinds(&attacks);
    for kind in &kinds {
        if !row.beside.contains_key(kind) {
            row.fail(format!("no {} of the neighbour's succeeded", kind.word()));
        }
    }
    let reference = setting.reference(&kinds, watched.used, spans)?;
    row.honestly = reference.used.rate();
    row.honest = reference.samples.p99(reference.began, reference.ended);
    Ok(())
}

fn kinds(attacks: &[Aimed]) -> Vec<Kind> {
    let imports = attacks.iter().any(|(attack, _)| attack.imports);
    Kind::USUAL.into_iter().chain(imports.then_some(Kind::Import)).collect()
}

fn neighbours() -> Result<Runtime, String> {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(|error| error.to_string())
}

fn others() -> Result<Runtime, String> {
    let build = Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(|| {
            // Without the permission, they run at normal priority.
            let _ = nice(NICE);
        })
        .enable_all()
        .build();
    build.map_err(|error| error.to_string())
}

/// Prepares the attacks and a neighbour, and runs them.
fn strike(
    runtime: &Runtime,
    home: &Arc<Target>,
    process: Process,
    attacks: &[Aimed],
    spans: Spans,
) -> Result<Watched, String> {
    let attackers = others()?;
    let prepare = |(attack, target): &Aimed| attackers.spawn((attack.prepare)(Arc::clone(target)));
    let prepared: Vec<_> = attacks.iter().map(prepare).collect();
    let mut strikes: Vec<Strike> = Vec::new();
    for one in prepared {
        strikes.push(attackers.block_on(one).map_err(|error| error.to_string())??);
    }
    let neighbour = runtime.block_on(Neighbour::new(Arc::clone(home)))?;
    let longest = attacks.iter().map(|(attack, _)| attack.share).max().unwrap_or_default();
    let span = spans.attack.unwrap_or(longest);
    let watched = watch_beside(runtime, neighbour, process, &kinds(attacks), span, || {
        strikes.into_iter().for_each(|strike| drop(attackers.spawn(strike)));
    });
    // This closes all connections of the attackers.
    attackers.shutdown_background();
    Ok(watched)
}

/// Measures a neighbour at work while `begin`'s load runs.
fn watch_beside(
    runtime: &Runtime,
    neighbour: Neighbour,
    process: Process,
    kinds: &[Kind],
    span: Duration,
    begin: impl FnOnce(),
) -> Watched {
    let (stop, stopped) = watch::channel(false);
    let (neighbour, kinds) = (Arc::new(neighbour), kinds.to_vec());
    let working = runtime.spawn(async move { neighbour.work(&kinds, stopped).await });
    std::thread::sleep(WARM);
    let began = Instant::now();
    begin();
    let used = Course::watch(process, span);
    let ended = Instant::now();
    // Sending fails only if the neighbour has ended already.
    let _ = stop.send(true);
    let samples = runtime.block_on(working).unwrap_or_default();
    Watched { samples, began, ended, used }
}

fn check(runtime: &Runtime, home: &Target, attacks: &[Aimed]) -> Result<(), String> {
    let check = |(attack, target): &Aimed| Some(attack.check?(Arc::clone(target)));
    let checks: Vec<Future<_>> = attacks.iter().filter_map(check).collect();
    checks.into_iter().try_for_each(|check| runtime.block_on(check))?;
    let fills: Vec<&str> = attacks.iter().flat_map(|(attack, _)| attack.fills).copied().collect();
    let unused = runtime.block_on(home.unused(&fills))?;
    if unused.is_empty() { Ok(()) } else { Err(format!("not used up: {}", unused.join(", "))) }
}

impl Setting {
    fn new(attacks: &[&'static Attack]) -> Result<Self, String> {
        let mut arguments = vec!["--egress-allow", "127.0.0.0/8,::1/128", "--rate-limit", "0"];
        if attacks.len() > 1 {
            // So that each attack gets connections, while those that want all of them still run out.
            arguments.extend(["--max-connections", "2048"]);
        }
        for attack in attacks {
            for pair in attack.arguments.chunks(2) {
                if !arguments.contains(&pair[0]) {
                    arguments.extend(pair);
                }
            }
        }
        let no_names = attacks.iter().any(|attack| attack.ground == Ground::NoNames);
        let ground = if no_names { Ground::NoNames } else { Ground::Usual };
        let silent = if no_names { Some(silent_name_server()?) } else { None };
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Ok(Self { folder: Folder::new(), arguments, ground, _silent: silent })
    }

    fn start(&self, name: &str) -> Result<Server, String> {
        let log = File::options().create(true).append(true).open(self.folder.path(&format!("{name}.log")));
        let mut command = match self.ground {
            Ground::Usual => Command::new(binary()),
            Ground::NoNames => self.without_names()?,
        };
        command.stderr(log.map_err(|error| error.to_string())?);
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let starting = Server::spawn(command, &self.folder.path(name), &arguments);
        starting.outcome().map_err(|code| format!("the server ended before it answered: {code:?}"))
    }

    /// Returns a command that runs the binary with an `/etc/resolv.conf` whose servers never answer.
    fn without_names(&self) -> Result<Command, String> {
        let resolv = self.folder.path("resolv.conf");
        std::fs::write(&resolv, format!("nameserver {SILENT}\n").repeat(3)).map_err(|error| error.to_string())?;
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
        command.args(["--mount", "sh", "-c", script]).arg(resolv).arg(binary());
        Ok(command)
    }

    /// Measures a neighbour beside an honest load with the attack's course of processor time, on a server of their own.
    fn reference(&self, kinds: &[Kind], course: Course, spans: Spans) -> Result<Watched, String> {
        let server = self.start("reference")?;
        let (process, target) = (Process(server.pid()), Arc::new(Target::new(&server, false, 0)));
        let (runtime, others) = (neighbours()?, others()?);
        let load = others.block_on(Load::new(Arc::clone(&target)))?;
        let neighbour = runtime.block_on(Neighbour::new(target))?;
        let watched = watch_beside(&runtime, neighbour, process, kinds, spans.honest, || {
            others.spawn(load.run(process, course, spans.honest));
        });
        others.shutdown_background();
        server.stop();
        Ok(watched)
    }

    /// Starts the server again on the store that an attack left behind, and polls its health for `span`.
    fn again(&self, span: Duration) -> Result<(), String> {
        let server = self.start("data")?;
        let guard = Guard::new(Process(server.pid()));
        let target = Target::new(&server, false, 0);
        let (runtime, until) = (neighbours()?, Instant::now() + span);
        let mut client = target.client(target.home(), "");
        let mut outcome = Ok(());
        while outcome.is_ok() && Instant::now() < until {
            let ready = runtime.block_on(client.ask("GET", "/healthz", None)).map_err(|error| error.to_string());
            outcome = ready.and_then(|answer| answer.success().map(drop));
            std::thread::sleep(Duration::from_millis(20));
        }
        guard.expect_end();
        let stopped = server.stop();
        let (ended, peak_mib) = guard.outcome();
        outcome?;
        if ended || stopped != Some(0) {
            return Err(format!("it did not stop well: {stopped:?}, {peak_mib:.0} MiB"));
        }
        Ok(())
    }
}

/// Binds a name server that receives everything and answers nothing.
fn silent_name_server() -> Result<UdpSocket, String> {
    let allowed = Command::new("unshare").args(["--mount", "true"]).output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        return Err("mount namespaces take a superuser".into());
    }
    UdpSocket::bind((SILENT, 53)).map_err(|error| format!("no name server can be played: {error}"))
}
