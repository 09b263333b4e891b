//! Replies as data.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::list::Piece;
use super::stream::Stream;
use crate::json::{Object, ToJson};

/// A page whose body only a host can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPage {
    /// `GET /readyz`: the store answers.
    Ready,
    /// `GET /metrics`: Prometheus text.
    Metrics,
    /// `GET /docs` and below it: the API explorer.
    Docs,
    /// `GET /admin/backup`: a consistent snapshot, streamed.
    Backup,
}

/// The body of a reply; `Debug` shows its length.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// JSON bytes.
    Json(Vec<u8>),
    /// Nothing.
    Empty,
    /// What the host makes.
    Host(HostPage),
    /// Server-sent events, for as long as somebody reads them.
    Stream(Stream),
    /// The beginning of a long list, or what comes next of it: only where [`Config::lists_in_pieces`] asks for it.
    ///
    /// [`Config::lists_in_pieces`]: crate::setup::Config::lists_in_pieces
    Piece(Piece),
}

impl Content {
    /// Its bytes as far as they are made.
    pub fn made(&self) -> &[u8] {
        match self {
            Self::Json(bytes) | Self::Piece(Piece { bytes, .. }) | Self::Stream(Stream { bytes, .. }) => bytes,
            Self::Empty | Self::Host(_) => &[],
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
            Self::Piece(piece) => write!(f, "Piece({} bytes)", piece.bytes.len()),
        }
    }
}

/// One HTTP reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status code: of a success as it is made here, of a refusal as its [`Cause`](super::cause::Cause) has it.
    pub status: u16,
    /// Header names and values.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub content: Content,
}

impl Reply {
    fn json(status: u16, body: Vec<u8>) -> Self {
        Self { status, headers: Vec::new(), content: Content::Json(body) }
    }

    /// 200 with this body.
    pub fn ok(body: &(impl ToJson + ?Sized)) -> Self {
        Self::json(200, body.to_json())
    }

    /// 200 with bytes that are JSON already.
    pub fn ok_raw(body: Vec<u8>) -> Self {
        Self::json(200, body)
    }

    /// 202 with this body: it is done later.
    pub fn accepted(body: &(impl ToJson + ?Sized)) -> Self {
        Self::json(202, body.to_json())
    }

    /// 200 with a stream.
    pub fn streamed(content: Content) -> Self {
        Self { status: 200, headers: Vec::new(), content }
    }

    /// 201 with this body.
    pub fn created(body: &(impl ToJson + ?Sized)) -> Self {
        Self::json(201, body.to_json())
    }

    /// Another status with this body: for `refusal.rs` and answers kept under an idempotency key.
    pub(super) fn with_status(status: u16, body: Vec<u8>) -> Self {
        Self::json(status, body)
    }

    /// 200 without a JSON body of ours.
    pub fn host(page: HostPage) -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Host(page) }
    }

    /// 204, for `OPTIONS`.
    pub fn no_content() -> Self {
        Self { status: 204, headers: Vec::new(), content: Content::Empty }
    }

    /// 304 (RFC 9110 section 15.4.5).
    pub fn not_modified() -> Self {
        Self { status: 304, headers: Vec::new(), content: Content::Empty }
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Whether the request was carried out.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// A body written member by member.
pub struct Shape<F>(pub F);

impl<F: Fn(&mut Object<'_>)> ToJson for Shape<F> {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        (self.0)(&mut object);
        object.close();
    }
}

/// `{message}`
pub fn message(text: &str) -> impl ToJson + '_ {
    Shape(move |o: &mut Object<'_>| {
        o.member("message", text);
    })
}

/// `{message, data}`
pub fn message_data<'a>(text: &'a str, data: &'a (impl ToJson + ?Sized)) -> impl ToJson + 'a {
    Shape(move |o: &mut Object<'_>| {
        o.member("message", text).member("data", data);
    })
}

/// `{data}`
pub fn data(data: &(impl ToJson + ?Sized)) -> impl ToJson + '_ {
    Shape(move |o: &mut Object<'_>| {
        o.member("data", data);
    })
}
