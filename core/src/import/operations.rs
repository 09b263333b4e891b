//! Starting an import, and reading its progress, in the order of docs/api.md.
//!
//! Whatever the head of a request tells is checked before its body is read; the header of a CSV file is checked before
//! the import starts, and its records by the job.

use super::columns::{Columns, Mapping};
use super::dry_run;
use super::file;
use super::found;
use super::records::{Dialect, ImportFormat, ImportRecord, MalformedRecord, NextRecord, Position, Records};
use super::rows::{self, ImportRow, Target};
use super::tables::{ImportStatus, LeadImport, NumberImport, Separator, Started};
use crate::collection::{count, ids};
use crate::http::csv::BYTE_ORDER_MARK;
use crate::http::ctx::Ctx;
use crate::http::multipart::{FORM, Upload, UploadedFile};
use crate::http::refs;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message_data};
use crate::http::route::Handled;
use crate::job::{self, Task};
use crate::json::{Members, Raw};
use crate::key::Kind;
use crate::limits::{IMPORT_BODY_BYTES_MAX, IMPORT_UPLOAD_SECONDS, IMPORTS_MAX};
use crate::numbering::dialing::DialingCountry;
use crate::record::{Errors, Stored};

const MISSING: &str = "Import not found";
/// Name from which the UUID of an uploading request is derived.
const UPLOAD: &str = "upload";

/// Media types of a body, besides which none is accepted.
pub const MEDIA: [&str; 3] = [CSV, LINES, FORM];

const CSV: &str = "text/csv";
const LINES: &str = "application/x-ndjson";
/// Endings of the names of files in a form, whose types browsers do not know.
const ENDINGS: [(&str, ImportFormat); 4] = [
    (".csv", ImportFormat::Csv),
    (".tsv", ImportFormat::Csv),
    (".ndjson", ImportFormat::Lines),
    (".jsonl", ImportFormat::Lines),
];
const NO_FILE: &str = "The form has no file.";
const NO_FORMAT: &str = "The file must be of the type text/csv or application/x-ndjson, or its name must end in .csv, .tsv, \
                         .ndjson or .jsonl.";

/// What was sent.
struct Sent<'a> {
    format: ImportFormat,
    /// The file; `None` while only the head of the request has arrived.
    file: Option<&'a [u8]>,
    /// Where in the body the file begins, bytes.
    offset: usize,
    /// Fields of a form.
    fields: Members,
}

/// What is asked of a file.
struct Asked<'q> {
    mapping: Option<&'q str>,
    separator: Option<Separator>,
    /// Country whose national numbers are read.
    home: Option<DialingCountry>,
    dry_run: bool,
}

impl<'q> Asked<'q> {
    fn of(mapping: Option<&'q str>, separator: Option<Separator>, country: Option<&str>, dry_run: bool) -> Self {
        Self { mapping, separator, home: country.and_then(DialingCountry::of), dry_run }
    }
}

/// `POST /user/leads/import`
pub fn start_leads(ctx: &Ctx<'_>) -> Handled {
    if ctx.answered() > 0 {
        return go_on(ctx);
    }
    let sent = receive(ctx)?;
    let mut checked = ctx.checked_query_and::<LeadImport>(&sent.fields)?;
    refs::check(ctx, &mut checked, None)?;
    let query: LeadImport = ctx.finish(checked)?;
    let campaign = ctx.own(query.campaign_id).ok_or(Refusal::NotFound(MISSING))?;
    let target = Target::Leads { campaign, allow_dupplicate: query.allow_dupplicate };
    let country = query.default_country.as_deref();
    let asked = Asked::of(query.mapping.as_deref(), query.separator, country, query.dry_run);
    start(ctx, &sent, target, &asked)
}

