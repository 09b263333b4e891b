//! An honest load: reads and writes of one account that take as much of the server's processor as an attack did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_tests::house::tool;
use tokio::task::JoinSet;

use crate::process::Process;
use crate::target::{Target, id_of};

/// Connections of the load.
const CONNECTIONS: u32 = 16;
/// One of so many requests is a write.
const READS_A_WRITE: u32 = 10;
/// How often the pace is adjusted.
const BEAT: Duration = Duration::from_millis(50);
/// The longest and the shortest pause of a connection between two requests, microseconds.
const PAUSE_US: (u64, u64) = (20, 500_000);

/// Asks for as long as it is polled, at so many seconds of processor time a second.
pub async fn load(target: Arc<Target>, process: Process, cpu: f64) -> Result<(), String> {
    let (_, key) = target.account().await?;
    let made = target.client(target.home(), &key).make("POST", "/user/tools", &tool("look_up")).await?;
    let path = format!("/user/tools/{}", id_of(&made)?);
    let pause_us = Arc::new(AtomicU64::new(2_000));
    let mut tasks = JoinSet::new();
    for number in 0..CONNECTIONS {
        let (mut client, path) = (target.client(target.home(), &key), path.clone());
        let pause_us = Arc::clone(&pause_us);
        tasks.spawn(async move {
            let body = json!({ "description": "Looks it up" });
            for turn in number.. {
                // Who is refused asks again.
                let _ = if turn.is_multiple_of(READS_A_WRITE) {
                    client.ask("PUT", &path, Some(&body)).await
                } else {
                    client.ask("GET", "/user/me", None).await
                };
                tokio::time::sleep(Duration::from_micros(pause_us.load(Ordering::Relaxed))).await;
            }
        });
    }
    let (began, before) = (Instant::now(), process.cpu_seconds());
    loop {
        tokio::time::sleep(BEAT).await;
        let taken = process.cpu_seconds() - before;
        let pause = pause_us.load(Ordering::Relaxed);
        let changed = if taken < cpu * began.elapsed().as_secs_f64() { pause * 4 / 5 } else { pause * 5 / 4 };
        pause_us.store(changed.clamp(PAUSE_US.0, PAUSE_US.1), Ordering::Relaxed);
    }
}
