//! [`Target`]: a server under attack, as those who attack it and those beside them see it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};
use switchboard_tests::server::Server;

use crate::client::Client;

/// The password of every account that is made here.
pub const PASSWORD: &str = "correct horse battery staple";
/// The second number of the addresses of the first attack.
const NETWORK: u8 = 16;
/// Assistants that are made at once.
const MAKERS: usize = 4;

/// A server under attack.
#[derive(Debug)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// The operator's token; empty after a second start, which does not tell it.
    pub operator: String,
    /// Whether the attack is one of a long run.
    pub long: bool,
    /// The second number of the addresses from which it is attacked.
    network: u8,
    accounts: AtomicU32,
    noted: Mutex<BTreeMap<&'static str, String>>,
}

impl Target {
    /// Of a server, for one attack of several at once: each has accounts and addresses of its own.
    ///
    /// # Panics
    /// Where its ready file names no address.
    pub fn new(server: &Server, long: bool, attack: u8) -> Self {
        Self {
            address: server.text("url").trim_start_matches("http://").parse().expect("an address"),
            operator: server.ready["admin_token"].as_str().unwrap_or_default().to_owned(),
            long,
            network: NETWORK + attack,
            accounts: AtomicU32::new(0),
            noted: Mutex::default(),
        }
    }

    /// A client at an address of its own.
    pub fn client(&self, from: IpAddr, token: &str) -> Client {
        Client::new(self.address, from, token)
    }

    /// A client that attacks with a token, at the first of the attack's addresses.
    pub fn attacker(&self, token: &str) -> Client {
        self.client(self.stranger(1), token)
    }

    /// An address of the attack's, of a number: addresses of different numbers are different strangers.
    pub fn stranger(&self, number: u16) -> IpAddr {
        let [high, low] = number.to_be_bytes();
        Ipv4Addr::new(127, self.network, high, low).into()
    }

    /// The address of whoever is no attacker.
    pub fn home(&self) -> IpAddr {
        Ipv4Addr::new(127, 0, 0, 2).into()
    }

    /// A new account; gives its e-mail and a key.
    pub async fn account(&self) -> Result<(String, String), String> {
        self.account_on("standard").await
    }

    /// The same on a plan.
    pub async fn account_on(&self, plan: &str) -> Result<(String, String), String> {
        let number = self.accounts.fetch_add(1, Ordering::Relaxed);
        let email = format!("account{number}@{}.example.com", self.network);
        let body = json!({ "email": email, "password": PASSWORD, "plan": plan });
        let made = self.client(self.home(), &self.operator).make("POST", "/admin/accounts", &body).await?;
        let key = made["api_key"].as_str().ok_or("an account without a key")?;
        Ok((email, key.to_owned()))
    }

    /// Which of these budgets nobody was refused in, nor had to wait for.
    pub async fn unused(&self, budgets: &[&'static str]) -> Result<Vec<&'static str>, String> {
        let answer = self.client(self.home(), &self.operator).ask("GET", "/metrics", None).await;
        let text =
            String::from_utf8(answer.map_err(|error| error.to_string())?.body).map_err(|error| error.to_string())?;
        let used_up = |budget: &str| {
            let label = format!("{{budget=\"{budget}\"");
            let of = |line: &&str| {
                line.contains(&label) && (line.contains("_refused_total{") || line.contains("_waited_total{"))
            };
            text.lines().filter(of).any(|line| !line.ends_with(" 0"))
        };
        Ok(budgets.iter().copied().filter(|budget| !used_up(budget)).collect())
    }

    /// Keeps an attacker's key for the check at the end.
    pub fn note_key(&self, name: &'static str, key: &str) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(name, key.to_owned());
    }

    /// The key that was kept under a name.
    pub fn noted_key(&self, name: &str) -> Result<String, String> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.get(name).cloned().ok_or_else(|| format!("no key was kept for {name}"))
    }

    /// Makes so many assistants of about a megabyte with these members; gives the last one's id.
    pub async fn large_assistants(&self, key: &str, count: usize, members: &Value) -> Result<u64, String> {
        let large = with(assistant(), &json!({ "system_prompt": "x".repeat(950_000) }));
        let body = with(large, members);
        let mut makers = tokio::task::JoinSet::new();
        for maker in 0..MAKERS {
            let (mut client, body) = (self.attacker(key), body.clone());
            makers.spawn(async move {
                let mut last = 0;
                for number in (maker..count).step_by(MAKERS) {
                    let body = with(body.clone(), &json!({ "name": format!("Assistant {number}") }));
                    last = id_of(&client.make("POST", "/user/assistant", &body).await?)?;
                }
                Ok::<_, String>(last)
            });
        }
        let mut last = 0;
        while let Some(made) = makers.join_next().await {
            last = last.max(made.map_err(|error| error.to_string())??);
        }
        Ok(last)
    }
}

/// The id of what was made.
pub fn id_of(made: &Value) -> Result<u64, String> {
    made["data"]["id"].as_u64().ok_or_else(|| format!("no id in {made}"))
}
