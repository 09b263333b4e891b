//! Large lists: rows of a megabyte that are requested and not read, many rows as CSV that are read no better, and large
//! pages that are read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_tests::house::{assistant, campaign};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

use crate::client::head;
use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Assistants of the account.
const ROWS: usize = 200;
/// Leads of the account whose list is requested as CSV: whole, the lists of all connections take more memory than a
/// server may have.
const LEADS: usize = 100_000;
/// Connections that read nothing, or little.
const SLOW: u16 = 50;
/// Clients that request pages of 100 rows, one after the other.
const FAST: usize = 2;
/// Bytes that a slow reader reads at once, and how often.
const TAKEN: usize = 4 << 10;
const BEAT: Duration = Duration::from_millis(200);
/// How often an import's state is polled, and how many times at most.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS_MAX: u32 = 1_200;
/// Receive buffer of a slow reader's socket, bytes.
const RECEIVED: u32 = 16 << 10;

/// Whole lists, read slowly or not at all.
pub fn slowly(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let key = rows(&target).await?;
        Ok(slow_readers(target, head("GET", "/user/assistants", &key, "application/json", 0)))
    })
}

/// All leads as CSV, read slowly or not at all.
pub fn as_csv(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let key = leads(&target).await?;
        let request = head("GET", "/user/leads", &key, "application/json", 0);
        Ok(slow_readers(target, request.replacen("\r\n", "\r\nAccept: text/csv\r\n", 1)))
    })
}

/// Returns [`SLOW`] connections that send this request; every other one reads.
fn slow_readers(target: Arc<Target>, request: String) -> Strike {
    Box::pin(async move {
        let mut tasks = JoinSet::new();
        for number in 0..SLOW {
            tasks.spawn(read_slowly(Arc::clone(&target), request.clone(), number % 2 == 0));
        }
        while tasks.join_next().await.is_some() {}
    })
}

/// Large pages, one after the other.
pub fn pages(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let key = rows(&target).await?;
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for _ in 0..FAST {
                let mut client = target.attacker(&key);
                tasks.spawn(async move {
                    loop {
                        // A refusal will do as well as a page.
                        let _ = client.ask("GET", "/user/assistants/get?per_page=100", None).await;
                        tokio::time::sleep(BEAT).await;
                    }
                });
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}

/// Creates the rows; returns their account's key.
async fn rows(target: &Target) -> Result<String, String> {
    let (_, key) = target.account().await?;
    target.large_assistants(&key, ROWS, &json!({})).await?;
    Ok(key)
}

/// Imports the leads; returns their account's key.
async fn leads(target: &Target) -> Result<String, String> {
    let (_, key) = target.account().await?;
    let mut client = target.attacker(&key);
    let id = id_of(&client.make("POST", "/user/assistant", &assistant()).await?)?;
    let id = id_of(&client.make("POST", "/user/campaigns", &campaign(id)).await?)?;
    let lines = (0..LEADS).map(|number| format!("+407{number:08},\"Says \"\"yes\"\", twice; in the morning\"\r\n"));
    let file = std::iter::once("phone_number,note\r\n".to_owned()).chain(lines).collect::<String>();
    let path = format!("/user/leads/import?campaign_id={id}");
    let sent = client.send("POST", &path, "text/csv", file.as_bytes()).await;
    let import = id_of(&sent.map_err(|error| error.to_string())?.success()?)?;
    for _ in 0..LOOKS_MAX {
        let shown = client.ask("GET", &format!("/user/leads/imports/{import}"), None).await;
        let shown = shown.map_err(|error| error.to_string())?.success()?["data"].take();
        if shown["created"] == LEADS {
            return Ok(key);
        }
        if shown["status"] != "processing" {
            return Err(format!("the import is {shown}"));
        }
        tokio::time::sleep(LOOK).await;
    }
    Err("the import takes too long".into())
}

/// Requests all rows and reads a few bytes now and then, or none; repeats forever.
async fn read_slowly(target: Arc<Target>, request: String, takes: bool) {
    loop {
        let read = async {
            let socket = TcpSocket::new_v4()?;
            socket.set_recv_buffer_size(RECEIVED)?;
            socket.bind((target.stranger(1), 0).into())?;
            let mut stream = socket.connect(target.address).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut taken = [0; TAKEN];
            loop {
                tokio::time::sleep(BEAT).await;
                if takes && stream.read(&mut taken).await? == 0 {
                    return Ok::<_, std::io::Error>(());
                }
                // Without reads, the end of the connection shows only as an error of its socket.
                if let Some(error) = stream.take_error()? {
                    return Err(error);
                }
            }
        };
        // However it ends, the next one follows.
        let _ = read.await;
        tokio::time::sleep(BEAT).await;
    }
}
