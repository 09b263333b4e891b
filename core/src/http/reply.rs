//! HTTP replies as data.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::list::ListChunk;
use super::stream::Stream;
use crate::json::{Object, Raw, ToJson, joined};
use crate::object::ObjectRead;

/// Page whose body only the host can produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPage {
    /// `GET /readyz`: the store answers.
    Ready,
    /// `GET /metrics`: Prometheus text.
    Metrics,
    /// `GET /docs` and below it: the API explorer.
    Docs,
    /// `GET /` for a browser: the console, or what the host has instead.
    Home,
    /// `GET /console` and below it: the console and its files.
    Console,
    /// `GET /widget.js`: the script by which a page embeds an assistant.
    Widget,
    /// `GET /admin/backup`: a consistent snapshot, streamed.
    Backup,
    /// `GET /admin/store`: what the host knows of its store, a `StoreState`.
    Store,
    /// `GET /admin/nodes`: the processes that serve the store, a list of `ShownNode`.
    Nodes,
    /// `POST /admin/nodes/{id}/drain`: the node with this id gives its accounts to the others.
    DrainNode([u8; 16]),
}

/// Body of a reply; `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// A complete body: JSON, unless the headers name another type.
    Json(Vec<u8>),
    /// No body.
    Empty,
    /// A page that the host produces.
    Host(HostPage),
    /// Server-sent events, until the client disconnects.
    Stream(Stream),
    /// The first or a further piece of a long list; used only if [`Config::lists_in_pieces`] is set.
    ///
    /// [`Config::lists_in_pieces`]: crate::setup::Config::lists_in_pieces
    Piece(ListChunk),
    /// Bytes of an object, which the host reads as its client takes them; the headers name type and length.
    Object(ObjectRead),
}

impl Content {
    /// Returns the bytes produced so far; empty for [`Content::Empty`] and [`Content::Host`].
    pub fn made(&self) -> &[u8] {
        match self {
            Self::Json(bytes) | Self::Piece(ListChunk { bytes, .. }) | Self::Stream(Stream { bytes, .. }) => bytes,
            Self::Empty | Self::Host(_) | Self::Object(_) => &[],
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(bytes) => write!(f, "Json({} bytes)", bytes.len()),
            Self::Empty => f.write_str("Empty"),
            Self::Host(page) => write!(f, "Host({page:?})"),
            Self::Stream(stream) => write!(f, "Stream({} bytes)", stream.bytes.len()),
            Self::Object(part) => write!(f, "Object({:?})", part.range),
            Self::Piece(piece) => write!(f, "Piece({} bytes)", piece.bytes.len()),
        }
    }
}

/// One HTTP reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Status code; for a refusal, that of its [`Cause`](super::cause::Cause).
    pub status: u16,
    /// Header names (in lower case) and values, without those that the host adds.
    pub headers: Vec<(&'static str, String)>,
    /// Body to send, or how the host gets it.
    pub content: Content,
}

impl Reply {
    fn json(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), content: Content::Json(body) }
    }

    /// Returns the JSON bytes; empty if the content is something else.
    pub fn body(&self) -> &[u8] {
        if let Content::Json(bytes) = &self.content { bytes } else { &[] }
    }

    /// Adds members to a JSON object.
    pub fn with_members(self, more: &impl ToJson) -> Self {
        let content = match self.content {
            Content::Json(bytes) => Content::Json(joined(&Raw(&bytes), more)),
            other => other,
        };
        Self { content, ..self }
    }

    /// Returns 200 with this value as JSON.
    pub fn ok(body: &(impl ToJson + ?Sized)) -> Self {
        Self::json(200, body.to_json())
    }

    /// Adds headers before its own.
    #[must_use]
    pub fn with_headers(mut self, mut headers: Vec<(&'static str, String)>) -> Self {
        headers.append(&mut self.headers);
        Self { headers, ..self }
    }

    /// Returns 200 with bytes that are already JSON.
    pub fn ok_raw(body: Vec<u8>) -> Self {
        Self::json(200, body)
    }

    /// Returns 202 with this value as JSON: the work is done later.
    pub fn accepted(body: &(impl ToJson + ?Sized)) -> Self {
        Self::json(202, body.to_json())
    }

    /// Returns 200 with content whose type is its own, or that the headers name.
    pub fn streamed(content: Content) -> Self {
        Self { status: 200, headers: Vec::new(), content }
    }

    /// Returns 201 with this value as JSON.
    pub fn created(body: &(impl ToJson + ?Sized)) -> Self {
        Self::json(201, body.to_json())
    }

    /// Returns any status with this body, for refusals and for answers kept under an idempotency key.
    pub(super) fn with_status(status: u16, body: Vec<u8>) -> Self {
        Self::json(status, body)
    }

    /// Returns 200 with a page that the host produces.
    pub fn host(page: HostPage) -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Host(page) }
    }

    /// Returns a part of an object: 206, or 200 for the whole.
    pub fn object(part: ObjectRead) -> Self {
        let is_whole = part.range == (0..part.bytes);
        let status = if is_whole { 200 } else { 206 };
        Self { status, headers: Vec::new(), content: Content::Object(part) }
    }

    /// Returns 204, for `OPTIONS`.
    pub fn no_content() -> Self {
        Self { status: 204, headers: Vec::new(), content: Content::Empty }
    }

    /// Returns 304 (RFC 9110 section 15.4.5).
    pub fn not_modified() -> Self {
        Self { status: 304, headers: Vec::new(), content: Content::Empty }
    }

    /// Adds a header; the name must be in lower case.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// JSON object written member by member by a closure.
pub struct ObjectFn<F>(pub F);

impl<F: Fn(&mut Object<'_>)> ToJson for ObjectFn<F> {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        (self.0)(&mut object);
        object.close();
    }
}

/// Returns `{message}`.
pub fn message(text: &str) -> impl ToJson + '_ {
    ObjectFn(move |o: &mut Object<'_>| {
        o.member("message", text);
    })
}

/// Returns `{message, data}`.
pub fn message_data<'a>(text: &'a str, data: &'a (impl ToJson + ?Sized)) -> impl ToJson + 'a {
    ObjectFn(move |o: &mut Object<'_>| {
        o.member("message", text).member("data", data);
    })
}

/// Returns `{data}`.
pub fn data(data: &(impl ToJson + ?Sized)) -> impl ToJson + '_ {
    ObjectFn(move |o: &mut Object<'_>| {
        o.member("data", data);
    })
}
