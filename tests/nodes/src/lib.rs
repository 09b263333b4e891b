//! Nodes of the real binary over a real PostgreSQL, and a load that knows what was acknowledged.

pub mod faults;
pub mod shares;
pub mod soak;
pub mod streams;

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use switchboard::send;
use switchboard::store::Store;
use switchboard_postgres::{Instance, InstanceOptions, Login, ShownTime, SqlSession};
use switchboard_tests::house::{assistant, campaign, lead};
use switchboard_tests::server::{Folder, Server, Starting, binary};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// Requests that are under way at a time.
const AT_ONCE: usize = 16;
/// Pause of a client after a refusal.
const PAUSE: Duration = Duration::from_millis(20);
/// Rows of a page when everything is read back.
const PAGE: usize = 100;

/// A PostgreSQL with the tables of a store, and the folders of its nodes.
pub struct Site {
    /// The server.
    pub instance: Instance,
    /// The role and the database of the nodes.
    pub login: Login,
    folder: Folder,
}

impl Site {
    /// Starts a server with these options, and makes the tables.
    ///
    /// # Panics
    /// If there is no PostgreSQL, or it cannot be used.
    pub fn with(options: InstanceOptions) -> Self {
        let instance = options.start().expect("a PostgreSQL");
        let login = instance.create_database("calls").expect("a database");
        assert!(Store::init(&login.url(instance.address())).expect("its tables"), "they were missing");
        Self { instance, login, folder: Folder::new() }
    }

    /// Starts a server with usual settings that never waits for a disk, and makes the tables.
    pub fn new() -> Self {
        Self::with(Instance::options().in_memory())
    }

    /// Starts a server with usual settings, whatever it will hold, and makes the tables.
    pub fn on_disk() -> Self {
        Self::with(Instance::options())
    }

    /// Starts a node that reaches the database at an address, without waiting for it.
    pub fn begin(&self, name: &str, at: SocketAddr) -> Starting {
        self.begin_with(name, at, &[])
    }

    /// Starts a node with more arguments, without waiting for it.
    pub fn begin_with(&self, name: &str, at: SocketAddr, arguments: &[&str]) -> Starting {
        self.spawn(Command::new(binary()), name, at, arguments)
    }

    /// Starts a node that reaches the database at an address, and whose log can be read; waits until it answers.
    ///
    /// # Panics
    /// If there can be no log.
    pub fn node_telling(&self, name: &str, at: SocketAddr) -> (Server, NodeLog) {
        self.telling(Command::new(binary()), name, at)
    }

    /// Starts a node with a log and a clock that can be set; waits until it answers.
    ///
    /// # Panics
    /// If there can be no log, or it can be shown no time of its own.
    pub fn node_shown(&self, name: &str) -> (Server, NodeLog, ShownTime) {
        let (mut command, shown) = (Command::new(binary()), self.shown_time(name));
        shown.show_to(&mut command);
        let (node, log) = self.telling(command, name, self.instance.address());
        (node, log, shown)
    }

    fn telling(&self, mut command: Command, name: &str, at: SocketAddr) -> (Server, NodeLog) {
        let log = NodeLog(self.folder.path(&format!("{name}.log")));
        command.stderr(File::create(&log.0).expect("a log"));
        (self.spawn(command, name, at, &[]).wait(), log)
    }

    fn shown_time(&self, name: &str) -> ShownTime {
        ShownTime::new(&self.folder.path(&format!("{name}.time"))).expect("a library that shows a time")
    }

    /// Starts a node of another build, and waits until it answers.
    pub fn node_of(&self, name: &str, binary: &Path) -> Server {
        self.spawn(Command::new(binary), name, self.instance.address(), &[]).wait()
    }

    /// Starts a node whose clock is set so many seconds ahead, or behind if negative, once it answers.
    ///
    /// # Panics
    /// If its clock cannot be shifted.
    pub fn node_ahead(&self, name: &str, seconds: i64) -> Server {
        let (starting, shown) = self.begin_shown(name, 0);
        let node = starting.wait();
        shown.shift(seconds).expect("a file");
        node
    }

