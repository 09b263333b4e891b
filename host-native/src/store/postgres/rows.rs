//! [`KnownRows`]: the rows of a database that a node holds in memory, and what it knows not to be there.
//!
//! One map holds both. An entry is a key with its value, a key without a value, or the border of what was read; an entry
//! that is *joined* says that no key lies between it and the next entry. So a key is known to be absent without ever
//! having been asked for, as each create needs it, and a scan is answered where every gap on its way is joined.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::atomic::{AtomicBool, Ordering};

use switchboard_core::key::Key;
use switchboard_core::store::Change;
use switchboard_core::view::{Bytes, Found, Order, Read, RowVisitor, Scan, Stop};

/// Memory that an entry takes besides its key and its value, bytes.
const ENTRY_BYTES: usize = 112;

/// Rows at hand. They are of one moment: every change since is applied to them.
#[derive(Default)]
pub(super) struct KnownRows {
    entries: BTreeMap<Key, Entry>,
    bytes: usize,
    /// Where the search for entries that nobody uses goes on.
    hand: Key,
    /// Ranges that stay.
    pinned: Vec<Range<Key>>,
}

struct Entry {
    value: Known,
    /// Whether no key lies between this one and the next entry.
    joined: bool,
    /// Whether it was used since the hand came by.
    used: AtomicBool,
}

enum Known {
    /// Nothing is known of this key: it is where something that was read begins or ends.
    Border,
    /// The key has no value.
    Absent,
    Value(Bytes),
}

impl Entry {
    fn new(value: Known, joined: bool) -> Self {
        Self { value, joined, used: AtomicBool::new(true) }
    }

    fn touch(&self) {
        // A store for each read would send the line from core to core.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    fn bytes(&self, key: &[u8]) -> usize {
        let value = if let Known::Value(value) = &self.value { value.len() } else { 0 };
        key.len() + value + ENTRY_BYTES
    }
}

impl KnownRows {
    /// Returns the value of a key; the error says that it has to be read.
    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>, Stop> {
        let missing = || Stop::Missing(vec![Read::Get(key.to_vec())]);
        if let Some(entry) = self.entries.get(key) {
            entry.touch();
            return match &entry.value {
                Known::Value(value) => Ok(Some(value)),
                Known::Absent => Ok(None),
                Known::Border => Err(missing()),
            };
        }
        if self.is_in_gap(key) { Ok(None) } else { Err(missing()) }
    }

    /// Returns whether a key is known to have a value, or to have none; `None` if neither is known.
    pub fn has(&self, key: &[u8]) -> Option<bool> {
        self.get(key).ok().map(|value| value.is_some())
    }

    /// Returns whether a read needs nothing of the database.
    pub fn answers(&self, read: &Read) -> bool {
        match read {
            Read::Get(key) => self.get(key).is_ok(),
            Read::Scan(scan) => self.scan(scan.clone(), &mut |_, _| Ok(())).is_ok(),
            Read::Admit(_) => false,
        }
    }

    /// Shows the rows of a scan, in its order; the error says that it has to be read.
    pub fn scan(&self, scan: Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        if is_empty(&scan) {
            return Ok(());
        }
        let whole = match scan.order {
            Order::Ascending => self.ascend(&scan, visit)?,
            Order::Descending => self.descend(&scan, visit)?,
        };
        if whole { Ok(()) } else { Err(Stop::Missing(vec![Read::Scan(scan)])) }
    }

    /// Returns whether all of the scan is known.
    fn ascend(&self, scan: &Scan, visit: &mut RowVisitor<'_>) -> Result<bool, Stop> {
        let mut joined = self.is_in_gap(&scan.from);
        let mut left = scan.limit;
        for (key, entry) in self.entries.range(scan.from.clone()..scan.to.clone()) {
            // What begins at an entry needs no gap before it.
            if !joined && *key != scan.from {
                return Ok(false);
            }
            match &entry.value {
                Known::Border => return Ok(false),
                Known::Absent => {}
                Known::Value(value) => {
                    visit(key, value)?;
                    left -= 1;
                }
            }
            entry.touch();
            if left == 0 {
                return Ok(true);
            }
            joined = entry.joined;
        }
        Ok(joined)
    }

