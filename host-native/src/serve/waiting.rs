//! [`Calls`]: who waits for calls of any lane, of this process or another one.
//!
//! Nodes ask each other: a request of one ends once the other has news, or after a while. News that gets lost is made up
//! for by a look now and then.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_core::key::Topic;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::front::Front;
use super::pass::NodeLink;
use crate::host::Host;

/// Where nodes ask each other.
pub const PATH: &str = "/nodes/waiting";
/// How long a node waits for news before it says that there is none.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before a node is asked again that did not answer.
const AGAIN: Duration = Duration::from_secs(1);

/// News of calls that wait for an engine.
pub struct Calls {
    /// Counts news of this process' own lanes.
    own: watch::Sender<u64>,
    /// Counts news of any lane.
    any: watch::Sender<u64>,
    /// Nodes that are asked.
    asked: Mutex<BTreeSet<Arc<str>>>,
}

impl Default for Calls {
    fn default() -> Self {
        Self { own: watch::Sender::new(0), any: watch::Sender::new(0), asked: Mutex::default() }
    }
}

impl Calls {
    /// Tells of a host's news from now on, until it stops.
    pub fn tell_of(self: &Arc<Self>, host: &Host) {
        let (calls, mut news) = (Arc::clone(self), host.subscribe(Topic::Waiting));
        tokio::spawn(async move {
            while news.news().await {
                calls.own.send_modify(|count| *count = count.wrapping_add(1));
                calls.any.send_modify(|count| *count = count.wrapping_add(1));
            }
        });
    }

    /// Follows news of any lane.
    pub fn follow(&self) -> watch::Receiver<u64> {
        self.any.subscribe()
    }

    /// Waits until the own news is other than `known`, for a while, and returns its count.
    pub async fn after(&self, known: Option<u64>) -> u64 {
        let mut own = self.own.subscribe();
        let news = own.wait_for(|count| Some(*count) != known);
        match timeout(PATIENCE, news).await {
            Ok(Ok(count)) => *count,
            _ => known.unwrap_or_default(),
        }
    }

    /// Begins to ask a node, unless it is asked already; it is asked as long as anybody follows.
    pub fn ask(self: &Arc<Self>, front: &Arc<Front>, node: Arc<str>) {
        if !self.lock().insert(Arc::clone(&node)) {
            return;
        }
        let (calls, front) = (Arc::clone(self), Arc::clone(front));
        tokio::spawn(async move {
            let mut known = None;
            while calls.any.receiver_count() > 0 {
                let Some(passing) = &front.passing else { break };
                match asked(passing, &node, known).await {
                    Some(count) => {
                        if known.is_some_and(|known| known != count) {
                            calls.any.send_modify(|count| *count = count.wrapping_add(1));
                        }
                        known = Some(count);
                    }
                    None if front.others().contains(&node) => tokio::time::sleep(AGAIN).await,
                    None => break,
                }
            }
            calls.lock().remove(&node);
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn asked(passing: &NodeLink, node: &str, known: Option<u64>) -> Option<u64> {
    let target = known.map_or_else(|| PATH.to_owned(), |known| format!("{PATH}?after={known}"));
    let until = Instant::now() + 2 * PATIENCE;
    let answer = tokio::time::timeout_at(until, passing.ask(node, &target)).await.ok()??;
    std::str::from_utf8(&answer).ok()?.trim().parse().ok()
}
