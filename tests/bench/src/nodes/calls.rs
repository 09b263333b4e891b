//! Whole calls over PostgreSQL: what one costs a node and its database, from which larger sites are sized.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::store::Store;
use switchboard_claims::Claim;

use super::{ACCOUNTS, Placing, Site, accounts};
use crate::Failed;
use crate::load::{each, sent};
use crate::server::Server;

/// Calls that are placed, as many by each account.
const CALLS: u32 = 40 * ACCOUNTS;
/// How long they may take to end.
const ENDED: Duration = Duration::from_mins(2);
/// Pause between two looks at them.
const PAUSE: Duration = Duration::from_millis(200);

/// Measures calls that the simulated engine plays in the node's process, each told to a webhook.
pub fn calls(folder: &Path, site: &Site) -> Result<Vec<Claim>, Failed> {
    let url = site.instance.create_database("whole")?.url(site.instance.address());
    Store::init(&url)?;
    let receiver = Server::bare(b"HTTP/1.1 200 OK\r\n\r\nok")?;
    let engine = ["--engine", "simulated", "--engine-speed", "1000", "--egress-allow", "127.0.0.0/8", "--store", &url];
    let node = Server::service_with(&folder.join("whole"), &engine)?;
    let all = accounts(&node)?;
    let hook = format!("http://{}/hook", receiver.address);
    each(&node, all.iter().map(|placing| enable(placing, &hook)).collect::<Result<_, _>>()?)?;
    let place = |placing: &Placing| sent("POST", &placing.key, "/user/make_call", &placing.body);
    let (before, cpu) = (size(site)?, node.cpu_ms());
    let mut took = Duration::ZERO;
    let cost = site.cost(|| {
        let began = Instant::now();
        each(&node, (0..CALLS as usize).map(|number| place(&all[number % all.len()])).collect())?;
        loop {
            // What looking takes is not of the calls.
            took = began.elapsed();
            if all.iter().try_fold(true, |over, placing| Ok::<_, Failed>(over && are_over(&node, placing)?))? {
                return Ok(f64::from(CALLS) / began.elapsed().as_secs_f64());
            }
            if took > ENDED {
                return Err("calls do not end".into());
            }
            std::thread::sleep(PAUSE);
        }
    })?;
    let of_each = |sum: f64| sum / f64::from(CALLS);
    let text = |what: &str| format!("A whole call, told to a webhook, of {ACCOUNTS} accounts: {what}");
    Ok(vec![
        Claim::stated(text("a second by one node"), format!("{:.0} /s", f64::from(CALLS) / took.as_secs_f64())),
        Claim::stated(
            text("processor of the node, the simulated engine within it"),
            format!("{:.2} ms", of_each(node.cpu_ms() - cpu)),
        ),
        Claim::stated(text("processor of PostgreSQL"), format!("{:.2} ms", cost.database_us / 1e3)),
        Claim::stated(text("PostgreSQL's log"), format!("{:.1} kB", cost.wal / 1e3)),
        Claim::stated(text("rows in the database"), format!("{:.1} kB", of_each(size(site)? - before) / 1e3)),
    ])
}

/// Has the calls of an account's assistant told to a URL.
fn enable(placing: &Placing, url: &str) -> Result<Vec<u8>, Failed> {
    let body: Value = serde_json::from_str(&placing.body)?;
    let hook = json!({ "assistant_id": body["assistant_id"], "webhook_url": url }).to_string();
    Ok(sent("POST", &placing.key, "/user/assistants/enable-webhook", &hook))
}

/// Returns whether no call of an account runs, and each was told.
fn are_over(node: &Server, placing: &Placing) -> Result<bool, Failed> {
    let look = |target: &str| node.curl_as(&placing.key, "GET", target, &[]);
    let now = look("/user/overview")?["data"]["calls_now"].as_u64();
    let total = |target: &str| Ok::<_, Failed>(look(target)?["total"].as_u64().unwrap_or_default());
    let told = total("/user/webhook-deliveries?status=delivered&per_page=1")?;
    Ok(now == Some(0) && told >= total("/user/calls?per_page=1")?)
}

fn size(site: &Site) -> Result<f64, Failed> {
    Ok(site.instance.value("SELECT pg_database_size('whole')")?.parse()?)
}
