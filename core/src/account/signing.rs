//! Secrets that sign an account's webhooks, and the signature itself (Standard Webhooks,
//! "Signature scheme"; docs/api.md, Secrets).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64ct::{Base64, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::http::ctx::Ctx;
use crate::http::reply::{ObjectFn, Reply};
use crate::http::route::Handled;
use crate::id;
use crate::json::{self, Object, ToJson};
use crate::key::{self, Kind};
use crate::record;
use crate::record::{Field, Iso, Rest, Secret, Stored, id as id_column, iso, text};
use crate::seed::Seed;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// A secret that signs webhooks.
    pub struct SigningSecret stored as "a webhook secret" {
        /// Id of the secret.
        id: u64 = id_column().required(),
        /// The signing key: `whsec_` and base64.
        secret: Secret = text(0, 64).required(),
        /// Time of creation, UTC; the newest two secrets sign.
        created_at: Iso = iso().required(),
    }
}

const PREFIX: &str = "whsec_";
/// Secrets that are valid at the same time.
const VALID: usize = 2;

/// Returns the stored secrets, oldest first.
fn load(account: Scope<'_>) -> Result<Vec<SigningSecret>, Stop> {
    let Some(bytes) = account.get(key::secrets(account.space()))? else { return Ok(Vec::new()) };
    json::parse(&bytes).ok().and_then(Field::from_json).ok_or(SigningSecret::DAMAGED)
}

/// Creates a secret; of the old ones only the newest stays.
pub fn make(account: Scope<'_>, now: Timestamp, seed: &Seed) -> Result<(), Stop> {
    let (count, at) = account.allot(Kind::Secret, now)?;
    let secret = format!("{PREFIX}{}", Base64::encode_string(&seed.derive("webhook-secret")));
    let mut secrets = load(account)?;
    secrets.drain(..secrets.len().saturating_sub(VALID - 1));
    secrets.push(SigningSecret {
        id: id::of(account.space(), count),
        secret: Secret(secret),
        created_at: Iso(at),
        rest: Rest::default(),
    });
    account.put(key::secrets(account.space()), secrets.to_json())
}

/// Returns the value of `webhook-signature`: one signature for each valid secret, separated by spaces.
pub fn sign(account: Scope<'_>, webhook_id: &str, at: Timestamp, body: &[u8]) -> Result<String, Stop> {
    let mut signatures = Vec::new();
    for SigningSecret { secret: Secret(text), .. } in load(account)? {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| Base64::decode_vec(text).ok());
        let bytes = bytes.ok_or(SigningSecret::DAMAGED)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&bytes).expect("HMAC takes a key of any length");
        mac.update(format!("{webhook_id}.{}.", at.seconds()).as_bytes());
        mac.update(body);
        signatures.push(format!("v1,{}", Base64::encode_string(&mac.finalize().into_bytes())));
    }
    Ok(signatures.join(" "))
}

fn shown(secrets: Vec<SigningSecret>, says: Option<&str>) -> impl ToJson {
    let says = says.map(ToString::to_string);
    ObjectFn(move |o: &mut Object<'_>| {
        o.given("message", says.as_ref()).member("secrets", &secrets);
    })
}

/// `GET /user/webhook-secrets`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&shown(load(ctx.account())?, None)))
}

/// `POST /user/webhook-secrets/rotate`
pub fn rotate(ctx: &Ctx<'_>) -> Handled {
    ctx.unread()?;
    make(ctx.account(), ctx.now, &ctx.seed)?;
    Ok(Reply::created(&shown(load(ctx.account())?, Some("Webhook secret rotated successfully."))))
}
