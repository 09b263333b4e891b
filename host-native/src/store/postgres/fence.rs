//! [`Fence`]: the right to write, held as a row of the table `lane`.
//!
//! A commit is one statement. Its first part moves the lane's sequence from the number that its holder knows, under a
//! token that nobody else has: whoever was replaced, or stands at another number, changes nothing. No clock, no lock and
//! no state of a session is needed for that. When an answer is lost, the sequence says what became of the commit.
//!
//! The same statement refuses a commit that was decided over [shared](super::shared) rows as they no longer are, or in
//! another [past](super::past).

use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use super::link::{DatabaseLink, Prepared, refused, told};
use super::shared::{KEPT, LogPoint, SharedChanges};
use super::target::DatabaseTarget;
use crate::clock;
use crate::store::StoreError;

/// How long a commit may wait for its answer before it is asked what became of it.
const ANSWERED: Duration = Duration::from_secs(3);
/// Pause before another try to reach the database.
const AGAIN: Duration = Duration::from_millis(50);
/// The part of a commit's statement in which values go, and whether all of them were there.
macro_rules! deletions {
    () => {
        ", d AS (DELETE FROM kv USING f WHERE k = ANY($7) RETURNING 1)"
    };
    (were_there) => {
        "(SELECT count(*) FROM d) = $8 AND "
    };
}
/// A commit's statement. Each part that it has takes time, whether it finds something to do or not.
macro_rules! commit_with {
    ($($part:expr),*; $were_there:expr) => {
        concat!(
            "WITH f AS (UPDATE lane SET seq = seq + 1, clock = $4
                        WHERE id = $1 AND token = $2 AND seq = $3 AND NOT dead
                          AND (SELECT (s.seq, s.mark) = ($5, $6) FROM shared s ORDER BY s.seq DESC LIMIT 1)
                        RETURNING seq),
                  w AS (UPDATE kv SET v = x.v FROM f, unnest($9::bytea[], $10::bytea[]) x(k, v) WHERE kv.k = x.k
                        RETURNING 1),
                  i AS (INSERT INTO kv (k, v) SELECT x.k, x.v FROM f, unnest($12::bytea[], $13::bytea[]) x(k, v))",
            $($part,)*
            " SELECT seq / (CASE WHEN ",
            $were_there,
            "(SELECT count(*) FROM w) = $11 THEN 1 ELSE 0 END) FROM f"
        )
    };
}
/// Commits what is of accounts, if it is known of each key whether it has a value, and none goes: as most creates do.
pub(super) const COMMIT_KEPT: &str = commit_with!(; "");
/// Commits what is of accounts, if it is known of each key whether it has a value.
pub(super) const COMMIT_KNOWN: &str = commit_with!(deletions!(); deletions!(were_there));
/// Commits shared rows too, and keys of which it is not known whether they have a value.
pub(super) const COMMIT: &str = commit_with!(
    deletions!(),
    ", e AS (DELETE FROM kv USING f WHERE k = ANY($14)),
       u AS (INSERT INTO kv (k, v) SELECT x.k, x.v FROM f, unnest($15::bytea[], $16::bytea[]) x(k, v)
             ON CONFLICT (k) DO UPDATE SET v = excluded.v),
       s AS (INSERT INTO shared (seq, mark, keys, vals) SELECT $5 + 1, $17, $18, $19 FROM f WHERE $17 IS NOT NULL),
       o AS (DELETE FROM shared USING f WHERE $17 IS NOT NULL AND shared.seq <= $5 - $20)";
    deletions!(were_there)
);
/// Parameters of the first two.
pub(super) const KNOWN_PARAMETERS: usize = 13;
pub(super) static COMMIT_TYPES: [Type; 20] = [
    Type::BYTEA,
    Type::BYTEA,
    Type::INT8,
    Type::INT8,
    Type::INT8,
    Type::BYTEA,
    Type::BYTEA_ARRAY,
    Type::INT8,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::INT8,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::INT8,
];
const MOVE: &str = "UPDATE lane SET seq = seq + 1, clock = $4 WHERE id = $1 AND token = $2 AND seq = $3 AND NOT dead";
/// Asks what became of a commit; whoever watches the lane sees that its holder lives.
pub(super) const RESOLVE: &str = "UPDATE lane SET token = $3, beat = beat + 1 \
    WHERE id = $1 AND token IN ($2, $3) AND NOT dead RETURNING seq";
/// Tells whether shared rows were changed after a number.
pub(super) const PASSED: &str = "SELECT EXISTS (SELECT FROM shared WHERE seq > $1)";

/// Random bytes that nobody else has.
pub type Id = [u8; 16];

/// Draws random bytes.
pub(super) fn draw() -> Result<Id, StoreError> {
    #[cfg(test)]
    if let Some(id) = super::simulated::drawn() {
        return Ok(id);
    }
    let seed = clock::seed().map_err(|error| StoreError::of("no random bytes can be drawn", &error))?;
    let mut id = Id::default();
    id.copy_from_slice(&seed.derive("lane")[..16]);
    Ok(id)
}

