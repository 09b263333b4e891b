//! An import of many lines: through the server with a neighbour that writes, and slice by slice in this process.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_claims::{Claim, tell};
use switchboard_core::output::Input;

use crate::Failed;
use crate::fill::{self, Folder, assistant};
use crate::inside::Inside;
use crate::load::{Figures, Load, run, sent};
use crate::server::Server;

/// The longest that a neighbour should wait for a slice, milliseconds.
const WAIT_MS: f64 = 20.0;
/// How long the neighbour writes: from before the upload, longer than the import takes.
const NEIGHBOUR: Duration = Duration::from_secs(7);

/// Lines of a file that is nearly as large as one may be.
const LARGE: u32 = 1_000_000;

/// Measures an import of so many lines, both ways, and the arrival of a large file.
pub fn print(lines: u32) -> Result<bool, Failed> {
    let folder = Folder::new("import")?;
    let csv = fill::lines(0..lines)?;
    let file = folder.0.join("leads.csv");
    std::fs::write(&file, &csv)?;
    println!("An import of {lines} lines, {} bytes.\n", csv.len());
    let mut claims = served(&folder.0.join("served"), &file)?;
    claims.extend(sliced(&folder.0.join("sliced"), csv)?);
    let large = fill::lines(0..LARGE)?;
    std::fs::write(&file, &large)?;
    claims.push(arriving(&folder.0.join("large"), &file, large.len())?);
    Ok(tell(&claims)?)
}

/// A server on a new store with an assistant and a campaign.
fn server(data: &Path) -> Result<Server, Failed> {
    let server = Server::service(data)?;
    server.send("POST", "/user/assistant", &assistant("Anna"))?;
    server.send("POST", "/user/campaigns", &json!({ "name": "Spring", "assistant_id": 1 }))?;
    Ok(server)
}

/// A large file arrives; how long its import takes is no part of this.
fn arriving(data: &Path, file: &Path, bytes: usize) -> Result<Claim, Failed> {
    let server = server(data)?;
    let neighbour = std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| neighbour(&server));
        std::thread::sleep(Duration::from_secs(1));
        upload(&server, file)?;
        neighbour.join().map_err(|_| "the neighbour gave up")?
    })?;
    let claim = format!("A neighbour's write while a file of {} MB arrives: the longest", bytes / 1_000_000);
    Ok(Claim::at_most(claim, WAIT_MS, neighbour.most_us / 1e3, "ms"))
}

/// Writes, one request after the other.
fn neighbour(server: &Server) -> Result<Figures, Failed> {
    let key = server.key.clone();
    run(server, Load::full(1, NEIGHBOUR), move |turn| {
        sent("PUT", &key, "/user/campaigns/1", &format!("{{\"name\":\"Spring {turn}\"}}"))
    })
}

fn upload(server: &Server, file: &Path) -> Result<Value, Failed> {
    let body = format!("@{}", file.display());
    let upload = ["-H", "Content-Type: text/csv", "--data-binary", &body];
    server.curl("POST", "/user/leads/import?campaign_id=1", &upload)
}

fn served(data: &Path, file: &Path) -> Result<Vec<Claim>, Failed> {
    let server = server(data)?;
    let idle = server.memory_mib();
    let (neighbour, accepted, done, shown) = std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| neighbour(&server));
        // It writes before the upload begins.
        std::thread::sleep(Duration::from_secs(1));
        let began = Instant::now();
        let started = upload(&server, file)?;
        let accepted = began.elapsed();
        let target = format!("/user/leads/imports/{}", started["data"]["id"]);
        let shown = loop {
            let shown = server.curl("GET", &target, &[])?;
            if shown["data"]["status"] != "processing" {
                break shown;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let done = began.elapsed();
        let neighbour = neighbour.join().map_err(|_| "the neighbour gave up")??;
        Ok::<_, Failed>((neighbour, accepted, done, shown))
    })?;
    println!(
        "Through the server: accepted in {:.1} s, done in {:.1} s; resident {idle:.0} MiB before and {:.0} MiB after, at most {:.0} MiB.\n\n`{}`\n",
        accepted.as_secs_f64(),
        done.as_secs_f64(),
        server.memory_mib(),
        server.peak_mib(),
        shown["data"]
    );
    Ok(vec![
        Claim::stated("A neighbour's write during an import: p50", format!("{:.1} ms", neighbour.p50_us / 1e3)),
        Claim::stated("A neighbour's write during an import: p99", format!("{:.1} ms", neighbour.p99_us / 1e3)),
        Claim::at_most("A neighbour's write during an import: the longest", WAIT_MS, neighbour.most_us / 1e3, "ms"),
    ])
}

fn sliced(data: &Path, csv: String) -> Result<Vec<Claim>, Failed> {
    let key = server(data)?.key.clone();
    let inside = Inside::open(data)?;
    let begun = inside.import(&key, csv)?;
    let longest = begun.iter().map(|turn| turn.step + turn.commit).max().unwrap_or_default();
    println!("Step by step: {} turns of the request, the longest {:.1} ms.", begun.len(), ms(longest));
    let (began, mut steps, mut both) = (Instant::now(), Vec::new(), Vec::new());
    loop {
        let slice = inside.step(&Input::Tick)?;
        // The last step has nothing to do.
        if slice.changes.is_empty() {
            break;
        }
        steps.push(slice.step);
        both.push(slice.step + slice.commit);
    }
    println!("{} slices in {:.1} s.", steps.len(), began.elapsed().as_secs_f64());
    for (name, times) in [("step", &mut steps), ("step and commit", &mut both)] {
        times.sort_unstable();
        let at = |percent: usize| ms(times[(times.len() - 1) * percent / 100]);
        println!("{name}: p50 {:.2} ms, p99 {:.2} ms, largest {:.2} ms", at(50), at(99), at(100));
    }
    Ok(vec![Claim::at_most(
        "A slice of an import, with its commit: p99",
        WAIT_MS,
        ms(both[(both.len() - 1) * 99 / 100]),
        "ms",
    )])
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
