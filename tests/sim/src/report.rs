//! Counts of what happened in worlds.

use std::ops::AddAssign;

use crate::mirror::Diff;
use switchboard_core::webhook::tables::DeliveryStatus;

/// Header of the table whose lines [`Tally::line`] writes.
pub const HEAD: &str = "| seeds | virtual days | steps | calls | dialed | webhooks | delivered | exhausted | deaths | lost | lies | failures |
|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Counts of one world, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Events of the agenda.
    pub turns: u64,
    /// Steps of the service.
    pub steps: u64,
    /// Calls created, by campaigns or by hand.
    pub calls: u64,
    /// Calls that an engine dialed.
    pub dialed: u64,
    /// Webhook attempts that reached a receiver.
    pub webhooks: u64,
    /// Webhooks that a receiver accepted.
    pub delivered: u64,
    /// Webhooks whose retries were exhausted.
    pub exhausted: u64,
    /// Times that a host died.
    pub deaths: u64,
    /// Steps that failed by a flaw.
    pub endless: u64,
    /// Flaws that stayed with a row.
    pub stuck: u64,
    /// Tasks that were set aside, and retried by the operator.
    pub set_aside: u64,
    /// Commits that failed, so that the caller got 503.
    pub commits_failed: u64,
    /// Lost answers to clients.
    pub replies_lost: u64,
    /// Lost answers to the service.
    pub answers_lost: u64,
    /// Wrong reports of engines.
    pub lies: u64,
    /// Virtual time that passed, seconds.
    pub seconds: u64,
}

impl Tally {
    /// Counts the changes of a commit.
    pub fn count(&mut self, diff: &Diff) {
        self.calls += diff.calls.iter().filter(|call| call.before.is_none()).count() as u64;
        for delivery in &diff.deliveries {
            let (Some(before), Some(after)) = (&delivery.before, &delivery.after) else { continue };
            if before.status != after.status {
                self.delivered += u64::from(after.status == DeliveryStatus::Delivered);
                self.exhausted += u64::from(after.status == DeliveryStatus::Exhausted);
            }
        }
    }

    /// Formats a line of the table.
    pub fn line(&self, seeds: &str, failures: u64) -> String {
        let lost = self.commits_failed + self.replies_lost + self.answers_lost;
        format!(
            "| {seeds} | {} | {} | {} | {} | {} | {} | {} | {} | {lost} | {} | {failures} |",
            self.seconds / 86_400,
            self.steps,
            self.calls,
            self.dialed,
            self.webhooks,
            self.delivered,
            self.exhausted,
            self.deaths,
            self.lies,
        )
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.turns += other.turns;
        self.steps += other.steps;
        self.calls += other.calls;
        self.dialed += other.dialed;
        self.webhooks += other.webhooks;
        self.delivered += other.delivered;
        self.exhausted += other.exhausted;
        self.deaths += other.deaths;
        self.endless += other.endless;
        self.stuck += other.stuck;
        self.set_aside += other.set_aside;
        self.commits_failed += other.commits_failed;
        self.replies_lost += other.replies_lost;
        self.answers_lost += other.answers_lost;
        self.lies += other.lies;
        self.seconds += other.seconds;
    }
}
