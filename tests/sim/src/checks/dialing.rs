//! Whom the dialer calls: never twice at once, once per person and round, never after someone was reached, and on no
//! more lines than the campaign has.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchboard_core::call::tables::CallStatus;
use switchboard_core::lead::tables::LeadStatus;
use switchboard_core::time::Timestamp;

use super::{APART_SECONDS, Commit, Held, holds};
use crate::facts::{Call, Rules};
use crate::mirror::{At, Turned};

/// A call that a dialer placed.
#[derive(Clone, Debug)]
struct Placed {
    /// The lead it is for; the person called is that lead or one of its secondary contacts.
    main: At,
    /// How often the lead's status had been set through the API.
    epoch: u32,
    /// Whether an engine claimed it.
    engaged: bool,
}

/// Limits of a campaign, the loosest at any time.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    retries_max: u32,
    interval_min_seconds: u64,
}

/// State of the claims about dialers.
#[derive(Debug, Default)]
pub struct Dialing {
    running: BTreeMap<At, u32>,
    lines: BTreeMap<At, BTreeSet<u32>>,
    epochs: BTreeMap<At, u32>,
    /// Last call by lead, epoch, round and person.
    rounds: BTreeMap<(At, u32, u32, u32), At>,
    placed: BTreeMap<At, Placed>,
    /// End of the last call to a person that an engine had, by epoch.
    over: BTreeMap<(At, u32), (Timestamp, At)>,
    /// Campaign of a lead when it was last rescheduled: its interval counts, even after a move.
    rescheduled: BTreeMap<At, At>,
    /// Calls to a person that an engine had, and the largest limit of their campaigns, by epoch.
    tried: BTreeMap<(At, u32), (u32, u32)>,
    reached: BTreeSet<(At, u32)>,
    bounds: BTreeMap<At, Bounds>,
}

