//! [`LoadedReads`]: a view of loaded data only, which reports the reads that are missing.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use super::foresight;
use super::version::{self, Seen};
use crate::key::Key;
use crate::rate::{Caller, Rate};
use crate::view::{Bytes, Found, Order, Read, RowVisitor, Scan, Stop, View, copies};

/// Data loaded for one input.
#[derive(Clone, Debug, Default)]
pub struct LoadedReads {
    values: BTreeMap<Key, Option<Bytes>>,
    scans: BTreeMap<Scan, Vec<(Key, Bytes)>>,
    rates: BTreeMap<Caller, Option<Rate>>,
}

impl LoadedReads {
    /// Stores the result of `read`; returns an error if it cannot be a result of this read.
    pub fn load(&mut self, read: Read, found: Found) -> Result<(), &'static str> {
        match (read, found) {
            (Read::Get(key), Found::Value(value)) => {
                self.values.insert(key, value);
            }
            (Read::Scan(scan), Found::Rows(rows)) => {
                check_rows(&scan, &rows)?;
                self.scans.insert(scan, rows);
            }
            (Read::Admit(caller), Found::Rate(rate)) => {
                self.tell(caller, rate);
            }
            _ => return Err("an answer is not of the kind that was asked for"),
        }
        Ok(())
    }

    /// Returns the value of a key, loaded on its own or with the head of its set; the error is the missing read.
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

    /// Returns all reads of the store with their versions: while they all hold, a rerun has the same result.
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

    /// Drops all values and rows, but keeps rate-limit decisions: an exchange is counted only once.
    pub fn forget_rows(&mut self) {
        self.values.clear();
        self.scans.clear();
    }

    /// Stores a rate-limit decision.
    pub fn tell(&mut self, caller: Caller, rate: Option<Rate>) {
        self.rates.insert(caller, rate);
    }

    /// Returns the rate-limit decisions, by caller.
    pub fn rates(&self) -> &BTreeMap<Caller, Option<Rate>> {
        &self.rates
    }
}

/// Checks the rows of a scan: within its range, in its order, and no more than its limit.
fn check_rows(scan: &Scan, rows: &[(Key, Bytes)]) -> Result<(), &'static str> {
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

impl View for LoadedReads {
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
        copies(|visit| self.scan_with(range, order, limit, visit))
    }

    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
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
