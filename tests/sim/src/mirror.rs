//! [`Mirror`]: every row that the claims need, maintained outside the store from the changes of each commit.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_core::call::lease::Lease;
use switchboard_core::key::{self, Key, Kind, Space, Topic};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::webhook::tables::DeliveryStatus;

use crate::facts::{
    Assistant, Call, Campaign, Conversation, Delivery, Event, Fact, Lead, Message, Suppressed, balance,
};

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
    /// Conversations that were begun, changed or deleted.
    pub conversations: Vec<Turned<Conversation>>,
    /// New messages, each with its conversation and its place there, from 1.
    pub messages: Vec<(At, usize, Message)>,
    /// New events of calls, each with its call and its place there, from 1.
    pub call_events: Vec<(At, u32, serde_json::Value)>,
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
        self.conversations.iter().for_each(|turned| println!("{at}   conversation {:?} {:?}", turned.at, turned.after));
        self.messages.iter().for_each(|(of, _, message)| println!("{at}   message {of:?} {message:?}"));
        self.deliveries.iter().for_each(|turned| println!("{at}   delivery {:?} {:?}", turned.at, turned.after));
    }
}

/// The rows of every account after the last commit.
#[derive(Debug, Default)]
pub struct Mirror {
    /// Calls, without deleted ones.
    pub calls: BTreeMap<At, Call>,
    /// End of the last lease of each call, whether it has run out or not.
    pub leases: BTreeMap<At, Timestamp>,
    /// Leads and secondary contacts.
    pub leads: BTreeMap<At, Lead>,
    /// Campaigns, without deleted ones.
    pub campaigns: BTreeMap<At, Campaign>,
    /// Webhook deliveries, without deleted ones.
    pub deliveries: BTreeMap<At, Delivery>,
    /// Conversations, without deleted ones.
    pub conversations: BTreeMap<At, Conversation>,
    /// What was said in them, oldest first.
    pub said: BTreeMap<At, Vec<Message>>,
    /// Balances, millionths of a US dollar; `None` while unmetered.
    pub balances: BTreeMap<u32, Option<i64>>,
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
    /// Calls, deliveries and conversations with work still to be done.
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

/// Parses an event of a call; those of a deleted call are deleted with it.
fn call_event(account: u32, at: &Key, value: Option<&Vec<u8>>, diff: &mut Diff) -> Result<(), String> {
    let (Some(bytes), Some((call, seq))) = (value, key::read_call_event(at)) else { return Ok(()) };
    let event = serde_json::from_slice(bytes).map_err(|error| format!("an event of a call cannot be read: {error}"))?;
    diff.call_events.push(((account, call), seq, event));
    Ok(())
}

fn set<T: Ord>(set: &mut BTreeSet<T>, at: T, present: bool) {
    if present {
        set.insert(at);
    } else {
        set.remove(&at);
    }
}

/// Parses the key of a message: the count of its conversation, and its place there, from 1.
pub fn place_of(account: u32, at: &Key) -> Option<(u32, u32)> {
    let (_, tail) = at.split_at_checked(at.len().checked_sub(8)?)?;
    let (count, place) = tail.split_at(4);
    let (count, place) = (u32::from_be_bytes(count.try_into().ok()?), u32::from_be_bytes(place.try_into().ok()?));
    (key::part(Space::Account(account), Kind::Conversation, count, place) == *at).then_some((count, place))
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
            if let (Some(at), Some(lease)) = (key::read_lease(at), value.and_then(|bytes| Lease::read(bytes))) {
                self.leases.insert(at, lease.until);
            }
            let Some(Space::Account(account)) = key::space_of(at) else { continue };
            if let Some(Topic::Call(..)) = key::topic_of(at) {
                call_event(account, at, value, &mut diff)?;
                continue;
            }
            match key::read_row(at) {
                Some((kind, count)) => self.row((account, count), kind, value, &mut diff)?,
                None if key::topic_of(at) == Some(Topic::Feed(account)) => self.event(account, at, value, &mut diff)?,
                None if *at == key::profile(account) => {
                    let read = value.map(|bytes| balance(bytes).ok_or("a profile cannot be read")).transpose()?;
                    self.balances.insert(account, read.flatten());
                }
                None => self.message(account, at, value, &mut diff)?,
            }
        }
        // The messages of a deleted conversation are deleted afterwards, in slices.
        for turned in diff.conversations.iter().filter(|turned| turned.after.is_none()) {
            self.said.remove(&turned.at);
        }
        Ok(diff)
    }

    fn message(&mut self, account: u32, at: &Key, value: Option<&Vec<u8>>, diff: &mut Diff) -> Result<(), String> {
        let (Some((count, place)), Some(bytes)) = (place_of(account, at), value) else { return Ok(()) };
        let message = Message::of(bytes).ok_or("a message cannot be read")?;
        let said = self.said.entry((account, count)).or_default();
        said.push(message.clone());
        let place = place as usize;
        if said.len() != place {
            return Err(format!("what was said stays, and more comes behind it: {count} of {account}, {place}"));
        }
        diff.messages.push(((account, count), place, message));
        Ok(())
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
            Kind::Conversation => {
                let turned = turn(&mut self.conversations, at, value)?;
                let goes_on = |row: &Conversation| row.ended_at.is_none();
                set(&mut self.open, (kind, at), turned.after.as_ref().is_some_and(goes_on));
                diff.conversations.push(turned);
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

    /// Returns whether a message waits for an answer that can be given.
    pub fn is_unanswered(&self, at: At) -> bool {
        let last = self.said.get(&at).and_then(|said| said.last());
        let Some(row) = self.conversations.get(&at).filter(|row| row.ai_enabled) else { return false };
        last.is_some_and(Message::is_users) && self.assistants.contains_key(&(at.0, row.assistant))
    }

    /// Finds a conversation by its UUID.
    pub fn conversation(&self, uuid: &str) -> Option<At> {
        self.conversations.iter().find(|(_, row)| row.uuid == uuid).map(|(at, _)| *at)
    }

    /// Returns whether a call is waiting for an engine.
    pub fn is_awaited(&self) -> bool {
        self.running.iter().filter_map(|at| self.calls.get(at)).any(|call| call.engine.is_none())
    }
}