/// `POST /user/do-not-call/import`
pub fn start_numbers(ctx: &Ctx<'_>) -> Handled {
    if ctx.answered() > 0 {
        return go_on(ctx);
    }
    let sent = receive(ctx)?;
    let query: NumberImport = ctx.finish(ctx.checked_query_and::<NumberImport>(&sent.fields)?)?;
    let country = query.default_country.as_deref();
    let asked = Asked::of(query.mapping.as_deref(), query.separator, country, query.dry_run);
    start(ctx, &sent, Target::Numbers, &asked)
}

/// Returns what was sent. A form is waited for, since it may hold the parameters too.
fn receive<'a>(ctx: &Ctx<'a>) -> Result<Sent<'a>, Halt> {
    let media = ctx.media_type();
    let body = match ctx.file() {
        Err(Halt::Wait) if media.as_deref() != Some(FORM) => None,
        body => Some(body?),
    };
    match (media.as_deref(), body) {
        (Some(FORM), Some(body)) => of_form(ctx.form(body)?),
        (media, file) => {
            let format = if media == Some(CSV) { ImportFormat::Csv } else { ImportFormat::Lines };
            Ok(Sent { format, file, offset: 0, fields: Members::default() })
        }
    }
}

fn of_form(upload: Upload<'_>) -> Result<Sent<'_>, Halt> {
    let UploadedFile { name, media, offset, content } = upload.file.ok_or_else(|| wrong_file(NO_FILE))?;
    let name = name.to_ascii_lowercase();
    let format = match media.as_str() {
        CSV => ImportFormat::Csv,
        LINES => ImportFormat::Lines,
        _ => {
            let ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
            ending.ok_or_else(|| wrong_file(NO_FORMAT))?.1
        }
    };
    Ok(Sent { format, file: Some(content), offset, fields: upload.members })
}

fn start(ctx: &Ctx<'_>, sent: &Sent<'_>, target: Target, asked: &Asked<'_>) -> Handled {
    let format = sent.format;
    let mapping = parse_mapping(format, asked).map_err(Refusal::Invalid)?;
    let account = ctx.account();
    if !asked.dry_run && count(account, Kind::Import, &rows::facet_under_way())? >= IMPORTS_MAX as u64 {
        let says = alloc::format!("At most {IMPORTS_MAX} imports may be under way; please wait for one to end.");
        return Err(Refusal::Forbidden(says).into());
    }
    let Some(file) = sent.file else { return Err(Halt::Wait) };
    let dialect = match format {
        ImportFormat::Csv => found::dialect(file, asked.separator).map_err(wrong_file)?,
        ImportFormat::Lines => Dialect::default(),
    };
    let (columns, position) = begin(file, (format, dialect), &mapping, target)?;
    if asked.dry_run {
        let looked = dry_run::look(ctx, file, (format, dialect), position, (&columns, target, asked.home));
        return Ok(Reply::ok(&data(&looked)));
    }
    let (number, at) = account.allot(Kind::Import, ctx.now)?;
    file::put_columns(account, number, &columns)?;
    let kept = file::put_next(account, number, file, 0)?;
    let bytes = |count: usize| u32::try_from(count).map_err(|_| Refusal::TooLarge(IMPORT_BODY_BYTES_MAX));
    let mut import = ImportRow::new((target, asked.home), (format, dialect), bytes(file.len())?, position);
    import.set_upload(ctx.uuid(UPLOAD), kept);
    import.body_offset = Some(bytes(sent.offset)?).filter(|offset| *offset > 0 && kept.is_some());
    account.insert(Kind::Import, number, at, &import.row())?;
    turn(ctx, number, &import)
}

/// Stores more parts of a file whose first parts are stored.
fn go_on(ctx: &Ctx<'_>) -> Handled {
    let body = ctx.file()?;
    let (account, request) = (ctx.account(), ctx.uuid(UPLOAD));
    for number in ids(account, Kind::Import, &rows::facet_under_way(), IMPORTS_MAX)? {
        let Some(row) = account.find(Kind::Import, number)? else { continue };
        let mut import = ImportRow::read(&row.public)?;
        let Some(kept) = import.kept.filter(|_| import.upload.as_ref() == Some(&request)) else { continue };
        let file = body.get(import.body_offset.unwrap_or(0) as usize..).unwrap_or_default();
        let file = file.get(..import.file_bytes as usize).unwrap_or(file);
        let kept = file::put_next(account, number, file, kept)?;
        import.set_upload(request, kept);
        account.replace(Kind::Import, number, &row, &import.row())?;
        return turn(ctx, number, &import);
    }
    // The upload took so long that the import was given up.
    Err(Refusal::Unavailable.into())
}

/// Yields to other requests while parts of the file are missing; once it is complete, leaves its records to the job.
fn turn(ctx: &Ctx<'_>, number: u32, import: &ImportRow) -> Handled {
    if import.upload.is_some() {
        job::add(ctx.account(), ctx.now.plus_seconds(IMPORT_UPLOAD_SECONDS), Task::Import(number))?;
        return Err(Halt::Yield);
    }
    job::add(ctx.account(), ctx.now, Task::Import(number))?;
    let started = Started { id: ctx.id(number), status: ImportStatus::Processing };
    Ok(Reply::accepted(&message_data("Import started.", &started)))
}

fn parse_mapping<'q>(format: ImportFormat, asked: &Asked<'q>) -> Result<Mapping<'q>, Errors> {
    let mut errors = Errors::default();
    if format == ImportFormat::Lines {
        for (name, given) in [("mapping", asked.mapping.is_some()), ("separator", asked.separator.is_some())] {
            if given {
                errors.say(name, "field is for text/csv only.");
            }
        }
    }
    match asked.mapping {
        _ if !errors.is_empty() => Err(errors),
        None => Ok(Mapping::default()),
        Some(text) => Mapping::of(text),
    }
}

