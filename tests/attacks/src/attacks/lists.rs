//! Large lists: rows of a megabyte that are requested and not read, and large pages that are.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

use crate::client::head;
use crate::target::Target;
use crate::{Future, Strike};

/// Assistants of the account.
const ROWS: usize = 200;
/// Connections that read nothing, or little.
const SLOW: u16 = 50;
/// Clients that request pages of 100 rows, one after the other.
const FAST: usize = 2;
/// Bytes that a slow reader reads at once, and how often.
const TAKEN: usize = 4 << 10;
const BEAT: Duration = Duration::from_millis(200);
/// Receive buffer of a slow reader's socket, bytes.
const RECEIVED: u32 = 16 << 10;

/// Whole lists, read slowly or not at all.
pub fn slowly(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let key = rows(&target).await?;
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for number in 0..SLOW {
                tasks.spawn(read_slowly(Arc::clone(&target), key.clone(), number % 2 == 0));
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
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

/// Requests all rows and reads a few bytes now and then, or none; repeats forever.
async fn read_slowly(target: Arc<Target>, key: String, takes: bool) {
    loop {
        let read = async {
            let socket = TcpSocket::new_v4()?;
            socket.set_recv_buffer_size(RECEIVED)?;
            socket.bind((target.stranger(1), 0).into())?;
            let mut stream = socket.connect(target.address).await?;
            stream.write_all(head("GET", "/user/assistants", &key, "application/json", 0).as_bytes()).await?;
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
