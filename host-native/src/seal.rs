//! [`Seal`]: encrypts values that hold secrets before they reach the disk.
//!
//! Header values of tools, keys of calendars, passwords of SIP trunks and signing secrets of webhooks are needed in
//! clear at run time. They are in a few tables (`key::holds_secrets`), whose values are sealed with XChaCha20-Poly1305
//! (RFC 8439; draft-irtf-cfrg-xchacha for the longer nonce). The storage key is authenticated along with the value, so
//! that a sealed value opens only under its own key.
//!
//! Format: [`MARK`] · the seal key's id (4 bytes) · nonce (24 bytes) · ciphertext and tag. No clear value of these
//! tables begins with the mark.

use std::fmt;
use std::path::Path;

use base64ct::{Base64, Encoding};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};
use switchboard_core::key;
use switchboard_core::view::Bytes;

/// First byte of every sealed value.
pub const MARK: u8 = 0xa5;
/// Most keys that can be given: the current one and earlier ones.
const KEYS_MAX: usize = 16;
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

/// Id of a seal key: the first four bytes of a SHA-256 over a label and the key.
pub type KeyId = [u8; 4];

/// Why a sealed value does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unopened {
    /// It was sealed with a key that was not given; its id.
    Key(KeyId),
    /// It is damaged, or stored under another storage key than it was sealed for.
    Damaged,
}

struct SealKey {
    id: KeyId,
    cipher: XChaCha20Poly1305,
}

/// Seal keys of a store: the first one seals, all of them open. Without keys, values stay in clear.
#[derive(Default)]
pub struct Seal(Vec<SealKey>);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({} keys)", self.0.len())
    }
}

impl Seal {
    /// Parses keys: base64 of 32 bytes each, separated by white space or commas, the one that seals first.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut keys: Vec<SealKey> = Vec::new();
        for word in text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
            let key = SealKey::parse(word)?;
            if keys.iter().any(|known| known.id == key.id) {
                return Err("a seal key is given twice".into());
            }
            keys.push(key);
        }
        match keys.len() {
            0 => Err("there is no seal key where one should be".into()),
            1..=KEYS_MAX => Ok(Self(keys)),
            _ => Err(format!("there are more than {KEYS_MAX} seal keys")),
        }
    }

    /// Reads the keys from a file or a text, but not both; with neither there are no keys.
    pub fn of(file: Option<&Path>, text: Option<&str>) -> Result<Self, String> {
        match (file, text) {
            (None, None) => Ok(Self::default()),
            (Some(_), Some(_)) => Err("seal keys are given twice, in a file and in the environment".into()),
            (None, Some(text)) => Self::parse(text),
            (Some(file), None) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|error| format!("the seal keys in {} cannot be read: {error}", file.display()))?;
                Self::parse(&text)
            }
        }
    }

    /// Returns the id of the key that seals; `None` without keys.
    pub fn current(&self) -> Option<KeyId> {
        self.0.first().map(|key| key.id)
    }

    /// Returns whether the key with this id was given, so that its values open.
    pub fn knows(&self, id: KeyId) -> bool {
        self.0.iter().any(|key| key.id == id)
    }

    /// Seals a value for the storage key `at`; `None`: it holds no secret or there is no key, and is stored as it is.
    pub fn seal(&self, at: &[u8], value: &[u8]) -> Result<Option<Bytes>, std::io::Error> {
        let Some(key) = self.0.first().filter(|_| key::holds_secrets(at)) else { return Ok(None) };
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        let payload = Payload { msg: value, aad: at };
        let sealed = key.cipher.encrypt(&XNonce::from(nonce), payload).map_err(std::io::Error::other)?;
        Ok(Some([&[MARK][..], &key.id, &nonce, &sealed].concat()))
    }

    /// Opens a stored value; one that is not sealed is returned as it is.
    pub fn open(&self, at: &[u8], stored: &[u8]) -> Result<Bytes, Unopened> {
        let Some(id) = sealed_with(at, stored) else { return Ok(stored.to_vec()) };
        let key = self.0.iter().find(|key| key.id == id).ok_or(Unopened::Key(id))?;
        let (nonce, sealed) = stored[5..].split_first_chunk::<NONCE_BYTES>().ok_or(Unopened::Damaged)?;
        let payload = Payload { msg: sealed, aad: at };
        key.cipher.decrypt(&XNonce::from(*nonce), payload).map_err(|_| Unopened::Damaged)
    }
}

