//! How a node shows that it lives, and gives its rows up.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::Error;

use super::fence::Id;
use super::link::{DatabaseLink, told};
use super::past::Past;
use super::recut::{EndedLanes, Recut, recut};
use super::{DOUBT, LEASE, Node, lookout};
use crate::store::StoreError;
use crate::store::backend::StoreEnd;

/// How often a node shows that it lives.
const BEAT: Duration = Duration::from_secs(1);
/// A sign of life.
pub(super) const SIGN: &str = "UPDATE lane SET beat = beat + 1 WHERE id = $1 AND NOT dead RETURNING seq";
/// How often rows are forgotten between two signs of life; each time is short.
const SHRINKS: usize = 64;
/// How long giving the rows up may take.
const END: Duration = Duration::from_secs(2);

/// Shows each second that the node lives, until it is dropped or ends.
pub(super) async fn live(node: Weak<Node>) {
    let mut stands = 0;
    loop {
        tokio::time::sleep(BEAT).await;
        let Some(node) = node.upgrade() else { return };
        if node.ended.borrow().is_some() {
            return;
        }
        settle(&node, stands).await;
        shrink(&node).await;
        match node.sign().await {
            Some(seq) => stands = seq,
            None => continue,
        }
        let tails = node.tails.take();
        // What others have changed of the shared rows is news here as well.
        if !node.slots.is_all() || !tails.is_empty() {
            let _ = node.load(tails).await;
        }
    }
}

/// Gives up memory for rows that another lane has taken: a lane in which nothing happens would keep it.
async fn shrink(node: &Node) {
    for _ in 0..SHRINKS {
        if !node.rows.write().shrink() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Settles a commit in doubt that no other follows; a failure is told to whoever commits next. `stands` is where the lane
/// stood in the database earlier: nobody else moves it, unless a machine was copied as it ran.
async fn settle(node: &Node, stands: i64) {
    if let Ok(mut lane) = node.lane.try_lock()
        && node.settle(&mut lane).await.is_ok()
        && stands > lane.fence.seq()
    {
        node.end(StoreEnd::Broken("another process writes in the name of this one: its machine was copied".into()));
    }
}

impl Node {
    /// Shows that the node lives; returns where its lane stands, `None` if nobody has heard it for sure.
    async fn sign(&self) -> Option<i64> {
        let mut link = self.signs.lock().await;
        // One that gets no answer, or whose caller waits no longer, is not used again.
        let open = match link.take() {
            Some(open) => open,
            None => DatabaseLink::to(&self.target).await.ok()?,
        };
        let shown = show_life(self, &open).await?;
        *link = Some(open);
        Some(shown)
    }

    /// Confirms what was read before: a sign of life that is acknowledged now says that the rows were this lane's, whatever
    /// clocks do. One sign is for all who came before it was given.
    pub async fn confirm_read(&self) -> Result<(), StoreError> {
        let unheard = || StoreError::Unavailable("the database does not confirm a read".into());
        let signed = self.confirmations.run(async || self.sign().await.map(drop).ok_or_else(unheard));
        tokio::time::timeout(DOUBT, signed).await.unwrap_or_else(|_| Err(unheard()))
    }
}

/// Shows that the node lives; returns where its lane stands, `None` if the connection is of no more use or the standby may
/// not have it.
async fn show_life(node: &Node, link: &DatabaseLink) -> Option<i64> {
    let (sent, warnings, known) = (Instant::now(), link.warnings(), node.known_past());
    let shown = async { tokio::try_join!(beat(link, &node.id), known.compare(&link.client, &node.id)) };
    let (sign, past) = match tokio::time::timeout(LEASE, shown).await {
        Ok(Ok(shown)) => shown,
        Ok(Err(error)) => {
            tracing::warn!(error = told(&error), "the database does not take a sign of life");
            return None;
        }
        Err(_) => {
            tracing::warn!("the database does not answer to a sign of life");
            return None;
        }
    };
    if node.note(past, known, &link.client).await.is_err() {
        return None;
    }
    if sign.is_none() {
        node.end(StoreEnd::Replaced);
    }
    // What the standby may not have is no sign.
    let sign = sign.filter(|_| link.warnings() == warnings)?;
    node.lease.renew(sent);
    if past == Past::Same {
        node.rows.write().be_sure(known.shared);
    }
    Some(sign)
}

/// Moves the beat of a lane on; returns the number of its commits, `None` if the lane is another node's.
pub(super) async fn beat(link: &DatabaseLink, lane: &Id) -> Result<Option<i64>, Error> {
    Ok(link.client.query_opt(SIGN, &[&lane.as_slice()]).await?.map(|row| row.get(0)))
}

/// Ends a lane here, whose slots another one of this process gets; until then it lives as far as others see.
pub(super) async fn retire(node: &Node) {
    if tokio::time::timeout(END, retired(node)).await.is_err() {
        node.end_once(StoreEnd::Replaced);
    }
}

/// Ends a lane here once no commit of it runs any more; returns whether it had not ended before.
async fn retired(node: &Node) -> bool {
    let _lane = node.lane.lock().await;
    // What is gone would be handed over as if it had never been.
    let _ = node.look_back().await;
    node.end_once(StoreEnd::Replaced)
}

/// Gives the rows up but for so many slots, so that who comes next need not wait; nothing is read or written afterwards.
/// `others` are lanes of this process that have been [retired](retire), and end with it. Returns the lane of the slots
/// that stay.
pub(super) async fn end(node: &Node, keep: usize, others: &[Id]) -> Option<Node> {
    let ended = async {
        if !retired(node).await {
            return Ok(None);
        }
        let mut link = DatabaseLink::to(&node.target).await.map_err(|error| error.to_string())?;
        let own = [&[node.id], others].concat();
        let cut = recut(&mut link.client, &node.presence, EndedLanes::Own(&own), keep).await;
        match cut.map_err(|error| error.to_string())? {
            Recut::Made(lane) => lookout::begun(&link, lane, &node.target, &node.clock, &node.presence)
                .await
                .map_err(|error| error.to_string()),
            Recut::NoneFree | Recut::Moved => Ok(None),
        }
    };
    let why = match tokio::time::timeout(END, ended).await {
        Ok(Ok(kept)) => return kept,
        Ok(Err(why)) => why,
        Err(_) => "the database does not answer".into(),
    };
    node.end_once(StoreEnd::Replaced);
    tracing::warn!(why, "the rows were not given up: the next node waits until this one was silent for a while");
    None
}
