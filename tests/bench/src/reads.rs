//! Reads and pages beside bare hyper that sends the same bytes, in alternating turns.

use std::sync::Arc;
use std::time::Duration;

use switchboard_claims::{Claim, tell};

use crate::Failed;
use crate::fill::{ASSISTANTS, Folder, Stock};
use crate::load::{Figures, Load, get, once, run};
use crate::server::Server;
use crate::turns::spread;

/// Concurrent connections.
const CONNECTIONS: u32 = 64;
/// How long each of the two servers is measured in one turn.
const SPAN: Duration = Duration::from_secs(2);
/// Turns; the one with the median ratio counts.
const TURNS: usize = 5;
/// Calls in the store.
const CALLS: u32 = 100_000;
/// Rows of a page of calls.
const PER_PAGE: u64 = 15;

/// Aims of one kind of read.
#[derive(Clone, Copy)]
struct Aim {
    /// Least rate relative to bare hyper.
    ratio: f64,
    /// Most server CPU time per request, microseconds; infinite: no aim.
    cpu_us: f64,
}

const READ: Aim = Aim { ratio: 0.65, cpu_us: 30.0 };
const FIRST: Aim = Aim { ratio: 0.5, cpu_us: 60.0 };
const ANY: Aim = Aim { ratio: 0.3, cpu_us: f64::INFINITY };

/// Measures reads and pages.
pub fn print() -> Result<bool, Failed> {
    let folder = Folder::new("reads")?;
    let stock = Stock::new(&folder.0, "store", ASSISTANTS, CALLS)?;
    let server = Server::service(&stock.data)?;
    println!("The middle of {TURNS} turns over {CONNECTIONS} connections; the client runs on the same cores.\n");
    println!(
        "| | bytes | req/s | bare req/s | of bare | p50 µs | p99 µs | CPU µs | bare CPU µs |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut claims = Vec::new();
    let page = |query: &'static str| move |_: u64| format!("/user/calls?{query}per_page={PER_PAGE}&page=1");
    let any = |query: &'static str, rows: u64| {
        move |turn: u64| {
            let page = 1 + spread(turn) % rows.div_ceil(PER_PAGE);
            format!("/user/calls?{query}per_page={PER_PAGE}&page={page}")
        }
    };
    let rows = u64::from(CALLS);
    let mut line = |name: &str, aim, target: &Target| -> Result<(), Failed> {
        claims.extend(line(&server, &stock.key, name, aim, target)?);
        Ok(())
    };
    line("an assistant", READ, &Target::of(|_| "/user/assistant/1".into()))?;
    line("a call", READ, &Target::of(|_| "/user/calls/77".into()))?;
    line("ten assistants", FIRST, &Target::of(|_| "/user/assistants/get".into()))?;
    line("calls, first page", FIRST, &Target::of(page("")))?;
    line("calls, one filter, first page", FIRST, &Target::of(page("status=completed&")))?;
    line("calls, any page", ANY, &Target::of(any("", rows)))?;
    line("calls, one filter, any page", ANY, &Target::of(any("status=completed&", rows * 6 / 10)))?;
    line("calls, two filters, any page", ANY, &Target::of(any("status=completed&type=outbound&", rows / 3)))?;
    Ok(tell(&claims)?)
}

/// Request targets of a read, by the number of the request.
struct Target(Arc<dyn Fn(u64) -> String + Send + Sync>);

impl Target {
    fn of(target: impl Fn(u64) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(target))
    }
}

fn line(server: &Server, key: &str, name: &str, aim: Aim, target: &Target) -> Result<Vec<Claim>, Failed> {
    let (load, mut turns) = (Load::full(CONNECTIONS, SPAN), Vec::<(Figures, Figures)>::new());
    let (key, target) = (key.to_owned(), Arc::clone(&target.0));
    let request = move |turn| get(&key, &target(turn));
    let bare = Server::bare(&once(server, &request(0))?)?;
    for _ in 0..TURNS {
        turns.push((run(server, load, request.clone())?, run(&bare, load, request.clone())?));
    }
    let ratio = |(own, bare): &(Figures, Figures)| own.rate / bare.rate;
    turns.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let (own, bare) = turns[TURNS / 2];
    let ratio = ratio(&(own, bare));
    println!(
        "| {name} | {} | {:.0} | {:.0} | {ratio:.2} | {:.0} | {:.0} | {:.1} | {:.1} |",
        own.bytes, own.rate, bare.rate, own.p50_us, own.p99_us, own.cpu_us, bare.cpu_us
    );
    let mut claims = vec![Claim::at_least(format!("Rate beside bare hyper: {name}"), aim.ratio, ratio, "")];
    if aim.cpu_us.is_finite() {
        claims.push(Claim::at_most(format!("Server CPU: {name}"), aim.cpu_us, own.cpu_us, "µs"));
    }
    Ok(claims)
}
