//! What each statement of a node does to the tables, all at once.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_postgres::types::{FromSql, Type};

use super::super::fence::{COMMIT, COMMIT_KEPT, COMMIT_KNOWN, COMMIT_TYPES, KNOWN_PARAMETERS, PASSED, RESOLVE};
use super::super::load::{LOAD, LOAD_TYPES, QUEUE};
use super::super::past::PAST;
use super::super::place::SLOTS as SLOTS_OF_ACCOUNTS;
use super::super::shared::{LAST, NOTED, SINCE};
use super::super::{cluster, lookout, ownership, recut, schema};
use super::wire::SqlCell;

/// Parameters of a statement, as they came.
pub type Parameters = [Option<Vec<u8>>];
/// The rows of an answer and how many rows it concerned, or the code with which it is refused.
pub type StatementResult = Result<(Vec<Vec<SqlCell>>, usize), &'static str>;

/// A statement that nodes send.
pub struct Statement {
    pub text: &'static str,
    pub parameters: &'static [Type],
    pub columns: &'static [Type],
    pub run: fn(&mut Tables, &Parameters) -> StatementResult,
    /// Whether it changes something.
    pub writes: bool,
}

const NONE: &[Type] = &[];
const UNIQUE_VIOLATION: &str = "23505";
const DIVISION_BY_ZERO: &str = "22012";

static STATEMENTS: [Statement; 25] = [
    read(lookout::LANES, NONE, &[Type::BYTEA, Type::BYTEA, Type::TEXT, Type::INT8, Type::INT8], lanes),
    read(lookout::SLOTS, NONE, &[Type::INT4, Type::BYTEA], slots),
    read(lookout::NODES, NONE, &[Type::BYTEA, Type::TEXT, Type::BOOL, Type::TEXT], nodes),
    read(LAST, NONE, &[Type::INT8, Type::BYTEA], |tables, _| {
        let (seq, row) = tables.last_shared();
        one(vec![SqlCell::Int8(seq), SqlCell::Bytes(row.mark.clone())])
    }),
    read(PAST, &PAST_TYPES, &[Type::INT8, Type::BOOL, Type::BOOL], past),
    read(PASSED, &[Type::INT8], &[Type::BOOL], |tables, given| {
        one(vec![SqlCell::Bool(tables.last_shared().0 > number(given, 0))])
    }),
    read(schema::DURABLE, NONE, &[Type::TEXT, Type::TEXT, Type::TEXT], |_, _| {
        one(["on", "on", "on"].map(|value| SqlCell::Text(value.into())).into())
    }),
    read(recut::ONE, NONE, &[Type::TEXT], |_, _| one(vec![SqlCell::Text("simulated".into())])),
    read(recut::FREE, &[Type::BYTEA_ARRAY, Type::INT8], &[Type::INT4], free),
    read(recut::CLOCK, NONE, &[Type::INT8], |tables, _| {
        one(vec![SqlCell::Int8(tables.lanes.values().map(|lane| lane.clock).max().unwrap_or_default())])
    }),
    read(QUEUE, &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY], &[Type::BYTEA, Type::BYTEA], queue),
    read(LOAD, &LOAD_TYPES, &[Type::INT4, Type::BYTEA, Type::BYTEA], load),
    read(SINCE, &[Type::INT8, Type::INT8], &[Type::INT8, Type::BYTEA, Type::BYTEA_ARRAY, Type::BYTEA_ARRAY], since),
    write(NOTED, &[Type::BYTEA], NONE, |tables, given| {
        let noted = SharedRow { mark: bytes(given, 0), ..SharedRow::default() };
        tables.shared.insert(tables.last_shared().0 + 1, noted);
        none(1)
    }),
    write(cluster::SHOWN, &[Type::BYTEA, Type::TEXT, Type::TEXT, Type::FLOAT8], &[Type::INT8, Type::BOOL], shown),
    write(cluster::SET_ASIDE, &[Type::BYTEA, Type::BOOL], NONE, |_, _| none(1)),
    write(cluster::GONE, &[Type::BYTEA], NONE, |tables, given| {
        none(usize::from(tables.nodes.remove(&bytes(given, 0)).is_some()))
    }),
    write(cluster::LONG_GONE, NONE, NONE, |tables, _| {
        let since = tables.now - 3_600_000_000;
        none(tables.nodes.extract_if(.., |_, seen| *seen < since).count())
    }),
    write(ownership::SIGN, &[Type::BYTEA], &[Type::INT8], sign),
    write(recut::SILENCED, &[Type::BYTEA, Type::INT8, Type::INT8], NONE, |tables, given| {
        tables.end(given, |lane| lane.seq == number(given, 1) && lane.beat == number(given, 2))
    }),
    write(recut::ENDED, &[Type::BYTEA], NONE, |tables, given| tables.end(given, |_| true)),
    write(recut::MADE, &[Type::BYTEA, Type::BYTEA, Type::BYTEA, Type::TEXT, Type::INT8], NONE, made),
    write(recut::DEALT, &[Type::BYTEA, Type::INT4_ARRAY], NONE, |tables, given| {
        let slots: Vec<i32> = value(given, 1, &Type::INT4_ARRAY);
        slots.iter().for_each(|slot| drop(tables.slots.insert(*slot, bytes(given, 0))));
        none(slots.len())
    }),
    write(recut::FORGOTTEN, NONE, NONE, |tables, _| {
        let Tables { lanes, slots, flaw, .. } = tables;
        // Where it is asked for an ended lane, that stays.
        if matches!(flaw, Some(FenceFlaw::DeadCommits | FenceFlaw::DeadSigns)) {
            return none(0);
        }
        none(lanes.extract_if(.., |id, lane| lane.dead && slots.values().all(|of| of != id)).count())
    }),
    write(RESOLVE, &[Type::BYTEA, Type::BYTEA, Type::BYTEA], &[Type::INT8], resolve),
];
static PAST_TYPES: [Type; 5] = [Type::BYTEA, Type::INT8, Type::BYTEA, Type::INT8, Type::BYTEA];
static COMMITS: [Statement; 3] = [
    write(COMMIT, &COMMIT_TYPES, &[Type::INT8], commit),
    write(COMMIT_KNOWN, COMMIT_TYPES.split_at(KNOWN_PARAMETERS).0, &[Type::INT8], commit_known),
    write(COMMIT_KEPT, COMMIT_TYPES.split_at(KNOWN_PARAMETERS).0, &[Type::INT8], commit_known),
];

