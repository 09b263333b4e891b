//! Checks a voice engine: plays a hostile service to it, case by case, and says which rules of the engine interface it
//! keeps, which it breaks and by which request, and which it was never in a position to break.
//!
//! It knows engines by their requests alone. The engine is a program that is started anew for each case, one in the same
//! process, or one that somebody else runs; see [`CheckedEngine`].

mod book;
pub mod cases;
mod claiming;
mod findings;
mod offer;
mod rate;
pub mod report;
mod reports;
pub mod rules;
mod server;
mod stage;
mod states;
pub mod subject;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::time::Instant;

use self::cases::{CASES, EngineCase, OfferedCall, ServiceAct};
use self::findings::Findings;
pub use self::report::CheckReport;
use self::rules::EngineRule;
use self::server::CheckServer;
use self::stage::{CheckStage, StageTiming};
use self::subject::RunningEngine;
pub use self::subject::{Attachment, CheckedEngine};

/// How often the service looks after what is due.
const TICK: Duration = Duration::from_millis(20);
/// How long after an engine was told to drain a call is offered: a claim that it gives up then is gone by now.
const OFFERED_AFTER: Duration = Duration::from_millis(300);
/// Ids between the calls of two cases.
const IDS_APART: u64 = 1_000;
/// Seeds that have ids of their own.
const SEEDS: u64 = 10_000;

/// Settings of a check.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// Address to listen on; a free port of loopback unless set.
    pub listen: SocketAddr,
    /// Token that the engine must show.
    pub token: String,
    /// Cases to play.
    pub cases: Vec<&'static EngineCase>,
    /// Seed of the ids of calls.
    pub seed: u64,
    /// Length of a lease.
    pub lease: Duration,
    /// How long the engine may take to carry out a command, and to end once it has drained.
    pub patience: Duration,
    /// How long the calls of a case may last.
    pub call: Duration,
    /// How long an engine may take to attach and claim.
    pub attach: Duration,
}

impl Default for CheckSettings {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            token: "sbe_engine-check".into(),
            cases: CASES.iter().collect(),
            seed: 1,
            lease: Duration::from_secs(30),
            patience: Duration::from_secs(10),
            call: Duration::from_mins(1),
            attach: Duration::from_secs(30),
        }
    }
}

/// What is told of a check while it runs.
#[derive(Clone, Copy, Debug)]
pub enum CheckProgress<'a> {
    /// The service listens here.
    Listening(&'a Attachment),
    /// A case begins.
    Playing(&'static EngineCase),
}

/// Why a check could not be made.
#[derive(Debug)]
pub enum CheckError {
    /// The address cannot be listened on.
    Listen(SocketAddr, std::io::Error),
    /// The engine cannot be started.
    Engine(String),
    /// No engine attached.
    Nobody,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(address, error) => write!(f, "{address} cannot be listened on: {error}"),
            Self::Engine(why) => write!(f, "the engine cannot be started: {why}"),
            Self::Nobody => f.write_str("no engine has claimed a call: nothing can be said of it"),
        }
    }
}

impl std::error::Error for CheckError {}

/// Plays the cases to an engine.
pub async fn check(
    settings: &CheckSettings,
    engine: &CheckedEngine,
    mut progress: impl FnMut(CheckProgress<'_>),
) -> Result<CheckReport, CheckError> {
    let timing = StageTiming { lease: settings.lease, patience: settings.patience };
    let waiting = CheckStage::new(&cases::WAITING, 0, timing, Findings::default(), Instant::now());
    let server = CheckServer::start(settings.listen, &settings.token, waiting).await;
    let server = server.map_err(|error| CheckError::Listen(settings.listen, error))?;
    let at = Attachment { url: server.url.clone(), token: settings.token.clone() };
    progress(CheckProgress::Listening(&at));
    let (mut played, mut skipped, mut is_attached) = (Vec::new(), Vec::new(), false);
    for (number, case) in (1..).zip(&settings.cases) {
        let drains = case.acts.iter().any(|(_, act)| *act == ServiceAct::Drain);
        if drains && !engine.drains() {
            skipped.push((case.name.into(), "an engine that somebody else runs cannot be told to drain".into()));
            continue;
        }
        progress(CheckProgress::Playing(case));
        let first = 1 + (settings.seed % SEEDS) * (CASES.len() as u64 + 1) * IDS_APART + number * IDS_APART;
        server.stage().next_case(case, first, Instant::now());
        let mut running = engine.start(&at).map_err(CheckError::Engine)?;
        play(&server, case, settings, &mut running).await;
        running.stop().await;
        is_attached |= server.stage().claims > 0;
        if !is_attached {
            return Err(CheckError::Nobody);
        }
        played.push(case.name.into());
    }
    let findings = server.stage().findings.clone();
    Ok(CheckReport::of(&findings, played, skipped, settings.seed))
}

/// Plays a case until its calls are over, or the time for them is.
async fn play(server: &CheckServer, case: &EngineCase, settings: &CheckSettings, engine: &mut RunningEngine) {
    let began = Instant::now();
    let (mut played_at, mut is_offered) = (None, false);
    loop {
        tokio::time::sleep(TICK).await;
        let (now, mut stage) = (Instant::now(), server.stage());
        stage.tick(now);
        if stage.wants_drain && stage.drained_at.is_none() {
            // Where it cannot be told, it is not judged either.
            stage.drained_at = engine.drain().then_some(now);
            stage.wants_drain = false;
        }
        if !is_offered && stage.drained_at.is_some_and(|told| now >= told + OFFERED_AFTER) {
            stage.offer(OfferedCall { digits: 1, account: 0, is_huge: false });
            is_offered = true;
        }
        let is_over = engine.has_ended();
        if is_over && stage.drained_at.is_none() && !stage.refuses_token {
            stage.findings.judge(EngineRule::StaysUp, "", Some("the engine ended by itself".into()));
            break;
        }
        if is_over && stage.drained_at.is_some() {
            break;
        }
        if stage.is_played() {
            let since = *played_at.get_or_insert(now);
            if now >= since + Duration::from_millis(case.linger_ms) {
                break;
            }
        } else {
            played_at = None;
        }
        if now > began + settings.attach + settings.call || (stage.calls.is_empty() && now > began + settings.attach) {
            break;
        }
    }
    end(server, settings, engine).await;
}

/// Judges what can be told at the end of a case alone.
async fn end(server: &CheckServer, settings: &CheckSettings, engine: &mut RunningEngine) {
    let is_drained = server.stage().drained_at.is_some();
    if is_drained {
        let ends = engine.ends_within(settings.patience).await;
        server.stage().close_drained(ends);
        return;
    }
    let mut stage = server.stage();
    stage.close(Instant::now());
    if !stage.calls.is_empty() {
        stage.findings.show(EngineRule::StaysUp);
    }
}
