//! Faults of nodes, links and databases under load, each as often as wanted: what was acknowledged is stored.

mod databases;
mod nodes;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use switchboard_claims::Claim;
use switchboard_faults::Fault;
use switchboard_faults::report::Row;
use switchboard_postgres::Proxy;
use switchboard_sim::random::Random;
use switchboard_tests::server::{Server, run};

use crate::{AT_ONCE, Agency, Load, Loaded, Site, soak};

/// All faults. A node that dies is replaced once its lease has run out, so many of them wait for seconds each time.
pub const FAULTS: [Fault; 17] = [
    Fault { name: "kills", run: nodes::kills, share: 5, long: 100 },
    Fault { name: "all", run: nodes::kills_of_all, share: 5, long: 100 },
    Fault { name: "pauses", run: nodes::pauses, share: 5, long: 100 },
    Fault { name: "reads", run: nodes::reads, share: 5, long: 100 },
    Fault { name: "stops", run: nodes::stops, share: 5, long: 100 },
    Fault { name: "clocks", run: nodes::clocks, share: 5, long: 100 },
    Fault { name: "links", run: databases::links, share: 5, long: 100 },
    Fault { name: "databases", run: databases::kills, share: 5, long: 100 },
    Fault { name: "standbys", run: databases::standbys, share: 5, long: 100 },
    Fault { name: "past", run: databases::past, share: 5, long: 100 },
    Fault { name: "waits", run: databases::waits, share: 5, long: 100 },
    Fault { name: "cancels", run: databases::cancels, share: 5, long: 100 },
    Fault { name: "disks", run: databases::disks, share: 5, long: 100 },
    Fault { name: "connections", run: databases::connections, share: 5, long: 100 },
    // Half a minute each; needs Debian's packages of Patroni and etcd, which are fetched.
    Fault { name: "failovers", run: databases::failovers, share: 2, long: 30 },
    // Needs a binary of an earlier release.
    Fault { name: "releases", run: nodes::releases, share: 5, long: 100 },
    // Minutes.
    Fault { name: "soak", run: soak::soak, share: 1, long: 30 },
];

/// Accounts: so many that each of three nodes has some.
const ACCOUNTS: usize = 8;
/// Clients of each account.
const CLIENTS: usize = AT_ONCE / ACCOUNTS;
/// Numbers that each account may ask for.
const NUMBERS: u64 = 100_000;
/// Up to so many faults the data are kept in memory, where no other test keeps the disk busy.
const IN_MEMORY_MAX: u64 = 10;
/// Leads that each account makes between two faults.
const BETWEEN: usize = 6;

/// A load of several accounts on nodes over one database.
struct Trial {
    site: Site,
    /// Nodes that live.
    nodes: Vec<Server>,
    /// Nodes that were ever started.
    started: usize,
    accounts: Vec<(Agency, Load)>,
    /// The URL by which nodes reach their store.
    url: String,
    random: Random,
    /// Longest time, seconds, in which nothing of an account should be acknowledged; `None`: it depends on what is hurt.
    silence_aim: Option<f64>,
}

impl Trial {
    /// Starts so many nodes, and a load for as many faults as are wanted.
    fn of(count: usize, wanted: u64, seed: u64) -> Self {
        let site = if wanted <= IN_MEMORY_MAX { Site::new() } else { Site::on_disk() };
        let nodes: Vec<_> = (0..count).map(|number| site.node(&number.to_string())).collect();
        let url = site.url();
        Self::over(site, nodes, url, seed)
    }

    /// Starts a node that reaches its database through a link, and a load.
    fn linked(site: Site, seed: u64) -> (Self, Proxy) {
        let proxy = Proxy::open(site.instance.address(), seed).expect("a proxy");
        let node = site.begin("0", proxy.address()).wait();
        let url = site.login.url(proxy.address());
        (Self::over(site, vec![node], url, seed), proxy)
    }

    fn over(site: Site, nodes: Vec<Server>, url: String, seed: u64) -> Self {
        let accounts = filled(&nodes[0]);
        let trial =
            Self { site, started: nodes.len(), nodes, accounts, url, random: Random::new(seed), silence_aim: None };
        trial.more();
        trial
    }

    /// States the longest time, seconds, in which nothing of an account should be acknowledged.
    fn silent_for(self, seconds: f64) -> Self {
        Self { silence_aim: Some(seconds), ..self }
    }

