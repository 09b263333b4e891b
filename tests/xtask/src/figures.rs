//! `cargo xtask figures`: tests every claim, and writes the page of results.
//!
//! Measurements are stored in `docs/figures.json`, part by part, so that one part can be measured again;
//! `docs/figures.md` is generated from it alone.

mod parts;

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use switchboard_claims::{Claim, FILE, HEAD, Verdict};

use crate::chores::{self, BENCH, Build, Done, component, edges, root, runtimes, step, target, text};
use crate::{console, schemathesis, voice};

use parts::{Measure, PARTS, Part, Test};

/// Flag for runs as short as before a commit.
const SHORT: &str = "--short";
/// Pinned release of the peer that the bench compares with.
const PEER: &str = "openvox-core==0.2.40";

/// Result of a part: its claims, and the rest of its output.
type Measured = (Vec<Claim>, String);

/// Measures the named parts, or all of them; `page` only rewrites the page from stored measurements.
pub fn run(words: &[&str]) -> Done {
    if words == ["page"] {
        return write(&stored()?);
    }
    let short = words.contains(&SHORT);
    let named: Vec<&&str> = words.iter().filter(|word| **word != SHORT).collect();
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
                keep(part, short && part.has_a_short_run(), &claims, &detail)?;
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
    fn has_a_short_run(&self) -> bool {
        match self.measure {
            Measure::Program(_, long, brief) => long != brief,
            Measure::Hosts | Measure::Schemathesis(..) | Measure::Tests(..) | Measure::Voice | Measure::Console(..) => {
                true
            }
            Measure::Beside(_) | Measure::Peer | Measure::Edge | Measure::Sizes => false,
        }
    }

    fn measure(&self, short: bool) -> Result<Measured, String> {
        match self.measure {
            Measure::Program(package, long, brief) => self.program(package, &[], if short { brief } else { long }, &[]),
            Measure::Beside(name) => self.program(BENCH, &["--features", "beside"], &[name], &[]),
            Measure::Peer => self.program(BENCH, &[], &["peer", &peer()?], &[]),
            Measure::Edge => {
                chores::tools()?;
                edges(Build::Shipped)?;
                let components = text(&target()?.join(chores::WASM).join("wasm"));
                let wasmtime = text(&runtimes()?.join("cargo/bin/wasmtime"));
                self.program(BENCH, &[], &["edge", &wasmtime, &components], &[])
            }
            Measure::Hosts => {
                component(Build::Shipped)?;
                edges(Build::Shipped)?;
                chores::js(Build::Shipped)?;
                let tools = chores::tools()?;
                self.program("switchboard-proof", &[], if short { &["256"] } else { &["10000"] }, &tools)
            }
            Measure::Voice => {
                let (claims, _) = Self::told(&mut voice::figures(short)?, "the voice engine")?;
                Ok((claims, String::new()))
            }
            Measure::Console(long, brief) => {
                Self::told(&mut console::figures(if short { brief } else { long })?, "the console")
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
            Measure::Tests(tests, times) => {
                component(Build::Shipped)?;
                let times = if short { 1 } else { times };
                let claims = tests.iter().map(|test| test.run(times)).collect::<Result<Vec<_>, _>>()?;
                Ok((claims, String::new()))
            }
        }
    }

    /// Runs a program built for speed; its output is shown and stored.
    fn program(
        &self,
        package: &str,
        features: &[&str],
        arguments: &[&str],
        environment: &[(&str, String)],
    ) -> Result<Measured, String> {
        if package == "switchboard-proof" {
            component(Build::Shipped)?;
        }
        step("binary", "cargo", &["build", "--release", "--quiet", "-p", "switchboard"])?;
        let words: Vec<&str> = [&chores::run(package)[..], features, &["--"], arguments].concat();
        println!("== {}: cargo {}", self.name, words.join(" "));
        let mut command = Command::new("cargo");
        Self::told(command.args(&words).envs(environment.iter().cloned()).current_dir(root()), package)
    }

    /// Runs what tells its claims to a file; its output is shown and stored.
    fn told(command: &mut Command, name: &str) -> Result<Measured, String> {
        let file = target()?.join("claims.jsonl");
        let _ = std::fs::remove_file(&file);
        let mut child = command.env(FILE, &file).stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
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
        // A nonzero exit is expected only if a claim was missed.
        if claims.is_empty() || (!status.success() && !fell_short) {
            return Err(format!("{name} failed: {status}"));
        }
        let detail = detail.split(HEAD).next().unwrap_or_default().trim().to_owned();
        Ok((claims, detail))
    }
}

impl Test {
    fn run(&self, times: u32) -> Result<Claim, String> {
        println!("== tests: {}", self.text);
        let output = Command::new("cargo")
            .args(["test", "--quiet", "-p", self.package, "--test", self.suite, self.name])
            .env("SWITCHBOARD_TIMES", times.to_string())
            .current_dir(root())
            .output()
            .map_err(|error| error.to_string())?;
        let told = String::from_utf8_lossy(&output.stdout);
        let passed = told.lines().find_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next());
        let passed = passed.and_then(|passed| passed.parse::<u32>().ok()).unwrap_or(0);
        if passed == 0 {
            println!("{told}{}", String::from_utf8_lossy(&output.stderr));
        }
        let aim = if self.cases == 0 { "passes".into() } else { format!("{} cases pass", self.cases * times) };
        let figure = format!("{passed} {}", if passed == 1 { "test passes" } else { "tests pass" });
        Ok(Claim::holds(self.text, aim, figure, output.status.success() && passed > 0))
    }
}

