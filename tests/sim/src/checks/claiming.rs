//! Claims and leases: no call outside hours, of a stopped campaign, to a suppressed number or beyond the plan; and no
//! call is taken from an engine whose lease is valid.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_core::call::tables::CallStatus;
use switchboard_core::campaign::tables::CampaignStatus;
use switchboard_core::limits::{LEASE_SECONDS, UNCLAIMED_SECONDS};
use switchboard_core::time::Timestamp;

use super::{APART_SECONDS, Commit, Held, holds, local};
use crate::facts::Call;
use crate::mirror::{At, Turned};

/// State of the claims about engines' calls.
#[derive(Debug, Default)]
pub struct Claiming {
    engaged: BTreeMap<u32, BTreeSet<u32>>,
    claimed: BTreeMap<At, Timestamp>,
}

impl Claiming {
    /// Checks the calls of a commit.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for call in &commit.diff.calls {
            let before = call.before.as_ref().filter(|call| call.status.is_running());
            let after = call.after.as_ref().filter(|call| call.status.is_running());
            let had = call.before.as_ref().and_then(|call| call.engine);
            let has = call.after.as_ref().and_then(|call| call.engine);
            let goes_back = self.goes_back(call)?;
            holds!(
                had.is_none() || call.after.is_none() || had == has || goes_back,
                "two engines never get a call: {:?}",
                call.at
            );
            let engaged = self.engaged.entry(call.at.0).or_default();
            if after.is_some_and(|call| call.engine.is_some()) {
                engaged.insert(call.at.1);
            } else {
                engaged.remove(&call.at.1);
            }
            if had.is_none()
                && let Some(after) = after.filter(|call| call.engine.is_some())
            {
                self.claim(commit, call.at, after)?;
            }
            if let Some(before) = before.filter(|_| after.is_none()) {
                self.end(commit, call, before)?;
            }
        }
        Ok(())
    }

    /// Returns whether a call goes back to the queue, as only one may that was not dialed.
    fn goes_back(&mut self, call: &Turned<Call>) -> Result<bool, String> {
        let (Some(before), Some(after)) = (&call.before, &call.after) else { return Ok(false) };
        if before.engine.is_none() || after.engine.is_some() || !after.status.is_running() {
            return Ok(false);
        }
        let undialed = after.status == CallStatus::Initiated && after.dialing_at.is_none();
        holds!(undialed && after.kind == "outbound", "a call goes back before it was dialed alone: {:?}", call.at);
        holds!(after.returns == before.returns + 1, "each way back is counted: {:?}", call.at);
        self.claimed.remove(&call.at);
        Ok(true)
    }

    fn claim(&mut self, commit: &Commit<'_>, at: At, call: &Call) -> Held {
        self.claimed.insert(at, commit.now);
        holds!(
            commit.mirror.leases.get(&at) == Some(&commit.now.plus_seconds(LEASE_SECONDS)),
            "a claimed call has a lease of its engine: {at:?} until {:?}",
            commit.mirror.leases.get(&at)
        );
        if call.kind != "outbound" {
            return Ok(());
        }
        let engaged = self.engaged.get(&at.0).map_or(0, BTreeSet::len);
        let most = commit.parallel_calls;
        holds!(engaged <= most, "engaged calls never exceed the plan: account {} has {engaged} of {most}", at.0);
        holds!(!commit.suspended.contains(&at.0), "no engine gets a call of an account that is shut out: {at:?}");
        let phone = call.phone.as_deref().unwrap_or_default();
        holds!(!commit.mirror.is_suppressed(at.0, phone), "no call is claimed for a suppressed number: {at:?}");
        let Some(campaign) = call.campaign else { return Ok(()) };
        let campaign = commit.mirror.campaigns.get(&(at.0, campaign));
        let running = campaign.filter(|campaign| campaign.status == CampaignStatus::InProgress);
        let rules = &running.ok_or_else(|| format!("no call is claimed for a stopped campaign: {at:?}"))?.rules;
        holds!(
            local::may_call(rules, commit.now)?,
            "no call is claimed outside its campaign's hours in its zone: {at:?} at {} in {rules:?}",
            commit.now.iso()
        );
        let person = call.lead.map(|lead| (at.0, lead));
        let main = person.and_then(|person| commit.mirror.main_of(person));
        let lead = main.and_then(|main| commit.mirror.leads.get(&main));
        holds!(
            lead.is_some_and(|lead| lead.call == at.1),
            "no call is claimed for a lead that is gone or was taken back: {at:?} to {person:?}"
        );
        Ok(())
    }

    /// Checks that a call which the service itself ended had exceeded one of its time limits.
    fn end(&self, commit: &Commit<'_>, call: &Turned<Call>, before: &Call) -> Held {
        if !commit.cause.own_work {
            return Ok(());
        }
        let now = commit.now.plus_seconds(APART_SECONDS);
        let past = |from: Option<Timestamp>, seconds: u64| from.is_some_and(|at| at.plus_seconds(seconds) <= now);
        let unanswered = before.status == CallStatus::Initiated;
        let waited = match self.claimed.get(&call.at) {
            Some(claimed) => past(Some(*claimed), UNCLAIMED_SECONDS),
            None => past(Timestamp::parse_sql(&before.created_at), UNCLAIMED_SECONDS),
        };
        let rang = before.status == CallStatus::Ringing && past(before.ringing_at, before.ringing_time);
        holds!(
            past(commit.mirror.leases.get(&call.at).copied(), 0)
                || past(before.hangup_at, LEASE_SECONDS)
                || rang
                || unanswered && waited,
            "a call under a running lease is its engine's: {:?} was ended, {:?} to {:?}, at {}",
            call.at,
            before,
            call.after.as_ref().map(|call| call.status),
            commit.now.iso()
        );
        Ok(())
    }
}
