//! The event feed of an account: every event once, in order, without gaps, for thirty days.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_core::limits::EVENTS_SECONDS;
use switchboard_core::time::Timestamp;

use super::{APART_SECONDS, Commit, Held, holds};

/// State of the claims about feeds.
#[derive(Debug, Default)]
pub struct Feed {
    last: BTreeMap<u32, u32>,
    ids: BTreeSet<String>,
    kept_until: BTreeMap<(u32, u32), Timestamp>,
}

impl Feed {
    /// Checks the events of a commit.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for (account, event) in &commit.diff.events {
            let last = self.last.entry(*account).or_default();
            holds!(
                event.seq == *last + 1,
                "the feed has no gaps: {} follows {last} in the feed of {account}",
                event.seq
            );
            *last = event.seq;
            holds!(self.ids.insert(event.id.clone()), "an event has an id of its own: {}", event.id);
            let at = Timestamp::parse_iso(&event.created_at).ok_or("an event has a time")?;
            self.kept_until.insert((*account, event.seq), at.plus_seconds(EVENTS_SECONDS));
        }
        for at in &commit.diff.forgotten {
            let until = self.kept_until.remove(at);
            holds!(
                until.is_some_and(|until| until <= commit.now.plus_seconds(APART_SECONDS)),
                "an event is kept for thirty days: {at:?} until {until:?}"
            );
        }
        Ok(())
    }
}
