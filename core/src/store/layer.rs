//! [`Layer`]: changes over a view, visible to its reads.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use crate::key::Key;
use crate::view::{Bytes, Order, RowVisitor, Stop, ValueVisitor, View, each_value};

/// Change of the byte map; `Debug` shows the length of a value alone.
#[derive(Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets the value of a key.
    Put(Key, Bytes),
    /// Removes a key, present or not.
    Delete(Key),
}

impl Change {
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &Key {
        let (Self::Put(key, _) | Self::Delete(key)) = self;
        key
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(key, value) => write!(f, "Put({key:?}, {} bytes)", value.len()),
            Self::Delete(key) => write!(f, "Delete({key:?})"),
        }
    }
}

/// Changes over a view, one for each key.
#[derive(Clone, Default)]
pub struct Layer(BTreeMap<Key, Option<Bytes>>);

impl Layer {
    /// Sets the value of a key, or removes it with `None`; returns whether the key had no change before.
    pub fn set(&mut self, key: Key, value: Option<Bytes>) -> bool {
        self.0.insert(key, value).is_none()
    }

    /// Returns the change of a key: its value, or `Some(None)` where it is removed; `None` where it is unchanged.
    pub fn own(&self, key: &Key) -> Option<Option<Bytes>> {
        self.0.get(key).cloned()
    }

    /// Restores what [`Self::own`] returned before a change.
    pub fn restore(&mut self, key: Key, before: Option<Option<Bytes>>) {
        match before {
            Some(value) => self.0.insert(key, value),
            None => self.0.remove(&key),
        };
    }

    /// Adds the changes of a step over the earlier ones.
    pub fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            match change {
                Change::Put(key, value) => self.set(key, Some(value)),
                Change::Delete(key) => self.set(key, None),
            };
        }
    }

    /// Returns the changed keys and the lengths of their values, `None` where removed.
    pub fn lengths(&self) -> impl Iterator<Item = (&Key, Option<usize>)> {
        self.0.iter().map(|(key, value)| (key, value.as_ref().map(Vec::len)))
    }

    /// Returns whether a key is changed.
    pub fn has(&self, key: &Key) -> bool {
        self.0.contains_key(key)
    }

    /// Returns the number of changed keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no key is changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the changes, in key order.
    pub fn into_changes(self) -> impl Iterator<Item = Change> {
        self.0.into_iter().map(|(key, value)| match value {
            Some(value) => Change::Put(key, value),
            None => Change::Delete(key),
        })
    }

    /// Returns the values of `keys`, in their order.
    pub fn get(&self, view: &dyn View, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        if self.0.is_empty() {
            return view.get(keys);
        }
        let changed: Vec<Option<&Option<Bytes>>> = keys.iter().map(|key| self.0.get(key)).collect();
        if changed.iter().all(Option::is_none) {
            return view.get(keys);
        }
        let unchanged = keys.iter().zip(&changed).filter(|(_, changed)| changed.is_none());
        let asked: Vec<Key> = unchanged.map(|(key, _)| key.clone()).collect();
        let mut stored = if asked.is_empty() { Vec::new() } else { view.get(&asked)? }.into_iter();
        Ok(changed.into_iter().map(|changed| changed.map_or_else(|| stored.next().flatten(), Clone::clone)).collect())
    }

    /// Visits the values that [`Self::get`] returns, without copies where none of the keys is changed.
    pub fn get_with(&self, view: &dyn View, keys: &[Key], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        if self.0.is_empty() || keys.iter().all(|key| !self.0.contains_key(key)) {
            return view.get_with(keys, look);
        }
        each_value(&self.get(view, keys)?, look)
    }

    /// Returns at most `limit` rows of `range`, in `order`.
    pub fn scan(
        &self,
        view: &dyn View,
        range: Range<Key>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<(Key, Bytes)>, Stop> {
        if range.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let changed = self.0.range(range.clone());
        let own = match order {
            Order::Ascending => first(changed, limit),
            Order::Descending => first(changed.rev(), limit),
        };
        // Each row deleted here may hide one of the view, so as many more are read.
        let deleted = own.iter().filter(|(_, value)| value.is_none()).count();
        let rows = view.scan(range, order, limit.saturating_add(deleted))?;
        if own.is_empty() {
            return Ok(rows);
        }
        Ok(merge(rows, &own, order, limit))
    }

    /// Visits the rows that [`Self::scan`] returns, without copies where none in the range is changed.
    pub fn scan_with(
        &self,
        view: &dyn View,
        range: Range<Key>,
        order: Order,
        limit: usize,
        visit: &mut RowVisitor<'_>,
    ) -> Result<(), Stop> {
        if range.is_empty() || self.0.range(range.clone()).next().is_some() {
            return self.scan(view, range, order, limit)?.iter().try_for_each(|(key, value)| visit(key, value));
        }
        view.scan_with(range, order, limit, visit)
    }
}

