//! Counts of what happened in worlds.

use std::ops::AddAssign;

use crate::facts::{Call, Conversation};
use crate::mirror::{Diff, Turned};
use switchboard_core::webhook::tables::DeliveryStatus;

/// Header of the table whose lines [`Tally::line`] writes.
pub const HEAD: &str = "| seeds | virtual days | steps | calls | dialed | webhooks | delivered | exhausted | deaths | lost | lies | answers | failures |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";

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
    /// Calls that went back to the queue before they were dialed.
    pub given_back: u64,
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
    /// Conversations begun.
    pub conversations: u64,
    /// Turns that asked the outside.
    pub turns_begun: u64,
    /// Answers kept in conversations.
    pub answers: u64,
    /// Ends of conversations.
    pub ends: u64,
    /// Questions to the model in conversations.
    pub questions: u64,
    /// Wrong answers of the model to them.
    pub model_lies: u64,
    /// Such questions without an answer.
    pub model_silences: u64,
    /// Turns whose host died.
    pub turns_died: u64,
    /// Times that a host stood still in a turn.
    pub turns_stood: u64,
    /// Virtual time that passed, seconds.
    pub seconds: u64,
}

impl Tally {
    /// Counts the changes of a commit.
    pub fn count(&mut self, diff: &Diff) {
        self.calls += diff.calls.iter().filter(|call| call.before.is_none()).count() as u64;
        self.given_back += diff.calls.iter().filter(|call| is_given_back(call)).count() as u64;
        self.count_talks(diff);
        for delivery in &diff.deliveries {
            let (Some(before), Some(after)) = (&delivery.before, &delivery.after) else { continue };
            if before.status != after.status {
                self.delivered += u64::from(after.status == DeliveryStatus::Delivered);
                self.exhausted += u64::from(after.status == DeliveryStatus::Exhausted);
            }
        }
    }

    fn count_talks(&mut self, diff: &Diff) {
        let answers = diff.messages.iter().filter(|(_, place, message)| *place > 1 && !message.is_users());
        self.answers += answers.count() as u64;
        for talk in &diff.conversations {
            let turn = |row: &Option<Conversation>| row.as_ref().and_then(|row| row.turn.clone());
            let ended = |row: &Option<Conversation>| row.as_ref().is_some_and(|row| row.ended_at.is_some());
            let (before, after) = (turn(&talk.before), turn(&talk.after));
            self.conversations += u64::from(talk.before.is_none());
            self.turns_begun += u64::from(after.is_some() && after != before);
            self.ends += u64::from(ended(&talk.after) && !ended(&talk.before));
        }
    }

    /// Formats a line of the table.
    pub fn line(&self, seeds: &str, failures: u64) -> String {
        let lost = self.commits_failed + self.replies_lost + self.answers_lost;
        format!(
            "| {seeds} | {} | {} | {} | {} | {} | {} | {} | {} | {lost} | {} | {} | {failures} |",
            self.seconds / 86_400,
            self.steps,
            self.calls,
            self.dialed,
            self.webhooks,
            self.delivered,
            self.exhausted,
            self.deaths,
            self.lies,
            self.answers,
        )
    }
}

fn is_given_back(call: &Turned<Call>) -> bool {
    let engine = |row: &Option<Call>| row.as_ref().map(|row| row.engine);
    matches!((engine(&call.before), engine(&call.after)), (Some(Some(_)), Some(None)))
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.turns += other.turns;
        self.steps += other.steps;
        self.calls += other.calls;
        self.dialed += other.dialed;
        self.given_back += other.given_back;
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
        self.conversations += other.conversations;
        self.turns_begun += other.turns_begun;
        self.answers += other.answers;
        self.ends += other.ends;
        self.questions += other.questions;
        self.model_lies += other.model_lies;
        self.model_silences += other.model_silences;
        self.turns_died += other.turns_died;
        self.turns_stood += other.turns_stood;
        self.seconds += other.seconds;
    }
}
