//! Balances: what ended calls and kept answers cost is charged, once, in the same step, and nobody is called or answered
//! for an account without balance.

use std::collections::BTreeMap;

use super::talking::SIMULATED;
use super::{Commit, Held, holds};
use crate::facts::Conversation;
use crate::mirror::At;

/// Expected balances of the metered accounts, millionths of a US dollar.
#[derive(Debug, Default)]
pub struct Money {
    left: BTreeMap<u32, i64>,
    /// What the answer to the turn under way costs in each conversation: the price when it began.
    turns: BTreeMap<At, i64>,
}

/// Converts dollars to millionths.
#[expect(clippy::cast_possible_truncation, reason = "amounts of a world are a few dollars")]
pub fn micros(dollars: f64) -> i64 {
    (dollars * 1e6).round() as i64
}

impl Money {
    /// Sets a balance, as the operator did.
    pub fn set(&mut self, account: u32, dollars: f64) {
        self.left.insert(account, micros(dollars));
    }

    /// Checks the calls and conversations of a commit, and charges their costs.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for call in &commit.diff.calls {
            let Some(left) = self.left.get_mut(&call.at.0) else { continue };
            let Some(after) = &call.after else { continue };
            let placed = call.before.is_none() && after.campaign.is_some();
            holds!(!placed || *left > 0, "a campaign calls while its account can pay: {:?} with {left}", call.at);
            *left -= micros(after.total_cost) - call.before.as_ref().map_or(0, |before| micros(before.total_cost));
        }
        for talk in &commit.diff.conversations {
            let Some(left) = self.left.get_mut(&talk.at.0) else { continue };
            let turn = |row: &Option<Conversation>| row.as_ref().and_then(|row| row.turn.clone());
            let begins = turn(&talk.after).is_some_and(|after| turn(&talk.before) != Some(after));
            holds!(!begins || *left > 0, "a turn begins while its account can pay: {:?} with {left}", talk.at);
            if begins {
                self.turns.insert(talk.at, commit.chat_price);
            }
        }
        for (at, place, message) in &commit.diff.messages {
            let Some(left) = self.left.get_mut(&at.0) else { continue };
            // The greeting is free.
            if *place > 1 && !message.is_users() {
                let begun = self.turns.get(at).filter(|_| !message.content.starts_with(SIMULATED));
                *left -= begun.copied().unwrap_or(commit.chat_price);
            }
        }
        for (account, left) in &self.left {
            let stored = commit.mirror.balances.get(account).copied().flatten();
            holds!(stored == Some(*left), "a balance moves by what was kept: {stored:?} in {account}, not {left}");
        }
        Ok(())
    }

    /// Checks that a metered account's balance in the API is what its calls have left.
    pub fn agrees(&self, account: u32, shown: Option<f64>) -> Held {
        let want = self.left.get(&account).copied();
        let got = shown.map(micros);
        holds!(want.is_none() || want == got, "what a call costs is deducted once: {got:?}, not {want:?}");
        Ok(())
    }
}
