//! The nodes of the service, as the operator sees them.

use std::collections::BTreeMap;

use switchboard_core::admin::DrainOrder;
use switchboard_core::admin::tables::{NodeLane, NodeState, ShownNode};
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::reply::{Reply, data};
use switchboard_core::record::Iso;
use switchboard_core::service::Service;
use switchboard_core::time::Timestamp;
use uuid::Uuid;

use crate::host::Host;
use crate::store::{LaneId, StoreNode, StoreNodes};

/// Id of a process that serves all accounts, and of what it serves.
const ALONE: LaneId = [0; 16];

/// Answers with all nodes.
pub async fn listed(host: &Host, target: &str, reply: Reply) -> Reply {
    let shown = match host.store.nodes() {
        Some(nodes) => several(host, &nodes).await,
        None => alone(host).await.map(|own| vec![own]),
    };
    shown.map_or_else(|refusal| refusal.reply_to(target), |shown| Reply::ok(&data(&shown))).with_headers(reply.headers)
}

/// Has a node give its accounts to the others.
pub async fn drained(host: &Host, target: &str, id: LaneId, reply: Reply) -> Reply {
    let ordered = match host.store.nodes() {
        Some(nodes) => nodes.drain(&id).await,
        None if id == ALONE => Ok(DrainOrder::OnlyOne),
        None => Ok(DrainOrder::Missing),
    };
    let answer = ordered.map_or_else(|error| unavailable(&error).reply_to(target), |ordered| ordered.reply_to(target));
    answer.with_headers(reply.headers)
}

async fn alone(host: &Host) -> Result<ShownNode, Refusal> {
    let accounts = host.accounts().await.map_err(|failure| unavailable(&failure))?.len() as u64;
    let id = Uuid::from_bytes(ALONE).to_string();
    Ok(ShownNode {
        lanes: vec![NodeLane { id: id.clone(), seq: None, accounts }],
        id,
        address: None,
        release: Some(Service::version()),
        state: NodeState::Serving,
        load: None,
        seen_at: Some(Iso(host.clock.now())),
    })
}

async fn several(host: &Host, nodes: &StoreNodes) -> Result<Vec<ShownNode>, Refusal> {
    let all = nodes.all().await.map_err(|error| unavailable(&error))?;
    let accounts = host.accounts().await.map_err(|failure| unavailable(&failure))?;
    let mut by_lane = BTreeMap::new();
    for account in accounts {
        if let Some(lane) = all.map.of_account(account) {
            *by_lane.entry(lane.id).or_default() += 1;
        }
    }
    Ok(all.nodes.into_iter().map(|node| shown(node, &by_lane)).collect())
}

fn shown(node: StoreNode, accounts: &BTreeMap<LaneId, u64>) -> ShownNode {
    let text = |id| Uuid::from_bytes(id).to_string();
    let lane = |(id, seq): &(LaneId, i64)| NodeLane {
        id: text(*id),
        seq: u64::try_from(*seq).ok(),
        accounts: accounts.get(id).copied().unwrap_or_default(),
    };
    let state = match &node.shown {
        Some(sign) if sign.is_gone => NodeState::Gone,
        Some(sign) if !sign.is_draining => NodeState::Serving,
        _ => NodeState::Draining,
    };
    let sign = node.shown.as_ref();
    #[expect(clippy::cast_precision_loss, reason = "a node has few lanes")]
    let lanes = node.lanes.len().max(1) as f64;
    ShownNode {
        id: text(node.id),
        address: node.address,
        release: sign.map(|sign| sign.release.clone()),
        state,
        lanes: node.lanes.iter().map(lane).collect(),
        load: sign.map(|sign| (sign.load / lanes).clamp(0.0, 1.0)),
        seen_at: sign.map(|sign| Iso(Timestamp::from_micros(sign.seen))),
    }
}

fn unavailable(why: &dyn std::fmt::Debug) -> Refusal {
    tracing::warn!(?why, "the nodes cannot be looked at");
    Refusal::Unavailable
}
