//! Strangers who talk: to an account's open assistant, until it costs what its owner allows, and to assistants of their
//! own, for as long as they are answered.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::target::{Target, id_of};
use crate::{Future, Strike};

/// Addresses, and conversations that each begins: as many as are taken a minute.
const ADDRESSES: u16 = 100;
const BEGUN: usize = 10;
/// The attackers' own assistants.
const OWN: usize = 20;
/// Pause after a refusal.
const PAUSE: Duration = Duration::from_millis(100);
/// Price of an answer, and what strangers may cost the account a day, US dollars.
const PRICE: f64 = 0.25;
const COST_MAX: f64 = 1.0;
/// What the account is given, US dollars.
const BALANCE: f64 = 100.0;
/// Name of the account's key.
const OWNER: &str = "owner";
/// Where the slow model listens, and how long it thinks.
const SLOW: &str = "127.99.0.1:8011";
const THINKS: Duration = Duration::from_secs(2);
/// Arguments of a server that asks the slow model.
pub const SLOWLY: [&str; 6] = ["--engine", "none", "--llm-url", "http://127.99.0.1:8011/v1", "--llm-model", "slow"];

/// Conversations with the simulated model.
pub fn prepare(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let open = prepared(&target).await?;
        Ok(Box::pin(talk(target, open)) as Strike)
    })
}

/// Conversations with a model that thinks for long, so that many turns are under way at once.
pub fn slowly(target: Arc<Target>) -> Future<Result<Strike, String>> {
    Box::pin(async move {
        let open = prepared(&target).await?;
        let listener = TcpListener::bind(SLOW).await.map_err(|error| format!("{SLOW}: {error}"))?;
        Ok(Box::pin(async move {
            tokio::join!(answer(listener), talk(target, open));
        }) as Strike)
    })
}

/// Answers each question after a while, on a connection of its own.
async fn answer(listener: TcpListener) {
    let said = r#"{"choices":[{"message":{"role":"assistant","content":"Nine to ten."}}]}"#;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
    let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{said}", said.len());
    while let Ok((mut stream, _)) = listener.accept().await {
        let answer = answer.clone();
        tokio::spawn(async move {
            // The question is shorter than this buffer, and need not be understood.
            let _ = stream.read(&mut vec![0; 64 << 10]).await;
            tokio::time::sleep(THINKS).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        });
    }
}

/// Creates the account and the attackers' assistants; returns the UUIDs of all, the account's first.
async fn prepared(target: &Target) -> Result<Vec<String>, String> {
    let mut operator = target.client(target.home(), &target.operator);
    let prices = json!({ "items": [{ "unit": "chat_message", "price": PRICE }] });
    operator.ask("PUT", "/admin/prices", Some(&prices)).await.map_err(|error| error.to_string())?.success()?;
    let (email, owner) = target.account().await?;
    target.note_key(OWNER, &owner);
    let accounts = operator.ask("GET", "/admin/accounts?per_page=100", None).await;
    let accounts = accounts.map_err(|error| error.to_string())?.success()?;
    let account = accounts["data"].as_array().and_then(|all| all.iter().find(|account| account["email"] == *email));
    let id = account.and_then(|account| account["id"].as_u64()).ok_or_else(|| format!("no {email} in {accounts}"))?;
    let balance = json!({ "balance": BALANCE });
    let put = operator.ask("PUT", &format!("/admin/accounts/{id}"), Some(&balance)).await;
    put.map_err(|error| error.to_string())?.success()?;
    let mut open = vec![opened(&mut target.attacker(&owner), Some(COST_MAX)).await?];
    let (_, own) = target.account().await?;
    let mut client = target.attacker(&own);
    for _ in 0..OWN {
        open.push(opened(&mut client, None).await?);
    }
    Ok(open)
}

/// Creates an assistant that strangers may talk to; returns its UUID.
async fn opened(client: &mut Client, daily_cost_max: Option<f64>) -> Result<String, String> {
    let settings = json!({ "widget_settings": { "enabled": true, "daily_cost_max": daily_cost_max } });
    let id = id_of(&client.make("POST", "/user/assistant", &with(assistant(), &settings)).await?)?;
    let path = format!("/user/assistant/{id}");
    let active = client.ask("PUT", &path, Some(&json!({ "status": "active" }))).await;
    active.map_err(|error| error.to_string())?.success()?;
    let shown = client.ask("GET", &path, None).await.map_err(|error| error.to_string())?.success()?;
    shown["uuid"].as_str().map(str::to_owned).ok_or_else(|| format!("no UUID in {shown}"))
}

/// Begins conversations from many addresses and says one thing after another in each.
async fn talk(target: Arc<Target>, open: Vec<String>) {
    let mut tasks = JoinSet::new();
    let mut open = open.into_iter().cycle();
    for address in 0..ADDRESSES {
        for _ in 0..BEGUN {
            let mut client = target.client(target.stranger(1_000 + address), "");
            let begun = json!({ "assistant_id": open.next() });
            tasks.spawn(async move {
                let message = json!({ "message": "When do you open? ".repeat(100) });
                loop {
                    let path = match client.ask("POST", "/conversations", Some(&begun)).await {
                        Ok(answer) if answer.status == 200 => messages_of(&answer.json()),
                        _ => None,
                    };
                    if let Some(path) = path {
                        while client.ask("POST", &path, Some(&message)).await.is_ok_and(|answer| answer.status == 200) {
                        }
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
    }
    while tasks.join_next().await.is_some() {}
}

fn messages_of(begun: &Value) -> Option<String> {
    Some(format!("/conversations/{}/messages", begun["conversation_id"].as_str()?))
}

/// Checks that strangers cost the account something, and no more than its owner allowed.
pub fn check(target: Arc<Target>) -> Future<Result<(), String>> {
    Box::pin(async move {
        let mut client = target.attacker(&target.noted_key(OWNER)?);
        let shown = client.ask("GET", "/user/me", None).await.map_err(|error| error.to_string())?.success()?;
        let left = shown["total_balance"].as_f64().ok_or_else(|| format!("no balance in {shown}"))?;
        let cost = BALANCE - left;
        if (PRICE..=COST_MAX).contains(&cost) {
            Ok(())
        } else {
            Err(format!("strangers cost {cost} USD, allowed {COST_MAX}"))
        }
    })
}
