//! Durable creates: through the server, through its writer's queue alone, through the same steps without a queue, as bare
//! puts.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard::clock;
use switchboard::limiter::{Limiter, RateDecisions};
use switchboard::metrics::Metrics;
use switchboard::room::Holder;
use switchboard::store::Store;
use switchboard::writer::{Care, Exchange, Writer, WriterContext, WriterInput};
use switchboard_claims::{Claim, tell};
use switchboard_core::http::request::Request;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::store::{Change, Layer};
use tokio::sync::watch;

use crate::fill::{ASSISTANTS, Folder, Stock};
use crate::inside::{self, Inside, post};
use crate::load::{Figures, Load, run, sent};
use crate::server::Server;
use crate::turns::middle;
use crate::{Failed, bare};

/// Steps of one commit where there is no queue: as many as there are concurrent clients.
pub const GROUP: u32 = 64;
/// How long each way is measured in one turn.
const SPAN: Duration = Duration::from_secs(3);
/// Commits whose rows are put into redb alone.
const PUT: u32 = 200;
/// Turns; the median of each ratio counts.
const TURNS: usize = 5;

/// Body of the measured request: a call, since no plan bounds their number.
pub const BODY: &str = r#"{"phone_number":"+40700000001","assistant_id":1,"variables":{"customer_name":"Ana","note":"Please call before noon."}}"#;

/// Measurements of one turn; rates in creates per second.
struct Turn {
    served: Figures,
    queued: f64,
    direct: f64,
    /// Puts of all that each create changes, in creates per second.
    each: f64,
    /// Puts of each row once per commit, however many of its creates change the row.
    once: f64,
}

/// Measures creates, alone and many at once.
pub fn print() -> Result<bool, Failed> {
    let folder = Folder::new("creates")?;
    let stock = Stock::new(&folder.0, "store", ASSISTANTS, 10_000)?;
    println!("`make_call`; the middle of {TURNS} turns.\n");
    println!(
        "| clients | over HTTP /s | p50 µs | p99 µs | CPU µs | bytes written | queue alone /s | same steps, no queue /s | each create's puts /s | each row once /s |\n|---|---|---|---|---|---|---|---|---|---|"
    );
    let mut claims = Vec::new();
    for group in [1, GROUP] {
        let turns = (0..TURNS).map(|_| turn(&folder, &stock, group)).collect::<Result<Vec<_>, _>>()?;
        let middle = |of: &dyn Fn(&Turn) -> f64| middle(&turns, of);
        let shown = [
            middle(&|turn| turn.served.rate),
            middle(&|turn| turn.served.p50_us),
            middle(&|turn| turn.served.p99_us),
            middle(&|turn| turn.served.cpu_us),
            middle(&|turn| turn.served.written),
            middle(&|turn| turn.queued),
            middle(&|turn| turn.direct),
            middle(&|turn| turn.each),
            middle(&|turn| turn.once),
        ];
        println!("| {group} | {} |", shown.map(|figure| format!("{figure:.0}")).join(" | "));
        if group > 1 {
            claims.extend([
                Claim::at_most("Server CPU: a durable create, of 64 at once", 200.0, shown[3], "µs"),
                Claim::at_least("Creates by 64 over bare puts", 0.65, middle(&|turn| turn.queued / turn.each), ""),
                Claim::at_least(
                    "Creates by 64 over bare puts of each row once",
                    0.65,
                    middle(&|turn| turn.queued / turn.once),
                    "",
                ),
            ]);
        }
        if group == 1 {
            claims.push(Claim::stated(
                "Server CPU: a durable create, alone with its commit",
                format!("{:.0} µs", shown[3]),
            ));
        }
        let queue = middle(&|turn| turn.queued / turn.direct);
        claims.push(Claim::at_least(format!("Creates by {group} over the same steps without a queue"), 0.9, queue, ""));
        let served = middle(&|turn| turn.served.rate / turn.direct);
        claims.push(Claim::stated(format!("The same over HTTP, by {group} connections"), format!("{served:.2}")));
    }
    Ok(tell(&claims)?)
}

