//! Entity tags (RFC 9110 section 8.8.3): strong ones, computed from the bytes sent.

use alloc::format;
use alloc::string::String;

use twox_hash::XxHash3_128;

/// Returns the tag of these bytes: XXH3-128 as 32 hexadecimal digits, in quotes.
pub fn of(body: &[u8]) -> String {
    format!("\"{:032x}\"", XxHash3_128::oneshot(body))
}

/// Returns the tag of a body, told from its part `decides`, against which alone [`matches_part`] holds it: so what the
/// service itself changes all the time keeps nobody from changing the rest.
pub fn in_parts(decides: &[u8], body: &[u8]) -> String {
    format!("\"{:032x}-{:032x}\"", XxHash3_128::oneshot(decides), XxHash3_128::oneshot(body))
}

/// Returns whether `If-Match` lists a tag of [`in_parts`] with this part.
pub fn matches_part(field: &str, decides: &[u8]) -> bool {
    let begin = format!("\"{:032x}-", XxHash3_128::oneshot(decides));
    names(field, |listed| listed.starts_with(&begin))
}

/// Returns whether `If-None-Match` lists the tag (weak comparison, RFC 9110 section 13.1.2).
pub fn none_match(field: &str, tag: &str) -> bool {
    names(field, |listed| listed.strip_prefix("W/").unwrap_or(listed) == tag)
}

/// Returns whether `If-Match` lists the tag (strong comparison, RFC 9110 section 13.1.1).
pub fn matches(field: &str, tag: &str) -> bool {
    names(field, |listed| listed == tag)
}

fn names(field: &str, is: impl Fn(&str) -> bool) -> bool {
    field.trim() == "*" || field.split(',').any(|listed| is(listed.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_stars() {
        let tag = of(b"{}");
        assert_eq!(tag.len(), 34);
        assert!(matches("*", &tag) && matches(&format!("\"x\", {tag}"), &tag));
        assert!(!matches(&format!("W/{tag}"), &tag) && none_match(&format!("W/{tag}"), &tag));
        assert!(!none_match("\"x\"", &tag));
        let (early, late) = (in_parts(b"{}", b"1"), in_parts(b"{}", b"2"));
        assert!(!none_match(&early, &late) && matches_part(&early, b"{}") && matches_part(&late, b"{}"));
        assert!(!matches_part(&early, b"[]") && !matches_part(&of(b"{}"), b"{}") && matches_part("*", b"[]"));
    }
}
