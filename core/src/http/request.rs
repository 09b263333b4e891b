//! Requests as data.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

/// The methods that the service knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// GET
    Get,
    /// HEAD: as GET, without the body.
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// PATCH
    Patch,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
    /// Anything else: 405 on every known path.
    Other,
}

impl Method {
    /// The method of this name; names are case-sensitive (RFC 9110 section 9.1).
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

    /// Its name.
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

    /// Whether a request of this method may change anything.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch | Self::Delete)
    }
}

/// The headers that the service looks at; a host passes on no others.
pub const HEADERS: [&str; 16] = [
    "accept",
    "authorization",
    "content-type",
    "content-length",
    "host",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "last-event-id",
    "x-request-id",
    "origin",
    "access-control-request-method",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// The header of this name, in lower case, if the service looks at it.
pub fn known_header(name: &str) -> Option<&'static str> {
    HEADERS.into_iter().find(|known| *known == name)
}

/// The door a request came in by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Door {
    /// The public address.
    #[default]
    Main,
    /// The operator's own address, where one is configured.
    Admin,
}

/// How much of a body there is; `Debug` shows its length.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Body {
    /// None was sent.
    #[default]
    None,
    /// Its head says that one follows; it was not read.
    Pending,
    /// All of it.
    Full(Vec<u8>),
    /// It broke off.
    Cut,
    /// It was longer than the operation takes.
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

/// One HTTP request; `Debug` shows the names of its headers.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    /// Its method.
    pub method: Method,
    /// Path and query as sent.
    pub target: String,
    /// Names in lower case; those of [`HEADERS`] only.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// Its body.
    pub body: Body,
    /// Who is on the other end of the connection.
    pub peer: Option<IpAddr>,
    /// Where it came in.
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
    /// A header's value; `None` where it is absent or not ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v)?;
        core::str::from_utf8(value).ok().filter(|text| text.is_ascii())
    }

    /// All values of a header that is a list (RFC 9110 section 5.3), as one.
    pub fn list(&self, name: &str) -> Option<String> {
        let values: Vec<&str> =
            self.headers.iter().filter(|(n, _)| *n == name).filter_map(|(_, v)| core::str::from_utf8(v).ok()).collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    /// How often a header was sent.
    pub fn count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(n, _)| *n == name).count()
    }

    /// The length that the head announces, if it does.
    pub fn content_length(&self) -> Option<usize> {
        self.header("content-length")?.parse().ok()
    }
}
