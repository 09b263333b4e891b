//! [`DatabaseLink`]: one connection to the database.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, Connection, Error, NoTls, Row, Statement};

use super::fence::Id;
use super::schema;
use super::target::{DatabaseTarget, DatabaseWay};
use crate::store::StoreError;

/// How long making a connection and setting it up may take, in all.
const MADE: Duration = Duration::from_secs(4);
/// Settings of each session. A plan is made once, for any values; a young table without statistics would otherwise be
/// read whole. Warnings come, whatever the role or the server says: one of them tells that a standby may lack a commit.
pub(super) const SESSION: &str = "SET jit = off; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET client_min_messages = warning; \
    SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = 0; SET statement_timeout = 0; \
    SET search_path = switchboard";

/// A connection, which closes when it is dropped.
pub(super) struct DatabaseLink {
    pub client: Client,
    /// Warnings so far.
    warnings: Arc<AtomicU64>,
}

impl DatabaseLink {
    /// Connects, and sets the session up.
    pub async fn to(target: &DatabaseTarget) -> Result<Self, LinkError> {
        let made = tokio::time::timeout(MADE, Self::made(target)).await;
        made.map_err(|_| LinkError::Late)?.map_err(LinkError::Refused)
    }

    async fn made(target: &DatabaseTarget) -> Result<Self, Error> {
        let warnings = Arc::new(AtomicU64::new(0));
        let client = match &target.way {
            DatabaseWay::Plain => carried(target.config.connect(NoTls).await?, &warnings),
            DatabaseWay::Encrypted(tls) => carried(target.config.connect(tls.clone()).await?, &warnings),
            #[cfg(test)]
            DatabaseWay::Simulated(database) => {
                carried(target.config.connect_raw(database.dial().await, NoTls).await?, &warnings)
            }
        };
        client.batch_execute(SESSION).await?;
        Ok(Self { client, warnings })
    }

    /// Returns the number of warnings so far. One that comes during a statement is counted before its answer is seen.
    pub fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::Acquire)
    }
}

/// Returns the id in a column of a row, if it is one.
pub(super) fn id_in(row: &Row, at: usize) -> Option<Id> {
    row.get::<_, Option<&[u8]>>(at)?.try_into().ok()
}

/// Statements, prepared on a connection that is made when one is needed.
pub(super) struct Prepared<const N: usize> {
    target: DatabaseTarget,
    /// Whether the database must keep what it says it has.
    commits: bool,
    /// Their texts, and the types of their parameters.
    texts: [(&'static str, &'static [Type]); N],
    open: Option<(DatabaseLink, [Statement; N])>,
}

impl<const N: usize> Prepared<N> {
    /// Statements that only read. Makes no connection yet.
    pub fn reads(target: DatabaseTarget, texts: [(&'static str, &'static [Type]); N]) -> Self {
        Self { target, commits: false, texts, open: None }
    }

    /// Statements that commit: a database that would lose what it says it has is refused. Makes no connection yet.
    pub fn commits(target: DatabaseTarget, texts: [(&'static str, &'static [Type]); N]) -> Self {
        Self { target, commits: true, texts, open: None }
    }

    /// Returns the connection and the statements; the error is a phrase.
    pub async fn get(&mut self) -> Result<&(DatabaseLink, [Statement; N]), String> {
        let open = if let Some(open) = self.open.take() {
            open
        } else {
            let link = DatabaseLink::to(&self.target).await.map_err(|error| error.to_string())?;
            if self.commits {
                schema::check_durable(&link.client).await?;
            }
            let mut statements = Vec::with_capacity(N);
            for (text, types) in self.texts {
                statements.push(link.client.prepare_typed(text, types).await.map_err(|error| told(&error))?);
            }
            (link, statements.try_into().map_err(|_| "a statement is missing")?)
        };
        Ok(self.open.insert(open))
    }

    /// Drops the connection: what is asked next is asked on a new one.
    pub fn close(&mut self) {
        self.open = None;
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum LinkError {
    /// The database does not answer.
    Late,
    /// It refuses, or cannot be reached.
    Refused(Error),
}

impl LinkError {
    /// Returns it as an error of the store, from what failed.
    pub fn of(&self, what: &str) -> StoreError {
        match self {
            Self::Late => StoreError::unavailable(what, self),
            Self::Refused(error) => refused(what, error),
        }
    }
}

impl std::fmt::Display for LinkError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Late => f.write_str("the database does not answer"),
            Self::Refused(error) => f.write_str(&told(error)),
        }
    }
}

/// Returns an error as one of the store, from what failed.
pub(super) fn refused(what: &str, error: &Error) -> StoreError {
    let why = told(error);
    if is_passing(error) { StoreError::unavailable(what, &why) } else { StoreError::of(what, &why) }
}

/// Returns whether an error is of the connection, or of a database that starts, stops, is full or only read: another try
/// may succeed.
fn is_passing(error: &Error) -> bool {
    error.code().is_none_or(|code| {
        let class = code.code().get(..2).unwrap_or_default();
        ["08", "40", "53", "57"].contains(&class) || *code == SqlState::READ_ONLY_SQL_TRANSACTION
    })
}

/// Returns an error with what the database says of it, and with what can be done about it.
pub(super) fn told(error: &Error) -> String {
    let said = match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source())
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": "),
    };
    match advice(error.code(), &said) {
        Some(advice) => format!("{said}: {advice}"),
        None => said,
    }
}

fn advice(code: Option<&SqlState>, said: &str) -> Option<&'static str> {
    match code {
        Some(code) if *code == SqlState::INVALID_PASSWORD => Some("check the user and the password of the URL"),
        Some(code) if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            Some("check the user of the URL, and who may connect in pg_hba.conf")
        }
        Some(code) if *code == SqlState::UNDEFINED_DATABASE => {
            Some("make it with CREATE DATABASE, or name another one in the URL")
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => Some(
            "the role needs USAGE on the schema switchboard, and SELECT, INSERT, UPDATE and DELETE on its tables; to \
                 make them with `switchboard store init`, CREATE on the database",
        ),
        None if said.contains("certificate") => {
            Some("it must be for the host of the URL, and of an authority that browsers know or sslrootcert=FILE names")
        }
        _ => None,
    }
}

/// Has a connection's messages move; returns its client.
fn carried<S, T>((client, connection): (Client, Connection<S, T>), warnings: &Arc<AtomicU64>) -> Client
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(carry(connection, Arc::clone(warnings)));
    client
}

/// Moves the connection's messages until it ends.
async fn carry<S, T>(mut connection: Connection<S, T>, warnings: Arc<AtomicU64>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.code().code().starts_with("01")
        {
            tracing::warn!(code = notice.code().code(), "the database warns: {}", notice.message());
            warnings.fetch_add(1, Ordering::Release);
        }
    }
}