const fn read(
    text: &'static str,
    parameters: &'static [Type],
    columns: &'static [Type],
    run: fn(&mut Tables, &Parameters) -> StatementResult,
) -> Statement {
    Statement { text, parameters, columns, run, writes: false }
}

const fn write(
    text: &'static str,
    parameters: &'static [Type],
    columns: &'static [Type],
    run: fn(&mut Tables, &Parameters) -> StatementResult,
) -> Statement {
    Statement { text, parameters, columns, run, writes: true }
}

impl Statement {
    /// Returns the statement of a text.
    ///
    /// # Panics
    /// If there is none: whoever sends a new one says here what it does.
    pub fn of(text: &str) -> &'static Self {
        let known = STATEMENTS.iter().chain(&COMMITS).find(|statement| statement.text == text);
        known.unwrap_or_else(|| panic!("the simulated database knows no {text}"))
    }
}

/// The tables of a store.
#[derive(Clone)]
pub struct Tables {
    pub kv: BTreeMap<Vec<u8>, Vec<u8>>,
    pub lanes: BTreeMap<Vec<u8>, LaneRow>,
    /// Nodes, and when each was seen, microseconds.
    pub nodes: BTreeMap<Vec<u8>, i64>,
    /// Slots that some lane has or had.
    pub slots: BTreeMap<i32, Vec<u8>>,
    /// The log of shared rows.
    pub shared: BTreeMap<i64, SharedRow>,
    /// The database's time, microseconds.
    pub now: i64,
    /// A defect that it has; none in a world that is to hold.
    pub flaw: Option<FenceFlaw>,
}

/// A row of the table `shared`.
#[derive(Clone, Default)]
pub struct SharedRow {
    pub mark: Vec<u8>,
    keys: Vec<Option<Vec<u8>>>,
    values: Vec<Option<Vec<u8>>>,
}

