//! Documents of a knowledgebase: a file is stored as it was uploaded, and read by a job.

use alloc::string::String;
use alloc::vec::Vec;

use super::bases;
use super::progress::ReadingProgress;
use super::search;
use super::states::{DocumentEvent, MOVES};
use super::tables::{ChangedDocument, Document, DocumentStatus, DocumentType, NewDocument};
use crate::collection::{Facet, count};
use crate::http::ctx::Ctx;
use crate::http::multipart::{FORM, Upload};
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message, message_data};
use crate::http::route::Handled;
use crate::job::{self, Task};
use crate::json::ToJson;
use crate::key::{self, Kind};
use crate::limits::{FILE_BYTES_MAX, PART_BYTES, UNPAGED_ROWS_MAX, UPLOAD_BODY_BYTES_MAX};
use crate::record::{Cell, Iso, MemberSource, Record, Rest, Stored, check};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const MISSING: &str = "Document not found.";
const NO_FILE: &str = "A file is required for this document type.";

/// Returns the facet of a knowledgebase's documents.
pub fn facet_of_base(base: u32) -> Facet {
    Facet::id(1, base)
}

/// Returns the facet of a knowledgebase's documents in a state.
pub fn facet_of_status(base: u32, status: DocumentStatus) -> Facet {
    Facet::new(2, &[&base.to_be_bytes()[..], status.word().as_bytes()].concat())
}

/// `GET /user/knowledgebases/{kb}/documents`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let base = bases::above(ctx)?;
    let limit = usize::try_from(UNPAGED_ROWS_MAX).unwrap_or(usize::MAX);
    let rows = ctx.account().list(Kind::Document, &facet_of_base(base), limit)?;
    let shown = rows.iter().map(|(_, row)| shown(row)).collect::<Result<Vec<_>, _>>()?;
    Ok(Reply::ok(&data(&shown)))
}

/// `POST /user/knowledgebases/{kb}/documents`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let base = bases::above(ctx)?;
    let Upload { members, file } = upload(ctx)?;
    let mut checked = check(NewDocument::TABLE, members, MemberSource::Body);
    let is_file = matches!(checked.get("type"), Cell::Text(kind) if kind != DocumentType::Website.word());
    match &file {
        None if is_file => checked.errors.add("file", NO_FILE),
        Some(file) if is_file && file.content.is_empty() => checked.errors.add("file", NO_FILE),
        Some(file) if file.content.len() > FILE_BYTES_MAX => {
            checked.errors.say("file", "field must not be larger than 20 MB.");
        }
        _ => {}
    }
    let new: NewDocument = ctx.finish(checked)?;
    let account = ctx.account();
    if count(account, Kind::Document, &facet_of_base(base))? >= UNPAGED_ROWS_MAX {
        return Err(
            Refusal::Forbidden(alloc::format!("A knowledgebase has at most {UNPAGED_ROWS_MAX} documents.")).into()
        );
    }
    let (number, at) = account.allot(Kind::Document, ctx.now)?;
    for (at, part) in (0..).zip(file.filter(|_| is_file).map_or(&[][..], |file| file.content).chunks(PART_BYTES)) {
        account.put(key::part(account.space(), Kind::Document, number, at), part.to_vec())?;
    }
    let document = Document {
        id: ctx.id(number),
        name: new.name.clone(),
        description: new.description.clone(),
        r#type: new.r#type,
        type_label: new.r#type.label().into(),
        status: DocumentStatus::Processing,
        status_label: DocumentStatus::Processing.label().into(),
        failure_reason: None,
        progress: None,
        created_at: Iso(at),
        updated_at: Iso(at),
        rest: Rest::default(),
    };
    let facets = [facet_of_base(base), facet_of_status(base, DocumentStatus::Processing)].into();
    let progress = if is_file { ReadingProgress::of_file() } else { ReadingProgress::of_site(&new) };
    let row = Row { facets, public: document.to_json(), private: progress.to_json() };
    account.insert(Kind::Document, number, at, &row)?;
    job::add(account, at, Task::Ingest(number))?;
    Ok(Reply::created(&message_data("Document created successfully. Processing will begin shortly.", &shown(&row)?)))
}

/// Returns a document as it is shown: with its progress while it is read.
fn shown(row: &Row) -> Result<Document, Stop> {
    let mut document = Document::read(&row.public)?;
    if document.status == DocumentStatus::Processing {
        document.progress = Some(ReadingProgress::read(&row.private)?.shown());
    }
    Ok(document)
}

