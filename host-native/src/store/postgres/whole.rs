//! [`Whole`]: all rows of one moment, read from the database in the order of their keys.

use std::ops::Range;
use std::sync::OnceLock;

use switchboard_core::key::{self, Key, Space};
use switchboard_core::view::{Order, RowVisitor, Scan, Stop};
use tokio::runtime::Handle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use super::link::{DatabaseLink, told};
use super::load;
use super::place::{self, SLOTS};
use super::target::DatabaseTarget;
use crate::store::StoreError;
use crate::store::backend::Picture;

/// Rows read at once.
const BATCH: usize = 1_000;
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
const UP: &str = "SELECT k, v FROM kv WHERE k >= $1 AND k < $2 ORDER BY k LIMIT $3";
const DOWN: &str = "SELECT k, v FROM kv WHERE k >= $1 AND k < $2 ORDER BY k DESC LIMIT $3";

/// A transaction that reads.
pub(super) struct Whole {
    link: DatabaseLink,
    runtime: Handle,
    accounts: OnceLock<Vec<u32>>,
}

/// A part of the map whose rows stand together.
enum Part {
    /// In one range of the table.
    Range(Range<Key>),
    /// In each slot: a queue of the root.
    Queue(Range<Key>),
}

impl Whole {
    pub async fn begin(target: &DatabaseTarget, runtime: Handle) -> Result<Self, StoreError> {
        let link = DatabaseLink::to(target).await.map_err(|error| StoreError::of(WHAT, &error))?;
        let begun =
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0";
        link.client.batch_execute(begun).await.map_err(|error| StoreError::of(WHAT, &told(&error)))?;
        Ok(Self { link, runtime, accounts: OnceLock::new() })
    }

    fn query(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Stop> {
        self.runtime.block_on(self.link.client.query(statement, parameters)).map_err(|error| log(&error))
    }

    /// Returns the parts of a range, in the order of their keys.
    fn parts(&self, rows: &Range<Key>) -> Result<Vec<Part>, Stop> {
        let mut parts = Vec::new();
        let mut add = |range: Range<Key>, queue: bool| {
            let (start, end) = (range.start.max(rows.start.clone()), range.end.min(rows.end.clone()));
            if start < end {
                let part =
                    if queue { Some(Part::Queue(start..end)) } else { place::range(&(start..end)).map(Part::Range) };
                parts.extend(part);
            }
        };
        let root = key::space(Space::Root);
        let mut from = root.start;
        for queue in key::queues() {
            let before = std::mem::replace(&mut from, queue.end.clone())..queue.start.clone();
            add(before, false);
            add(queue, true);
        }
        add(from..root.end, false);
        let inside = |account: &u32| {
            let space = key::space(Space::Account(*account));
            (space.start < rows.end && rows.start < space.end).then_some(space)
        };
        self.accounts()?.iter().filter_map(inside).for_each(|space| add(space, false));
        Ok(parts)
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

    /// Shows at most `left` rows of a part; returns how many there were.
    fn show(&self, part: &Part, order: Order, left: usize, visit: &mut RowVisitor<'_>) -> Result<usize, Stop> {
        match part {
            Part::Queue(queue) => {
                let rows = self.runtime.block_on(load::queue(&self.link.client, queue));
                let mut rows = rows.map_err(|error| log(&error))?;
                if order == Order::Descending {
                    rows.reverse();
                }
                rows.truncate(left);
                rows.iter().try_for_each(|(key, value)| visit(key, value))?;
                Ok(rows.len())
            }
            Part::Range(range) => self.show_range(range.clone(), order, left, visit),
        }
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
            let rows = self.query(statement, &[&range.start, &range.end, &i64::try_from(limit).unwrap_or(i64::MAX)])?;
            rows.iter().try_for_each(|row| visit(&place::row_of(row.get(0)), row.get(1)))?;
            shown += rows.len();
            let Some(last) = rows.last().filter(|_| rows.len() == limit) else { break };
            let last: Key = last.get(0);
            match order {
                Order::Ascending => range.start = [last.as_slice(), &[0]].concat(),
                Order::Descending => range.end = last,
            }
        }
        Ok(shown)
    }
}

impl Picture for Whole {
    fn get(&self, key: &[u8], look: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        let found = self.query("SELECT v FROM kv WHERE k = $1", &[&place::stored(key)])?;
        found.first().map_or(Ok(()), |row| look(row.get(0)))
    }

    fn scan(&self, scan: Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        let mut parts = self.parts(&(scan.from..scan.to))?;
        if scan.order == Order::Descending {
            parts.reverse();
        }
        let mut left = scan.limit;
        for part in &parts {
            left -= self.show(part, scan.order, left, visit)?;
            if left == 0 {
                break;
            }
        }
        Ok(())
    }
}

fn log(error: &Error) -> Stop {
    tracing::error!(error = told(error), "the store failed");
    Stop::Failed
}