/// A row of the table `lane`.
#[derive(Clone, Debug)]
pub struct LaneRow {
    pub token: Vec<u8>,
    pub node: Vec<u8>,
    pub seq: i64,
    pub beat: i64,
    pub dead: bool,
    pub clock: i64,
}

/// Something that a fence is for, left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceFlaw {
    /// A commit asks neither whether its lane has ended nor for the log, in which the next lane was noted: each covers for
    /// the other.
    DeadCommits,
    /// A sign of life does not ask whether its lane has ended.
    DeadSigns,
    /// A commit asks neither for the token nor for the number at which its lane stands.
    AnyCommit,
    /// A commit does not ask whether shared rows were changed since it was decided.
    OldShared,
    /// Neither a commit nor a sign of life asks whether the log has the past that a lane knows.
    AnyPast,
}

impl Default for Tables {
    fn default() -> Self {
        let first = SharedRow { mark: vec![0; 16], ..SharedRow::default() };
        Self {
            kv: BTreeMap::new(),
            lanes: BTreeMap::new(),
            nodes: BTreeMap::new(),
            slots: BTreeMap::new(),
            shared: BTreeMap::from([(0, first)]),
            now: 0,
            flaw: None,
        }
    }
}

impl Tables {
    /// Returns the last change of shared rows, and its number.
    pub fn last_shared(&self) -> (i64, &SharedRow) {
        self.shared.last_key_value().map(|(seq, row)| (*seq, row)).expect("the log is never empty")
    }

    /// Returns whether the log has a change, or may have had it.
    pub fn log_has(&self, seq: i64, mark: &[u8]) -> bool {
        self.flaw == Some(FenceFlaw::AnyPast)
            || self.shared.get(&seq).is_some_and(|row| row.mark == mark)
            || self.shared.first_key_value().is_some_and(|(first, _)| seq < *first)
    }

    fn end(&mut self, given: &Parameters, is_so: impl Fn(&LaneRow) -> bool) -> StatementResult {
        let lane = self.lanes.get_mut(&bytes(given, 0)).filter(|lane| !lane.dead && is_so(lane));
        none(lane.map_or(0, |lane| {
            lane.dead = true;
            1
        }))
    }

    fn range(&self, from: &[u8], to: &[u8]) -> impl DoubleEndedIterator<Item = (&Vec<u8>, &Vec<u8>)> {
        let bounds = (Bound::Included(from.to_vec()), Bound::Excluded(to.max(from).to_vec()));
        self.kv.range(bounds)
    }
}

fn lanes(tables: &mut Tables, _: &Parameters) -> StatementResult {
    let living = tables.lanes.iter().filter(|(_, lane)| !lane.dead);
    all(living.map(|(id, lane)| {
        let address = SqlCell::Text("simulated:1".into());
        vec![
            SqlCell::Bytes(id.clone()),
            SqlCell::Bytes(lane.node.clone()),
            address,
            SqlCell::Int8(lane.seq),
            SqlCell::Int8(lane.beat),
        ]
    }))
}

fn slots(tables: &mut Tables, _: &Parameters) -> StatementResult {
    all(tables.slots.iter().map(|(slot, lane)| vec![SqlCell::Int4(*slot), SqlCell::Bytes(lane.clone())]))
}

fn nodes(tables: &mut Tables, _: &Parameters) -> StatementResult {
    let since = tables.now - 60_000_000;
    let seen = tables.nodes.iter().filter(|(_, seen)| **seen > since);
    all(seen.map(|(id, seen)| {
        let (seen, address) = (SqlCell::Text(seen.to_string()), SqlCell::Text("simulated:1".into()));
        vec![SqlCell::Bytes(id.clone()), seen, SqlCell::Bool(false), address]
    }))
}

fn shown(tables: &mut Tables, given: &Parameters) -> StatementResult {
    tables.nodes.insert(bytes(given, 0), tables.now);
    // The clocks of the machines are right.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    one(vec![SqlCell::Int8(i64::try_from(now).unwrap_or_default()), SqlCell::Bool(true)])
}