    /// Waits until each account has made more leads.
    fn more(&self) {
        self.accounts.iter().for_each(|(_, load)| load.more(BETWEEN));
    }

    /// Sends what follows to another node.
    fn turn_to(&self, node: &Server) {
        self.accounts.iter().for_each(|(_, load)| load.turn_to(node));
    }

    /// Returns how many requests were answered 503, or not at all.
    fn refused(&self) -> u64 {
        self.accounts.iter().map(|(_, load)| load.refused()).sum()
    }

    /// Returns how many leads were acknowledged.
    fn acknowledged(&self) -> usize {
        self.accounts.iter().map(|(_, load)| load.view().acknowledged()).sum()
    }

    /// Takes a node from those that live; the load turns to another one.
    fn take(&mut self) -> Server {
        let at = usize::try_from(self.random.below(self.nodes.len() as u64)).expect("a few nodes");
        let node = self.nodes.remove(at);
        if let Some(next) = self.random.pick(&self.nodes) {
            self.turn_to(next);
        }
        node
    }

    /// Starts a node whose clock is so many seconds ahead.
    fn join(&mut self, ahead: i64) {
        let name = self.started.to_string();
        self.started += 1;
        let node = if ahead == 0 { self.site.node(&name) } else { self.site.node_ahead(&name, ahead) };
        self.nodes.push(node);
    }

    /// Starts a node of another build.
    fn join_of(&mut self, binary: &Path) {
        let name = self.started.to_string();
        self.started += 1;
        self.nodes.push(self.site.node_of(&name, binary));
    }

    /// Stops the load; all that was acknowledged is stored, and the store is whole.
    fn end(self) -> Loaded {
        let loaded = stored(self.accounts, self.nodes.last().expect("a node"));
        let verified = run(&["verify", &self.url]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        loaded
    }
}

/// Makes accounts at a node, and a load of each.
fn filled(node: &Server) -> Vec<(Agency, Load)> {
    let operator = node.text("admin_token");
    let agencies: Vec<_> = (0..ACCOUNTS).map(|number| Agency::opened(node, node, operator, number)).collect();
    let load = |(at, agency): (u64, Agency)| {
        let load = Load::of(node, &agency, at * NUMBERS, CLIENTS);
        (agency, load)
    };
    (0..).zip(agencies).map(load).collect()
}

/// Stops loads; all that was acknowledged is stored.
fn stored(accounts: Vec<(Agency, Load)>, node: &Server) -> Loaded {
    let ended: Vec<_> = accounts.into_iter().map(|(agency, load)| (agency, load.end())).collect();
    ended.iter().for_each(|(agency, loaded)| loaded.is_stored(agency, node));
    ended.into_iter().map(|(_, loaded)| loaded).reduce(Loaded::and).expect("an account")
}

/// Hurts a trial so often, and looks at the end whether it has all that was acknowledged; stops at the first failure.
fn under_load(claim: &'static str, wanted: u64, seed: u64, mut trial: Trial, mut hurt: impl FnMut(&mut Trial)) -> Row {
    let row = times(claim, wanted, seed, |_| hurt(&mut trial));
    ended(row, trial, seed)
}

/// Adds to a row whether a trial has all that was acknowledged.
fn ended(mut row: Row, trial: Trial, seed: u64) -> Row {
    let (claim, aim) = (row.claim, trial.silence_aim);
    let ended = caught(|| {
        let loaded = trial.end();
        row.notes.push(loaded.told());
        let silence = loaded.longest.as_secs_f64();
        row.figures.extend(aim.map(|aim| Claim::at_most(format!("Longest silence: {claim}"), aim, silence, "s")));
    });
    row.fail_if(ended.map_err(|why| format!("seed {seed}, at the end: {why}")));
    row.end()
}

/// Tests a claim so often, and stops at the first failure.
fn times(claim: &'static str, wanted: u64, seed: u64, mut test: impl FnMut(u64)) -> Row {
    let mut row = Row::begin(claim, wanted);
    for number in 1..=wanted {
        row.count(caught(|| test(number)).map_err(|why| format!("seed {seed}, test {number}: {why}")));
        if !row.failures.is_empty() {
            break;
        }
    }
    row.end()
}

/// Runs a test; what it says when it panics is its failure.
pub(crate) fn caught(test: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(test)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}
