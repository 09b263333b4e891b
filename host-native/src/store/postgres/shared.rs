//! Shared rows: those that concern more than one account, such as plans, tokens of engines and the owners of telephone
//! numbers. Every lane holds those that it uses, and any may change them.
//!
//! Whoever changes some adds what it changed to a log, in the same commit and under the next number, which one commit
//! alone gets. Every commit says after which change it was decided: if there was another one since, nothing is committed,
//! and the steps are run again over the rows as the log says that they are.

use switchboard_core::store::Change;
use tokio_postgres::{Client, Error};

use super::place;

/// Changes that are kept for lanes that have not seen them.
pub(super) const KEPT: i64 = 1_000;
pub(super) const SINCE: &str = "SELECT seq, keys, vals FROM shared WHERE seq > $1 AND seq <= $2 ORDER BY seq";

/// What a commit changes of the shared rows; a key without a value is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SharedChanges {
    pub keys: Vec<Vec<u8>>,
    pub values: Vec<Option<Vec<u8>>>,
}

impl SharedChanges {
    /// Returns those among changes.
    pub fn of(changes: &[Change]) -> Self {
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
        shared
    }
}

/// What the log says.
pub(super) struct Logged {
    /// The number of the last change.
    pub seq: i64,
    /// All of them, in their order; `None` if they are not kept any more.
    pub changes: Option<Vec<Change>>,
}

/// Reads the changes after a number, up to another one; `None` if there are none.
pub(super) async fn since(client: &Client, after: i64, to: i64) -> Result<Option<Logged>, Error> {
    let rows = client.query(SINCE, &[&after, &to]).await?;
    let Some(last) = rows.last() else { return Ok(None) };
    let seq: i64 = last.get(0);
    let is_whole = i64::try_from(rows.len()) == Ok(seq - after);
    let changes = rows.iter().flat_map(|row| {
        let (keys, values): (Vec<Vec<u8>>, Vec<Option<Vec<u8>>>) = (row.get(1), row.get(2));
        keys.into_iter().zip(values).map(|(key, value)| match value {
            Some(value) => Change::Put(key, value),
            None => Change::Delete(key),
        })
    });
    Ok(Some(Logged { seq, changes: is_whole.then(|| changes.collect()) }))
}
