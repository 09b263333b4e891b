//! Heads of requests and answers: what the core sees, and what is forwarded.

use switchboard_core::http::request::{Body, Door, Method, Request, known_header};

use switchboard_core::remote::CompleteReply;
use switchboard_core::remote::headers::{LENGTH, REFUSED, RELEASE};
use switchboard_core::service::Service;

use crate::settings::EdgeSettings;

/// Header names and values in the form of `wasi:http`.
pub type Fields = Vec<(String, Vec<u8>)>;

/// An answer ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framed {
    /// Status code of the answer.
    pub status: u16,
    /// Headers, including the length of the body.
    pub headers: Fields,
    /// Body, empty where none may follow.
    pub body: Vec<u8>,
}

/// Headers of one connection rather than the message (RFC 9110 section 7.6.1).
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Builds the request that the core sees. Its body is pending where one may follow.
pub fn request(method: Method, target: Option<String>, authority: Option<String>, fields: &Fields) -> Request {
    let mut headers = Vec::with_capacity(8);
    for (name, value) in fields {
        if let Some(known) = known_header(&name.to_ascii_lowercase()) {
            headers.push((known, value.clone()));
        }
    }
    // Hosts drop this header and pass its value separately.
    if let Some(authority) = authority.filter(|_| !headers.iter().any(|(name, _)| *name == "host")) {
        headers.push(("host", authority.into_bytes()));
    }
    let target = target.unwrap_or_else(|| "/".to_owned());
    // Hosts do not expose the peer's address; a proxy in front may forward it.
    let request = Request { method, target, headers, body: Body::None, peer: None, door: Door::Main };
    // Hosts hide how a body is framed: without a length only the method tells whether one may follow.
    let follows = request.content_length().map_or(method.is_write(), |length| length > 0);
    Request { body: if follows { Body::Pending } else { Body::None }, ..request }
}

/// Returns the headers of a request to the region.
pub fn to_region(settings: &EdgeSettings, length: Option<u64>) -> Fields {
    let mut fields = vec![
        ("content-type".to_owned(), b"application/octet-stream".to_vec()),
        ("authorization".to_owned(), format!("Bearer {}", settings.store_token).into_bytes()),
        (RELEASE.to_owned(), Service::version().into_bytes()),
    ];
    if let Some(length) = length {
        fields.push(("content-length".to_owned(), length.to_string().into_bytes()));
    }
    fields
}

/// Returns the headers of the region's answer that are forwarded to the client.
pub fn from_region(mut fields: Fields, method: Method) -> Fields {
    if method == Method::Head {
        // That of the message itself, which has no body.
        fields.retain(|(name, _)| !name.eq_ignore_ascii_case("content-length"));
        let told = fields.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(LENGTH));
        told.into_iter().for_each(|(name, _)| *name = "content-length".to_owned());
    }
    let mut named = Vec::new();
    for (name, value) in &fields {
        if name.eq_ignore_ascii_case("connection") {
            named.extend(String::from_utf8_lossy(value).split(',').map(|name| name.trim().to_ascii_lowercase()));
        }
    }
    fields.retain(|(name, _)| !is_hop_by_hop(name) && !named.iter().any(|other| other.eq_ignore_ascii_case(name)));
    fields
}

/// Frames an answer for sending: with its length, so that a truncated one is noticed, and without a body where none may
/// follow.
pub fn framed(answered: CompleteReply, method: Method) -> Framed {
    let CompleteReply { status, headers, mut body } = answered;
    let mut headers: Fields = headers.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes())).collect();
    headers.retain(|(name, _)| !is_hop_by_hop(name));
    if has_body(status, Method::Get) && !headers.iter().any(|(name, _)| name == "content-length") {
        headers.push(("content-length".to_owned(), body.len().to_string().into_bytes()));
    }
    if !has_body(status, method) {
        body = Vec::new();
    }
    Framed { status, headers, body }
}

/// Returns whether the region refused the message that a request was forwarded in.
pub fn is_refusal(fields: &Fields) -> bool {
    fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(REFUSED))
}

