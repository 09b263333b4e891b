//! [`Whole`]: all rows of one moment, read from the database in the order of their keys.

use std::ops::Range;
use std::sync::OnceLock;

use switchboard_core::key::{self, Key, Space};
use switchboard_core::view::{Bytes, Order, RowVisitor, Scan, Stop};
use tokio::runtime::{Handle, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

use super::link::{self, DatabaseLink, told};
use super::place::{self, SLOTS, Slots};
use super::target::DatabaseTarget;
use super::{load, schema, seals};
use crate::store::StoreError;
use crate::store::backend::{NotedKeys, Picture};

/// Rows read at once.
const BATCH: usize = 1_000;
/// Bytes of rows read at once; the last of them may exceed it.
const BATCH_BYTES: usize = 8 << 20;
const WHAT: &str = "the store cannot be read";
/// The spaces of all slots, each found by one look into the index.
const SPACES: &str = "
WITH RECURSIVE s(n, k) AS (
    SELECT n, (SELECT k FROM kv WHERE k >= int2send(n::int2) AND k < int2send((n + 1)::int2) ORDER BY k LIMIT 1)
    FROM generate_series(0, $1::int4 - 1) n
    UNION ALL
    SELECT n, (SELECT k FROM kv WHERE kv.k >= substring(s.k FROM 1 FOR 7) || '\\xff'::bytea
               AND kv.k < int2send((n + 1)::int2) ORDER BY kv.k LIMIT 1)
    FROM s WHERE s.k IS NOT NULL)
SELECT DISTINCT substring(k FROM 3) FROM s WHERE k IS NOT NULL";
/// Rows of a range as far as those before them are within the bytes of a batch: sizes are known without reading values.
const UP: &str = "
SELECT k, v FROM (
    SELECT k, v, sum(octet_length(v)) OVER (ORDER BY k ROWS UNBOUNDED PRECEDING) - octet_length(v) AS before
    FROM (SELECT k, v FROM kv WHERE k >= $1 AND k < $2 ORDER BY k LIMIT $3) r) s
WHERE before < $4 ORDER BY k";
const DOWN: &str = "
SELECT k, v FROM (
    SELECT k, v, sum(octet_length(v)) OVER (ORDER BY k DESC ROWS UNBOUNDED PRECEDING) - octet_length(v) AS before
    FROM (SELECT k, v FROM kv WHERE k >= $1 AND k < $2 ORDER BY k DESC LIMIT $3) r) s
WHERE before < $4 ORDER BY k DESC";
const READING: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0";
/// Sees the lane of the moment, which other connections move on meanwhile.
const FILLING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0";

/// A transaction that reads.
pub(super) struct Whole {
    link: DatabaseLink,
    handle: Handle,
    /// Drives the connection, if nobody else does.
    _own: Option<Runtime>,
    accounts: OnceLock<Vec<u32>>,
    /// The root's queues, which stand in pieces in all slots.
    queues: [OnceLock<Vec<(Key, Bytes)>>; 3],
}

/// A part of the map whose rows stand together.
enum Part {
    /// In one range of the table.
    Range(Range<Key>),
    /// In each slot: the root's queue of this number.
    Queue(usize, Range<Key>),
}

impl Part {
    /// Returns the part of `rows` inside a range that stands together.
    fn of(range: Range<Key>, rows: &Range<Key>) -> Option<Self> {
        place::range(&common(range, rows)?).map(Self::Range)
    }
}

/// Returns what is in both ranges, if anything can be.
fn common(range: Range<Key>, rows: &Range<Key>) -> Option<Range<Key>> {
    let (start, end) = (range.start.max(rows.start.clone()), range.end.min(rows.end.clone()));
    (start < end).then_some(start..end)
}

impl Whole {
    /// Begins to read the rows of this moment.
    pub async fn begin(target: &DatabaseTarget, handle: Handle) -> Result<Self, StoreError> {
        Self::with(target, handle, READING).await
    }

    /// Begins a transaction in which rows are put, and which sees them.
    pub async fn filling(target: &DatabaseTarget, handle: Handle) -> Result<Self, StoreError> {
        Self::with(target, handle, FILLING).await
    }

    /// Reads the rows of this moment of whatever node serves, and the seal keys that are noted, on a runtime of its own.
    pub fn look(target: &DatabaseTarget, runtime: Runtime) -> Result<(Self, NotedKeys), StoreError> {
        let handle = runtime.handle().clone();
        let (whole, keys) = handle.block_on(async {
            let whole = Self::with(target, handle.clone(), READING).await?;
            schema::check_tables(whole.client()).await?;
            let keys = seals::read(whole.client()).await?;
            Ok((whole, keys))
        })?;
        Ok((Self { _own: Some(runtime), ..whole }, keys))
    }

    async fn with(target: &DatabaseTarget, handle: Handle, begun: &str) -> Result<Self, StoreError> {
        let what = format!("{WHAT}: {}", target.shown());
        let link = DatabaseLink::to(target).await.map_err(|error| error.of(&what))?;
        link.client.batch_execute(begun).await.map_err(|error| link::refused(&what, &error))?;
        Ok(Self { link, handle, _own: None, accounts: OnceLock::new(), queues: Default::default() })
    }

    /// Returns the connection of the transaction.
    pub fn client(&self) -> &Client {
        &self.link.client
    }

    /// Returns the number of the database's warnings so far.
    pub fn warnings(&self) -> u64 {
        self.link.warnings()
    }

    fn query(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Stop> {
        self.handle.block_on(self.client().query(statement, parameters)).map_err(|error| log(&error))
    }

    /// Returns the parts of a range, in the order of their keys; each is found when it is asked for.
    fn parts<'w>(&'w self, rows: &'w Range<Key>) -> Result<impl DoubleEndedIterator<Item = Part> + use<'w>, Stop> {
        let space = |account: &u32| key::space(Space::Account(*account));
        let accounts = self.accounts()?;
        let first = accounts.partition_point(|account| space(account).end <= rows.start);
        let accounts = accounts[first..].iter().map(space);
        Ok(root(rows).into_iter().chain(accounts.filter_map(|space| Part::of(space, rows))))
    }

    fn accounts(&self) -> Result<&[u32], Stop> {
        if let Some(accounts) = self.accounts.get() {
            return Ok(accounts);
        }
        let found = self.query(SPACES, &[&i32::from(SLOTS)])?;
        let account = |row: &Row| match key::space_of(row.get(0)) {
            Some(Space::Account(account)) => Some(account),
            _ => None,
        };
        let mut accounts: Vec<u32> = found.iter().filter_map(account).collect();
        accounts.sort_unstable();
        accounts.dedup();
        Ok(self.accounts.get_or_init(|| accounts))
    }

    /// Returns all rows of a queue.
    fn queue(&self, number: usize, queue: &Range<Key>) -> Result<&[(Key, Bytes)], Stop> {
        if let Some(rows) = self.queues[number].get() {
            return Ok(rows);
        }
        let rows =
            self.handle.block_on(load::queue(self.client(), queue, &Slots::all())).map_err(|error| log(&error))?;
        Ok(self.queues[number].get_or_init(|| rows))
    }

    /// Shows at most `left` rows of a part; returns how many there were.
    fn show(&self, part: Part, order: Order, left: usize, visit: &mut RowVisitor<'_>) -> Result<usize, Stop> {
        match part {
            Part::Queue(number, rows) => self.show_queue(number, &rows, order, left, visit),
            Part::Range(range) => self.show_range(range, order, left, visit),
        }
    }

    fn show_queue(
        &self,
        number: usize,
        rows: &Range<Key>,
        order: Order,
        left: usize,
        visit: &mut RowVisitor<'_>,
    ) -> Result<usize, Stop> {
        let queue = self.queue(number, &key::queues()[number])?;
        let at = |key: &Key| queue.partition_point(|(row, _)| row < key);
        let found = &queue[at(&rows.start)..at(&rows.end)];
        let found = if order == Order::Ascending {
            &found[..left.min(found.len())]
        } else {
            &found[found.len().saturating_sub(left)..]
        };
        let mut show = |(key, value): &(Key, Bytes)| visit(key, value);
        match order {
            Order::Ascending => found.iter().try_for_each(&mut show)?,
            Order::Descending => found.iter().rev().try_for_each(&mut show)?,
        }
        Ok(found.len())
    }

    fn show_range(
        &self,
        mut range: Range<Key>,
        order: Order,
        most: usize,
        visit: &mut RowVisitor<'_>,
    ) -> Result<usize, Stop> {
        let mut shown = 0;
        while shown < most {
            let limit = BATCH.min(most - shown);
            let statement = if order == Order::Ascending { UP } else { DOWN };
            let (limited, bounded) = (i64::try_from(limit), i64::try_from(BATCH_BYTES));
            let (limited, bounded) = (limited.unwrap_or(i64::MAX), bounded.unwrap_or(i64::MAX));
            let rows = self.query(statement, &[&range.start, &range.end, &limited, &bounded])?;
            let mut bytes = 0;
            for row in &rows {
                let value: &[u8] = row.get(1);
                bytes += value.len();
                visit(&place::row_of(row.get(0)), value)?;
            }
            shown += rows.len();
            let is_cut = rows.len() == limit || bytes >= BATCH_BYTES;
            let Some(last) = rows.last().filter(|_| is_cut) else { break };
            let last: Key = last.get(0);
            match order {
                Order::Ascending => range.start = [last.as_slice(), &[0]].concat(),
                Order::Descending => range.end = last,
            }
        }
        Ok(shown)
    }
}

/// Returns the parts of a range in the root, in the order of their keys.
fn root(rows: &Range<Key>) -> Vec<Part> {
    let root = key::space(Space::Root);
    let (mut parts, mut from) = (Vec::new(), root.start);
    for (number, queue) in key::queues().into_iter().enumerate() {
        let before = std::mem::replace(&mut from, queue.end.clone())..queue.start.clone();
        parts.extend(Part::of(before, rows));
        parts.extend(common(queue, rows).map(|queue| Part::Queue(number, queue)));
    }
    parts.extend(Part::of(from..root.end, rows));
    parts
}

impl Picture for Whole {
    fn get(&self, key: &[u8], look: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        let found = self.query("SELECT v FROM kv WHERE k = $1", &[&place::stored(key)])?;
        found.first().map_or(Ok(()), |row| look(row.get(0)))
    }

    fn scan(&self, scan: Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        let Scan { from, to, order, limit } = scan;
        let rows = from..to;
        let mut parts = self.parts(&rows)?;
        let mut left = limit;
        while left > 0 {
            let part = if order == Order::Ascending { parts.next() } else { parts.next_back() };
            let Some(part) = part else { break };
            left -= self.show(part, order, left, visit)?;
        }
        Ok(())
    }
}

fn log(error: &Error) -> Stop {
    tracing::error!(error = told(error), "the store failed");
    Stop::Failed
}
