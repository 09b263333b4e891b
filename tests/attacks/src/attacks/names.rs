//! Names that do not resolve: requests to hosts whose name server does not answer.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_tests::house::{tool, with};
use tokio::task::JoinSet;

use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Accounts, and host names that each requests.
const ACCOUNTS: usize = 6;
const NAMES: usize = 10;
/// Concurrent requests.
const REQUESTS: usize = 600;
/// Pause between two requests of a client. A request ends after a second, an unanswered lookup much later.
const PAUSE: Duration = Duration::from_millis(250);

/// Creates the tools.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let mut tools = Vec::new();
        for account in 0..ACCOUNTS {
            let (_, key) = target.account().await?;
            let mut client = target.attacker(&key);
            for number in 0..NAMES {
                let host = format!("h{account}-{number}.attack.test");
                let silent = json!({ "endpoint": format!("http://{host}/x"), "timeout": 1 });
                let made = client.make("POST", "/user/tools", &with(tool("silent"), &silent)).await?;
                tools.push((key.clone(), id_of(&made)?));
            }
        }
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for (key, tool) in tools.iter().cycle().take(REQUESTS) {
                let (mut client, tool) = (target.attacker(key), *tool);
                tasks.spawn(async move {
                    loop {
                        // Each of them times out, or is refused.
                        let _ = client.ask("POST", &format!("/user/tools/{tool}/test"), Some(&json!({}))).await;
                        tokio::time::sleep(PAUSE).await;
                    }
                });
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
