//! Converts replies of the core into responses of hyper.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use switchboard_core::http::reply::{Content, Reply};

use crate::room::Held;

/// Body of a response.
pub type ResponseBody = BoxBody<Bytes, std::io::Error>;

/// Bytes that count against the budget of answers until the last of them is taken.
pub struct Counted {
    bytes: Vec<u8>,
    _held: Held,
}

impl Counted {
    /// Wraps bytes with what they hold of the budget.
    pub fn new(bytes: Vec<u8>, held: Held) -> Self {
        Self { bytes, _held: held }
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Converts a reply; `body`, with its media type, replaces the reply's content.
pub fn response(reply: Reply, body: Option<(&'static str, ResponseBody)>) -> Response<ResponseBody> {
    let (media, body) = match (reply.content, body) {
        (_, Some((media, body))) => (Some(media), body),
        (Content::Json(bytes), None) => (Some("application/json"), full(bytes)),
        (Content::Empty | Content::Host(_) | Content::Stream(_) | Content::Piece(_) | Content::Object(_), None) => {
            (None, full(Vec::new()))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Some(media) = media {
        headers.insert("content-type", HeaderValue::from_static(media));
    }
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// Wraps bytes as a body of known length.
pub fn full(bytes: impl Into<Bytes>) -> ResponseBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}
