//! How a node comes to own rows, shows that it lives, and gives them up.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use switchboard_core::key;
use switchboard_core::view::{Found, Order, Read, Scan};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_postgres::{Client, Error};

use super::fence::{Fence, Id, draw};
use super::link::{DatabaseLink, told};
use super::load::Loader;
use super::rows::KnownRows;
use super::target::DatabaseTarget;
use super::{LEASE, Lane, Lease, Node, Rows, load, schema};
use crate::store::StoreError;

/// How long another node must not have been heard of before its rows are taken: longer than it may answer without being
/// heard of, even if its clock runs slower by half.
const SILENCE: Duration = Duration::from_secs(7);
/// How often a node shows that it lives.
const BEAT: Duration = Duration::from_secs(1);
/// How often others are looked at while their silence is waited for.
const LOOK: Duration = Duration::from_millis(250);
/// How long giving the rows up may take.
const END: Duration = Duration::from_secs(2);
const WHAT: &str = "the store cannot be opened";
pub(super) const REPLACED: &str = "another node has taken over its rows";

fn refused(error: &Error) -> StoreError {
    StoreError::of(WHAT, &told(error))
}

/// Connects to the database, and takes all slots: at once those that nobody holds, those of another node once it has not
/// been heard of for [`SILENCE`].
pub(super) async fn begin(target: DatabaseTarget) -> Result<Node, StoreError> {
    let link = DatabaseLink::to(&target)
        .await
        .map_err(|error| StoreError::of(WHAT, &format!("{}: {error}", target.shown())))?;
    schema::check(&link.client).await?;
    let (id, token) = (draw()?, draw()?);
    let made = "INSERT INTO lane (id, token, node) VALUES ($1, $2, $1)";
    link.client.execute(made, &[&id.as_slice(), &token.as_slice()]).await.map_err(|error| refused(&error))?;
    if let Err(error) = take(&link.client, &id).await {
        // A lane without slots says nothing, and would only be waited for.
        let _ = link.client.execute("DELETE FROM lane WHERE id = $1", &[&id.as_slice()]).await;
        return Err(error);
    }
    let rows = queues(&link.client).await?;
    // Taking the slots may have taken longer than a lease.
    let sent = Instant::now();
    beat(&link, &id).await.map_err(|error| refused(&error))?.ok_or_else(|| StoreError::of(WHAT, &REPLACED))?;
    let node = Node {
        rows: Arc::new(RwLock::new(Rows { known: rows, seq: 0, forgotten: 0 })),
        lane: Arc::new(Mutex::new(Lane { fence: Fence::of(target.clone(), id, token), unsettled: Vec::new() })),
        loader: Mutex::new(Loader::of(target.clone(), id)),
        seq: watch::Sender::new(0),
        lease: Lease::of(sent),
        ended: watch::Sender::new(None),
        id,
        target,
    };
    Ok(node)
}

/// Takes all slots.
async fn take(client: &Client, id: &Id) -> Result<(), StoreError> {
    let others = "SELECT id, seq, beat FROM lane WHERE NOT dead AND id <> $1 ORDER BY id";
    let seen = |rows: Vec<tokio_postgres::Row>| -> Vec<(Vec<u8>, i64, i64)> {
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
    };
    let first = seen(client.query(others, &[&id.as_slice()]).await.map_err(|error| refused(&error))?);
    let since = Instant::now();
    if !first.is_empty() {
        tracing::info!("another node has the rows: they are taken once it has not been heard of for {SILENCE:?}");
    }
    while !first.is_empty() && since.elapsed() < SILENCE {
        tokio::time::sleep(LOOK).await;
        if seen(client.query(others, &[&id.as_slice()]).await.map_err(|error| refused(&error))?) != first {
            return Err(StoreError::of(WHAT, &"another switchboard runs on it"));
        }
    }
    for (other, seq, beat) in first {
        // Waits for a commit that still runs, and then finds that the lane has moved.
        let silenced = "UPDATE lane SET dead = true WHERE id = $1 AND seq = $2 AND beat = $3";
        if client.execute(silenced, &[&other, &seq, &beat]).await.map_err(|error| refused(&error))? == 0 {
            return Err(StoreError::of(WHAT, &"another switchboard runs on it"));
        }
    }
    let taken = "UPDATE slot SET lane = $1 WHERE lane IS NULL OR lane NOT IN (SELECT id FROM lane WHERE NOT dead)";
    client.execute(taken, &[&id.as_slice()]).await.map_err(|error| refused(&error))?;
    let forgotten = "DELETE FROM lane WHERE dead AND id NOT IN (SELECT lane FROM slot WHERE lane IS NOT NULL)";
    client.execute(forgotten, &[]).await.map_err(|error| refused(&error))?;
    Ok(())
}

