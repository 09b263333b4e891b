//! One slice of an import: a few records, each checked as a request would be, and the new position, in one commit. A
//! slice that is lost is repeated from the end of the last one.

use alloc::format;
use alloc::string::String;

use super::columns::Columns;
use super::file;
use super::records::{ImportRecord, NextRecord, Records};
use super::rows::{ImportRow, Target};
use super::tables::ImportStatus;
use super::taken::{self, Taken};
use crate::campaign;
use crate::job::{self, Task, TaskContext, TaskOutcome};
use crate::json::{self, Members, Value};
use crate::key::Kind;
use crate::limits::IMPORT_SLICE_RECORDS;
use crate::numbering::dialing::DialingCountry;
use crate::record::{Errors, Stored};
use crate::store::Scope;
use crate::view::Stop;

const GONE: &str = "The campaign was deleted.";
const BROKEN_OFF: &str = "The file did not arrive whole.";

/// Runs one slice: reads the next records, or ends an import that cannot go on.
pub fn slice(work: &TaskContext<'_>, number: u32) -> Result<TaskOutcome, Stop> {
    let account = work.account;
    let Some(row) = account.find(Kind::Import, number)? else { return Ok(TaskOutcome::Done) };
    let mut import = ImportRow::read(&row.public)?;
    if import.status != ImportStatus::Processing {
        return Ok(TaskOutcome::Done);
    }
    let before = import.created;
    if lost(account, import.target())? {
        import.fail(GONE);
    } else if import.upload.is_some() {
        // The upload was not completed before the time for which this job was scheduled.
        import.fail(BROKEN_OFF);
    } else if read(work, number, &mut import)? {
        import.status = ImportStatus::Completed;
    }
    if let Target::Leads { campaign, .. } = import.target()
        && import.created > before
    {
        campaign::wake(account, campaign, work.now)?;
    }
    account.replace(Kind::Import, number, &row, &import.row())?;
    if import.status == ImportStatus::Processing {
        return Ok(TaskOutcome::More);
    }
    job::add(account, work.now, Task::DropParts(Kind::Import, number))?;
    Ok(TaskOutcome::Done)
}

/// Ends an import that cannot go on: it fails, and a job deletes its parts.
pub fn give_up(work: &TaskContext<'_>, number: u32, reason: &str) -> Result<(), Stop> {
    let Some(row) = work.account.find(Kind::Import, number)? else { return Ok(()) };
    let mut import = ImportRow::read(&row.public)?;
    if import.status != ImportStatus::Processing {
        return Ok(());
    }
    import.fail(reason);
    work.account.replace(Kind::Import, number, &row, &import.row())?;
    job::add(work.account, work.now, Task::DropParts(Kind::Import, number))
}

/// Returns whether the target of the import was deleted.
fn lost(account: Scope<'_>, target: Target) -> Result<bool, Stop> {
    match target {
        Target::Leads { campaign, .. } => Ok(account.find(Kind::Campaign, campaign)?.is_none()),
        Target::Numbers => Ok(false),
    }
}

/// Processes up to [`IMPORT_SLICE_RECORDS`] records; returns `true` at the end of the file.
fn read(work: &TaskContext<'_>, number: u32, import: &mut ImportRow) -> Result<bool, Stop> {
    let account = work.account;
    let columns = file::columns(account, number)?;
    let window = file::window(account, number, import.file_bytes, import.offset)?;
    let at_end = import.offset as usize + window.len() >= import.file_bytes as usize;
    let mut records = Records::new(import.format(), import.dialect(), import.position()?, &window, at_end);
    let (home, mut ended) = (import.home(), false);
    for _ in 0..IMPORT_SLICE_RECORDS {
        let (line, members) = match records.next() {
            NextRecord::Record(line, record) => (line, members(&record, &columns, import.target())),
            NextRecord::Malformed(line, malformed) => (line, Err(malformed.text().into())),
            NextRecord::Pause => break,
            NextRecord::End => {
                ended = true;
                break;
            }
        };
        let taken = match members {
            Ok(members) => take(work, import.target(), home, members)?,
            Err(says) => Taken::Rejected(of_line(says)),
        };
        match taken {
            Taken::Created => import.created += 1,
            Taken::Duplicate => import.duplicates += 1,
            Taken::Rejected(errors) => import.reject(account, number, line, &errors)?,
        }
    }
    import.set_position(records.position());
    Ok(ended)
}

/// Returns what is wrong with a whole line as its errors.
pub fn of_line(says: String) -> Errors {
    let mut errors = Errors::default();
    errors.add("line", says);
    errors
}

/// Builds the body for a record, or returns what is wrong with its line.
pub fn members(record: &ImportRecord<'_>, columns: &Columns, target: Target) -> Result<Members, String> {
    let text = match record {
        ImportRecord::Cells(cells) => return Ok(columns.members(cells, target)?),
        ImportRecord::Line(text) => text,
    };
    match json::parse(text.as_bytes()) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("The line must be a JSON object.".into()),
        Err(malformed) => Err(format!("The line is not valid JSON: {}.", malformed.reason)),
    }
}

fn take(work: &TaskContext<'_>, target: Target, home: Option<DialingCountry>, members: Members) -> Result<Taken, Stop> {
    match target {
        Target::Leads { campaign, allow_dupplicate } => {
            taken::lead(work.account, (campaign, allow_dupplicate), home, members, work.now)
        }
        Target::Numbers => taken::number(work.account, home, members, work.now),
    }
}
