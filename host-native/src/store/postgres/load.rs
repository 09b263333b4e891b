//! Reads rows for the node's memory, several reads a statement, with the sequence of the lane at their moment; and what
//! other lanes have changed of the shared rows.

use std::ops::Range;
use std::time::Duration;

use switchboard_core::key::{self, Key, Space};
use switchboard_core::view::{Bytes, Found, Order, Read, Scan};
use tokio::time::Instant;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use super::fence::Id;
use super::link::{Prepared, told};
use super::picture::Moment;
use super::place::{self, Slots};
use super::shared::{self, LogPoint, Logged};
use super::target::DatabaseTarget;
use super::{DOUBT, Node};
use crate::store::StoreError;

/// How long a read may wait for its answer before it is tried again on another connection.
const ANSWERED: Duration = Duration::from_secs(3);
/// Pause before another try to read.
const AGAIN: Duration = Duration::from_millis(20);
/// What failed, where no rows came.
pub(super) const UNREAD: &str = "rows cannot be read";

pub(super) const LOAD: &str = "
SELECT 0 AS n, int8send(seq) AS k, (SELECT int8send(s.seq) || s.mark FROM shared s ORDER BY s.seq DESC LIMIT 1) AS v
    FROM lane WHERE id = $1 AND NOT dead
UNION ALL SELECT 1, k, v FROM kv WHERE k = ANY($2)
UNION ALL SELECT s.n, r.k, r.v FROM unnest($3::int4[], $4::bytea[], $5::bytea[], $6::int8[]) s(n, f, t, l)
    CROSS JOIN LATERAL (SELECT k, v FROM kv WHERE k >= s.f AND k < s.t ORDER BY k LIMIT s.l) r
UNION ALL SELECT s.n, r.k, r.v FROM unnest($7::int4[], $8::bytea[], $9::bytea[], $10::int8[]) s(n, f, t, l)
    CROSS JOIN LATERAL (SELECT k, v FROM kv WHERE k >= s.f AND k < s.t ORDER BY k DESC LIMIT s.l) r
UNION ALL SELECT s.n, coalesce((SELECT k FROM kv WHERE k >= s.f AND k < s.k ORDER BY k DESC LIMIT 1), s.f),
        coalesce((SELECT k FROM kv WHERE k > s.k AND k < s.t ORDER BY k LIMIT 1), s.t)
    FROM unnest($11::int4[], $12::bytea[], $13::bytea[], $14::bytea[]) s(n, k, f, t)
    WHERE NOT EXISTS (SELECT FROM kv WHERE kv.k = s.k)";
pub(super) static LOAD_TYPES: [Type; 14] = [
    Type::BYTEA,
    Type::BYTEA_ARRAY,
    Type::INT4_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::INT8_ARRAY,
    Type::INT4_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::INT8_ARRAY,
    Type::INT4_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
];
/// The part of the answer of the first read: the rows of a scan, or the neighbours of a key that is not there. The
/// sequence and the single rows come before.
const FIRST_READ: i32 = 2;

pub(super) const QUEUE: &str = "SELECT r.k, r.v FROM unnest($1::bytea[], $2::bytea[]) s(f, t) \
    CROSS JOIN LATERAL (SELECT k, v FROM kv WHERE k >= s.f AND k < s.t) r";

/// Reads a queue of the root, or a part of one, from slots; rows sort by key.
pub(super) async fn queue(client: &Client, queue: &Range<Key>, slots: &Slots) -> Result<Vec<(Key, Bytes)>, Error> {
    let (from, to): (Vec<_>, Vec<_>) =
        place::ranges_in_slots(queue, slots).map(|range| (range.start, range.end)).unzip();
    let rows = client.query(QUEUE, &[&from, &to]).await?;
    let mut rows: Vec<_> = rows.iter().map(|row| (place::row_of(row.get(0)), row.get(1))).collect();
    rows.sort();
    Ok(rows)
}

/// What was read, and when.
pub(super) struct Loaded {
    pub at: Moment,
    pub found: Vec<(Read, Found)>,
}

/// Why nothing was read.
#[derive(Debug)]
pub(super) enum Unloaded {
    /// Another node has the lane's rows.
    Replaced,
    /// The database failed; the reads may be tried again.
    Failed(String),
}

