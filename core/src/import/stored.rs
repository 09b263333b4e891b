//! How an import is kept: its row, and the lines that were rejected, each in a row of its own.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::records::{ImportFormat, Position, Within};
use super::tables::ImportStatus;
use crate::collection::Facet;
use crate::id;
use crate::json::{Array, Object, Raw, ToJson, Value};
use crate::key;
use crate::limits::{IMPORT_ERROR_BYTES_MAX, IMPORT_ERRORS_MAX};
use crate::record::{Choice, Errors};
use crate::store::{Row, Scope};
use crate::view::{Order, Stop};

const DAMAGED: Stop = Stop::Corrupt("an import has an unknown form");
/// Characters of a field's name, or of a sentence, that an error keeps.
const TEXT_MAX: usize = 160;
/// Sentences of a field that an error keeps.
const SENTENCES_MAX: usize = 3;

/// What an import makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Leads.
    Leads {
        /// Their campaign, by count.
        campaign: u32,
        /// Whether it may have a number already.
        allow_dupplicate: bool,
    },
    /// Numbers not to be called.
    Numbers,
}

/// What became of the records so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Taken.
    pub created: u32,
    /// There already.
    pub duplicates: u32,
    /// Wrong.
    pub rejected: u32,
}

/// A file that is kept in more than one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The request that brings it: the same in each of its runs, and no other's.
    pub request: String,
    /// How many parts of it are there.
    pub kept: u32,
}

/// An import as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// What it makes.
    pub target: Target,
    /// How its file is written.
    pub format: ImportFormat,
    /// Where it stands.
    pub status: ImportStatus,
    /// Why it ended early.
    pub failure_reason: Option<String>,
    /// What became of its records.
    pub counts: Counts,
    /// Bytes of its file.
    pub file_bytes: u32,
    /// Who still brings it.
    pub upload: Option<Upload>,
    /// How far that was read.
    pub position: Position,
}

/// The facet of the imports that are under way.
pub fn facet_under_way() -> Facet {
    Facet::new(1, ImportStatus::Processing.word().as_bytes())
}

impl Stored {
    /// Its row.
    pub fn row(&self) -> Row {
        let mut public = Vec::new();
        let mut object = Object::open(&mut public);
        match self.target {
            Target::Leads { campaign, allow_dupplicate } => {
                object.member("campaign", campaign).member("allow_dupplicate", allow_dupplicate);
            }
            Target::Numbers => {}
        }
        let (counts, position) = (self.counts, self.position);
        object.member("csv", self.format == ImportFormat::Csv);
        object.member("status", self.status).given("failure_reason", self.failure_reason.as_deref());
        object.member("created", counts.created).member("duplicates", counts.duplicates);
        object.member("rejected", counts.rejected).member("file_bytes", self.file_bytes);
        object.member("offset", position.offset).member("line", position.line);
        object.member("after_return", position.after_return);
        object.member("state", position.within.map_or(0, |within| within as u32));
        object.member("passing", position.within.is_some());
        if let Some(upload) = &self.upload {
            object.member("upload", upload.request.as_str()).member("kept", upload.kept);
        }
        object.close();
        let facets = if self.status == ImportStatus::Processing { [facet_under_way()].into() } else { Vec::new() };
        Row::open(facets, public)
    }

