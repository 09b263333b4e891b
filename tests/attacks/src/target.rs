//! [`Target`]: a server under attack, as its attackers and their neighbours see it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};
use switchboard_tests::server::Server;

use crate::client::Client;

/// Password of every account created here.
pub const PASSWORD: &str = "correct horse battery staple";
/// Second octet of the first attack's addresses, `127.16.0.0/16`; later attacks count up.
const NETWORK: u8 = 16;
/// Concurrent clients that create assistants.
const MAKERS: usize = 4;

/// A server under attack, as seen by one attack of several.
#[derive(Debug)]
pub struct Target {
    /// Address of its listener.
    pub address: SocketAddr,
    /// The operator's token; empty after a second start, whose ready file does not have it.
    pub operator: String,
    /// Whether this is a long run, with more rows to prepare.
    pub long: bool,
    /// Second octet of the addresses that this attack uses.
    network: u8,
    accounts: AtomicU32,
    noted: Mutex<BTreeMap<&'static str, String>>,
}

impl Target {
    /// Reads a server's address. `attack` numbers the attacks of a trial: each has accounts and addresses of its own.
    ///
    /// # Panics
    /// If the server's ready file has no address.
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

    /// Returns a client that connects from an address with a token, or without one if it is empty.
    pub fn client(&self, from: IpAddr, token: &str) -> Client {
        Client::new(self.address, from, token)
    }

    /// Returns a client with a token, at the first of the attack's addresses.
    pub fn attacker(&self, token: &str) -> Client {
        self.client(self.stranger(1), token)
    }

    /// Returns the attack's address with this number; different numbers are different strangers.
    pub fn stranger(&self, number: u16) -> IpAddr {
        let [high, low] = number.to_be_bytes();
        Ipv4Addr::new(127, self.network, high, low).into()
    }

    /// Returns the address of all who do not attack.
    pub fn home(&self) -> IpAddr {
        Ipv4Addr::new(127, 0, 0, 2).into()
    }

    /// Creates an account on the standard plan; returns its e-mail address and API key.
    pub async fn account(&self) -> Result<(String, String), String> {
        self.account_on("standard").await
    }

    /// Creates an account on a plan; returns its e-mail address and API key.
    pub async fn account_on(&self, plan: &str) -> Result<(String, String), String> {
        let number = self.accounts.fetch_add(1, Ordering::Relaxed);
        let email = format!("account{number}@{}.example.com", self.network);
        let body = json!({ "email": email, "password": PASSWORD, "plan": plan });
        let made = self.client(self.home(), &self.operator).make("POST", "/admin/accounts", &body).await?;
        let key = made["api_key"].as_str().ok_or("an account without a key")?;
        Ok((email, key.to_owned()))
    }

    /// Returns those of the budgets that refused nobody and let nobody wait, by the server's metrics.
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

    /// Stores an attacker's key for the check at the end.
    pub fn note_key(&self, name: &'static str, key: &str) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(name, key.to_owned());
    }

    /// Returns the key stored under a name.
    pub fn noted_key(&self, name: &str) -> Result<String, String> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.get(name).cloned().ok_or_else(|| format!("no key was kept for {name}"))
    }

    /// Creates `count` assistants of about a megabyte with these members; returns the highest id.
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

/// Returns `data.id` of a created resource's answer.
pub fn id_of(made: &Value) -> Result<u64, String> {
    made["data"]["id"].as_u64().ok_or_else(|| format!("no id in {made}"))
}
