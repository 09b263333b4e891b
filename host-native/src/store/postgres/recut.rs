//! Lanes are made and ended in one transaction at a time: a lane has the same slots for as long as it lives, and slots of
//! lanes that have ended are nobody's until a new lane is made of them.

use switchboard_core::key;
use switchboard_core::view::{Found, Order, Read, Scan};
use tokio_postgres::{Client, Error, Transaction};

use super::cluster::Presence;
use super::fence::{Id, draw};
use super::link;
use super::load;
use super::lookout::Living;
use super::place::Slots;
use super::rows::KnownRows;
use super::shared;
use crate::store::StoreError;

const WHAT: &str = "the store cannot be opened";
/// Waits until no other process does the same.
pub(super) const ONE: &str = "SELECT value FROM meta WHERE name = 'store' FOR UPDATE";
/// Ends a lane that has not moved since it was seen.
pub(super) const SILENCED: &str = "UPDATE lane SET dead = true WHERE id = $1 AND seq = $2 AND beat = $3 AND NOT dead";
/// Ends a lane of the process.
pub(super) const ENDED: &str = "UPDATE lane SET dead = true WHERE id = $1 AND NOT dead";
pub(super) const DEALT: &str = "UPDATE slot SET lane = $1 WHERE id = ANY($2)";
/// Slots of lanes that have ended, and of none.
pub(super) const FREE: &str = "SELECT s.id FROM slot s LEFT JOIN lane l ON l.id = s.lane AND NOT l.dead \
    WHERE l.id IS NULL AND ($1::bytea[] IS NULL OR s.lane = ANY($1)) ORDER BY s.id LIMIT $2";
/// What a lane of such slots has to know of those that had them: the latest time that any has written.
pub(super) const CLOCK: &str = "SELECT coalesce(max(clock), 0) FROM lane";
pub(super) const MADE: &str = "INSERT INTO lane (id, token, node, address, clock) VALUES ($1, $2, $3, $4, $5)";
pub(super) const FORGOTTEN: &str =
    "DELETE FROM lane WHERE dead AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.lane = lane.id)";

/// Lanes that end when another is made.
#[derive(Clone, Copy)]
pub(super) enum EndedLanes<'l> {
    /// Lanes that were silent since they were seen so.
    Silent(&'l [Living]),
    /// Lanes of the node itself, which commit no more; the new one has slots of them.
    Own(&'l [Id]),
}

/// A lane that was just made.
pub(super) struct NewLane {
    pub id: Id,
    pub token: Id,
    pub slots: Slots,
    /// The latest time that a lane has written, microseconds.
    pub clock: i64,
}

/// What became of it.
pub(super) enum Recut {
    Made(NewLane),
    /// The lanes have ended, and no slots are free.
    NoneFree,
    /// One of them was not silent, or has ended already.
    Moved,
}

pub(super) fn refused(error: &Error) -> StoreError {
    link::refused(WHAT, error)
}

/// Ends lanes, and makes one of at most `most` free slots for a node.
pub(super) async fn recut(
    client: &mut Client,
    presence: &Presence,
    ended: EndedLanes<'_>,
    most: usize,
) -> Result<Recut, StoreError> {
    let drawn = (draw()?, draw()?, draw()?);
    let cut = cut(client, presence, ended, most, drawn).await;
    if cut.is_err() {
        // It may be there: the answer alone may have been lost.
        presence.note_unbegun(drawn.0);
    }
    cut.map_err(|error| refused(&error))
}

async fn cut(
    client: &mut Client,
    presence: &Presence,
    ended: EndedLanes<'_>,
    most: usize,
    (id, token, mark): (Id, Id, Id),
) -> Result<Recut, Error> {
    let transaction = client.transaction().await?;
    // One node at a time: the second finds what the first has left.
    transaction.query_one(ONE, &[]).await?;
    if !end(&transaction, ended).await? {
        return Ok(Recut::Moved);
    }
    let own =
        if let EndedLanes::Own(own) = ended { Some(own.iter().map(Id::as_slice).collect::<Vec<_>>()) } else { None };
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let free = transaction.query(FREE, &[&own, &most]).await?;
    let free: Vec<i32> = free.iter().map(|row| row.get(0)).collect();
    if free.is_empty() {
        transaction.commit().await?;
        return Ok(Recut::NoneFree);
    }
    let clock: i64 = transaction.query_one(CLOCK, &[]).await?.get(0);
    let address = Some(&presence.address).filter(|address| !address.is_empty());
    transaction.execute(MADE, &[&id.as_slice(), &token.as_slice(), &presence.id.as_slice(), &address, &clock]).await?;
    transaction.execute(DEALT, &[&id.as_slice(), &free]).await?;
    transaction.execute(FORGOTTEN, &[]).await?;
    shared::note(&transaction, mark).await?;
    transaction.commit().await?;
    let slots = Slots::of(free.iter().filter_map(|slot| u16::try_from(*slot).ok()));
    Ok(Recut::Made(NewLane { id, token, slots, clock }))
}

/// Ends lanes; returns whether all of them were as they are said to be.
async fn end(transaction: &Transaction<'_>, ended: EndedLanes<'_>) -> Result<bool, Error> {
    match ended {
        EndedLanes::Silent(lanes) => {
            for lane in lanes {
                // Waits for a commit that still runs, and then finds that the lane has moved.
                if transaction.execute(SILENCED, &[&lane.id.as_slice(), &lane.seq, &lane.beat]).await? == 0 {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        EndedLanes::Own(lanes) => {
            for lane in lanes {
                if transaction.execute(ENDED, &[&lane.as_slice()]).await? == 0 {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Reads the root's queues as far as they stand in slots: they are at hand for good.
pub(super) async fn queues(client: &Client, slots: &Slots) -> Result<KnownRows, StoreError> {
    let mut known = KnownRows::default();
    for queue in key::queues() {
        let rows = load::queue(client, &queue, slots).await.map_err(|error| refused(&error))?;
        known.pin(queue.clone());
        let scan = Scan { from: queue.start, to: queue.end, order: Order::Ascending, limit: usize::MAX };
        known.add(&Read::Scan(scan), Found::Rows(rows));
    }
    Ok(known)
}
