//! Nodes over PostgreSQL: their reads beside those of a store on disk, their creates beside bare commits of the same rows,
//! what one passes on to another, two beside one, what broken connections cost, and a PostgreSQL that is far away.

mod bare;
mod breaks;
mod calls;
mod far;
mod lanes;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard::store::Store;
use switchboard_claims::{Claim, tell};
use switchboard_core::http::request::Request;
use switchboard_postgres::Instance;

use self::bare::Bare;
use self::lanes::TwoLanes;
use crate::Failed;
use crate::fill::{ASSISTANTS, Folder, Stock, assistant};
use crate::inside::post;
use crate::load::{Figures, Load, each, get, run, sent};
use crate::server::{Server, cpu_ms};
use crate::turns::middle;
use crate::writes::{BODY, GROUP, commits, queued};

/// How long each way is measured in one turn.
const SPAN: Duration = Duration::from_secs(3);
/// Turns; the middle of each ratio counts.
const TURNS: usize = 5;
/// Connections of reads.
const READERS: u32 = 64;
/// Accounts that are written to at once.
const ACCOUNTS: u32 = 64;
/// Calls in the stores that are read.
const CALLS: u32 = 1_000;
/// Commits of one create, and of a group, whose rows are put into PostgreSQL alone: about as many as it makes in a span.
const ALONE: u32 = 7_000;
const GROUPS: u32 = 1_200;
const GROUPS_OF_MANY: u32 = 600;
/// How long nodes may take to share the accounts out.
const SETTLED: Duration = Duration::from_secs(20);

/// A PostgreSQL with a store, and a node over it.
struct Site {
    instance: Instance,
    url: String,
    first: Server,
}

/// A store in PostgreSQL that this process has all rows of: its writer, without HTTP.
struct Inner {
    url: String,
    store: Arc<Store>,
    own: Request,
    /// Many accounts that may place a call.
    all: Vec<Placing>,
}

/// An account that may place a call.
struct Placing {
    account: u32,
    key: String,
    /// Places one by its assistant.
    body: String,
}

/// What creates cost.
#[derive(Clone, Copy, Default)]
struct Creates {
    rate: f64,
    /// Processor time of PostgreSQL for each, microseconds.
    database_us: f64,
    /// Bytes of PostgreSQL's log for each.
    wal: f64,
}

/// Measures nodes.
pub fn print() -> Result<bool, Failed> {
    let folder = Folder::new("nodes")?;
    let stock = Stock::new(&folder.0, "redb", ASSISTANTS, CALLS)?;
    let embedded = Server::service(&stock.data)?;
    let source = Stock::new(&folder.0, "rows", ASSISTANTS, CALLS)?;
    let site = Site::new(&folder.0)?;
    let bare = Bare::new(&site.instance.config())?;
    let mut claims = reads(&embedded, &stock.key, &site)?;
    let inner = Inner::new(&folder.0, &site.instance)?;
    claims.extend(creates(&embedded, &stock, &source, &site, &inner, &bare)?);
    claims.extend(several(&folder.0, &site, inner, &bare)?);
    claims.extend(calls::calls(&folder.0, &site)?);
    claims.push(breaks::breaks(&site)?);
    let alone = commits(&source.data, &[call(&source.key, BODY)], 1, ALONE)?;
    claims.extend(far::far(&folder.0, &site.instance, &alone)?);
    Ok(tell(&claims)?)
}

impl Site {
    fn new(folder: &Path) -> Result<Self, Failed> {
        let instance = Instance::options().start()?;
        let url = instance.create_database("calls")?.url(instance.address());
        Store::init(&url)?;
        let first = stocked(folder, "first", &url)?;
        each(&first, (0..CALLS).map(|_| sent("POST", &first.key, "/user/make_call", BODY)).collect())?;
        Ok(Self { instance, url, first })
    }

    /// Returns the processor time of PostgreSQL so far, milliseconds.
    fn cpu_ms(&self) -> f64 {
        self.instance.processes().into_iter().map(cpu_ms).sum()
    }

    /// Returns the bytes of PostgreSQL's log so far.
    fn wal(&self) -> Result<f64, Failed> {
        Ok(self.instance.value("SELECT pg_current_wal_lsn() - '0/0'")?.parse()?)
    }

