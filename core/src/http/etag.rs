//! Entity tags (RFC 9110 section 8.8.3): strong ones, computed from the bytes sent.

use alloc::format;
use alloc::string::String;

use twox_hash::XxHash3_128;

/// Returns the tag of these bytes: XXH3-128 as 32 hexadecimal digits, in quotes.
pub fn of(body: &[u8]) -> String {
    format!("\"{:032x}\"", XxHash3_128::oneshot(body))
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
    }
}