impl Dialing {
    /// Checks the calls of a commit.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        self.learn(commit);
        for call in &commit.diff.calls {
            let (Some(lead), Some(campaign)) = (who(call).lead, who(call).campaign) else { continue };
            let (lead, campaign) = ((call.at.0, lead), (call.at.0, campaign));
            let ran = call.before.as_ref().is_some_and(|call| call.status.is_running());
            let runs = call.after.as_ref().is_some_and(|call| call.status.is_running());
            match (&call.before, &call.after) {
                (None, Some(_)) => self.place(commit, call.at, lead, campaign)?,
                (Some(before), Some(after)) if before.engine.is_none() && after.engine.is_some() => {
                    self.engage(call.at, lead, campaign)?;
                }
                (Some(before), Some(after)) if before.engine.is_some() && after.engine.is_none() => {
                    self.disengage(call.at, lead);
                }
                _ => {}
            }
            if ran && !runs {
                self.end(commit, call, lead, campaign);
            }
            if let Some(after) = &call.after
                && after.status == CallStatus::Completed
                && call.before.as_ref().is_some_and(|before| before.status != CallStatus::Completed)
            {
                self.conclude(commit, call.at, after, lead, campaign);
            }
        }
        Ok(())
    }

    fn learn(&mut self, commit: &Commit<'_>) {
        for campaign in &commit.diff.campaigns {
            let Some(after) = &campaign.after else { continue };
            let interval = after.rules.retry_interval * 60;
            let bounds = self
                .bounds
                .entry(campaign.at)
                .or_insert(Bounds { retries_max: after.rules.max_retries, interval_min_seconds: interval });
            bounds.retries_max = bounds.retries_max.max(after.rules.max_retries);
            bounds.interval_min_seconds = bounds.interval_min_seconds.min(interval);
        }
        for lead in &commit.diff.leads {
            if let Some(after) = &lead.after
                && after.status == LeadStatus::Rescheduled
                && lead.before.as_ref().is_none_or(|before| before.status != LeadStatus::Rescheduled)
            {
                self.rescheduled.insert(lead.at, (lead.at.0, after.campaign));
            }
        }
        if let Some(set) = commit.cause.set_lead
            && commit.diff.leads.iter().any(|lead| lead.at == set)
        {
            *self.epochs.entry(set).or_default() += 1;
        }
    }

    fn place(&mut self, commit: &Commit<'_>, at: At, person: At, campaign: At) -> Held {
        let other = self.running.insert(person, at.1);
        holds!(other.is_none(), "a lead is never in two running calls: {person:?} is in {other:?} and gets {at:?}");
        holds!(!commit.suspended.contains(&at.0), "an account that is shut out calls nobody: {at:?}");
        let main = commit.mirror.main_of(person).ok_or_else(|| format!("call {at:?} is for no lead"))?;
        let lead = commit.mirror.leads.get(&main).ok_or_else(|| format!("call {at:?} is for no lead"))?;
        holds!(
            lead.call == at.1 && lead.status == LeadStatus::Processing,
            "a lead and its call change in one commit: {main:?} is {:?} in call {}, not {at:?}",
            lead.status,
            lead.call
        );
        let turn = lead.person.checked_sub(1).map_or(Some(main.1), |place| lead.contacts.get(place as usize).copied());
        holds!(turn == Some(person.1), "people are called in their order: call {at:?} is to {person:?}, not {turn:?}");
        let epoch = self.epochs.get(&main).copied().unwrap_or_default();
        holds!(
            !self.reached.contains(&(main, epoch)),
            "nobody is called after the lead was reached: {main:?} gets call {at:?}"
        );
        if let Some(before) = self.rounds.insert((main, epoch, lead.rounds, person.1), at) {
            let dialed = self.placed.get(&before).is_some_and(|placed| placed.engaged);
            holds!(
                !dialed,
                "no two calls for the same person and round: {person:?} got {before:?} and {at:?} in {}",
                lead.rounds
            );
        }
        if let Some((over, last)) = self.over.get(&(person, epoch)) {
            let ruled = self.bounds.get(self.rescheduled.get(&main).unwrap_or(last));
            let from = over.plus_seconds(ruled.map_or(0, |bounds| bounds.interval_min_seconds));
            let now = commit.now.plus_seconds(APART_SECONDS);
            holds!(now >= from, "a retry waits for its interval: {person:?} gets call {at:?} before {from:?}");
        }
        let lines = self.lines.entry(campaign).or_default();
        lines.insert(at.1);
        let most = commit.mirror.campaigns.get(&campaign).map_or(0, |campaign| campaign.rules.max_calls_in_parallel);
        holds!(
            lines.len() <= most,
            "running calls of a campaign never exceed max_calls_in_parallel: {campaign:?} has {lines:?} of {most}"
        );
        self.placed.insert(at, Placed { main, epoch, engaged: false });
        Ok(())
    }

    fn engage(&mut self, at: At, person: At, campaign: At) -> Held {
        let Some(placed) = self.placed.get_mut(&at) else { return Ok(()) };
        placed.engaged = true;
        let (tried, most) = self.tried.entry((person, placed.epoch)).or_default();
        *tried += 1;
        *most = self.bounds.get(&campaign).map_or(0, |bounds| bounds.retries_max + 1).max(*most);
        holds!(tried <= most, "a person is dialed once a round: {person:?} {tried} times of {most}, last in {at:?}");
        Ok(())
    }

    /// Notes that a call went back before it was dialed: nobody was tried.
    fn disengage(&mut self, at: At, person: At) {
        let Some(placed) = self.placed.get_mut(&at).filter(|placed| placed.engaged) else { return };
        placed.engaged = false;
        if let Some((tried, _)) = self.tried.get_mut(&(person, placed.epoch)) {
            *tried -= 1;
        }
    }

    fn end(&mut self, commit: &Commit<'_>, call: &Turned<Call>, person: At, campaign: At) {
        self.running.remove(&person);
        self.lines.entry(campaign).or_default().remove(&call.at.1);
        if let Some(placed) = self.placed.get(&call.at).filter(|placed| placed.engaged) {
            let ended = call.after.as_ref().and_then(|call| call.ended_at).unwrap_or(commit.now);
            self.over.insert((person, placed.epoch), (ended, campaign));
        }
    }

    /// Notes a call that reached its lead by the campaign's rules.
    fn conclude(&mut self, commit: &Commit<'_>, at: At, call: &Call, person: At, campaign: At) {
        let (Some(placed), Some(rules)) = (self.placed.get(&at), commit.mirror.campaigns.get(&campaign)) else {
            return;
        };
        // A lead that was moved meanwhile follows the rules of its new campaign.
        let stayed = commit.mirror.leads.get(&person).is_some_and(|lead| lead.campaign == campaign.1);
        if stayed && reached(&rules.rules, call) {
            self.reached.insert((placed.main, placed.epoch));
        }
    }
}

fn who(call: &Turned<Call>) -> &Call {
    call.after.as_ref().or(call.before.as_ref()).expect("a changed row was there or is there")
}

fn reached(rules: &Rules, call: &Call) -> bool {
    let voicemail = rules.retry_on_voicemail && call.answered_by == "machine";
    let goal = rules.goal_completion_variable.as_ref().filter(|_| rules.retry_on_goal_incomplete);
    let missed = goal.is_some_and(|name| call.extracted.get(name) != Some(&Value::Bool(true)));
    !voicemail && !missed
}
