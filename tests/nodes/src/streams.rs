//! Live streams of a node, as their clients read them.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use switchboard_tests::server::Server;

/// The longest that nothing comes.
const PATIENCE: Duration = Duration::from_mins(1);

/// Returns the lines of a live stream, after its status: from event number `last` on. They end where the stream does.
///
/// # Panics
/// If it is refused, or nothing comes for a minute.
pub fn follow(node: &Server, path: &str, key: &str, last: u64) -> impl Iterator<Item = String> + use<> {
    let address = node.text("url").trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\nAccept: text/event-stream\r\n\
         Last-Event-ID: {last}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut lines = BufReader::new(stream).lines().map_while(|line| match line {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("nothing comes"),
        line => line.ok(),
    });
    let status = lines.next().expect("a status");
    assert!(status.contains(" 200 "), "{status}");
    lines
}

/// A client that reads the feed of an account, and connects again whenever its stream ends, as an `EventSource` does.
pub struct FeedReader<'n> {
    node: &'n Server,
    key: &'n str,
    lines: Box<dyn Iterator<Item = String>>,
    /// Numbers of the events that came.
    pub seen: Vec<u64>,
    /// How often its stream ended.
    pub ends: usize,
}

impl<'n> FeedReader<'n> {
    /// Connects to a node.
    ///
    /// # Panics
    /// As [`follow`] does.
    pub fn new(node: &'n Server, key: &'n str) -> Self {
        Self { node, key, lines: feed(node, key, 0), seen: Vec::new(), ends: 0 }
    }

    /// Reads until an event of this number has come.
    ///
    /// # Panics
    /// As [`follow`] does.
    pub fn read_until(&mut self, number: u64) {
        while self.seen.last().is_none_or(|last| *last < number) {
            if let Some(line) = self.lines.next() {
                self.seen.extend(line.strip_prefix("id: ").and_then(|id| id.parse::<u64>().ok()));
            } else {
                self.ends += 1;
                self.lines = feed(self.node, self.key, self.seen.last().copied().unwrap_or_default());
            }
        }
    }
}

fn feed(node: &Server, key: &str, last: u64) -> Box<dyn Iterator<Item = String>> {
    Box::new(follow(node, "/api/user/events", key, last))
}