type Changed<'l> = (&'l Key, &'l Option<Bytes>);

/// Returns the first changes, as many as can affect `limit` rows.
fn first<'l>(changed: impl Iterator<Item = Changed<'l>>, limit: usize) -> Vec<Changed<'l>> {
    let mut put = 0;
    let shows = |(_, value): &Changed<'l>| {
        let shows = put < limit;
        put += usize::from(value.is_some());
        shows
    };
    changed.take_while(shows).collect()
}

/// Merges `own` over `rows`; both are in `order`.
fn merge(rows: Vec<(Key, Bytes)>, own: &[Changed<'_>], order: Order, limit: usize) -> Vec<(Key, Bytes)> {
    let before = |a: &Key, b: &Key| if order == Order::Ascending { a < b } else { a > b };
    let mut merged = Vec::with_capacity(rows.len());
    let mut own = own.iter().peekable();
    for (key, value) in rows {
        while let Some((ours, changed)) = own.next_if(|(ours, _)| before(ours, &key)) {
            merged.extend(changed.as_ref().map(|value| ((*ours).clone(), value.clone())));
        }
        match own.next_if(|(ours, _)| **ours == key) {
            Some((_, changed)) => merged.extend(changed.as_ref().map(|value| (key, value.clone()))),
            None => merged.push((key, value)),
        }
    }
    merged.extend(own.filter_map(|(key, changed)| Some(((*key).clone(), (*changed).clone()?))));
    merged.truncate(limit);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use proptest::prelude::*;

    fn key(n: u8) -> Key {
        Vec::from([n])
    }

    proptest! {
        #[test]
        fn reads_see_the_changes(
            stored in prop::collection::btree_map(0_u8..40, any::<u8>(), 0..30),
            changes in prop::collection::btree_map(0_u8..40, any::<Option<u8>>(), 0..20),
            from in 0_u8..40, to in 0_u8..41, limit in 0_usize..45, down: bool,
        ) {
            let mut memory = Memory::default();
            memory.apply(&stored.iter().map(|(n, v)| Change::Put(key(*n), Vec::from([*v]))).collect::<Vec<_>>());
            let change = |(n, v): (&u8, &Option<u8>)| match v {
                Some(v) => Change::Put(key(*n), Vec::from([*v])),
                None => Change::Delete(key(*n)),
            };
            let changes: Vec<Change> = changes.iter().map(change).collect();
            let mut layer = Layer::default();
            layer.apply(changes.clone());
            // The model gets the changes directly, not from the layer, whose losses it would otherwise share.
            let mut whole = memory.clone();
            whole.apply(&changes);
            let order = if down { Order::Descending } else { Order::Ascending };
            prop_assert_eq!(layer.scan(&memory, key(from)..key(to), order, limit), whole.scan(key(from)..key(to), order, limit));
            let keys: Vec<Key> = (0..40).map(key).collect();
            prop_assert_eq!(layer.get(&memory, &keys), whole.get(&keys));
            prop_assert_eq!((layer.len(), layer.is_empty()), (changes.len(), changes.is_empty()));
            prop_assert_eq!(layer.into_changes().collect::<Vec<_>>(), changes);
        }
    }
}
