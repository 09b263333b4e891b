//! Ids on the wire: the account's number × 2^32 + a count that starts at 1 (docs/api.md, Ids).

use alloc::string::{String, ToString};

use uuid::{Builder, Uuid};

use crate::key::Space;

/// Returns the id of a row; in the root space it is the count itself.
pub fn of(space: Space, count: u32) -> u64 {
    match space {
        Space::Root | Space::Memory => u64::from(count),
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

/// Returns a UUID (version 8 of RFC 9562) that leads to an account, by 32 of its bits; the others are random.
pub fn uuid_of_account(account: u32, mut random: [u8; 16]) -> String {
    random[..4].copy_from_slice(&account.to_be_bytes());
    Builder::from_custom_bytes(random).into_uuid().to_string()
}

/// Returns a UUID that leads to a row of an account, by 64 of its bits; the other 58 are random, so that who does not
/// know it does not guess it.
pub fn uuid_of_row(account: u32, count: u32, mut random: [u8; 16]) -> String {
    random[12..].copy_from_slice(&count.to_be_bytes());
    uuid_of_account(account, random)
}

/// Returns the account that a UUID leads to; `None` for other text, and for UUIDs of another version.
pub fn account_of_uuid(text: &str) -> Option<u32> {
    led(text).map(|(account, _)| account)
}

/// Returns the count of the row that a UUID leads to in this account, if it leads there.
pub fn count_of_uuid(account: u32, text: &str) -> Option<u32> {
    led(text).filter(|(of, count)| *of == account && *count > 0).map(|(_, count)| count)
}

fn led(text: &str) -> Option<(u32, u32)> {
    // Only the form that is written is read, 36 characters, in either case.
    let is_written = |uuid: &Uuid| uuid.get_version_num() == 8 && uuid.to_string().eq_ignore_ascii_case(text);
    let uuid = Uuid::try_parse(text).ok().filter(is_written)?;
    let [a, b, c, d, .., e, f, g, h] = *uuid.as_bytes();
    Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])))
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

    #[test]
    fn a_uuid_leads_to_its_row() {
        for (account, count) in [(0, 1), (7, u32::MAX), (u32::MAX, 9)] {
            let uuid = uuid_of_row(account, count, [0xa5; 16]);
            assert_eq!((account_of_uuid(&uuid), count_of_uuid(account, &uuid)), (Some(account), Some(count)), "{uuid}");
            assert_eq!(count_of_uuid(account ^ 1, &uuid), None);
            assert_eq!(account_of_uuid(&uuid.to_uppercase()), Some(account));
            assert_eq!(account_of_uuid(&uuid.replace('-', "")), None);
            assert_eq!(account_of_uuid(&uuid_of_account(account, [1; 16])), Some(account));
        }
        let other = Builder::from_random_bytes([0; 16]).into_uuid().to_string();
        assert_eq!((account_of_uuid(&other), account_of_uuid(""), account_of_uuid("7")), (None, None, None));
    }
}
