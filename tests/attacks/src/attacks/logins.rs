//! Logins: passwords to be hashed for many addresses at once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use crate::target::Target;
use crate::{Future, Strike};

/// Addresses, and attempts of each: as many as an address is allowed in a minute.
const ADDRESSES: u16 = 150;
const TRIES: u16 = 20;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// Makes every attempt on a connection of its own, all at once.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for number in 0..ADDRESSES {
                for one in 0..TRIES {
                    let mut client = target.client(target.stranger(2_000 + number), "");
                    tasks.spawn(async move {
                        let email = format!("nobody{number}.{}@example.com", one % 10);
                        let body = json!({ "email": email, "password": "not the password" });
                        loop {
                            // A refused attempt is made again.
                            let _ = client.ask("POST", "/user/login", Some(&body)).await;
                            tokio::time::sleep(PAUSE).await;
                        }
                    });
                }
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