fn turn(folder: &Folder, stock: &Stock, group: u32) -> Result<Turn, Failed> {
    let server = Server::service(&stock.data)?;
    let key = stock.key.clone();
    let served = run(&server, Load::full(group, SPAN), move |_| sent("POST", &key, "/user/make_call", BODY))?;
    drop(server);
    let requests = [post(&stock.key, "/user/make_call", "application/json", BODY)];
    let queued = queued(Arc::new(Store::existing(&stock.data)?), &requests, group)?;
    let Direct { rate: direct, each, once } = direct(stock, group)?;
    let puts = |commits: &[_]| Ok::<_, Failed>(bare::puts(&folder.0, commits)? * f64::from(group));
    let (each, once) = (puts(&each)?, puts(&once)?);
    Ok(Turn { served, queued, direct, each, once })
}

/// Carries requests out in this process, queued for the writer of a store by `clients` clients; returns the rate.
pub fn queued(store: Arc<Store>, requests: &[Request], clients: u32) -> Result<f64, Failed> {
    let parts = WriterContext {
        service: Arc::new(Service::new(Config::default())),
        store,
        clock: Arc::default(),
        limiter: Arc::new(Limiter::new(0)),
        metrics: Arc::new(Metrics::of(&Arc::default())),
        wake: watch::channel(None).0,
        news: Arc::default(),
    };
    let (writer, thread) = Writer::start(parts)?;
    let (began, runtime) = (Instant::now(), tokio::runtime::Runtime::new()?);
    let clients: Vec<_> = (0..clients as usize)
        .map(|number| {
            let (writer, mut requests) = (writer.clone(), requests.to_vec());
            // Each goes around them from another one.
            let first = number % requests.len();
            requests.rotate_left(first);
            runtime.spawn(async move { client(&writer, &requests, began).await.map_err(|error| error.to_string()) })
        })
        .collect();
    drop(writer);
    let mut done = 0;
    for client in clients {
        done += runtime.block_on(client)??;
    }
    let rate = f64::from(done) / began.elapsed().as_secs_f64();
    thread.join().map_err(|_| "the writer panicked")?;
    Ok(rate)
}

/// Queues requests again and again; returns how many were carried out.
async fn client(writer: &Writer, requests: &[Request], began: Instant) -> Result<u32, Failed> {
    let mut done = 0;
    for request in requests.iter().cycle() {
        if began.elapsed() > SPAN {
            break;
        }
        let seed = clock::seed()?;
        let exchange = Exchange {
            request: request.clone(),
            answers: Vec::new(),
            told: RateDecisions::default(),
            seed,
            care: Care::Usual,
        };
        let (_, output) = writer.submit(Holder::Account(1), WriterInput::Http(Box::new(exchange)), seed).await;
        inside::succeeded(request, &output.map_err(|failure| format!("{failure:?}"))?.outcome)?;
        done += 1;
    }
    Ok(done)
}

/// Measurements of steps in this process without a queue.
struct Direct {
    rate: f64,
    /// Changes of each of some commits, step by step.
    each: Vec<Vec<Change>>,
    /// Changes of the same commits, each row once.
    once: Vec<Vec<Change>>,
}

/// Runs the same steps in this process, `group` to a commit; some commits' changes are collected.
fn direct(stock: &Stock, group: u32) -> Result<Direct, Failed> {
    let inside = Inside::open(&stock.data)?;
    let request = post(&stock.key, "/user/make_call", "application/json", BODY);
    let requests = || std::iter::repeat_n(&request, group as usize);
    let (began, mut commits) = (Instant::now(), 0);
    while began.elapsed() < SPAN {
        inside.group(requests(), |_| {})?;
        commits += 1;
    }
    let rate = f64::from(commits * group) / began.elapsed().as_secs_f64();
    let [each, once] = changes(&inside, &[request], group, PUT)?;
    Ok(Direct { rate, each, once })
}

/// Returns what some commits of these requests, one after the other, change on a store: each row once a commit.
pub fn commits(data: &Path, requests: &[Request], group: u32, count: u32) -> Result<Vec<Vec<Change>>, Failed> {
    let [_, once] = changes(&Inside::open(data)?, requests, group, count)?;
    Ok(once)
}

/// Commits so many groups of requests; returns what each changes: step by step, and each row once.
fn changes(inside: &Inside, requests: &[Request], group: u32, count: u32) -> Result<[Vec<Vec<Change>>; 2], Failed> {
    let (mut each, mut once) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut changed = Vec::new();
        let requests = requests.iter().cycle().take(group as usize);
        inside.group(requests, |changes| changed.extend_from_slice(changes))?;
        let mut laid = Layer::default();
        laid.apply(changed.iter().cloned());
        each.push(changed);
        once.push(laid.into_changes().collect());
    }
    Ok([each, once])
}
