//! Authentication: from the `Authorization` header, or the console's cookie, to a row of the store (docs/api.md, Tokens).

use alloc::vec::Vec;

use super::token::{self, Token, TokenKind};
use super::{cookie, profile};
use crate::http::caller::AuthenticatedToken;
use crate::http::caller::Credential;
use crate::http::refusal::{Halt, Refusal};
use crate::http::request::Request;
use crate::key::{self, Key, Kind, Space};
use crate::setup::Config;
use crate::store::{Row, Scope, Tx};
use crate::time::Timestamp;
use crate::view::Stop;

/// Private part of a credential's row: digest, expiry, password epoch and whether it is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredToken {
    /// SHA-256 of the token.
    pub digest: [u8; 32],
    /// Time at which it expires; `None`: never.
    pub expires: Option<Timestamp>,
    /// The account's [`profile::AccountFlags::epoch`] at the login; 0 for API keys.
    pub epoch: u32,
    /// Whether it may only call `GET` and `HEAD`.
    pub read_only: bool,
}

/// Stored as the expiry of a credential that never expires.
const NEVER: u64 = u64::MAX;

impl StoredToken {
    /// Encodes it: digest, expiry (microseconds) and epoch, little-endian, then a byte for `read_only`.
    pub fn to_bytes(self) -> Vec<u8> {
        let expires = self.expires.map_or(NEVER, Timestamp::micros);
        [&self.digest[..], &expires.to_le_bytes(), &self.epoch.to_le_bytes(), &[u8::from(self.read_only)]].concat()
    }

    /// Decodes stored bytes; `None` if they are too short.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (digest, rest) = bytes.split_at_checked(32)?;
        let (expires, rest) = rest.split_at_checked(8)?;
        let (epoch, rest) = rest.split_at_checked(4)?;
        let expires = u64::from_le_bytes(expires.try_into().ok()?);
        Some(Self {
            digest: digest.try_into().ok()?,
            expires: (expires != NEVER).then(|| Timestamp::from_micros(expires)),
            epoch: u32::from_le_bytes(epoch.try_into().ok()?),
            read_only: *rest.first()? != 0,
        })
    }
}

/// Returns the token of a request; two `Authorization` headers are 400, anything but a well-formed `Bearer` token 401.
pub fn bearer(request: &Request) -> Result<Token, Halt> {
    if request.count("authorization") > 1 {
        return Err(Refusal::BadRequest("The request has more than one Authorization header.".into()).into());
    }
    let token = request.header("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| Token::parse(token.trim()))?
    });
    token.ok_or_else(|| Refusal::Unauthenticated.into())
}

/// An account's token as a request presents it, not yet compared with the stored digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PresentedToken {
    /// Row that would have its digest.
    pub credential: Credential,
    /// SHA-256 of the token.
    pub digest: [u8; 32],
}

impl PresentedToken {
    /// Returns whether a request presents a token: as a bearer, or by the console's cookie.
    pub fn is_in(config: &Config, request: &Request) -> bool {
        request.count("authorization") > 0 || cookie::accepted(config, request).is_some()
    }

    /// Reads the token of a request, from the console's cookie where there is no `Authorization`; tokens of engines and
    /// the operator are 401, and so is a cookie that may have been sent by a page elsewhere.
    pub fn by(config: &Config, request: &Request) -> Result<Self, Halt> {
        let kept = if request.count("authorization") == 0 { cookie::accepted(config, request) } else { None };
        let token = kept.map_or_else(|| bearer(request), Ok)?;
        let session = match token.kind {
            TokenKind::ApiKey => false,
            TokenKind::Session => true,
            TokenKind::Operator | TokenKind::Engine | TokenKind::Web => return Err(Refusal::Unauthenticated.into()),
        };
        let credential = Credential { account: token.account, session, count: token.count };
        Ok(Self { credential, digest: token.digest() })
    }

    /// Returns the keys of the rows that authenticate it: the token's and the account's profile.
    pub fn keys(&self) -> [Key; 2] {
        let Credential { account, session, count } = self.credential;
        let kind = if session { Kind::Session } else { Kind::ApiKey };
        [key::row(Space::Account(account), kind, count), key::profile(account)]
    }

    /// Returns the session of the caller; 401 if the token is unknown or expired, its password has changed since, or the
    /// account is being deleted.
    pub fn session(&self, tx: &Tx<'_>, now: Timestamp) -> Result<AuthenticatedToken, Halt> {
        let Credential { account, session, count } = self.credential;
        let rows = tx.scope(Space::Account(account)).get_many(&self.keys())?;
        let [Some(row), Some(profile)] = rows.as_slice() else { return Err(Refusal::Unauthenticated.into()) };
        let kept =
            StoredToken::from_bytes(Row::private_of(row)?).ok_or(Stop::Corrupt("a credential has an unknown form"))?;
        let state = profile::AccountFlags::of(profile)?;
        let valid = token::same(&self.digest, &kept.digest) && kept.expires.is_none_or(|at| at > now);
        let current = !session || kept.epoch == state.epoch;
        if !valid || !current || state.deleting {
            return Err(Refusal::Unauthenticated.into());
        }
        let (read_only, expires, suspended) = (kept.read_only, kept.expires, state.suspended);
        Ok(AuthenticatedToken { account, count, session, read_only, expires, suspended })
    }
}

/// Accepts the operator's token; anything else is 401.
pub fn operator(root: Scope<'_>, request: &Request) -> Result<(), Halt> {
    let token = bearer(request)?;
    let kept = if token.kind == TokenKind::Operator { root.get(key::operator())? } else { None };
    if kept.is_some_and(|digest| token.fits(&digest)) { Ok(()) } else { Err(Refusal::Unauthenticated.into()) }
}

/// Stores `now` as the last use of API keys; sessions are skipped.
pub fn used(tx: &Tx<'_>, credentials: &[Credential], now: Timestamp) -> Result<(), Stop> {
    for credential in credentials.iter().filter(|credential| !credential.session) {
        let space = Space::Account(credential.account);
        let scope = tx.scope(space);
        // A key that was deleted in the meantime must not get a row again.
        if scope.get(key::row(space, Kind::ApiKey, credential.count))?.is_some() {
            scope.put(key::used(space, Kind::ApiKey, credential.count), now.micros().to_le_bytes().to_vec())?;
        }
    }
    Ok(())
}

/// Returns the time of the last use of a credential; `None` if it never was used.
pub fn last_used(scope: Scope<'_>, kind: Kind, count: u32) -> Result<Option<Timestamp>, Stop> {
    let bytes = scope.get(key::used(scope.space(), kind, count))?;
    Ok(bytes.and_then(|bytes| Some(Timestamp::from_micros(u64::from_le_bytes(bytes.try_into().ok()?)))))
}