    /// Reads it back.
    pub fn of(row: &Row) -> Result<Self, Stop> {
        let members = row.members(DAMAGED)?;
        let count =
            |name: &str| members.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()).ok_or(DAMAGED);
        let flag = |name: &str| members.get(name) == Some(&Value::Bool(true));
        let text = |name: &str| members.get(name).and_then(Value::as_text);
        let target = match count("campaign") {
            Ok(campaign) => Target::Leads { campaign, allow_dupplicate: flag("allow_dupplicate") },
            Err(_) => Target::Numbers,
        };
        let within = u8::try_from(count("state")?).ok().and_then(Within::from_u8);
        Ok(Self {
            target,
            format: if flag("csv") { ImportFormat::Csv } else { ImportFormat::Lines },
            status: text("status").and_then(ImportStatus::of).ok_or(DAMAGED)?,
            failure_reason: text("failure_reason").map(ToString::to_string),
            counts: Counts {
                created: count("created")?,
                duplicates: count("duplicates")?,
                rejected: count("rejected")?,
            },
            file_bytes: count("file_bytes")?,
            upload: text("upload")
                .map(|request| Ok(Upload { request: request.to_string(), kept: count("kept")? }))
                .transpose()?,
            position: Position {
                offset: count("offset")?,
                line: count("line")?,
                after_return: flag("after_return"),
                within: if flag("passing") { Some(within.ok_or(DAMAGED)?) } else { None },
            },
        })
    }

    /// As the API shows it.
    pub fn show(&self, account: Scope<'_>, number: u32) -> Result<Vec<u8>, Stop> {
        let Counts { created, duplicates, rejected } = self.counts;
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        object.member("id", id::of(account.space(), number)).member("status", self.status);
        object.member("failure_reason", self.failure_reason.as_deref());
        object.member("processed", created + duplicates + rejected).member("created", created);
        object.member("duplicates", duplicates).member("rejected", rejected);
        let mut array = Array::open(object.name("errors"));
        for (_, error) in
            account.scan(key::import_errors(account.space(), number), Order::Ascending, IMPORT_ERRORS_MAX)?
        {
            array.entry(Raw(&error));
        }
        array.close();
        object.close();
        Ok(out)
    }

    /// Counts a rejected line, and keeps what is wrong with it while there is room.
    pub fn reject(&mut self, account: Scope<'_>, number: u32, line: u32, errors: &Errors) -> Result<(), Stop> {
        let seq = self.counts.rejected;
        self.counts.rejected += 1;
        if seq as usize >= IMPORT_ERRORS_MAX {
            return Ok(());
        }
        account.put(key::import_error(account.space(), number, seq), entry(line, errors))
    }
}

/// `{line, errors}`, cut to its bound: the rest of a long text, then the fields that find no room.
fn entry(line: u32, errors: &Errors) -> Vec<u8> {
    let cut = |text: &str| text.chars().take(TEXT_MAX).collect::<String>();
    let mut kept = Errors::default();
    let mut bytes = 32;
    for (field, sentences) in &errors.0 {
        let one = (cut(field), sentences.iter().map(|sentence| cut(sentence)).take(SENTENCES_MAX).collect::<Vec<_>>());
        bytes += one.0.to_json().len() + one.1.to_json().len() + 2;
        if bytes > IMPORT_ERROR_BYTES_MAX && !kept.is_empty() {
            break;
        }
        if !kept.0.iter().any(|(known, _)| *known == one.0) {
            kept.0.push(one);
        }
    }
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    object.member("line", line).member("errors", &kept);
    object.close();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn an_import_reads_back() {
        for (target, format, status, within) in [
            (Target::Leads { campaign: 7, allow_dupplicate: true }, ImportFormat::Csv, ImportStatus::Processing, None),
            (
                Target::Leads { campaign: 7, allow_dupplicate: false },
                ImportFormat::Lines,
                ImportStatus::Completed,
                None,
            ),
            (Target::Numbers, ImportFormat::Csv, ImportStatus::Failed, Some(Within::Quoted)),
        ] {
            let stored = Stored {
                target,
                format,
                status,
                failure_reason: (status == ImportStatus::Failed).then(|| "Why".into()),
                counts: Counts { created: 1, duplicates: 2, rejected: 3 },
                file_bytes: 64_000_000,
                upload: (status == ImportStatus::Processing).then(|| Upload { request: "r".into(), kept: 8 }),
                position: Position { offset: 4, line: 5, after_return: true, within },
            };
            assert_eq!(Stored::of(&stored.row()), Ok(stored));
        }
    }

    #[test]
    fn a_rejected_line_keeps_a_bounded_row() {
        let mut errors = Errors::default();
        for n in 0..300 {
            errors.say(&alloc::format!("variables.{n}{}", "\u{1}".repeat(60_000)), "field is wrong.");
        }
        let bytes = entry(9, &errors);
        assert!(bytes.len() <= IMPORT_ERROR_BYTES_MAX, "{} bytes", bytes.len());
        let value = json::parse(&bytes).expect("no name stands twice");
        assert!(value.member("errors").and_then(Value::as_object).is_some_and(|fields| !fields.0.is_empty()));
        errors.0.truncate(1);
        errors.0[0].1.resize(9, "\u{1}".repeat(60_000));
        assert!(entry(9, &errors).len() <= IMPORT_ERROR_BYTES_MAX);
    }
}
