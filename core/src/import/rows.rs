//! Imports as they are stored, and the errors of rejected records, each in a row of its own.

use alloc::string::String;
use alloc::vec::Vec;

use super::records::{Dialect, ImportFormat, Position, Within};
use super::tables::{Encoding, ImportStatus, LineErrors, Separator};
use crate::collection::Facet;
use crate::id;
use crate::json::{Array, Object, Raw, ToJson};
use crate::key;
use crate::limits::{IMPORT_ERROR_BYTES_MAX, IMPORT_ERRORS_MAX};
use crate::numbering::dialing::DialingCountry;
use crate::record;
use crate::record::{Errors, Json, Rest, boolean, choice, count, text};
use crate::store::{Row, Scope};
use crate::view::{Order, Stop};

const DAMAGED: Stop = Stop::Corrupt("an import");
/// Most characters of a field's name, or of a sentence, that an error keeps.
const TEXT_MAX: usize = 160;
/// Most sentences for one field that an error keeps.
const SENTENCES_MAX: usize = 3;

/// What an import creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Leads of a campaign.
    Leads {
        /// Local id of the campaign.
        campaign: u32,
        /// Whether to create leads with numbers that the campaign already has.
        allow_dupplicate: bool,
    },
    /// Entries of the list of numbers not to be called.
    Numbers,
}

record! {
    /// An import as it is stored.
    pub struct ImportRow stored as "an import" {
        /// Local id of the campaign, for an import of leads.
        campaign: Option<u32> = count().sparse(),
        /// For an import of leads: whether to create those with numbers that the campaign already has.
        allow_dupplicate: Option<bool> = boolean().sparse(),
        /// Country whose national numbers are read, if any.
        default_country: Option<String> = text(2, 2).sparse(),
        /// Whether the file is CSV; otherwise each line is a JSON record.
        csv: bool = boolean().required(),
        /// For a CSV file: what separates its cells; a comma if not given.
        separator: Option<Separator> = choice::<Separator>().sparse(),
        /// For a CSV file: how its characters are written; UTF-8 if not given.
        encoding: Option<Encoding> = choice::<Encoding>().sparse(),
        /// Current state; `processing` until the file is read or the import fails.
        status: ImportStatus = choice::<ImportStatus>().required(),
        /// Why it ended early, if it failed.
        failure_reason: Option<String> = text(0, 255).sparse(),
        /// Records that were stored.
        created: u32 = count().required(),
        /// Records whose number was there already.
        duplicates: u32 = count().required(),
        /// Records rejected because of errors.
        rejected: u32 = count().required(),
        /// Size of the file, bytes.
        file_bytes: u32 = count().required(),
        /// See [`Position::offset`].
        offset: u32 = count().required(),
        /// See [`Position::line`].
        line: u32 = count().required(),
        /// See [`Position::after_return`].
        after_return: bool = boolean().required(),
        /// Number of the [`Within`], while a record that is too long is skipped; otherwise 0.
        state: u32 = count().required(),
        /// Whether a record that is too long is being skipped.
        passing: bool = boolean().required(),
        /// Request that uploads the file, while it arrives: the same name in each of its runs, and unique to it.
        upload: Option<String> = text(0, 64).sparse(),
        /// Where in the body the file begins, bytes, while it arrives; 0 if not given.
        body_offset: Option<u32> = count().sparse(),
        /// Parts of the file stored so far, while it arrives.
        kept: Option<u32> = count().sparse(),
    }
}

/// Returns the facet of the imports that are still processing.
pub fn facet_under_way() -> Facet {
    Facet::new(1, ImportStatus::Processing.word().as_bytes())
}

impl ImportRow {
    /// Builds an import that starts reading at `position`; `home` is the country whose national numbers are read.
    pub fn new(
        (target, home): (Target, Option<DialingCountry>),
        (format, dialect): (ImportFormat, Dialect),
        file_bytes: u32,
        position: Position,
    ) -> Self {
        let (campaign, allow_dupplicate) = match target {
            Target::Leads { campaign, allow_dupplicate } => (Some(campaign), Some(allow_dupplicate)),
            Target::Numbers => (None, None),
        };
        Self {
            campaign,
            allow_dupplicate,
            default_country: home.map(|home| home.iso.into()),
            csv: format == ImportFormat::Csv,
            separator: Some(dialect.separator).filter(|_| format == ImportFormat::Csv),
            encoding: Some(dialect.encoding).filter(|_| format == ImportFormat::Csv),
            status: ImportStatus::Processing,
            failure_reason: None,
            created: 0,
            duplicates: 0,
            rejected: 0,
            file_bytes,
            offset: position.offset,
            line: position.line,
            after_return: position.after_return,
            state: stored_within(position.within),
            passing: position.within.is_some(),
            upload: None,
            body_offset: None,
            kept: None,
            rest: Rest::default(),
        }
    }