    /// Returns whether all of the scan is known.
    fn descend(&self, scan: &Scan, visit: &mut RowVisitor<'_>) -> Result<bool, Stop> {
        let mut left = scan.limit;
        for (key, entry) in self.entries.range(scan.from.clone()..scan.to.clone()).rev() {
            if !entry.joined {
                return Ok(false);
            }
            match &entry.value {
                Known::Border => return Ok(false),
                Known::Absent => {}
                Known::Value(value) => {
                    visit(key, value)?;
                    left -= 1;
                }
            }
            entry.touch();
            if left == 0 || *key == scan.from {
                return Ok(true);
            }
        }
        Ok(self.is_in_gap(&scan.from))
    }

    /// Returns whether what lies right before a key is known to be absent.
    fn is_in_gap(&self, key: &[u8]) -> bool {
        let before = self.before(key).filter(|(_, entry)| entry.joined);
        before.inspect(|(_, entry)| entry.touch()).is_some()
    }

    /// Adds what was read. What is known already is at least as new, and stays.
    pub fn add(&mut self, read: &Read, found: Found) {
        match (read, found) {
            (Read::Get(key), Found::Value(value)) => self.add_value(key, value),
            (Read::Scan(scan), Found::Rows(rows)) => self.add_rows(scan, rows),
            // Rate limits are no rows.
            _ => {}
        }
    }

    fn add_value(&mut self, key: &[u8], value: Option<Bytes>) {
        let known = value.map_or(Known::Absent, Known::Value);
        match self.entries.get(key) {
            Some(Entry { value: Known::Border, joined, .. }) => {
                let joined = *joined;
                self.set(key.to_vec(), Entry::new(known, joined));
            }
            Some(_) => {}
            None if self.before(key).is_some_and(|(_, entry)| entry.joined) => {}
            None => self.set(key.to_vec(), Entry::new(known, false)),
        }
    }

    fn add_rows(&mut self, scan: &Scan, mut rows: Vec<(Key, Bytes)>) {
        if is_empty(scan) {
            return;
        }
        let is_whole = rows.len() < scan.limit;
        if scan.order == Order::Descending {
            rows.reverse();
        }
        let (mut from, mut to) = (scan.from.clone(), scan.to.clone());
        match (scan.order, rows.first(), rows.last()) {
            (Order::Ascending, _, Some((last, _))) if !is_whole => to = [last.as_slice(), &[0]].concat(),
            (Order::Descending, Some((first, _)), _) if !is_whole => from.clone_from(first),
            _ => {}
        }
        self.border(&from);
        self.border(&to);
        let mut rows: BTreeMap<Key, Bytes> = rows.into_iter().collect();
        let keys: Vec<(Key, bool)> =
            self.entries.range(from..to.clone()).map(|(key, entry)| (key.clone(), entry.joined)).collect();
        for (at, (key, joined)) in keys.iter().enumerate() {
            let end = keys.get(at + 1).map_or(&to, |(next, _)| next);
            self.fill(key, *joined, end, &mut rows);
        }
        for (key, _) in &keys {
            self.tidy(key);
        }
        self.tidy(&to);
    }

    /// Tells an entry, and the gap behind it up to `end`, by what was read; takes those rows.
    fn fill(&mut self, key: &[u8], joined: bool, end: &[u8], rows: &mut BTreeMap<Key, Bytes>) {
        let own = rows.remove(key);
        if matches!(self.entries.get(key), Some(Entry { value: Known::Border, .. })) {
            self.set(key.to_vec(), Entry::new(own.map_or(Known::Absent, Known::Value), joined));
        }
        let behind = rows.split_off(end);
        let inside = std::mem::replace(rows, behind);
        if joined {
            return;
        }
        for (row, value) in inside {
            self.set(row, Entry::new(Known::Value(value), true));
        }
        if let Some(entry) = self.entries.get_mut(key) {
            entry.joined = true;
        }
    }

    /// Makes an entry at a key where there is none, which changes nothing that is known.
    fn border(&mut self, key: &[u8]) {
        if self.entries.contains_key(key) {
            return;
        }
        let joined = self.before(key).is_some_and(|(_, entry)| entry.joined);
        let value = if joined { Known::Absent } else { Known::Border };
        self.set(key.to_vec(), Entry::new(value, joined));
    }