    /// Measures what PostgreSQL takes for each of what is done meanwhile; returns its rate too.
    fn cost(&self, work: impl FnOnce() -> Result<f64, Failed>) -> Result<Creates, Failed> {
        let (cpu, wal, began) = (self.cpu_ms(), self.wal()?, Instant::now());
        let rate = work()?;
        let count = (rate * began.elapsed().as_secs_f64()).max(1.0);
        Ok(Creates { rate, database_us: (self.cpu_ms() - cpu) * 1e3 / count, wal: (self.wal()? - wal) / count })
    }
}

impl Inner {
    fn new(folder: &Path, instance: &Instance) -> Result<Self, Failed> {
        let url = instance.create_database("inner")?.url(instance.address());
        Store::init(&url)?;
        let first = stocked(folder, "inner", &url)?;
        let own = call(&first.key, BODY);
        let all = accounts(&first)?;
        drop(first);
        Ok(Self { store: Arc::new(Store::of_url(&url)?), url, own, all })
    }

    fn create(&self, clients: u32) -> Result<f64, Failed> {
        queued(Arc::clone(&self.store), std::slice::from_ref(&self.own), clients)
    }
}

fn node(folder: &Path, name: &str, url: &str) -> Result<Server, Failed> {
    Server::service_with(&folder.join(name), &["--engine", "none", "--store", url])
}

/// Starts the first node over a store; its owner has assistants.
fn stocked(folder: &Path, name: &str, url: &str) -> Result<Server, Failed> {
    let first = node(folder, name, url)?;
    let made = (0..ASSISTANTS).map(|number| assistant(&format!("Assistant {number}")).to_string());
    each(&first, made.map(|body| sent("POST", &first.key, "/user/assistant", &body)).collect())?;
    Ok(first)
}

/// Returns a request inside this process that places a call.
fn call(key: &str, body: &str) -> Request {
    post(key, "/user/make_call", "application/json", body)
}

/// Returns how many calls of one account a second a server places.
fn create(server: &Server, key: &str, clients: u32) -> Result<f64, Failed> {
    let key = key.to_owned();
    Ok(run(server, Load::full(clients, SPAN), move |_| sent("POST", &key, "/user/make_call", BODY))?.rate)
}

fn read(server: &Server, key: &str, target: &'static str, connections: u32) -> Result<Figures, Failed> {
    let key = key.to_owned();
    run(server, Load::full(connections, SPAN), move |_| get(&key, target))
}

/// Measures reads of a node's own accounts beside those of a store on disk.
fn reads(embedded: &Server, key: &str, site: &Site) -> Result<Vec<Claim>, Failed> {
    let mut claims = Vec::new();
    println!("| read, {READERS} connections | on disk /s | CPU µs | by a node /s | CPU µs |\n|---|---|---|---|---|");
    for (name, target) in [("an assistant", "/user/assistant/1"), ("calls, first page", "/user/calls")] {
        let mut turns = Vec::new();
        for _ in 0..TURNS {
            turns.push((read(embedded, key, target, READERS)?, read(&site.first, &site.first.key, target, READERS)?));
        }
        let of = |figure: &dyn Fn(&(Figures, Figures)) -> f64| middle(&turns, figure);
        println!(
            "| {name} | {:.0} | {:.1} | {:.0} | {:.1} |",
            of(&|(disk, _)| disk.rate),
            of(&|(disk, _)| disk.cpu_us),
            of(&|(_, node)| node.rate),
            of(&|(_, node)| node.cpu_us)
        );
        let ratio = of(&|(disk, node)| node.rate / disk.rate);
        claims.push(Claim::at_least(
            format!("Reads of a node's own account over those on disk: {name}"),
            0.95,
            ratio,
            "",
        ));
    }
    println!();
    Ok(claims)
}

/// Figures of creates in one turn.
struct CreateTurn {
    /// On disk, over HTTP, a second.
    disk: f64,
    /// By a node, over HTTP, a second.
    served: f64,
    /// By a node in this process.
    queued: Creates,
    bare: Creates,
}

