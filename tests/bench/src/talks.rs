//! Turns of conversations: what one costs beside a durable update, and what a thousand at once leave to reads.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_claims::{Claim, tell};
use switchboard_core::step::{Input, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::Failed;
use crate::fill::{ASSISTANTS, Folder, Stock};
use crate::inside::{Inside, post};
use crate::load::{Figures, Load, get, head_end, run, sent};
use crate::server::Server;

/// Concurrent connections, and conversations of each: a conversation takes 20 messages a minute.
const CONNECTIONS: u32 = 64;
const EACH: u32 = 50;
/// How long each load is measured.
const SPAN: Duration = Duration::from_secs(4);
/// Calls in the store.
const CALLS: u32 = 100_000;
/// Conversations that go on at once, how often each is spoken to, and how long their model thinks.
const AT_ONCE: u32 = 1_000;
const PAUSE: Duration = Duration::from_secs(4);
const THINKS: Duration = Duration::from_secs(1);
/// Connections that read beside them: an address may have 1,024 in all.
const READERS: u32 = 16;
/// How long they go on beside reads.
const BESIDE: Duration = Duration::from_secs(20);
/// What a model answers.
const SAID: &str = r#"{"choices":[{"message":{"role":"assistant","content":"We are open from nine to ten."}}]}"#;

/// Measures turns, and reads beside them.
pub fn print() -> Result<bool, Failed> {
    let folder = Folder::new("talks")?;
    let stock = Stock::new(&folder.0, "store", ASSISTANTS, CALLS)?;
    let talks = begun(&stock, CONNECTIONS * EACH)?;
    println!("A turn is a message, what the model says, and the answer; the client runs on the same cores.\n");
    println!(
        "| {CONNECTIONS} connections | req/s | p50 µs | p99 µs | CPU µs | bytes written |\n|---|---|---|---|---|---|"
    );
    let update = {
        let (server, key) = (Server::service(&stock.data)?, stock.key.clone());
        let update = move |turn: u64| {
            let name = format!("{{\"name\":\"Assistant {turn}\"}}");
            sent("PATCH", &key, &format!("/user/assistant/{}", 1 + turn % u64::from(ASSISTANTS)), &name)
        };
        line("an update", run(&server, Load::full(CONNECTIONS, SPAN), update)?)
    };
    let simulated = line("a turn, simulated model", turns(&stock, &talks, &[])?);
    std::thread::sleep(Duration::from_mins(1));
    let model = Server::bare(format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{SAID}").as_bytes())?;
    let url = format!("http://{}/v1", model.address);
    let asked = line("a turn, model over loopback", turns(&stock, &talks, &["--llm-url", &url, "--llm-model", "m"])?);
    let (alone, beside, talked) = at_once(&stock)?;
    line("reads at half their peak", alone);
    line(&format!("the same beside {AT_ONCE} conversations"), beside);
    line("their turns meanwhile", talked);
    let waits_ms = talked.p50_us / 1e3 - THINKS.as_secs_f64() * 1e3;
    Ok(tell(&[
        Claim::stated("Server CPU: an update", format!("{:.0} µs", update.cpu_us)),
        Claim::at_most(
            "Server CPU: a turn over an update, simulated model",
            3.0,
            simulated.cpu_us / update.cpu_us,
            "times",
        ),
        Claim::at_most(
            "Server CPU: a turn over an update, model over loopback",
            6.0,
            asked.cpu_us / update.cpu_us,
            "times",
        ),
        Claim::stated("Server CPU: a turn, model over loopback", format!("{:.0} µs", asked.cpu_us)),
        Claim::at_most(
            format!("p99 of reads at half their peak beside {AT_ONCE} conversations at once"),
            20.0,
            beside.p99_us / 1e3,
            "ms",
        ),
        Claim::stated("The same alone", format!("{:.1} ms", alone.p99_us / 1e3)),
        Claim::at_most("Middle of what a turn among them takes beyond its model", 100.0, waits_ms, "ms"),
        Claim::stated("p99 of their turns, whose model thinks for a second", format!("{:.0} ms", talked.p99_us / 1e3)),
    ])?)
}

fn line(name: &str, figures: Figures) -> Figures {
    let Figures { rate, p50_us, p99_us, cpu_us, written, .. } = figures;
    println!("| {name} | {rate:.0} | {p50_us:.0} | {p99_us:.0} | {cpu_us:.0} | {written:.0} |");
    figures
}

/// Begins conversations with the first assistant; returns their paths.
fn begun(stock: &Stock, count: u32) -> Result<Vec<String>, Failed> {
    let inside = Inside::open(&stock.data)?;
    let request = post(&stock.key, "/conversations", "application/json", r#"{"assistant_id":1}"#);
    let begin = |_| {
        let Outcome::Reply(reply) = inside.step(&Input::Http(&request, &[]))?.outcome else {
            return Err("no conversation".into());
        };
        let told: Value = serde_json::from_slice(reply.body())?;
        Ok(format!("/conversations/{}/messages", told["conversation_id"].as_str().ok_or_else(|| told.to_string())?))
    };
    (0..count).map(begin).collect()
}

/// Runs turns as fast as they are answered.
fn turns(stock: &Stock, talks: &[String], arguments: &[&str]) -> Result<Figures, Failed> {
    let server = Server::service_with(&stock.data, &[&["--engine", "none"], arguments].concat())?;
    run(&server, Load::full(CONNECTIONS, SPAN), say(stock, talks, EACH))
}

/// Returns what each connection sends: a message in the next of its `each` conversations.
fn say(stock: &Stock, talks: &[String], each: u32) -> impl Fn(u64) -> Vec<u8> + Clone + Send + Sync + 'static {
    let (key, talks) = (stock.key.clone(), Arc::new(talks.to_vec()));
    move |number: u64| {
        let (connection, turn) = (number >> 32, number & u64::from(u32::MAX));
        let talk = usize::try_from(connection * u64::from(each) + turn % u64::from(each)).unwrap_or(0);
        let message = json!({ "message": format!("When do you open on day {turn}?") }).to_string();
        sent("POST", &key, &talks[talk], &message)
    }
}

/// Returns the figures of reads alone, of the same beside conversations, and of the conversations' turns.
fn at_once(stock: &Stock) -> Result<(Figures, Figures, Figures), Failed> {
    let talks = begun(stock, AT_ONCE)?;
    let url = format!("http://{}/v1", slow()?);
    let arguments = ["--engine", "none", "--llm-url", &url, "--llm-model", "m"];
    let server = Server::service_with(&stock.data, &arguments)?;
    let key = stock.key.clone();
    let read = move |turn: u64| get(&key, if turn.is_multiple_of(5) { "/user/calls" } else { "/user/assistant/1" });
    let peak = run(&server, Load::full(READERS, SPAN), read.clone())?;
    let half = Load { rate: Some(peak.rate / 2.0), ..Load::full(READERS, BESIDE) };
    let alone = run(&server, half, read.clone())?;
    let rate = f64::from(AT_ONCE) / PAUSE.as_secs_f64();
    let talking = Load { rate: Some(rate), ..Load::full(AT_ONCE, BESIDE) };
    let say = say(stock, &talks, 1);
    std::thread::scope(|scope| {
        let talked = scope.spawn(|| run(&server, talking, say).map_err(|error| error.to_string()));
        let beside = run(&server, half, read)?;
        Ok((alone, beside, talked.join().map_err(|_| "a client panicked")??))
    })
}

/// Starts a model that thinks before it answers, for as long as this process lives; returns its address.
fn slow() -> Result<SocketAddr, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        runtime.block_on(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    // A caller who went away needs no answer.
                    let _ = answer(stream).await;
                });
            }
        });
    });
    Ok(address)
}

/// Answers the questions of one connection.
async fn answer(mut stream: TcpStream) -> Result<(), Failed> {
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{SAID}", SAID.len());
    let mut heard = Vec::new();
    while stream.read_buf(&mut heard).await? > 0 {
        let Some(end) = head_end(&heard) else { continue };
        let head = std::str::from_utf8(&heard[..end])?.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if heard.len() >= end + 4 + length.ok_or("no length")? {
            heard.clear();
            tokio::time::sleep(THINKS).await;
            stream.write_all(answer.as_bytes()).await?;
        }
    }
    Ok(())
}