/// Returns the peer's command, installed into the build folder.
fn peer() -> Result<String, String> {
    let tools = target()?.join("peer");
    if !tools.join("bin/openvox").is_file() {
        step("python", "python3", &["-m", "venv", &text(&tools)])?;
        let pip = text(&tools.join("bin/pip"));
        step("openvox-core from PyPI", &pip, &["install", "--quiet", "--disable-pip-version-check", PEER])?;
    }
    Ok(text(&tools.join("bin/openvox")))
}

/// Measures the sizes of what is loaded over a network, compressed with gzip.
fn sizes() -> Result<Vec<Claim>, String> {
    component(Build::Shipped)?;
    edges(Build::Shipped)?;
    chores::js(Build::Shipped)?;
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

/// Stores a part's result; a short run does not replace a long one.
fn keep(part: &Part, short: bool, claims: &[Claim], detail: &str) -> Done {
    let mut parts = stored()?;
    if short && parts.get(part.name).is_some_and(|kept| !is_short(kept)) {
        println!("== {}: the page keeps the long run", part.name);
        return Ok(());
    }
    let claims: Vec<Value> = claims.iter().map(Claim::to_json).collect();
    let words = if short { format!("{SHORT} {}", part.name) } else { part.name.to_owned() };
    let command = format!("cargo xtask figures {words}");
    let kept =
        json!({ "when": today()?, "machine": machine(), "command": command, "claims": claims, "detail": detail });
    parts.insert(part.name.to_owned(), kept);
    write(&parts)
}

/// Whether a stored result is of a short run: minutes rather than hours.
fn is_short(kept: &Value) -> bool {
    kept["command"].as_str().is_some_and(|command| command.contains(SHORT))
}

fn write(parts: &Map<String, Value>) -> Done {
    let written = serde_json::to_string_pretty(parts).map_err(|error| error.to_string())?;
    std::fs::write(data(), written + "\n").map_err(|error| error.to_string())?;
    std::fs::write(page(), shown(parts)).map_err(|error| error.to_string())
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

/// Returns the text of the page.
fn shown(parts: &Map<String, Value>) -> String {
    let claims = |part: &Value| -> Vec<Claim> {
        part["claims"].as_array().into_iter().flatten().filter_map(Claim::of_json).collect()
    };
    let of = |verdict, kept: &Value| claims(kept).iter().filter(|claim| claim.verdict == verdict).count();
    let count = |verdict| parts.values().map(|kept| of(verdict, kept)).sum::<usize>();
    let aims = |kept| of(Verdict::Met, kept) + of(Verdict::Missed, kept);
    let mut page = format!(
        "# Figures\n\nWhat is claimed of the service, and what was measured, part by part; made by `cargo xtask figures`.\n\
         `cargo xtask figures` measures everything for hours and fails where an aim is missed, `--short` for minutes;\n\
         with names, those parts only. Ratios count: machines are noisy, and these have two cores for client and server.\n\n\
         {} aims: {} met, {} missed; {} of them by a short run.\n",
        parts.values().map(aims).sum::<usize>(),
        count(Verdict::Met),
        count(Verdict::Missed),
        parts.values().filter(|kept| is_short(kept)).map(aims).sum::<usize>(),
    );
    for part in &PARTS {
        let _ = write!(page, "\n## {}\n\n{}\n\n", part.title, part.about);
        let Some(kept) = parts.get(part.name) else {
            let _ = writeln!(page, "Not measured: `cargo xtask figures {}`", part.name);
            continue;
        };
        let word = |name: &str| kept[name].as_str().unwrap_or_default();
        let _ = writeln!(page, "{HEAD}");
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
        assert!(page == shown(&stored().expect("what was measured")), "cargo xtask figures page");
    }

    #[test]
    fn every_part_was_measured_and_can_be_again() {
        let parts = stored().expect("what was measured");
        assert!(PARTS.iter().all(|part| parts.contains_key(part.name)), "a part was never measured");
        for (name, kept) in parts {
            assert!(PARTS.iter().any(|part| part.name == name), "there is no part {name}");
            let claims = kept["claims"].as_array().expect("claims");
            assert!(!claims.is_empty() && claims.iter().all(|claim| Claim::of_json(claim).is_some()), "{name}");
        }
    }
}
