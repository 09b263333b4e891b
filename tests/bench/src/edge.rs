//! Nodes at the edge under `wasmtime serve`, in front of a region on the same machine: refusals without a read,
//! requests that read, and what each version of `wasi:http` adds.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use switchboard_claims::{Claim, tell};

use crate::Failed;
use crate::fill::{Folder, Stock};
use crate::load::{Figures, Load, get, run, sent};
use crate::server::Server;

/// Measured duration of each request.
const SPAN: Duration = Duration::from_secs(4);
/// Concurrent connections.
const CONNECTIONS: u32 = 16;
const TOKEN: &str = "the-store-token-of-a-bench-0123456789";
/// Aim: refusals without a read per second, with 0.3.
const REFUSED: f64 = 10_000.0;
/// Limit of the latency that 0.2 may add to a request, microseconds.
const ADDED_US: f64 = 300.0;

/// The requests: a name, and whether it is refused without a read.
const REQUESTS: [(&str, bool); 6] = [
    ("unknown path", true),
    ("wrong method", true),
    ("malformed token", true),
    ("a body that is not valid", false),
    ("GET /user/me", false),
    ("a page of ten assistants", false),
];

/// Measures both versions; `components` is the folder that they were built into.
pub fn print(wasmtime: &Path, components: &Path) -> Result<bool, Failed> {
    let folder = Folder::new("edge")?;
    let stock = Stock::new(&folder.0, "store", 10, 0)?;
    let region = Server::service_with(&stock.data, &["--engine", "none", "--store-token", TOKEN])?;
    println!("The client, the node and its region run on the same cores.\n");
    println!("| wasi:http | request | req/s | p50 µs | p99 µs | alone, p50 µs |\n|---|---|---|---|---|---|");
    let three = node(wasmtime, components, "p3", &region)?;
    let three = measure("0.3", &three, &stock.key)?;
    let two = node(wasmtime, components, "p2", &region)?;
    let two = measure("0.2", &two, &stock.key)?;
    let mut claims = Vec::new();
    for ((name, unread), ((many, alone), (_, alone_two))) in REQUESTS.into_iter().zip(three.into_iter().zip(two)) {
        let text = format!("Edge node, 0.3: {name}");
        claims.push(if unread {
            Claim::at_least(text, REFUSED, many.rate, "/s")
        } else {
            Claim::stated(text, format!("{:.0} /s", many.rate))
        });
        if unread {
            claims.push(Claim::at_most(
                format!("What 0.2 adds to a request alone: {name}"),
                ADDED_US,
                alone_two.p50_us - alone.p50_us,
                "µs",
            ));
        }
    }
    Ok(tell(&claims)?)
}

fn node(wasmtime: &Path, components: &Path, version: &str, region: &Server) -> Result<Server, Failed> {
    let component = components.join(format!("switchboard_service_{version}.wasm"));
    Server::other(|port| {
        let mut command = Command::new(wasmtime);
        command.args(["serve", "-Scli", "--addr", &format!("127.0.0.1:{port}")]);
        command.args(["--env", &format!("SWITCHBOARD_REGION=http://{}", region.address)]);
        command.args(["--env", &format!("SWITCHBOARD_STORE_TOKEN={TOKEN}")]).arg(component);
        command
    })
}

/// Measures each request over many connections, and over one.
fn measure(version: &str, node: &Server, key: &str) -> Result<Vec<(Figures, Figures)>, Failed> {
    let requests = [
        (get(key, "/nowhere"), 404),
        (sent("DELETE", key, "/user/me", ""), 405),
        (get("malformed", "/user/me"), 401),
        (sent("POST", key, "/user/assistant", "{\"name\":7}"), 422),
        (get(key, "/user/me"), 200),
        (get(key, "/user/assistants/get"), 200),
    ];
    let mut measured = Vec::new();
    for ((name, _), (request, status)) in REQUESTS.iter().zip(requests) {
        let asked = |connections| {
            let request = request.clone();
            run(node, Load { status, ..Load::full(connections, SPAN) }, move |_| request.clone())
        };
        let (many, alone) = (asked(CONNECTIONS)?, asked(1)?);
        println!(
            "| {version} | {name} | {:.0} | {:.0} | {:.0} | {:.0} |",
            many.rate, many.p50_us, many.p99_us, alone.p50_us
        );
        measured.push((many, alone));
    }
    Ok(measured)
}
