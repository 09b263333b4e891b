//! [`EdgeToken`]: the token with which edge nodes reach the store.

use ctutils::CtEq;
use sha2::{Digest, Sha256};

/// Shortest token, characters: it opens every row of the store, and nobody has to type it.
const TOKEN_MIN: usize = 32;

/// The token with which edge nodes reach the store; only its SHA-256 digest is kept.
#[derive(Clone, Copy)]
pub struct EdgeToken([u8; 32]);

impl EdgeToken {
    /// Checks the operator's text: at least 32 printable ASCII characters without spaces.
    ///
    /// The error is a sentence for the operator.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.len() < TOKEN_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("a store token has at least {TOKEN_MIN} characters, and no spaces"));
        }
        Ok(Self(Sha256::digest(text).into()))
    }

    /// Returns whether the value of an `Authorization` header carries this token, compared in constant time.
    pub fn fits(&self, authorization: &[u8]) -> bool {
        let Some(shown) = authorization.strip_prefix(b"Bearer ") else { return false };
        let shown: [u8; 32] = Sha256::digest(shown).into();
        shown[..].ct_eq(&self.0[..]).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_fits() {
        let text = "an-edge-token-of-thirty-two-chars";
        let token = EdgeToken::new(text).expect("long enough");
        assert!(token.fits(format!("Bearer {text}").as_bytes()));
        for wrong in ["", "Bearer ", text, &format!("Bearer {text} "), "Bearer an-edge-token-of-thirty-two-char"] {
            assert!(!token.fits(wrong.as_bytes()), "{wrong}");
        }
        assert!(EdgeToken::new("short").is_err() && EdgeToken::new(&" ".repeat(40)).is_err());
    }
}
