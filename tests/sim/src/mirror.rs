//! [`Mirror`]: every row that the claims need, maintained outside the store from the changes of each commit.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_core::key::{self, Key, Kind, Space, Topic};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::webhook::tables::DeliveryStatus;

use crate::facts::{Assistant, Call, Campaign, Delivery, Event, Fact, Lead, Suppressed};

/// Address of a row: its account and its count there.
pub type At = (u32, u32);

/// A row that a commit changed.
#[derive(Clone, Debug)]
pub struct Turned<F> {
    /// Address of the row.
    pub at: At,
    /// Content before; `None` for a new row.
    pub before: Option<F>,
    /// Content after; `None` for a deleted row.
    pub after: Option<F>,
}

/// The changes of a commit.
#[derive(Debug, Default)]
pub struct Diff {
    /// Calls that were created, changed or deleted.
    pub calls: Vec<Turned<Call>>,
    /// Changed leads and secondary contacts.
    pub leads: Vec<Turned<Lead>>,
    /// Campaigns that were created, changed or deleted.
    pub campaigns: Vec<Turned<Campaign>>,
    /// Webhook deliveries that were created, changed or deleted.
    pub deliveries: Vec<Turned<Delivery>>,
    /// New events, each with its account.
    pub events: Vec<(u32, Event)>,
    /// Events removed from the feed.
    pub forgotten: Vec<At>,
}

impl Diff {
    /// Prints the changes with the virtual time, a line each.
    pub fn tell(&self, now: Timestamp) {
        let at = now.iso();
        self.calls.iter().for_each(|turned| println!("{at}   call {:?} {:?}", turned.at, turned.after));
        self.leads.iter().for_each(|turned| println!("{at}   lead {:?} {:?}", turned.at, turned.after));
        self.campaigns.iter().for_each(|turned| println!("{at}   campaign {:?} {:?}", turned.at, turned.after));
        self.deliveries.iter().for_each(|turned| println!("{at}   delivery {:?} {:?}", turned.at, turned.after));
    }
}

/// The rows of every account after the last commit.
#[derive(Debug, Default)]
pub struct Mirror {
    /// Calls, without deleted ones.
    pub calls: BTreeMap<At, Call>,
    /// Leads and secondary contacts.
    pub leads: BTreeMap<At, Lead>,
    /// Campaigns, without deleted ones.
    pub campaigns: BTreeMap<At, Campaign>,
    /// Webhook deliveries, without deleted ones.
    pub deliveries: BTreeMap<At, Delivery>,
    /// Assistants, without deleted ones.
    pub assistants: BTreeMap<At, Assistant>,
    /// Deleted assistants, as they were last.
    pub gone: BTreeMap<At, Assistant>,
    /// Numbers on suppression lists.
    pub suppressed: BTreeMap<At, Suppressed>,
    /// Ids of the events in the feeds, by account and sequence number.
    pub events: BTreeMap<At, String>,
    /// Ids of the events whose call or lead was deleted.
    pub emptied: BTreeSet<String>,
    /// Phone numbers of the accounts.
    pub numbers: BTreeSet<At>,
    /// Calls that are not over.
    pub running: BTreeSet<At>,
    /// Calls and deliveries with work still to be done.
    pub open: BTreeSet<(Kind, At)>,
}

fn turn<F: Fact>(rows: &mut BTreeMap<At, F>, at: At, value: Option<&Vec<u8>>) -> Result<Turned<F>, String> {
    let after = match value {
        Some(bytes) => Some(F::of(bytes).ok_or_else(|| format!("a row cannot be read: {at:?}"))?),
        None => None,
    };
    let before = match &after {
        Some(after) => rows.insert(at, after.clone()),
        None => rows.remove(&at),
    };
    Ok(Turned { at, before, after })
}

fn set<T: Ord>(set: &mut BTreeSet<T>, at: T, present: bool) {
    if present {
        set.insert(at);
    } else {
        set.remove(&at);
    }
}

