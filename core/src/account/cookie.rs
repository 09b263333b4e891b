//! The cookie that keeps somebody signed in to the console (docs/api.md, Staying signed in).
//!
//! A browser sends it whoever has it ask, so it never suffices by itself: what a browser says of where a request comes
//! from must be the service's own origin, and a write also shows a text that only the reader of the login's answer has.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64ct::{Base64UrlUnpadded, Encoding};
use sha2::{Digest, Sha256};

use super::token::{self, Token, TokenKind};
use crate::http::own;
use crate::http::request::Request;
use crate::setup::Config;

/// Names of the cookie, over https and without; the first can neither be set for other hosts nor over http.
const NAMES: [&str; 2] = ["__Host-switchboard_session", "switchboard_session"];

/// Returns the cookie's token of a request, before anything else is checked; none if it was sent twice.
pub fn token(request: &Request) -> Option<Token> {
    let sent: Vec<String> = request.all("cookie").map(String::from).collect();
    let pairs = || sent.iter().flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = NAMES.iter().filter_map(|name| {
        let mut values = pairs().filter(|(known, _)| known == name).map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none())
    });
    found.next().and_then(Token::parse).filter(|token| token.kind == TokenKind::Session)
}

/// Returns the cookie's token of a request that the console made; none if it may have been made elsewhere.
pub fn accepted(config: &Config, request: &Request) -> Option<Token> {
    let token = token(request)?;
    let is_write = request.method.is_write();
    let is_shown = || request.header("x-csrf-token").is_some_and(|shown| fits(&token, shown));
    (is_from_here(config, request) && (!is_write || is_shown())).then_some(token)
}

/// Returns whether a page of the service's own made a request, or for a read the browser's user: by `Sec-Fetch-Site` and
/// `Origin`, which no page can set. A write must say one of them.
pub fn is_from_here(config: &Config, request: &Request) -> bool {
    let site = request.header("sec-fetch-site");
    let is_ours = match site {
        Some("same-origin") | None => true,
        Some("none") => !request.method.is_write(),
        Some(_) => false,
    };
    let origin = request.header("origin");
    let is_named = site.is_some() || origin.is_some() || !request.method.is_write();
    is_ours
        && is_named
        && origin.map_or_else(|| own::is_host(config, request), |origin| own::is_origin(config, request, origin))
}

/// Returns the text that a write by this session's cookie shows: a digest of the token, which the cookie alone does not
/// let a page compute.
pub fn csrf(token: &Token) -> String {
    Base64UrlUnpadded::encode_string(&proof(token))
}

fn proof(token: &Token) -> [u8; 32] {
    Sha256::new().chain_update("csrf ").chain_update(token.text()).finalize().into()
}

fn fits(token: &Token, shown: &str) -> bool {
    Base64UrlUnpadded::decode_vec(shown).is_ok_and(|shown| token::same(&proof(token), &shown))
}

/// Returns the value of `Set-Cookie` that keeps a session for so many seconds.
pub fn set(config: &Config, request: &Request, token: &Token, seconds: u64) -> String {
    written(config, request, token.text(), seconds)
}

/// Returns the value of `Set-Cookie` that ends it.
pub fn unset(config: &Config, request: &Request) -> String {
    written(config, request, "", 0)
}

