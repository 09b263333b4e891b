//! One row an operation: what the route table is made of, and the tree that finds a row.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

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

/// Operations that end something and are no `DELETE`.
const ENDS: [&str; 3] = ["hangUpCall", "logout", "switchCampaign"];

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
    /// `operationId` in the `OpenAPI` document and the label of its metrics.
    pub id: &'static str,
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
    /// Of 402, 502 and 504 those that it may answer.
    pub refuses: &'static [u16],
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
        id,
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
    /// Whether it is carried out where there is no room for more: it reads, takes away or ends something.
    pub fn needs_no_room(&self) -> bool {
        !self.method.is_write() || self.method == Method::Delete || ENDS.contains(&self.id)
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

    /// It may answer 402 (the balance), 502 or 504 (whom it asks outside).
    pub const fn refuses(self, refuses: &'static [u16]) -> Self {
        Self { refuses, ..self }
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

/// What a path leads to.
pub struct Found<'p> {
    /// The rows of the path, one a method.
    pub routes: Vec<&'static Route>,
    /// The text of each `{…}`, in order.
    pub params: Vec<&'p str>,
}

impl Found<'_> {
    /// The row for a method.
    pub fn route(&self, method: Method) -> Option<&'static Route> {
        let method = if method == Method::Head { Method::Get } else { method };
        self.routes.iter().copied().find(|route| route.method == method || route.patch && method == Method::Patch)
    }

    /// The value of `Allow`.
    pub fn allow(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for route in &self.routes {
            names.push(route.method.name());
            if route.method == Method::Get {
                names.push("HEAD");
            }
            if route.patch {
                names.push("PATCH");
            }
        }
        names.push("OPTIONS");
        names.join(", ")
    }
}

/// The tree of all paths. A literal segment wins over `{…}`, for every method.
#[derive(Default)]
pub struct Router {
    root: Node,
}

#[derive(Default)]
struct Node {
    literals: Vec<(&'static str, Node)>,
    param: Option<Box<Node>>,
    routes: Vec<&'static Route>,
}

impl Router {
    /// The tree of these rows.
    pub fn new(routes: &'static [Route]) -> Self {
        let mut router = Self::default();
        for route in routes {
            for path in route.paths {
                router.root.add(path.split('/').skip(1), route);
            }
        }
        router
    }

    /// The rows of a path, `/api/user/…` being the same as `/user/…`.
    pub fn find<'p>(&self, path: &'p str) -> Option<Found<'p>> {
        let path = path
            .strip_prefix("/api")
            .filter(|rest| rest.starts_with("/user/") || rest.starts_with("/leads/"))
            .unwrap_or(path);
        let mut node = &self.root;
        let mut params = Vec::new();
        for segment in path.strip_prefix('/')?.split('/') {
            node = if let Some((_, next)) = node.literals.iter().find(|(name, _)| *name == segment) {
                next
            } else {
                params.push(segment);
                node.param.as_deref().filter(|_| !segment.is_empty())?
            };
        }
        (!node.routes.is_empty()).then(|| Found { routes: node.routes.clone(), params })
    }
}

impl Node {
    fn add(&mut self, mut segments: impl Iterator<Item = &'static str>, route: &'static Route) {
        let Some(segment) = segments.next() else {
            self.routes.push(route);
            return;
        };
        if segment.starts_with('{') {
            self.param.get_or_insert_default().add(segments, route);
            return;
        }
        let at = self.literals.iter().position(|(name, _)| *name == segment).unwrap_or_else(|| {
            self.literals.push((segment, Self::default()));
            self.literals.len() - 1
        });
        self.literals[at].1.add(segments, route);
    }
}
