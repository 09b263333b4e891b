//! An honest load: reads, pages and writes of one account, and logins of some others, that take as much of the server's
//! processor as an attack did.

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
/// Accounts that log in, each at an address of its own: nothing keeps the server busier for so little of the client's
/// processor.
const LOGINS: u16 = 2;
/// How often the pace is adjusted.
const BEAT: Duration = Duration::from_millis(50);
/// The longest and the shortest pause of a connection between two requests, microseconds.
const PAUSE_US: (u64, u64) = (20, 500_000);

/// A load that is prepared.
pub struct Load {
    target: Arc<Target>,
    key: String,
    tool: String,
    emails: Vec<String>,
}

impl Load {
    /// Makes the accounts, and what they ask for.
    pub async fn new(target: Arc<Target>) -> Result<Self, String> {
        let (_, key) = target.account().await?;
        let mut client = target.client(target.home(), &key);
        let made = client.make("POST", "/user/tools", &tool("look_up")).await?;
        let tool = format!("/user/tools/{}", id_of(&made)?);
        for number in 0..ROWS {
            let body = with(assistant(), &json!({ "name": format!("Desk {number}") }));
            client.make("POST", "/user/assistant", &body).await?;
        }
        let mut emails = Vec::new();
        for _ in 0..LOGINS {
            emails.push(target.account().await?.0);
        }
        Ok(Self { target, key, tool, emails })
    }

    /// Asks for as long as it is polled, at so many seconds of processor time a second.
    pub async fn run(self, process: Process, cpu: f64) {
        let Self { target, key, tool, emails } = self;
        let pause_us = Arc::new(AtomicU64::new(2_000));
        let mut tasks = JoinSet::new();
        for number in 0..CONNECTIONS {
            let client = target.client(target.home(), &key);
            tasks.spawn(ask(client, number, tool.clone(), Arc::clone(&pause_us)));
        }
        for (number, email) in (0..).zip(emails) {
            tasks.spawn(log_in(target.client(target.stranger(number), ""), email, Arc::clone(&pause_us)));
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
}

/// Reads, asks for pages and writes, with a pause after each.
async fn ask(mut client: Client, first: u32, tool: String, pause_us: Arc<AtomicU64>) {
    let body = json!({ "description": "Looks it up" });
    for turn in first.. {
        // Who is refused asks again.
        let _ = if turn.is_multiple_of(ASKED_A_WRITE) {
            client.ask("PUT", &tool, Some(&body)).await
        } else if turn.is_multiple_of(ASKED_A_PAGE) {
            client.ask("GET", &format!("/user/assistants/get?per_page={ROWS}"), None).await
        } else {
            client.ask("GET", "/user/me", None).await
        };
        tokio::time::sleep(Duration::from_micros(pause_us.load(Ordering::Relaxed))).await;
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