fn written(config: &Config, request: &Request, value: &str, seconds: u64) -> String {
    let (name, secure) = if own::is_https(config, request) { (NAMES[0], "; Secure") } else { (NAMES[1], "") };
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::Method;

    const PUBLIC: &str = "https://voice.example/";

    fn config(public: Option<&str>) -> Config {
        Config {
            public_url: public.map(String::from),
            trust_proxy: ["10.0.0.9/32".parse().expect("a net")].into(),
            ..Config::default()
        }
    }

    fn request(method: Method, peer: &str, headers: &[(&'static str, &str)]) -> Request {
        let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes().to_vec())).collect();
        Request { headers, peer: Some(peer.parse().expect("an address")), ..Request::new(method, "/user/me") }
    }

    #[test]
    fn only_the_services_own_pages_are_here() {
        let local = "127.0.0.1";
        for (public, method, peer, headers, want) in [
            (None, Method::Get, local, &[("host", "127.0.0.1:8080")][..], true),
            (None, Method::Get, local, &[("host", "localhost:8080"), ("sec-fetch-site", "same-origin")], true),
            (None, Method::Get, local, &[("host", "[::1]:8080"), ("sec-fetch-site", "none")], true),
            (None, Method::Get, local, &[("host", "evil.example:8080"), ("sec-fetch-site", "same-origin")], false),
            (None, Method::Get, local, &[("host", "localhost.evil.example")], false),
            (None, Method::Get, local, &[("host", "localhost:8080"), ("sec-fetch-site", "same-site")], false),
            (None, Method::Get, local, &[("host", "localhost:8080"), ("sec-fetch-site", "cross-site")], false),
            (None, Method::Get, local, &[("host", "localhost:8080"), ("origin", "http://localhost:8081")], false),
            (None, Method::Get, local, &[("host", "localhost:8080"), ("origin", "null")], false),
            (None, Method::Post, local, &[("host", "localhost:8080")], false),
            (None, Method::Post, local, &[("host", "localhost:8080"), ("sec-fetch-site", "none")], false),
            (None, Method::Post, local, &[("host", "localhost:8080"), ("sec-fetch-site", "same-origin")], true),
            (None, Method::Post, local, &[("host", "localhost:8080"), ("origin", "http://localhost:8080")], true),
            (None, Method::Post, local, &[("host", "evil.example"), ("origin", "http://evil.example")], false),
            (None, Method::Post, local, &[("host", "evil.example"), ("sec-fetch-site", "same-origin")], false),
            (None, Method::Post, "192.168.1.5", &[("host", "box:8080"), ("origin", "http://box:8080")], true),
            (None, Method::Post, "192.168.1.5", &[("host", "box:8080"), ("origin", "https://box:8080")], false),
            (
                Some(PUBLIC),
                Method::Post,
                local,
                &[("host", "voice.example"), ("origin", "https://voice.example")],
                true,
            ),
            (
                Some(PUBLIC),
                Method::Post,
                local,
                &[("host", "voice.example"), ("origin", "http://voice.example")],
                false,
            ),
            (Some(PUBLIC), Method::Get, local, &[("host", "voice.example"), ("sec-fetch-site", "same-origin")], true),
            (
                Some(PUBLIC),
                Method::Post,
                local,
                &[("host", "localhost:8080"), ("origin", "http://localhost:8080")],
                true,
            ),
            (Some(PUBLIC), Method::Get, local, &[("host", "evil.example"), ("sec-fetch-site", "same-origin")], false),
            (
                None,
                Method::Post,
                "10.0.0.9",
                &[
                    ("host", "x"),
                    ("x-forwarded-host", "a.example"),
                    ("x-forwarded-proto", "https"),
                    ("origin", "https://a.example"),
                ],
                true,
            ),
            (
                None,
                Method::Post,
                "10.0.0.9",
                &[
                    ("host", "x"),
                    ("x-forwarded-host", "a.example"),
                    ("x-forwarded-proto", "https"),
                    ("origin", "https://b.example"),
                ],
                false,
            ),
        ] {
            let got = is_from_here(&config(public), &request(method, peer, headers));
            assert_eq!(got, want, "{public:?} {method:?} {peer} {headers:?}");
        }
    }

    #[test]
    fn a_cookie_is_a_session_that_was_sent_once_and_a_write_shows_its_text() {
        let own = Token::new(TokenKind::Session, 3, 4, &[7; 32]);
        let key = Token::new(TokenKind::ApiKey, 3, 4, &[7; 32]);
        let (text, other) = (own.text(), key.text());
        for (cookie, want) in [
            (format!("switchboard_session={text}"), true),
            (format!("a=b; __Host-switchboard_session={text}; c"), true),
            (format!("switchboard_session={text}; switchboard_session={text}"), false),
            (format!("switchboard_session={other}"), false),
            (format!("xswitchboard_session={text}"), false),
            ("switchboard_session=".into(), false),
            (String::new(), false),
        ] {
            let request = request(Method::Get, "127.0.0.1", &[("cookie", &cookie), ("host", "localhost")]);
            assert_eq!(token(&request).is_some(), want, "{cookie}");
            assert_eq!(accepted(&config(None), &request).is_some(), want, "{cookie}");
        }
        let cookie = format!("switchboard_session={text}");
        for (shown, want) in [(csrf(&own), true), (csrf(&key), false), (String::new(), false), (text.into(), false)] {
            let headers = [
                ("cookie", &*cookie),
                ("host", "localhost"),
                ("sec-fetch-site", "same-origin"),
                ("x-csrf-token", &*shown),
            ];
            let request = request(Method::Put, "127.0.0.1", &headers);
            assert_eq!(accepted(&config(None), &request).is_some(), want, "{shown}");
        }
    }

    #[test]
    fn it_is_secure_behind_https() {
        let token = Token::new(TokenKind::Session, 3, 4, &[7; 32]);
        let local = request(Method::Post, "127.0.0.1", &[("host", "localhost:8080")]);
        let text = token.text();
        let rest = "Path=/; Max-Age=60; HttpOnly; SameSite=Strict";
        assert_eq!(set(&config(None), &local, &token, 60), format!("switchboard_session={text}; {rest}"));
        assert_eq!(set(&config(Some(PUBLIC)), &local, &token, 60), format!("switchboard_session={text}; {rest}"));
        let public = request(Method::Post, "127.0.0.1", &[("host", "voice.example")]);
        let secure = format!("__Host-switchboard_session={text}; {rest}; Secure");
        assert_eq!(set(&config(Some(PUBLIC)), &public, &token, 60), secure);
        assert!(unset(&config(None), &local).starts_with("switchboard_session=; Path=/; Max-Age=0; "));
    }
}
