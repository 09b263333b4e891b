//! What metrics show of the store: calls, engines, campaigns and queues of all accounts, counted when they are asked for.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::call::tables::CallStatus;
use crate::call::{CallRow, facet_of_engaged, facet_of_status};
use crate::campaign::tables::{Campaign, CampaignStatus};
use crate::collection::{Facet, count, ids};
use crate::job::{JobQueue, queues};
use crate::key::{Kind, Space};
use crate::limits::PLAN_ROWS_MAX;
use crate::record::Choice;
use crate::root;
use crate::store::{Row, Scope, Tx};
use crate::view::{Stop, View};
use crate::webhook;

/// Accounts that are counted.
const ACCOUNTS_MAX: usize = 10_000;
/// Accounts whose ids are listed.
const IDS_MAX: usize = 1_000_000;

/// Counts over all accounts: of installations with more than 10,000, over the first of them.
#[derive(Clone, Debug, Default)]
pub struct StoreFigures {
    /// Stored calls by status; every status is listed.
    pub calls: Vec<(&'static str, u64)>,
    /// Calls that engines have, by the id of the engine's token; 0 is the built-in engine.
    pub engine_calls: BTreeMap<u32, u64>,
    /// Campaigns that call.
    pub campaigns_running: u64,
    /// Webhook deliveries that are not at their end.
    pub deliveries_waiting: u64,
    /// Jobs by kind.
    pub queues: Vec<JobQueue>,
}

impl StoreFigures {
    /// Adds what another writer's accounts hold.
    pub fn add(&mut self, other: &Self) {
        for (status, count) in &other.calls {
            match self.calls.iter_mut().find(|(own, _)| own == status) {
                Some((_, own)) => *own += count,
                None => self.calls.push((*status, *count)),
            }
        }
        for (engine, calls) in &other.engine_calls {
            *self.engine_calls.entry(*engine).or_default() += calls;
        }
        self.campaigns_running += other.campaigns_running;
        self.deliveries_waiting += other.deliveries_waiting;
        for queue in &other.queues {
            match self.queues.iter_mut().find(|own| own.name == queue.name) {
                Some(own) => {
                    own.waiting = own.waiting.saturating_add(queue.waiting);
                    own.running = own.running.saturating_add(queue.running);
                }
                None => self.queues.push(queue.clone()),
            }
        }
    }
}

/// Returns the ids of all accounts, of more than a million the first.
pub fn accounts(view: &dyn View) -> Result<Vec<u32>, Stop> {
    Ok(accounts_of(Tx::new(view).scope(Space::Root), IDS_MAX)?.collect())
}

fn accounts_of(root: Scope<'_>, most: usize) -> Result<impl Iterator<Item = u32> + use<>, Stop> {
    Ok(ids(root, Kind::Account, &Facet::ALL, most)?.into_iter().map(|count| count - 1))
}

/// Counts what a writer's accounts hold; each account has a budget of reads of its own.
pub fn figures(view: &dyn View) -> Result<StoreFigures, Stop> {
    let tx = Tx::new(view);
    let root = tx.scope(Space::Root);
    let mut found = StoreFigures { queues: queues(root)?, ..StoreFigures::default() };
    found.calls = CallStatus::ALL.iter().map(|status| (status.word(), 0)).collect();
    for account in accounts_of(root, ACCOUNTS_MAX)?.filter(|account| view.owns(*account)) {
        let tx = Tx::new(view);
        add(&mut found, root::space_of(tx.scope(Space::Root), account))?;
    }
    Ok(found)
}

fn add(found: &mut StoreFigures, account: Scope<'_>) -> Result<(), Stop> {
    for (status, (_, calls)) in CallStatus::ALL.iter().zip(&mut found.calls) {
        *calls += count(account, Kind::Call, &facet_of_status(*status))?;
    }
    for call in ids(account, Kind::Call, &facet_of_engaged(), PLAN_ROWS_MAX)? {
        if let Some(engine) = CallRow::find(account, call)?.and_then(|call| call.live.engine) {
            *found.engine_calls.entry(engine).or_default() += 1;
        }
    }
    let campaigns = ids(account, Kind::Campaign, &Facet::ALL, PLAN_ROWS_MAX)?;
    account.each_row(Kind::Campaign, &campaigns, |_, row| {
        let status = Campaign::MEMBERS.status.read(Row::public_of(row)?)?;
        found.campaigns_running += u64::from(status == CampaignStatus::InProgress);
        Ok(())
    })?;
    found.deliveries_waiting += webhook::waiting(account)?;
    Ok(())
}
