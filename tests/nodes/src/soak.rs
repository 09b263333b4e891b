//! Many accounts over many nodes, at many times the speed of the clock, while one node after the other is killed: calls,
//! campaigns, imports and webhooks. At the end everything that was acknowledged is there, once.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use switchboard::send;
use switchboard_faults::report::Row;
use switchboard_postgres::Instance;
use switchboard_sim::random::Random;
use switchboard_tests::house::{assistant, with};
use switchboard_tests::outside::serve;
use switchboard_tests::server::{Server, binary, run};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::{Site, locked};

const NODES: usize = 8;
/// Connections to the database that are to be reckoned with for each node.
const CONNECTIONS_EACH: usize = 20;
/// Times the speed of the clock.
const SPEED: u32 = 48;
/// Accounts for each minute, up to the most.
const ACCOUNTS_A_MINUTE: usize = 40;
const ACCOUNTS_MAX: usize = 1_000;
/// Lines of the file that each account imports, one for each number that the simulated engine knows.
const LEADS: usize = 12;
/// Clients that place calls, and the longest pause of each between two.
const CLIENTS: usize = 4;
const PAUSE_MS_MAX: u64 = 1_600;
/// How long a node that was killed stays away.
const AWAY: Duration = Duration::from_secs(15);
const MINUTE: Duration = Duration::from_mins(1);
/// How long calls, campaigns and webhooks may take to come to an end.
const PATIENCE: Duration = Duration::from_mins(10);
/// Rows of a page.
const PAGE: usize = 100;
/// Longest wait for an answer: that of a node whose accounts are being taken over, twice.
const ANSWER: Duration = Duration::from_secs(20);

/// An account, with the calls that were acknowledged to it.
struct Customer {
    key: String,
    assistant: u64,
    campaign: u64,
    placed: Mutex<BTreeSet<u64>>,
}

/// Whoever asks the nodes.
#[derive(Clone)]
struct Asker {
    client: Client,
    /// Addresses of the nodes that live.
    urls: Arc<Mutex<Vec<String>>>,
}

impl Asker {
    /// Asks a node; `None` if there is no answer, or it is 503 or 429, or the same was asked before and is not done yet.
    async fn once(&self, random: &mut Random, request: &Asked<'_>) -> Answer {
        let Asked { method, path, key, body, once } = request;
        let url = random.pick(&locked(&self.urls)).cloned()?;
        let mut request = self.client.request(method.clone(), format!("{url}{path}")).bearer_auth(key);
        if let Some((media, body)) = body {
            request = request.header("content-type", *media).body(body.clone());
        }
        if let Some(once) = once {
            request = request.header("idempotency-key", once);
        }
        let answer = request.send().await.ok()?;
        let (status, bytes) = (answer.status().as_u16(), answer.bytes().await.ok()?);
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        let is_later = matches!(status, 429 | 503) || status == 409 && once.is_some();
        (!is_later).then_some((status, json))
    }

