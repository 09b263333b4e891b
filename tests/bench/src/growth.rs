//! The cost of pages as data grows: for each combination of filters, first, middle, last and random pages; and the cost
//! of starting a store of that size, keeping it open and writing to it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_claims::{Claim, tell};
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::step::Outcome;

use crate::fill::{self, ASSISTANTS, Folder, Stock};
use crate::inside::{Inside, get, post};
use crate::load::{Figures, Load, run, sent};
use crate::server::{Server, beside};
use crate::turns::{Turns, spread};
use crate::{Failed, writes};

/// Filters of calls, with the share of calls that each leaves.
const FILTERS: [(&str, &str); 5] = [
    ("status 60%", "status=completed"),
    ("type 57%", "type=outbound"),
    ("assistant 5%", "assistant_id=1"),
    ("campaign 0.1%", "campaign_id=1"),
    // The first three days of calls, however many there are.
    ("first three days", "date_from=2026-09-21&date_to=2026-09-23"),
];
/// Repetitions of each kind of page.
const TURNS: Turns = Turns { span: Duration::from_millis(150), bounds: (9, 400) };
/// Rows of a page of calls.
const PER_PAGE: u64 = 15;
/// How long is written to a store: many times as long as it takes to fill a log.
const WRITING: Duration = Duration::from_secs(10);

/// Most filters of a list that is shown; lists with more are measured all the same.
const SHOWN_MAX: usize = 2;

/// Positions of the measured pages; `last` is the last full page, `any` a random one.
const PLACES: [&str; 4] = ["first", "middle", "last", "any"];

/// Microseconds of a page at each of [`PLACES`].
type Costs = [f64; 4];

/// Measurements of one list in a store.
struct Line {
    name: String,
    filters: usize,
    dense: bool,
    rows: u64,
    costs: Costs,
}

/// Measurements of a store of one size.
struct Grown {
    calls: u32,
    lines: Vec<Line>,
    start_ms: f64,
    idle_mib: f64,
    file_mib: f64,
    /// Bytes written per create: alone, and with 64 at once.
    written: (f64, f64),
    /// The longest but a hundredth of the commits of 64 creates, those that write the pages of many among them.
    commit_ms: f64,
    /// Start after the process was killed while it wrote.
    killed_ms: f64,
}

/// Measures stores with these numbers of calls, smallest first.
pub fn print(sizes: &[u32]) -> Result<bool, Failed> {
    let folder = Folder::new("growth")?;
    let grown = sizes.iter().map(|calls| measure(&folder.0, *calls)).collect::<Result<Vec<_>, _>>()?;
    println!("Microseconds of a page of {PER_PAGE} calls: a step over redb in one process, its answer included.\n");
    println!("| filters | calls | rows | {} |\n|---|---|---|---|---|---|---|", PLACES.join(" | "));
    for at in 0..grown[0].lines.len() {
        for store in &grown {
            let Line { name, filters, rows, costs, .. } = &store.lines[at];
            if *filters > SHOWN_MAX {
                continue;
            }
            let costs: Vec<String> = costs.iter().map(|micros| format!("{micros:.0}")).collect();
            println!("| {name} | {} | {rows} | {} |", store.calls, costs.join(" | "));
        }
    }
    let mut claims = claims(&grown);
    claims.extend(other_lists(&folder.0)?);
    Ok(tell(&claims)?)
}