impl Node {
    /// Reads rows, which are at hand then, as are the shared rows as others have changed them before.
    pub async fn load(&self, mut reads: Vec<Read>) -> Result<(), StoreError> {
        let mut until = None;
        let is_for_rows = !reads.is_empty();
        loop {
            self.confirm()?;
            let mut loader = self.loader.lock().await;
            // It may have been waited for, by many.
            self.confirm()?;
            let until = *until.get_or_insert_with(|| Instant::now() + DOUBT);
            // Others wanted the same meanwhile: requests for an account whose rows are not at hand come many at a time.
            {
                let rows = self.rows.read();
                reads.retain(|read| !rows.known.answers(read));
            }
            if is_for_rows && reads.is_empty() {
                return Ok(());
            }
            let loaded = loader.load(reads.clone()).await;
            drop(loader);
            let loaded = match loaded {
                Ok(loaded) => loaded,
                Err(Unloaded::Replaced) => match self.replaced().await {
                    StoreError::Outdated => continue,
                    why => return Err(why),
                },
                Err(Unloaded::Failed(_)) if Instant::now() < until => {
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                Err(Unloaded::Failed(why)) => return Err(StoreError::unavailable(UNREAD, &why)),
            };
            // Rows of a moment that is yet to come would be mixed with those of this one.
            let mut seq = self.seq.subscribe();
            let reached = seq.wait_for(|seq| *seq >= loaded.at.seq);
            if !matches!(tokio::time::timeout(DOUBT, reached).await, Ok(Ok(_))) {
                return Err(StoreError::unavailable(UNREAD, &"a commit is in doubt"));
            }
            let known = self.rows.read().at.shared;
            if loaded.at.shared.seq >= known.seq && loaded.at.shared != known {
                self.learn(known, loaded.at.shared.seq).await?;
                continue;
            }
            let mut rows = self.rows.write();
            if !rows.takes(loaded.at) {
                continue;
            }
            loaded.found.into_iter().for_each(|(read, found)| rows.known.add(&read, found));
            rows.shrink();
            return Ok(());
        }
    }

    /// Learns what other lanes changed of the shared rows after a change, up to a number. Changes of this lane's own up to
    /// that one are at hand.
    async fn learn(&self, after: LogPoint, to: i64) -> Result<(), StoreError> {
        let logged = self.loader.lock().await.since(after, to).await;
        match logged.map_err(|why| StoreError::unavailable(UNREAD, &why))? {
            Some(logged) => self.learned(after, logged),
            None => self.look_back().await.map(drop)?,
        }
        Ok(())
    }

    /// Applies what the log says after a change, unless another read was quicker.
    pub fn learned(&self, after: LogPoint, logged: Logged) {
        let mut rows = self.rows.write();
        if rows.at.shared != after {
            return;
        }
        let keys = match &logged.changes {
            Some(changes) => changes.iter().map(|change| change.key().clone()).collect(),
            // Of all of them, this one is waited for.
            None => vec![key::trunks_version()],
        };
        rows.learn(logged);
        drop(rows);
        if let Some(told) = self.told.get() {
            told(keys);
        }
    }
}

/// A connection for reads.
pub(super) struct Loader {
    lane: Id,
    loads: Prepared<1>,
}

/// Scans in one direction, as arrays.
#[derive(Default)]
struct Scans {
    numbers: Vec<i32>,
    from: Vec<Vec<u8>>,
    to: Vec<Vec<u8>>,
    limits: Vec<i64>,
}

/// Keys whose neighbours in their table are asked for where they are not there, as arrays. New rows stand behind the last
/// one, so whoever asked for one of them knows of the next ones too.
#[derive(Default)]
struct Gaps {
    numbers: Vec<i32>,
    keys: Vec<Vec<u8>>,
    from: Vec<Vec<u8>>,
    to: Vec<Vec<u8>>,
}

impl Gaps {
    fn ask(&mut self, number: i32, key: &[u8]) {
        // Rows of the root are spread over slots.
        let is_spread = !matches!(key::space_of(key), Some(Space::Account(_)));
        let Some(table) = key::table_of(key).filter(|_| !is_spread).and_then(|table| place::range(&table)) else {
            return;
        };
        self.numbers.push(number);
        self.keys.push(place::stored(key));
        self.from.push(table.start);
        self.to.push(table.end);
    }
}

impl Loader {
    pub fn of(target: DatabaseTarget, lane: Id) -> Self {
        Self { lane, loads: Prepared::reads(target, [(LOAD, &LOAD_TYPES)]) }
    }

    /// Reads all of one moment. A scan over rows in several places cannot be read.
    pub async fn load(&mut self, reads: Vec<Read>) -> Result<Loaded, Unloaded> {
        let answer = answered(self.ask(&reads)).await;
        if answer.is_err() {
            self.loads.close();
        }
        told_of(reads, &answer.map_err(Unloaded::Failed)?)
    }