    /// Starts a node whose clock is so many seconds ahead from the beginning, without waiting for it.
    ///
    /// # Panics
    /// If it can be shown no time of its own.
    pub fn begin_shown(&self, name: &str, seconds: i64) -> (Starting, ShownTime) {
        let (mut command, shown) = (Command::new(binary()), self.shown_time(name));
        shown.shift(seconds).expect("a file");
        shown.show_to(&mut command);
        (self.spawn(command, name, self.instance.address(), &[]), shown)
    }

    fn spawn(&self, command: Command, name: &str, at: SocketAddr, arguments: &[&str]) -> Starting {
        spawn(command, &self.folder, name, &self.login.url(at), arguments)
    }

    /// Starts a node, and waits until it answers.
    pub fn node(&self, name: &str) -> Server {
        self.begin(name, self.instance.address()).wait()
    }

    /// Returns the first value of what a statement finds in the store.
    ///
    /// # Panics
    /// If the database refuses it.
    pub fn value(&self, sql: &str) -> String {
        let session = SqlSession::open(&self.login.config(self.instance.address())).expect("a session");
        session.run(sql).expect("an answer").into_iter().flatten().next().flatten().unwrap_or_default()
    }

    /// Returns the URL of the store.
    pub fn url(&self) -> String {
        self.login.url(self.instance.address())
    }
}

impl Default for Site {
    fn default() -> Self {
        Self::new()
    }
}

/// The log of a node.
pub struct NodeLog(PathBuf);

