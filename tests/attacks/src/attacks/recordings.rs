//! Recordings of the largest size that engines begin to upload, and that then stall or go on as slowly as is allowed.

use std::sync::Arc;

use serde_json::json;
use switchboard_tests::house::{assistant, with};
use tokio::task::JoinSet;

use super::hold::hold;
use super::uploads::drip;
use crate::client::head;
use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Accounts, and calls of each whose recordings are uploaded at once.
const ACCOUNTS: u16 = 4;
const CALLS: u16 = 40;
/// Announced length of a recording: the largest there may be.
const BYTES: usize = 256 << 20;
/// Sent at the beginning: more than a file's part.
const BEGUN: &[u8] = &[b'x'; 1_200_000];

/// Creates accounts with calls that one engine has, and uploads a recording of each: half of them stall, the others drip.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let mut operator = target.client(target.home(), &target.operator);
        let token = operator.make("POST", "/admin/engine-tokens", &json!({ "name": "Attacker" })).await?;
        let token = token["token"].as_str().ok_or("no engine token")?.to_owned();
        for _ in 0..ACCOUNTS {
            let (_, key) = target.account().await?;
            let mut client = target.attacker(&key);
            let body = with(assistant(), &json!({ "record": true }));
            let assistant = id_of(&client.make("POST", "/user/assistant", &body).await?)?;
            for _ in 0..CALLS {
                let body = json!({ "phone_number": "+40700000001", "assistant_id": assistant });
                client.make("POST", "/user/make_call", &body).await?;
            }
        }
        let (mut engine, mut calls) = (target.attacker(&token), Vec::new());
        while calls.len() < usize::from(ACCOUNTS * CALLS) {
            let body = json!({ "engine": "attacker", "capacity": 32 });
            let claimed = engine.make("POST", "/engine/claim", &body).await?;
            let claimed = claimed["calls"].as_array().ok_or("no calls")?;
            calls.extend(claimed.iter().filter_map(|call| call["call"]["id"].as_u64()));
        }
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for (number, call) in (0..).zip(calls) {
                let path = format!("/engine/calls/{call}/recording");
                let head = head("PUT", &path, &token, "audio/wav", BYTES);
                let (to, from) = (target.address, target.stranger(5_000 + number % 20));
                if number % 2 == 0 {
                    tasks.spawn(hold(to, from, vec![BEGUN], head));
                } else {
                    tasks.spawn(drip(to, from, head));
                }
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
