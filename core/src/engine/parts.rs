//! What an engine asks of all accounts, where several writers have them: its request in parts, and their answers in one.

use alloc::vec::Vec;

use crate::id;
use crate::json::{Members, ToJson, Value, parse};

/// A request of an engine that concerns the accounts of all writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForAll {
    /// A claim: whoever has a call gives it.
    Claim,
    /// A heartbeat: each writer renews the leases of its calls, and hears what the engine says of itself.
    Heartbeat,
    /// The answer to a check of a trunk, which one of them has asked for.
    Check,
}

/// Returns whether a POST to this path is such a request.
pub fn for_all(path: &str) -> Option<ForAll> {
    match path.strip_prefix("/engine/")? {
        "claim" => Some(ForAll::Claim),
        "heartbeat" => Some(ForAll::Heartbeat),
        rest => rest.strip_prefix("checks/").map(|_| ForAll::Check),
    }
}

/// Returns the account that a path of the engine interface names, whether or not there is one.
pub fn account_in(path: &str) -> Option<u32> {
    let rest = path.strip_prefix("/engine/calls/")?;
    let call = id::parse_any(rest.split('/').next().unwrap_or_default())?;
    Some(id::split(call).0)
}

fn members(bytes: &[u8]) -> Option<Members> {
    match parse(bytes) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}

/// Returns a claim that waits for nothing, and how long it would have waited, seconds; `None` for a body that is no claim.
pub fn unwaited(claim: &[u8]) -> Option<(Vec<u8>, u64)> {
    let mut claim = members(claim)?;
    let wait = match claim.remove("wait") {
        None | Some(Value::Null) => 0,
        Some(wait) => wait.as_u64()?,
    };
    Some((claim.to_json(), wait))
}

/// Returns whether the answer to a claim has nothing for its engine.
pub fn has_nothing(answer: &[u8]) -> bool {
    let Some(answer) = members(answer) else { return false };
    let is_empty = |name| answer.get(name).and_then(Value::as_list).is_some_and(<[Value]>::is_empty);
    ["calls", "commands", "checks"].into_iter().all(is_empty)
}

/// Returns the part of a heartbeat for some accounts: what it says of their calls and trunks, and of itself. `None` for a
/// body that is no heartbeat.
pub fn part(heartbeat: &[u8], is_of: impl Fn(u32) -> bool) -> Option<Vec<u8>> {
    let mut part = members(heartbeat)?;
    let has = |id: Option<u64>| id.is_none_or(|id| is_of(id::split(id).0));
    for (name, id_of) in [("calls", Value::as_u64 as fn(&Value) -> Option<u64>), ("trunks", trunk)] {
        if let Some(Value::List(list)) = part.get(name).cloned() {
            // What has no id is refused by all of them.
            let own = list.into_iter().filter(|one| has(id_of(one))).collect();
            part.set(name, Value::List(own));
        }
    }
    Some(part.to_json())
}

fn trunk(told: &Value) -> Option<u64> {
    told.as_object()?.get("id")?.as_u64()
}

/// Returns the answer to a heartbeat from those to its parts: the lease that ends first, and what any of them says.
pub fn merged(answers: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut answers = answers.iter().map(|answer| members(answer));
    let mut whole = answers.next()??;
    for answer in answers {
        let answer = answer?;
        for name in ["lost", "commands"] {
            let lists = [&whole, &answer].map(|from| from.get(name).and_then(Value::as_list).unwrap_or_default());
            let both = lists.concat();
            whole.set(name, Value::List(both));
        }
        let lease = |from: &Members| from.get("lease").and_then(Value::as_text).map(alloc::string::String::from);
        if let (Some(one), Some(other)) = (lease(&whole), lease(&answer)) {
            // ISO times of one form sort as they follow each other.
            whole.set("lease", Value::Text(one.min(other)));
        }
        if answer.get("drain") == Some(&Value::Bool(true)) {
            whole.set("drain", Value::Bool(true));
        }
    }
    Some(whole.to_json())
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    fn text(bytes: Option<Vec<u8>>) -> String {
        String::from_utf8(bytes.expect("JSON")).expect("UTF-8")
    }

    #[test]
    fn paths_say_whom_they_concern() {
        for (path, found) in [
            ("/engine/claim", Some(ForAll::Claim)),
            ("/engine/heartbeat", Some(ForAll::Heartbeat)),
            ("/engine/checks/7", Some(ForAll::Check)),
            ("/engine/calls/4294967297/events", None),
            ("/user/claim", None),
        ] {
            assert_eq!(for_all(path), found, "{path}");
        }
        assert_eq!(account_in("/engine/calls/12884901889/events"), Some(3));
        assert_eq!(account_in("/engine/calls/12884901889"), Some(3));
        for path in ["/engine/calls", "/engine/calls/x", "/engine/trunks", "/user/calls/12884901889"] {
            assert_eq!(account_in(path), None, "{path}");
        }
    }

    #[test]
    fn a_claim_waits_once_for_all() {
        let (claim, wait) = unwaited(br#"{"engine":"E","wait":30,"capacity":2}"#).expect("a claim");
        assert_eq!((text(Some(claim)).as_str(), wait), (r#"{"engine":"E","capacity":2}"#, 30));
        assert_eq!(unwaited(br#"{"wait":null}"#).map(|(_, wait)| wait), Some(0));
        for refused in [&b"[]"[..], b"{", br#"{"wait":"long"}"#, br#"{"wait":-1}"#] {
            assert_eq!(unwaited(refused), None);
        }
        assert!(has_nothing(br#"{"calls":[],"commands":[],"checks":[]}"#));
        for has in [r#"{"calls":[1],"commands":[],"checks":[]}"#, r#"{"calls":[],"commands":[]}"#, "{}", "no"] {
            assert!(!has_nothing(has.as_bytes()), "{has}");
        }
    }

    #[test]
    fn a_heartbeat_is_for_those_whose_calls_it_names() {
        let beat =
            br#"{"engine":"E","calls":[1,4294967297,4294967298,8589934593],"load":0.5,"trunks":[{"id":4294967297}]}"#;
        let of = |account| text(part(beat, |other| other == account));
        assert_eq!(of(1), r#"{"engine":"E","calls":[4294967297,4294967298],"load":0.5,"trunks":[{"id":4294967297}]}"#);
        assert_eq!(of(2), r#"{"engine":"E","calls":[8589934593],"load":0.5,"trunks":[]}"#);
        let odd = br#"{"calls":["x"],"trunks":7}"#;
        assert_eq!(text(part(odd, |_| false)), r#"{"calls":["x"],"trunks":7}"#, "it is for them to refuse");
        assert_eq!(part(b"7", |_| true), None);
    }

    #[test]
    fn answers_to_a_heartbeat_become_one() {
        let of = |lease: &str, lost: &str, drain: bool| {
            let lease = alloc::format!("2026-01-01T00:00:{lease}.000000Z");
            alloc::format!(r#"{{"lease":"{lease}","lost":[{lost}],"commands":[{lost}],"drain":{drain}}}"#).into_bytes()
        };
        let merged = |answers: &[Vec<u8>]| text(super::merged(answers));
        assert_eq!(merged(&[of("30", "", false)]), text(Some(of("30", "", false))));
        let answers = [of("31", "1", false), of("30", "", true), of("32", "2,3", false)];
        assert_eq!(merged(&answers), text(Some(of("30", "1,2,3", true))));
        assert_eq!(super::merged(&[of("30", "", false), b"no".to_vec()]), None);
        assert_eq!(super::merged(&[]), None);
    }
}
