//! Balances: what ended calls cost is deducted, once, and nobody without money is called for.

use std::collections::BTreeMap;

use super::{Commit, Held, holds};

/// What the metered accounts should have left, millionths of a dollar.
#[derive(Debug, Default)]
pub struct Money {
    left: BTreeMap<u32, i64>,
}

/// Dollars as millionths.
#[expect(clippy::cast_possible_truncation, reason = "amounts of a world are a few dollars")]
fn micros(dollars: f64) -> i64 {
    (dollars * 1e6).round() as i64
}

impl Money {
    /// The operator sets a balance.
    pub fn set(&mut self, account: u32, dollars: f64) {
        self.left.insert(account, micros(dollars));
    }

    /// Judges the calls of a commit, and follows their costs.
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

    /// A metered account's balance, as the API shows it, is what its calls have left.
    pub fn agrees(&self, account: u32, shown: Option<f64>) -> Held {
        let want = self.left.get(&account).copied();
        let got = shown.map(micros);
        holds!(want.is_none() || want == got, "what a call costs is deducted once: {got:?}, not {want:?}");
        Ok(())
    }
}
