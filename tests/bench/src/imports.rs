//! An import of many lines: through the server with a neighbour that writes, and slice by slice in this process.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::clock;
use switchboard::store::Store;
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::output::{Input, Outcome};
use switchboard_core::service::{Config, Service};
use switchboard_core::view::Scene;

use crate::Failed;
use crate::load::{post, run};
use crate::server::Server;

/// Measures an import of so many lines, both ways.
pub fn print(lines: u32) -> Result<(), Failed> {
    let folder = std::env::temp_dir().join(format!("switchboard-import-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = measure(&folder, lines);
    std::fs::remove_dir_all(&folder)?;
    done
}

fn measure(folder: &Path, lines: u32) -> Result<(), Failed> {
    let mut csv = String::from("phone_number,customer_name,note\n");
    for line in 0..lines {
        writeln!(csv, "+407{line:08},Customer {line},Please call before noon")?;
    }
    let file = folder.join("leads.csv");
    std::fs::write(&file, &csv)?;
    println!("# An import of {lines} lines, {} bytes\n", csv.len());
    served(&folder.join("served"), &file)?;
    sliced(&folder.join("sliced"), csv.into_bytes())
}

/// Asks the server with curl.
fn curl(server: &Server, method: &str, target: &str, body: &[&str]) -> Result<Value, Failed> {
    let output = Command::new("curl")
        .args(["-fsS", "-X", method, "-H", &format!("Authorization: Bearer {}", server.key)])
        .args(body)
        .arg(format!("http://{}{target}", server.address))
        .output()?;
    if !output.status.success() {
        return Err(format!("{target}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A server on a new store with an assistant and a campaign.
fn server(data: &Path) -> Result<Server, Failed> {
    let server = Server::service(data)?;
    let make = |target: &str, body: Value| {
        curl(&server, "POST", target, &["-H", "Content-Type: application/json", "-d", &body.to_string()])
    };
    make(
        "/user/assistant",
        json!({
            "name": "Anna", "voice_id": 1, "language_id": 1, "type": "outbound", "mode": "pipeline",
            "timezone": "Etc/UTC", "initial_message": "Hello.", "system_prompt": "Hello.", "llm_model_id": 1,
        }),
    )?;
    make("/user/campaigns", json!({ "name": "Spring", "assistant_id": 1 }))?;
    Ok(server)
}

fn served(data: &Path, file: &Path) -> Result<(), Failed> {
    let server = server(data)?;
    let idle = server.memory_mib();
    let body = format!("@{}", file.display());
    let began = Instant::now();
    let upload = ["-H", "Content-Type: text/csv", "--data-binary", &body];
    let started = curl(&server, "POST", "/user/leads/import?campaign_id=1", &upload)?;
    let accepted = began.elapsed();
    let key = server.key.clone();
    let neighbour = run(&server, 1, move |turn| {
        let mut rename = post(&key, "/user/campaigns/1", &format!("{{\"name\":\"Spring {turn}\"}}"));
        rename.splice(..4, *b"PUT");
        rename
    })?;
    let target = format!("/user/leads/imports/{}", started["data"]["id"]);
    let shown = loop {
        let shown = curl(&server, "GET", &target, &[])?;
        if shown["data"]["status"] != "processing" {
            break shown;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    println!(
        "Through the server: accepted in {:.1} s, done in {:.1} s; resident {idle:.0} MiB before and {:.0} MiB after, at most {:.0} MiB. A neighbour that writes meanwhile: p50 {:.0} µs, p99 {:.0} µs.\n\n{}\n",
        accepted.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        server.memory_mib(),
        server.peak_mib(),
        neighbour.p50_us,
        neighbour.p99_us,
        shown["data"]
    );
    Ok(())
}

fn sliced(data: &Path, csv: Vec<u8>) -> Result<(), Failed> {
    let key = server(data)?.key.clone();
    let (store, service) = (Store::existing(data)?, Service::new(Config::default()));
    let headers = vec![("authorization", format!("Bearer {key}").into_bytes()), ("content-type", b"text/csv".to_vec())];
    let request = Request {
        method: Method::Post,
        target: "/user/leads/import?campaign_id=1".into(),
        headers,
        body: Body::Full(csv),
        peer: None,
        door: Door::Main,
    };
    let (took, outcome) = step(&store, &service, &Input::Http(&request, &[]))?;
    if !matches!(&outcome, Outcome::Reply(reply) if reply.status == 202) {
        return Err(format!("no import: {outcome:?}").into());
    }
    println!("Step by step: the request {:.0} + {:.0} ms.", ms(took.0), ms(took.1));
    drop(request);
    let (began, mut steps, mut both) = (Instant::now(), Vec::new(), Vec::new());
    loop {
        let (took, _) = step(&store, &service, &Input::Tick)?;
        // The last step has nothing to do.
        if took.2 == 0 {
            break;
        }
        steps.push(took.0);
        both.push(took.0 + took.1);
    }
    println!("{} slices in {:.1} s.", steps.len(), began.elapsed().as_secs_f64());
    for (name, times) in [("step", &mut steps), ("step and commit", &mut both)] {
        times.sort_unstable();
        let at = |percent: usize| ms(times[(times.len() - 1) * percent / 100]);
        println!("{name}: p50 {:.2} ms, p99 {:.2} ms, largest {:.2} ms", at(50), at(99), at(100));
    }
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs and commits one step; gives how long it took, its commit took, and how many changes it made.
fn step(store: &Store, service: &Service, input: &Input<'_>) -> Result<((Duration, Duration, usize), Outcome), Failed> {
    let (seed, clock) = (clock::seed()?, clock::Clock::default());
    let transaction = store.begin()?;
    let began = Instant::now();
    let (output, stepped, applying) = {
        let mut rows = store.rows(&transaction)?;
        let output = {
            let view = rows.view(None);
            let scene = Scene { now: clock.now(), seed, view: &view };
            service.step(input, &scene).map_err(|stop| format!("{stop:?}"))?
        };
        let (stepped, applying) = (began.elapsed(), Instant::now());
        rows.apply(&output.changes)?;
        (output, stepped, applying)
    };
    transaction.commit()?;
    Ok(((stepped, applying.elapsed(), output.changes.len()), output.outcome))
}