fn measure(folder: &Path, calls: u32) -> Result<Grown, Failed> {
    let stock = Stock::new(folder, &format!("calls-{calls}"), ASSISTANTS, calls)?;
    let inside = Inside::open(&stock.data)?;
    let mut lines = Vec::new();
    for chosen in 0..1_usize << FILTERS.len() {
        let picked: Vec<_> = FILTERS.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).collect();
        let names: Vec<&str> = picked.iter().map(|(_, (name, _))| *name).collect();
        let query: String = picked.iter().flat_map(|(_, (_, query))| [*query, "&"]).collect();
        let name = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let (rows, costs) = pages(&inside, &stock.key, "/user/calls", &query, PER_PAGE)?;
        lines.push(Line { name, filters: names.len(), dense: picked.iter().all(|(at, _)| *at < 2), rows, costs });
    }
    let (rows, costs) = pages(
        &inside,
        &stock.key,
        "/user/calls",
        &format!("phone_number=%2B{}&", fill::number(1).trim_start_matches('+')),
        PER_PAGE,
    )?;
    lines.push(Line { name: "phone number".into(), filters: 1, dense: false, rows, costs });
    let file_mib = f64::from(u32::try_from(inside.store.file_bytes() >> 20)?);
    let commit_ms = commits_p99_ms(&inside, &stock.key)?;
    drop(inside);
    // The second start is measured: the file is in the system's cache, as after a restart of the service alone.
    drop(Server::service(&stock.data)?);
    let server = Server::service(&stock.data)?;
    let (start_ms, idle_mib) = (server.start.as_secs_f64() * 1e3, server.memory_mib());
    let written = |connections| Ok::<_, Failed>(creates(&server, &stock.key, connections, WRITING)?.written);
    let written = (written(1)?, written(writes::GROUP)?);
    let killed_ms = start_after_kill_ms(server, &beside("switchboard")?, &stock.data)?;
    std::fs::remove_dir_all(&stock.data)?;
    Ok(Grown { calls, lines, start_ms, idle_mib, file_mib, written, commit_ms, killed_ms })
}

/// Measures creates of calls. What stands in the system's memory from before is written first.
pub fn creates(server: &Server, key: &str, connections: u32, span: Duration) -> Result<Figures, Failed> {
    rustix::fs::sync();
    let key = key.to_owned();
    run(server, Load::full(connections, span), move |_| sent("POST", &key, "/user/make_call", writes::BODY))
}

/// Kills a server that has just written; returns how long the next start on its store takes.
pub fn start_after_kill_ms(server: Server, binary: &Path, data: &Path) -> Result<f64, Failed> {
    drop(server);
    Ok(Server::of_binary(binary, data, &["--engine", "none"])?.start.as_secs_f64() * 1e3)
}

/// Returns the 99th percentile of the time that a commit of 64 creates takes, once they are decided.
fn commits_p99_ms(inside: &Inside, key: &str) -> Result<f64, Failed> {
    let request = post(key, "/user/make_call", "application/json", writes::BODY);
    let (began, mut took) = (Instant::now(), Vec::new());
    while began.elapsed() < WRITING {
        took.push(inside.group(std::iter::repeat_n(&request, writes::GROUP as usize), |_| {})?);
    }
    took.sort_unstable();
    Ok(took[took.len() * 99 / 100].as_secs_f64() * 1e3)
}

/// Returns the number of a list's rows, and the cost of a page at each position.
fn pages(inside: &Inside, key: &str, path: &str, query: &str, per_page: u64) -> Result<(u64, Costs), Failed> {
    let ask = |page: u64| get(key, &format!("{path}?{query}per_page={per_page}&page={page}"));
    let shown = match inside.look(&ask(1))? {
        Outcome::Reply(Reply { content: Content::Json(body), .. }) => serde_json::from_slice::<Value>(&body)?,
        outcome => return Err(format!("a page without a body: {outcome:?}").into()),
    };
    let rows = shown["total"].as_u64().ok_or("a page has no total")?;
    let last = (rows / per_page).max(1);
    let mut costs = [0.0; 4];
    for (cost, place) in costs.iter_mut().zip(PLACES) {
        *cost = TURNS.middle(|turn| {
            inside.look(&ask(match place {
                "first" => 1,
                "middle" => last.div_ceil(2),
                "last" => last,
                _ => 1 + spread(turn) % last,
            }))
        })?;
    }
    Ok((rows, costs))
}

/// Returns the cost of the most expensive page, random ones aside: how many of their rows are cached depends on how
/// many are requested.
fn dearest(line: &Line) -> f64 {
    line.costs[..3].iter().copied().fold(0.0, f64::max)
}

