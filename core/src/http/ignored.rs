//! The members of a body that an operation does not know: named on success, refused where that is asked for
//! (docs/api.md, Unknown members).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::request::{Body, Request};
use super::route::{BodyKind, Route};
use crate::json::{self, Members, Value};
use crate::limits::{IGNORED_BYTES_MAX, IGNORED_MAX, IGNORED_NAME_BYTES_MAX, UNKNOWN_MAX};
use crate::record::{self, Errors};

/// Name of the header that lists ignored members.
pub const HEADER: &str = "x-ignored-members";

/// Returns whether unknown members are refused: the operation always does, or the request asks for it (RFC 7240).
pub fn is_strict(request: &Request, route: &Route) -> bool {
    let preferences = || request.list("prefer");
    route.strict || preferences().is_some_and(|list| list.split(',').any(is_handling_strict))
}

fn is_handling_strict(preference: &str) -> bool {
    let preference = preference.split(';').next().unwrap_or_default();
    let Some((name, value)) = preference.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("handling") && value.trim().trim_matches('"').eq_ignore_ascii_case("strict")
}

/// Returns the paths of the body's unknown members, as many as the answer can tell.
pub fn of(request: &Request, route: &Route, members: &Members) -> Vec<String> {
    let (BodyKind::Json(table, _) | BodyKind::Document(table)) = route.body else { return Vec::new() };
    let most = if is_strict(request, route) { UNKNOWN_MAX } else { IGNORED_MAX + 1 };
    let shown: Vec<_> = route.shown.iter().copied().chain(route.shape.table()).collect();
    record::unknown(table, &shown, members, most)
}

/// Returns the unknown members of a request that was carried out before.
pub fn of_replay(request: &Request, route: &Route) -> Vec<String> {
    match &request.body {
        Body::Full(bytes) if matches!(route.body, BodyKind::Json(..)) => match json::parse(bytes) {
            Ok(Value::Object(members)) => of(request, route, &members),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Adds each unknown member to the errors.
pub fn refuse(errors: &mut Errors, unknown: Vec<String>) {
    for path in unknown {
        // Paths are unique, but a check may have refused the member itself, as that of built-in tools does.
        if !errors.0.iter().any(|(field, _)| *field == path) {
            let sentence = format!("The {} field is not known.", record::label(&path));
            errors.0.push((path, [sentence].into()));
        }
    }
}

/// Returns the value of [`HEADER`]: a list of strings (RFC 8941), cut to its bounds; `None` if there is nothing to name.
pub fn header(unknown: &[String]) -> Option<String> {
    const CUT: &str = "\"...\"";
    let mut list = String::new();
    for (at, path) in unknown.iter().enumerate() {
        let item = quoted(path);
        let separator = if at > 0 { ", " } else { "" };
        if at == IGNORED_MAX || list.len() + separator.len() + item.len() + ", ".len() + CUT.len() > IGNORED_BYTES_MAX {
            return Some(format!("{list}, {CUT}"));
        }
        list = list + separator + &item;
    }
    (!list.is_empty()).then_some(list)
}

/// Returns a path as a string of RFC 8941; other characters than printable ASCII, and `%`, are percent-encoded.
fn quoted(path: &str) -> String {
    let mut name = String::new();
    for byte in path.bytes() {
        let encoded = match byte {
            b'%' | ..b' ' | b'\x7f'.. => format!("%{byte:02X}"),
            byte => char::from(byte).to_string(),
        };
        if name.len() + encoded.len() > IGNORED_NAME_BYTES_MAX {
            name.truncate(whole(&name, IGNORED_NAME_BYTES_MAX - "...".len()));
            name.push_str("...");
            break;
        }
        name.push_str(&encoded);
    }
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the longest length of at most `most` bytes at which no percent-encoded byte is cut.
fn whole(name: &str, most: usize) -> usize {
    let cut = name.as_bytes()[..most].iter().rposition(|byte| *byte == b'%').filter(|at| at + 3 > most);
    cut.unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Option<String> {
        header(&paths.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn the_header_is_a_list_of_strings_within_its_bounds() {
        assert_eq!(names(&[]), None);
        assert_eq!(names(&["a.0.b", "c d"]).as_deref(), Some(r#""a.0.b", "c d""#));
        assert_eq!(names(&["a\"\\%é\n"]).as_deref(), Some(r#""a\"\\%25%C3%A9%0A""#));
        let (long, cut) = ("x".repeat(65), format!("\"{}...\"", "x".repeat(61)));
        assert_eq!(names(&[&long[..64]]), Some(format!("\"{}\"", &long[..64])));
        assert_eq!(names(&[&long]), Some(cut));
        assert_eq!(names(&[&format!("{}é{long}", "x".repeat(57))]), Some(format!("\"{}%C3...\"", "x".repeat(57))));
        assert_eq!(names(&[&format!("{}é{long}", "x".repeat(59))]), Some(format!("\"{}...\"", "x".repeat(59))));
        assert_eq!(names(&["a"; 20]), Some(["\"a\""; 20].join(", ")));
        assert_eq!(names(&["a"; 21]), Some(["\"a\""; 20].join(", ") + ", \"...\""));
        let full = names(&[&long[..64]; 20]).expect("names");
        assert!(full.len() <= IGNORED_BYTES_MAX && full.ends_with(", \"...\""), "{}", full.len());
        let quotes = names(&["\"".repeat(64).as_str(); 20]).expect("names");
        assert!(quotes.len() <= IGNORED_BYTES_MAX && quotes.ends_with(", \"...\""), "{}", quotes.len());
    }

    #[test]
    fn a_preference_is_read_as_rfc_7240_has_it() {
        for (sent, strict) in [
            ("handling=strict", true),
            ("Handling = \"Strict\"; x=1", true),
            ("return=minimal, handling=strict", true),
            ("handling=lenient", false),
            ("handling", false),
            ("strict", false),
            ("x=\"handling=strict\"", false),
        ] {
            assert_eq!(sent.split(',').any(is_handling_strict), strict, "{sent}");
        }
    }
}
