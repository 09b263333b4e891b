//! Names that do not resolve: requests to hosts whose name server says nothing.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_tests::house::{tool, with};
use tokio::task::JoinSet;

use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Requests at once, and names that they ask for.
const REQUESTS: usize = 600;
const TOOLS: usize = 30;
/// Between a request's end and the next. A request ends after a second, a look-up that nobody answers much later.
const PAUSE: Duration = Duration::from_millis(250);

/// Makes the tools.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let (_, key) = target.account().await?;
        let (mut client, mut tools) = (target.attacker(&key), Vec::new());
        for number in 0..TOOLS {
            let silent = json!({ "endpoint": format!("http://h{number}.attack.test/x"), "timeout": 1 });
            tools.push(id_of(&client.make("POST", "/user/tools", &with(tool("silent"), &silent)).await?)?);
        }
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for number in 0..REQUESTS {
                let (mut client, tool) = (target.attacker(&key), tools[number % tools.len()]);
                tasks.spawn(async move {
                    loop {
                        // Each of them ends by its own timeout, or is refused.
                        let _ = client.ask("POST", &format!("/user/tools/{tool}/test"), Some(&json!({}))).await;
                        tokio::time::sleep(PAUSE).await;
                    }
                });
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
