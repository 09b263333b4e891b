//! Keys of the job queue, and of the calls that wait for an engine.

use core::ops::Range;

use super::{Key, Space, Table, after, below, key, read_lease_due, with};
use crate::time::Timestamp;

/// Returns the queue key of a task; keys sort by lane and due time.
pub fn due(space: Space, lane: u8, at: Timestamp, task: &[u8]) -> Key {
    with(key(space, Table::Due, 9 + task.len()), &[&[lane], &at.micros().to_be_bytes(), task])
}

/// Returns the range of the queued tasks of a lane, earliest due first.
pub fn dues(space: Space, lane: u8) -> Range<Key> {
    below(with(key(space, Table::Due, 1), &[&[lane]]))
}

/// Parses due time and task of a [`due`] key.
pub fn read_due(key: &[u8]) -> Option<(Timestamp, &[u8])> {
    let at = u64::from_be_bytes(key.get(7..15)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), key.get(15..)?))
}

/// Returns the key of the job of a task: one job per task, whatever its due time.
pub fn job(space: Space, task: &[u8]) -> Key {
    with(key(space, Table::Job, task.len()), &[task])
}

/// Returns the range of the jobs of an account whose task's bytes sort from `from` on.
pub fn jobs_from(space: Space, from: &[u8]) -> Range<Key> {
    job(space, from)..after(&key(space, Table::Job, 0))
}

/// Returns the bytes of the task in a [`job`] key.
pub fn read_job(key: &[u8]) -> &[u8] {
    key.get(6..).unwrap_or_default()
}

/// Returns the key of the next due time of each lane of an account, as entered in the root.
pub fn due_head(space: Space) -> Key {
    key(space, Table::DueHead, 0)
}

/// Returns the root's key of a lane of an account with queued tasks; keys sort by the time the first is due.
pub fn due_account(at: Timestamp, account: u32, lane: u8) -> Key {
    with(key(Space::Root, Table::DueAccount, 13), &[&at.micros().to_be_bytes(), &account.to_be_bytes(), &[lane]])
}

/// Returns the range of all lanes with queued tasks, earliest due first.
pub fn due_accounts() -> Range<Key> {
    below(key(Space::Root, Table::DueAccount, 0))
}

/// Parses due time, account and lane of a [`due_account`] key.
pub fn read_due_account(key: &[u8]) -> Option<(Timestamp, u32, u8)> {
    let at = u64::from_be_bytes(key.get(6..14)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), u32::from_be_bytes(key.get(14..18)?.try_into().ok()?), *key.get(18)?))
}

/// Returns the key of the number of failed job runs since the installation began.
pub fn job_faults() -> Key {
    key(Space::Root, Table::JobFaults, 0)
}

/// Returns the due time in a changed [`due_account`] or [`lease_due`](super::lease_due) key, by which a host must run a
/// tick; `None` for other keys.
pub fn due_of(key: &[u8]) -> Option<Timestamp> {
    let is_due = key.starts_with(&[0; 5]) && key.get(5) == Some(&(Table::DueAccount as u8));
    let account = is_due.then(|| read_due_account(key)).flatten().map(|(at, ..)| at);
    account.or_else(|| read_lease_due(key).map(|(at, ..)| at))
}

/// Returns the key of a call that waits for an engine; keys sort by account, mode and call.
pub fn waiting(account: u32, mode: u8, call: u32) -> Key {
    with(key(Space::Root, Table::Waiting, 9), &[&account.to_be_bytes(), &[mode], &call.to_be_bytes()])
}

/// Returns the range of the waiting calls of an account in one mode.
pub fn waiting_in(account: u32, mode: u8) -> Range<Key> {
    below(with(key(Space::Root, Table::Waiting, 5), &[&account.to_be_bytes(), &[mode]]))
}

