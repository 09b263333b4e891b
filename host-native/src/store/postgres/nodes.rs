//! [`StoreNodes`]: the nodes of a store, for who looks after them.

use std::collections::BTreeMap;

use switchboard_core::admin::DrainOrder;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row};

use super::cluster::SILENCE;
use super::fence::Id;
use super::link::{self, DatabaseLink, id_in};
use super::lookout::{LANES, SLOTS, living, mapped};
use super::map::SlotMap;
use super::target::DatabaseTarget;
use crate::store::StoreError;

const WHAT: &str = "the nodes cannot be looked at";
/// Processes that have shown themselves, and whether each is silent.
const NODES: &str = "SELECT id, address, release, is_draining, load, \
    (extract(epoch FROM seen) * 1000000)::bigint, seen < now() - make_interval(secs => $1) FROM node ORDER BY id";
/// Drains are ordered one after the other: of two nodes one stays.
const ONE: &str = "SELECT pg_advisory_xact_lock(hashtext('switchboard'))";
const IS_THERE: &str = "SELECT 1 FROM node WHERE id = $1 AND seen >= now() - make_interval(secs => $2)";
const DRAINED: &str = "UPDATE node SET is_draining = true WHERE id = $1 AND EXISTS (SELECT 1 FROM node WHERE id <> $1 \
    AND NOT is_draining AND seen >= now() - make_interval(secs => $2))";

/// The nodes of a store.
#[derive(Clone)]
pub struct StoreNodes {
    target: DatabaseTarget,
}

/// How the accounts are shared out.
pub struct SharedOut {
    /// All nodes, sorted by their ids.
    pub nodes: Vec<StoreNode>,
    /// Which lane has which accounts.
    pub map: SlotMap,
}

/// A process that serves a store, or did so lately.
pub struct StoreNode {
    /// Its id.
    pub id: Id,
    /// Where others reach it, HOST:PORT, if they do.
    pub address: Option<String>,
    /// How it has shown itself; `None` of one that stops.
    pub shown: Option<NodeSign>,
    /// Its lanes: their ids, and the number of the last commit of each.
    pub lanes: Vec<(Id, i64)>,
}

/// How a node has shown itself.
pub struct NodeSign {
    /// Its release.
    pub release: String,
    /// Whether it gives its accounts to others.
    pub is_draining: bool,
    /// Whether it was silent since, for so long that others take its accounts.
    pub is_gone: bool,
    /// Part of the time in which a lane of it had a commit under way, summed over its lanes.
    pub load: f64,
    /// When it did, microseconds since 1970.
    pub seen: u64,
}

impl StoreNodes {
    pub(super) fn of(target: DatabaseTarget) -> Self {
        Self { target }
    }

    /// Looks at all nodes.
    pub async fn all(&self) -> Result<SharedOut, StoreError> {
        let link = self.link().await?;
        let silence = SILENCE.as_secs_f64();
        let asked = [&silence as &(dyn ToSql + Sync)];
        let read = tokio::try_join!(
            link.client.query(NODES, &asked),
            link.client.query(LANES, &[]),
            link.client.query(SLOTS, &[])
        );
        let (nodes, lanes, slots) = read.map_err(unread)?;
        let shown = nodes.iter().filter_map(|row| {
            let address = Some(row.get::<_, String>(1)).filter(|address| !address.is_empty());
            Some(StoreNode { id: id_in(row, 0)?, address, shown: Some(NodeSign::of(row)), lanes: Vec::new() })
        });
        let mut found: BTreeMap<_, _> = shown.map(|node| (node.id, node)).collect();
        let lanes: Vec<_> = lanes.iter().filter_map(living).collect();
        let map = mapped(lanes.iter(), &slots);
        for lane in lanes {
            // One that stops has taken its row away, and still has what it is about to give up.
            let stops = || StoreNode { id: lane.node, address: lane.address, shown: None, lanes: Vec::new() };
            found.entry(lane.node).or_insert_with(stops).lanes.push((lane.id, lane.seq));
        }
        Ok(SharedOut { nodes: found.into_values().collect(), map })
    }

    /// Has a node give its accounts to the others.
    pub async fn drain(&self, id: &Id) -> Result<DrainOrder, StoreError> {
        drained(&mut self.link().await?.client, id).await.map_err(unread)
    }

    async fn link(&self) -> Result<DatabaseLink, StoreError> {
        DatabaseLink::to(&self.target).await.map_err(|error| error.of(WHAT))
    }
}

async fn drained(client: &mut Client, id: &Id) -> Result<DrainOrder, Error> {
    let (id, silence) = (id.as_slice(), SILENCE.as_secs_f64());
    let transaction = client.transaction().await?;
    transaction.execute(ONE, &[]).await?;
    let is_there = transaction.query_opt(IS_THERE, &[&id, &silence]).await?.is_some();
    let is_drained = is_there && transaction.execute(DRAINED, &[&id, &silence]).await? > 0;
    transaction.commit().await?;
    Ok(match (is_there, is_drained) {
        (false, _) => DrainOrder::Missing,
        (true, false) => DrainOrder::OnlyOne,
        (true, true) => DrainOrder::Begun,
    })
}

impl NodeSign {
    fn of(row: &Row) -> Self {
        Self {
            release: row.get(2),
            is_draining: row.get(3),
            load: row.get(4),
            seen: u64::try_from(row.get::<_, i64>(5)).unwrap_or_default(),
            is_gone: row.get(6),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped over errors")]
fn unread(error: Error) -> StoreError {
    link::refused(WHAT, &error)
}
