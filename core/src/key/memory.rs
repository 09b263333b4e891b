//! Keys of [`Space::Memory`]: what engines renew all the time, and what nobody misses after a restart.

use core::ops::Range;

use super::{Key, Space, Table, below, key, with};
use crate::time::Timestamp;

/// Returns whether a key is of [`Space::Memory`]: a host may keep such rows in memory, and must if it can. None of them
/// is in a backup.
pub fn is_memory(key: &[u8]) -> bool {
    key.first() == Some(&2)
}

/// Returns the key of the lease of a call.
pub fn lease(account: u32, call: u32) -> Key {
    with(key(Space::Memory, Table::Lease, 8), &[&account.to_be_bytes(), &call.to_be_bytes()])
}

/// Parses account and call of a [`lease`] key; `None` for another key.
pub fn read_lease(key: &[u8]) -> Option<(u32, u32)> {
    let (account, call) = place(key, Table::Lease)?.split_first_chunk()?;
    Some((u32::from_be_bytes(*account), u32::from_be_bytes(call.try_into().ok()?)))
}

/// Returns what follows the table in a key of [`Space::Memory`], if it is of this table.
fn place(key: &[u8], table: Table) -> Option<&[u8]> {
    key.strip_prefix(&[2, 0, 0, 0, 0, table as u8])
}

/// Returns the key of the time at which a lease is looked at; keys sort by time.
pub fn lease_due(at: Timestamp, account: u32, call: u32) -> Key {
    let place = [&at.micros().to_be_bytes()[..], &account.to_be_bytes(), &call.to_be_bytes()].concat();
    with(key(Space::Memory, Table::LeaseDue, 16), &[&place])
}

/// Returns the range of all such times, soonest first.
pub fn lease_dues() -> Range<Key> {
    below(key(Space::Memory, Table::LeaseDue, 0))
}

/// Parses time, account and call of a [`lease_due`] key; `None` for another key.
pub fn read_lease_due(key: &[u8]) -> Option<(Timestamp, u32, u32)> {
    let (at, rest) = place(key, Table::LeaseDue)?.split_first_chunk()?;
    let (account, call) = rest.split_first_chunk()?;
    let at = Timestamp::from_micros(u64::from_be_bytes(*at));
    Some((at, u32::from_be_bytes(*account), u32::from_be_bytes(call.try_into().ok()?)))
}

/// Returns the key of how far the leases of running calls have been restored since the host started.
pub fn restored() -> Key {
    key(Space::Memory, Table::Restored, 0)
}

/// Returns the key of the account that last got an engine: the next claim starts after it.
pub fn cursor() -> Key {
    key(Space::Memory, Table::Cursor, 0)
}

/// Returns the key of the digest of the last one-time code that logged in.
pub fn login_code() -> Key {
    key(Space::Memory, Table::LoginCode, 0)
}

/// Returns the key of an engine that was heard of; keys sort by token and name.
pub fn engine(token: u32, name: &str) -> Key {
    with(key(Space::Memory, Table::Engine, 4 + name.len()), &[&token.to_be_bytes(), name.as_bytes()])
}

/// Returns the range of all engines.
pub fn engines() -> Range<Key> {
    below(key(Space::Memory, Table::Engine, 0))
}

/// Returns the range of the engines of a token.
pub fn engines_of(token: u32) -> Range<Key> {
    below(with(key(Space::Memory, Table::Engine, 4), &[&token.to_be_bytes()]))
}

/// Parses the token of an [`engine`] key; `None` for another key.
pub fn read_engine(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*place(key, Table::Engine)?.first_chunk()?))
}

/// Returns the key of the line that is being spoken in a call.
pub fn partial(account: u32, call: u32) -> Key {
    with(key(Space::Memory, Table::Partial, 8), &[&account.to_be_bytes(), &call.to_be_bytes()])
}

/// Parses account and call of a [`partial`] key; `None` for another key.
pub fn read_partial(key: &[u8]) -> Option<(u32, u32)> {
    let (account, call) = place(key, Table::Partial)?.split_first_chunk()?;
    Some((u32::from_be_bytes(*account), u32::from_be_bytes(call.try_into().ok()?)))
}

/// Returns the key of the check of a trunk.
pub fn trunk_check(account: u32, trunk: u32) -> Key {
    with(key(Space::Memory, Table::TrunkCheck, 8), &[&account.to_be_bytes(), &trunk.to_be_bytes()])
}

/// Returns the range of all checks.
pub fn trunk_checks() -> Range<Key> {
    below(key(Space::Memory, Table::TrunkCheck, 0))
}

/// Parses account and trunk of a [`trunk_check`] key; `None` for another key.
pub fn read_trunk_check(key: &[u8]) -> Option<(u32, u32)> {
    let (account, trunk) = place(key, Table::TrunkCheck)?.split_first_chunk()?;
    Some((u32::from_be_bytes(*account), u32::from_be_bytes(trunk.try_into().ok()?)))
}

/// Returns the key of what an engine says of its registration with a trunk.
pub fn registration(account: u32, trunk: u32) -> Key {
    with(key(Space::Memory, Table::Registration, 8), &[&account.to_be_bytes(), &trunk.to_be_bytes()])
}

/// Returns the range of all registrations.
pub fn registrations() -> Range<Key> {
    below(key(Space::Memory, Table::Registration, 0))
}

/// Returns the range of the registrations with the trunks of an account.
pub fn registrations_of(account: u32) -> Range<Key> {
    below(with(key(Space::Memory, Table::Registration, 4), &[&account.to_be_bytes()]))
}

/// Parses account and trunk of a [`registration`] key; `None` for another key.
pub fn read_registration(key: &[u8]) -> Option<(u32, u32)> {
    let (account, trunk) = place(key, Table::Registration)?.split_first_chunk()?;
    Some((u32::from_be_bytes(*account), u32::from_be_bytes(trunk.try_into().ok()?)))
}