    /// Asks until there is an answer, which must be a success. What is asked for twice is carried out once.
    async fn until(&self, random: &mut Random, mut request: Asked<'_>) -> Value {
        request.once = (request.method == Method::POST).then(|| format!("once-{}", random.below(u64::MAX)));
        loop {
            match self.once(random, &request).await {
                Some((200..=299, json)) => return json,
                Some((status, json)) => panic!("{} {}: {status} {json}", request.method, request.path),
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    async fn ask(&self, random: &mut Random, method: Method, path: &str, key: &str, body: Option<&Value>) -> Value {
        self.until(random, Asked::of(method, path, key, body)).await
    }

    async fn get(&self, random: &mut Random, path: &str, key: &str) -> Value {
        self.ask(random, Method::GET, path, key, None).await
    }

    /// Returns all rows of a list.
    async fn all(&self, random: &mut Random, path: &str, key: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        for page in 1.. {
            let mut found = self.get(random, &format!("{path}?per_page={PAGE}&page={page}"), key).await;
            let list = found["data"].as_array_mut().unwrap_or_else(|| panic!("{path} is no list"));
            let last = list.len() < PAGE;
            rows.append(list);
            if last {
                break;
            }
        }
        rows
    }
}

type Answer = Option<(u16, Value)>;

/// What a node is asked.
struct Asked<'a> {
    method: Method,
    path: &'a str,
    key: &'a str,
    /// Its media type and itself.
    body: Option<(&'static str, String)>,
    /// Its `Idempotency-Key`.
    once: Option<String>,
}

impl<'a> Asked<'a> {
    fn of(method: Method, path: &'a str, key: &'a str, body: Option<&Value>) -> Self {
        Self { method, path, key, body: body.map(|body| ("application/json", body.to_string())), once: None }
    }
}

/// Calls that webhooks told of.
type Told = Arc<Mutex<BTreeSet<u64>>>;

/// Lives for so many minutes, and looks at what is there.
pub fn soak(minutes: u64, seed: u64) -> Row {
    let mut row = Row::begin("nothing is lost or doubled while nodes die that serve many accounts for hours", minutes);
    let lived = super::faults::caught(|| {
        let mut town = Town::begin(minutes, seed);
        (0..minutes).for_each(|_| {
            town.minute();
            row.count(Ok(()));
        });
        row.notes.push(town.end());
    });
    row.fail_if(lived.map_err(|why| format!("seed {seed}: {why}")));
    row.end()
}

struct Town {
    site: Site,
    nodes: Vec<Server>,
    started: usize,
    pace: String,
    asker: Asker,
    customers: Arc<Vec<Customer>>,
    told: Told,
    runtime: Runtime,
    random: Random,
    over: tokio::sync::watch::Sender<bool>,
    clients: JoinSet<u64>,
    campaigns: JoinSet<()>,
}

impl Town {
    fn begin(minutes: u64, seed: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let told = Told::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let client = send::client().expect("TLS").timeout(ANSWER).build().expect("a client");
        let mut town = Self {
            site: Site::with(Instance::options().set("max_connections", &(NODES * CONNECTIONS_EACH).to_string())),
            nodes: Vec::new(),
            started: 0,
            pace: format!("{SPEED}@{now}"),
            asker: Asker { client, urls: Arc::default() },
            customers: Arc::default(),
            told: Arc::clone(&told),
            runtime: runtime.expect("a runtime"),
            random: Random::new(seed),
            over: tokio::sync::watch::Sender::new(false),
            clients: JoinSet::new(),
            campaigns: JoinSet::new(),
        };
        (0..NODES).for_each(|_| town.join());
        let hook = serve(move |came| {
            let body: Value = serde_json::from_slice(&came.body).unwrap_or_default();
            locked(&told).extend(body["id"].as_u64());
            (200, Vec::new(), Vec::new())
        });
        let accounts = usize::try_from(minutes).map_or(ACCOUNTS_MAX, |minutes| minutes * ACCOUNTS_A_MINUTE);
        town.fill(accounts.min(ACCOUNTS_MAX), &hook);
        town.begin_campaigns(minutes);
        town.place_calls();
        town
    }

    /// Starts a node.
    fn join(&mut self) {
        let name = self.started.to_string();
        self.started += 1;
        let mut command = Command::new(binary());
        command.stderr(Stdio::inherit());
        let engine = ["--engine", "simulated", "--engine-speed", "1000", "--egress-allow", "127.0.0.0/8"];
        let arguments = [&engine[..], &["--pace", &self.pace]].concat();
        let node = self.site.spawn(command, &name, self.site.instance.address(), &arguments).wait();
        locked(&self.asker.urls).push(node.text("url").to_owned());
        self.nodes.push(node);
    }

    /// Makes accounts, each with an assistant, a webhook, and a campaign.
    fn fill(&mut self, accounts: usize, hook: &str) {
        let operator = self.nodes[0].text("admin_token").to_owned();
        let mut made: JoinSet<Vec<Customer>> = JoinSet::new();
        for worker in 0..CLIENTS {
            let (asker, operator, hook) = (self.asker.clone(), operator.clone(), hook.to_owned());
            let mut random = self.random.fork();
            let numbers = (0..accounts).filter(move |number| *number % CLIENTS == worker);
            made.spawn_on(
                async move {
                    let mut customers = Vec::new();
                    for number in numbers {
                        customers.push(customer(&asker, &mut random, &operator, number, &hook).await);
                    }
                    customers
                },
                self.runtime.handle(),
            );
        }
        self.customers = Arc::new(self.runtime.block_on(made.join_all()).into_iter().flatten().collect());
    }

    /// Has one account after the other import its leads and start its campaign, all of them within most of so many minutes.
    fn begin_campaigns(&mut self, minutes: u64) {
        for worker in 0..CLIENTS {
            let (asker, customers, over) = (self.asker.clone(), Arc::clone(&self.customers), self.over.subscribe());
            let each = (customers.len() / CLIENTS + 1) as u64;
            // Twice the mean, of four fifths of the time.
            let pause_ms_max = minutes * 60_000 * 8 / 5 / each;
            let mut random = self.random.fork();
            self.campaigns.spawn_on(
                async move {
                    for (number, customer) in customers.iter().enumerate().skip(worker).step_by(CLIENTS) {
                        begin(&asker, &mut random, customer, number).await;
                        if !*over.borrow() {
                            tokio::time::sleep(Duration::from_millis(random.below(pause_ms_max))).await;
                        }
                    }
                },
                self.runtime.handle(),
            );
        }
    }

    /// Begins to place calls for accounts at random.
    fn place_calls(&mut self) {
        for _ in 0..CLIENTS {
            let (asker, customers, over) = (self.asker.clone(), Arc::clone(&self.customers), self.over.subscribe());
            let mut random = self.random.fork();
            self.clients.spawn_on(
                async move {
                    let mut placed = 0;
                    while !*over.borrow() {
                        let customer = random.pick(&customers).expect("an account");
                        let number = format!("+1415{:05}00", random.below(100_000));
                        let body = json!({ "assistant_id": customer.assistant, "phone_number": number });
                        let path = "/api/user/make_call";
                        let asked = Asked::of(Method::POST, path, &customer.key, Some(&body));
                        let answer = asker.once(&mut random, &asked).await;
                        // One that was not answered may be there or not.
                        if let Some((status, made)) = answer {
                            assert!((200..300).contains(&status), "{status} {made}");
                            locked(&customer.placed).extend(made["call_id"].as_u64());
                            placed += 1;
                        }
                        tokio::time::sleep(Duration::from_millis(random.below(PAUSE_MS_MAX))).await;
                    }
                    placed
                },
                self.runtime.handle(),
            );
        }
    }

    /// Lives for a minute, in which a node is killed and another one started.
    fn minute(&mut self) {
        let until = Instant::now() + MINUTE;
        let at = usize::try_from(self.random.below(self.nodes.len() as u64)).expect("a few nodes");
        let node = self.nodes.remove(at);
        locked(&self.asker.urls).retain(|url| url != node.text("url"));
        node.kill();
        std::thread::sleep(AWAY);
        self.join();
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
    }

    /// Waits until everything has come to an end, and looks at it; returns what there was.
    fn end(mut self) -> String {
        self.over.send_replace(true);
        let placed: u64 = self.runtime.block_on(self.clients.join_all()).into_iter().sum();
        self.runtime.block_on(self.campaigns.join_all());
        let patience = Instant::now() + PATIENCE;
        let (mut calls, mut events) = (0, 0);
        for customer in self.customers.iter() {
            let asker = &self.asker;
            let (random, told) = (&mut self.random, &self.told);
            let [called, happened] = self.runtime.block_on(async {
                while let Some(what) = under_way(asker, random, customer).await {
                    assert!(Instant::now() < patience, "an account does not come to an end: {what}");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                judge(asker, random, customer, told).await
            });
            calls += called;
            events += happened;
        }
        let verified = run(&["verify", &self.site.url()]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
        let accounts = self.customers.len();
        format!("{accounts} accounts, {calls} calls, {placed} of them placed one by one, {events} events")
    }
}

/// Makes an account.
async fn customer(asker: &Asker, random: &mut Random, operator: &str, number: usize, hook: &str) -> Customer {
    let email = json!({ "email": format!("agency{number}@example.com") });
    let account = asker.ask(random, Method::POST, "/admin/accounts", operator, Some(&email)).await;
    let path = format!("/admin/accounts/{}/api-keys", account["id"]);
    let key = asker.ask(random, Method::POST, &path, operator, Some(&json!({ "name": "Key" }))).await;
    let key = key["api_key"]["token"].as_str().unwrap_or_else(|| panic!("{key}")).to_owned();
    let hook = json!({ "is_webhook_active": true, "webhook_url": format!("{hook}/{number}"),
        "send_webhook_only_on_completed": false, "max_duration": 120, "ringing_time": 20 });
    let made = with(assistant(), &hook);
    let made = asker.ask(random, Method::POST, "/api/user/assistant", &key, Some(&made)).await;
    let assistant = made["data"]["id"].as_u64().expect("an id");
    let path = format!("/api/user/assistant/{assistant}");
    asker.ask(random, Method::PUT, &path, &key, Some(&json!({ "status": "active" }))).await;
    let campaign = json!({ "name": "All", "assistant_id": assistant, "max_calls_in_parallel": 2, "max_retries": 1,
        "retry_interval": 10 });
    let made = asker.ask(random, Method::POST, "/api/user/campaigns", &key, Some(&campaign)).await;
    let campaign = made["data"]["id"].as_u64().expect("an id");
    Customer { key, assistant, campaign, placed: Mutex::default() }
}

/// Returns a number that the simulated engine takes for an outcome of its own.
fn lead(account: usize, line: usize) -> String {
    format!("+407{:04}{line:04}", account % 10_000)
}

/// Imports an account's leads, waits until they are there, and starts its campaign.
async fn begin(asker: &Asker, random: &mut Random, customer: &Customer, number: usize) {
    let Customer { key, campaign, .. } = customer;
    let lines: Vec<_> = (1..=LEADS).map(|line| json!({ "phone_number": lead(number, line) }).to_string()).collect();
    let path = format!("/api/user/leads/import?campaign_id={campaign}");
    let body = Some(("application/x-ndjson", lines.join("\n")));
    let import = asker.until(random, Asked { body, ..Asked::of(Method::POST, &path, key, None) }).await;
    let path = format!("/api/user/leads/imports/{}", import["data"]["id"]);
    while asker.get(random, &path, key).await["data"]["status"] != "completed" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let start = json!({ "campaign_id": campaign, "action": "start" });
    asker.ask(random, Method::POST, "/api/user/campaigns/update-status", key, Some(&start)).await;
}

/// Returns what still happens in an account, if anything does.
async fn under_way(asker: &Asker, random: &mut Random, customer: &Customer) -> Option<String> {
    let key = &customer.key;
    for status in ["initiated", "ringing", "in-progress", "ended"] {
        let calls = asker.get(random, &format!("/api/user/calls?status={status}&per_page=1"), key).await;
        if calls["total"] != 0 {
            return Some(calls.to_string());
        }
    }
    let campaign = asker.get(random, &format!("/api/user/campaigns/{}", customer.campaign), key).await;
    if campaign["status"] != "completed" {
        return Some(campaign.to_string());
    }
    let pending = asker.get(random, "/api/user/webhook-deliveries?status=pending&per_page=1", key).await;
    (pending["total"] != 0).then(|| pending.to_string())
}

/// Looks at all that an account has; returns the numbers of its calls and its events.
async fn judge(asker: &Asker, random: &mut Random, customer: &Customer, told: &Told) -> [usize; 2] {
    let key = &customer.key;
    let leads = asker.all(random, "/api/user/leads", key).await;
    assert_eq!(leads.len(), LEADS, "each line of the file is a lead");
    let final_status = |lead: &&Value| matches!(lead["status"].as_str(), Some("completed" | "reached-max-retries"));
    assert_eq!(leads.iter().filter(final_status).count(), LEADS, "each lead was called: {leads:?}");
    let calls = asker.all(random, "/api/user/calls", key).await;
    let ids: BTreeSet<u64> = calls.iter().filter_map(|call| call["id"].as_u64()).collect();
    assert_eq!(ids.len(), calls.len());
    let lost: Vec<u64> = locked(&customer.placed).difference(&ids).copied().collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let mut dialed: BTreeMap<u64, usize> = BTreeMap::new();
    for call in &calls {
        let path = format!("/api/user/calls/{}/events", call["id"]);
        let events = asker.get(random, &path, key).await;
        let events = events["data"].as_array().unwrap_or_else(|| panic!("{events}"));
        let dials = events.iter().filter(|event| event["type"] == "dialing").count();
        assert!(dials <= 1, "a call is dialed once: {events:?}");
        if let Some(lead) = call["lead_id"].as_u64() {
            *dialed.entry(lead).or_default() += dials;
        }
    }
    assert!(dialed.values().all(|dials| *dials <= 2), "a lead is dialed in each of its rounds: {dialed:?}");
    // The feed has each event once and in order, and one of the end of each call.
    let (mut ended, mut last) = (Vec::new(), 0);
    loop {
        let found = asker.get(random, &format!("/api/user/events?after={last}&limit=1000"), key).await;
        let Some(events) = found["data"].as_array().filter(|events| !events.is_empty()) else { break };
        for event in events {
            last += 1;
            assert_eq!(event["seq"], last, "{event}");
            if event["event"] == "call.ended" {
                ended.extend(event["payload"]["id"].as_u64());
            }
        }
    }
    assert_eq!(ended.len(), ids.len(), "each call ended once");
    assert_eq!(ended.into_iter().collect::<BTreeSet<_>>(), ids);
    let missing: Vec<_> = ids.difference(&locked(told)).copied().collect();
    assert!(missing.is_empty(), "no webhook told of {missing:?}");
    [calls.len(), last]
}
