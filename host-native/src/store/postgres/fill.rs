//! [`DatabaseFill`]: a database without rows that is filled in one transaction.
//!
//! It is owned as by a node that serves: no other begins meanwhile, and one that took over makes the commit fail. Until
//! that commit nobody sees a row, and a connection that breaks leaves none.

use std::pin::pin;
use std::time::Duration;

use switchboard_core::key::Key;
use switchboard_core::view::Bytes;
use tokio::time::{Instant, timeout};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::fence::Uncommitted;
use super::link::{self, told};
use super::whole::Whole;
use super::{DOUBT, Postgres, place, seals};
use crate::seal::KeyId;
use crate::store::StoreError;
use crate::store::backend::{SealState, StoreEnd};
use crate::store::rows::{StoredVisitor, shown_stored};

const WHAT: &str = "the database cannot be filled";
const ROWS: &str = "COPY kv (k, v) FROM STDIN BINARY";
/// How long the database may take to give a transaction up.
const UNDONE: Duration = Duration::from_secs(2);

/// A database that is being filled.
pub struct DatabaseFill {
    // First: the transaction ends before the node gives the rows up.
    whole: Whole,
    postgres: Postgres,
    outcome: Outcome,
}

/// What became of the transaction.
enum Outcome {
    Open,
    Committed,
    /// It is not known whether it was committed.
    Unknown,
}

fn failed(error: &Error) -> StoreError {
    link::refused(WHAT, error)
}

impl DatabaseFill {
    /// Begins to fill the database of a URL: its tables are there and hold no row, and no node lives.
    pub fn begin(url: &str) -> Result<Self, StoreError> {
        let postgres = Postgres::open(url)?;
        let runtime = postgres.runtime()?.handle().clone();
        let whole = runtime.block_on(Whole::filling(&postgres.node.target, runtime.clone()))?;
        let any = runtime.block_on(whole.client().query_one("SELECT EXISTS (SELECT FROM kv)", &[]));
        if any.map_err(|error| failed(&error))?.get(0) {
            let why =
                format!("{} holds rows already: only a store without any is filled", postgres.node.target.shown());
            return Err(StoreError::of(WHAT, &why));
        }
        Ok(Self { whole, postgres, outcome: Outcome::Open })
    }

    /// Puts rows.
    pub fn put(&mut self, rows: Vec<(Key, Bytes)>) -> Result<(), StoreError> {
        let rows: Vec<_> = rows.into_iter().map(|(key, value)| (place::stored(&key), value)).collect();
        self.postgres.runtime()?.block_on(copied(self.whole.client(), &rows)).map_err(|error| failed(&error))
    }

    /// Shows every row that stands there, as stored, in the order of their keys.
    pub fn read_back(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        shown_stored(&self.whole, visit)
    }

    /// Commits the rows with the ids of the seal keys that they need.
    pub fn keep(&mut self, keys: &[(KeyId, bool)]) -> Result<(), StoreError> {
        let Self { whole, postgres, outcome } = self;
        let states = keys.iter().map(|(id, every)| (*id, SealState::of(*every))).collect();
        postgres.runtime()?.block_on(async {
            let client = whole.client();
            // What a store was sealed with that is no more there says nothing of this one.
            let forgotten = client.execute("DELETE FROM meta WHERE name LIKE 'seal:%'", &[]).await;
            forgotten.map_err(|error| failed(&error))?;
            seals::note(client, states).await?;
            commit(whole, postgres, outcome).await
        })
    }

    /// Leaves the tables without rows.
    pub fn undo(&mut self) -> Result<(), StoreError> {
        match self.outcome {
            Outcome::Open => {
                let runtime = self.postgres.runtime()?;
                let client = self.whole.client();
                // A connection that is broken, or drops now, is undone by the database.
                let _ = runtime.block_on(async { timeout(UNDONE, client.batch_execute("ROLLBACK")).await });
                Ok(())
            }
            Outcome::Committed => Err(StoreError::Failed("the database holds the rows".into())),
            Outcome::Unknown => {
                let state = "the database holds all rows or none, and `switchboard verify` tells which";
                Err(StoreError::Failed(state.into()))
            }
        }
    }
}

async fn copied(client: &Client, rows: &[(Key, Bytes)]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut writer = pin!(BinaryCopyInWriter::new(client.copy_in(ROWS).await?, &[Type::BYTEA, Type::BYTEA]));
    for (key, value) in rows {
        writer.as_mut().write(&[key, value]).await?;
    }
    writer.finish().await.map(drop)
}

/// Commits, and learns what became of it if the answer is lost.
async fn commit(whole: &Whole, postgres: &Postgres, outcome: &mut Outcome) -> Result<(), StoreError> {
    let mut lane = postgres.node.lane.lock().await;
    let clock = i64::try_from(postgres.node.clock.unpaced().micros()).unwrap_or(i64::MAX);
    if !lane.fence.move_on(whole.client(), clock).await.map_err(|error| failed(&error))? {
        return Err(StoreError::of(WHAT, &StoreEnd::Replaced));
    }
    let warnings = whole.warnings();
    let why = match whole.client().batch_execute("COMMIT").await {
        Ok(()) if whole.warnings() == warnings => {
            lane.fence.moved();
            *outcome = Outcome::Committed;
            return Ok(());
        }
        Ok(()) => "the standby may not have it".into(),
        Err(error) => told(&error),
    };
    *outcome = Outcome::Unknown;
    let settled = lane.fence.settle(Instant::now() + DOUBT, &why).await;
    let why = match settled {
        Ok(true) => {
            *outcome = Outcome::Committed;
            return Ok(());
        }
        Ok(false) => {
            *outcome = Outcome::Open;
            why
        }
        // Who took over waited for the transaction first, and it is not known how that ended.
        Err(Uncommitted::Replaced | Uncommitted::Outdated) => StoreEnd::Replaced.to_string(),
        Err(Uncommitted::Refused(error)) => error.to_string(),
        Err(Uncommitted::Strange(why) | Uncommitted::Unknown(why)) => why,
    };
    Err(StoreError::of(WHAT, &why))
}
