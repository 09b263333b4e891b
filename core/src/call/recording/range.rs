//! `Range` of a request (RFC 9110 section 14): one range of bytes. Several, other units and what cannot be read are
//! ignored, as the RFC allows: the whole is sent then.

use core::ops::Range;

/// What a request wants of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedRange {
    /// All of it.
    Whole,
    /// These bytes.
    Part(Range<u64>),
    /// Bytes that are not there.
    Outside,
}

/// Reads a `Range` for an object of this length.
pub fn wanted(field: Option<&str>, bytes: u64) -> WantedRange {
    let Some(spec) = field.and_then(spec) else { return WantedRange::Whole };
    let (first, last) = spec;
    let range = match (first, last) {
        (Some(first), None) => first..bytes,
        (Some(first), Some(last)) => first..bytes.min(last.saturating_add(1)),
        (None, Some(length)) => bytes.saturating_sub(length)..bytes,
        (None, None) => return WantedRange::Whole,
    };
    if range.is_empty() { WantedRange::Outside } else { WantedRange::Part(range) }
}

/// Reads the only range of a field: its first and last byte, or the length of the end that is wanted.
fn spec(field: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (unit, set) = field.split_once('=')?;
    let (first, last) = set.trim().split_once('-').filter(|_| unit.trim().eq_ignore_ascii_case("bytes"))?;
    let number = |text: &str| match text {
        "" => Some(None),
        // More digits than fit are a byte beyond every object.
        digits if digits.bytes().all(|b| b.is_ascii_digit()) => Some(Some(digits.parse().unwrap_or(u64::MAX))),
        _ => None,
    };
    let (first, last) = (number(first)?, number(last)?);
    let is_backward = matches!((first, last), (Some(first), Some(last)) if last < first);
    (!is_backward).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_read_and_all_else_ignored() {
        use WantedRange::{Outside, Part, Whole};
        for (field, wants) in [
            ("bytes=0-", Part(0..10)),
            ("bytes=0-0", Part(0..1)),
            ("Bytes = 3-5".trim(), Part(3..6)),
            ("bytes=3-99", Part(3..10)),
            ("bytes=9-99999999999999999999999", Part(9..10)),
            ("bytes=-4", Part(6..10)),
            ("bytes=-40", Part(0..10)),
            ("bytes=10-", Outside),
            ("bytes=99999999999999999999999-", Outside),
            ("bytes=-0", Outside),
            ("bytes=0-1,3-4", Whole),
            ("bytes=5-3", Whole),
            ("bytes=-", Whole),
            ("bytes=a-b", Whole),
            ("bytes=+1-2", Whole),
            ("bytes=--2", Whole),
            ("seconds=0-1", Whole),
            ("bytes", Whole),
            ("", Whole),
        ] {
            assert_eq!(wanted(Some(field), 10), wants, "{field}");
        }
        assert_eq!(wanted(None, 10), Whole);
    }
}
