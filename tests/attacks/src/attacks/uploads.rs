//! Slow uploads: files of 64 MB that are announced and begun, then stall or go on as slowly as is allowed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use switchboard_tests::house::{assistant, campaign};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::hold::hold;
use crate::client::{connect, head};
use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Accounts, and uploads of each.
const ACCOUNTS: u16 = 4;
const UPLOADS: u16 = 4;
/// Announced length of an upload.
const BYTES: usize = 63_000_000;
/// Sent at the beginning: enough to count as a large upload, which takes a place.
const BEGUN: &[u8] = &[b'\n'; 1_200_000];

/// Sent repeatedly, and the pause in between: 40 KiB per second.
const DRIP: &[u8] = &[b'\n'; 10 << 10];
const PAUSE: Duration = Duration::from_millis(250);

/// Uploads that stall.
pub fn silent(target: Arc<Target>) -> Future<Result<Strike, String>> {
    uploads(target, |to, from, head| Box::pin(hold(to, from, vec![BEGUN], head)))
}

/// Uploads that go on slowly.
pub fn dripping(target: Arc<Target>) -> Future<Result<Strike, String>> {
    uploads(target, |to, from, head| Box::pin(drip(to, from, head)))
}

pub async fn drip(to: SocketAddr, from: IpAddr, head: String) {
    loop {
        if let Ok(mut stream) = connect(to, from).await {
            let mut sent = stream.write_all(&[head.as_bytes(), BEGUN].concat()).await;
            while sent.is_ok() {
                tokio::time::sleep(PAUSE).await;
                sent = stream.write_all(DRIP).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Creates accounts, each with a campaign to import into.
fn uploads(
    target: Arc<Target>,
    upload: fn(SocketAddr, IpAddr, String) -> Future<()>,
) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let mut heads = Vec::new();
        for _ in 0..ACCOUNTS {
            let (_, key) = target.account().await?;
            let mut client = target.attacker(&key);
            let assistant = id_of(&client.make("POST", "/user/assistant", &assistant()).await?)?;
            let campaign = id_of(&client.make("POST", "/user/campaigns", &campaign(assistant)).await?)?;
            heads.push(head("POST", &format!("/user/leads/import?campaign_id={campaign}"), &key, "text/csv", BYTES));
        }
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for (number, head) in (0..).zip(&heads) {
                for _ in 0..UPLOADS {
                    let head = format!("{head}phone_number,note\n");
                    tasks.spawn(upload(target.address, target.stranger(4_000 + number), head));
                }
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
