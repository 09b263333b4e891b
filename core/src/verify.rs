//! Consistency check of a store: every row can be read, and every set and the sums of every campaign match the rows.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::account::profile::AccountFlags;
use crate::campaign::Sums;
use crate::collection::{Edit, Facet, update};
use crate::job::Task;
use crate::key::{self, Key, Kind, Space};
use crate::lead;
use crate::lead::tables::LeadStatus;
use crate::memory::Memory;
use crate::record::{Choice, Stored};
use crate::store::usage::Usage;
use crate::store::{Row, Tx};
use crate::view::{Order, Stop, View};

/// Rows read per scan.
const SLICE: usize = 1_024;
/// Faults that a report lists; later ones are dropped.
const FAULTS_MAX: usize = 20;

/// Result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Number of keys read.
    pub keys: u64,
    /// Number of resource rows read.
    pub rows: u64,
    /// The first faults found, at most 20; empty: the store is sound.
    pub faults: Vec<String>,
}

impl VerifyReport {
    fn fault(&mut self, text: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(text);
        }
    }
}

/// Reads the whole store, rebuilds every set, every ledger and the sums of campaigns from the rows, and compares.
pub fn verify(view: &dyn View) -> Result<VerifyReport, Stop> {
    let mut report = VerifyReport::default();
    let mut stored: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    let mut rebuilt = Memory::default();
    let mut usage = Usage::default();
    let mut leads = LeadCounts::default();
    let mut range = key::everything();
    let mut going = Going { view, known: BTreeMap::new(), erased: BTreeMap::new() };
    loop {
        let slice = view.scan(range.clone(), Order::Ascending, SLICE)?;
        let Some((last, _)) = slice.last() else { break };
        range.start = [last.as_slice(), &[0]].concat();
        report.keys += slice.len() as u64;
        let mut edits: BTreeMap<(Space, Kind), Vec<Edit>> = BTreeMap::new();
        for (at, value) in slice {
            if usage.add(&at, &value).is_err() {
                report.fault(format!("a ledger cannot be read: {at:02x?}"));
            }
            if (key::is_set(&at) || key::is_row(&at)) && going.is_erased(&at)? {
                report.rows += u64::from(key::is_row(&at));
            } else if key::is_set(&at) {
                stored.insert(at, value);
            } else if key::is_row(&at) {
                verify_row(&at, &value, &mut going, (&mut leads, &mut edits), &mut report)?;
            } else if key::read_dialer(&at).is_some() && !going.is_erased(&at)? {
                leads.hear(&at, &value);
            }
        }
        rebuild(&mut rebuilt, &edits)?;
    }
    compare(&stored, rebuilt.rows(), &mut report);
    leads.compare(&mut report);
    for (account, said, read) in usage.differing() {
        report.fault(format!("account {account} stores {read} bytes, and its ledger says {said}"));
    }
    Ok(report)
}

fn verify_row(
    at: &[u8],
    value: &[u8],
    going: &mut Going<'_>,
    (leads, edits): (&mut LeadCounts, &mut BTreeMap<(Space, Kind), Vec<Edit>>),
    report: &mut VerifyReport,
) -> Result<(), Stop> {
    report.rows += 1;
    let (Some(space), Some((kind, count))) = (key::space_of(at), key::read_row(at)) else {
        report.fault(format!("a row's key cannot be read: {at:02x?}"));
        return Ok(());
    };
    let Ok(row) = Row::from_bytes(value) else {
        report.fault(format!("{kind:?} {count} of {space:?} cannot be read"));
        return Ok(());
    };
    // A secondary contact is a lead in no list: only its primary lead refers to it.
    if kind == Kind::Lead && (row.facets.is_empty() || going.has(space, &row.facets)?) {
        return Ok(());
    }
    if kind == Kind::Lead {
        leads.count(space, &row);
    }
    let sets = core::iter::once(Facet::ALL).chain(row.facets);
    edits.entry((space, kind)).or_default().extend(sets.map(|facet| Edit { facet, id: count, present: true }));
    Ok(())
}

