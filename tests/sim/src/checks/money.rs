//! Balances: what ended calls cost is charged, once, and nobody is called for an account without balance.

use std::collections::BTreeMap;

use super::{Commit, Held, holds};

/// Expected balances of the metered accounts, millionths of a US dollar.
#[derive(Debug, Default)]
pub struct Money {
    left: BTreeMap<u32, i64>,
}

/// Converts dollars to millionths.
#[expect(clippy::cast_possible_truncation, reason = "amounts of a world are a few dollars")]
fn micros(dollars: f64) -> i64 {
    (dollars * 1e6).round() as i64
}

impl Money {
    /// Sets a balance, as the operator did.
    pub fn set(&mut self, account: u32, dollars: f64) {
        self.left.insert(account, micros(dollars));
    }

    /// Checks the calls of a commit, and charges their costs.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for call in &commit.diff.calls {
            let Some(left) = self.left.get_mut(&call.at.0) else { continue };
            let Some(after) = &call.after else { continue };
            let placed = call.before.is_none() && after.campaign.is_some();
            holds!(!placed || *left > 0, "a campaign calls while its account can pay: {:?} with {left}", call.at);
            *left -= micros(after.total_cost) - call.before.as_ref().map_or(0, |before| micros(before.total_cost));
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
