//! An import of many lines: through the server, beside a neighbour that writes, and slice by slice in this process.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_claims::{Claim, tell};
use switchboard_core::step::Input;

use crate::Failed;
use crate::bare;
use crate::fill::{self, Folder, assistant};
use crate::inside::Inside;
use crate::load::{Figures, Load, run, sent};
use crate::server::Server;

/// Limit of a neighbour's wait for a slice, milliseconds.
const WAIT_MS: f64 = 20.0;
/// How long the neighbour writes: from before the upload, and longer than the import takes.
const NEIGHBOUR: Duration = Duration::from_secs(7);

/// Lines of a file close to the size limit.
const LARGE: u32 = 1_000_000;

/// Columns for a neighbour's waits, and for the longest stall of the machine.
const WAITS: &str = " p50 ms | p99 ms | longest ms | machine ms |";

/// Turns. The median one is held to the aim, since now and then the machine itself stalls for as long as nobody should
/// wait.
const TURNS: u32 = 5;

/// Measurements of one turn.
struct Turn {
    neighbour: Figures,
    /// Longest delay of a thread that only sleeps, in the same time.
    machine: Duration,
}

/// Measures an import of `lines` lines, both ways, and the arrival of a large file.
pub fn print(lines: u32) -> Result<bool, Failed> {
    let folder = Folder::new("import")?;
    let (csv, large) = (fill::lines(0..lines)?, fill::lines(0..LARGE)?);
    let (file, large_file) = (folder.0.join("leads.csv"), folder.0.join("large.csv"));
    std::fs::write(&file, &csv)?;
    std::fs::write(&large_file, &large)?;
    println!("An import of {lines} lines, {} bytes, and a neighbour's writes meanwhile.\n", csv.len());
    println!("| done in s | MiB before | after | at most |{WAITS}\n|---|---|---|---|---|---|---|---|");
    let during = turns(|turn| served(&folder.0.join(format!("served-{turn}")), &file, lines))?;
    println!("\nA file of {} bytes arrives.\n\n|{WAITS}\n|---|---|---|---|", large.len());
    let arriving = turns(|turn| arriving(&folder.0.join(format!("large-{turn}")), &large_file))?;
    let alone = ms(bare::longest_sync(&folder.0, NEIGHBOUR * TURNS)?);
    println!();
    let arrives = format!("A neighbour's write while a file of {} MB arrives", large.len() / 1_000_000);
    let mut claims = [waits("A neighbour's write during an import", &during), waits(&arrives, &arriving)].concat();
    claims.push(sliced(&folder.0.join("sliced"), csv)?);
    claims.push(Claim::stated("The longest sync of the disk, alone for as long", format!("{alone:.1} ms")));
    Ok(tell(&claims)?)
}

/// Returns the claims for the neighbour's waits in all turns.
fn waits(whose: &str, turns: &[Turn]) -> Vec<Claim> {
    let (middle, worst) = (turns[turns.len() / 2].neighbour, &turns[turns.len() - 1]);
    let longest = format!("{:.1} ms, the machine {:.1} ms", worst.neighbour.most_us / 1e3, ms(worst.machine));
    vec![
        Claim::stated(format!("{whose}: p50"), format!("{:.1} ms", middle.p50_us / 1e3)),
        Claim::stated(format!("{whose}: p99"), format!("{:.1} ms", middle.p99_us / 1e3)),
        Claim::at_most(format!("{whose}: the longest, in the middle turn"), WAIT_MS, middle.most_us / 1e3, "ms"),
        Claim::stated(format!("{whose}: the longest, of all {TURNS} turns"), longest),
    ]
}

/// Runs all turns; returns them sorted by their longest wait.
fn turns(turn: impl Fn(u32) -> Result<Turn, Failed>) -> Result<Vec<Turn>, Failed> {
    let mut turns = (0..TURNS).map(turn).collect::<Result<Vec<_>, _>>()?;
    turns.sort_by(|one, other| one.neighbour.most_us.total_cmp(&other.neighbour.most_us));
    Ok(turns)
}

/// Starts a server on a new store with an assistant and a campaign.
fn server(data: &Path) -> Result<Server, Failed> {
    let server = Server::service(data)?;
    server.send("POST", "/user/assistant", &assistant("Anna"))?;
    server.send("POST", "/user/campaigns", &json!({ "name": "Spring", "assistant_id": 1 }))?;
    Ok(server)
}