fn wrong_file(says: &str) -> Refusal {
    let mut errors = Errors::default();
    errors.add("file", says);
    Refusal::Invalid(errors)
}

/// Returns the columns of a file, and the position at which its records begin.
fn begin(
    file: &[u8],
    (format, dialect): (ImportFormat, Dialect),
    mapping: &Mapping<'_>,
    target: Target,
) -> Result<(Columns, Position), Halt> {
    let mark = if file.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
    let start = Position::start(mark);
    let mut records = Records::new(format, dialect, start, &file[mark as usize..], true);
    let headless = || Ok((Columns::default(), start));
    let columns = match records.next() {
        NextRecord::End | NextRecord::Pause => return Err(wrong_file("The file is empty.").into()),
        // The records, malformed ones too, are the job's to report.
        NextRecord::Record(_, ImportRecord::Line(_)) => return headless(),
        NextRecord::Malformed(..) if format == ImportFormat::Lines => return headless(),
        NextRecord::Malformed(_, MalformedRecord::Encoding) => {
            return Err(wrong_file("The file is not valid UTF-8.").into());
        }
        NextRecord::Malformed(_, malformed) => return Err(wrong_file(malformed.text()).into()),
        NextRecord::Record(_, ImportRecord::Cells(header)) => Columns::of(&header, mapping, target),
    };
    Ok((columns.map_err(Refusal::Invalid)?, records.position()))
}

/// `GET /user/leads/imports/{id}`
pub fn read_leads(ctx: &Ctx<'_>) -> Handled {
    read(ctx, |target| matches!(target, Target::Leads { .. }))
}

/// `GET /user/do-not-call/imports/{id}`
pub fn read_numbers(ctx: &Ctx<'_>) -> Handled {
    read(ctx, |target| target == Target::Numbers)
}

fn read(ctx: &Ctx<'_>, wanted: fn(Target) -> bool) -> Handled {
    let (number, row) = ctx.named(Kind::Import, MISSING)?;
    let import = ImportRow::read(&row.public)?;
    if !wanted(import.target()) {
        return Err(Refusal::NotFound(MISSING).into());
    }
    let shown = import.show(ctx.account(), number)?;
    Ok(Reply::ok(&data(&Raw(&shown))))
}
