//! Shared rows: those that concern more than one account, such as plans, tokens of engines and the owners of telephone
//! numbers. Every lane holds those that it uses, and any may change them.
//!
//! Whoever changes some adds what it changed to a log, in the same commit and under the next number, which one commit
//! alone gets. Every commit says after which change it was decided: if there was another one since, nothing is committed,
//! and the steps are run again over the rows as the log says that they are.
//!
//! A lane that is made is noted there too, as a change of nothing: so whoever knows a change of the log knows whether the
//! database still has [the past](super::past) in which it was made.

use switchboard_core::store::Change;
use tokio_postgres::{Client, Error, GenericClient, Row};

use super::fence::{Id, draw};
use super::link::id_in;
use super::place;
use crate::store::StoreError;

/// Changes that are kept for lanes that have not seen them.
pub(super) const KEPT: i64 = 1_000;
/// A change and those after it, up to another one.
pub(super) const SINCE: &str = "SELECT seq, mark, keys, vals FROM shared WHERE seq BETWEEN $1 AND $2 ORDER BY seq";
/// The last change.
pub(super) const LAST: &str = "SELECT seq, mark FROM shared ORDER BY seq DESC LIMIT 1";
/// Notes a change of nothing, unless another one gets its number.
pub(super) const NOTED: &str = "INSERT INTO shared (seq, mark, keys, vals) \
    SELECT max(seq) + 1, $1, '{}', '{}' FROM shared ON CONFLICT DO NOTHING";

/// A change in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogPoint {
    pub seq: i64,
    /// Nobody else's: in another past, another change has the number.
    pub mark: Id,
}

impl LogPoint {
    /// Reads one from two columns.
    pub fn of(row: &Row, column: usize) -> Self {
        Self { seq: row.get(column), mark: id_in(row, column + 1).unwrap_or_default() }
    }

    /// Returns the change right after this one.
    pub fn next(self, mark: Id) -> Self {
        Self { seq: self.seq + 1, mark }
    }
}

/// What a commit changes of the shared rows; a key without a value is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SharedChanges {
    pub keys: Vec<Vec<u8>>,
    pub values: Vec<Option<Vec<u8>>>,
    /// The mark that they get in the log, if there are any.
    pub mark: Option<Id>,
}

impl SharedChanges {
    /// Returns those among changes.
    pub fn of(changes: &[Change]) -> Result<Self, StoreError> {
        let mut shared = Self::default();
        for change in changes {
            let (key, value) = match change {
                Change::Put(key, value) => (key, Some(value.clone())),
                Change::Delete(key) => (key, None),
            };
            if place::is_shared(key) {
                shared.keys.push(key.clone());
                shared.values.push(value);
            }
        }
        if !shared.keys.is_empty() {
            shared.mark = Some(draw()?);
        }
        Ok(shared)
    }
}

/// What the log says.
pub(super) struct Logged {
    /// The last change.
    pub last: LogPoint,
    /// All of them, in their order; `None` if they are not kept any more.
    pub changes: Option<Vec<Change>>,
}

/// Reads the changes after one, up to a number; `None` if the log does not have that one, and is of another past.
pub(super) async fn since(client: &Client, after: LogPoint, to: i64) -> Result<Option<Logged>, Error> {
    let rows = client.query(SINCE, &[&after.seq, &to]).await?;
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(None) };
    let (first, last) = (LogPoint::of(first, 0), LogPoint::of(last, 0));
    if first.seq > after.seq {
        return Ok(Some(Logged { last, changes: None }));
    }
    if first != after {
        return Ok(None);
    }
    let changes = rows[1..].iter().flat_map(|row| {
        let (keys, values): (Vec<Vec<u8>>, Vec<Option<Vec<u8>>>) = (row.get(2), row.get(3));
        keys.into_iter().zip(values).map(|(key, value)| match value {
            Some(value) => Change::Put(key, value),
            None => Change::Delete(key),
        })
    });
    Ok(Some(Logged { last, changes: Some(changes.collect()) }))
}

/// Reads the last change.
pub(super) async fn last(client: &Client) -> Result<LogPoint, Error> {
    Ok(LogPoint::of(&client.query_one(LAST, &[]).await?, 0))
}

/// Notes a change of nothing.
pub(super) async fn note(client: &impl GenericClient, mark: Id) -> Result<(), Error> {
    // Who gets the number first is waited for.
    while client.execute(NOTED, &[&mark.as_slice()]).await? == 0 {}
    Ok(())
}