/// Returns whether an answer to this method may have a body (RFC 9110 section 6.4.1).
pub fn has_body(status: u16, method: Method) -> bool {
    method != Method::Head && !matches!(status, 100..=199 | 204 | 304)
}

/// Returns the answer of an edge whose region does not answer, with the time to retry.
pub fn unreachable(mut fallback: CompleteReply) -> CompleteReply {
    fallback.status = 503;
    if !fallback.headers.iter().any(|(name, _)| *name == "retry-after") {
        fallback.headers.push(("retry-after", "1".to_owned()));
    }
    fallback
}

fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.iter().any(|hop| hop.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn the_core_sees_the_headers_it_knows() {
        let sent = fields(&[("Accept", "a/b"), ("dnt", "1"), ("X-Forwarded-For", "1.2.3.4")]);
        let request = request(Method::Get, Some("/a?b".into()), Some("edge.example".into()), &sent);
        assert_eq!(request.target, "/a?b");
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["accept", "x-forwarded-for", "host"]);
        assert_eq!(request.header("host"), Some("edge.example"));
    }

    #[test]
    fn a_host_header_that_is_there_stays_the_only_one() {
        let request = request(Method::Get, None, Some("other".into()), &fields(&[("host", "edge.example")]));
        assert_eq!((request.target.as_str(), request.count("host")), ("/", 1));
        assert_eq!(request.header("host"), Some("edge.example"));
    }

    #[test]
    fn a_body_is_pending_where_one_may_follow() {
        for (method, length, body) in [
            (Method::Get, None, Body::None),
            (Method::Get, Some("3"), Body::Pending),
            (Method::Post, Some("0"), Body::None),
            (Method::Post, Some("3"), Body::Pending),
            (Method::Post, None, Body::Pending),
            (Method::Delete, None, Body::Pending),
            (Method::Head, None, Body::None),
        ] {
            let sent = length.map_or_else(Vec::new, |length| fields(&[("content-length", length)]));
            assert_eq!(request(method, None, None, &sent).body, body, "{method:?} {length:?}");
        }
    }

    #[test]
    fn what_concerns_a_connection_stays_with_it() {
        let sent = [("Connection", "close, X-Hop"), ("x-hop", "1"), ("etag", "e"), ("Transfer-Encoding", "chunked")];
        assert_eq!(from_region(fields(&sent), Method::Get), fields(&[("etag", "e")]));
        let framed = fields(&[("Content-Length", "0"), ("switchboard-length", "698")]);
        assert_eq!(from_region(framed, Method::Head), fields(&[("content-length", "698")]));
        assert_eq!(from_region(fields(&[("content-length", "0")]), Method::Head), Fields::new());
    }

    #[test]
    fn answers_are_framed_by_their_status_and_method() {
        for (status, method, known, length, body) in [
            (200, Method::Get, None, Some("4"), "four"),
            // The core announces the length that the body would have, and leaves the body out.
            (200, Method::Head, Some("9"), Some("9"), ""),
            (200, Method::Head, None, Some("4"), ""),
            (204, Method::Get, None, None, ""),
            (304, Method::Get, None, None, ""),
        ] {
            let headers = known.map(|known: &str| ("content-length", known.to_owned())).into_iter().collect();
            let framed = framed(CompleteReply { status, headers, body: b"four".to_vec() }, method);
            let lengths = length.map_or_else(Vec::new, |length| fields(&[("content-length", length)]));
            assert_eq!((framed.headers, framed.body), (lengths, body.as_bytes().to_vec()), "{status} {method:?}");
        }
    }

    #[test]
    fn a_lost_region_is_503_with_a_time_to_come_back() {
        let fallback = |headers| CompleteReply { status: 200, headers, body: Vec::new() };
        let retry = |answered: CompleteReply| (answered.status, answered.headers);
        assert_eq!(retry(unreachable(fallback(vec![]))), (503, vec![("retry-after", "1".to_owned())]));
        let own = vec![("retry-after", "7".to_owned())];
        assert_eq!(retry(unreachable(fallback(own.clone()))), (503, own));
    }
}
