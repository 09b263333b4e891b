//! What a server's backends do, and ending that: `pg_stat_activity`, cancel, terminate; and what a test counts.

use crate::instance::Instance;
use crate::runtime::wait_until;
use crate::session::{SqlSession, TextRow};

/// A process of the server, as `pg_stat_activity` shows it. What is not known is an empty text.
#[derive(Clone, Debug)]
pub struct BackendActivity {
    /// Its process id.
    pub pid: u32,
    /// Name that its client gave.
    pub application_name: String,
    /// Such as `client backend` or `walsender`.
    pub backend_type: String,
    /// Such as `active`, `idle` or `idle in transaction`.
    pub state: String,
    /// Kind of what it waits for, such as `IPC`.
    pub wait_event_type: String,
    /// What it waits for, such as `SyncRep`.
    pub wait_event: String,
    /// Its statement, or its last one.
    pub query: String,
}

impl Instance {
    /// Returns what all processes do, without the harness's own connections.
    pub fn activity(&self) -> Result<Vec<BackendActivity>, String> {
        let rows = self.run(
            "SELECT pid, application_name, backend_type, state, wait_event_type, wait_event, query
             FROM pg_stat_activity WHERE pid <> pg_backend_pid() ORDER BY pid",
        )?;
        let of_row = |row: Vec<Option<String>>| {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            let mut next = || fields.next().unwrap_or_default();
            let pid = next().parse().map_err(|_| "a process has no number")?;
            let [application_name, backend_type, state] = [next(), next(), next()];
            let [wait_event_type, wait_event, query] = [next(), next(), next()];
            Ok(BackendActivity { pid, application_name, backend_type, state, wait_event_type, wait_event, query })
        };
        rows.into_iter().map(of_row).collect()
    }

    /// Waits until a query's first value is this one.
    pub fn wait_for(&self, query: &str, value: &str) -> Result<(), String> {
        let session = self.session()?;
        let mut last = String::new();
        let waited = wait_until(&format!("{query} = {value}"), || {
            let rows = session.run(query);
            last = rows.map_or_else(|why| why, |rows| rows.into_iter().flatten().flatten().next().unwrap_or_default());
            last == value
        });
        waited.map_err(|why| format!("{why}; last it was {last}"))
    }

    /// Waits until a backend of this application waits for this event, such as `SyncRep`.
    pub fn wait_for_event(&self, application_name: &str, wait_event: &str) -> Result<(), String> {
        let chosen = chosen(application_name, wait_event);
        self.wait_for(&format!("SELECT count(*) > 0 FROM pg_stat_activity WHERE {chosen}"), "t")
    }

    /// Cancels the statements of an application's backends that wait for this event; returns how many.
    pub fn cancel(&self, application_name: &str, wait_event: &str) -> Result<usize, String> {
        self.end("pg_cancel_backend", &chosen(application_name, wait_event))
    }

    /// Terminates an application's backends that wait for this event; returns how many.
    pub fn terminate(&self, application_name: &str, wait_event: &str) -> Result<usize, String> {
        self.end("pg_terminate_backend", &chosen(application_name, wait_event))
    }

    /// Terminates all backends of an application; returns how many.
    pub fn disconnect(&self, application_name: &str) -> Result<usize, String> {
        self.end("pg_terminate_backend", &of_application(application_name))
    }

    /// Runs statements as a superuser in a database, on a connection of their own.
    pub fn run_in(&self, database: &str, sql: &str) -> Result<Vec<TextRow>, String> {
        let mut config = self.config();
        config.dbname(database);
        SqlSession::open(&config).map_err(|error| error.to_string())?.run(sql)
    }

    /// Returns the number of rows of a table in a database.
    pub fn count_rows(&self, database: &str, table: &str) -> Result<u64, String> {
        let rows = self.run_in(database, &format!("SELECT count(*) FROM {table}"))?;
        let count = rows.into_iter().flatten().flatten().next().and_then(|count| count.parse().ok());
        count.ok_or_else(|| format!("{table} has no number of rows"))
    }

    fn end(&self, function: &str, chosen: &str) -> Result<usize, String> {
        let ended = format!("SELECT count(*) FILTER (WHERE {function}(pid)) FROM pg_stat_activity WHERE {chosen}");
        self.value(&ended)?.parse().map_err(|_| "a count is a number".into())
    }
}

fn chosen(application_name: &str, wait_event: &str) -> String {
    format!("{} AND wait_event = {}", of_application(application_name), quoted(wait_event))
}

fn of_application(name: &str) -> String {
    format!("application_name = {} AND pid <> pg_backend_pid()", quoted(name))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