impl SealKey {
    fn parse(word: &str) -> Result<Self, String> {
        let mut bytes = [0; KEY_BYTES];
        let whole = Base64::decode(word, &mut bytes).is_ok_and(|decoded| decoded.len() == KEY_BYTES);
        if !whole {
            return Err("a seal key is base64 of 32 bytes: `switchboard seal-key` makes one".into());
        }
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest([&b"switchboard seal key\0"[..], &bytes].concat()).into();
        Ok(Self { id: [a, b, c, d], cipher: XChaCha20Poly1305::new(&bytes.into()) })
    }
}

/// Returns the id of the key that sealed a stored value; `None`: it is in clear.
pub fn sealed_with(at: &[u8], stored: &[u8]) -> Option<KeyId> {
    // Check the storage key first, so that a scan need not touch the values of other tables.
    if !key::holds_secrets(at) {
        return None;
    }
    stored.strip_prefix(&[MARK])?.first_chunk().copied()
}

/// Generates a key, as base64.
pub fn new_key() -> std::io::Result<String> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(Base64::encode_string(&bytes))
}

#[cfg(test)]
mod tests {
    use switchboard_core::key::{Kind, Space};

    use super::*;

    fn place(count: u32) -> Vec<u8> {
        key::row(Space::Account(1), Kind::Tool, count)
    }

    #[test]
    fn a_sealed_value_opens_in_its_place_under_its_key() {
        let (old, new) = (new_key().expect("randomness"), new_key().expect("randomness"));
        let (first, both) =
            (Seal::parse(&old).expect("a key"), Seal::parse(&format!("{new},\n{old}\n")).expect("keys"));
        let stored = first.seal(&place(1), b"secret").expect("randomness").expect("a sealed value");
        assert!(!stored.windows(6).any(|bytes| bytes == b"secret"));
        assert_eq!(first.open(&place(1), &stored), Ok(b"secret".to_vec()));
        assert_eq!(both.open(&place(1), &stored), Ok(b"secret".to_vec()), "an earlier key opens");
        assert_eq!(first.open(&place(2), &stored), Err(Unopened::Damaged), "another place");
        let other = Seal::parse(&new).expect("a key");
        assert_eq!(other.open(&place(1), &stored), Err(Unopened::Key(first.current().expect("a key"))));
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 1;
            assert_ne!(first.open(&place(1), &damaged), Ok(b"secret".to_vec()), "bit of byte {at}");
            assert_ne!(first.open(&place(1), &stored[..at]), Ok(b"secret".to_vec()), "cut at {at}");
        }
        let again = first.seal(&place(1), b"secret").expect("randomness");
        assert_ne!(again, Some(stored), "no nonce comes twice");
    }

    #[test]
    fn other_tables_and_stores_without_keys_stay_as_they_are() {
        let seal = Seal::parse(&new_key().expect("randomness")).expect("a key");
        let call = key::row(Space::Account(1), Kind::Call, 1);
        assert_eq!(seal.seal(&call, b"x").expect("randomness"), None);
        assert_eq!(seal.open(&call, &[MARK, 1, 2, 3, 4]), Ok(vec![MARK, 1, 2, 3, 4]));
        assert_eq!(Seal::default().seal(&place(1), b"x").expect("randomness"), None);
        assert_eq!(Seal::default().open(&place(1), b"x"), Ok(b"x".to_vec()));
    }

    #[test]
    fn keys_that_are_none_are_named() {
        let key = new_key().expect("randomness");
        let many = (0..=KEYS_MAX).map(|_| new_key().expect("randomness")).collect::<Vec<_>>().join(" ");
        for (text, why) in [
            ("", "there is no seal key"),
            ("abc", "base64 of 32 bytes"),
            (&key[..40], "base64 of 32 bytes"),
            (&format!("{key} {key}"), "twice"),
            (&many, "more than 16"),
        ] {
            let refused = Seal::parse(text).map(drop).expect_err(text);
            assert!(refused.contains(why), "{refused}");
        }
        assert!(!format!("{:?}", Seal::parse(&key)).contains(&key));
    }
}