/// Measures a neighbour while a large file arrives; how long its import takes is not measured.
fn arriving(data: &Path, file: &Path) -> Result<Turn, Failed> {
    let server = server(data)?;
    std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| neighbour(&server));
        std::thread::sleep(Duration::from_secs(1));
        upload(&server, file)?;
        let turn = neighbour.join().map_err(|_| "the neighbour gave up")??;
        println!("|{}", waited(&turn));
        Ok(turn)
    })
}

/// Returns a turn's waits as columns.
fn waited(turn: &Turn) -> String {
    let [p50, p99, most] = [turn.neighbour.p50_us, turn.neighbour.p99_us, turn.neighbour.most_us].map(|us| us / 1e3);
    format!(" {p50:.1} | {p99:.1} | {most:.1} | {:.1} |", ms(turn.machine))
}

/// Writes, one request after the other, beside a thread that only sleeps.
fn neighbour(server: &Server) -> Result<Turn, Failed> {
    let key = server.key.clone();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| held_up(&done));
        let neighbour = run(server, Load::full(1, NEIGHBOUR), move |turn| {
            sent("PUT", &key, "/user/campaigns/1", &format!("{{\"name\":\"Spring {turn}\"}}"))
        });
        done.store(true, Ordering::Relaxed);
        let machine = sleeper.join().map_err(|_| "the sleeping thread gave up")?;
        Ok(Turn { neighbour: neighbour?, machine })
    })
}

/// Sleeps a millisecond at a time until `done`; returns the longest delay beyond that.
fn held_up(done: &AtomicBool) -> Duration {
    const NAP: Duration = Duration::from_millis(1);
    let mut longest = Duration::ZERO;
    while !done.load(Ordering::Relaxed) {
        let began = Instant::now();
        std::thread::sleep(NAP);
        longest = longest.max(began.elapsed().saturating_sub(NAP));
    }
    longest
}

fn upload(server: &Server, file: &Path) -> Result<Value, Failed> {
    let body = format!("@{}", file.display());
    let upload = ["-H", "Content-Type: text/csv", "--data-binary", &body];
    server.curl("POST", "/user/leads/import?campaign_id=1", &upload)
}

fn served(data: &Path, file: &Path, lines: u32) -> Result<Turn, Failed> {
    let server = server(data)?;
    let idle = server.memory_mib();
    let (turn, done) = std::thread::scope(|scope| {
        let neighbour = scope.spawn(|| neighbour(&server));
        // The neighbour must be writing before the upload begins.
        std::thread::sleep(Duration::from_secs(1));
        let began = Instant::now();
        let started = upload(&server, file)?;
        let target = format!("/user/leads/imports/{}", started["data"]["id"]);
        let shown = loop {
            let shown = server.curl("GET", &target, &[])?;
            if shown["data"]["status"] != "processing" {
                break shown;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        let done = began.elapsed();
        if shown["data"]["created"] != lines {
            return Err(format!("the import came to {shown}").into());
        }
        Ok::<_, Failed>((neighbour.join().map_err(|_| "the neighbour gave up")??, done))
    })?;
    println!(
        "| {:.1} | {idle:.0} | {:.0} | {:.0} |{}",
        done.as_secs_f64(),
        server.memory_mib(),
        server.peak_mib(),
        waited(&turn)
    );
    Ok(turn)
}

fn sliced(data: &Path, csv: String) -> Result<Claim, Failed> {
    let key = server(data)?.key.clone();
    let inside = Inside::open(data)?;
    let begun = inside.import(&key, csv)?;
    let longest = begun.iter().map(|turn| turn.step + turn.commit).max().unwrap_or_default();
    println!("Step by step: {} turns of the request, the longest {:.1} ms.", begun.len(), ms(longest));
    let (began, mut steps, mut both) = (Instant::now(), Vec::new(), Vec::new());
    loop {
        let slice = inside.step(&Input::Tick)?;
        // The last step finds nothing to do and is not measured.
        if !slice.changed {
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
    let p99 = ms(both[(both.len() - 1) * 99 / 100]);
    Ok(Claim::at_most("A slice of an import, with its commit: p99", WAIT_MS, p99, "ms"))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
