//! Connections that take all places: idle ones, and unfinished heads.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::hold::hold;
use crate::target::Target;
use crate::{Future, Strike};

/// Connections of one address: more than the server allows in total.
const OF_ONE: usize = 700;
/// Further addresses, and connections of each.
const ADDRESSES: u16 = 10;
const OF_EACH: u16 = 60;
/// An unfinished head.
const HALF: &str = "GET /user/me HTTP/1.1\r\nHost: switchboard.test\r\nX-";

/// Connections from one address.
pub fn of_one_address(target: Arc<Target>) -> Future<Result<Strike, String>> {
    open(target, vec![1; OF_ONE])
}

/// Connections from one address, and from others as well.
pub fn of_many_addresses(target: Arc<Target>) -> Future<Result<Strike, String>> {
    let others = (0..ADDRESSES * OF_EACH).map(|number| 3_000 + number % ADDRESSES);
    open(target, [vec![1; OF_ONE], others.collect()].concat())
}

fn open(target: Arc<Target>, numbers: Vec<u16>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for (at, number) in numbers.into_iter().enumerate() {
                let head = if at % 2 == 0 { String::new() } else { HALF.to_owned() };
                tasks.spawn(hold(target.address, target.stranger(number), Vec::new(), head));
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