fn free(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let own = given[0].is_some().then(|| arrays(given, 0));
    let most = usize::try_from(number(given, 1)).unwrap_or(usize::MAX);
    let is_free = |slot: &i32| {
        let of = tables.slots.get(slot);
        let is_had = of.and_then(|of| tables.lanes.get(of)).is_some_and(|lane| !lane.dead);
        !is_had && own.as_ref().is_none_or(|own| of.is_some_and(|of| own.contains(of)))
    };
    all((0..i32::from(SLOTS_OF_ACCOUNTS)).filter(is_free).take(most).map(|slot| vec![SqlCell::Int4(slot)]))
}

fn made(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let (token, node, clock) = (bytes(given, 1), bytes(given, 2), number(given, 4));
    tables.lanes.insert(bytes(given, 0), LaneRow { token, node, seq: 0, beat: 0, dead: false, clock });
    none(1)
}

fn sign(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let any = tables.flaw == Some(FenceFlaw::DeadSigns);
    let lane = tables.lanes.get_mut(&bytes(given, 0)).filter(|lane| !lane.dead || any);
    all(lane.into_iter().map(|lane| {
        lane.beat += 1;
        vec![SqlCell::Int8(lane.seq)]
    }))
}

fn resolve(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let (id, old, fresh) = (bytes(given, 0), bytes(given, 1), bytes(given, 2));
    let lane = tables.lanes.get_mut(&id).filter(|lane| !lane.dead && [&old, &fresh].contains(&&lane.token));
    all(lane.into_iter().map(|lane| {
        lane.token.clone_from(&fresh);
        lane.beat += 1;
        vec![SqlCell::Int8(lane.seq)]
    }))
}

fn queue(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let (from, to): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (arrays(given, 0), arrays(given, 1));
    let ranges = from.iter().zip(&to);
    let rows = ranges.flat_map(|(from, to)| tables.range(from, to));
    all(rows.map(|(key, value)| vec![SqlCell::Bytes(key.clone()), SqlCell::Bytes(value.clone())]))
}

fn since(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let (from, to) = (number(given, 0), number(given, 1));
    all(tables.shared.range(from..=to.max(from)).map(|(seq, row)| {
        let (keys, values) = (SqlCell::Array(row.keys.clone()), SqlCell::Array(row.values.clone()));
        vec![SqlCell::Int8(*seq), SqlCell::Bytes(row.mark.clone()), keys, values]
    }))
}

fn past(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let stands = tables.lanes.get(&bytes(given, 0)).map_or(SqlCell::Null, |lane| SqlCell::Int8(lane.seq));
    let has = |at: usize| SqlCell::Bool(tables.log_has(number(given, at), &bytes(given, at + 1)));
    one(vec![stands, has(1), has(3)])
}

fn load(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let mut rows = Vec::new();
    let mut show = |part: i32, key: &[u8], value: &[u8]| {
        rows.push(vec![SqlCell::Int4(part), SqlCell::Bytes(key.to_vec()), SqlCell::Bytes(value.to_vec())]);
    };
    if let Some(lane) = tables.lanes.get(&bytes(given, 0)).filter(|lane| !lane.dead) {
        let (seq, row) = tables.last_shared();
        show(0, &lane.seq.to_be_bytes(), &[&seq.to_be_bytes()[..], &row.mark].concat());
    }
    for key in arrays(given, 1) {
        if let Some(value) = tables.kv.get(&key) {
            show(1, &key, value);
        }
    }
    for (at, is_up) in [(2, true), (6, false)] {
        let numbers: Vec<i32> = value(given, at, &Type::INT4_ARRAY);
        let limits: Vec<i64> = value(given, at + 3, &Type::INT8_ARRAY);
        let ranges = arrays(given, at + 1).into_iter().zip(arrays(given, at + 2));
        for ((part, limit), (from, to)) in numbers.into_iter().zip(limits).zip(ranges) {
            let (limit, found) = (usize::try_from(limit).unwrap_or(usize::MAX), tables.range(&from, &to));
            if is_up {
                found.take(limit).for_each(|(key, value)| show(part, key, value));
            } else {
                found.rev().take(limit).for_each(|(key, value)| show(part, key, value));
            }
        }
    }
    let numbers: Vec<i32> = value(given, 10, &Type::INT4_ARRAY);
    let gaps = arrays(given, 12).into_iter().zip(arrays(given, 13));
    for ((part, key), (from, to)) in numbers.into_iter().zip(arrays(given, 11)).zip(gaps) {
        if !tables.kv.contains_key(&key) {
            let before = tables.range(&from, &key).next_back().map_or(&from, |(key, _)| key);
            let after = tables.range(&key, &to).next().map_or(&to, |(key, _)| key);
            show(part, before, after);
        }
    }
    all(rows)
}

