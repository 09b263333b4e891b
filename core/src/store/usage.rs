//! How much accounts store, counted by reading every row.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::ledger::StoredBytes;
use super::{Change, Ledger};
use crate::key::{self, Key, Space};
use crate::view::{Order, Stop, View};

/// Rows read by one scan.
const SLICE: usize = 1_024;

/// Count of the rows of a store read so far.
#[derive(Debug, Default)]
pub struct Usage {
    bytes: BTreeMap<u32, u64>,
    ledgers: BTreeMap<Key, Ledger>,
}

impl Usage {
    /// Adds a row, of any space and table.
    pub fn add(&mut self, at: &[u8], value: &[u8]) -> Result<(), Stop> {
        if let Some(account) = key::content_of(at) {
            *self.bytes.entry(account).or_default() += (at.len() + value.len()) as u64;
        } else if key::is_ledger(at) {
            self.ledgers.insert(at.to_vec(), Ledger::from_bytes(value)?);
        }
        Ok(())
    }

    /// Returns the accounts whose ledger differs from what was read: account, bytes in the ledger, bytes read.
    pub fn differing(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        self.ledgers.iter().filter_map(|(at, ledger)| {
            let Some(Space::Account(account)) = key::space_of(at) else { return None };
            let (said, read) = (ledger.stored()?.bytes, self.bytes.get(&account).copied().unwrap_or(0));
            (said != read).then_some((account, said, read))
        })
    }
}

/// Counts a store written before bytes were counted: returns the changes that record the counts in the ledgers, none
/// where that is done. All of them belong in one commit.
pub fn count(view: &dyn View) -> Result<Vec<Change>, Stop> {
    let root = view.get(&[key::ledger(Space::Root)])?.into_iter().flatten().next();
    let Some(root) = root else { return Ok(Vec::new()) };
    if Ledger::from_bytes(&root)?.stored().is_some() {
        return Ok(Vec::new());
    }
    let (mut usage, mut range) = (Usage::default(), key::everything());
    loop {
        let slice = view.scan(range.clone(), Order::Ascending, SLICE)?;
        let Some((last, _)) = slice.last() else { break };
        range.start = [last.as_slice(), &[0]].concat();
        slice.iter().try_for_each(|(at, value)| usage.add(at, value))?;
    }
    let Usage { bytes, ledgers } = usage;
    Ok(ledgers
        .into_iter()
        .map(|(at, mut ledger)| {
            let account = if let Some(Space::Account(account)) = key::space_of(&at) { Some(account) } else { None };
            let bytes = account.and_then(|account| bytes.get(&account).copied()).unwrap_or(0);
            ledger.set_stored(StoredBytes { bytes, allowed: 0 });
            Change::Put(at, ledger.to_bytes())
        })
        .collect())
}
