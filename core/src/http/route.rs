//! [`Route`]: one row of the route table, describing one operation.

use super::cause::Cause;
use super::ctx::Ctx;
use super::refusal::{Form, Halt, Invalid};
use super::reply::Reply;
use super::request::Method;
use crate::key::Kind;
use crate::record::Table;
use crate::record::schema::Purpose;

/// Result of a handler.
pub type Handled = Result<Reply, Halt>;

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Anyone, without a token.
    Anyone,
    /// An account, by API key or session token.
    User,
    /// The operator, by the operator's token.
    Operator,
    /// A voice engine, by an engine token.
    Engine,
    /// An account by its token, or anyone without one: the operation says what strangers may.
    Visitor,
}

/// Body that an operation reads.
#[derive(Clone, Copy, Debug)]
pub enum BodyKind {
    /// No body: one sent anyway must have an accepted type and size, but is not parsed.
    None,
    /// A JSON object described by this table, for creating or updating.
    Json(&'static Table, Purpose),
    /// A document: JSON described by this table, or `multipart/form-data` with a file.
    Document(&'static Table),
    /// A file of one of these media types and its maximum size in bytes; the handler validates the content.
    File(&'static [&'static str], usize),
    /// A file as [`Self::File`], which never comes to the handler: the host makes it an object.
    Object(&'static [&'static str], usize),
}