/// Commits what needs the first parameters only.
fn commit_known(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let more = std::iter::repeat_n(None, COMMIT_TYPES.len() - KNOWN_PARAMETERS);
    commit(tables, &given.iter().cloned().chain(more).collect::<Vec<_>>())
}

fn commit(tables: &mut Tables, given: &Parameters) -> StatementResult {
    let (id, token, seq, after) = (bytes(given, 0), bytes(given, 1), number(given, 2), number(given, 4));
    let flaw = tables.flaw;
    let (last, row) = tables.last_shared();
    let asks_log = !matches!(flaw, Some(FenceFlaw::OldShared | FenceFlaw::DeadCommits));
    let is_outdated = last > after && asks_log;
    let is_past = row.mark == bytes(given, 5) || !asks_log || flaw == Some(FenceFlaw::AnyPast);
    let is_open = !is_outdated && is_past;
    let lane = tables.lanes.get_mut(&id).filter(|_| is_open);
    let lane = lane.filter(|lane| (lane.token == token && lane.seq == seq) || flaw == Some(FenceFlaw::AnyCommit));
    let Some(lane) = lane.filter(|lane| !lane.dead || flaw == Some(FenceFlaw::DeadCommits)) else {
        return all([]);
    };
    let mut kv = tables.kv.clone();
    let deleted = arrays(given, 6).iter().filter(|key| kv.remove(*key).is_some()).count();
    arrays(given, 13).iter().for_each(|key| drop(kv.remove(key)));
    let pairs = |at: usize| arrays(given, at).into_iter().zip(arrays(given, at + 1));
    let mut updated = 0;
    for (key, value) in pairs(8) {
        updated += i64::from(kv.contains_key(&key));
        kv.entry(key).and_modify(|old| *old = value);
    }
    for (key, value) in pairs(11) {
        if kv.insert(key, value).is_some() {
            return Err(UNIQUE_VIOLATION);
        }
    }
    kv.extend(pairs(14));
    if i64::try_from(deleted) != Ok(number(given, 7)) || updated != number(given, 10) {
        return Err(DIVISION_BY_ZERO);
    }
    (lane.seq, lane.clock) = (seq + 1, number(given, 3));
    if let Some(mark) = given[16].clone() {
        let (keys, values) = (value(given, 17, &Type::BYTEA_ARRAY), value(given, 18, &Type::BYTEA_ARRAY));
        tables.shared.retain(|seq, _| *seq > after - number(given, 19));
        tables.shared.insert(after + 1, SharedRow { mark, keys, values });
    }
    tables.kv = kv;
    one(vec![SqlCell::Int8(seq + 1)])
}

fn one(row: Vec<SqlCell>) -> StatementResult {
    Ok((vec![row], 1))
}

fn none(count: usize) -> StatementResult {
    Ok((Vec::new(), count))
}

fn all(rows: impl IntoIterator<Item = Vec<SqlCell>>) -> StatementResult {
    let rows: Vec<_> = rows.into_iter().collect();
    let count = rows.len();
    Ok((rows, count))
}

fn value<T: for<'v> FromSql<'v>>(given: &Parameters, at: usize, kind: &Type) -> T {
    T::from_sql_nullable(kind, given[at].as_deref()).unwrap_or_else(|error| panic!("parameter {at}: {error}"))
}

fn bytes(given: &Parameters, at: usize) -> Vec<u8> {
    value(given, at, &Type::BYTEA)
}

fn number(given: &Parameters, at: usize) -> i64 {
    value(given, at, &Type::INT8)
}

fn arrays(given: &Parameters, at: usize) -> Vec<Vec<u8>> {
    value::<Option<_>>(given, at, &Type::BYTEA_ARRAY).unwrap_or_default()
}
