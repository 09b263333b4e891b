//! [`SqlSession`]: a connection that a test holds, with the notices that came on it.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, SimpleQueryMessage, Socket};

use crate::runtime::{PATIENCE, finish, spawn};

/// A row's values as texts; `None` is NULL.
pub type TextRow = Vec<Option<String>>;

type Notices = Arc<Mutex<Vec<DbError>>>;

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// The server refused, or could not be reached.
    Failed(Error),
    /// Nobody answered within this time.
    Timeout(Duration),
}

impl ConnectError {
    /// Returns the server's code, if it refused.
    pub fn code(&self) -> Option<&SqlState> {
        if let Self::Failed(error) = self { error.code() } else { None }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => f.write_str(&said(error)),
            Self::Timeout(bound) => write!(f, "nobody answers within {bound:?}"),
        }
    }
}

/// A connection. Its statements run in the simple protocol, each text as one implicit transaction.
pub struct SqlSession {
    client: Arc<Client>,
    notices: Notices,
    reader: JoinHandle<()>,
}

impl SqlSession {
    /// Connects without TLS. Logging in too must be done within the configuration's `connect_timeout`, or [`PATIENCE`].
    pub fn open(config: &Config) -> Result<Self, ConnectError> {
        Self::open_with(config, NoTls)
    }

    /// Connects with TLS as the configuration demands.
    pub fn open_with<T>(config: &Config, tls: T) -> Result<Self, ConnectError>
    where
        T: MakeTlsConnect<Socket, TlsConnect: Send, Stream: Send> + Send + 'static,
        <T::TlsConnect as tokio_postgres::tls::TlsConnect<Socket>>::Future: Send,
    {
        let (config, notices) = (config.clone(), Notices::default());
        let bound = config.get_connect_timeout().copied().unwrap_or(PATIENCE);
        finish(async move {
            let connected = timeout(bound, config.connect(tls)).await.map_err(|_| ConnectError::Timeout(bound))?;
            let (client, connection) = connected.map_err(ConnectError::Failed)?;
            let reader = spawn(read(connection, Arc::clone(&notices)));
            Ok(Self { client: Arc::new(client), notices, reader })
        })
    }

    /// Returns the client itself, for what the rest does not offer.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs statements and returns their rows; fails with the server's text and code, or after [`PATIENCE`].
    pub fn run(&self, sql: &str) -> Result<Vec<TextRow>, String> {
        let mut statement = self.start(sql);
        let result = statement.within(PATIENCE).ok_or_else(|| format!("{sql}: no answer"))?;
        result.map_err(|error| format!("{sql}: {}", said(&error)))
    }

    /// Sends statements without waiting for the answer. They go on if the value is dropped.
    pub fn start(&self, sql: &str) -> PendingStatement {
        let (client, sql) = (Arc::clone(&self.client), sql.to_owned());
        PendingStatement { task: Some(spawn(async move { client.simple_query(&sql).await.map(rows) })) }
    }

    /// Whether the connection is closed, by either side.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Takes the notices that came since the last call, oldest first. Those of a statement come before its answer.
    pub fn take_notices(&self) -> Vec<DbError> {
        std::mem::take(&mut self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for SqlSession {
    fn drop(&mut self) {
        // Statements that were started hold the client.
        self.reader.abort();
    }
}

/// Moves a connection's bytes, and keeps its notices.
async fn read<S, T>(mut connection: Connection<S, T>, notices: Notices)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message {
            notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
        }
    }
}

/// A statement whose answer has not come.
pub struct PendingStatement {
    task: Option<JoinHandle<Result<Vec<TextRow>, Error>>>,
}

impl PendingStatement {
    /// Waits for the answer; `None` if it does not come in time, and then it can be waited for again.
    ///
    /// # Panics
    /// If the answer was returned already.
    pub fn within(&mut self, bound: Duration) -> Option<Result<Vec<TextRow>, Error>> {
        let mut task = self.task.take().expect("an answer comes once");
        let (task, result) = finish(async move {
            let result = timeout(bound, &mut task).await;
            (task, result)
        });
        let Ok(joined) = result else {
            self.task = Some(task);
            return None;
        };
        Some(joined.expect("the statement's task does not panic"))
    }
}

fn rows(messages: Vec<SimpleQueryMessage>) -> Vec<TextRow> {
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect()),
        _ => None,
    });
    rows.collect()
}

/// Returns what the server said, with its code, or what the client says.
fn said(error: &Error) -> String {
    error
        .as_db_error()
        .map_or_else(|| error.to_string(), |error| format!("{} ({})", error.message(), error.code().code()))
}
