//! Deletes that detach: each removes a tool from hundreds of large rows.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_tests::house::tool;

use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Assistants before each commit, and in a long run.
const ROWS: usize = 200;
const ROWS_LONG: usize = 1_000;
/// Tools of each assistant.
const TOOLS: usize = 8;
/// Pause between two deletes.
const PAUSE: Duration = Duration::from_millis(100);

/// Creates tools, and assistants that have all of them.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let (_, key) = target.account().await?;
        let (mut client, mut tools) = (target.attacker(&key), Vec::new());
        for number in 0..TOOLS {
            let letter = char::from(b'a' + u8::try_from(number).map_err(|error| error.to_string())?);
            tools.push(id_of(&client.make("POST", "/user/tools", &tool(&format!("look_{letter}"))).await?)?);
        }
        let rows = if target.long { ROWS_LONG } else { ROWS };
        target.large_assistants(&key, rows, &json!({ "tool_ids": tools })).await?;
        Ok(Box::pin(async move {
            for tool in tools {
                // The outcome does not matter: the neighbour is what is measured.
                let _ = client.ask("DELETE", &format!("/user/tools/{tool}"), None).await;
                tokio::time::sleep(PAUSE).await;
            }
            std::future::pending::<()>().await;
        }) as Strike)
    })
}