/// Reads the root's queues, which stand in the slots of their accounts: they are at hand for good.
async fn queues(client: &Client) -> Result<KnownRows, StoreError> {
    let mut known = KnownRows::default();
    for queue in key::queues() {
        let rows = load::queue(client, &queue).await.map_err(|error| refused(&error))?;
        known.pin(queue.clone());
        let scan = Scan { from: queue.start, to: queue.end, order: Order::Ascending, limit: usize::MAX };
        known.add(&Read::Scan(scan), Found::Rows(rows));
    }
    Ok(known)
}

/// Shows each second that the node lives, until it is dropped or ends.
pub(super) async fn live(node: Weak<Node>) {
    let mut link = None;
    loop {
        tokio::time::sleep(BEAT).await;
        let Some(node) = node.upgrade() else { return };
        if node.ended.borrow().is_some() {
            return;
        }
        settle(&node).await;
        if link.is_none() {
            link = DatabaseLink::to(&node.target).await.ok();
        }
        let Some(open) = &link else { continue };
        if !show_life(&node, open).await {
            link = None;
        }
    }
}

/// Settles a commit in doubt that no other follows; a failure is told to whoever commits next.
async fn settle(node: &Node) {
    if let Ok(mut lane) = node.lane.try_lock() {
        let _ = node.settle(&mut lane).await;
    }
}

/// Shows that the node lives; returns whether the connection is still of use.
async fn show_life(node: &Node, link: &DatabaseLink) -> bool {
    let (sent, warnings, known) = (Instant::now(), link.warnings(), *node.seq.borrow());
    match tokio::time::timeout(LEASE, beat(link, &node.id)).await {
        Ok(Ok(Some(seq))) if seq < known => {
            node.end(&format!("the database went back in time: from commit {known} of this node to {seq}"));
            false
        }
        Ok(Ok(Some(_))) => {
            // What the standby may not have is no sign.
            if link.warnings() == warnings {
                node.lease.renew(sent);
            }
            true
        }
        Ok(Ok(None)) => {
            node.end(REPLACED);
            false
        }
        Ok(Err(error)) => {
            tracing::warn!(error = told(&error), "the database does not take a sign of life");
            false
        }
        Err(_) => {
            tracing::warn!("the database does not answer to a sign of life");
            false
        }
    }
}

/// Moves the beat of a lane on; returns the number of its commits, `None` if the lane is another node's.
async fn beat(link: &DatabaseLink, lane: &Id) -> Result<Option<i64>, Error> {
    let beat = "UPDATE lane SET beat = beat + 1 WHERE id = $1 AND NOT dead RETURNING seq";
    Ok(link.client.query_opt(beat, &[&lane.as_slice()]).await?.map(|row| row.get(0)))
}

/// Gives the rows up, so that who comes next need not wait.
pub(super) async fn end(node: &Node) {
    let ended = async {
        // A commit that still runs ends first.
        let _lane = node.lane.lock().await;
        let link = DatabaseLink::to(&node.target).await.ok()?;
        link.client.execute("UPDATE lane SET dead = true WHERE id = $1", &[&node.id.as_slice()]).await.ok()
    };
    if node.ended.borrow().is_none() && !matches!(tokio::time::timeout(END, ended).await, Ok(Some(1))) {
        tracing::warn!("the rows were not given up: the next node waits for {SILENCE:?}");
    }
}
