//! Commands that call a running service through the operator's API.

use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::{Value, json};
use switchboard::private::{Existing, PartialFile};
use switchboard_core::account::token::TokenKind;

use super::{Account, At, Base, Engine, EngineToken, Failed, Jobs, Key, Nodes, OperatorToken, say};

/// Runs `account …`.
pub fn account(command: Account, json: bool) -> Result<(), Failed> {
    match command {
        Account::Create { email, name, plan, at } => {
            let mut body = json!({ "email": email, "name": name });
            if let Some(plan) = plan {
                body["plan"] = plan.into();
            }
            show(&call(&at, "POST", "/admin/accounts", Some(&body))?, json)
        }
        Account::List { at } => list(&at, json),
        Account::SetPlan { id, plan, at } => {
            show(&call(&at, "PUT", &format!("/admin/accounts/{id}"), Some(&json!({ "plan": plan })))?, json)
        }
        Account::Delete { id, at } => show(&call(&at, "DELETE", &format!("/admin/accounts/{id}"), None)?, json),
    }
}

/// Runs `key …`.
pub fn key(command: Key, json: bool) -> Result<(), Failed> {
    match command {
        Key::Create { account, name, read_only, at } => {
            let body = json!({ "name": name, "read_only": read_only });
            show(&call(&at, "POST", &format!("/admin/accounts/{account}/api-keys"), Some(&body))?, json)
        }
        Key::List { account, at } => {
            let path = format!("/admin/accounts/{account}/api-keys");
            let all = call(&at, "GET", &path, None)?["api_keys"].take();
            if json {
                return say(&all.to_string());
            }
            for row in all.as_array().map(Vec::as_slice).unwrap_or_default() {
                let text = |name: &str, none: &str| row[name].as_str().unwrap_or(none).to_owned();
                let ends = text("expires_at", "never");
                let used = text("last_used_at", "never");
                say(&format!("{:>12}  {:<32} expires {ends:<28} used {used}", row["id"], text("name", "")))?;
            }
            Ok(())
        }
        Key::Revoke { account, id, at } => {
            show(&call(&at, "DELETE", &format!("/admin/accounts/{account}/api-keys/{id}"), None)?, json)
        }
    }
}

/// Runs `engine-token …`.
pub fn engine_token(command: EngineToken, json: bool) -> Result<(), Failed> {
    match command {
        EngineToken::Create { name, accounts, telephony, at } => {
            let mut body = json!({ "name": name, "telephony": telephony });
            if !accounts.is_empty() {
                body["account_ids"] = accounts.into();
            }
            show(&call(&at, "POST", "/admin/engine-tokens", Some(&body))?, json)
        }
        EngineToken::List { at } => {
            let all = call(&at, "GET", "/admin/engine-tokens", None)?["data"].take();
            if json {
                return say(&all.to_string());
            }
            for row in all.as_array().map(Vec::as_slice).unwrap_or_default() {
                let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                say(&format!("{:>6}  {:<32} {}", row["id"], text("name"), text("created_at")))?;
            }
            Ok(())
        }
        EngineToken::Revoke { id, at } => {
            show(&call(&at, "DELETE", &format!("/admin/engine-tokens/{id}"), None)?, json)
        }
    }
}

/// Runs `engine …`.
pub fn engine(command: Engine, json: bool) -> Result<(), Failed> {
    match command {
        Engine::List { at } => {
            let all = call(&at, "GET", "/admin/engines", None)?["data"].take();
            if json {
                return say(&all.to_string());
            }
            for row in all.as_array().map(Vec::as_slice).unwrap_or_default() {
                let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                let calls = format!("{}/{} calls", row["running"], row["capacity"]).replace("null", "?");
                let state = if row["draining"] == true { "draining" } else { "" };
                let (id, seen) = (row["id"].to_string(), text("seen_at"));
                say(&format!("{id:>16}  {:<24} {:<20} {calls:<12} {seen} {state}", text("name"), text("host")))?;
            }
            Ok(())
        }
        Engine::Drain { id, end, at } => {
            let body = json!({ "drain": !end });
            show(&call(&at, "POST", &format!("/admin/engines/{id}/drain"), Some(&body))?, json)
        }
    }
}

