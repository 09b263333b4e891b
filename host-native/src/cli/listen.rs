//! The command `listen`: prints an account's event feed as it happens.

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use switchboard_core::account::token::TokenKind;

use super::remote::{block, client, fitting, refused, unsent};
use super::{Base, Failed, say};

/// Pause before a broken stream is requested again.
const PAUSE: Duration = Duration::from_secs(1);
/// Longest event accepted, bytes: a longer one ends the command with an error.
const EVENT_BYTES_MAX: usize = 8 << 20;

#[derive(Args)]
pub struct Listen {
    #[command(flatten)]
    base: Base,
    /// API key of the account
    #[arg(long, env = "SWITCHBOARD_KEY", hide_env_values = true)]
    key: String,
    /// Start after the event with this sequence number; without it, only events from now on
    #[arg(long)]
    after: Option<u64>,
    /// Stop after this many events
    #[arg(long)]
    count: Option<u64>,
}

/// Prints events until stopped or `--count` is reached; with `--json`, one JSON object a line.
pub fn listen(listen: &Listen, json: bool) -> Result<(), Failed> {
    fitting("--key", &listen.key, &[TokenKind::ApiKey, TokenKind::Session])?;
    block(async {
        let feed = format!("{}/user/events", listen.base.url);
        let client = client()?;
        let mut after = match listen.after {
            Some(after) => after,
            None => last(&client, listen).await?,
        };
        let mut left = listen.count.unwrap_or(u64::MAX);
        let mut answered = listen.after.is_none();
        if !json {
            say(&format!("Listening for events after {after}"))?;
        }
        while left > 0 {
            let request = client.get(&feed).bearer_auth(&listen.key).header("accept", "text/event-stream");
            let reply = match request.header("last-event-id", after.to_string()).send().await {
                Ok(reply) if reply.status().is_server_error() => None,
                Ok(reply) if !reply.status().is_success() => {
                    return Err(refused(reply.status().as_u16(), &reply.text().await?));
                }
                // A service that answered before is waited for.
                Err(error) if !answered => return Err(unsent(&listen.base)(error)),
                reply => reply.ok(),
            };
            answered = true;
            if let Some(reply) = reply {
                read(reply, json, &mut after, &mut left).await?;
            }
            if left > 0 {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(())
    })
}

/// Fetches the sequence number of the newest event.
async fn last(client: &reqwest::Client, listen: &Listen) -> Result<u64, Failed> {
    let request = client.get(format!("{}/user/events?limit=1", listen.base.url)).bearer_auth(&listen.key);
    let reply = request.send().await.map_err(unsent(&listen.base))?;
    let (status, text) = (reply.status(), reply.text().await?);
    if !status.is_success() {
        return Err(refused(status.as_u16(), &text));
    }
    let page: Value = serde_json::from_str(&text)?;
    page["last_seq"].as_u64().ok_or_else(|| "the answer is not a feed".into())
}

/// Reads a stream until it ends or breaks, and advances `after` and `left` with each event.
async fn read(mut reply: reqwest::Response, json: bool, after: &mut u64, left: &mut u64) -> Result<(), Failed> {
    let mut buffer = Vec::new();
    while *left > 0 {
        let Ok(Some(chunk)) = reply.chunk().await else { return Ok(()) };
        buffer.extend_from_slice(&chunk);
        while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = buffer.drain(..end + 2).collect();
            if let Some(data) = data(&frame) {
                *after = data["seq"].as_u64().unwrap_or(*after);
                show(&data, json)?;
                *left -= 1;
            }
            if *left == 0 {
                return Ok(());
            }
        }
        if buffer.len() > EVENT_BYTES_MAX {
            return Err("the service sends an event that is too long".into());
        }
    }
    Ok(())
}

fn data(frame: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(frame).ok()?;
    serde_json::from_str(text.lines().find_map(|line| line.strip_prefix("data: "))?).ok()
}

fn show(event: &Value, json: bool) -> Result<(), Failed> {
    if json {
        return say(&event.to_string());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    say(&format!(
        "{:>6}  {}  {}  {}",
        event["seq"],
        text(&event["created_at"]),
        text(&event["event"]),
        text(&event["id"])
    ))?;
    say(&serde_json::to_string_pretty(&event["payload"])?)
}
