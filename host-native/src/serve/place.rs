//! What a request is about, for its line in the log: an account and a call, as its token and its path name them.

use switchboard_core::account::token::TokenKind;
use switchboard_core::account::{caller, cookie};
use switchboard_core::http::request::Request;
use switchboard_core::id;

/// Account and call of a request, by their ids in the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The account whose token was shown, or whose call or account the path names.
    pub account: Option<u64>,
    /// The call that the path names.
    pub call: Option<u64>,
}

impl Place {
    /// Reads the place of a request, before it is known whether its token is valid.
    pub fn of(request: &Request) -> Self {
        let call = after(&request.target, "calls");
        let shown = caller::bearer(request).ok().or_else(|| cookie::token(request));
        let own = shown.filter(|token| matches!(token.kind, TokenKind::ApiKey | TokenKind::Session));
        let named = after(&request.target, "accounts").or_else(|| call.map(|call| id::user(id::split(call).0)));
        Self { account: own.map(|token| id::user(token.account)).or(named), call }
    }

    /// Returns the place that an answer may be logged with: none where the token was refused.
    pub fn answered(self, status: u16) -> Self {
        if status == 401 { Self::default() } else { self }
    }
}

/// Returns the id behind a segment of a path.
fn after(target: &str, name: &str) -> Option<u64> {
    let path = target.split('?').next().unwrap_or_default();
    let mut segments = path.split('/').skip_while(|segment| *segment != name);
    segments.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::account::token::Token;

    #[test]
    fn token_and_path_say_where_a_request_belongs() {
        let token = |kind| Token::new(kind, 2, 1, &[7; 32]).text().to_owned();
        let call = 2 << 32 | 5;
        for (kind, target, account, named) in [
            (TokenKind::ApiKey, "/user/tools?page=1".to_owned(), Some(3), None),
            (TokenKind::Session, format!("/api/user/calls/{call}/events"), Some(3), Some(call)),
            (TokenKind::Engine, format!("/engine/calls/{call}/events"), Some(3), Some(call)),
            (TokenKind::Operator, "/admin/accounts/9/api-keys".to_owned(), Some(9), None),
            (TokenKind::Engine, "/engine/claim".to_owned(), None, None),
            (TokenKind::ApiKey, "/user/calls/x".to_owned(), Some(3), None),
        ] {
            let place = Place::of(&Request::get(&target).bearer(&token(kind)));
            assert_eq!(place, Place { account, call: named }, "{target}");
            assert_eq!((place.answered(200), place.answered(401)), (place, Place::default()));
        }
        assert_eq!(Place::of(&Request::get("/healthz")), Place::default());
    }
}
