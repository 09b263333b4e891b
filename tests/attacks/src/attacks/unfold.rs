//! Templates that expand: a prompt or a header with many placeholders, filled in with the longest value accepted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, tool, with};

use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Placeholders of a prompt, and of a header: as many as their length limits allow.
const OF_PROMPT: usize = 190_000;
const OF_HEADER: usize = 409;
const HEADERS: usize = 50;
/// Lengths of the value, largest first; the first one accepted is used.
const LENGTHS: [usize; 4] = [1_000_000, 60_000, 8_000, 1_000];
/// Rounds of a call and a tool's requests, and the pause between them.
const CALLS_MAX: usize = 40;
const PAUSE: Duration = Duration::from_millis(100);
/// How soon a call that cannot be compiled must have failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Creates the assistant and the tool.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let (_, key) = target.account().await?;
        target.note_key("unfold", &key);
        let mut client = target.attacker(&key);
        let prompt = json!({ "system_prompt": "{{a}}".repeat(OF_PROMPT) });
        let assistant = id_of(&client.make("POST", "/user/assistant", &with(assistant(), &prompt)).await?)?;
        let active = json!({ "status": "active" });
        client.make("PUT", &format!("/user/assistant/{assistant}"), &active).await?;
        let header = |number| json!({ "name": format!("X-H{number}"), "value": "{{a}}".repeat(OF_HEADER) });
        let headers: Vec<Value> = (0..HEADERS).map(header).collect();
        let endpoint = json!({ "endpoint": "http://127.0.0.1:9/x", "headers": headers });
        let tool = id_of(&client.make("POST", "/user/tools", &with(tool("unfold"), &endpoint)).await?)?;
        Ok(Box::pin(async move {
            for _ in 0..CALLS_MAX {
                for length in LENGTHS {
                    let variables = json!({ "a": "x".repeat(length) });
                    let call =
                        json!({ "assistant_id": assistant, "phone_number": "+40700000001", "variables": variables });
                    let placed = client.ask("POST", "/user/make_call", Some(&call)).await;
                    if placed.is_ok_and(|answer| answer.status == 200) {
                        break;
                    }
                }
                for length in LENGTHS {
                    let arguments = json!({ "a": "x".repeat(length) });
                    // The outcome does not matter: the neighbour is what is measured.
                    let _ = client.ask("POST", &format!("/user/tools/{tool}/test"), Some(&arguments)).await;
                }
                tokio::time::sleep(PAUSE).await;
            }
            std::future::pending::<()>().await;
        }) as Strike)
    })
}

/// Checks that every call that could not be compiled fails soon.
pub fn check(target: Arc<Target>) -> Future<Result<(), String>> {
    Box::pin(async move {
        let (began, key) = (Instant::now(), target.noted_key("unfold")?);
        let mut client = target.client(target.home(), &key);
        loop {
            let answer = client.ask("GET", "/user/calls?per_page=100", None).await;
            let calls = answer.map_err(|error| error.to_string())?.success()?;
            let rows = calls["data"].as_array().cloned().unwrap_or_default();
            let left = rows.iter().find(|call| call["status"] != "failed");
            match left {
                None if rows.is_empty() => return Err("no call was placed".into()),
                None => return Ok(()),
                Some(call) if began.elapsed() > PATIENCE => {
                    let over = rows.iter().filter(|call| call["status"] == "failed").count();
                    return Err(format!("{over} of {} calls failed, one is left {}", rows.len(), call["status"]));
                }
                Some(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    })
}
