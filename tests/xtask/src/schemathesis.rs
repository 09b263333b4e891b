//! Schemathesis from `PyPI` against a running server with four users: all checks, all phases. `tests/schemathesis`
//! holds the findings that are allowed, each with its reason, and the inputs that the checks must not count as invalid.

use serde_json::{Value, json};

use crate::chores::{Done, emptied, root, step, step_in, target, text};
use crate::server::{Server, binary, has_python, python_tools};

/// Pinned release: the allow-list is made for its checks.
const RELEASE: &str = "schemathesis==4.32.5";
/// Run time before each commit, seconds.
pub const EACH_COMMIT_SECONDS: u32 = 120;
/// Run time of a long run, seconds.
pub const LONG_SECONDS: u32 = 3_600;

/// Runs before each commit; without Python, prints that it is skipped.
pub fn each_commit() -> Done {
    if has_python() {
        // The same inputs each time: a new finding is due to the commit.
        against(EACH_COMMIT_SECONDS, &["--generation-deterministic"])
    } else {
        println!("== schemathesis: not run, there is no python3 with venv in PATH");
        Ok(())
    }
}

/// Builds the binary and runs for `seconds`.
pub fn run(seconds: u32) -> Done {
    step("binary", "cargo", &["build", "--quiet", "-p", "switchboard"])?;
    against(seconds, &[])
}

fn against(seconds: u32, how: &[&str]) -> Done {
    let home = target()?.join("schemathesis");
    let tools = python_tools(&home.join("tools"), "schemathesis", RELEASE)?;
    let folder = emptied(&home.join("run"))?;
    let server = Server::start(&folder)?;
    let list = folder.join("users.json");
    std::fs::write(&list, users(&server)?.to_string()).map_err(|error| error.to_string())?;
    let [config, lenient] =
        ["schemathesis.toml", "lenient.py"].map(|name| text(&root().join("tests/schemathesis").join(name)));
    let environment = [
        ("SWITCHBOARD_USERS", text(&list)),
        ("SCHEMATHESIS_HOOKS", lenient.clone()),
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
    ];
    let doctest = ["-m", "doctest", &lenient];
    step_in(&folder, "what is lenient", &text(&tools.join("python")), &doctest, &environment)?;
    let (schema, seconds) = (format!("{}/openapi.json", server.ready("url")?), seconds.to_string());
    // Another path of an operation is the same row of the route table. After a rotation the operator's token is nobody's,
    // and every operation of the operator would be 401.
    let others = ["--exclude-operation-id-regex", "Alias$|^rotateOperatorToken$"];
    let arguments = ["--config-file", &config, "--no-color", "run", &schema, "--max-time", &seconds];
    let arguments = [&arguments[..], &others].concat();
    step_in(
        &folder,
        "schemathesis",
        &text(&tools.join("schemathesis")),
        &[&arguments[..], how].concat(),
        &environment,
    )?;
    server.stop()?;
    step("the store it leaves behind", &text(&binary()?), &["verify", &text(&folder.join("data"))])
}

/// Returns two accounts, the operator and an engine as a Web Fuzzing Commons document.
fn users(server: &Server) -> Result<Value, String> {
    let stranger = server.command(&["account", "create", "--email", "stranger@localhost", "--name", "Stranger"])?;
    let engine = server.command(&["engine-token", "create", "--name", "Engine"])?;
    let tokens = [
        ("owner", server.ready("api_key")?),
        ("stranger", stranger["api_key"].as_str().unwrap_or_default()),
        ("operator", server.ready("admin_token")?),
        ("engine", engine["token"].as_str().unwrap_or_default()),
    ];
    let users = tokens.map(|(name, token)| {
        json!({ "name": name, "fixedHeaders": [{ "name": "Authorization", "value": format!("Bearer {token}") }] })
    });
    Ok(json!({ "auth": users }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size of the allow-list: operations and statuses named by its entries, and checks switched off. It may only
    /// shrink.
    const ALLOWED: usize = 139;

    #[test]
    fn the_allow_list_only_shrinks() {
        let list = std::fs::read_to_string(root().join("tests/schemathesis/schemathesis.toml")).expect("the list");
        let lists = ["include-operation-id = [", "expected-statuses = ["].map(|opens| {
            let named = list.split(opens).skip(1).filter_map(|rest| rest.split(']').next());
            named.map(|names| names.matches('"').count() / 2).sum::<usize>()
        });
        let switched_off = list.matches("enabled = false").count();
        assert_eq!(
            lists.iter().sum::<usize>() + switched_off,
            ALLOWED,
            "fewer: lower the number; more: no schema can say it?"
        );
    }
}