/// Changes of a commit, by what is known of their keys; each list is sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Keys that have a value, which goes.
    pub deleted: Vec<Vec<u8>>,
    /// Keys that may have a value, which goes.
    pub cleared: Vec<Vec<u8>>,
    /// Keys that have a value, and their new ones.
    pub updated: Pairs,
    /// Keys that have no value, and their first ones.
    pub inserted: Pairs,
    /// Keys that may have a value, and their new ones.
    pub put: Pairs,
    /// What of it is of shared rows.
    pub shared: SharedChanges,
    /// The last change of shared rows that it was decided after.
    pub after: LogPoint,
}

impl Changes {
    /// Returns whether it is of accounts alone, and known of each key whether it has a value.
    fn is_known(&self) -> bool {
        self.cleared.is_empty() && self.put.keys.is_empty() && self.shared.mark.is_none()
    }
}

/// Keys and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    pub keys: Vec<Vec<u8>>,
    pub values: Vec<Vec<u8>>,
}

impl Pairs {
    pub fn push(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.keys.push(key);
        self.values.push(value);
    }
}

/// The holder of a lane.
pub(super) struct Fence {
    pub id: Id,
    token: Id,
    /// Commits of the lane, as far as they were answered.
    seq: i64,
    /// The token with which the commit in doubt is asked for: the question may be lost as well, and is asked again.
    doubt: Option<Id>,
    /// [`COMMIT_KEPT`], [`COMMIT_KNOWN`] and [`COMMIT`].
    commits: Prepared<3>,
}

/// Why nothing was committed, or why it is not known whether it was.
#[derive(Debug)]
pub(super) enum Uncommitted {
    /// The lane is another node's, or is not where this one knows it to be, or the log is not; nothing was changed.
    Replaced,
    /// Shared rows were changed since it was decided; nothing was changed.
    Outdated,
    /// The database refused it; nothing was changed.
    Refused(StoreError),
    /// The database is not what it was: rows were changed by someone else, or it went back in time.
    Strange(String),
    /// What became of the commit was not to be learned in time.
    Unknown(String),
}

/// What an attempt came to.
enum Attempt {
    Made,
    Replaced,
    Outdated,
    Again,
    Refused(StoreError),
    Strange(String),
    Unknown(String),
}

impl Fence {
    /// Takes a lane that was just made.
    pub fn of(target: DatabaseTarget, id: Id, token: Id) -> Self {
        let known = &COMMIT_TYPES[..KNOWN_PARAMETERS];
        let texts = [(COMMIT_KEPT, known), (COMMIT_KNOWN, known), (COMMIT, &COMMIT_TYPES[..])];
        Self { id, token, seq: 0, doubt: None, commits: Prepared::commits(target, texts) }
    }

    /// Returns the number of commits so far.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// Returns whether an earlier commit is in doubt: it is settled before the next one.
    pub fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// Commits changes; returns the lane's new sequence. A commit whose answer is lost is resolved, and made again only if
    /// it was not made; after `until` it is left in doubt.
    pub async fn commit(&mut self, changes: &Changes, clock: i64, until: Instant) -> Result<i64, Uncommitted> {
        loop {
            match self.attempt(changes, clock).await {
                Attempt::Made => {
                    self.seq += 1;
                    return Ok(self.seq);
                }
                Attempt::Replaced => return Err(Uncommitted::Replaced),
                Attempt::Outdated => return Err(Uncommitted::Outdated),
                Attempt::Again => {}
                Attempt::Refused(why) => return Err(Uncommitted::Refused(why)),
                Attempt::Strange(why) => return Err(Uncommitted::Strange(why)),
                Attempt::Unknown(why) => {
                    tracing::warn!(why, "what became of a commit is not known: the lane's sequence will tell");
                    if self.settle(until, &why).await? {
                        return Ok(self.seq);
                    }
                }
            }
        }
    }

    /// Moves the lane on in a transaction of the caller's, who [says](Fence::moved) when it is committed; if its answer is
    /// lost, [`Fence::settle`] tells of it. Returns whether the lane is still its own.
    pub async fn move_on(&self, client: &Client, clock: i64) -> Result<bool, Error> {
        let parameters: [&(dyn ToSql + Sync); 4] = [&self.id.as_slice(), &self.token.as_slice(), &self.seq, &clock];
        Ok(client.execute(MOVE, &parameters).await? == 1)
    }

    /// Counts a commit of such a transaction.
    pub fn moved(&mut self) {
        self.seq += 1;
    }