/// Runs `operator-token …`.
pub fn operator_token(command: OperatorToken, json: bool) -> Result<(), Failed> {
    match command {
        OperatorToken::Rotate { at } => show(&call(&at, "POST", "/admin/operator-token/rotate", None)?, json),
    }
}

/// Runs `jobs …`.
pub fn jobs(command: Jobs, json: bool) -> Result<(), Failed> {
    match command {
        Jobs::List { state, kind, account, at } => {
            let asked = [("state", state), ("kind", kind), ("account_id", account.map(|id| id.to_string()))];
            let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value?)));
            let target = reqwest::Url::parse_with_params("http://jobs/admin/jobs", asked)?;
            let rows = pages(&at, &format!("{}?{}", target.path(), target.query().unwrap_or_default()))?;
            if json {
                return say(&Value::Array(rows).to_string());
            }
            for row in rows {
                let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                let told = format!("{:<28} {:<18} {:<9}", text("id"), text("kind"), text("state"));
                let tries = format!("{:>2}  {:<28} {}", row["attempts"], text("due_at"), text("reference"));
                say(format!("{told} {tries}  {}", text("last_error")).trim_end())?;
            }
            Ok(())
        }
        Jobs::Retry { id, at } => show(&call(&at, "POST", &format!("/admin/jobs/{id}/retry"), None)?, json),
        Jobs::Drop { id, at } => show(&call(&at, "DELETE", &format!("/admin/jobs/{id}"), None)?, json),
    }
}

/// Runs `nodes …`.
pub fn nodes(command: Nodes, json: bool) -> Result<(), Failed> {
    match command {
        Nodes::List { at } => {
            let all = call(&at, "GET", "/admin/nodes", None)?["data"].take();
            if json {
                return say(&all.to_string());
            }
            for row in all.as_array().map(Vec::as_slice).unwrap_or_default() {
                let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
                let lanes = row["lanes"].as_array().map(Vec::as_slice).unwrap_or_default();
                let accounts: u64 = lanes.iter().filter_map(|lane| lane["accounts"].as_u64()).sum();
                let load = row["load"].as_f64().map_or_else(|| "-".into(), |load| format!("{:.0} %", load * 100.0));
                let state = format!("{:<8}  {accounts:>6} accounts  load {load:<5}", text("state"));
                say(&format!("{}  {:<21}  {state}  seen {}", text("id"), text("address"), text("seen_at")))?;
            }
            Ok(())
        }
        Nodes::Drain { id, at } => show(&call(&at, "POST", &format!("/admin/nodes/{id}/drain"), None)?, json),
    }
}

/// Runs `backup`: the file appears under its name once it is complete.
pub fn backup(file: &Path, existing: Existing, at: &At, json: bool) -> Result<(), Failed> {
    let token = operators(at)?;
    let begun = PartialFile::begin(file, existing);
    let mut out = begun.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!("{error}: --force replaces it").into(),
        _ => Failed::from(error),
    })?;
    let bytes = block(async {
        let mut reply = client()?
            .get(format!("{}/admin/backup", at.base.url))
            .bearer_auth(token)
            .send()
            .await
            .map_err(unsent(&at.base))?;
        if !reply.status().is_success() {
            return Err(refused(reply.status().as_u16(), &reply.text().await?));
        }
        let mut bytes = 0;
        while let Some(chunk) = reply.chunk().await? {
            out.file.write_all(&chunk)?;
            bytes += chunk.len();
        }
        Ok(bytes)
    })?;
    out.finish()?;
    if json {
        say(&format!("{}", json!({ "file": file, "bytes": bytes })))?;
    } else {
        say(&format!("{} holds {bytes} bytes", file.display()))?;
    }
    Ok(())
}

