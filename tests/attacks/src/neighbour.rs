//! [`Neighbour`]: an account on the server that reads, writes, logs in, tests a tool and uploads documents, and
//! measures how long each takes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, campaign, tool, with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::client::{Answer, Client};
use crate::samples::{Kind, Sample, Samples};
use crate::target::{PASSWORD, Target, id_of};

/// After this many reads, the next one opens a new connection.
const READS_A_CONNECTION: u32 = 16;
/// How often a document's status is polled.
const LOOK: Duration = Duration::from_millis(50);
/// Media type of an uploaded document.
const FORM: &str = "multipart/form-data; boundary=b";

/// A neighbour whose account and rows are prepared.
pub struct Neighbour {
    target: Arc<Target>,
    key: String,
    email: String,
    tool: u64,
    base: u64,
    campaign: u64,
}

/// State of one kind of operation between its repetitions.
struct Doing {
    neighbour: Arc<Neighbour>,
    kind: Kind,
    client: Client,
    count: u32,
}

type Noted = Arc<Mutex<Samples>>;

impl Neighbour {
    /// Creates an account with its rows. The tool's endpoint is served by the current runtime.
    pub async fn new(target: Arc<Target>) -> Result<Self, String> {
        let (email, key) = target.account().await?;
        let endpoint = endpoint().await.map_err(|error| error.to_string())?;
        let mut client = target.client(target.home(), &key);
        let tool = with(tool("look_up"), &json!({ "endpoint": endpoint }));
        let tool = id_of(&client.make("POST", "/user/tools", &tool).await?)?;
        let base = id_of(&client.make("POST", "/user/knowledgebases", &json!({ "name": "Hours" })).await?)?;
        let assistant = id_of(&client.make("POST", "/user/assistant", &assistant()).await?)?;
        let campaign = id_of(&client.make("POST", "/user/campaigns", &campaign(assistant)).await?)?;
        Ok(Self { target, key, email, tool, base, campaign })
    }

    /// Works until `stop` turns true. Operations under way then count with the time so far, but uploads and imports are
    /// waited for as long as they may take.
    pub async fn work(self: Arc<Self>, kinds: &[Kind], stop: watch::Receiver<bool>) -> Samples {
        let noted = Noted::default();
        let mut tasks = JoinSet::new();
        for kind in kinds {
            let doing = Doing {
                neighbour: Arc::clone(&self),
                kind: *kind,
                client: self.target.client(self.target.home(), &self.key),
                count: 0,
            };
            tasks.spawn(doing.repeat(Arc::clone(&noted), stop.clone()));
        }
        while tasks.join_next().await.is_some() {}
        std::mem::take(&mut *noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Doing {
    async fn repeat(mut self, noted: Noted, mut stop: watch::Receiver<bool>) {
        let mut stopped = stop.clone();
        while !*stop.borrow() {
            let (kind, began) = (self.kind, Instant::now());
            let patience = async {
                // A dropped sender is a stop too.
                let _ = stopped.wait_for(|stopped| *stopped).await;
                if kind.floor() > Duration::from_secs(1) {
                    tokio::time::sleep_until((began + kind.floor() + Duration::from_millis(500)).into()).await;
                }
            };
            let outcome = tokio::select! { outcome = self.once() => outcome, () = patience => Ok(()) };
            note(&noted, Sample { kind, began, ended: Instant::now() }, outcome);
            let stopped = stop.wait_for(|stopped| *stopped);
            let _ = tokio::time::timeout(kind.pause(), stopped).await;
        }
    }

    async fn once(&mut self) -> Result<(), String> {
        self.count += 1;
        let Neighbour { tool, base, campaign, .. } = *self.neighbour;
        match self.kind {
            Kind::Read => {
                if self.count.is_multiple_of(READS_A_CONNECTION) {
                    self.client.close();
                }
                self.ask("GET", "/user/me", None).await.map(drop)
            }
            Kind::Write => {
                let body = json!({ "description": format!("Looks it up {}", self.count) });
                self.ask("PUT", &format!("/user/tools/{tool}"), Some(&body)).await.map(drop)
            }
            Kind::Login => self.log_in().await,
            Kind::Tool => {
                let shown = self.ask("POST", &format!("/user/tools/{tool}/test"), Some(&json!({}))).await?;
                if shown["status"] == 200 { Ok(()) } else { Err(format!("the tool is answered {shown}")) }
            }
            Kind::Document => self.document(base).await,
            Kind::Import => {
                let path = format!("/user/leads/import?campaign_id={campaign}");
                let line = format!("+4070{:07},{}\n", self.count, "x".repeat(60_000));
                let file = ["phone_number,note\n".to_owned(), line.repeat(20)].concat();
                heard(self.client.send("POST", &path, "text/csv", file.as_bytes()).await).map(drop)
            }
        }
    }

    async fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
        heard(self.client.ask(method, path, body).await)
    }

    async fn log_in(&mut self) -> Result<(), String> {
        let [_, _, high, low] = self.count.to_be_bytes();
        let from: IpAddr = Ipv4Addr::new(127, 8, high, low.max(1)).into();
        let body = json!({ "email": self.neighbour.email, "password": PASSWORD });
        let mut client = self.neighbour.target.client(from, "");
        heard(client.ask("POST", "/user/login", Some(&body)).await).map(drop)
    }

    async fn document(&mut self, base: u64) -> Result<(), String> {
        let path = format!("/user/knowledgebases/{base}/documents");
        let part = |name: &str, value: &str| {
            format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let file = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"hours.txt\"\r\n\r\nOpen nine to ten\r\n--b--\r\n";
        let body = [part("name", "Hours"), part("type", "txt"), file.into()].concat();
        let made = heard(self.client.send("POST", &path, FORM, body.as_bytes()).await)?;
        let path = format!("{path}/{}", id_of(&made)?);
        loop {
            let shown = self.ask("GET", &path, None).await?;
            match shown["data"]["status"].as_str() {
                Some("active") => break,
                Some("processing") => tokio::time::sleep(LOOK).await,
                _ => return Err(format!("the document is {shown}")),
            }
        }
        self.ask("DELETE", &path, None).await.map(drop)
    }
}

fn note(noted: &Mutex<Samples>, sample: Sample, outcome: Result<(), String>) {
    let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
    match outcome {
        Ok(()) => noted.taken.push(sample),
        Err(why) => noted.failures.push(format!("{}: {why}", sample.kind.word())),
    }
}

fn heard(answer: std::io::Result<Answer>) -> Result<Value, String> {
    answer.map_err(|error| error.to_string())?.success()
}

/// Serves a tool's endpoint for as long as the runtime lives; returns its URL.
async fn endpoint() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    // By name, as tools usually are: each request takes a lookup.
    let url = format!("http://localhost:{}/look", listener.local_addr()?.port());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut heard = Vec::new();
                while stream.read_buf(&mut heard).await.is_ok_and(|count| count > 0) {
                    if heard.ends_with(b"\r\n\r\n") {
                        heard.clear();
                        let answer =
                            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
                        if stream.write_all(answer).await.is_err() {
                            break;
                        }
                    }
                }
            });
        }
    });
    Ok(url)
}
