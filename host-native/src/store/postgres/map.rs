//! [`SlotMap`]: which lane has the rows of which accounts, and where it is.

use std::sync::Arc;

use super::fence::Id;
use super::place::{self, SLOTS};

/// Which lane has the rows of which accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotMap {
    lanes: Vec<MappedLane>,
    /// For each slot the place of its lane among them.
    slots: Vec<Option<u16>>,
}

/// A lane, as the nodes see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedLane {
    /// Its id.
    pub id: Id,
    /// The node that has it.
    pub node: Id,
    /// Where that one is reached, HOST:PORT, if it is.
    pub address: Option<Arc<str>>,
}

impl Default for SlotMap {
    /// Nobody has any slot.
    fn default() -> Self {
        Self::of(Vec::new(), [])
    }
}

impl SlotMap {
    /// Maps slots to lanes by their ids; those of other lanes are nobody's.
    pub(super) fn of(lanes: Vec<MappedLane>, slots: impl IntoIterator<Item = (u16, Id)>) -> Self {
        let mut mapped = vec![None; usize::from(SLOTS)];
        for (slot, id) in slots {
            let at = lanes.iter().position(|lane| lane.id == id).and_then(|at| u16::try_from(at).ok());
            if let Some(slot) = mapped.get_mut(usize::from(slot)) {
                *slot = at;
            }
        }
        Self { lanes, slots: mapped }
    }

    /// Returns the lane that has the rows of an account; `None` while nobody does.
    pub fn of_account(&self, account: u32) -> Option<&MappedLane> {
        let slot = usize::from(place::slot_of_account(account));
        self.lanes.get(usize::from((*self.slots.get(slot)?)?))
    }

    /// Returns all lanes.
    pub fn lanes(&self) -> &[MappedLane] {
        &self.lanes
    }

    /// Returns the number of slots of a lane.
    pub fn slots_of(&self, id: &Id) -> usize {
        let at = self.lanes.iter().position(|lane| lane.id == *id).and_then(|at| u16::try_from(at).ok());
        at.map_or(0, |at| self.slots.iter().filter(|slot| **slot == Some(at)).count())
    }

    /// Returns the number of slots that no lane has.
    pub fn free(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_none()).count()
    }
}
