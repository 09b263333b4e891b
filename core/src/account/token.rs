//! Tokens: what a caller shows, and what the store keeps of it.
//!
//! A token carries its account and its row, so that finding it needs no index, and a checksum, so that a
//! mistyped one causes no read. The store keeps only a SHA-256 digest.

use alloc::string::String;
use core::fmt;

use base64ct::{Base64UrlUnpadded, Encoding};
use crc::{CRC_32_ISO_HDLC, Crc};
use ctutils::CtEq;
use sha2::{Digest, Sha256};

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const SECRET_BYTES: usize = 20;
const BODY_BYTES: usize = 8 + SECRET_BYTES;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An API key of an account.
    ApiKey,
    /// A session of a login.
    Session,
    /// The operator.
    Operator,
    /// A voice engine.
    Engine,
}

impl TokenKind {
    const ALL: [Self; 4] = [Self::ApiKey, Self::Session, Self::Operator, Self::Engine];

    const fn prefix(self) -> &'static str {
        match self {
            Self::ApiKey => "sbk_",
            Self::Session => "sbs_",
            Self::Operator => "sbo_",
            Self::Engine => "sbe_",
        }
    }
}

/// A token as text; silent in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is for.
    pub kind: TokenKind,
    /// The account it belongs to; 0 for those of no account.
    pub account: u32,
    /// Its row.
    pub count: u32,
    text: String,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({:?}, ..)", self.kind)
    }
}

impl Token {
    /// A new token from 160 random bits.
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

    /// Reads a token; nothing where form or checksum are wrong.
    pub fn parse(text: &str) -> Option<Self> {
        let kind = TokenKind::ALL.into_iter().find(|kind| text.starts_with(kind.prefix()))?;
        let mut body = [0; BODY_BYTES + 4];
        let decoded = Base64UrlUnpadded::decode(text.get(4..)?, &mut body).ok()?;
        if decoded.len() != BODY_BYTES + 4 || checksum(kind, &body[..BODY_BYTES]).to_be_bytes() != body[BODY_BYTES..] {
            return None;
        }
        let number = |at: usize| Some(u32::from_be_bytes(body.get(at..at + 4)?.try_into().ok()?));
        Some(Self { kind, account: number(0)?, count: number(4)?, text: text.into() })
    }

    /// The text that the caller keeps; shown once.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the store keeps.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Whether a kept digest is this token's; takes the same time for every answer.
    pub fn fits(&self, kept: &[u8]) -> bool {
        same(&self.digest(), kept)
    }
}

/// Whether a kept digest is that of a shown token; takes the same time for every answer.
pub fn same(shown: &[u8; 32], kept: &[u8]) -> bool {
    kept.len() == 32 && shown[..].ct_eq(kept).into()
}

fn checksum(kind: TokenKind, body: &[u8]) -> u32 {
    let mut digest = CRC.digest();
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
