//! One effect for each idempotency key over real sockets: copies sent at once, and a server that is killed while it
//! answers.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use switchboard_tests::house::tool;

use crate::server::{Folder, Server, run};

/// Requests whose copies are sent at once.
const REQUESTS: usize = 40;
/// Copies of each request.
const COPIES: usize = 8;
/// Kills of the server.
const KILLS: usize = 6;
/// Keys under way at each kill.
const KEYS: usize = 8;

type Said = (u16, Option<String>, Vec<u8>);

/// Posts a tool under a key; `None` if no response came.
async fn post(client: &reqwest::Client, url: &str, token: &str, key: &str) -> Option<Said> {
    let request = client.post(format!("{url}/user/tools")).bearer_auth(token).header("idempotency-key", key);
    let body = tool(&name(key)).to_string();
    let reply = request.header("content-type", "application/json").body(body).send().await.ok()?;
    let status = reply.status().as_u16();
    let replayed = reply.headers().get("idempotency-replayed").and_then(|value| value.to_str().ok()).map(Into::into);
    Some((status, replayed, reply.bytes().await.ok()?.to_vec()))
}

/// Returns a tool's name for a key: letters alone.
fn name(key: &str) -> String {
    key.bytes()
        .map(|byte| if byte.is_ascii_digit() { char::from(b'a' + byte - b'0') } else { char::from(byte) })
        .collect()
}

/// Checks that one request was executed, and that each copy got its response or a 409.
fn one_answer(said: &[Said]) {
    let good: Vec<&Said> = said.iter().filter(|(status, ..)| *status == 201).collect();
    assert!(said.iter().all(|(status, ..)| matches!(status, 201 | 409)), "{said:?}");
    assert!(!good.is_empty() && good.iter().all(|(.., body)| *body == good[0].2), "{said:?}");
    assert!(good.iter().filter(|(_, replayed, _)| replayed.is_none()).count() <= 1, "{said:?}");
}

fn client() -> reqwest::Client {
    switchboard::send::client().expect("TLS").timeout(Duration::from_secs(30)).build().expect("a client")
}

async fn names(client: &reqwest::Client, url: &str, token: &str) -> Vec<String> {
    let reply = client.get(format!("{url}/user/tools")).bearer_auth(token).send().await.expect("an answer");
    let all: Value = serde_json::from_slice(&reply.bytes().await.expect("a body")).expect("JSON");
    let name = |one: &Value| one["name"].as_str().expect("a name").to_owned();
    all.as_array().expect("a list").iter().map(name).collect()
}

#[test]
fn copies_at_once_have_one_effect() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--rate-limit", "0", "--engine", "none"]);
    let (url, token) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = client();
        for request in 0..REQUESTS {
            let key = format!("at_once_{request}");
            let mut copies = tokio::task::JoinSet::new();
            for _ in 0..COPIES {
                let (client, url, token, key) = (client.clone(), url.clone(), token.clone(), key.clone());
                copies.spawn(async move { post(&client, &url, &token, &key).await.expect("an answer") });
            }
            one_answer(&copies.join_all().await);
        }
        assert_eq!(names(&client, &url, &token).await.len(), REQUESTS);
    });
    assert_eq!(server.stop(), Some(0));
}

/// A client without a response retries: a commit whose reply was lost is not repeated.
#[test]
fn a_kill_between_commit_and_reply_leaves_one_effect() {
    let folder = Folder::new();
    let data = folder.path("data");
    let arguments = ["--rate-limit", "0", "--engine", "none"];
    let server = Server::start(&data, &arguments);
    let token = server.text("api_key").to_owned();
    server.kill();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let mut keys = BTreeSet::new();
    for kill in 0..KILLS {
        let server = Server::start(&data, &arguments);
        let url = server.text("url").to_owned();
        let before = runtime.block_on(async {
            let client = client();
            let mut under_way = tokio::task::JoinSet::new();
            for number in 0..KEYS {
                let key = format!("kill_{kill}_{number}");
                keys.insert(key.clone());
                let (client, url, token) = (client.clone(), url.clone(), token.clone());
                under_way.spawn(async move { (key.clone(), post(&client, &url, &token, &key).await) });
            }
            // A commit takes a few milliseconds: kills hit before, during and after them.
            tokio::time::sleep(Duration::from_millis(kill as u64 * 2)).await;
            server.kill();
            under_way.join_all().await
        });
        let server = Server::start(&data, &arguments);
        let url = server.text("url").to_owned();
        runtime.block_on(async {
            let client = client();
            for (key, heard) in before {
                let again = post(&client, &url, &token, &key).await.expect("an answer");
                one_answer(&heard.into_iter().chain([again]).collect::<Vec<_>>());
            }
        });
        assert_eq!(server.stop(), Some(0));
    }
    let server = Server::start(&data, &arguments);
    let made = runtime.block_on(names(&client(), server.text("url"), &token));
    let wanted: BTreeSet<String> = keys.iter().map(|key| name(key)).collect();
    assert_eq!(made.len(), keys.len(), "{made:?}");
    assert_eq!(made.into_iter().collect::<BTreeSet<_>>(), wanted);
    assert_eq!(server.stop(), Some(0));
    let verified = run(&["verify", data.to_str().expect("a path")]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}
