//! `cargo xtask figures`: puts every claim to the test, and writes the page that shows what came of it.
//!
//! What was measured is kept in `docs/figures.json`, part by part, so that one part can be measured anew;
//! `docs/figures.md` is made of it and of nothing else.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use switchboard_claims::{Claim, FILE, HEAD, Verdict};

use crate::chores::{self, Done, component, edges, root, runtimes, step, target, text};
use crate::schemathesis;

/// One part of the page.
struct Part {
    /// Its name on the command line.
    name: &'static str,
    /// Its heading.
    title: &'static str,
    /// What is to be known about its figures.
    about: &'static str,
    measure: Measure,
}

/// How a part is measured.
enum Measure {
    /// A program of the workspace: its package, its features, and its arguments in a long and in a short run.
    Program(&'static str, &'static [&'static str], &'static [&'static str]),
    /// The bench with what is not built by default.
    Beside(&'static str),
    /// The bench beside a program from a registry.
    Peer,
    /// The bench with nodes at the edge.
    Edge,
    /// The hosts, every one that can be had.
    Hosts,
    /// What is loaded over a network.
    Sizes,
    /// Schemathesis: seconds of a long and of a short run.
    Schemathesis(u32, u32),
}

const BENCH: &str = "switchboard-bench";
/// The peer's release.
const PEER: &str = "openvox-core==0.2.40";

const PARTS: [Part; 19] = [
    Part {
        name: "reads",
        title: "Reads and pages beside bare hyper",
        about: "Bare hyper sends the same bytes and does nothing else. Why the ratios fall short: of a read's CPU two fifths are the service's own (token, rows, headers), of a page's three fifths (fifteen rows copied twice, a dozen links, the entity tag); the rest is the socket, where a server that answers slower than the bare one also wakes its client for each answer. Measured with another allocator than the present one, with which a page costs about a fifth more CPU.",
        measure: Measure::Program(BENCH, &["reads"], &["reads"]),
    },
    Part {
        name: "load",
        title: "More connections",
        about: "p99 at half of the peak counts the time that a request waits for its turn. Measured with another allocator than the present one, with which a page costs about a fifth more CPU.",
        measure: Measure::Program(BENCH, &["load"], &["load"]),
    },
    Part {
        name: "creates",
        title: "Durable creates beside bare redb",
        about: "Each is acknowledged after its commit is on the disk: two syncs. Measured with another allocator than the present one, with which a page costs about a fifth more CPU.",
        measure: Measure::Program(BENCH, &["creates"], &["creates"]),
    },
    Part {
        name: "growth",
        title: "Growing data",
        about: "One account has all the calls. *Any* page is one anywhere in the list.",
        measure: Measure::Program(BENCH, &["growth"], &["growth", "10000", "1000000"]),
    },
    Part {
        name: "lists",
        title: "Pages beside SQLite",
        about: "SQLite has an index for each filter, and its pages in memory.",
        measure: Measure::Beside("lists"),
    },
    Part {
        name: "steps",
        title: "What a step consists of",
        about: "Steps on a store of 10,000 calls, in one process.",
        measure: Measure::Beside("steps"),
    },
    Part {
        name: "imports",
        title: "Imports",
        about: "A neighbour writes, one request after the other, while 50,000 leads are imported.",
        measure: Measure::Program(BENCH, &["imports"], &["imports"]),
    },
    Part {
        name: "day",
        title: "A mixed day",
        about: "Reads, updates and calls at half of the peak rate; each call is played by the simulated engine in the same process and told to a webhook. Measured with another allocator than the present one, with which a page costs about a fifth more CPU.",
        measure: Measure::Program(BENCH, &["day"], &["day", "30"]),
    },
    Part {
        name: "peer",
        title: "Beside openvox-core",
        about: "An open voice-agent server from PyPI, as it installs: one process, SQLite. Measured with another allocator than the present one, with which a page costs about a fifth more CPU.",
        measure: Measure::Peer,
    },
    Part {
        name: "edge",
        title: "Nodes at the edge",
        about: "wasmtime opens a connection for each request to the region, and makes an instance for each request of 0.2.",
        measure: Measure::Edge,
    },
    Part {
        name: "component",
        title: "Steps through the component",
        about: "The aim is 1.5 times the same step natively with its reads in rounds, and 20 µs.",
        measure: Measure::Program("switchboard-proof", &["measure"], &["measure"]),
    },
    Part {
        name: "sizes",
        title: "Sizes",
        about: "Packed with `gzip -9`. Of the component, time zones take 49 kB, the catalogue 7, tables, texts and words of the search about 65; the rest is code, no part of which stands out. Optimising for size alone (`z`) gives 526 and costs half as much time again; `wasm-opt -Oz` makes the packed file larger.",
        measure: Measure::Sizes,
    },
    Part {
        name: "hosts",
        title: "Hosts agree",
        about: "One recorded script over every operation and drawn histories, compared byte for byte: replies, wake-ups, stored rows. Not run: Cloudflare itself, Deno Deploy, Spin, wasmCloud, Firefox, Safari.",
        measure: Measure::Hosts,
    },
    Part {
        name: "faults",
        title: "Faults",
        about: "The real binary and the real store.",
        measure: Measure::Program("switchboard-faults", &["--long"], &[]),
    },
    Part {
        name: "fuzz",
        title: "Any input",
        about: "Drawn and mutated inputs into everything that reads what others wrote.",
        measure: Measure::Program("switchboard-fuzz", &["--count", "100000000"], &["--count", "1000000"]),
    },
    Part {
        name: "tenancy",
        title: "Tenants",
        about: "Two accounts, drawn histories; a stranger is answered as if the row had never been.",
        measure: Measure::Program("switchboard-fuzz", &["--count", "50000", "tenancy"], &["--count", "500", "tenancy"]),
    },
    Part {
        name: "idempotency",
        title: "Idempotency keys",
        about: "Copies at once, and a crash between commit and answer.",
        measure: Measure::Program(
            "switchboard-fuzz",
            &["--count", "100000", "idempotency"],
            &["--count", "1000", "idempotency"],
        ),
    },
    Part {
        name: "sim",
        title: "Simulated worlds",
        about: "Campaigns, engines that lie, receivers that fail, hosts that die between any two steps.",
        measure: Measure::Program("switchboard-sim", &["--seeds", "100000"], &["--seeds", "1000"]),
    },
    Part {
        name: "schemathesis",
        title: "A third party's fuzzer",
        about: "Schemathesis against the served document, with all checks and phases and two accounts.",
        measure: Measure::Schemathesis(3_600, 60),
    },
];

/// What a part came to: its claims, and what else was printed.
type Measured = (Vec<Claim>, String);

/// Measures the parts that are named, or all of them; `--short` as long as before a commit.
pub fn run(words: &[&str]) -> Done {
    let short = words.contains(&"--short");
    let named: Vec<&&str> = words.iter().filter(|word| **word != "--short").collect();
    if let Some(unknown) = named.iter().find(|name| PARTS.iter().all(|part| part.name != ***name)) {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        return Err(format!("there is no part {unknown}; the parts are: {}", names.join(", ")));
    }
    let mut missed = Vec::new();
    for part in PARTS.iter().filter(|part| named.is_empty() || named.contains(&&part.name)) {
        match part.measure(short) {
            Ok((claims, detail)) => {
                let missing = claims.iter().filter(|claim| claim.verdict == Verdict::Missed);
                missed.extend(missing.map(|claim| format!("{}: {}: {}", part.name, claim.text, claim.figure)));
                keep(part, short, &claims, &detail)?;
            }
            Err(error) => missed.push(format!("{}: {error}", part.name)),
        }
    }
    match missed.as_slice() {
        [] => Ok(()),
        _ => Err(format!("these fall short:\n  {}", missed.join("\n  "))),
    }
}

impl Part {
    fn measure(&self, short: bool) -> Result<Measured, String> {
        match self.measure {
            Measure::Program(package, long, brief) => self.program(package, &[], if short { brief } else { long }, &[]),
            Measure::Beside(name) => self.program(BENCH, &["--features", "beside"], &[name], &[]),
            Measure::Peer => self.program(BENCH, &[], &["peer", &peer()?], &[]),
            Measure::Edge => {
                chores::tools()?;
                edges()?;
                let components = text(&target()?.join(chores::WASM).join("wasm"));
                let wasmtime = text(&runtimes()?.join("cargo/bin/wasmtime"));
                self.program(BENCH, &[], &["edge", &wasmtime, &components], &[])
            }
            Measure::Hosts => {
                component()?;
                edges()?;
                chores::js()?;
                let tools = chores::tools()?;
                self.program("switchboard-proof", &[], if short { &["256"] } else { &["10000"] }, &tools)
            }
            Measure::Sizes => sizes().map(|claims| (claims, String::new())),
            Measure::Schemathesis(long, brief) => {
                let seconds = if short { brief } else { long };
                let silent = schemathesis::run(seconds);
                let figure = silent.as_ref().map_or_else(Clone::clone, |()| format!("silent for {seconds} s"));
                let aim = format!("silent for {seconds} s");
                let text = "All checks of Schemathesis pass, but for its reasoned list";
                Ok((vec![Claim::holds(text, aim, figure, silent.is_ok())], String::new()))
            }
        }
    }

    /// Runs a program in release; what it prints is shown and kept.
    fn program(
        &self,
        package: &str,
        features: &[&str],
        arguments: &[&str],
        environment: &[(&str, String)],
    ) -> Result<Measured, String> {
        if package == "switchboard-proof" {
            component()?;
        }
        step("binary", "cargo", &["build", "--release", "--quiet", "-p", "switchboard"])?;
        let file = target()?.join("claims.jsonl");
        let _ = std::fs::remove_file(&file);
        let run = ["run", "--release", "--quiet", "-p", package];
        let words: Vec<&str> = [&run[..], features, &["--"], arguments].concat();
        println!("== {}: cargo {}", self.name, words.join(" "));
        let mut child = Command::new("cargo")
            .args(&words)
            .env(FILE, &file)
            .envs(environment.iter().cloned())
            .current_dir(root())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut detail = String::new();
        for line in BufReader::new(child.stdout.take().ok_or("no output")?).lines() {
            let line = line.map_err(|error| error.to_string())?;
            println!("{line}");
            let _ = writeln!(detail, "{line}");
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        let lines = std::fs::read_to_string(&file).unwrap_or_default();
        let claims: Vec<Claim> =
            lines.lines().filter_map(|line| Claim::of_json(&serde_json::from_str(line).ok()?)).collect();
        let fell_short = claims.iter().any(|claim| claim.verdict == Verdict::Missed);
        // A program that says of no claim that it was missed has no reason to fail.
        if claims.is_empty() || (!status.success() && !fell_short) {
            return Err(format!("{package} failed: {status}"));
        }
        let detail = detail.split(HEAD).next().unwrap_or_default().trim().to_owned();
        Ok((claims, detail))
    }
}

/// The command of the peer, installed into the build folder.
fn peer() -> Result<String, String> {
    let tools = target()?.join("peer");
    if !tools.join("bin/openvox").is_file() {
        step("python", "python3", &["-m", "venv", &text(&tools)])?;
        let pip = text(&tools.join("bin/pip"));
        step("openvox-core from PyPI", &pip, &["install", "--quiet", "--disable-pip-version-check", PEER])?;
    }
    Ok(text(&tools.join("bin/openvox")))
}

/// What is loaded over a network, packed.
fn sizes() -> Result<Vec<Claim>, String> {
    component()?;
    edges()?;
    chores::js()?;
    let built = target()?.join(chores::WASM).join("wasm");
    let packed = |file: PathBuf| -> Result<f64, String> {
        let output = Command::new("gzip").args(["-9", "-c"]).arg(&file).output().map_err(|error| error.to_string())?;
        let bytes = u32::try_from(output.stdout.len()).map_err(|error| error.to_string())?;
        if bytes == 0 { Err(format!("{} cannot be packed", file.display())) } else { Ok(f64::from(bytes) / 1e3) }
    };
    let kb = |figure: f64| format!("{figure:.0} kB");
    let raw = |file: PathBuf| std::fs::metadata(file).map_or(0, |meta| meta.len()) / 1_000_000;
    Ok(vec![
        Claim::at_most("The pure component", 250.0, packed(built.join("switchboard_pure.wasm"))?, "kB"),
        Claim::stated("The edge, 0.3", kb(packed(built.join("switchboard_service_p3.wasm"))?)),
        Claim::stated("The edge, 0.2", kb(packed(built.join("switchboard_service_p2.wasm"))?)),
        Claim::stated("The module of the npm package", kb(packed(root().join("host-wasm/js/npm/wasm/core.wasm"))?)),
        Claim::stated("The native binary, unpacked", format!("{} MB", raw(target()?.join("release/switchboard")))),
    ])
}

fn data() -> PathBuf {
    root().join("docs/figures.json")
}

fn page() -> PathBuf {
    root().join("docs/figures.md")
}

fn stored() -> Result<Map<String, Value>, String> {
    let Ok(bytes) = std::fs::read(data()) else { return Ok(Map::new()) };
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(parts)) => Ok(parts),
        _ => Err(format!("{} is no JSON object", data().display())),
    }
}

/// Writes down what a part came to.
fn keep(part: &Part, short: bool, claims: &[Claim], detail: &str) -> Done {
    let mut parts = stored()?;
    let claims: Vec<Value> = claims.iter().map(Claim::to_json).collect();
    let command = format!("cargo xtask figures {}{}", if short { "--short " } else { "" }, part.name);
    let kept =
        json!({ "when": today()?, "machine": machine(), "command": command, "claims": claims, "detail": detail });
    parts.insert(part.name.to_owned(), kept);
    let written = serde_json::to_string_pretty(&Value::Object(parts.clone())).map_err(|error| error.to_string())?;
    std::fs::write(data(), written + "\n").map_err(|error| error.to_string())?;
    std::fs::write(page(), shown(&parts)).map_err(|error| error.to_string())
}

fn today() -> Result<String, String> {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn machine() -> String {
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("an unnamed CPU", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let kib = memory.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{cores} cores of {model}, {} GiB, virtual", kib >> 20)
}

/// The page.
fn shown(parts: &Map<String, Value>) -> String {
    let known: Vec<(&Part, &Value)> = PARTS.iter().filter_map(|part| Some((part, parts.get(part.name)?))).collect();
    let claims = |part: &Value| -> Vec<Claim> {
        part["claims"].as_array().into_iter().flatten().filter_map(Claim::of_json).collect()
    };
    let all: Vec<Claim> = known.iter().flat_map(|(_, part)| claims(part)).collect();
    let count = |verdict| all.iter().filter(|claim| claim.verdict == verdict).count();
    let mut page = format!(
        "# Figures\n\nWhat is claimed of the service, and what was measured, part by part; made by `cargo xtask figures`.\n\
         `cargo xtask figures` measures everything for hours and fails where an aim is missed, `--short` for minutes;\n\
         with names, those parts only. Ratios count: machines are noisy, and these have two cores for client and server.\n\n\
         {} aims: {} met, {} missed.\n",
        count(Verdict::Met) + count(Verdict::Missed),
        count(Verdict::Met),
        count(Verdict::Missed)
    );
    for (part, kept) in known {
        let word = |name: &str| kept[name].as_str().unwrap_or_default();
        let _ = write!(page, "\n## {}\n\n{}\n\n{HEAD}\n", part.title, part.about);
        claims(kept).iter().for_each(|claim| {
            let _ = writeln!(page, "{}", claim.row());
        });
        let _ = write!(page, "\n{}, {}: `{}`\n", word("when"), word("machine"), word("command"));
        if !word("detail").is_empty() {
            let _ = write!(page, "\n{}\n", word("detail"));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_made_of_what_was_measured() {
        let page = std::fs::read_to_string(page()).expect("a page");
        assert_eq!(page, shown(&stored().expect("what was measured")), "cargo xtask figures writes the page");
    }

    #[test]
    fn what_was_measured_can_be_measured_again() {
        for (name, kept) in stored().expect("what was measured") {
            assert!(PARTS.iter().any(|part| part.name == name), "there is no part {name}");
            let claims = kept["claims"].as_array().expect("claims");
            assert!(!claims.is_empty() && claims.iter().all(|claim| Claim::of_json(claim).is_some()), "{name}");
        }
    }
}