/// Deleted campaigns whose leads a job still removes: their sets are deleted at once, their rows in slices. And accounts
/// that are being deleted, sets before rows.
struct Going<'v> {
    view: &'v dyn View,
    known: BTreeMap<(Space, u32), bool>,
    erased: BTreeMap<u32, bool>,
}

impl Going<'_> {
    /// Returns whether a key belongs to an account that is being deleted.
    fn is_erased(&mut self, at: &[u8]) -> Result<bool, Stop> {
        let Some(Space::Account(number)) = key::space_of(at) else { return Ok(false) };
        if let Some(known) = self.erased.get(&number) {
            return Ok(*known);
        }
        let profile = self.view.get(&[key::profile(number)])?.into_iter().flatten().next();
        let erased = profile.is_some_and(|profile| AccountFlags::of(&profile).is_ok_and(|flags| flags.deleting));
        self.erased.insert(number, erased);
        Ok(erased)
    }

    /// Returns whether a lead with these facets belongs to such a campaign.
    fn has(&mut self, space: Space, facets: &[Facet]) -> Result<bool, Stop> {
        let Some(campaign) = lead::campaign_among(facets) else { return Ok(false) };
        if let Some(known) = self.known.get(&(space, campaign)) {
            return Ok(*known);
        }
        let task = key::job(space, &Task::DropLeads(campaign).to_bytes());
        let planned = self.view.get(&[task])?.into_iter().flatten().next().is_some();
        self.known.insert((space, campaign), planned);
        Ok(planned)
    }
}

/// Leads of campaigns by their state: as their rows say, and as the sums of their campaigns say.
#[derive(Default)]
struct LeadCounts {
    counted: BTreeMap<(Space, u32, &'static str), u32>,
    said: BTreeMap<(Space, u32), Option<Sums>>,
}

impl LeadCounts {
    fn count(&mut self, space: Space, row: &Row) {
        if let (Some(campaign), Ok(lead)) = (lead::campaign_among(&row.facets), lead::LeadRow::read(&row.public)) {
            *self.counted.entry((space, campaign, lead.status.word())).or_default() += 1;
        }
    }

    /// Takes the sums of a campaign; those of a release that kept none say nothing.
    fn hear(&mut self, at: &[u8], value: &[u8]) {
        if let (Some(space), Some(campaign)) = (key::space_of(at), key::read_dialer(at)) {
            match Sums::stored(value) {
                Some(Ok(sums)) => self.said.insert((space, campaign), Some(sums)),
                Some(Err(_)) => self.said.insert((space, campaign), None),
                None => return,
            };
        }
    }

    fn compare(&self, report: &mut VerifyReport) {
        for ((space, campaign), said) in &self.said {
            let Some(said) = said else {
                report.fault(format!("the sums of campaign {campaign} of {space:?} cannot be read"));
                continue;
            };
            for status in LeadStatus::ALL {
                let (word, sum) = (status.word(), said.of_status(*status));
                let counted = self.counted.get(&(*space, *campaign, word)).copied().unwrap_or(0);
                if sum != counted {
                    report.fault(format!(
                        "campaign {campaign} of {space:?} has {counted} leads {word}, and its sums say {sum}"
                    ));
                }
            }
        }
    }
}

fn rebuild(rebuilt: &mut Memory, edits: &BTreeMap<(Space, Kind), Vec<Edit>>) -> Result<(), Stop> {
    let tx = Tx::new(rebuilt);
    for ((space, kind), edits) in edits {
        update(tx.scope(*space), *kind, edits)?;
    }
    let changes = tx.changes();
    rebuilt.apply(&changes);
    Ok(())
}

fn compare(stored: &BTreeMap<Key, Vec<u8>>, rebuilt: &BTreeMap<Key, Vec<u8>>, report: &mut VerifyReport) {
    for (at, value) in stored {
        match rebuilt.get(at) {
            Some(want) if want == value => {}
            Some(_) => report.fault(format!("a set differs from its rows: {at:02x?}")),
            None => report.fault(format!("a set has no rows: {at:02x?}")),
        }
    }
    for at in rebuilt.keys().filter(|at| !stored.contains_key(*at)) {
        report.fault(format!("rows are in no set: {at:02x?}"));
    }
}
