//! What of two forms of an answer a caller prefers (RFC 9110 section 12.5.1).

use super::request::Request;

/// Returns whether the caller prefers a media type that it names to JSON; a tie goes to that type.
pub fn prefers(request: &Request, media: &str) -> bool {
    request.list("accept").is_some_and(|accept| is_preferred(&accept, media))
}

/// Compares the weights of both, in thousandths; ranges such as `*/*` name neither.
fn is_preferred(accept: &str, media: &str) -> bool {
    let weight = |wanted: &str| {
        accept.split(',').find_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            if !parts.next()?.eq_ignore_ascii_case(wanted) {
                return None;
            }
            let q = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
            Some(q.map_or(1_000, thousandths))
        })
    };
    let (own, json) = (weight(media).unwrap_or(0), weight("application/json").unwrap_or(0));
    own > 0 && own >= json
}

fn thousandths(q: &str) -> u32 {
    let (whole, fraction) = q.split_once('.').unwrap_or((q, ""));
    let digits = fraction.bytes().chain(core::iter::repeat(b'0')).take(3);
    let part = digits.fold(0, |sum, digit| sum * 10 + u32::from(digit.saturating_sub(b'0')));
    if whole == "1" { 1_000 } else { part.min(999) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_preferred_by_its_name_and_weight() {
        for (accept, want) in [
            ("text/event-stream", true),
            ("TEXT/Event-Stream; q=0.5", true),
            ("text/event-stream, application/json", true),
            ("application/json, text/event-stream;q=0.1", false),
            ("application/json;q=0.1, text/event-stream;q=0.9", true),
            ("text/event-stream;q=0", false),
            ("*/*", false),
            ("", false),
        ] {
            assert_eq!(is_preferred(accept, "text/event-stream"), want, "{accept}");
        }
    }
}