impl NodeLog {
    /// Waits until it says something.
    ///
    /// # Panics
    /// If it does not within half a minute.
    pub fn says(&self, part: &str) {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let said = std::fs::read_to_string(&self.0).expect("a log");
            if said.contains(part) {
                return;
            }
            assert!(Instant::now() < until, "not \"{part}\": {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Starts a node over the store of a URL, without waiting for it. Unless the arguments say otherwise it has no engine and no
/// limit of requests.
pub fn spawn(mut command: Command, folder: &Folder, name: &str, url: &str, arguments: &[&str]) -> Starting {
    command.env("SWITCHBOARD_STORE", url);
    let listen = own_address().to_string();
    let usual = [["--rate-limit", "0"], ["--engine", "none"], ["--listen", &listen]];
    let unsaid = usual.into_iter().filter(|[name, _]| !arguments.contains(name)).flatten();
    let arguments: Vec<&str> = unsaid.chain(arguments.iter().copied()).collect();
    Server::spawn(command, &folder.path(name), &arguments)
}

/// Returns an address of this machine that nobody else uses, with any port. Others still ask for a node that was killed, and
/// would reach whoever was given its port meanwhile.
#[must_use]
pub fn own_address() -> SocketAddr {
    let [a, b, c] = std::array::from_fn(|_| fastrand::u8(1..=254));
    (Ipv4Addr::new(127, a, b, c), 0).into()
}

/// An account that fills a campaign with leads.
#[derive(Clone)]
pub struct Agency {
    /// Its API key.
    pub key: String,
    campaign: u64,
}

impl Agency {
    /// Sets up the first account of a node.
    ///
    /// # Panics
    /// If a request is refused.
    pub fn of(node: &Server) -> Self {
        Self::with(node, node.text("api_key"))
    }

    /// Makes the account of a number at a node, and its key at another one, by the operator's token.
    ///
    /// # Panics
    /// If a request is refused.
    pub fn opened(node: &Server, other: &Server, operator: &str, number: usize) -> Self {
        let make = |at: &Server, path: &str, body: &Value| at.ask("POST", path, operator, Some(body));
        let account = make(node, "/admin/accounts", &json!({ "email": format!("agency{number}@example.com") }));
        let key = make(other, &format!("/admin/accounts/{}/api-keys", account["id"]), &json!({ "name": "Key" }));
        Self::with(node, key["api_key"]["token"].as_str().unwrap_or_else(|| panic!("{key}")))
    }

    /// Sets up the account of a key.
    ///
    /// # Panics
    /// If a request is refused.
    pub fn with(node: &Server, key: &str) -> Self {
        let make = |path: &str, body: &Value| {
            let made = node.ask("POST", path, key, Some(body));
            made["data"]["id"].as_u64().expect("an id")
        };
        let assistant = make("/api/user/assistant", &assistant());
        let campaign = make("/api/user/campaigns", &campaign(assistant));
        Self { key: key.to_owned(), campaign }
    }

    /// Returns the telephone numbers of all leads that a node knows, each once.
    ///
    /// # Panics
    /// If a page is refused, or a number stands twice.
    pub fn stored(&self, node: &Server) -> BTreeSet<String> {
        let mut stored = BTreeSet::new();
        for row in self.leads(node) {
            let number = row["phone_number"].as_str().expect("a number").to_owned();
            assert!(stored.insert(number), "it stands once: {row}");
        }
        stored
    }

    /// Returns all leads that a node knows.
    ///
    /// # Panics
    /// If a page is refused.
    pub fn leads(&self, node: &Server) -> Vec<Value> {
        let mut leads = Vec::new();
        for page in 1.. {
            let mut rows = self.page(node, page);
            let is_last = rows.len() < PAGE;
            leads.append(&mut rows);
            if is_last {
                break;
            }
        }
        leads
    }

    /// Returns a page of the leads that a node knows, the newest of which stand on the first.
    ///
    /// # Panics
    /// If it is refused.
    pub fn page(&self, node: &Server, page: usize) -> Vec<Value> {
        let path = format!("/api/user/leads?per_page={PAGE}&page={page}");
        let found = node.ask("GET", &path, &self.key, None);
        found["data"].as_array().expect("rows").clone()
    }
}

/// Expects that the later a lead was made, the later is its time; returns the times of the first and the last one.
///
/// # Panics
/// If it is not, or there are fewer than two.
pub fn expect_order(leads: &[Value]) -> (String, String) {
    let text = |lead: &Value| lead["created_at"].as_str().expect("a time").to_owned();
    let mut rows: Vec<_> = leads.iter().map(|lead| (lead["id"].as_u64().expect("an id"), text(lead))).collect();
    rows.sort_by_key(|(id, _)| *id);
    let back = rows.windows(2).find(|pair| pair[0].1 > pair[1].1);
    assert_eq!(back, None, "time runs backwards");
    let [first, .., last] = &rows[..] else { panic!("{} leads", rows.len()) };
    (first.1.clone(), last.1.clone())
}

/// Clients that make leads until they are stopped.
pub struct Load {
    runtime: Runtime,
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    url: Mutex<String>,
    agency: Agency,
    numbers: AtomicU64,
    acknowledged: Mutex<BTreeSet<String>>,
    asked: Mutex<BTreeSet<String>>,
    last: Mutex<Instant>,
    longest: Mutex<Duration>,
    refused: AtomicU64,
    stopped: AtomicBool,
}

/// Knows how much of a load was acknowledged, on any thread.
pub struct LoadView(Arc<Shared>);

impl LoadView {
    /// Returns the number of leads that were acknowledged so far.
    pub fn acknowledged(&self) -> usize {
        locked(&self.0.acknowledged).len()
    }
}

/// What became of a load.
pub struct Loaded {
    /// Numbers that were acknowledged.
    pub acknowledged: BTreeSet<String>,
    /// Numbers that were asked for.
    pub asked: BTreeSet<String>,
    /// The longest time in which nothing was acknowledged.
    pub longest: Duration,
    /// Requests that were answered 503, or not at all.
    pub refused: u64,
}

impl Load {
    /// Begins to make leads at a node.
    ///
    /// # Panics
    /// If there is no runtime.
    pub fn begin(node: &Server, agency: &Agency) -> Self {
        Self::begin_at(node, agency, 0)
    }

    /// Begins to make leads at a node, whose telephone numbers begin at a number of their own.
    ///
    /// # Panics
    /// If there is no runtime.
    pub fn begin_at(node: &Server, agency: &Agency, from: u64) -> Self {
        Self::of(node, agency, from, AT_ONCE)
    }

    /// Begins to make leads at a node by so many clients.
    ///
    /// # Panics
    /// If there is no runtime.
    pub fn of(node: &Server, agency: &Agency, from: u64, clients: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let shared = Arc::new(Shared {
            url: Mutex::new(node.text("url").to_owned()),
            agency: agency.clone(),
            numbers: AtomicU64::new(from),
            acknowledged: Mutex::default(),
            asked: Mutex::default(),
            last: Mutex::new(Instant::now()),
            longest: Mutex::default(),
            refused: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        });
        let runtime = runtime.expect("a runtime");
        let clients = (0..clients).map(|_| runtime.spawn(client(Arc::clone(&shared)))).collect();
        Self { runtime, shared, clients }
    }

    /// Sends what follows to another node.
    pub fn turn_to(&self, node: &Server) {
        node.text("url").clone_into(&mut locked(&self.shared.url));
    }

    /// Waits until so many more leads were acknowledged.
    ///
    /// # Panics
    /// If that takes longer than a minute.
    pub fn more(&self, count: usize) {
        let (wanted, patience) =
            (locked(&self.shared.acknowledged).len() + count, Instant::now() + Duration::from_mins(1));
        while locked(&self.shared.acknowledged).len() < wanted {
            assert!(Instant::now() < patience, "nothing is acknowledged");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns how many requests were answered 503, or not at all.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }

    /// Returns what knows how much was acknowledged.
    pub fn view(&self) -> LoadView {
        LoadView(Arc::clone(&self.shared))
    }

    /// Stops the clients.
    ///
    /// # Panics
    /// If one of them did.
    pub fn end(self) -> Loaded {
        self.shared.stopped.store(true, Ordering::Relaxed);
        for client in self.clients {
            self.runtime.block_on(client).expect("a client");
        }
        let (acknowledged, asked) = (locked(&self.shared.acknowledged).clone(), locked(&self.shared.asked).clone());
        let refused = self.shared.refused.load(Ordering::Relaxed);
        Loaded { acknowledged, asked, longest: *locked(&self.shared.longest), refused }
    }
}

impl Loaded {
    /// Returns what became of two loads.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.acknowledged.extend(other.acknowledged);
        self.asked.extend(other.asked);
        Self { longest: self.longest.max(other.longest), refused: self.refused + other.refused, ..self }
    }

    /// Expects that everything acknowledged is stored, and nothing else but what was asked for.
    ///
    /// # Panics
    /// If it is not.
    pub fn is_stored(&self, agency: &Agency, node: &Server) {
        let stored = agency.stored(node);
        let lost: Vec<_> = self.acknowledged.difference(&stored).take(5).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        let invented: Vec<_> = stored.difference(&self.asked).take(5).collect();
        assert!(invented.is_empty(), "stored and never asked for: {invented:?}");
        println!("{}; {} stored", self.told(), stored.len());
    }

    /// Says what became of it.
    pub fn told(&self) -> String {
        let Self { acknowledged, asked, longest, refused } = self;
        let (asked, acknowledged) = (asked.len(), acknowledged.len());
        format!("{asked} asked, {acknowledged} acknowledged, {refused} refused; nothing for at most {longest:?}")
    }
}

/// Sends a signal to a node.
///
/// # Panics
/// If it does not run.
pub fn signal(node: &Server, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(node.pid()).expect("a process id")).expect("a process");
    kill_process(id, signal).expect("it runs");
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn client(shared: Arc<Shared>) {
    let client = send::client().expect("TLS").timeout(Duration::from_secs(15)).build().expect("a client");
    while !shared.stopped.load(Ordering::Relaxed) {
        let number = format!("+1415{:07}", 2_000_000 + shared.numbers.fetch_add(1, Ordering::Relaxed));
        let url = format!("{}/api/user/leads", locked(&shared.url));
        locked(&shared.asked).insert(number.clone());
        let body = lead(shared.agency.campaign, &number);
        let answer = client.post(url).bearer_auth(&shared.agency.key).header("content-type", "application/json");
        match answer.body(json!(body).to_string()).send().await {
            Ok(answer) if answer.status().is_success() => shared.made(number),
            Ok(answer) if answer.status() != 503 => panic!("{}", answer.text().await.unwrap_or_default()),
            Ok(_) | Err(_) => {
                shared.refused.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

impl Shared {
    fn made(&self, number: String) {
        locked(&self.acknowledged).insert(number);
        let mut last = locked(&self.last);
        let mut longest = locked(&self.longest);
        *longest = longest.max(last.elapsed());
        *last = Instant::now();
    }
}