    /// Removes an entry that says nothing.
    fn tidy(&mut self, key: &[u8]) {
        let Some(entry) = self.entries.get(key) else { return };
        let joined = self.before(key).is_some_and(|(_, entry)| entry.joined);
        let says_nothing = match entry.value {
            // The gaps before and behind say the same.
            Known::Absent => joined && entry.joined && !self.pinned.iter().any(|pinned| pinned.start == key),
            // It is the end of no gap, and the beginning of none.
            Known::Border => !joined && !entry.joined,
            Known::Value(_) => false,
        };
        if says_nothing {
            self.remove(key);
        }
    }

    /// Applies changes that were committed.
    pub fn apply(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Put(key, value) => self.learn(key, Known::Value(value)),
                Change::Delete(key) => {
                    self.learn(key.clone(), Known::Absent);
                    self.tidy(&key);
                }
            }
        }
    }

    /// Takes what a key has now; the gap behind it stays as it was.
    fn learn(&mut self, key: Key, known: Known) {
        if let Some(entry) = self.entries.get_mut(&key) {
            self.bytes -= entry.bytes(&[]);
            *entry = Entry::new(known, entry.joined);
            self.bytes += entry.bytes(&[]);
        } else {
            let joined = self.before(&key).is_some_and(|(_, entry)| entry.joined);
            self.set(key, Entry::new(known, joined));
        }
    }

    /// Forgets what is known of the keys in a range.
    pub fn forget_in(&mut self, range: &Range<Key>) {
        if range.is_empty() {
            return;
        }
        // What is known of the gap around its start ends there.
        self.border(&range.start);
        let keys: Vec<Key> = self.entries.range(range.clone()).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.forget(key));
    }

    /// Keeps a range for good.
    pub fn pin(&mut self, range: Range<Key>) {
        self.pinned.push(range);
    }

    /// Returns the memory that they take, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets what was not used for longest, until at most `most` bytes are left or so many entries were looked at;
    /// returns whether anything was forgotten.
    pub fn shrink(&mut self, most: usize, looks: usize) -> bool {
        let before = self.entries.len();
        for _ in 0..looks {
            if self.bytes <= most {
                break;
            }
            self.turn();
        }
        self.entries.len() < before
    }

    /// Has the hand look at one entry.
    fn turn(&mut self) {
        let found = self.entries.range_mut::<[u8], _>((Bound::Included(self.hand.as_slice()), Bound::Unbounded)).next();
        let Some((key, entry)) = found else {
            self.hand = Key::new();
            return;
        };
        let key = key.clone();
        self.hand = [key.as_slice(), &[0]].concat();
        let used = std::mem::take(entry.used.get_mut());
        // A border goes with the last entry that it bounds.
        let is_border = matches!(entry.value, Known::Border);
        if let Some(pinned) = self.pinned.iter().find(|pinned| pinned.contains(&key)) {
            self.hand.clone_from(&pinned.end);
        } else if !used && !is_border {
            self.forget(&key);
        }
    }

    /// Forgets what is known of a key, and of the gap behind it.
    fn forget(&mut self, key: &[u8]) {
        self.set(key.to_vec(), Entry::new(Known::Border, false));
        self.tidy(key);
        let after = self.entries.range::<[u8], _>((Bound::Excluded(key), Bound::Unbounded)).next();
        if let Some((after, Entry { value: Known::Border, .. })) = after {
            let after = after.clone();
            self.tidy(&after);
        }
    }

    fn before(&self, key: &[u8]) -> Option<(&Key, &Entry)> {
        self.entries.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(key))).next_back()
    }

    fn set(&mut self, key: Key, entry: Entry) {
        self.bytes += entry.bytes(&key);
        let length = key.len();
        if let Some(old) = self.entries.insert(key, entry) {
            self.bytes -= old.bytes(&[]) + length;
        }
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(old) = self.entries.remove(key) {
            self.bytes -= old.bytes(key);
        }
    }
}

/// Returns whether a scan has no rows, whatever there is.
fn is_empty(scan: &Scan) -> bool {
    scan.from >= scan.to || scan.limit == 0
}

#[cfg(test)]
mod tests;