/// Returns the knowledgebase that a document's row belongs to.
pub fn base_of(row: &Row) -> Option<u32> {
    row.facets
        .iter()
        .find(|facet| facet.tag() == 1)
        .and_then(|facet| Some(u32::from_be_bytes(facet.value().try_into().ok()?)))
}

/// Moves a document from `processing` to `active` or, with a reason, to `failed`.
pub fn set_status(
    account: Scope<'_>,
    number: u32,
    before: &Row,
    after: Row,
    reason: Option<String>,
    now: Timestamp,
) -> Result<(), Stop> {
    let base = base_of(before).ok_or(Document::DAMAGED)?;
    let event = if reason.is_some() { DocumentEvent::Fail } else { DocumentEvent::Ready };
    let mut document = Document::read(&after.public)?;
    let status = MOVES.next(DocumentStatus::Processing, event).ok_or(Document::DAMAGED)?;
    (document.status, document.status_label) = (status, status.label().into());
    document.failure_reason = reason;
    document.updated_at.0 = document.updated_at.0.max(now);
    let facets = [facet_of_base(base), facet_of_status(base, status)].into();
    account.replace(Kind::Document, number, before, &Row { facets, public: document.to_json(), ..after })
}

fn upload<'a>(ctx: &Ctx<'a>) -> Result<Upload<'a>, Halt> {
    let bytes = ctx.bytes(UPLOAD_BODY_BYTES_MAX, &["application/json", FORM])?;
    if ctx.media_type().as_deref() != Some(FORM) {
        return Ok(Upload { members: ctx.members()?, file: None });
    }
    ctx.form(bytes)
}

fn named(ctx: &Ctx<'_>) -> Result<(u32, Row), Halt> {
    let base = bases::above(ctx)?;
    let text = ctx.params.get(1).copied().unwrap_or_default();
    let account = ctx.account();
    let number = crate::id::parse(account.space(), text).ok_or(Refusal::NotFound(MISSING))?;
    let row = account.find(Kind::Document, number)?.filter(|row| row.facets.contains(&facet_of_base(base)));
    let row = row.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    Ok((number, row))
}

/// `GET /user/knowledgebases/{kb}/documents/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = named(ctx)?;
    Ok(Reply::ok(&data(&shown(&row)?)))
}

/// `PUT /user/knowledgebases/{kb}/documents/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (number, row) = named(ctx)?;
    let changed: ChangedDocument = ctx.update(Document::members(&row.public)?)?;
    ctx.if_match(&data(&shown(&row)?))?;
    let mut document = Document::read(&row.public)?;
    (document.name, document.description) = (changed.name, changed.description);
    document.updated_at.0 = document.updated_at.0.max(ctx.now);
    let stored = Row { public: document.to_json(), ..row.clone() };
    ctx.account().replace(Kind::Document, number, &row, &stored)?;
    Ok(Reply::ok(&message_data("Document updated successfully.", &shown(&stored)?)))
}

/// `DELETE /user/knowledgebases/{kb}/documents/{id}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (number, row) = named(ctx)?;
    ctx.if_match(&data(&shown(&row)?))?;
    let tasks = remove(ctx.account(), number, &row)?;
    job::add_all(ctx.account(), ctx.now, tasks.into())?;
    Ok(Reply::ok(&message("Document deleted successfully.")))
}

/// Removes a document from every list and from search; returns the jobs that delete the rest.
fn remove(account: Scope<'_>, number: u32, row: &Row) -> Result<[Task; 2], Stop> {
    account.remove(Kind::Document, number, row)?;
    let base = base_of(row).ok_or(Document::DAMAGED)?;
    search::hide(account, base, number)?;
    // Large data is deleted in slices, so that other accounts wait for milliseconds only.
    Ok([Task::DropPassages(base, number), Task::DropParts(Kind::Document, number)])
}

/// Deletes every document of a knowledgebase.
pub fn remove_all(account: Scope<'_>, base: u32, now: Timestamp) -> Result<(), Stop> {
    let limit = usize::try_from(UNPAGED_ROWS_MAX).unwrap_or(usize::MAX);
    let mut tasks = Vec::new();
    for (number, row) in account.list(Kind::Document, &facet_of_base(base), limit)? {
        tasks.extend(remove(account, number, &row)?);
    }
    job::add_all(account, now, tasks)
}
