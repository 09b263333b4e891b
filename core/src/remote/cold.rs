//! [`Cold`]: a view that knows only what was loaded into it, and says what it misses.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use super::foresight;
use super::version::{self, Seen};
use crate::key::Key;
use crate::rate::{Caller, Rate};
use crate::view::{Bytes, Found, Order, Read, Scan, Stop, View, Visit, copies};

/// What was loaded for one input.
#[derive(Clone, Debug, Default)]
pub struct Cold {
    values: BTreeMap<Key, Option<Bytes>>,
    scans: BTreeMap<Scan, Vec<(Key, Bytes)>>,
    rates: BTreeMap<Caller, Option<Rate>>,
}

impl Cold {
    /// Takes what a host found for `read`; an answer that cannot be one to this read is refused.
    pub fn load(&mut self, read: Read, found: Found) -> Result<(), &'static str> {
        match (read, found) {
            (Read::Get(key), Found::Value(value)) => {
                self.values.insert(key, value);
            }
            (Read::Scan(scan), Found::Rows(rows)) => {
                judge(&scan, &rows)?;
                self.scans.insert(scan, rows);
            }
            (Read::Admit(caller), Found::Rate(rate)) => {
                self.tell(caller, rate);
            }
            _ => return Err("an answer is not of the kind that was asked for"),
        }
        Ok(())
    }

    /// What was found for a key, by itself or beside the head of its set; else the read that is missing.
    fn value(&self, key: &[u8]) -> Result<Option<&Bytes>, Read> {
        if let Some(value) = self.values.get(key) {
            return Ok(value.as_ref());
        }
        let missing = || Read::Get(key.to_vec());
        let scan = foresight::newest(key).ok_or_else(missing)?;
        let rows = self.scans.get(&scan).ok_or_else(missing)?;
        let value = rows.iter().find(|(at, _)| at == key).map(|(_, value)| value);
        if value.is_some() || scan.from == key { Ok(value) } else { Err(missing()) }
    }

    /// What of the store was read, each with its version: while all of it holds, a run comes to the same.
    pub fn seen(&self) -> Vec<Seen> {
        let values = self.values.iter().map(|(key, value)| {
            let version = version::of_value(value.as_deref());
            Seen { read: Read::Get(key.clone()), version }
        });
        let scans = self
            .scans
            .iter()
            .map(|(scan, rows)| Seen { read: Read::Scan(scan.clone()), version: version::of_rows(rows) });
        values.chain(scans).collect()
    }

    /// Forgets the store, and keeps what the limiter said: an exchange asks it once.
    pub fn forget_rows(&mut self) {
        self.values.clear();
        self.scans.clear();
    }

    /// Takes what the limiter said.
    pub fn tell(&mut self, caller: Caller, rate: Option<Rate>) {
        self.rates.insert(caller, rate);
    }

    /// What the limiter said.
    pub fn rates(&self) -> &BTreeMap<Caller, Option<Rate>> {
        &self.rates
    }
}

/// Whether rows may be the answer to a scan: within its range, in its order, no more than it asked for.
fn judge(scan: &Scan, rows: &[(Key, Bytes)]) -> Result<(), &'static str> {
    if rows.len() > scan.limit {
        return Err("a scan found more rows than were asked for");
    }
    if rows.iter().any(|(key, _)| *key < scan.from || *key >= scan.to) {
        return Err("a scan found a row outside its range");
    }
    let sorted = rows.windows(2).all(|pair| match scan.order {
        Order::Ascending => pair[0].0 < pair[1].0,
        Order::Descending => pair[0].0 > pair[1].0,
    });
    if sorted { Ok(()) } else { Err("the rows of a scan are not in its order") }
}

impl View for Cold {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        let (mut found, mut missing) = (Vec::with_capacity(keys.len()), Vec::new());
        for key in keys {
            match self.value(key) {
                Ok(value) => found.push(value.cloned()),
                Err(read) => missing.push(read),
            }
        }
        if missing.is_empty() { Ok(found) } else { Err(Stop::Missing(missing)) }
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        copies(|visit| self.each(range, order, limit, visit))
    }

    fn each(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut Visit<'_>) -> Result<(), Stop> {
        let scan = Scan { from: range.start, to: range.end, order, limit };
        match self.scans.get(&scan) {
            Some(rows) => rows.iter().try_for_each(|(key, value)| visit(key, value)),
            None => Err(Stop::Missing(Vec::from([Read::Scan(scan)]))),
        }
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.rates.get(&caller).copied().ok_or_else(|| Stop::Missing(Vec::from([Read::Admit(caller)])))
    }
}