/// Form of a successful answer, for the `OpenAPI` document.
#[derive(Clone, Copy, Debug)]
pub enum ReplyForm {
    /// `{message}`
    Message,
    /// The record itself, without an envelope.
    Bare(&'static Table),
    /// The record itself, or a page for whoever prefers `text/html`.
    BareOrPage(&'static Table),
    /// The record itself, or as it is written for whoever prefers `text/event-stream`.
    BareOrStream(&'static Table),
    /// An array of records, without an envelope.
    BareList(&'static Table),
    /// `{data: record}`
    Data(&'static Table),
    /// `{data: [record]}`
    DataList(&'static Table),
    /// The pagination envelope around an array of records.
    Page(&'static Table),
    /// The pagination envelope, or that of a list by cursor.
    PageOrCursor(&'static Table),
    /// `{message, data: record}`
    MessageData(&'static Table),
    /// `{message, data: []}`
    MessageEmpty,
    /// `{message, <member>: record}`
    MessageMember(&'static str, &'static Table),
    /// `{<member>: [record]}`
    MemberList(&'static str, &'static Table),
    /// `{message, secrets: [record]}`, or `{secrets: [record]}` for `GET`.
    Secrets(&'static Table),
    /// `{data: [record], last_seq}`, or a live stream.
    Feed(&'static Table),
    /// `{data: [{seq, at, type, …}]}`, or a live stream.
    CallEvents,
    /// `{status}`
    Status,
    /// Content other than JSON, with its media type.
    Media(&'static str),
    /// Bytes of an object, with its media type; a part of them with 206.
    Object(&'static str),
}

impl ReplyForm {
    /// Returns the table of the record, or of the records, that the answer shows.
    pub const fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Bare(table)
            | Self::BareOrPage(table)
            | Self::BareOrStream(table)
            | Self::BareList(table)
            | Self::Data(table)
            | Self::DataList(table)
            | Self::Page(table)
            | Self::PageOrCursor(table)
            | Self::MessageData(table)
            | Self::MessageMember(_, table)
            | Self::MemberList(_, table)
            | Self::Secrets(table)
            | Self::Feed(table) => Some(table),
            Self::Message | Self::MessageEmpty | Self::CallEvents | Self::Status | Self::Media(_) | Self::Object(_) => {
                None
            }
        }
    }
}

/// Effect of an operation on stored data, which decides whether it is refused when storage is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footprint {
    /// None: it reads, deletes or ends something, and runs even when storage is used up or the disk is full.
    None,
    /// It writes, but adds nothing that counts towards a plan's storage.
    Passing,
    /// It may add to a plan's storage.
    More,
}

/// One operation: a row of the route table.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table, not states")]
pub struct Route {
    /// HTTP method; `PUT` rows may accept `PATCH` as well.
    pub method: Method,
    /// Whether `PATCH` does the same.
    pub patch: bool,
    /// Paths relative to the root, the first one canonical; those under `/user` are also served under `/api`.
    pub paths: &'static [&'static str],
    /// More paths, which the `OpenAPI` document omits: files of a page.
    pub files: &'static [&'static str],
    /// `operationId` in the `OpenAPI` document and label of the metrics.
    pub id: &'static str,
    /// Name of its group, a tag in the `OpenAPI` document.
    pub tag: &'static str,
    /// One-line description for the `OpenAPI` document.
    pub summary: &'static str,
    /// Which token it requires.
    pub who: Who,
    /// Which body it reads.
    pub body: BodyKind,
    /// Further records whose members a body may carry without a word, because answers show them: a record that was read
    /// may be sent back whole.
    pub shown: &'static [&'static Table],
    /// Whether unknown members of the body are refused even if the request does not ask for it.
    pub strict: bool,
    /// Limit of the body in bytes, if lower than that of its [`BodyKind`].
    pub body_bytes_max: Option<usize>,
    /// Query parameters, if it has any.
    pub query: Option<&'static Table>,
    /// Status of a successful answer: 200, 201 or 202.
    pub status: u16,
    /// Form of a successful answer.
    pub shape: ReplyForm,
    /// Form of an answer with 200 where nothing is made, if there is one besides.
    pub looks: Option<ReplyForm>,
    /// Name of the file that its list is as CSV, if callers may prefer that.
    pub csv: Option<&'static str>,
    /// Whether errors are `{message}` or `{error}`.
    pub form: Form,
    /// How validation errors are worded.
    pub invalid: Invalid,
    /// Whether its answer carries an `ETag` (by default, all `GET` rows).
    pub etag: bool,
    /// Whether its answer contains a token or secret, so that it is never kept for replay.
    pub secret: bool,
    /// Whether a read-only key may call it (by default, `GET` rows only).
    pub read_only: bool,
    /// Kind of resource: of the row that its first parameter names, of the rows it lists, or of the one it creates.
    pub about: Option<Kind>,
    /// Kind of the resource whose id the answer's `id` is, if different from `about`.
    pub made: Option<Kind>,
    /// Whether it honours `If-Match` (by default, `PUT` and `DELETE` rows).
    pub conditional: bool,
    /// Whether it honours `Idempotency-Key` (by default, `POST` rows).
    pub keyed: bool,
    /// Whether a key counts for the resource in the path alone.
    pub keyed_by_path: bool,
    /// Whether it may take several steps, because it calls a service outside or yields to other writers.
    pub several_steps: bool,
    /// Whether it goes on even if the host had no room for what it asked outside, because its first step must be settled.
    pub settles: bool,
    /// Effect on stored data.
    pub footprint: Footprint,
    /// Causes of refusal that do not follow from the other columns.
    pub refuses: &'static [Cause],
    /// Function that runs the operation.
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
        shown: &[],
        strict: false,
        body_bytes_max: None,
        query: None,
        status: 200,
        shape: ReplyForm::Message,
        looks: None,
        csv: None,
        form: Form::Message,
        invalid: Invalid::First,
        etag: matches!(method, Method::Get),
        secret: false,
        read_only: matches!(method, Method::Get),
        about: None,
        made: None,
        conditional: matches!(method, Method::Put | Method::Delete),
        keyed: matches!(method, Method::Post),
        keyed_by_path: false,
        several_steps: false,
        settles: false,
        footprint: if matches!(method, Method::Post | Method::Put) { Footprint::More } else { Footprint::None },
        refuses: &[],
        handler,
    }
}

/// Returns a `GET` row with the defaults of its method.
pub const fn get(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Get, paths, id, summary, handler)
}

/// Returns a `POST` row with the defaults of its method.
pub const fn post(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Post, paths, id, summary, handler)
}

/// Returns a `PUT` row with the defaults of its method.
pub const fn put(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Put, paths, id, summary, handler)
}

/// Returns a `PATCH` row with the defaults of its method.
pub const fn patch(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Patch, paths, id, summary, handler)
}

/// Returns a `DELETE` row with the defaults of its method.
pub const fn delete(
    paths: &'static [&'static str],
    id: &'static str,
    summary: &'static str,
    handler: fn(&Ctx<'_>) -> Handled,
) -> Route {
    row(Method::Delete, paths, id, summary, handler)
}

impl Route {
    /// Returns whether it serves requests of this method.
    pub fn takes_method(&self, method: Method) -> bool {
        self.method == method || self.patch && method == Method::Patch
    }

    /// Returns the names of the `{…}` segments of its first path, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        let path = self.paths.first().copied().unwrap_or_default();
        path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Serves `PATCH` like `PUT`.
    pub const fn and_patch(self) -> Self {
        Self { patch: true, ..self }
    }

    /// Reads a JSON body described by this table: an update for `PUT`, else a new resource.
    pub const fn takes(self, table: &'static Table) -> Self {
        let purpose = if matches!(self.method, Method::Put) { Purpose::Update } else { Purpose::Create };
        Self { body: BodyKind::Json(table, purpose), ..self }
    }

    /// Reads a JSON body described by this table, with all that it requires, also of a `PUT`.
    pub const fn takes_whole(self, table: &'static Table) -> Self {
        Self { body: BodyKind::Json(table, Purpose::Create), ..self }
    }

    /// Reads a document upload, or JSON described by this table.
    pub const fn takes_document(self, table: &'static Table) -> Self {
        Self { body: BodyKind::Document(table), ..self }
    }

    /// Reads a file of one of these media types, of at most `bytes_max` bytes.
    pub const fn takes_file(self, media: &'static [&'static str], bytes_max: usize) -> Self {
        Self { body: BodyKind::File(media, bytes_max), ..self }
    }

    /// Has the host make an object of a file of one of these media types, of at most `bytes_max` bytes.
    pub const fn takes_object(self, media: &'static [&'static str], bytes_max: usize) -> Self {
        Self { body: BodyKind::Object(media, bytes_max), ..self }
    }

