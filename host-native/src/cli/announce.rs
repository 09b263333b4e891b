//! What a service says once it answers: where it is, and on the first start the owner's secrets.
//!
//! Secrets are printed on a terminal alone. What is not a terminal may be kept: a journal, a log, a pipe. There they go
//! into a file of mode 0600.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use switchboard::private::{Existing, PartialFile};
use switchboard::settings::ServeSettings;
use switchboard_core::http::reply::{Content, Reply};

use super::Failed;

/// Name of the file in the data folder that holds the secrets of a first start without a terminal.
const SECRETS_FILE: &str = "first-start.json";

/// Member of the ready file and of the printed object that has the link to the console.
const LINK: &str = "console_url";

/// Members of the secrets, and what people call them.
const SHOWN: [(&str, &str); 4] =
    [("e-mail", "email"), ("password", "password"), ("API key", "api_key"), ("operator token", "admin_token")];

/// Writes the ready file, prints the server's address and, on the first start, shows the owner's secrets. `link`, which
/// logs the owner in, is treated like them.
pub fn announce(
    settings: &ServeSettings,
    folder: &Path,
    address: SocketAddr,
    secrets: Option<&Reply>,
    link: Option<String>,
    json: bool,
) -> Result<(), Failed> {
    let url = settings.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let secrets = secrets.map(members).transpose()?;
    let mut out = std::io::stdout();
    let (printed, file) = match secrets.clone() {
        Some(secrets) if out.is_terminal() => (Some(secrets), None),
        Some(secrets) => (None, Some(put_aside(folder, secrets)?)),
        None => (None, None),
    };
    // Last of the files: a script that sees it finds the others.
    if let Some(file) = &settings.ready_file {
        let link = link.iter().map(|link| (LINK.to_owned(), link.as_str().into()));
        let ready = ready(&url, secrets.unwrap_or_default().into_iter().chain(link).collect());
        write_privately(file, &Value::Object(ready).to_string())?;
    }
    let link = link.filter(|_| out.is_terminal());
    if json {
        let link = link.map(|link| (LINK.to_owned(), link.into()));
        let file = file.map(|file| ("secrets_file".to_owned(), file.display().to_string().into()));
        let line = ready(&url, printed.unwrap_or_default().into_iter().chain(file).chain(link).collect());
        return Ok(writeln!(out, "{}", Value::Object(line))?);
    }
    if let Some(secrets) = printed {
        introduce(&mut out, folder, &url, &secrets)?;
    }
    writeln!(out, "Switchboard listens on {url} (API explorer: {url}/docs)")?;
    if let Some(link) = link {
        writeln!(out, "The console, signed in; once, and for ten minutes: {link}")?;
    }
    Ok(())
}

fn members(secrets: &Reply) -> Result<Map<String, Value>, Failed> {
    match &secrets.content {
        Content::Json(body) => Ok(serde_json::from_slice(body)?),
        _ => Err("the first start has no JSON".into()),
    }
}

/// Returns what a script wants to know: the address, the process, and `more`.
fn ready(url: &str, more: Map<String, Value>) -> Map<String, Value> {
    let mut ready = Map::new();
    ready.insert("url".into(), url.into());
    ready.extend(more);
    ready.insert("pid".into(), std::process::id().into());
    ready
}

fn write_privately(file: &Path, text: &str) -> Result<(), Failed> {
    let mut out = PartialFile::begin(file, Existing::Replace)?;
    out.file.write_all(text.as_bytes())?;
    Ok(out.finish()?)
}

/// Writes the secrets to a file in the data folder and logs where it is.
fn put_aside(folder: &Path, secrets: Map<String, Value>) -> Result<PathBuf, Failed> {
    let file = folder.join(SECRETS_FILE);
    write_privately(&file, &format!("{:#}\n", Value::Object(secrets)))?;
    tracing::warn!(
        "a new store was made: {} holds the owner's password, API key and operator token; delete it once read",
        file.display()
    );
    Ok(file)
}

/// Prints the secrets for whoever sits at the terminal, with a request to try.
fn introduce(out: &mut impl Write, folder: &Path, url: &str, secrets: &Map<String, Value>) -> Result<(), Failed> {
    let text = |name: &str| secrets.get(name).and_then(Value::as_str).unwrap_or_default();
    writeln!(out, "A new store was made in {}. These are shown once:\n", folder.display())?;
    for (label, name) in SHOWN {
        writeln!(out, "  {label:<15}{}", text(name))?;
    }
    Ok(writeln!(out, "\nTry:\n\n  curl -s -H 'Authorization: Bearer {}' {url}/api/user/me\n", text("api_key"))?)
}
