//! [`Text`]: a request as text that can be kept in a file, in the style of HTTP.
//!
//! ```text
//! POST /user/tools
//! authorization: Bearer {owner}
//! content-type: application/json
//!
//! {"name":"look"}
//! ```
//!
//! `{owner}` and the like stand for tokens; `:body cut`, `:body too-large` and `:body pending` set the state of the
//! body, `:door admin` the listener, `:peer` the peer's address.

use switchboard_core::http::request::{Body, Door, Method, Request, known_header};

/// A request in text form.
#[derive(Clone, Debug)]
pub struct Text {
    /// Request line and headers, each with its line end.
    pub head: Vec<u8>,
    /// Body; `None` for a request without one.
    pub body: Option<Vec<u8>>,
}

impl Text {
    /// Creates a request without headers.
    pub fn new(method: Method, target: &str) -> Self {
        Self { head: format!("{} {target}\n", method.name()).into_bytes(), body: None }
    }

    /// Adds a header, without the line ends in its value.
    #[must_use]
    pub fn header(mut self, name: &str, value: &[u8]) -> Self {
        self.head.extend_from_slice(name.as_bytes());
        self.head.extend_from_slice(b": ");
        // On the wire a value cannot contain a line end either.
        self.head.extend(value.iter().filter(|byte| **byte != b'\n'));
        self.head.push(b'\n');
        self
    }

    /// Adds the token of this name.
    #[must_use]
    pub fn bearer(self, name: &str) -> Self {
        self.header("authorization", format!("Bearer {{{name}}}").as_bytes())
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        let mut text = self.header("content-type", b"application/json");
        text.body = Some(body.into());
        text
    }

    /// Returns the text as the bytes of an input.
    pub fn bytes(mut self) -> Vec<u8> {
        if let Some(body) = self.body {
            self.head.push(b'\n');
            self.head.extend(body);
        }
        self.head
    }
}

/// Parses a request; `None` if the bytes are not one.
pub fn parse(input: &[u8], tokens: &[(&'static str, String)]) -> Option<Request> {
    let (line, mut rest) = split(input);
    let line = core::str::from_utf8(line).ok()?;
    let (method, target) = line.split_once(' ')?;
    let mut request = Request {
        method: Method::parse(method),
        target: target.to_owned(),
        headers: Vec::new(),
        body: Body::None,
        peer: None,
        door: Door::Main,
    };
    while !rest.is_empty() {
        let (line, next) = split(rest);
        rest = next;
        if line.is_empty() {
            if matches!(request.body, Body::None) {
                request.body = Body::Full(rest.to_vec());
            }
            break;
        }
        header(&mut request, line, tokens);
    }
    Some(request)
}

fn header(request: &mut Request, line: &[u8], tokens: &[(&'static str, String)]) {
    match line {
        b":body cut" => return request.body = Body::Cut,
        b":body too-large" => return request.body = Body::TooLarge,
        b":body pending" => return request.body = Body::Pending,
        b":door admin" => return request.door = Door::Admin,
        _ => {}
    }
    let Some(at) = line.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = (&line[..at], &line[at + 1..]);
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let Ok(name) = core::str::from_utf8(name) else { return };
    if let Some(known) = known_header(name) {
        request.headers.push((known, filled(value, tokens)));
    }
    if let Ok(peer) = core::str::from_utf8(line)
        && let Some(peer) = peer.strip_prefix(":peer ")
    {
        request.peer = peer.parse().ok();
    }
}

/// Replaces the token names in a value.
fn filled(value: &[u8], tokens: &[(&'static str, String)]) -> Vec<u8> {
    if !value.contains(&b'{') {
        return value.to_vec();
    }
    let Ok(mut text) = String::from_utf8(value.to_vec()) else { return value.to_vec() };
    for (name, token) in tokens {
        text = text.replace(&format!("{{{name}}}"), token);
    }
    text.into_bytes()
}

fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_reads_as_its_request() {
        let tokens = [("owner", "sbk_1".to_owned())];
        let text = Text::new(Method::Post, "/user/tools?x=1").bearer("owner").header("accept", b"\xff").json("{}\n");
        let request = parse(&text.bytes(), &tokens).expect("a request");
        assert_eq!((request.method, request.target.as_str()), (Method::Post, "/user/tools?x=1"));
        assert_eq!(request.header("authorization"), Some("Bearer sbk_1"));
        assert_eq!((request.count("accept"), &request.body), (1, &Body::Full(b"{}\n".to_vec())));
        let cut = parse(b"GET /\n:body cut\n:peer 10.0.0.1\nunknown: x\n\nbody", &tokens).expect("a request");
        assert_eq!((cut.body, cut.headers.len(), cut.peer.is_some()), (Body::Cut, 0, true));
        assert!(parse(b"", &tokens).is_none() && parse(b"GET\xff /", &tokens).is_none());
    }
}
