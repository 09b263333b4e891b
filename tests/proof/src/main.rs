//! `cargo xtask hosts`: plays the script on every host available on this machine, and prints whether they agree.
//!
//! Programs are searched in `PATH`; a host whose program is missing is reported as not run. A number sets how many
//! random histories are played; `script FILE` writes the script and plays nothing, `measure` prints the cost of a step
//! across the component boundary.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use switchboard::store::Store;
use switchboard_claims::{Claim, tell};
use switchboard_core::key;
use switchboard_proof::agree::{Hosts, over};
use switchboard_proof::said::Transcript;
use switchboard_proof::script::Script;
use switchboard_proof::stage::{Stage, Steps};
use switchboard_proof::subject::component::{Program, built};
use switchboard_proof::subject::player::{Player, scripts};
use switchboard_proof::subject::served::{Served, program};
use switchboard_proof::subject::{Cold, Databases, Native, Stored, configured};
use switchboard_proof::{measure, scene};

/// Result of a host.
enum Verdict {
    Agrees,
    Differs(String),
    NotRun(String),
}

/// One run of the comparison.
struct Run {
    script: Script,
    said: Transcript,
    folder: PathBuf,
    path: String,
}

/// Histories that one host plays before the next host does.
const BATCH: u64 = 64;

type Played = Result<Transcript, String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["measure"] {
        return if tell(&measure::run()).is_ok_and(|met| met) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let (script, said) = scene::record();
    if let [word, file] = words.as_slice()
        && word == "script"
    {
        let written = std::fs::write(file, script.to_json_lines());
        return written.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let folder = std::env::temp_dir().join(format!("switchboard-hosts-{}", std::process::id()));
    let run = Run { script, said, folder, path: std::env::var("PATH").unwrap_or_default() };
    println!("{} lines, {} rows at the end\n", run.script.lines.len(), run.said.rows.len());
    println!("| host | verdict | seconds |\n|---|---|---|");
    let mut claims = Vec::new();
    for (name, play) in hosts() {
        let began = Instant::now();
        let own = run.folder.join(name.replace([' ', ',', '.'], "-"));
        let verdict =
            match std::fs::create_dir_all(&own).map_err(|error| error.to_string()).and_then(|()| play(&run, &own)) {
                Ok(played) => run.said.difference(&played).map_or(Verdict::Agrees, Verdict::Differs),
                Err(why) => Verdict::NotRun(why),
            };
        let seconds = began.elapsed().as_secs_f64();
        let text = format!("Same replies and rows: {name}");
        claims.push(match verdict {
            Verdict::Agrees => {
                println!("| {name} | agrees | {seconds:.1} |");
                Claim::holds(text, "agrees", "agrees", true)
            }
            Verdict::NotRun(why) => {
                println!("| {name} | not run: {} | |", why.lines().next().unwrap_or_default());
                Claim::stated(text, "not run")
            }
            Verdict::Differs(how) => {
                println!("| {name} | DIFFERS | {seconds:.1} |");
                eprintln!("{name}: {how}");
                Claim::holds(text, "agrees", "differs", false)
            }
        });
    }
    let count = words.first().and_then(|count| count.parse().ok()).unwrap_or(256);
    let (drawing, databases) = (Hosts::new(run.folder.clone(), &run.path), Databases::start());
    claims.push(match databases {
        Ok(databases) => histories(&drawing.with(databases), count, ", PostgreSQL"),
        Err(_) => histories(&drawing, count, ""),
    });
    let _ = std::fs::remove_dir_all(&run.folder);
    if tell(&claims).is_ok_and(|met| met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

type Host = (&'static str, fn(&Run, &Path) -> Played);

fn hosts() -> Vec<Host> {
    vec![
        ("memory, cold", |run, _| Ok(run.stage(Cold::new(&run.script.settings)))),
        ("redb", |run, folder| {
            let store = Store::open(folder).map_err(|error| error.to_string())?;
            Ok(run.stage(Stored::over(&run.script.settings, store)))
        }),
        ("PostgreSQL", |run, _| over(&Databases::start()?, &run.script)),
        ("native server", |run, folder| {
            let native = Native::start(&run.script.settings, folder);
            let url = native.url();
            Ok(native.play(&run.script, &url))
        }),
        ("native server over PostgreSQL", |run, _| {
            Databases::start()?.with_store(|store| {
                let native = Native::over(&run.script.settings, store);
                let url = native.url();
                native.play(&run.script, &url)
            })
        }),
        ("pure component", |run, _| Ok(run.stage(Program::load(&built()).start(&run.script.settings)))),
        ("edge, wasi:http 0.3", |run, folder| run.edge("p3", folder)),
        ("edge, wasi:http 0.2", |run, folder| run.edge("p2", folder)),
        ("Node, memory", |run, folder| run.player("node", &["play-node.js"], &["memory"], folder)),
        ("Node, SQLite", |run, folder| run.player("node", &["play-node.js"], &["sqlite"], folder)),
        ("Deno, memory", |run, folder| run.player("deno", &["run", "-A", "play-node.js"], &["memory"], folder)),
        ("Deno, SQLite", |run, folder| run.player("deno", &["run", "-A", "play-node.js"], &["sqlite"], folder)),
        ("workerd, Durable Object, 3 kills", |run, folder| run.player("node", &["play-workerd.js"], &[], folder)),
        ("Chromium, IndexedDB", |run, folder| run.player("node", &["play-browser.js"], &[], folder)),
    ]
}

impl Run {
    fn stage(&self, steps: impl Steps) -> Transcript {
        Stage::new(steps, configured(&self.script.settings).rate_limits).play(&self.script)
    }

    fn program(&self, name: &str) -> Result<PathBuf, String> {
        program(name, &self.path).ok_or_else(|| format!("there is no {name} in PATH"))
    }

    fn edge(&self, version: &str, folder: &Path) -> Played {
        let program = self.program("wasmtime")?;
        let native = Native::start(&self.script.settings, folder);
        let served = Served::wasmtime(&program, version, &self.script.settings, &native.url())?;
        Ok(with_addresses(native.play(&self.script, &served.url())))
    }

    fn player(&self, name: &str, before: &[&str], after: &[&str], folder: &Path) -> Played {
        let text = |word: &&str| {
            let file = scripts().join(word);
            if file.is_file() { file.display().to_string() } else { (*word).to_owned() }
        };
        let player = Player {
            program: self.program(name)?,
            before: before.iter().map(text).collect(),
            after: after.iter().map(|word| (*word).to_owned()).collect(),
        };
        player.play(&self.script, folder)
    }
}

/// Gives visits and logins the address that those of other hosts have: one of `wasi:http` is not told where its clients
/// are, and counts all of them for one address.
fn with_addresses(mut played: Transcript) -> Transcript {
    let (nobody, here) = ([0; 16], Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets());
    for (key, value) in &mut played.rows {
        let Some(space) = key::space_of(key) else { continue };
        let visits = key::table_of(&key::visit(space, 0, &nobody));
        if visits.is_some_and(|visits| visits.contains(key)) && key.ends_with(&nobody) {
            let address = key.len() - nobody.len();
            key[address..].copy_from_slice(&here);
        } else if *key == key::logins(space) {
            // The times of failures, then the address and the time of each login.
            let known = 1 + 8 * usize::from(value[0]);
            for login in value[known..].chunks_mut(24).filter(|login| login.starts_with(&nobody)) {
                login[..nobody.len()].copy_from_slice(&here);
            }
        }
    }
    played.rows.sort();
    played
}

/// Plays random histories on all cores.
fn histories(hosts: &Hosts, count: u64, more: &str) -> Claim {
    let node = if hosts.has_node() { ", Node" } else { "" };
    let (next, differ) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            let numbers: Vec<u64> = (first..count.min(first + BATCH)).collect();
            if numbers.is_empty() {
                return;
            }
            let found = hosts.differences(&numbers).unwrap_or_else(|why| vec![(first, why)]);
            found.iter().for_each(|(number, how)| eprintln!("history {number}, {how}"));
            differ.fetch_add(found.len() as u64, Ordering::Relaxed);
        }
    };
    scope(|scope| (0..available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work))));
    let differ = differ.into_inner();
    println!("\n{count} drawn histories: {differ} differences");
    Claim::holds(
        format!("Same replies and rows in drawn histories: memory, cold view, redb, component{node}{more}"),
        format!("{count} histories agree"),
        format!("{count} histories, {differ} differences"),
        differ == 0,
    )
}
