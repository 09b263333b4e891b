//! An honest load: reads, pages, writes and logins of one account that take as much of the server's processor as an attack did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_tests::house::{assistant, tool, with};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::process::Process;
use crate::target::{PASSWORD, Target, id_of};

/// Connections of the load.
const CONNECTIONS: u32 = 16;
/// One of so many requests is a write, and one of so many a page: what an account shows of its own keeps the server
/// busier than whoever asks for it.
const ASKED_A_WRITE: u32 = 10;
const ASKED_A_PAGE: u32 = 2;
/// Rows of a page.
const ROWS: u32 = 100;
/// How often the pace is adjusted.
const BEAT: Duration = Duration::from_millis(50);
/// The longest and the shortest pause of a connection between two requests, microseconds.
const PAUSE_US: (u64, u64) = (20, 500_000);

/// Asks for as long as it is polled, at so many seconds of processor time a second.
pub async fn load(target: Arc<Target>, process: Process, cpu: f64) -> Result<(), String> {
    let (email, key) = target.account().await?;
    let mut client = target.client(target.home(), &key);
    let made = client.make("POST", "/user/tools", &tool("look_up")).await?;
    let path = format!("/user/tools/{}", id_of(&made)?);
    for number in 0..ROWS {
        client
            .make("POST", "/user/assistant", &with(assistant(), &json!({ "name": format!("Desk {number}") })))
            .await?;
    }
    let pause_us = Arc::new(AtomicU64::new(2_000));
    let mut tasks = JoinSet::new();
    for number in 0..CONNECTIONS {
        let (mut client, path) = (target.client(target.home(), &key), path.clone());
        let pause_us = Arc::clone(&pause_us);
        tasks.spawn(async move {
            let body = json!({ "description": "Looks it up" });
            for turn in number.. {
                // Who is refused asks again.
                let _ = if turn.is_multiple_of(ASKED_A_WRITE) {
                    client.ask("PUT", &path, Some(&body)).await
                } else if turn.is_multiple_of(ASKED_A_PAGE) {
                    client.ask("GET", &format!("/user/assistants/get?per_page={ROWS}"), None).await
                } else {
                    client.ask("GET", "/user/me", None).await
                };
                tokio::time::sleep(Duration::from_micros(pause_us.load(Ordering::Relaxed))).await;
            }
        });
    }
    tasks.spawn(log_in(target.client(target.home(), ""), email, Arc::clone(&pause_us)));
    let (began, before) = (Instant::now(), process.cpu_seconds());
    loop {
        tokio::time::sleep(BEAT).await;
        let taken = process.cpu_seconds() - before;
        let pause = pause_us.load(Ordering::Relaxed);
        let changed = if taken < cpu * began.elapsed().as_secs_f64() { pause * 4 / 5 } else { pause * 5 / 4 };
        pause_us.store(changed.clamp(PAUSE_US.0, PAUSE_US.1), Ordering::Relaxed);
    }
}

/// Logs in, one time after another, while all the rest takes too little without a pause.
async fn log_in(mut client: Client, email: String, pause_us: Arc<AtomicU64>) {
    let body = json!({ "email": email, "password": PASSWORD });
    loop {
        if pause_us.load(Ordering::Relaxed) == PAUSE_US.0 {
            // Who is refused asks again.
            let _ = client.ask("POST", "/user/login", Some(&body)).await;
        } else {
            tokio::time::sleep(BEAT).await;
        }
    }
}