    /// Ignores the members of these records in a body without a word.
    pub const fn shown_as(self, shown: &'static [&'static Table]) -> Self {
        Self { shown, ..self }
    }

    /// Refuses unknown members of the body, because the operation costs money.
    pub const fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// Limits the body to this many bytes.
    pub const fn at_most(self, bytes: usize) -> Self {
        Self { body_bytes_max: Some(bytes), ..self }
    }

    /// Reads these query parameters.
    pub const fn asks(self, table: &'static Table) -> Self {
        Self { query: Some(table), ..self }
    }

    /// Answers 200 in this form.
    pub const fn gives(self, shape: ReplyForm) -> Self {
        Self { shape, ..self }
    }

    /// Answers 201 in this form.
    pub const fn makes(self, shape: ReplyForm) -> Self {
        Self { status: 201, shape, ..self }
    }

    /// Answers 202 in this form.
    pub const fn accepts(self, shape: ReplyForm) -> Self {
        Self { status: 202, shape, ..self }
    }

    /// Answers 200 in this form where it makes nothing: the query asks for a look only, or it was made before.
    pub const fn or_looks(self, shape: ReplyForm) -> Self {
        Self { looks: Some(shape), ..self }
    }

    /// Answers callers who prefer CSV with all rows of its page's list, as a file of this name.
    pub const fn or_csv(self, file: &'static str) -> Self {
        Self { csv: Some(file), ..self }
    }

    /// Forbids the operation to read-only keys.
    pub const fn not_for_read_only(self) -> Self {
        Self { read_only: false, ..self }
    }

    /// Uses `{error}` as its error body.
    pub const fn error_form(self) -> Self {
        Self { form: Form::Error, ..self }
    }

    /// Sets its error body.
    pub const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Sets the wording of validation errors.
    pub const fn invalid(self, invalid: Invalid) -> Self {
        Self { invalid, ..self }
    }

    /// Sets which token it requires.
    pub const fn by(self, who: Who) -> Self {
        Self { who, ..self }
    }

    /// Sets the kind of resource that it works on.
    pub const fn about(self, kind: Kind) -> Self {
        Self { about: Some(kind), ..self }
    }

    /// Sets the kind of the resource whose id the answer's `id` is.
    pub const fn of_made(self, kind: Kind) -> Self {
        Self { made: Some(kind), ..self }
    }

    /// Adds causes of refusal that do not follow from the other columns.
    pub const fn refuses(self, refuses: &'static [Cause]) -> Self {
        Self { refuses, ..self }
    }

    /// Ignores `Idempotency-Key`.
    pub const fn without_idempotency(self) -> Self {
        Self { keyed: false, ..self }
    }

    /// Ignores `If-Match`, for resources that have no read of their own.
    pub const fn without_if_match(self) -> Self {
        Self { conditional: false, ..self }
    }

    /// Counts idempotency keys for the resource in the path alone, so that strangers may send them too.
    pub const fn keyed_by_path(self) -> Self {
        Self { keyed_by_path: true, ..self }
    }

    /// Marks that it may take several steps, and settles what the first one began whatever comes of the others.
    pub const fn in_settled_steps(self) -> Self {
        Self { several_steps: true, settles: true, ..self }
    }

    /// Marks that it may take several steps.
    pub const fn in_several_steps(self) -> Self {
        Self { several_steps: true, ..self }
    }

    /// Marks that it ends something, so that it runs even when storage is used up.
    pub const fn ends(self) -> Self {
        Self { footprint: Footprint::None, ..self }
    }

    /// Marks that it adds nothing that counts towards a plan's storage.
    pub const fn stores_nothing(self) -> Self {
        Self { footprint: Footprint::Passing, ..self }
    }

    /// Serves these paths too, which the `OpenAPI` document omits.
    pub const fn with_files(self, files: &'static [&'static str]) -> Self {
        Self { files, ..self }
    }

    /// Sends no `ETag`, although it is a `GET` row.
    pub const fn without_etag(self) -> Self {
        Self { etag: false, ..self }
    }

    /// Marks that its answer contains a token or secret.
    pub const fn shows_token(self) -> Self {
        Self { secret: true, ..self }
    }
}

/// Rows that the `OpenAPI` document groups under a name.
#[derive(Clone, Copy)]
pub struct Group(pub &'static str, pub &'static [Route]);

/// Returns the number of rows in all groups.
pub const fn count(groups: &[Group]) -> usize {
    let (mut rows, mut at) = (0, 0);
    while at < groups.len() {
        rows += groups[at].1.len();
        at += 1;
    }
    rows
}

/// Flattens the groups into one array; each row gets the name of its group as its tag.
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
