//! A mixed day: reads, updates and calls at half of what the server can do. The simulated engine plays the calls, and
//! each is reported to a webhook.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use switchboard_claims::{Claim, tell};

use crate::Failed;
use crate::fill::{ASSISTANTS, Folder, Stock};
use crate::load::{Figures, Load, get, run, sent};
use crate::server::Server;
use crate::turns::spread;
use crate::writes::BODY;

/// Concurrent connections.
const CONNECTIONS: u32 = 64;
/// Calls in the store at the beginning.
const CALLS: u32 = 100_000;
/// How long the peak rate is measured.
const PEAK: Duration = Duration::from_secs(10);
/// Per thousand requests: those that place a call, and those that change an assistant; the others read.
const PLACED: u64 = 5;
const CHANGED: u64 = 95;

/// Runs the day for `seconds`, at half of the peak rate if none is given.
pub fn print(seconds: u64, rate: Option<f64>) -> Result<bool, Failed> {
    let folder = Folder::new("day")?;
    let stock = Stock::new(&folder.0, "store", ASSISTANTS, CALLS)?;
    let receiver = Server::bare(b"HTTP/1.1 200 OK\r\n\r\nok")?;
    let arguments = ["--egress-allow", "127.0.0.0/8", "--engine", "simulated", "--engine-speed", "1000"];
    let mut server = Server::service_with(&stock.data, &arguments)?;
    server.key.clone_from(&stock.key);
    for assistant in 1..=ASSISTANTS {
        let hook = json!({ "assistant_id": assistant, "webhook_url": format!("http://{}/hook", receiver.address) });
        server.send("POST", "/user/assistants/enable-webhook", &hook)?;
    }
    let key = stock.key.clone();
    let request = move |turn: u64| {
        let drawn = spread(turn) >> 20;
        match drawn % 1_000 {
            0..PLACED => sent("POST", &key, "/user/make_call", BODY),
            PLACED..100 => {
                let name = format!("{{\"name\":\"Assistant {turn}\"}}");
                sent("PATCH", &key, &format!("/user/assistant/{}", 2 + drawn % 19), &name)
            }
            100..400 => get(&key, &format!("/user/calls?page={}", 1 + drawn % 100)),
            400..500 => get(&key, "/user/calls?status=completed"),
            500..600 => get(&key, "/user/assistants/get"),
            _ => get(&key, &format!("/user/calls/{}", 1 + drawn % u64::from(CALLS))),
        }
    };
    let peak = run(&server, Load::full(CONNECTIONS, PEAK), request.clone())?;
    settled(&server)?;
    let (before, size) = (deliveries(&server, "")?, bytes(&stock.data)?);
    let load =
        Load { rate: Some(rate.unwrap_or(peak.rate / 2.0)), ..Load::full(CONNECTIONS, Duration::from_secs(seconds)) };
    let day = run(&server, load, request)?;
    let idle = settled(&server)?;
    let (all, delivered) = (deliveries(&server, "")?, deliveries(&server, "status=delivered&")?);
    let grown_kb = f64::from(u32::try_from(bytes(&stock.data)?.saturating_sub(size) >> 10)?) * 1.024;
    println!("Of a thousand requests {PLACED} place a call, {CHANGED} change an assistant, the others read.\n");
    println!("| | req/s | p50 µs | p99 µs | p99.9 µs | CPU µs |\n|---|---|---|---|---|---|");
    for (name, Figures { rate, p50_us, p99_us, p999_us, cpu_us, .. }) in [("peak", peak), ("day", day)] {
        println!("| {name} | {rate:.0} | {p50_us:.0} | {p99_us:.0} | {p999_us:.0} | {cpu_us:.0} |");
    }
    let sent = all - before;
    Ok(tell(&[
        Claim::stated(
            format!(
                "{seconds} seconds of a mixed day at {}: rate",
                if rate.is_some() { "a given rate" } else { "half the peak" }
            ),
            format!("{:.0} /s", day.rate),
        ),
        Claim::stated("p99 of that day", format!("{:.1} ms", day.p99_us / 1e3)),
        Claim::stated("p99.9 of that day", format!("{:.1} ms", day.p999_us / 1e3)),
        Claim::holds(
            "Every call of that day was told to its webhook",
            "all delivered",
            format!("{delivered} of {all} delivered, {sent} of them that day"),
            sent > 0 && delivered == all,
        ),
        Claim::stated(
            "Growth of the store's files in that day",
            format!("{:.0} MB, {:.1} kB a call", grown_kb / 1e3, grown_kb / f64::from(u32::try_from(sent)?)),
        ),
        Claim::stated(
            "Memory at the end of that day",
            format!("{:.0} MiB, at most {:.0} MiB", server.memory_mib(), server.peak_mib()),
        ),
        Claim::stated("Work left over at its end was done in", format!("{:.0} s", idle.as_secs_f64())),
    ])?)
}

/// Returns the bytes of a folder's files.
pub fn bytes(folder: &Path) -> Result<u64, Failed> {
    std::fs::read_dir(folder)?.try_fold(0, |sum, entry| Ok(sum + entry?.metadata()?.len()))
}

/// Waits until running calls have ended and all deliveries are delivered; returns how long that took.
fn settled(server: &Server) -> Result<Duration, Failed> {
    let (began, mut last) = (std::time::Instant::now(), None);
    loop {
        let running = ["initiated", "ringing", "in-progress", "ended"].iter().try_fold(0, |sum, status| {
            Ok::<u64, Failed>(sum + total(server, &format!("/user/calls?status={status}&per_page=1"))?)
        })?;
        let now = (running, deliveries(server, "")?, deliveries(server, "status=delivered&")?);
        // The calls that were filled in have every status and keep it: their counts settle, but not at zero.
        if last == Some(now) && now.1 == now.2 {
            return Ok(began.elapsed());
        }
        if began.elapsed() > Duration::from_mins(10) {
            return Err(format!("calls and deliveries do not come to an end: {now:?}").into());
        }
        last = Some(now);
        std::thread::sleep(Duration::from_secs(2));
    }
}

fn deliveries(server: &Server, query: &str) -> Result<u64, Failed> {
    total(server, &format!("/user/webhook-deliveries?{query}per_page=1"))
}

fn total(server: &Server, target: &str) -> Result<u64, Failed> {
    server.curl("GET", target, &[])?["total"].as_u64().ok_or_else(|| format!("{target} has no total").into())
}