impl Mirror {
    /// Applies the changes of a commit; returns them parsed.
    pub fn follow(&mut self, changes: &[Change]) -> Result<Diff, String> {
        let mut diff = Diff::default();
        for change in changes {
            let (at, value) = match change {
                Change::Put(at, value) => (at, Some(value)),
                Change::Delete(at) => (at, None),
            };
            let Some(Space::Account(account)) = key::space_of(at) else { continue };
            match key::read_row(at) {
                Some((kind, count)) => self.row((account, count), kind, value, &mut diff)?,
                None if key::topic_of(at) == Some(Topic::Feed(account)) => self.event(account, at, value, &mut diff)?,
                None => {}
            }
        }
        Ok(diff)
    }

    fn row(&mut self, at: At, kind: Kind, value: Option<&Vec<u8>>, diff: &mut Diff) -> Result<(), String> {
        match kind {
            Kind::Call => {
                let turned = turn(&mut self.calls, at, value)?;
                let after = turned.after.as_ref();
                set(&mut self.running, at, after.is_some_and(|call| call.status.is_running()));
                set(&mut self.open, (kind, at), after.is_some_and(|call| !call.is_finished()));
                diff.calls.push(turned);
            }
            Kind::Lead => diff.leads.push(turn(&mut self.leads, at, value)?),
            Kind::Campaign => diff.campaigns.push(turn(&mut self.campaigns, at, value)?),
            Kind::Delivery => {
                let turned = turn(&mut self.deliveries, at, value)?;
                let pending = |row: &Delivery| row.status == DeliveryStatus::Pending;
                set(&mut self.open, (kind, at), turned.after.as_ref().is_some_and(pending));
                diff.deliveries.push(turned);
            }
            Kind::DoNotCall => drop(turn(&mut self.suppressed, at, value)?),
            Kind::Assistant => {
                let Turned { before, after, .. } = turn(&mut self.assistants, at, value)?;
                if let (Some(before), None) = (before, after) {
                    self.gone.insert(at, before);
                }
            }
            Kind::Number => set(&mut self.numbers, at, value.is_some()),
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self, account: u32, at: &Key, value: Option<&Vec<u8>>, diff: &mut Diff) -> Result<(), String> {
        let place = (account, key::read_event(at).ok_or("an event's key cannot be read")?);
        let Some(bytes) = value else {
            self.events.remove(&place).map(|id| self.emptied.remove(&id));
            diff.forgotten.push(place);
            return Ok(());
        };
        let event: Event =
            serde_json::from_slice(bytes).map_err(|error| format!("an event cannot be read: {error}"))?;
        let is_empty = event.payload == serde_json::json!({ "deleted": true });
        if is_empty {
            self.emptied.insert(event.id.clone());
        }
        match self.events.insert(place, event.id.clone()) {
            None => diff.events.push((account, event)),
            Some(id) if id == event.id && is_empty => {}
            Some(id) => return Err(format!("an event is only ever emptied: {place:?} {id}")),
        }
        Ok(())
    }

    /// Returns an assistant, deleted or not.
    pub fn assistant(&self, at: At) -> Option<&Assistant> {
        self.assistants.get(&at).or_else(|| self.gone.get(&at))
    }

    /// Returns the lead that a lead or secondary contact belongs to.
    pub fn main_of(&self, at: At) -> Option<At> {
        let lead = self.leads.get(&at)?;
        Some(lead.parent.map_or(at, |parent| (at.0, parent)))
    }

    /// Returns whether a number is on an account's suppression list.
    pub fn is_suppressed(&self, account: u32, phone: &str) -> bool {
        self.suppressed.range((account, 0)..=(account, u32::MAX)).any(|(_, row)| row.phone_number == phone)
    }

    /// Returns whether a call is waiting for an engine.
    pub fn is_awaited(&self) -> bool {
        self.running.iter().filter_map(|at| self.calls.get(at)).any(|call| call.engine.is_none())
    }
}