    /// Builds its row, with a facet while it is processing.
    pub fn row(&self) -> Row {
        let facets = if self.status == ImportStatus::Processing { [facet_under_way()].into() } else { Vec::new() };
        Row::open(facets, self.to_json())
    }

    /// Returns what it creates.
    pub fn target(&self) -> Target {
        let allow_dupplicate = self.allow_dupplicate.unwrap_or(false);
        self.campaign.map_or(Target::Numbers, |campaign| Target::Leads { campaign, allow_dupplicate })
    }

    /// Returns the country whose national numbers are read, if any.
    pub fn home(&self) -> Option<DialingCountry> {
        DialingCountry::of(self.default_country.as_deref()?)
    }

    /// Returns the format of its file.
    pub fn format(&self) -> ImportFormat {
        if self.csv { ImportFormat::Csv } else { ImportFormat::Lines }
    }

    /// Returns how its file is written.
    pub fn dialect(&self) -> Dialect {
        let Dialect { separator, encoding } = Dialect::default();
        Dialect { separator: self.separator.unwrap_or(separator), encoding: self.encoding.unwrap_or(encoding) }
    }

    /// Returns the position up to which its file was read.
    pub fn position(&self) -> Result<Position, Stop> {
        let Self { offset, line, after_return, .. } = *self;
        let state = u8::try_from(self.state).ok().and_then(Within::from_u8);
        let within = if self.passing { Some(state.ok_or(DAMAGED)?) } else { None };
        Ok(Position { offset, line, after_return, within })
    }

    /// Records the position up to which its file was read.
    pub fn set_position(&mut self, position: Position) {
        let Position { offset, line, after_return, within } = position;
        (self.offset, self.line, self.after_return) = (offset, line, after_return);
        (self.state, self.passing) = (stored_within(within), within.is_some());
    }

    /// Records that `kept` parts of the file of `request` are stored; `None` once all of them are.
    pub fn set_upload(&mut self, request: String, kept: Option<u32>) {
        (self.upload, self.kept) = (kept.map(|_| request), kept);
        self.body_offset = self.body_offset.filter(|_| kept.is_some());
    }

    /// Marks the import as failed, for this reason.
    pub fn fail(&mut self, reason: &str) {
        (self.status, self.failure_reason) = (ImportStatus::Failed, Some(reason.into()));
    }

    /// Returns the import's JSON as the API shows it.
    pub fn show(&self, account: Scope<'_>, number: u32) -> Result<Vec<u8>, Stop> {
        let Self { created, duplicates, rejected, .. } = *self;
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

    /// Counts a rejected record and stores its errors, for the first [`IMPORT_ERRORS_MAX`] of them.
    pub fn reject(&mut self, account: Scope<'_>, number: u32, line: u32, errors: &Errors) -> Result<(), Stop> {
        let seq = self.rejected;
        self.rejected += 1;
        if seq as usize >= IMPORT_ERRORS_MAX {
            return Ok(());
        }
        account.put(key::import_error(account.space(), number, seq), entry(line, errors))
    }
}

fn stored_within(within: Option<Within>) -> u32 {
    within.map_or(0, |within| within as u32)
}

/// Builds `{line, errors}` within [`IMPORT_ERROR_BYTES_MAX`]: long texts are cut, then fields that do not fit are left
/// out.
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
    LineErrors { line, errors: Some(Json::of(&kept)) }.to_json()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{self, Value};
    use crate::record::Stored;

    #[test]
    fn an_import_reads_back() {
        let leads = |allow_dupplicate| Target::Leads { campaign: 7, allow_dupplicate };
        for (target, format, status, within) in [
            (leads(true), ImportFormat::Csv, ImportStatus::Processing, None),
            (leads(false), ImportFormat::Lines, ImportStatus::Completed, None),
            (Target::Numbers, ImportFormat::Csv, ImportStatus::Failed, Some(Within::Quoted)),
        ] {
            let position = Position { offset: 4, line: 5, after_return: true, within };
            let dialect = Dialect { separator: Separator::Semicolon, encoding: Encoding::Latin1 };
            let home = DialingCountry::of("DE").filter(|_| target != Target::Numbers);
            let mut import = ImportRow::new((target, home), (format, dialect), 64_000_000, position);
            import.set_upload("r".into(), (status == ImportStatus::Processing).then_some(8));
            if status == ImportStatus::Failed {
                import.fail("Why");
            }
            import.status = status;
            let read = ImportRow::read(&import.row().public).expect("it was written so");
            assert_eq!((read.target(), read.format(), read.position()), (target, format, Ok(position)));
            assert_eq!(read.home(), home);
            let is_csv = format == ImportFormat::Csv;
            assert_eq!(read.dialect(), if is_csv { dialect } else { Dialect::default() });
            assert_eq!(read, import);
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