/// Fetches the entries of all pages of a list; `path` ends with `?` or a query.
fn pages(at: &At, path: &str) -> Result<Vec<Value>, Failed> {
    let (mut all, mut page) = (Vec::new(), 1);
    loop {
        let mut envelope = call(at, "GET", &format!("{path}&per_page=100&page={page}"), None)?;
        let Value::Array(rows) = envelope["data"].take() else { return Err("the answer is not a list".into()) };
        all.extend(rows);
        if envelope["next_page_url"].is_null() {
            return Ok(all);
        }
        page += 1;
    }
}

fn list(at: &At, json: bool) -> Result<(), Failed> {
    let all = pages(at, "/admin/accounts?")?;
    if json {
        say(&format!("{}", Value::Array(all)))?;
        return Ok(());
    }
    for row in all {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        say(&format!("{:>6}  {:<32} {:<24} {}", row["id"], text("email"), text("name"), text("plan")))?;
    }
    Ok(())
}

fn show(value: &Value, json: bool) -> Result<(), Failed> {
    if json {
        say(&value.to_string())?;
        return Ok(());
    }
    let Value::Object(members) = value else { return Err("the answer is not an object".into()) };
    for (name, value) in members {
        say(&format!("{name:<12}{}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))?;
    }
    Ok(())
}

/// Parses a service's URL, which may end in `/api` and slashes as a client's base URL does.
pub(super) fn base(url: &str) -> Result<String, String> {
    let own = url.trim_end_matches('/');
    let own = own.strip_suffix("/api").unwrap_or(own).trim_end_matches('/');
    if !own.starts_with("http://") && !own.starts_with("https://") {
        return Err("a URL begins with http:// or https://".into());
    }
    Ok(own.into())
}

/// Refuses a token of another kind than those that `flag` takes, before it is sent; whether it is valid the service
/// knows.
pub(super) fn fitting(flag: &str, token: &str, kinds: &[TokenKind]) -> Result<(), Failed> {
    let Some(kind) = TokenKind::of(token).filter(|kind| !kinds.contains(kind)) else { return Ok(()) };
    let is = match kind {
        TokenKind::ApiKey => "an API key",
        TokenKind::Session => "the token of a session",
        TokenKind::Operator => "the operator's token",
        TokenKind::Engine => "the token of an engine",
        TokenKind::Web => "the token of a web call",
    };
    let wanted = if kinds.contains(&TokenKind::Operator) { "the operator's token" } else { "an API key" };
    let prefix = kinds.first().map_or("", |kind| kind.prefix());
    Err(format!("{flag} takes {wanted}, which begins with {prefix}; this is {is}").into())
}

/// Converts an error of a request that got no answer.
pub(super) fn unsent(base: &Base) -> impl FnOnce(reqwest::Error) -> Failed + '_ {
    |error| if error.is_connect() { format!("no service answers at {} (--url)", base.url).into() } else { error.into() }
}

fn operators(at: &At) -> Result<&str, Failed> {
    fitting("--admin-token", &at.admin_token, &[TokenKind::Operator])?;
    Ok(&at.admin_token)
}

pub(super) fn client() -> Result<reqwest::Client, Failed> {
    Ok(switchboard::send::client()?.build()?)
}

pub(super) fn block<T>(work: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn call(at: &At, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failed> {
    let token = operators(at)?;
    block(async {
        let method = reqwest::Method::from_bytes(method.as_bytes())?;
        let mut request = client()?.request(method, format!("{}{path}", at.base.url)).bearer_auth(token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let reply = request.send().await.map_err(unsent(&at.base))?;
        let (status, text) = (reply.status(), reply.text().await?);
        if status.is_success() { Ok(serde_json::from_str(&text)?) } else { Err(refused(status.as_u16(), &text)) }
    })
}

pub(super) fn refused(status: u16, text: &str) -> Failed {
    let said: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let message = said["message"].as_str().or(said["error"].as_str()).unwrap_or("the service refused");
    format!("{message} ({status})").into()
}