/// Measures creates beside bare commits of the same rows, and beside a store on disk.
fn creates(
    embedded: &Server,
    stock: &Stock,
    source: &Stock,
    site: &Site,
    inner: &Inner,
    bare: &Bare,
) -> Result<Vec<Claim>, Failed> {
    let mut claims = Vec::new();
    println!(
        "| creates, clients | on disk, HTTP /s | by a node, HTTP /s | by a node /s | bare /s | PostgreSQL µs | bare µs | log, bytes | bare bytes |\n|---|---|---|---|---|---|---|---|---|"
    );
    for (group, count) in [(1, ALONE), (GROUP, GROUPS)] {
        let commits = commits(&source.data, &[call(&source.key, BODY)], group, count)?;
        let mut turns = Vec::new();
        for _ in 0..TURNS {
            turns.push(CreateTurn {
                disk: create(embedded, &stock.key, group)?,
                served: create(&site.first, &site.first.key, group)?,
                queued: site.cost(|| inner.create(group))?,
                bare: site.cost(|| Ok(bare.puts(&commits)? * f64::from(group)))?,
            });
        }
        let of = |figure: &dyn Fn(&CreateTurn) -> f64| middle(&turns, figure);
        let shown = [
            of(&|turn| turn.disk),
            of(&|turn| turn.served),
            of(&|turn| turn.queued.rate),
            of(&|turn| turn.bare.rate),
            of(&|turn| turn.queued.database_us),
            of(&|turn| turn.bare.database_us),
            of(&|turn| turn.queued.wal),
            of(&|turn| turn.bare.wal),
        ];
        println!("| {group} | {} |", shown.map(|figure| format!("{figure:.0}")).join(" | "));
        let aim = if group == 1 { 0.75 } else { 0.5 };
        let ratio = of(&|turn| turn.queued.rate / turn.bare.rate);
        claims.push(Claim::at_least(format!("Creates by {group} over bare commits of the same rows"), aim, ratio, ""));
        let served = of(&|turn| turn.served / turn.bare.rate);
        claims.push(Claim::stated(format!("The same over HTTP, by {group} connections"), format!("{served:.2}")));
        if group > 1 {
            claims.push(Claim::at_most(
                "PostgreSQL's time of a create over a bare one",
                1.2,
                of(&|turn| turn.queued.database_us / turn.bare.database_us),
                "times",
            ));
            claims.push(Claim::at_most(
                "Bytes of PostgreSQL's log of a create over a bare one",
                1.0,
                of(&|turn| turn.queued.wal / turn.bare.wal),
                "times",
            ));
            claims.push(Claim::stated(
                "Creates by 64 over HTTP over those on disk",
                format!("{:.2}", of(&|turn| turn.served / turn.disk)),
            ));
        }
    }
    println!();
    Ok(claims)
}

