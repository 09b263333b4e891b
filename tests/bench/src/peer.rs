//! The service beside openvox-core, an open voice-agent server from `PyPI`: the same operations on assistants with the
//! same client, compared by CPU time per request of each process.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use switchboard_claims::{Claim, tell};

use crate::Failed;
use crate::fill::{Folder, Stock, assistant};
use crate::load::{Load, get, run, sent};
use crate::server::Server;

/// Measured duration of each operation, and concurrent connections.
const SPAN: Duration = Duration::from_secs(5);
const CONNECTIONS: u32 = 64;
/// Duration and rate of the service's own creates: a plan allows ten thousand assistants.
const OWN_SPAN: Duration = Duration::from_millis(600);
const OWN_RATE: f64 = 7_000.0;
/// Assistants on the listed page.
const LISTED: usize = 10;
/// Aim: this many times less CPU.
const TIMES: f64 = 20.0;

/// One server with its three requests.
struct Side<'s> {
    name: &'static str,
    server: &'s Server,
    read: Vec<u8>,
    list: Vec<u8>,
    create: Vec<u8>,
    creates: Load,
}

/// Measures both servers; `program` is the command that the package installs.
pub fn print(program: &Path) -> Result<bool, Failed> {
    let folder = Folder::new("peer")?;
    let stock = Stock::new(&folder.0, "own", u32::try_from(LISTED)?, 0)?;
    let own = Server::service(&stock.data)?;
    let key = &stock.key;
    let body = assistant("Anna").to_string();
    let other = Server::other(|port| {
        let mut command = Command::new(program);
        command.args(["run", "--no-browser", "--host", "127.0.0.1", "--port", &port.to_string()]);
        command.env("HOME", &folder.0).current_dir(&folder.0);
        command
    })?;
    let agent =
        json!({ "name": "Anna", "greeting": "Hello.", "system_prompt": "You confirm appointments. ".repeat(20) });
    let agents = "/api/v1/agents";
    let made = (0..LISTED).map(|_| other.send("POST", agents, &agent)).collect::<Result<Vec<_>, _>>()?;
    let id = made[0]["id"].as_str().ok_or("an agent has no id")?;
    let sides = [
        Side {
            name: "switchboard",
            server: &own,
            read: get(key, "/user/assistant/1"),
            list: get(key, "/user/assistants/get"),
            create: sent("POST", key, "/user/assistant", &body),
            creates: Load { rate: Some(OWN_RATE), ..Load::full(CONNECTIONS, OWN_SPAN) },
        },
        Side {
            name: "openvox-core",
            server: &other,
            read: get("none", &format!("{agents}/{id}")),
            list: get("none", agents),
            create: sent("POST", "none", agents, &agent.to_string()),
            creates: Load::full(CONNECTIONS, SPAN),
        },
    ];
    println!("| | operation | req/s | p50 µs | p99 µs | CPU ms | bytes |\n|---|---|---|---|---|---|---|");
    let cpu = sides.map(|side| measure(&side));
    let [own_cpu, other_cpu] = cpu;
    let (own_cpu, other_cpu) = (own_cpu?, other_cpu?);
    let names = ["a read of an assistant", "a page of ten assistants", "a durable create of an assistant"];
    let mut claims: Vec<Claim> = names
        .iter()
        .zip(own_cpu.iter().zip(&other_cpu))
        .map(|(name, (own, other))| {
            Claim::at_least(format!("CPU of openvox-core over ours: {name}"), TIMES, other / own, "times")
        })
        .collect();
    claims.push(Claim::stated(
        "Memory of either after that",
        format!("{:.0} MiB, openvox-core {:.0} MiB", own.memory_mib(), other.memory_mib()),
    ));
    claims.push(Claim::stated(
        "Start of either",
        format!("{:.0} ms, openvox-core {:.0} ms", own.start.as_secs_f64() * 1e3, other.start.as_secs_f64() * 1e3),
    ));
    Ok(tell(&claims)?)
}

/// Returns CPU microseconds of a read, a list and a create, measured in that order: creates change what is listed.
fn measure(side: &Side<'_>) -> Result<[f64; 3], Failed> {
    let mut cpu = [0.0; 3];
    let full = Load::full(CONNECTIONS, SPAN);
    let requests = [("read", &side.read, full), ("list", &side.list, full), ("create", &side.create, side.creates)];
    for (cpu, (operation, request, load)) in cpu.iter_mut().zip(requests) {
        let request = request.clone();
        let figures = run(side.server, load, move |_| request.clone())?;
        println!(
            "| {} | {operation} | {:.0} | {:.0} | {:.0} | {:.3} | {} |",
            side.name,
            figures.rate,
            figures.p50_us,
            figures.p99_us,
            figures.cpu_us / 1e3,
            figures.bytes
        );
        *cpu = figures.cpu_us;
    }
    Ok(cpu)
}