    /// Reads the changes of shared rows after one, up to a number; `None` if that one is of another past.
    pub async fn since(&mut self, after: LogPoint, to: i64) -> Result<Option<Logged>, String> {
        let logged = match self.loads.get().await {
            Ok((link, _)) => {
                let since = async { shared::since(&link.client, after, to).await.map_err(|error| told(&error)) };
                answered(since).await
            }
            Err(why) => Err(why),
        };
        if logged.is_err() {
            self.loads.close();
        }
        logged
    }

    async fn ask(&mut self, reads: &[Read]) -> Result<Vec<Row>, String> {
        let (mut keys, mut up, mut down, mut gaps) = (Vec::new(), Scans::default(), Scans::default(), Gaps::default());
        for (number, read) in (FIRST_READ..).zip(reads) {
            match read {
                Read::Get(key) => {
                    keys.push(place::stored(key));
                    gaps.ask(number, key);
                }
                Read::Scan(scan) => {
                    let range = place::range(&(scan.from.clone()..scan.to.clone()));
                    let range = range.ok_or("a scan over several places cannot be read")?;
                    let scans = if scan.order == Order::Ascending { &mut up } else { &mut down };
                    scans.numbers.push(number);
                    scans.from.push(range.start);
                    scans.to.push(range.end);
                    scans.limits.push(i64::try_from(scan.limit).unwrap_or(i64::MAX));
                }
                Read::Admit(_) => return Err("a rate limit is no row".into()),
            }
        }
        let lane = self.lane;
        let (link, [statement]) = self.loads.get().await?;
        let parameters: [&(dyn ToSql + Sync); 14] = [
            &lane.as_slice(),
            &keys,
            &up.numbers,
            &up.from,
            &up.to,
            &up.limits,
            &down.numbers,
            &down.from,
            &down.to,
            &down.limits,
            &gaps.numbers,
            &gaps.keys,
            &gaps.from,
            &gaps.to,
        ];
        link.client.query(statement, &parameters).await.map_err(|error| told(&error))
    }
}

/// Waits for an answer of the database, for so long.
async fn answered<T>(answer: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::time::timeout(ANSWERED, answer).await.unwrap_or_else(|_| Err("the database does not answer".into()))
}

/// Deals the rows of an answer out to the reads.
fn told_of(reads: Vec<Read>, rows: &[Row]) -> Result<Loaded, Unloaded> {
    let strange = || Unloaded::Failed("the database answered something else".into());
    let mut parts: Vec<Vec<(Vec<u8>, Vec<u8>)>> = vec![Vec::new(); reads.len()];
    let (mut at, mut singles) = (None, std::collections::BTreeMap::new());
    let number = |bytes: &[u8]| bytes.try_into().map(i64::from_be_bytes).map_err(|_| strange());
    for row in rows {
        let (part, key, value): (i32, &[u8], &[u8]) = (row.get(0), row.get(1), row.get(2));
        match part {
            0 => {
                let (shared, mark) = value.split_at_checked(size_of::<i64>()).ok_or_else(strange)?;
                let mark = mark.try_into().map_err(|_| strange())?;
                at = Some(Moment { seq: number(key)?, shared: LogPoint { seq: number(shared)?, mark } });
            }
            1 => drop(singles.insert(place::row_of(key), value.to_vec())),
            _ => {
                let at = usize::try_from(part - FIRST_READ).map_err(|_| strange())?;
                parts.get_mut(at).ok_or_else(strange)?.push((place::row_of(key), value.to_vec()));
            }
        }
    }
    let at = at.ok_or(Unloaded::Replaced)?;
    let mut found = Vec::new();
    for (read, mut rows) in reads.into_iter().zip(parts) {
        match &read {
            Read::Get(key) => {
                let value = singles.get(key).cloned();
                // Without a value there is one row, of the keys of both neighbours: nothing lies between them.
                if let (None, Some((before, after))) = (&value, rows.pop()) {
                    let (from, to) = ([before.as_slice(), &[0]].concat(), place::row_of(&after));
                    let gap = Scan { from, to, order: Order::Ascending, limit: 1 };
                    found.push((Read::Scan(gap), Found::Rows(Vec::new())));
                }
                found.push((read, Found::Value(value)));
            }
            Read::Scan(scan) => {
                // The order in which parts of a union come is not promised.
                rows.sort();
                if scan.order == Order::Descending {
                    rows.reverse();
                }
                found.push((read, Found::Rows(rows)));
            }
            Read::Admit(_) => found.push((read, Found::Rate(None))),
        }
    }
    Ok(Loaded { at, found })
}
