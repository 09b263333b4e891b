//! Signatures by the published scheme of Standard Webhooks: HMAC-SHA-256 over `id.timestamp.body`, base64.

use base64ct::{Base64, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use switchboard_core::outside::HttpOut;
use switchboard_core::time::Timestamp;

use super::{Held, holds};

/// Fails unless a webhook carries, for each valid secret, the signature of its id, its timestamp in seconds and its
/// body.
pub fn is_signed(request: &HttpOut, secrets: &[String], now: Timestamp) -> Held {
    let header = |name: &str| {
        let mut found = request.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.0.as_str()).ok_or_else(|| format!("a webhook has the header {name}"))
    };
    let (id, at) = (header("webhook-id")?, header("webhook-timestamp")?);
    holds!(at == now.seconds().to_string(), "a webhook tells when it is sent: {at}, not {}", now.seconds());
    holds!(header("content-type")? == "application/json", "a webhook is JSON: {id}");
    let carried: Vec<&str> = header("webhook-signature")?.split(' ').collect();
    holds!(carried.len() == secrets.len(), "every valid secret signs: {} of {}", carried.len(), secrets.len());
    for secret in secrets {
        let wanted = signature(secret, id, at, &request.body).ok_or("a secret is whsec_ and base64")?;
        holds!(carried.contains(&wanted.as_str()), "a webhook's signature is valid: {id} {carried:?}");
    }
    Ok(())
}

fn signature(secret: &str, id: &str, at: &str, body: &[u8]) -> Option<String> {
    let key = Base64::decode_vec(secret.strip_prefix("whsec_")?).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    for part in [id.as_bytes(), b".", at.as_bytes(), b".", body] {
        mac.update(part);
    }
    Some(format!("v1,{}", Base64::encode_string(&mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_signature_and_a_flipped_bit() {
        let secret = format!("whsec_{}", Base64::encode_string(b"a secret of some bytes"));
        let right = signature(&secret, "evt_1", "1700000000", b"{}").expect("a signature");
        assert!(right.starts_with("v1,"));
        assert_ne!(Some(right), signature(&secret, "evt_1", "1700000000", b"{ }"));
        assert_eq!(signature("whsec", "evt_1", "1", b""), None);
    }
}