    async fn attempt(&mut self, changes: &Changes, clock: i64) -> Attempt {
        let (id, token, seq) = (self.id, self.token, self.seq);
        let (link, [kept, known, any]) = match self.commits.get().await {
            Ok(connection) => connection,
            // Nothing was sent, and nothing is in doubt; asking costs no more than another try.
            Err(why) => return Attempt::Unknown(why),
        };
        let warnings = link.warnings();
        let (deleted, updated) = (count(&changes.deleted), count(&changes.updated.keys));
        let parameters: [&(dyn ToSql + Sync); 20] = [
            &id.as_slice(),
            &token.as_slice(),
            &seq,
            &clock,
            &changes.after.seq,
            &changes.after.mark.as_slice(),
            &changes.deleted,
            &deleted,
            &changes.updated.keys,
            &changes.updated.values,
            &updated,
            &changes.inserted.keys,
            &changes.inserted.values,
            &changes.cleared,
            &changes.put.keys,
            &changes.put.values,
            &changes.shared.mark.as_ref().map(Id::as_slice),
            &changes.shared.keys,
            &changes.shared.values,
            &KEPT,
        ];
        let (statement, parameters) = if changes.is_known() {
            (if changes.deleted.is_empty() { kept } else { known }, &parameters[..KNOWN_PARAMETERS])
        } else {
            (any, &parameters[..])
        };
        let answer = tokio::time::timeout(ANSWERED, link.client.query_opt(statement, parameters)).await;
        // Who cancels a wait for the standby makes PostgreSQL say that all is well, with a warning.
        let is_sure = link.warnings() == warnings;
        match answer {
            Ok(Ok(Some(_))) => {
                if is_sure {
                    Attempt::Made
                } else {
                    self.in_doubt("the standby may not have it".into())
                }
            }
            Ok(Ok(None)) => passed(link, changes.after, Attempt::Replaced).await,
            Ok(Err(error)) => match error.code() {
                // Rows are not as they were: another lane's change of shared rows came between, or another program.
                Some(code) if *code == SqlState::DIVISION_BY_ZERO || *code == SqlState::UNIQUE_VIOLATION => {
                    passed(link, changes.after, Attempt::Strange("rows were changed by another program".into())).await
                }
                Some(code)
                    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED =>
                {
                    Attempt::Again
                }
                // An error of the statement undid it; one that ends the connection may have come after the commit.
                _ if severity(&error) == Some(Severity::Error) => {
                    Attempt::Refused(refused("the database refused a commit", &error))
                }
                _ => self.in_doubt(told(&error)),
            },
            Err(_) => self.in_doubt("the database does not answer".into()),
        }
    }

    /// Drops the connection: what is asked next is asked on a new one.
    fn in_doubt(&mut self, why: String) -> Attempt {
        self.commits.close();
        Attempt::Unknown(why)
    }

    /// Returns whether the commit in doubt was made. Afterwards it never will be: a statement that still runs is waited
    /// for, and one that is still on its way has an old token. `why` says why it is in doubt.
    pub async fn settle(&mut self, until: Instant, why: &str) -> Result<bool, Uncommitted> {
        let mut why = why.to_owned();
        let fresh = match self.doubt {
            Some(fresh) => fresh,
            None => draw().map_err(|error| Uncommitted::Unknown(error.to_string()))?,
        };
        self.doubt = Some(fresh);
        loop {
            match tokio::time::timeout_at(until, self.resolve(&fresh)).await {
                Err(_) => return Err(Uncommitted::Unknown(why)),
                Ok(Ok(row)) => return self.settled(fresh, row.map(|row| row.get(0))),
                Ok(Err(error)) => {
                    why = error;
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    fn settled(&mut self, fresh: Id, seq: Option<i64>) -> Result<bool, Uncommitted> {
        let Some(seq) = seq else { return Err(Uncommitted::Replaced) };
        (self.token, self.doubt) = (fresh, None);
        let made = seq - self.seq;
        if made == 0 || made == 1 {
            self.seq = seq;
            return Ok(made == 1);
        }
        Err(Uncommitted::Strange(format!("it stands at commit {seq} of this node, which made {}", self.seq)))
    }

    async fn resolve(&mut self, fresh: &Id) -> Result<Option<Row>, String> {
        let (id, token) = (self.id, self.token);
        self.commits.close();
        let (link, _) = self.commits.get().await?;
        let warnings = link.warnings();
        let parameters: [&(dyn ToSql + Sync); 3] = [&id.as_slice(), &token.as_slice(), &fresh.as_slice()];
        let row = link.client.query_opt(RESOLVE, &parameters).await.map_err(|error: Error| told(&error))?;
        // What the standby may not have must not be believed.
        if link.warnings() == warnings { Ok(row) } else { Err("the standby may not have it".into()) }
    }
}

/// Returns why a commit was refused: shared rows were changed since it was decided, or else something other.
async fn passed(link: &DatabaseLink, after: LogPoint, other: Attempt) -> Attempt {
    match tokio::time::timeout(ANSWERED, link.client.query_one(PASSED, &[&after.seq])).await {
        Ok(Ok(row)) if row.get(0) => Attempt::Outdated,
        Ok(Ok(_)) => other,
        Ok(Err(_)) | Err(_) => Attempt::Again,
    }
}

fn count<T>(all: &[T]) -> i64 {
    i64::try_from(all.len()).unwrap_or(i64::MAX)
}

fn severity(error: &Error) -> Option<Severity> {
    error.as_db_error()?.parsed_severity()
}
