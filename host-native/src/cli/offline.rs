//! Commands on a store that no service has open, and the `OpenAPI` document.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use switchboard::DOCUMENT;
use switchboard::clock::Clock;
use switchboard::copy::{self, BackupFile, FolderFill, StorePlace};
use switchboard::history::{History, Verified};
use switchboard::private::{Existing, PartialFile};
use switchboard::seal::{self, Seal};
use switchboard::store::{Snapshot, Store, caught};
use switchboard_core::verify::{self, VerifyReport};

use super::copy::log;
use super::{Failed, SealKeys, say};

/// Runs `verify`: checks a file's checksums, then every row and every set.
pub fn verify(store: &str, seal: &SealKeys, json: bool) -> Result<(), Failed> {
    let seal = Seal::of(seal.seal_key_file.as_deref(), seal.seal_keys.as_deref())?;
    let report = if StorePlace::database(store).is_some() {
        log(json);
        report_of(&Store::look(store, seal)?)?
    } else {
        verify_folder(Path::new(store), seal)?
    };
    if json {
        say(&format!("{}", json!({ "keys": report.keys, "rows": report.rows, "faults": report.faults })))?;
    } else {
        say(&format!("{} keys, {} rows", report.keys, report.rows))?;
        report.faults.iter().for_each(|fault| println!("fault: {fault}"));
    }
    if report.faults.is_empty() { Ok(()) } else { Err(format!("{} faults", report.faults.len()).into()) }
}

fn verify_folder(folder: &Path, seal: Seal) -> Result<VerifyReport, Failed> {
    let mut store = Store::existing(folder)?;
    // Checksums first: no row is read from an unchecked file.
    let sound = store.check()?;
    let store = store.opened(seal)?;
    let mut report = report_of(&store.whole()?)?;
    if !sound {
        report.faults.insert(0, "the file needed repair".into());
    }
    let verified = Verified { at: Clock::at(None).now().seconds(), ok: report.faults.is_empty() };
    if let Err(error) = History::change(folder, |history| history.verified = Some(verified)) {
        eprintln!("switchboard: the result of the check cannot be kept for `GET /admin/store`: {error}");
    }
    Ok(report)
}

fn report_of(snapshot: &Snapshot) -> Result<VerifyReport, Failed> {
    let report = caught("the store cannot be read", || verify::verify(&snapshot.view(None)))?;
    report.map_err(|stop| format!("the store cannot be read: {stop:?}").into())
}

/// Runs `store init`: makes the tables of a store in a database.
pub fn init(url: &str, json: bool) -> Result<(), Failed> {
    let made = Store::init(url)?;
    if json {
        say(&json!({ "made": made }).to_string())
    } else {
        say(if made { "the tables were made" } else { "the tables are there already" })
    }
}

/// Runs `seal-key`: writes a new key to a file, or prints it.
pub fn seal_key(file: Option<&Path>, json: bool) -> Result<(), Failed> {
    let key = seal::new_key()?;
    let Some(file) = file else {
        return if json { say(&json!({ "seal_key": key }).to_string()) } else { say(&key) };
    };
    let mut out = PartialFile::begin(file, Existing::Keep)?;
    writeln!(out.file, "{key}")?;
    out.finish()?;
    if json { say(&json!({ "file": file }).to_string()) } else { say(&format!("{} holds a new key", file.display())) }
}

/// Runs `restore`: fills a new folder from a backup.
pub fn restore(file: &Path, folder: &Path, json: bool) -> Result<(), Failed> {
    let keys = copy::copy(&mut BackupFile::open(file)?, &mut FolderFill::begin(folder)?)?.written.rows;
    if json {
        say(&format!("{}", json!({ "folder": folder, "keys": keys })))?;
    } else {
        say(&format!("{} holds {keys} keys", folder.display()))?;
    }
    Ok(())
}

/// Runs `openapi`: prints the document.
pub fn openapi() -> Result<(), Failed> {
    say(DOCUMENT.trim_end())
}