/// Returns the range of the waiting calls after the key `one`, in the same account and mode.
pub fn waiting_after(one: &[u8]) -> Range<Key> {
    [one, &[0]].concat()..after(one.get(..11).unwrap_or(one))
}

/// Returns the range of the waiting calls of this account and those after it.
pub fn waiting_from(account: u32) -> Range<Key> {
    let start = with(key(Space::Root, Table::Waiting, 4), &[&account.to_be_bytes()]);
    start..after(&key(Space::Root, Table::Waiting, 0))
}

/// Parses account, mode and call of a [`waiting`] key.
pub fn read_waiting(key: &[u8]) -> Option<(u32, u8, u32)> {
    let account = u32::from_be_bytes(key.get(6..10)?.try_into().ok()?);
    Some((account, *key.get(10)?, u32::from_be_bytes(key.get(11..)?.try_into().ok()?)))
}

/// Returns the key of a call with commands that no claim of its engine has told of; keys sort by token, account, call.
pub fn commanded(token: u32, account: u32, call: u32) -> Key {
    let place = [token.to_be_bytes(), account.to_be_bytes(), call.to_be_bytes()].concat();
    with(key(Space::Root, Table::Command, 12), &[&place])
}

/// Returns the range of the calls of an engine token with such commands.
pub fn commanded_of(token: u32) -> Range<Key> {
    below(with(key(Space::Root, Table::Command, 4), &[&token.to_be_bytes()]))
}

/// Parses account and call of a [`commanded`] key.
pub fn read_commanded(key: &[u8]) -> Option<(u32, u32)> {
    let account = u32::from_be_bytes(key.get(10..14)?.try_into().ok()?);
    Some((account, u32::from_be_bytes(key.get(14..)?.try_into().ok()?)))
}

/// Returns the key that says that the operator drains an engine; keys sort by token and name.
pub fn drained(token: u32, name: &str) -> Key {
    with(key(Space::Root, Table::Drained, 4 + name.len()), &[&token.to_be_bytes(), name.as_bytes()])
}

/// Returns the range of the engines of a token that the operator drains.
pub fn drained_of(token: u32) -> Range<Key> {
    below(with(key(Space::Root, Table::Drained, 4), &[&token.to_be_bytes()]))
}

/// Returns the ranges of the root's queues: lanes with tasks, calls that wait for an engine, calls with commands.
pub fn queues() -> [Range<Key>; 3] {
    [Table::DueAccount, Table::Waiting, Table::Command].map(|table| below(key(Space::Root, table, 0)))
}

/// Returns the account of a row of such a queue; `None` for any other row.
pub fn account_of_queue(key: &[u8]) -> Option<u32> {
    if !key.starts_with(&[0; 5]) {
        return None;
    }
    let at = match key.get(5) {
        Some(table) if *table == Table::DueAccount as u8 => 14,
        Some(table) if *table == Table::Waiting as u8 => 6,
        Some(table) if *table == Table::Command as u8 => 10,
        _ => return None,
    };
    Some(u32::from_be_bytes(key.get(at..at + 4)?.try_into().ok()?))
}

/// Returns the key of a SIP trunk in the list of all; keys sort by account and count.
pub fn trunk(account: u32, count: u32) -> Key {
    with(key(Space::Root, Table::Trunk, 8), &[&account.to_be_bytes(), &count.to_be_bytes()])
}

/// Returns the range of all SIP trunks.
pub fn trunks() -> Range<Key> {
    below(key(Space::Root, Table::Trunk, 0))
}

/// Parses account and count of a [`trunk`] key.
pub fn read_trunk(key: &[u8]) -> Option<(u32, u32)> {
    let (account, count) = key.get(6..)?.split_first_chunk()?;
    Some((u32::from_be_bytes(*account), u32::from_be_bytes(count.try_into().ok()?)))
}

/// Returns the key of the version of that list.
pub fn trunks_version() -> Key {
    key(Space::Root, Table::TrunksVersion, 0)
}
