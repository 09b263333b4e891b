//! Tokens: the text that a caller sends, and the digest that the store keeps.
//!
//! A token carries its account and its row, so that finding it needs no index, and a checksum, so that a
//! mistyped one causes no read. The store keeps only a SHA-256 digest.

use alloc::string::String;
use core::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use ctutils::CtEq;
use sha2::{Digest, Sha256};

use crate::checksum::CRC32;

const SECRET_BYTES: usize = 20;
const BODY_BYTES: usize = 8 + SECRET_BYTES;

/// Kind of a token, which decides the part of the API that it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An API key of an account, `sbk_…`.
    ApiKey,
    /// A session of a login, `sbs_…`.
    Session,
    /// Token of the operator, `sbo_…`.
    Operator,
    /// Token of a voice engine, `sbe_…`.
    Engine,
    /// Token of a web call, `sbw_…`.
    Web,
}

impl TokenKind {
    const ALL: [Self; 5] = [Self::ApiKey, Self::Session, Self::Operator, Self::Engine, Self::Web];

    /// Returns what a token of this kind begins with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::ApiKey => "sbk_",
            Self::Session => "sbs_",
            Self::Operator => "sbo_",
            Self::Engine => "sbe_",
            Self::Web => "sbw_",
        }
    }

    /// Returns the kind whose prefix a text has, whether or not the rest is a token.
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| text.starts_with(kind.prefix()))
    }
}

/// A token; `Debug` does not print its text.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token, from its prefix.
    pub kind: TokenKind,
    /// Number of the account it belongs to; 0 for engine and operator tokens.
    pub account: u32,
    /// Count of its row.
    pub count: u32,
    text: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:?}, ..)", self.kind)
    }
}

impl Token {
    /// Creates a token from the first 160 bits of `random`.
    pub fn new(kind: TokenKind, account: u32, count: u32, random: &[u8; 32]) -> Self {
        let mut body = [0; BODY_BYTES + 4];
        body[..4].copy_from_slice(&account.to_be_bytes());
        body[4..8].copy_from_slice(&count.to_be_bytes());
        body[8..BODY_BYTES].copy_from_slice(&random[..SECRET_BYTES]);
        let sum = checksum(kind, &body[..BODY_BYTES]);
        body[BODY_BYTES..].copy_from_slice(&sum.to_be_bytes());
        let mut text = String::from(kind.prefix());
        text.push_str(&Base64UrlUnpadded::encode_string(&body));
        Self { kind, account, count, text }
    }

    /// Parses a token; `None` if its form or checksum is wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let kind = TokenKind::of(text)?;
        let mut body = [0; BODY_BYTES + 4];
        let decoded = Base64UrlUnpadded::decode(text.get(4..)?, &mut body).ok()?;
        if decoded.len() != BODY_BYTES + 4 || checksum(kind, &body[..BODY_BYTES]).to_be_bytes() != body[BODY_BYTES..] {
            return None;
        }
        let number = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
        Some(Self { kind, account: number(0)?, count: number(4)?, text: text.into() })
    }

    /// Returns the text of the token, which is shown once.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the SHA-256 of the text, which is what the store keeps.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Returns whether a stored digest is this token's, in constant time.
    pub fn fits(&self, kept: &[u8]) -> bool {
        same(&self.digest(), kept)
    }
}

/// Returns whether the digest of a presented token equals a stored one, in constant time.
pub fn same(shown: &[u8; 32], kept: &[u8]) -> bool {
    kept.len() == 32 && shown[..].ct_eq(kept).into()
}

fn checksum(kind: TokenKind, body: &[u8]) -> u32 {
    let mut digest = CRC32.digest();
    digest.update(kind.prefix().as_bytes());
    digest.update(body);
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn a_token_reads_back_and_no_other_does() {
        let token = Token::new(TokenKind::ApiKey, 7, 9, &[0xa5; 32]);
        assert_eq!(Token::parse(token.text()), Some(token.clone()));
        assert!(token.fits(&token.digest()) && !token.fits(&[0; 32]) && !token.fits(&[]));
        for at in 0..token.text().len() {
            let mut bytes = token.text().as_bytes().to_vec();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let other = String::from_utf8(bytes).expect("ASCII");
            assert_eq!(Token::parse(&other), None, "changed at {at}");
        }
        for text in ["", "sbk_", "sbx_AAAA", &format!("{}A", token.text()), &token.text().replace("sbk_", "sbs_")] {
            assert_eq!(Token::parse(text), None, "{text}");
        }
        assert!(!format!("{token:?}").contains(&token.text()[4..].to_string()));
    }
}
