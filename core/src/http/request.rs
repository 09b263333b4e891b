//! HTTP requests as data.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

/// HTTP methods that the service distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// `GET`
    Get,
    /// `HEAD`: as `GET`, without the body.
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
    /// `OPTIONS`
    Options,
    /// Any other method: 405 on every known path.
    Other,
}

impl Method {
    /// Parses a method name; names are case-sensitive (RFC 9110 section 9.1).
    pub fn parse(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            "OPTIONS" => Self::Options,
            _ => Self::Other,
        }
    }

    /// Returns the name in capitals; `OTHER` for [`Self::Other`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Other => "OTHER",
        }
    }

    /// Returns whether a request of this method may change anything.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch | Self::Delete)
    }
}

/// Headers that the service reads; a host passes on no others.
pub const HEADERS: [&str; 22] = [
    "accept",
    "authorization",
    "content-type",
    "content-length",
    "host",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "if-range",
    "last-event-id",
    "prefer",
    "range",
    "x-request-id",
    "origin",
    "access-control-request-method",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "cookie",
    "sec-fetch-site",
    "x-csrf-token",
];

/// Returns the static name of a header, given in lower case, if it is one of [`HEADERS`].
pub fn known_header(name: &str) -> Option<&'static str> {
    HEADERS.into_iter().find(|known| *known == name)
}

/// Which address of the service a request arrived at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// The public address.
    #[default]
    Main,
    /// The operator's own address, where one is configured.
    Admin,
}

/// A request body and how much of it was read; `Debug` shows only its length.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Body {
    /// No body was sent.
    #[default]
    None,
    /// The head announces a body, which has not been read yet.
    Pending,
    /// The complete body.
    Full(Vec<u8>),
    /// The body broke off.
    Cut,
    /// The body was larger than the operation accepts.
    TooLarge,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Pending => f.write_str("Pending"),
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Cut => f.write_str("Cut"),
            Self::TooLarge => f.write_str("TooLarge"),
        }
    }
}

/// One HTTP request; `Debug` shows only the names of its headers.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub method: Method,
    /// Path and query as sent, still encoded.
    pub target: String,
    /// Header names in lower case, only those of [`HEADERS`], and raw values, in the order sent.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// Body, as far as it was read.
    pub body: Body,
    /// Address of the other end of the connection, perhaps a proxy; `None` if the host does not know it.
    pub peer: Option<IpAddr>,
    /// Address of the service that it arrived at.
    pub door: Door,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("target", &self.target)
            .field("headers", &headers)
            .field("body", &self.body)
            .field("peer", &self.peer)
            .field("door", &self.door)
            .finish()
    }
}

impl Request {
    /// Returns a request without headers or a body, from an unknown peer at the public address.
    pub fn new(method: Method, target: &str) -> Self {
        let (headers, body) = (Vec::new(), Body::None);
        Self { method, target: target.into(), headers, body, peer: None, door: Door::Main }
    }

    /// Returns a GET of a path with its query.
    pub fn get(target: &str) -> Self {
        Self::new(Method::Get, target)
    }

    /// Adds a token.
    #[must_use]
    pub fn bearer(mut self, token: &str) -> Self {
        self.headers.push(("authorization", alloc::format!("Bearer {token}").into_bytes()));
        self
    }

    /// Returns the first value of a header; `None` if it is absent or not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v)?;
        core::str::from_utf8(value).ok().filter(|text| text.is_ascii())
    }

    /// Returns all values of a list header joined by commas (RFC 9110 section 5.3); `None` if it is absent.
    pub fn list(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.headers.iter().filter(|(n, _)| *n == name).filter_map(|(_, v)| core::str::from_utf8(v).ok()).collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    /// Returns each value of a header that is ASCII, in the order sent.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.headers.iter().filter(move |(known, _)| *known == name);
        values.filter_map(|(_, value)| core::str::from_utf8(value).ok()).filter(|text| text.is_ascii())
    }

    /// Returns how often a header was sent.
    pub fn count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(n, _)| *n == name).count()
    }

    /// Returns `Content-Length` in bytes; `None` if absent or malformed.
    pub fn content_length(&self) -> Option<usize> {
        self.header("content-length")?.parse().ok()
    }
}
