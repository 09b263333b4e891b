//! Silent uploads: files of 64 MB that are announced, begun and never go on.

use std::sync::Arc;

use switchboard_tests::house::{assistant, campaign};
use tokio::task::JoinSet;

use super::hold::hold;
use crate::client::head;
use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Accounts, and uploads of each.
const ACCOUNTS: u16 = 4;
const UPLOADS: u16 = 4;
/// What an upload announces.
const BYTES: usize = 63_000_000;
/// What comes of it: more than makes it a large one, which takes a place.
const BEGUN: &[u8] = &[b'\n'; 1_200_000];

/// Makes accounts, each with a campaign to import into.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
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
                    tasks.spawn(hold(target.address, target.stranger(4_000 + number), vec![BEGUN], head));
                }
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
