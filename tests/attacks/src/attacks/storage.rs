//! Storage: an account that stores as much as it can.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_tests::house::{assistant, with};
use tokio::task::JoinSet;

use crate::target::Target;
use crate::{Future, Strike};

/// Bytes that its plan allows, and how many rows of [`ROW`] fit.
const ALLOWED: u64 = 32 << 20;
const ROW: usize = 950_000;
const ROWS_MAX: u64 = ALLOWED / 950_000;
/// Concurrent clients that create rows.
const CLIENTS: usize = 4;
/// Pause after a refusal.
const PAUSE: Duration = Duration::from_millis(100);
const PLAN: &str = "small";

/// Creates an account on a plan with bounded storage.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let plan = json!({ "name": PLAN, "storage_bytes": ALLOWED });
        target.client(target.home(), &target.operator).make("POST", "/admin/plans", &plan).await?;
        let (_, key) = target.account_on(PLAN).await?;
        target.note_key(PLAN, &key);
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for _ in 0..CLIENTS {
                let mut client = target.attacker(&key);
                let body = with(assistant(), &json!({ "system_prompt": "x".repeat(ROW) }));
                tasks.spawn(async move {
                    loop {
                        let made = client.ask("POST", "/user/assistant", Some(&body)).await;
                        if made.is_ok_and(|answer| answer.status != 201) {
                            tokio::time::sleep(PAUSE).await;
                        }
                    }
                });
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}

/// Checks that the account has stored no more than its plan allows.
pub fn check(target: Arc<Target>) -> Future<Result<(), String>> {
    Box::pin(async move {
        let mut client = target.attacker(&target.noted_key(PLAN)?);
        let answer = client.ask("GET", "/user/assistants/get?per_page=1", None).await;
        let total = answer.map_err(|error| error.to_string())?.success()?["total"].as_u64().unwrap_or(0);
        if (1..=ROWS_MAX).contains(&total) { Ok(()) } else { Err(format!("{total} rows stored, allowed {ROWS_MAX}")) }
    })
}
