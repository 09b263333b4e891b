//! Ids on the wire: the account's number × 2^32 + a count that starts at 1 (docs/api.md, Ids).

use crate::key::Space;

/// Returns the id of a row; in the root space it is the count itself.
pub fn of(space: Space, count: u32) -> u64 {
    match space {
        Space::Root => u64::from(count),
        Space::Account(number) => u64::from(number) << 32 | u64::from(count),
    }
}

/// Returns the count of an id, whatever its space: the low 32 bits.
pub fn count(id: u64) -> u32 {
    let [a, b, c, d, ..] = id.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Returns the count of an id, if it belongs to the space.
pub fn local(space: Space, id: u64) -> Option<u32> {
    let count = count(id);
    (count > 0 && of(space, count) == id).then_some(count)
}

/// Parses an id in a path and returns its count, if it belongs to the space. Only the canonical decimal is an id.
pub fn parse(space: Space, text: &str) -> Option<u32> {
    parse_any(text).and_then(|id| local(space, id))
}

/// Splits an id into its account's number and its count.
pub fn split(id: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = id.to_be_bytes();
    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
}

/// Parses an id in a path, whatever its account. Only the canonical decimal is an id.
pub fn parse_any(text: &str) -> Option<u64> {
    let digits =
        !text.is_empty() && text.len() <= 16 && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?.filter(|id| count(*id) > 0)
}

/// Returns the `user_id` of an account: its number + 1.
pub fn user(account: u32) -> u64 {
    u64::from(account) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_one_account() {
        let space = Space::Account(3);
        assert_eq!(of(space, 7), (3 << 32) + 7);
        assert_eq!(parse(space, "12884901895"), Some(7));
        for text in ["", "0", "7", "012884901895", "12884901888", "-1", "1e3", "99999999999999999999", "+12884901895"] {
            assert_eq!(parse(space, text), None, "{text}");
        }
    }
}
