//! The command `copy`: moves all rows of a store to another place.

use std::io::stderr;

use clap::Args;
use serde_json::json;
use switchboard::backup::RowsDigest;
use switchboard::copy::{self, Copied, StorePlace};
use tracing_subscriber::EnvFilter;

use super::{Failed, say};

#[derive(Args)]
pub struct CopyArgs {
    /// Store to read: a data folder, a backup or the URL of a PostgreSQL; nobody serves it meanwhile
    from: String,
    /// Where to write, without rows: a new data folder (DIR/), a new backup (FILE.swbk) or the URL of a PostgreSQL
    to: String,
}

/// Runs `copy`: copies all rows, and compares both sides.
pub fn copy(CopyArgs { from, to }: &CopyArgs, json: bool) -> Result<(), Failed> {
    log(json);
    let (from, to) = (StorePlace::source(from)?, StorePlace::target(to)?);
    let mut source = from.open()?;
    let mut target = to.fill()?;
    let Copied { read, written } = copy::copy(&mut *source, &mut *target)?;
    if json {
        let side = |place: &StorePlace, rows: RowsDigest| json!({ "store": place.to_string(), "rows": rows.rows, "sha256": rows.hex() });
        return say(&json!({ "from": side(&from, read), "to": side(&to, written) }).to_string());
    }
    say(&format!("{from}: {read}"))?;
    say(&format!("{to}: {written}"))
}

/// Shows what a database warns of, and why it failed.
pub fn log(json: bool) {
    let filter = EnvFilter::try_from_env("SWITCHBOARD_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr).with_ansi(false);
    if json { log.json().init() } else { log.init() }
}
