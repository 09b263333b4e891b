//! [`Bare`]: a connection to PostgreSQL that puts rows into a table, without a node.

use std::time::Instant;

use switchboard_core::store::Change;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::SPAN;
use crate::Failed;

const TABLE: &str = "CREATE TABLE bare (key bytea PRIMARY KEY, value bytea NOT NULL) WITH (fillfactor = 80)";
/// Puts rows as they are, and drops others, in one statement.
const PUT: &str = "WITH gone AS (DELETE FROM bare WHERE key = ANY($3)) INSERT INTO bare \
    SELECT * FROM unnest($1::bytea[], $2::bytea[]) ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// A connection to PostgreSQL that puts rows into a table of its own. While it is open, what PostgreSQL takes for it is
/// seen at its process.
pub struct Bare {
    runtime: Runtime,
    client: Client,
    put: Statement,
}

impl Bare {
    pub fn new(config: &Config) -> Result<Self, Failed> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (client, put) = runtime.block_on(async {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute(TABLE).await?;
            let put = client.prepare(PUT).await?;
            Ok::<_, Failed>((client, put))
        })?;
        Ok(Self { runtime, client, put })
    }

    /// Drops all rows.
    pub fn clear(&self) -> Result<(), Failed> {
        Ok(self.runtime.block_on(self.client.batch_execute("TRUNCATE bare"))?)
    }

    /// Returns how many commits a second PostgreSQL makes of these rows, from an empty table: each once, since rows that
    /// are put again are no new ones.
    pub fn puts(&self, commits: &[Vec<Change>]) -> Result<f64, Failed> {
        self.clear()?;
        self.runtime.block_on(async {
            let (began, mut made) = (Instant::now(), 0);
            for changes in commits {
                self.commit(changes).await?;
                made += 1;
                if began.elapsed() > SPAN {
                    break;
                }
            }
            Ok(f64::from(made) / began.elapsed().as_secs_f64())
        })
    }

    /// Commits one of them.
    pub fn put(&self, changes: &[Change]) -> Result<(), Failed> {
        self.runtime.block_on(self.commit(changes))
    }

    /// Asks PostgreSQL for nothing.
    pub fn round_trip(&self) -> Result<(), Failed> {
        Ok(self.runtime.block_on(self.client.batch_execute(""))?)
    }

    async fn commit(&self, changes: &[Change]) -> Result<(), Failed> {
        let (mut keys, mut values, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for change in changes {
            match change {
                Change::Put(key, value) => {
                    keys.push(key.as_slice());
                    values.push(value.as_slice());
                }
                Change::Delete(key) => gone.push(key.as_slice()),
            }
        }
        self.client.execute(&self.put, &[&keys, &values, &gone]).await?;
        Ok(())
    }
}
