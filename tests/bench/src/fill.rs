//! Stores with any number of rows, filled through the core's own steps, rows and sets.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard::store::Store;
use switchboard_core::call::tables::{AnsweredBy, Call, CallStatus, CallType};
use switchboard_core::call::{CallRow, Live};
use switchboard_core::id;
use switchboard_core::key::{Kind, Space};
use switchboard_core::record::{Choice, Rest, Sql, Variables};
use switchboard_core::step::Input;
use switchboard_core::store::{Change, Tx};
use switchboard_core::time::Timestamp;
use switchboard_core::view::View;

use crate::Failed;
use crate::inside::{Inside, post};
use crate::server::Server;

/// Rows of one step, and steps of one commit.
const BATCH: u32 = 2_000;
const BATCHES: u32 = 10;
/// Lines of one import.
const IMPORT: u32 = 100_000;
/// Assistants that the calls are spread over.
pub const ASSISTANTS: u32 = 20;

/// A temporary folder, removed on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Creates an empty folder whose name has `name` and this process's id.
    pub fn new(name: &str) -> Result<Self, Failed> {
        let path = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store on disk with the owner's API key.
pub struct Stock {
    /// Folder of the store.
    pub data: PathBuf,
    /// API key of the owner.
    pub key: String,
}

/// Returns the body of an assistant with a prompt of half a kilobyte.
pub fn assistant(name: &str) -> Value {
    json!({
        "name": name, "voice_id": 1, "language_id": 1, "type": "outbound", "mode": "pipeline",
        "timezone": "Etc/UTC", "initial_message": "Hello.",
        "system_prompt": "You confirm appointments. ".repeat(20), "llm_model_id": 1,
    })
}

impl Stock {
    /// Creates a store with `assistants` assistants and `calls` calls.
    pub fn new(folder: &Path, name: &str, assistants: u32, calls: u32) -> Result<Self, Failed> {
        let data = folder.join(name);
        let server = Server::service(&data)?;
        let plan = json!({ "name": "standard", "assistants": 10_000 }).to_string();
        let json = ["-H", "Content-Type: application/json", "-d", &plan];
        server.curl_as(&server.admin, "PUT", "/admin/plans/standard", &json)?;
        let stock = Self { data, key: server.key.clone() };
        drop(server);
        eprintln!("filling {name}: {assistants} assistants, {calls} calls");
        let inside = Inside::open(&stock.data)?;
        let requests: Vec<_> = (0..assistants)
            .map(|number| {
                let body = assistant(&format!("Assistant {number}")).to_string();
                post(&stock.key, "/user/assistant", "application/json", body)
            })
            .collect();
        requests.chunks(BATCH as usize / 4).try_for_each(|group| inside.group(group.iter(), |_| {}).map(drop))?;
        fill_calls(&inside.store, calls)?;
        Ok(stock)
    }

    /// Adds a campaign and imports `count` leads into it.
    pub fn leads(&self, count: u32) -> Result<(), Failed> {
        eprintln!("importing {count} leads");
        let inside = Inside::open(&self.data)?;
        let campaign = json!({ "name": "Spring", "assistant_id": 1 }).to_string();
        inside.group(std::iter::once(&post(&self.key, "/user/campaigns", "application/json", campaign)), |_| {})?;
        let mut line = 0;
        while line < count {
            let until = count.min(line + IMPORT);
            inside.import(&self.key, lines(line..until)?)?;
            while inside.step(&Input::Tick)?.changed {}
            line = until;
        }
        Ok(())
    }
}

/// Returns lines of an import file, with their header line.
pub fn lines(numbers: std::ops::Range<u32>) -> Result<String, Failed> {
    let mut csv = String::from("phone_number,customer_name,note\n");
    for line in numbers {
        writeln!(csv, "+407{line:08},Customer {line},Please call before noon")?;
    }
    Ok(csv)
}

/// Adds calls to the owner's account: every combination of status, type and assistant, with many phone numbers.
fn fill_calls(store: &Store, count: u32) -> Result<(), Failed> {
    let mut made = 0;
    while made < count {
        let mut write = store.begin()?;
        for _ in 0..BATCHES {
            let changes = batch(&write.view(None)?, made, count.min(made + BATCH))?;
            write.apply(changes);
            made = count.min(made + BATCH);
        }
        write.commit()?;
        if made.is_multiple_of(1_000_000) {
            eprintln!("{made} calls");
        }
    }
    Ok(())
}

fn batch(view: &dyn View, from: u32, until: u32) -> Result<Vec<Change>, Failed> {
    let tx = Tx::new(view);
    let scope = tx.scope(Space::Account(0));
    for made in from..until {
        let now = Timestamp::from_seconds(1_790_000_000 + u64::from(made) * 3);
        // The time that `allot` returns is ignored: the account is younger than its calls are to be.
        let (number, _) = scope.allot(Kind::Call, now).map_err(|stop| format!("{stop:?}"))?;
        let call = call(number, now);
        CallRow::enter(scope, number, &call, &Live::default(), now).map_err(|stop| format!("{stop:?}"))?;
    }
    Ok(tx.changes())
}

/// Returns pseudorandom bits derived from a call's number alone.
fn mixed(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_761) >> 8
}

/// Returns the customer's phone number in a call.
pub fn number(call: u32) -> String {
    format!("+407{:08}", mixed(call) % 250_000)
}

fn call(number: u32, at: Timestamp) -> Call {
    let mixed = mixed(number);
    let status = if mixed % 10 < 6 { CallStatus::Completed } else { CallStatus::ALL[(mixed % 10) as usize] };
    let r#type = if mixed % 7 < 4 { CallType::Outbound } else { CallType::Inbound };
    Call {
        id: id::of(Space::Account(0), number),
        assistant_name: "Anna".into(),
        campaign_name: None,
        r#type,
        duration: mixed % 600,
        assistant_phone_number: Some("+12122011892".into()),
        client_phone_number: Some(self::number(number)),
        status,
        transcript: "AI: Hello, this is Anna.\nCustomer: Hello.\n".repeat(8),
        variables: Variables::default(),
        evaluation: None,
        webhook_response: None,
        carrier_cost: 0.01,
        total_cost: 0.05,
        answered_by: AnsweredBy::Human,
        recording_url: None,
        created_at: Sql(at),
        updated_at: Sql(at),
        assistant_id: u64::from(1 + mixed / 7 % ASSISTANTS),
        campaign_id: mixed.is_multiple_of(1_000).then(|| id::of(Space::Account(0), 1)),
        lead_id: None,
        ended_reason: None,
        from_raw: None,
        latency: None,
        cost_breakdown: None,
        rest: Rest::default(),
    }
}
