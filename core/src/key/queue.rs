//! Keys of durable work, and of the calls that wait for an engine.

use core::ops::Range;

use super::{Key, Space, Table, after, below, key, with};
use crate::time::Timestamp;

/// A planned task of a lane, ordered by the time it is due.
pub fn due(space: Space, lane: u8, at: Timestamp, task: &[u8]) -> Key {
    with(key(space, Table::Due, 9 + task.len()), &[&[lane], &at.micros().to_be_bytes(), task])
}

/// The planned tasks of a lane, the one due first first.
pub fn dues(space: Space, lane: u8) -> Range<Key> {
    below(with(key(space, Table::Due, 1), &[&[lane]]))
}

/// Time and task of a [`due`] key.
pub fn read_due(key: &[u8]) -> Option<(Timestamp, &[u8])> {
    let at = u64::from_be_bytes(key.get(7..15)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), key.get(15..)?))
}

/// A planned task, by what it is.
pub fn job(space: Space, task: &[u8]) -> Key {
    with(key(space, Table::Job, task.len()), &[task])
}

/// When each lane of an account is next due, as the root knows it.
pub fn due_head(space: Space) -> Key {
    key(space, Table::DueHead, 0)
}

/// A lane of an account that has something to do, ordered by the time that is due.
pub fn due_account(at: Timestamp, account: u32, lane: u8) -> Key {
    with(key(Space::Root, Table::DueAccount, 13), &[&at.micros().to_be_bytes(), &account.to_be_bytes(), &[lane]])
}

/// All lanes with something to do, the one due first first.
pub fn due_accounts() -> Range<Key> {
    below(key(Space::Root, Table::DueAccount, 0))
}

/// Time, account and lane of a [`due_account`] key.
pub fn read_due_account(key: &[u8]) -> Option<(Timestamp, u32, u8)> {
    let at = u64::from_be_bytes(key.get(6..14)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), u32::from_be_bytes(key.get(14..18)?.try_into().ok()?), *key.get(18)?))
}

/// How often a job came to nothing, ever.
pub fn job_faults() -> Key {
    key(Space::Root, Table::JobFaults, 0)
}

/// When the work of a changed key is due: tells a host to come back by then.
pub fn due_of(key: &[u8]) -> Option<Timestamp> {
    let is_due = key.starts_with(&[0; 5]) && key.get(5) == Some(&(Table::DueAccount as u8));
    is_due.then(|| read_due_account(key)).flatten().map(|(at, ..)| at)
}

/// A call that waits for an engine, ordered by account, mode and call.
pub fn waiting(account: u32, mode: u8, call: u32) -> Key {
    with(key(Space::Root, Table::Waiting, 9), &[&account.to_be_bytes(), &[mode], &call.to_be_bytes()])
}

/// The calls of an account that wait in a mode.
pub fn waiting_in(account: u32, mode: u8) -> Range<Key> {
    below(with(key(Space::Root, Table::Waiting, 5), &[&account.to_be_bytes(), &[mode]]))
}

/// The calls of the same account and mode that wait behind one of them.
pub fn waiting_after(one: &[u8]) -> Range<Key> {
    [one, &[0]].concat()..after(one.get(..11).unwrap_or(one))
}

/// The calls that wait, from an account on.
pub fn waiting_from(account: u32) -> Range<Key> {
    let start = with(key(Space::Root, Table::Waiting, 4), &[&account.to_be_bytes()]);
    start..after(&key(Space::Root, Table::Waiting, 0))
}

/// Account, mode and call of a [`waiting`] key.
pub fn read_waiting(key: &[u8]) -> Option<(u32, u8, u32)> {
    let account = u32::from_be_bytes(key.get(6..10)?.try_into().ok()?);
    Some((account, *key.get(10)?, u32::from_be_bytes(key.get(11..)?.try_into().ok()?)))
}

/// After which account the next claim looks first.
pub fn cursor() -> Key {
    key(Space::Root, Table::Cursor, 0)
}

/// When an engine last asked for calls, by its token.
pub fn attached(token: u32) -> Key {
    with(key(Space::Root, Table::Attached, 4), &[&token.to_be_bytes()])
}

/// All engines that ever asked.
pub fn all_attached() -> Range<Key> {
    below(key(Space::Root, Table::Attached, 0))
}
