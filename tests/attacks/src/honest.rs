//! An honest load: reads, pages and writes of one account, logins, imports and new leads of some others, that use as
//! much of the server's processor time and of its disk as an attack did, in the same course.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_tests::house::{assistant, campaign, tool, with};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::process::{Course, Process};
use crate::target::{PASSWORD, Target, id_of};

/// Connections of the reading and writing account.
const CONNECTIONS: u32 = 16;
/// One request in this many is a write, and one in this many a page: pages cost the server more than the client.
const ASKED_A_WRITE: u32 = 10;
const ASKED_A_PAGE: u32 = 2;
/// Rows of a page.
const ROWS: u32 = 100;
/// Accounts that log in, each at an address of its own, and accounts that import leads: both keep the server busy for
/// little of the client's processor time.
const LOGINS: u16 = 4;
const IMPORTS: u32 = 3;
/// Connections of each importing account that create leads for as long as the disk has less to do than beside the
/// attack, and the length of a lead's note, bytes.
const ENTERING: usize = 16;
const NOTE_BYTES: usize = 2_000;
/// Leads in one import.
const LEADS: u32 = 2_000;
/// How often the pace is adjusted.
const BEAT: Duration = Duration::from_millis(50);
/// The shortest and the longest pause of a connection between two requests, microseconds.
const PAUSE_US: (u64, u64) = (20, 500_000);

/// A load whose accounts and rows are prepared.
pub struct Load {
    target: Arc<Target>,
    key: String,
    tool: String,
    emails: Vec<String>,
    /// API key and campaign of each importing account.
    importers: Vec<(String, u64)>,
}

impl Load {
    /// Creates the accounts and their rows.
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
        let mut importers = Vec::new();
        for _ in 0..IMPORTS {
            let (_, key) = target.account().await?;
            let mut client = target.client(target.home(), &key);
            let assistant = id_of(&client.make("POST", "/user/assistant", &assistant()).await?)?;
            let campaign = id_of(&client.make("POST", "/user/campaigns", &campaign(assistant)).await?)?;
            importers.push((key, campaign));
        }
        Ok(Self { target, key, tool, emails, importers })
    }

    /// Sends requests for as long as it is polled, so that `process` uses the processor and the disk along `course`,
    /// stretched to `span`.
    pub async fn run(self, process: Process, course: Course, span: Duration) {
        let Self { target, key, tool, emails, importers } = self;
        let (pace, entering) = (Arc::new(Pace::default()), Arc::new(AtomicBool::new(false)));
        let mut tasks = JoinSet::new();
        for number in 0..CONNECTIONS {
            let client = target.client(target.home(), &key);
            tasks.spawn(ask(client, number, tool.clone(), Arc::clone(&pace)));
        }
        for (number, email) in (0..).zip(emails) {
            tasks.spawn(log_in(target.client(target.stranger(number), ""), email, Arc::clone(&pace)));
        }
        for (key, campaign) in importers {
            for number in 0..ENTERING {
                let client = target.client(target.home(), &key);
                tasks.spawn(enter(client, campaign, number, Arc::clone(&entering)));
            }
            tasks.spawn(import(target.client(target.home(), &key), campaign, Arc::clone(&pace)));
        }
        let (began, before) = (Instant::now(), process.usage());
        loop {
            let (used, aim) = (process.usage().since(before), course.taken(began.elapsed(), span));
            pace.change(used.cpu_seconds < aim.cpu_seconds);
            entering.store(used.written < aim.written, Ordering::Relaxed);
            tokio::time::sleep(BEAT).await;
        }
    }
}

/// The pause of each connection between two requests, microseconds.
struct Pace(AtomicU64);

impl Default for Pace {
    fn default() -> Self {
        Self(AtomicU64::new(2_000))
    }
}

impl Pace {
    fn change(&self, is_behind: bool) {
        let pause = self.0.load(Ordering::Relaxed);
        let changed = if is_behind { pause / 2 } else { pause * 5 / 4 };
        self.0.store(changed.clamp(PAUSE_US.0, PAUSE_US.1), Ordering::Relaxed);
    }

    /// Whether the load is still behind with the shortest pause.
    fn is_highest(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PAUSE_US.0
    }

    /// Waits until the pause is over; it may become shorter meanwhile.
    async fn pause(&self) {
        let began = Instant::now();
        loop {
            let left = Duration::from_micros(self.0.load(Ordering::Relaxed)).saturating_sub(began.elapsed());
            if left.is_zero() {
                break;
            }
            tokio::time::sleep(left.min(BEAT)).await;
        }
    }
}

/// Reads, lists and writes, with a pause after each.
async fn ask(mut client: Client, first: u32, tool: String, pace: Arc<Pace>) {
    let body = json!({ "description": "Looks it up" });
    for turn in first.. {
        // A refused request is followed by the next like any other.
        let _ = if turn.is_multiple_of(ASKED_A_WRITE) {
            client.ask("PUT", &tool, Some(&body)).await
        } else if turn.is_multiple_of(ASKED_A_PAGE) {
            client.ask("GET", &format!("/user/assistants/get?per_page={ROWS}"), None).await
        } else {
            client.ask("GET", "/user/me", None).await
        };
        pace.pause().await;
    }
}

/// Logs in repeatedly while the rest of the load, without pauses, still uses too little.
async fn log_in(mut client: Client, email: String, pace: Arc<Pace>) {
    let body = json!({ "email": email, "password": PASSWORD });
    loop {
        if pace.is_highest() {
            // A refused login is tried again.
            let _ = client.ask("POST", "/user/login", Some(&body)).await;
        } else {
            tokio::time::sleep(BEAT).await;
        }
    }
}

/// Imports leads, file after file, while the rest of the load, without pauses, still uses too little.
async fn import(mut client: Client, campaign: u64, pace: Arc<Pace>) {
    let path = format!("/user/leads/import?campaign_id={campaign}");
    let mut first = 0;
    loop {
        if pace.is_highest() {
            let lines: Vec<String> = (first..first + LEADS).map(|lead| format!("+4070{lead:07}\n")).collect();
            let file = ["phone_number\n".to_owned(), lines.concat()].concat();
            first += LEADS;
            // A refused import is tried again, with the next file.
            if let Ok(started) = client.send("POST", &path, "text/csv", file.as_bytes()).await
                && let Ok(started) = started.success()
                && let Ok(id) = id_of(&started)
            {
                finished(&mut client, id).await;
            }
        }
        tokio::time::sleep(BEAT).await;
    }
}

/// Creates leads, one by one, while the disk has less to do than it is to have.
async fn enter(mut client: Client, campaign: u64, first: usize, entering: Arc<AtomicBool>) {
    let note = "x".repeat(NOTE_BYTES);
    for lead in (first..).step_by(ENTERING) {
        while !entering.load(Ordering::Relaxed) {
            tokio::time::sleep(BEAT).await;
        }
        let number = format!("+4071{lead:07}");
        let body = json!({ "campaign_id": campaign, "phone_number": number, "variables": { "note": note } });
        // A refused lead is followed by the next like any other.
        let _ = client.ask("POST", "/user/lead", Some(&body)).await;
    }
}

/// Polls an import until it is finished.
async fn finished(client: &mut Client, id: u64) {
    let path = format!("/user/leads/imports/{id}");
    while let Ok(shown) = client.ask("GET", &path, None).await
        && shown.success().is_ok_and(|shown| shown["data"]["status"] == "processing")
    {
        tokio::time::sleep(BEAT).await;
    }
}
