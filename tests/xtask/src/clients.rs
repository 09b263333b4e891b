//! Clients that generators make of the committed document: `tests/clients` calls with the Python one, and is compiled
//! against the TypeScript one. A warning of a generator is a failure: it means a part that it left out.

use std::process::{Command, Stdio};

use crate::chores::{Done, emptied, root, step, step_in, step_with, target, text};
use crate::server::{Server, has_python, python_tools};

/// Pinned releases: what a later one warns of is a change of its own.
const PYTHON: &str = "openapi-python-client==0.29.1";
const TYPESCRIPT: [&str; 3] = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3"];

/// Makes both clients, compiles the TypeScript one and calls with the Python one.
pub fn run() -> Done {
    let node = Command::new("npm").arg("--version").stdout(Stdio::null()).status();
    if !has_python() || !node.is_ok_and(|status| status.success()) {
        return Err("the clients need python3 with venv, and node with npm, in PATH".into());
    }
    typescript()?;
    python()
}

fn typescript() -> Done {
    let home = target()?.join("clients/typescript");
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    let prefix = ["install", "--no-save", "--silent", "--prefix", &text(&home)];
    step("generator of TypeScript", "npm", &[&prefix[..], &TYPESCRIPT].concat())?;
    let bin = |name: &str| text(&home.join("node_modules/.bin").join(name));
    let (document, types) = (text(&root().join("openapi.json")), text(&home.join("schema.d.ts")));
    step("types", &bin("openapi-typescript"), &[&document, "--output", &types])?;
    std::fs::copy(root().join("tests/clients/call.ts"), home.join("call.ts")).map_err(|error| error.to_string())?;
    let options = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
    step_in(&home, "TypeScript client", &bin("tsc"), &[&options[..], &["call.ts"]].concat(), &[])
}

fn python() -> Done {
    let home = target()?.join("clients/python");
    let tools = python_tools(&home.join("tools"), "openapi-python-client", PYTHON)?;
    let folder = emptied(&home.join("run"))?;
    let [document, config] = ["openapi.json", "tests/clients/python.yml"].map(|name| text(&root().join(name)));
    let client = text(&folder.join("switchboard_client"));
    let made = ["generate", "--path", &document, "--config", &config, "--output-path", &client];
    let strict = ["--meta", "none", "--fail-on-warning"];
    step("Python client", &text(&tools.join("openapi-python-client")), &[&made[..], &strict].concat())?;
    step("binary", "cargo", &["build", "--quiet", "-p", "switchboard"])?;
    let server = Server::start(&folder)?;
    let program = text(&root().join("tests/clients/call.py"));
    let environment = [("PYTHONPATH", text(&folder)), ("PYTHONDONTWRITEBYTECODE", "1".into())];
    let arguments = [&*program, server.ready("url")?, server.ready("api_key")?];
    step_with("a call", &text(&tools.join("python")), &arguments, &environment)?;
    server.stop()
}
