//! Rows of a kind and the sets in which they are filed, changed together.

use alloc::vec::Vec;

use crate::collection::{Edit, Facet, ids, update};
use crate::key::{self, Kind};
use crate::store::{Ledger, Row, Scope};
use crate::time::{Day, Timestamp};
use crate::view::{Bytes, Order, Stop};

const LOST: Stop = Stop::Corrupt("a set names a row that is not there");

impl Scope<'_> {
    /// Allots the next count of a kind, and returns it with the time of creation.
    pub fn allot(self, kind: Kind, now: Timestamp) -> Result<(u32, Timestamp), Stop> {
        let mut ledger = Ledger::load(self)?;
        let next = ledger.next(kind, now)?;
        ledger.save(self)?;
        Ok(next)
    }

    /// Stores a new row and files it; for calls and leads, also records the first count of each day, so that lists can
    /// be filtered by date.
    pub fn insert(self, kind: Kind, count: u32, at: Timestamp, row: &Row) -> Result<(), Stop> {
        self.put_new(key::row(self.space(), kind, count), row.to_bytes())?;
        self.file(kind, count, &[], &with_all(row))?;
        if matches!(kind, Kind::Call | Kind::Lead | Kind::Conversation) {
            let day = key::day(self.space(), kind, at.day().number());
            if self.get(day.clone())?.is_none() {
                self.put(day, count.to_be_bytes().to_vec())?;
            }
        }
        Ok(())
    }

    /// Stores a changed row and moves it between the sets that `old` and `row` name.
    pub fn replace(self, kind: Kind, count: u32, old: &Row, row: &Row) -> Result<(), Stop> {
        self.put_over(key::row(self.space(), kind, count), old.stored_bytes(), Some(row.to_bytes()))?;
        self.file(kind, count, &old.facets, &row.facets)
    }

    /// Removes a row from the store and from every set.
    pub fn remove(self, kind: Kind, count: u32, old: &Row) -> Result<(), Stop> {
        self.put_over(key::row(self.space(), kind, count), old.stored_bytes(), None)?;
        self.file(kind, count, &with_all(old), &[])
    }

    /// Returns a row, if it exists.
    pub fn find(self, kind: Kind, count: u32) -> Result<Option<Row>, Stop> {
        self.get(key::row(self.space(), kind, count))?.map(|bytes| Row::from_bytes(&bytes)).transpose()
    }

    /// Returns the stored bytes of rows that a set named, in this order; an error if one is missing.
    pub fn rows(self, kind: Kind, counts: &[u32]) -> Result<Vec<Bytes>, Stop> {
        let mut rows = Vec::with_capacity(counts.len());
        self.each_row(kind, counts, |_, row| {
            rows.push(row.to_vec());
            Ok(())
        })?;
        Ok(rows)
    }

    /// Visits the stored bytes of rows that a set named, in this order; an error if one is missing.
    pub fn each_row(
        self,
        kind: Kind,
        counts: &[u32],
        mut visit: impl FnMut(u32, &[u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let rows = key::rows(self.space(), kind);
        if self.each_of(&rows, counts, |at, row| visit(counts[at], row))? { Ok(()) } else { Err(LOST) }
    }

    /// Returns the rows of a set, oldest first, at most `limit`.
    pub fn list(self, kind: Kind, facet: &Facet, limit: usize) -> Result<Vec<(u32, Row)>, Stop> {
        let counts = ids(self, kind, facet, limit)?;
        let rows = self.rows(kind, &counts)?;
        counts.into_iter().zip(&rows).map(|(count, row)| Ok((count, Row::from_bytes(row)?))).collect()
    }

    /// Returns the counts of the rows created from `from` (included) to `to` (excluded), UTC days since 1970.
    fn days(self, kind: Kind, from: Option<u64>, to: Option<u64>) -> Result<core::ops::Range<u32>, Stop> {
        let first = |day: u64, none: u32| -> Result<u32, Stop> {
            let found = self.scan(key::days_from(self.space(), kind, day), Order::Ascending, 1)?;
            let Some((_, bytes)) = found.first() else { return Ok(none) };
            let count = bytes.as_slice().try_into().map_err(|_| Stop::Corrupt("a day row has an unknown form"))?;
            Ok(u32::from_be_bytes(count))
        };
        let start = from.map_or(Ok(0), |day| first(day, u32::MAX))?;
        let end = to.map_or(Ok(u32::MAX), |day| first(day, u32::MAX))?;
        Ok(start..end)
    }

    /// Returns the counts of the rows created between two dates of a query, both days included; an absent date, or one
    /// that is not `YYYY-MM-DD`, does not bound them.
    pub fn dates(self, kind: Kind, from: Option<&str>, to: Option<&str>) -> Result<core::ops::Range<u32>, Stop> {
        let from = from.and_then(Day::parse).map(Day::number);
        let to = to.and_then(Day::parse).map(|day| day.next().number());
        self.days(kind, from, to)
    }

    fn file(self, kind: Kind, count: u32, old: &[Facet], new: &[Facet]) -> Result<(), Stop> {
        let left = old.iter().filter(|facet| !new.contains(facet)).map(|facet| (facet, false));
        let entered = new.iter().filter(|facet| !old.contains(facet)).map(|facet| (facet, true));
        let edits: Vec<Edit> =
            left.chain(entered).map(|(facet, present)| Edit { facet: facet.clone(), id: count, present }).collect();
        update(self, kind, &edits)
    }
}

/// Returns the facets of a row with [`Facet::ALL`] first.
fn with_all(row: &Row) -> Vec<Facet> {
    core::iter::once(&Facet::ALL).chain(&row.facets).cloned().collect()
}
