//! Entity tags (RFC 9110 section 8.8.3): strong, of the bytes that are sent.

use alloc::format;
use alloc::string::String;

use twox_hash::XxHash3_128;

/// The tag of these bytes.
pub fn of(body: &[u8]) -> String {
    format!("\"{:032x}\"", XxHash3_128::oneshot(body))
}

/// Whether `If-None-Match` names the tag (weak comparison, RFC 9110 section 13.1.2).
pub fn none_match(field: &str, tag: &str) -> bool {
    names(field, |listed| listed.strip_prefix("W/").unwrap_or(listed) == tag)
}

/// Whether `If-Match` names the tag (strong comparison, RFC 9110 section 13.1.1).
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
    }
}
