//! The report: Markdown tables on standard output.

use std::path::{Path, PathBuf};

use serde_json::json;
use switchboard_core::call::tables::CallStatus;

use crate::load::Figures;
use crate::reads::{Line, line, pages};
use crate::server::Server;
use crate::{Failed, bare, fill, writes};

/// Assistants of the small account.
const ASSISTANTS: usize = 20;

/// Measures everything; the large store has `calls` calls.
pub fn print(calls: u32) -> Result<(), Failed> {
    let folder = std::env::temp_dir().join(format!("switchboard-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = measure(&folder, calls);
    std::fs::remove_dir_all(&folder)?;
    done
}

fn measure(folder: &Path, calls: u32) -> Result<(), Failed> {
    println!("# Figures\n\nMade by `cargo xtask bench` on {}.\n", machine());
    println!(
        "Reads over 64 connections; the client runs on the same cores. *Of bare* is the rate beside hyper that sends the same bytes, in the same run.\n"
    );
    println!(
        "| | bytes | req/s | bare req/s | of bare | p50 µs | p99 µs | CPU µs |\n|---|---|---|---|---|---|---|---|"
    );
    let (small, key) = store(folder, "small", 10_000)?;
    let server = Server::service(&small)?;
    let mut lines = vec![
        line(&server, &key, "one assistant", |_| "/user/assistant/1".into())?,
        line(&server, &key, "a page of ten assistants", |_| "/user/assistants/get".into())?,
    ];
    lines.extend(listed(&server, &key, 10_000)?);
    drop(server);
    let (large, large_key) = store(folder, "large", calls)?;
    let server = Server::service(&large)?;
    let (start, idle) = (server.start, server.memory_mib());
    lines.extend(listed(&server, &large_key, calls)?);
    let busy = server.memory_mib();
    drop(server);
    lines.iter().for_each(show);
    println!(
        "\nStart with {calls} calls: {:.0} ms. Memory: {idle:.0} MiB idle, {busy:.0} MiB after the reads above.\n",
        start.as_secs_f64() * 1e3
    );
    ratios(&lines, calls);
    creates(folder, &small, &key)
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("an unnamed CPU", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cores} cores of {model}")
}

/// A store with assistants and calls; gives its folder and the owner's key.
fn store(folder: &Path, name: &str, calls: u32) -> Result<(PathBuf, String), Failed> {
    let data = folder.join(name);
    let server = Server::service(&data)?;
    let key = server.key.clone();
    for number in 0..ASSISTANTS {
        let body = json!({
            "name": format!("Assistant {number}"), "voice_id": 1, "language_id": 1, "type": "outbound", "mode": "pipeline", "timezone": "Etc/UTC",
            "initial_message": "Hello.", "system_prompt": "You confirm appointments. ".repeat(20), "llm_model_id": 1,
        });
        let target = format!("http://{}/user/assistant", server.address);
        let made = std::process::Command::new("curl")
            .args([
                "-fsS",
                "-o",
                "/dev/null",
                "-H",
                &format!("Authorization: Bearer {key}"),
                "-H",
                "Content-Type: application/json",
                "-d",
                &body.to_string(),
                &target,
            ])
            .status()?;
        if !made.success() {
            return Err("an assistant was not made".into());
        }
    }
    drop(server);
    eprintln!("filling {name} with {calls} calls");
    fill::calls(&data, calls)?;
    Ok((data, key))
}

fn listed(server: &Server, key: &str, calls: u32) -> Result<Vec<Line>, Failed> {
    let rows = u64::from(calls);
    let completed = format!("status={}&", CallStatus::Completed.word());
    let mut lines = pages(server, key, &format!("{calls} calls"), "", rows)?;
    lines.extend(pages(server, key, &format!("{calls} calls, one filter"), &completed, rows * 6 / 10)?);
    let two = format!("{completed}type=outbound&");
    lines.extend(pages(server, key, &format!("{calls} calls, two filters"), &two, rows * 6 / 10 * 4 / 7)?);
    Ok(lines)
}

fn show(line: &Line) {
    let Figures { rate, p50_us, p99_us, cpu_us, bytes } = line.own;
    println!(
        "| {} | {bytes} | {rate:.0} | {:.0} | {:.2} | {p50_us:.0} | {p99_us:.0} | {cpu_us:.0} |",
        line.name,
        line.bare.rate,
        rate / line.bare.rate
    );
}

fn ratios(lines: &[Line], calls: u32) {
    let cpu = |name: &str| lines.iter().find(|line| line.name == name).map_or(f64::NAN, |line| line.own.cpu_us);
    let ratio = |name: &str, over: String, under: String| println!("| {name} | {:.2} |", cpu(&over) / cpu(&under));
    println!("Cost as the data grows, server CPU a request:\n\n| | times |\n|---|---|");
    ratio(
        "no filter: large store over small, first page",
        format!("{calls} calls, first page"),
        "10000 calls, first page".into(),
    );
    ratio(
        "one filter: large store over small, first page",
        format!("{calls} calls, one filter, first page"),
        "10000 calls, one filter, first page".into(),
    );
    ratio(
        "no filter, large store: last page over first",
        format!("{calls} calls, last page"),
        format!("{calls} calls, first page"),
    );
    ratio(
        "large store, first page: two filters over one",
        format!("{calls} calls, two filters, first page"),
        format!("{calls} calls, one filter, first page"),
    );
}

fn creates(folder: &Path, data: &Path, key: &str) -> Result<(), Failed> {
    let server = Server::service(data)?;
    let (one, many) = (writes::served(&server, key, 1)?, writes::served(&server, key, writes::GROUP)?);
    drop(server);
    let (lone_direct, _) = writes::direct(data, key, 1)?;
    let (direct, rows) = writes::direct(data, key, writes::GROUP)?;
    let (lone_bare, bare) = (bare::puts(folder, &rows, 1)?, bare::puts(folder, &rows, writes::GROUP)?);
    println!(
        "\nDurable creates (`make_call`, {} rows, {} bytes each):\n",
        rows.len(),
        rows.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>()
    );
    println!(
        "| clients | over HTTP /s | p50 µs | p99 µs | CPU µs | same steps, no queue /s | bare puts /s | of no queue | of bare puts |\n|---|---|---|---|---|---|---|---|---|"
    );
    for (clients, own, direct, bare) in [(1, one, lone_direct, lone_bare), (writes::GROUP, many, direct, bare)] {
        let Figures { rate, p50_us, p99_us, cpu_us, .. } = own;
        println!(
            "| {clients} | {rate:.0} | {p50_us:.0} | {p99_us:.0} | {cpu_us:.0} | {direct:.0} | {bare:.0} | {:.2} | {:.2} |",
            rate / direct,
            rate / bare
        );
    }
    Ok(())
}
