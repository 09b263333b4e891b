//! Slow pure work, for the workers of a host, never its writer.

use alloc::vec::Vec;

use argon2::{Algorithm, Argon2, Params, Version};
use ctutils::CtEq;

use crate::outside::{Answer, SendError, Work};
use crate::record::Secret;

const SALT_BYTES: usize = 16;
const DIGEST_BYTES: usize = 32;

/// Runs a piece of pure work; `None` for work that needs the network, or bounds that only a host can set.
pub fn perform(work: &Work) -> Option<Answer> {
    match work {
        Work::Http(_) | Work::Extract { .. } | Work::DeleteObject(_) => None,
        Work::HashPassword { password, salt } => Some(match digest(password, salt) {
            Some(digest) => Answer::Hashed([&salt[..], &digest].concat()),
            None => Answer::Failed(SendError::Unreachable),
        }),
        Work::Yield => Some(Answer::Yielded),
        Work::VerifyPassword { password, stored } => Some(Answer::Verified(verify(password, stored))),
    }
}

/// Returns the stored form to verify a password against when there is no account: no password has this digest, and
/// verifying takes as long as with a real one.
pub fn nobody() -> Vec<u8> {
    Vec::from([0; SALT_BYTES + DIGEST_BYTES])
}

/// Computes Argon2id, version 1.3, 19 MiB, 2 passes, 1 lane (RFC 9106; OWASP's first choice).
fn digest(password: &Secret, salt: &[u8]) -> Option<[u8; DIGEST_BYTES]> {
    let params = Params::new(19_456, 2, 1, Some(DIGEST_BYTES)).ok()?;
    let mut digest = [0; DIGEST_BYTES];
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    argon.hash_password_into(password.0.as_bytes(), salt, &mut digest).ok()?;
    Some(digest)
}

fn verify(password: &Secret, stored: &[u8]) -> bool {
    let Some((salt, want)) = stored.split_at_checked(SALT_BYTES) else { return false };
    digest(password, salt).is_some_and(|digest| digest.len() == want.len() && digest[..].ct_eq(want).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_fits() {
        let secret = |text: &str| Secret(text.into());
        let Some(Answer::Hashed(stored)) = perform(&Work::HashPassword { password: secret("right"), salt: [3; 16] })
        else {
            panic!("no digest")
        };
        for (password, stored, fits) in [
            ("right", stored.clone(), true),
            ("wrong", stored.clone(), false),
            ("right", nobody(), false),
            ("right", stored[..20].to_vec(), false),
        ] {
            assert_eq!(
                perform(&Work::VerifyPassword { password: secret(password), stored }),
                Some(Answer::Verified(fits))
            );
        }
    }
}
