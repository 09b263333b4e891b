//! Connections that are held open, and reopened when they are closed.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::connect;

/// Pause between the end of a connection and the next.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a connection is held at most.
const HELD_MAX: Duration = Duration::from_mins(2);

/// Sends `head` and `parts`, then holds the connection until the server answers or closes it; repeats forever.
pub async fn hold(to: SocketAddr, from: IpAddr, parts: Vec<&'static [u8]>, head: String) {
    loop {
        if let Ok(mut stream) = connect(to, from).await {
            let held = async {
                stream.write_all(head.as_bytes()).await?;
                for part in &parts {
                    stream.write_all(part).await?;
                }
                stream.read(&mut [0; 1_024]).await
            };
            // However it ends, the next one follows.
            let _ = tokio::time::timeout(HELD_MAX, held).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
