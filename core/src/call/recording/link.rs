//! Signed links: `/recordings/{call}/{day}/{signature}`, an HMAC-SHA-256 over the call's id and the last UTC day on which
//! the link is valid, with a key of the account. The same all day, and for nobody to guess.

use alloc::format;
use alloc::string::String;

use base64ct::{Base64UrlUnpadded, Encoding};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::rows::{CallObject, RecordingAccount};
use crate::account::token::same;
use crate::call::CallRow;
use crate::id;
use crate::limits::REPORTED_LINK_DAYS;
use crate::store::Scope;
use crate::time::{Day, Timestamp};
use crate::view::Stop;

/// What the path of every recording begins with. A stored call with a recording of the service's own has this and its id
/// as its `recording_url`: no engine can name such a URL, which must be absolute.
const PATH: &str = "/recordings/";

/// Returns the `recording_url` that is stored of a call with a recording of the service's own.
pub fn stored_url(id: u64) -> String {
    format!("{PATH}{id}")
}

/// Returns whether a stored `recording_url` is one of the service's own.
pub fn is_own(url: &str) -> bool {
    url.starts_with(PATH)
}

/// Returns the link of a call's recording that is valid for this many days after today.
pub fn signed(key: &[u8; 32], base: &str, id: u64, today: Day, days: u64) -> String {
    let last = (0..days).fold(today, |day, _| day.next());
    let day = last.start().iso();
    format!("{base}{PATH}{id}/{}/{}", &day[..10], Base64UrlUnpadded::encode_string(&signature(key, id, last)))
}

/// Returns whether a signature is that of a call and a day, in constant time.
pub fn is_signed(key: &[u8; 32], id: u64, day: Day, shown: &str) -> bool {
    let mut bytes = [0; 32];
    let decoded = Base64UrlUnpadded::decode(shown, &mut bytes).unwrap_or_default();
    same(&signature(key, id, day), decoded)
}

fn signature(key: &[u8; 32], id: u64, day: Day) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(b"recording");
    mac.update(&id.to_be_bytes());
    mac.update(&day.number().to_be_bytes());
    mac.finalize().into_bytes().into()
}

/// Returns the `recording_url` of a call for webhooks and the feed: a link that is valid for a week.
pub fn reported_url(account: Scope<'_>, call: &CallRow, now: Timestamp) -> Result<Option<String>, Stop> {
    if !call.has_own_recording() {
        return Ok(call.shown.recording_url.clone());
    }
    let found = (CallObject::kept(account, call.count)?, RecordingAccount::load(account)?);
    let (Some(object), Some(own)) = found else { return Ok(None) };
    let id = id::of(account.space(), call.count);
    Ok(Some(signed(&own.signing_key()?, &object.row.base_url, id, now.day(), REPORTED_LINK_DAYS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_of_one_call_one_day_and_one_key() {
        let (key, today) = ([7; 32], Timestamp::from_seconds(1_790_000_000).day());
        let link = signed(&key, "https://a.example", 77, today, 1);
        let [rest @ .., id, day, signature] = &*link.split('/').collect::<alloc::vec::Vec<_>>() else {
            panic!("{link}")
        };
        assert_eq!((rest.join("/").as_str(), *id, *day), ("https://a.example/recordings", "77", "2026-09-22"));
        let last = Day::parse(day).expect("a day");
        assert_eq!(last, today.next());
        assert!(is_signed(&key, 77, last, signature));
        assert!(!is_signed(&key, 78, last, signature) && !is_signed(&key, 77, last.next(), signature));
        assert!(!is_signed(&[8; 32], 77, last, signature) && !is_signed(&key, 77, last, ""));
        for at in 0..signature.len() {
            let mut other = signature.as_bytes().to_vec();
            other[at] ^= 1;
            let other = String::from_utf8_lossy(&other);
            assert!(!is_signed(&key, 77, last, &other), "{other}");
        }
    }
}