/// Measures many accounts: one lane and two beside bare commits, two nodes beside one, and what one passes on to the other.
fn several(folder: &Path, site: &Site, inner: Inner, bare: &Bare) -> Result<Vec<Claim>, Failed> {
    let first = &site.first;
    let creates = accounts(first)?;
    let create = |server: &Server, connections: u32| -> Result<f64, Failed> {
        let creates: Vec<_> =
            creates.iter().map(|placing| sent("POST", &placing.key, "/user/make_call", &placing.body)).collect();
        // Each connection goes around them from another one.
        let request = move |turn: u64| {
            let at = usize::try_from((turn >> 32) + (turn & u64::from(u32::MAX))).unwrap_or_default();
            creates[at % creates.len()].clone()
        };
        Ok(run(server, Load::full(connections, SPAN), request)?.rate)
    };
    let rows = folder.join("many");
    let same = accounts(&Server::service(&rows)?)?;
    let requests: Vec<_> = same.iter().map(Placing::request).collect();
    let commits = commits(&rows, &requests, GROUP, GROUPS_OF_MANY)?;
    let put = || Ok::<_, Failed>(bare.puts(&commits)? * f64::from(GROUP));
    let all: Vec<_> = inner.all.iter().map(Placing::request).collect();
    let turn = |_| Ok([create(first, GROUP)?, queued(Arc::clone(&inner.store), &all, GROUP)?, put()?]);
    let beside = (0..TURNS).map(turn).collect::<Result<Vec<_>, Failed>>()?;
    let alone = middle(&beside, |[served, ..]| *served);
    let two = TwoLanes::of(inner)?;
    let in_two = (0..TURNS).map(|_| Ok(two.create(GROUP)? / put()?)).collect::<Result<Vec<_>, Failed>>()?;
    let second = node(folder, "second", &site.url)?;
    let served = "SELECT count(DISTINCT l.node) FROM switchboard.lane l JOIN switchboard.slot s ON s.lane = l.id WHERE NOT l.dead";
    let began = Instant::now();
    while site.instance.run_in("calls", served)?.into_iter().flatten().flatten().next().as_deref() != Some("2") {
        if began.elapsed() > SETTLED {
            return Err("the second node gets no account".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let both = || -> Result<f64, Failed> {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| create(&second, GROUP / 2).map_err(|error| error.to_string()));
            let here = create(first, GROUP / 2)?;
            Ok(here + other.join().map_err(|_| "a client panicked")??)
        })
    };
    let together = (0..TURNS).map(|_| both()).collect::<Result<Vec<_>, _>>()?;
    let together = middle(&together, |rate| *rate);
    let mut claims = vec![
        Claim::at_least(
            format!(
                "Creates by {GROUP} of {ACCOUNTS} accounts by two lanes over bare commits of the same rows on one connection"
            ),
            0.8,
            middle(&in_two, |ratio| *ratio),
            "",
        ),
        Claim::stated("The same in one lane", format!("{:.2}", middle(&beside, |[_, queued, bare]| queued / bare))),
        Claim::stated("The same over HTTP, one node", format!("{alone:.0} /s")),
        Claim::at_least("The same by two nodes on the same cores over one", 0.9, together / alone, ""),
    ];
    let target = "/user/assistant/1";
    // Either of them has the account; the other one's processor tells.
    let before = second.cpu_ms();
    let here = read(first, &first.key, target, READERS)?;
    let (owner, other) = if second.cpu_ms() - before > 100.0 { (&second, first) } else { (first, &second) };
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let passed = read(other, &first.key, target, READERS)?;
        let [own, far] = [read(owner, &first.key, target, 1)?, read(other, &first.key, target, 1)?];
        turns.push((passed.cpu_us, (far.p50_us - own.p50_us) / 1e3));
    }
    claims.extend([
        Claim::stated("Reads of an assistant, two nodes", format!("{:.0} /s", here.rate)),
        Claim::at_most("Passing on a read: CPU of the node that passes", 45.0, middle(&turns, |turn| turn.0), "µs"),
        Claim::at_most("Passing on a read: added to the middle time, alone", 0.2, middle(&turns, |turn| turn.1), "ms"),
    ]);
    Ok(claims)
}

impl Placing {
    /// Returns a request inside this process that places a call.
    fn request(&self) -> Request {
        call(&self.key, &self.body)
    }
}

/// Makes accounts with an assistant each.
fn accounts(server: &Server) -> Result<Vec<Placing>, Failed> {
    (0..ACCOUNTS).map(|number| account(server, number)).collect()
}

fn account(server: &Server, number: u32) -> Result<Placing, Failed> {
    let operate = |path: &str, body: String| {
        server.curl_as(&server.admin, "POST", path, &["-H", "Content-Type: application/json", "-d", &body])
    };
    let made = operate("/admin/accounts", json!({ "email": format!("agency{number}@example.com") }).to_string())?;
    let id = made["id"].as_u64().ok_or("an account has no id")?;
    let made = operate(&format!("/admin/accounts/{id}/api-keys"), json!({ "name": "Key" }).to_string())?;
    let key = made["api_key"]["token"].as_str().ok_or("an account has no key")?.to_owned();
    let body = assistant("Anna").to_string();
    let made =
        server.curl_as(&key, "POST", "/user/assistant", &["-H", "Content-Type: application/json", "-d", &body])?;
    let body = json!({ "phone_number": "+40700000001", "assistant_id": made["data"]["id"] }).to_string();
    // Ids of users count from 1, accounts from 0.
    Ok(Placing { account: u32::try_from(id)? - 1, key, body })
}
