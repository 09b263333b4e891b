//! Commands that call a running service through the operator's API.

use std::io::{ErrorKind, Write};
use std::path::Path;

use serde_json::{Value, json};
use switchboard::private::{Existing, PartialFile};

use super::{Account, At, EngineToken, Failed, Jobs, Key, say};

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
    }
}

/// Runs `key …`.
pub fn key(command: Key, json: bool) -> Result<(), Failed> {
    match command {
        Key::Create { account, name, read_only, at } => {
            let body = json!({ "name": name, "read_only": read_only });
            show(&call(&at, "POST", &format!("/admin/accounts/{account}/api-keys"), Some(&body))?, json)
        }
        Key::Revoke { account, id, at } => {
            show(&call(&at, "DELETE", &format!("/admin/accounts/{account}/api-keys/{id}"), None)?, json)
        }
    }
}

/// Runs `engine-token …`.
pub fn engine_token(command: EngineToken, json: bool) -> Result<(), Failed> {
    match command {
        EngineToken::Create { name, accounts, at } => {
            let mut body = json!({ "name": name });
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

/// Runs `backup`: the file appears under its name once it is complete.
pub fn backup(file: &Path, existing: Existing, at: &At, json: bool) -> Result<(), Failed> {
    let begun = PartialFile::begin(file, existing);
    let mut out = begun.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!("{error}: --force replaces it").into(),
        _ => Failed::from(error),
    })?;
    let bytes = block(async {
        let mut reply = client()?.get(format!("{}/admin/backup", base(at))).bearer_auth(&at.admin_token).send().await?;
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

fn base(at: &At) -> &str {
    at.url.trim_end_matches('/')
}

pub(super) fn client() -> Result<reqwest::Client, Failed> {
    Ok(switchboard::send::client()?.build()?)
}

pub(super) fn block<T>(work: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn call(at: &At, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Failed> {
    block(async {
        let method = reqwest::Method::from_bytes(method.as_bytes())?;
        let mut request = client()?.request(method, format!("{}{path}", base(at))).bearer_auth(&at.admin_token);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let reply = request.send().await?;
        let (status, text) = (reply.status(), reply.text().await?);
        if status.is_success() { Ok(serde_json::from_str(&text)?) } else { Err(refused(status.as_u16(), &text)) }
    })
}

pub(super) fn refused(status: u16, text: &str) -> Failed {
    let said: Value = serde_json::from_str(text).unwrap_or(Value::Null);
    let message = said["message"].as_str().or(said["error"].as_str()).unwrap_or("the service refused");
    format!("{message} ({status})").into()
}
