//! What a lane knows of the past, and whether the database still has it. A database goes back in time when a standby takes
//! over that had not everything, or an old copy of it is put in its place.

use tokio_postgres::{Client, Error};

use super::fence::Id;
use super::link::refused;
use super::shared::{self, LogPoint, Logged};
use super::{LEASE, Node};
use crate::store::StoreError;
use crate::store::backend::StoreEnd;

const UNCOMPARED: &str = "what the database has cannot be compared with what this node knows";

/// Reads where a lane stands, and whether the log has two changes; of one that is not kept any more that is not known.
pub(super) const PAST: &str = "SELECT (SELECT seq FROM lane WHERE id = $1), \
    EXISTS (SELECT FROM shared WHERE seq = $2 AND mark = $3) OR $2 < (SELECT min(seq) FROM shared), \
    EXISTS (SELECT FROM shared WHERE seq = $4 AND mark = $5) OR $4 < (SELECT min(seq) FROM shared)";

/// What a lane knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownPast {
    /// Commits of its own that were acknowledged.
    pub seq: i64,
    /// The last change of shared rows that it knows.
    pub shared: LogPoint,
    /// The last one that is sure: the standby had it when it was asked afterwards.
    pub sure: LogPoint,
}

/// How the database's past is related to what a lane knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Past {
    /// It is the same.
    Same,
    /// What is missing was never sure, such as a commit whose wait for the standby was cancelled.
    Unsure,
    /// What was acknowledged is missing.
    Lost,
}

impl KnownPast {
    /// Compares what the lane with an id knows with the database.
    pub async fn compare(&self, client: &Client, lane: &Id) -> Result<Past, Error> {
        let Self { seq, shared, sure } = self;
        let row = client
            .query_one(
                PAST,
                &[&lane.as_slice(), &shared.seq, &shared.mark.as_slice(), &sure.seq, &sure.mark.as_slice()],
            )
            .await?;
        let (stands, has_shared, has_sure): (Option<i64>, bool, bool) = (row.get(0), row.get(1), row.get(2));
        Ok(if !has_sure || stands.is_some_and(|stands| stands < *seq) {
            Past::Lost
        } else if has_shared {
            Past::Same
        } else {
            Past::Unsure
        })
    }
}

impl Node {
    /// Returns what the database must have.
    pub fn known_past(&self) -> KnownPast {
        let rows = self.rows.read();
        KnownPast { seq: rows.at.seq, shared: rows.at.shared, sure: rows.sure }
    }

    /// Compares what this node knows with the database: it ends if that went back in time.
    pub async fn look_back(&self) -> Result<Past, StoreError> {
        let compared = async {
            let (link, known) = (self.link().await?, self.known_past());
            let past = known.compare(&link.client, &self.id).await.map_err(|error| refused(UNCOMPARED, &error))?;
            self.note(past, known, &link.client).await?;
            Ok(past)
        };
        tokio::time::timeout(LEASE, compared).await.map_err(|late| StoreError::unavailable(UNCOMPARED, &late))?
    }

    /// Takes notice of how the database's past is related to what this node knew.
    pub async fn note(&self, past: Past, known: KnownPast, client: &Client) -> Result<(), StoreError> {
        match past {
            Past::Same => Ok(()),
            Past::Unsure => {
                let last = shared::last(client).await.map_err(|error| refused(UNCOMPARED, &error))?;
                self.learned(known.shared, Logged { last, changes: None });
                Ok(())
            }
            Past::Lost => {
                let KnownPast { seq, sure, .. } = known;
                let why = format!(
                    "the database went back in time: commit {seq} of this node is gone, or change {} of what all share",
                    sure.seq
                );
                Err(self.end(StoreEnd::Broken(why)))
            }
        }
    }

    /// Ends since the lane is another node's, unless the reason is that what was never sure is gone.
    pub async fn replaced(&self) -> StoreError {
        match self.look_back().await {
            Ok(Past::Same) => self.end(StoreEnd::Replaced),
            Ok(_) => StoreError::Outdated,
            Err(why) => why,
        }
    }
}
