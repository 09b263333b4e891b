//! Latency of reads as the number of connections grows, and at half of the server's peak rate.

use std::time::Duration;

use switchboard_claims::{Claim, tell};

use crate::Failed;
use crate::fill::{ASSISTANTS, Folder, Stock};
use crate::load::{Figures, Load, get, run};
use crate::server::Server;

/// Measured duration of each load.
const SPAN: Duration = Duration::from_secs(5);
/// Concurrent connections of each load at full speed.
const CONNECTIONS: [u32; 8] = [1, 4, 16, 64, 128, 256, 512, 1_000];
/// Concurrent connections of the load at half the peak.
const HALF: u32 = 64;
/// Calls in the store.
const CALLS: u32 = 100_000;

/// Measures one mixture of reads under every load.
pub fn print() -> Result<bool, Failed> {
    let folder = Folder::new("load")?;
    let stock = Stock::new(&folder.0, "store", ASSISTANTS, CALLS)?;
    let server = Server::service(&stock.data)?;
    println!("Four reads of an assistant to one first page of calls; the client runs on the same cores.\n");
    println!("| connections | asked /s | req/s | p50 µs | p99 µs | p99.9 µs | CPU µs |\n|---|---|---|---|---|---|---|");
    let measure = |load: Load| -> Result<Figures, Failed> {
        let key = stock.key.clone();
        let target = |turn: u64| if turn.is_multiple_of(5) { "/user/calls" } else { "/user/assistant/1" };
        let figures = run(&server, load, move |turn| get(&key, target(turn)))?;
        let asked = load.rate.map_or("all".into(), |rate| format!("{rate:.0}"));
        let Figures { rate, p50_us, p99_us, p999_us, cpu_us, .. } = figures;
        println!(
            "| {} | {asked} | {rate:.0} | {p50_us:.0} | {p99_us:.0} | {p999_us:.0} | {cpu_us:.0} |",
            load.connections
        );
        Ok(figures)
    };
    let full = CONNECTIONS.map(|connections| Load::full(connections, SPAN));
    let full = full.into_iter().map(measure).collect::<Result<Vec<_>, _>>()?;
    let peak = full.iter().map(|figures| figures.rate).fold(0.0, f64::max);
    let half = measure(Load { rate: Some(peak / 2.0), ..Load::full(HALF, SPAN) })?;
    let most = &full[CONNECTIONS.len() - 1];
    Ok(tell(&[
        Claim::stated("Peak rate of a mixture of reads", format!("{peak:.0} /s")),
        Claim::at_most("p99 at half of the peak rate", 5.0, half.p99_us / 1e3, "ms"),
        Claim::stated("p99.9 at half of the peak rate", format!("{:.1} ms", half.p999_us / 1e3)),
        Claim::at_least("Rate with 1000 connections over the peak rate", 0.7, most.rate / peak, ""),
        Claim::stated("Memory with 1000 connections", format!("{:.0} MiB", server.memory_mib())),
    ])?)
}
