//! One row an operation: what the route table is made of.

use super::cause::Cause;
use super::ctx::Ctx;
use super::refusal::{Form, Halt, Invalid};
use super::reply::Reply;
use super::request::Method;
use crate::key::Kind;
use crate::record::Table;
use crate::record::schema::Purpose;

/// What a handler comes to.
pub type Handled = Result<Reply, Halt>;

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// No token is asked.
    Anyone,
    /// An API key or a session of an account.
    User,
    /// The operator's token.
    Operator,
    /// A token of a voice engine.
    Engine,
}

/// What body an operation reads.
#[derive(Clone, Copy, Debug)]
pub enum BodyKind {
    /// None.
    None,
    /// A JSON object of this table.
    Json(&'static Table, Purpose),
    /// A document: JSON of this table, or `multipart/form-data` with a file.
    Document(&'static Table),
    /// A file of one of these media types, at most so many bytes: its handler judges what is in it.
    File(&'static [&'static str], usize),
}

/// The form of a successful answer, for the `OpenAPI` document.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// `{message}`
    Message,
    /// The record itself.
    Bare(&'static Table),
    /// An array of records.
    BareList(&'static Table),
    /// `{data: record}`
    Data(&'static Table),
    /// `{data: [record]}`
    DataList(&'static Table),
    /// The pagination envelope around records.
    Page(&'static Table),
    /// `{message, data: record}`
    MessageData(&'static Table),
    /// `{message, data: []}`
    MessageEmpty,
    /// `{message, <member>: record}`
    MessageMember(&'static str, &'static Table),
    /// `{<member>: [record]}`
    MemberList(&'static str, &'static Table),
    /// An array of models; `code` may be missing.
    Models(&'static Table),
    /// `{message, secrets: [record]}`, or `{secrets: [record]}` for reading.
    Secrets(&'static Table),
    /// `{data: [record], last_seq}`, or a live stream.
    Feed(&'static Table),
    /// `{data: [{seq, at, type, …}]}`, or a live stream.
    CallEvents,
    /// `{status}`
    Status,
    /// Something that is not JSON, by media type.
    Media(&'static str),
}

/// What an operation needs of the room that there is for stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footprint {
    /// None: it reads, takes away or ends something, and is carried out where there is no room for more.
    None,
    /// It writes, but leaves no more of what a plan counts than there was.
    Passing,
    /// It may leave more of that.
    More,
}

/// One operation.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table, not states")]
pub struct Route {
    /// Its method; `PUT` rows may take `PATCH` as well.
    pub method: Method,
    /// Whether `PATCH` is the same operation.
    pub patch: bool,
    /// Its paths, relative to the root; under `/user` also below `/api`.
    pub paths: &'static [&'static str],
    /// More of them that the `OpenAPI` document leaves out: files of a page.
    pub files: &'static [&'static str],
    /// `operationId` in the `OpenAPI` document and the label of its metrics.
    pub id: &'static str,
    /// The group that it stands in, for the `OpenAPI` document.
    pub tag: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Who may call it.
    pub who: Who,
    /// What it reads.
    pub body: BodyKind,
    /// The limit of its body, bytes, where that of its kind is too much.
    pub body_bytes_max: Option<usize>,
    /// Its query parameters.
    pub query: Option<&'static Table>,
    /// Its successful answer.
    pub status: u16,
    /// The form of that answer.
    pub shape: Shape,
    /// Which error body it uses.
    pub form: Form,
    /// What its validation errors say.
    pub invalid: Invalid,
    /// Whether its answer carries an `ETag`.
    pub etag: bool,
    /// Whether its answer shows a token, so that it is never kept.
    pub secret: bool,
    /// Whether a read-only key may call it.
    pub read_only: bool,
    /// What it is about: the row that its first parameter names, a list of such rows, or a new one.
    pub about: Option<Kind>,
    /// Whose id the `id` of its answer is, where that is not a row of the kind that it is about.
    pub made: Option<Kind>,
    /// Whether it honours `If-Match`.
    pub conditional: bool,
    /// Whether it honours an `Idempotency-Key`.
    pub keyed: bool,
    /// Whether its answer may take several steps, because it asks somebody outside or lets others have their turn.
    pub several_steps: bool,
    /// What it needs of the room for stored data.
    pub footprint: Footprint,
    /// Why it may refuse, beside what follows from the other columns.
    pub refuses: &'static [Cause],
    /// What it does.
    pub handler: fn(&Ctx<'_>) -> Handled,
}

const fn row(
    method: Method,
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    Route {
        method,
        patch: false,
        paths,
        files: &[],
        id,
        tag: "",
        summary,
        who: Who::User,
        body: BodyKind::None,
        body_bytes_max: None,
        query: None,
        status: 200,
        shape: Shape::Message,
        form: Form::Message,
        invalid: Invalid::First,
        etag: matches!(method, Method::Get),
        secret: false,
        read_only: matches!(method, Method::Get),
        about: None,
        made: None,
        conditional: matches!(method, Method::Put | Method::Delete),
        keyed: matches!(method, Method::Post),
        several_steps: false,
        footprint: if matches!(method, Method::Post | Method::Put) { Footprint::More } else { Footprint::None },
        refuses: &[],
        handler,
    }
}

/// A `GET` row.
pub const fn get(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Get, paths, id, summary, handler)
}

/// A `POST` row.
pub const fn post(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Post, paths, id, summary, handler)
}

/// A `PUT` row.
pub const fn put(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Put, paths, id, summary, handler)
}

/// A `DELETE` row.
pub const fn delete(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Delete, paths, id, summary, handler)
}

impl Route {
    /// Whether it answers requests of a method.
    pub fn takes_method(&self, method: Method) -> bool {
        self.method == method || self.patch && method == Method::Patch
    }

    /// The names of the `{…}` in its path, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let path = self.paths.first().copied().unwrap_or_default();
        path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// `PATCH` does the same.
    pub const fn and_patch(self) -> Self {
        Self { patch: true, ..self }
    }

    /// It reads a body of this table.
    pub const fn takes(self, table: &'static Table) -> Self {
        let purpose = if matches!(self.method, Method::Put) { Purpose::Update } else { Purpose::Create };
        Self { body: BodyKind::Json(table, purpose), ..self }
    }

    /// It reads a document upload, or JSON of this table.
    pub const fn takes_document(self, table: &'static Table) -> Self {
        Self { body: BodyKind::Document(table), ..self }
    }

    /// It reads a file of one of these media types, at most so many bytes.
    pub const fn takes_file(self, media: &'static [&'static str], bytes_max: usize) -> Self {
        Self { body: BodyKind::File(media, bytes_max), ..self }
    }

    /// Its body has at most so many bytes.
    pub const fn at_most(self, bytes: usize) -> Self {
        Self { body_bytes_max: Some(bytes), ..self }
    }

    /// It reads these query parameters.
    pub const fn asks(self, table: &'static Table) -> Self {
        Self { query: Some(table), ..self }
    }

    /// It answers 200 in this form.
    pub const fn gives(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// It answers 201 in this form.
    pub const fn makes(self, shape: Shape) -> Self {
        Self { status: 201, shape, ..self }
    }

    /// It answers 202 in this form.
    pub const fn accepts(self, shape: Shape) -> Self {
        Self { status: 202, shape, ..self }
    }

    /// A read-only key may not read it.
    pub const fn not_for_read_only(self) -> Self {
        Self { read_only: false, ..self }
    }

    /// Its errors are `{error}`.
    pub const fn error_form(self) -> Self {
        Self { form: Form::Error, ..self }
    }

    /// What its validation errors say.
    pub const fn invalid(self, invalid: Invalid) -> Self {
        Self { invalid, ..self }
    }

    /// Who may call it.
    pub const fn by(self, who: Who) -> Self {
        Self { who, ..self }
    }

    /// It is about rows of this kind.
    pub const fn about(self, kind: Kind) -> Self {
        Self { about: Some(kind), ..self }
    }

    /// The `id` of its answer is that of a row of this kind.
    pub const fn of_made(self, kind: Kind) -> Self {
        Self { made: Some(kind), ..self }
    }

    /// It may refuse for these reasons, beside those that follow from its other columns.
    pub const fn refuses(self, refuses: &'static [Cause]) -> Self {
        Self { refuses, ..self }
    }

    /// It ignores `Idempotency-Key`.
    pub const fn without_idempotency(self) -> Self {
        Self { keyed: false, ..self }
    }

    /// It ignores `If-Match`: what it changes cannot be read by itself.
    pub const fn without_if_match(self) -> Self {
        Self { conditional: false, ..self }
    }

    /// Its answer may take several steps.
    pub const fn in_several_steps(self) -> Self {
        Self { several_steps: true, ..self }
    }

    /// It ends something: it is carried out where there is no room for more.
    pub const fn ends(self) -> Self {
        Self { footprint: Footprint::None, ..self }
    }

    /// It leaves no more of what a plan counts than there was.
    pub const fn stores_nothing(self) -> Self {
        Self { footprint: Footprint::Passing, ..self }
    }

    /// It answers at these paths as well, which the document leaves out.
    pub const fn with_files(self, files: &'static [&'static str]) -> Self {
        Self { files, ..self }
    }

    /// Its answer carries no `ETag`.
    pub const fn without_etag(self) -> Self {
        Self { etag: false, ..self }
    }

    /// Its answer shows a token.
    pub const fn shows_token(self) -> Self {
        Self { secret: true, ..self }
    }
}

/// Rows that the document shows together, under a name.
#[derive(Clone, Copy)]
pub struct Group(pub &'static str, pub &'static [Route]);

/// How many rows there are.
pub const fn count(groups: &[Group]) -> usize {
    let (mut rows, mut at) = (0, 0);
    while at < groups.len() {
        rows += groups[at].1.len();
        at += 1;
    }
    rows
}

/// All rows one after another, each with the name of its group.
pub const fn flat<const N: usize>(groups: &[Group]) -> [Route; N] {
    let (mut rows, mut group, mut at) = ([groups[0].1[0]; N], 0, 0);
    while group < groups.len() {
        let Group(tag, own) = groups[group];
        let mut each = 0;
        while each < own.len() {
            rows[at] = Route { tag, ..own[each] };
            (each, at) = (each + 1, at + 1);
        }
        group += 1;
    }
    rows
}
