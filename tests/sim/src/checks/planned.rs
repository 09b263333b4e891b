//! At the end, all planned work is still needed: no orphaned tasks, no retry of a finished lead, no number in an index
//! that leads to a deleted lead.

use std::collections::BTreeSet;

use switchboard_core::job::{Lane, Task};
use switchboard_core::key::{self, Key, Space};
use switchboard_core::view::{Order, View};

use super::{Held, holds};
use crate::mirror::Mirror;
use crate::world::World;

/// Most rows of a kind that are read.
const ROWS_MAX: usize = 100_000;

fn scan(store: &dyn View, range: std::ops::Range<Key>) -> Result<Vec<Key>, String> {
    let rows = store.scan(range, Order::Ascending, ROWS_MAX).map_err(|stop| format!("a store is read: {stop:?}"))?;
    Ok(rows.into_iter().map(|(at, _)| at).collect())
}

/// Checks what is planned in an account.
pub fn judge(world: &World, account: u32) -> Held {
    let space = Space::Account(account);
    holds!(scan(&world.store, key::waiting_from(0))?.is_empty(), "no call waits that is over");
    for lane in Lane::ALL {
        for at in scan(&world.store, key::dues(space, lane as u8))? {
            let task = key::read_due(&at).and_then(|(_, task)| Task::from_bytes(task));
            // A campaign that was stopped by its hours checks once more when they open.
            let swept = |task: &Task| {
                matches!(task, Task::SweepEvents | Task::SweepIdempotency | Task::DropParts(..) | Task::Dial(_))
            };
            holds!(task.as_ref().is_some_and(swept), "no work is left that nobody waits for: {task:?} of {account}");
        }
    }
    for (_, campaign) in world.mirror.campaigns.keys().filter(|at| at.0 == account) {
        leads_of(world, account, *campaign)?;
    }
    Ok(())
}

fn leads_of(world: &World, account: u32, campaign: u32) -> Held {
    let space = Space::Account(account);
    let retried = scan(&world.store, key::retries(space, campaign))?;
    let retried: BTreeSet<_> = retried.iter().filter_map(|at| key::read_retry(at)).collect();
    let wanted: BTreeSet<_> =
        leads(&world.mirror, account, campaign).filter_map(|(count, lead)| Some((lead.due?, count))).collect();
    holds!(retried == wanted, "what is planned for a lead is in its row: {retried:?}, not {wanted:?}");
    let named: BTreeSet<Key> = scan(&world.store, key::lead_phones_of(space, campaign))?.into_iter().collect();
    let wanted: BTreeSet<Key> = leads(&world.mirror, account, campaign)
        .map(|(count, lead)| key::lead_phone(space, campaign, &lead.phone, count))
        .collect();
    holds!(named == wanted, "every number of a campaign leads to its lead: {} of {}", named.len(), wanted.len());
    Ok(())
}

fn leads(mirror: &Mirror, account: u32, campaign: u32) -> impl Iterator<Item = (u32, &crate::facts::Lead)> {
    let own = mirror.leads.iter().filter(move |(at, lead)| at.0 == account && lead.campaign == campaign);
    own.map(|(at, lead)| (at.1, lead))
}