fn claims(grown: &[Grown]) -> Vec<Claim> {
    let (Some(small), Some(large)) = (grown.first(), grown.last()) else { return Vec::new() };
    let (few, many) = (small.calls, large.calls);
    let pairs = || small.lines.iter().zip(&large.lines);
    // Only lists of at least two pages in both stores: otherwise costs differ by the number of rows.
    let grows = |filters: usize| {
        let full = pairs().filter(|(small, large)| large.filters == filters && small.rows >= 2 * PER_PAGE);
        full.flat_map(|(small, large)| (0..3).map(|place| large.costs[place] / small.costs[place])).fold(0.0, f64::max)
    };
    let two = large.lines.iter().find(|line| line.filters == 2 && line.dense);
    let none = &large.lines[0];
    let mut claims = vec![
        Claim::at_most(
            format!("First, middle or last page without a filter, {many} calls over {few}"),
            5.0,
            grows(0),
            "times",
        ),
        Claim::at_most(
            format!("First, middle or last page with any one filter, {many} calls over {few}"),
            5.0,
            grows(1),
            "times",
        ),
        Claim::at_most(
            format!("The last page over the first, {many} calls"),
            1.5,
            none.costs[2] / none.costs[0],
            "times",
        ),
        Claim::at_most(
            format!("A page with two dense filters, {many} calls"),
            5.0,
            two.map_or(f64::NAN, dearest) / 1e3,
            "ms",
        ),
        Claim::stated(
            format!("The dearest first, middle or last page of all combinations of filters, {many} calls"),
            format!("{:.1} ms", large.lines.iter().map(dearest).fold(0.0, f64::max) / 1e3),
        ),
        Claim::stated(
            format!("The dearest page anywhere, its rows not read before, {many} calls"),
            format!("{:.1} ms", large.lines.iter().map(|line| line.costs[3]).fold(0.0, f64::max) / 1e3),
        ),
        Claim::at_most(format!("Start with {many} calls"), 100.0, large.start_ms, "ms"),
        Claim::at_most(format!("Start after a kill with {many} calls"), 100.0, large.killed_ms, "ms"),
        Claim::at_most(format!("Bytes written by a create alone, {many} calls"), 60.0, large.written.0 / 1e3, "kB"),
        Claim::at_most(format!("p99 of commits of 64 creates, {many} calls"), 25.0, large.commit_ms, "ms"),
        Claim::at_most(format!("Memory when idle, {many} calls"), 64.0, large.idle_mib, "MiB"),
    ];
    claims.extend(grown[..grown.len() - 1].iter().map(|store| {
        let Grown { calls, start_ms, killed_ms, idle_mib, .. } = store;
        Claim::stated(
            format!("Start, start after a kill, memory when idle, {calls} calls"),
            format!("{start_ms:.1} ms, {killed_ms:.1} ms, {idle_mib:.0} MiB"),
        )
    }));
    claims.extend(grown.iter().map(|store| {
        let Grown { calls, file_mib, written: (lone, many), commit_ms, .. } = store;
        Claim::stated(
            format!("Bytes written a create, p99 of commits of 64, {calls} calls in a file of {file_mib:.0} MiB"),
            format!("{:.1} kB alone, {:.1} kB 64 at once, {commit_ms:.1} ms", lone / 1e3, many / 1e3),
        )
    }));
    claims
}

/// Measures lists of leads and of assistants, in a small and a large store.
fn other_lists(folder: &Path) -> Result<Vec<Claim>, Failed> {
    let mut costs = Vec::new();
    for (assistants, leads) in [(100, 10_000), (10_000, 300_000)] {
        let stock = Stock::new(folder, &format!("leads-{leads}"), assistants, 0)?;
        stock.leads(leads)?;
        let inside = Inside::open(&stock.data)?;
        let of = |path: &str, query: &str| -> Result<f64, Failed> {
            let (rows, costs) = pages(&inside, &stock.key, path, query, 10)?;
            if rows == 0 {
                return Err(format!("{path}?{query} is empty").into());
            }
            Ok(costs[..3].iter().copied().fold(0.0, f64::max))
        };
        costs.push([
            of("/user/leads", "")?,
            of("/user/leads", "campaign_id=1&status=created&")?,
            of("/user/assistants/get", "")?,
            of("/user/assistants/get", "type=outbound&")?,
        ]);
    }
    let names = [
        "A page of leads, 300000 over 10000",
        "A page of leads with two filters, 300000 over 10000",
        "A page of assistants, 10000 over 100",
        "A page of assistants of one type, 10000 over 100",
    ];
    let ratios = names.iter().zip(&costs[1]).zip(&costs[0]);
    Ok(ratios.map(|((name, large), small)| Claim::at_most(*name, 5.0, large / small, "times")).collect())
}
