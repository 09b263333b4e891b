//! The tables, and what a database must be like to keep them.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::fence::draw;
use super::link::{self, DatabaseLink, told};
use super::place::SLOTS;
use super::target::DatabaseTarget;
use crate::store::StoreError;

/// Version of the tables and of the places of rows in them.
pub(super) const FORMAT: &str = "1";
const WHAT: &str = "the store cannot be used";
/// Reads what a commit waits for, and has it stay so in this session.
pub(super) const DURABLE: &str = "SELECT current_setting('fsync'), current_setting('full_page_writes'), \
    set_config('synchronous_commit', current_setting('synchronous_commit'), false)";

/// Every row of the service is a row of `kv`, under its slot and its key. Whoever holds a `lane` writes the rows of its
/// slots: each commit moves its `seq` on, so that nobody writes who has lost it; others reach its node at an `address`. A
/// `node` is a process that serves or waits to. `shared` is a log of the last changes of rows that all lanes read, and is
/// never empty. Updates need room on their page.
const TABLES: &str = "
CREATE TABLE switchboard.kv (k bytea PRIMARY KEY, v bytea NOT NULL) WITH (fillfactor = 80);
CREATE TABLE switchboard.lane (
    id bytea PRIMARY KEY, token bytea NOT NULL, node bytea NOT NULL, address text, seq bigint NOT NULL DEFAULT 0,
    beat bigint NOT NULL DEFAULT 0, dead boolean NOT NULL DEFAULT false, clock bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
CREATE TABLE switchboard.node (
    id bytea PRIMARY KEY, address text NOT NULL, release text NOT NULL, seen timestamptz NOT NULL DEFAULT now(),
    is_draining boolean NOT NULL DEFAULT false, load double precision NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
CREATE TABLE switchboard.slot (id int PRIMARY KEY, lane bytea);
CREATE TABLE switchboard.shared (seq bigint PRIMARY KEY, mark bytea NOT NULL, keys bytea[] NOT NULL, vals bytea[] NOT NULL);
INSERT INTO switchboard.shared VALUES (0, '\\x00000000000000000000000000000000', '{}', '{}');
CREATE TABLE switchboard.meta (name text PRIMARY KEY, value text NOT NULL);
";

/// Makes the tables, unless they are there; returns whether they were missing. The role needs the right to make a schema.
pub(super) async fn init(target: &DatabaseTarget) -> Result<bool, StoreError> {
    let what = "the tables cannot be made";
    let mut link = DatabaseLink::to(target).await.map_err(|error| error.of(&format!("{what}: {}", target.shown())))?;
    let random = || Ok::<_, StoreError>(format!("{:032x}", u128::from_be_bytes(draw()?)));
    let (store, secret) = (random()?, random()?);
    let is_made = made(&mut link.client, &store, &secret).await.map_err(|error| link::refused(what, &error))?;
    if !is_made {
        // Those that are there may be of another program.
        check(&link.client).await?;
    }
    Ok(is_made)
}

async fn made(client: &mut Client, store: &str, secret: &str) -> Result<bool, Error> {
    let transaction = client.transaction().await?;
    // Two that start at once make one store: the second waits here, and finds it made.
    transaction.execute("SELECT pg_advisory_xact_lock(hashtext('switchboard'))", &[]).await?;
    let is_there = "SELECT to_regclass('switchboard.meta') IS NOT NULL";
    if transaction.query_one(is_there, &[]).await?.get(0) {
        return Ok(false);
    }
    transaction.batch_execute("CREATE SCHEMA IF NOT EXISTS switchboard").await?;
    transaction.batch_execute(TABLES).await?;
    let slots = "INSERT INTO switchboard.slot (id) SELECT * FROM generate_series(0, $1::int - 1)";
    transaction.execute(slots, &[&i32::from(SLOTS)]).await?;
    // The secret is what nodes know each other by.
    let known = "INSERT INTO switchboard.meta VALUES \
        ('program', 'switchboard'), ('format', $1), ('store', $2), ('secret', $3)";
    transaction.execute(known, &[&FORMAT, &store, &secret]).await?;
    transaction.commit().await?;
    Ok(true)
}

fn unread(error: &Error) -> StoreError {
    link::refused(WHAT, error)
}

/// Refuses a database that would lose what it says it has; the error is a phrase. Whatever is set later, commits of this
/// session wait as they do now.
pub(super) async fn check_durable(client: &Client) -> Result<(), String> {
    let settings = client.query_one(DURABLE, &[]).await.map_err(|error| told(&error))?;
    for (at, (name, refused)) in
        [("fsync", &["off"][..]), ("full_page_writes", &["off"]), ("synchronous_commit", &["off", "local"])]
            .into_iter()
            .enumerate()
    {
        let value: &str = settings.get(at);
        if refused.contains(&value) {
            return Err(format!(
                "PostgreSQL runs with {name} = {value} and so loses what it said it had: set it to on"
            ));
        }
    }
    Ok(())
}

/// Refuses a database that would lose what it was given, or that holds something else; warns of one that may lose it
/// with its machine.
pub(super) async fn check(client: &Client) -> Result<(), StoreError> {
    check_durable(client).await.map_err(|why| StoreError::of(WHAT, &why))?;
    let standbys = "SELECT current_setting('synchronous_standby_names')";
    let standbys: String = client.query_one(standbys, &[]).await.map_err(|error| unread(&error))?.get(0);
    if standbys.is_empty() {
        tracing::warn!(
            "PostgreSQL has no synchronous standby (synchronous_standby_names is empty): a failover may lose what was \
             acknowledged"
        );
    }
    check_tables(client).await
}

/// Refuses a database that holds something else than this release reads.
pub(super) async fn check_tables(client: &Client) -> Result<(), StoreError> {
    let is_there = "SELECT to_regclass('switchboard.meta') IS NOT NULL AND to_regclass('switchboard.kv') IS NOT NULL";
    if !client.query_one(is_there, &[]).await.map_err(|error| unread(&error))?.get::<_, bool>(0) {
        return Err(StoreError::of(WHAT, &"it has no tables yet: `switchboard store init URL` makes them"));
    }
    let known = match client.query("SELECT name, value FROM switchboard.meta", &[]).await {
        // The table of another program has other columns.
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => Vec::new(),
        known => known.map_err(|error| unread(&error))?,
    };
    let of = |name: &str| {
        let row = known.iter().find(|row| row.try_get::<_, &str>(0).is_ok_and(|found| found == name))?;
        row.try_get::<_, &str>(1).ok()
    };
    if of("program") != Some("switchboard") {
        return Err(StoreError::of(WHAT, &"its schema `switchboard` is of another program: give it another database"));
    }
    match of("format") {
        Some(FORMAT) => Ok(()),
        other => {
            let format = other.unwrap_or("none");
            let why = format!("its format is {format}, this release knows {FORMAT}: use the release that made it");
            Err(StoreError::of(WHAT, &why))
        }
    }
}
