//! Every observed change of state follows the const tables of the core, which are the published ones.

use switchboard_core::call::states::{CallEvent, FIRST, MOVES as CALLS};
use switchboard_core::campaign::states::{CampaignEvent, MOVES as CAMPAIGNS};
use switchboard_core::campaign::tables::CampaignStatus;
use switchboard_core::lead::states::{LeadEvent, MOVES as LEADS};
use switchboard_core::lead::tables::LeadStatus;
use switchboard_core::state::States;

use super::{Commit, Held, holds};

/// Lead events caused by the dialer.
const DIALERS: [LeadEvent; 6] =
    [LeadEvent::Schedule, LeadEvent::Dial, LeadEvent::Reach, LeadEvent::Miss, LeadEvent::GiveUp, LeadEvent::Blacklist];
/// Longest path through a table that is tried.
const WAY_MAX: usize = 8;

/// Checks the state changes of a commit.
pub fn judge(commit: &Commit<'_>) -> Held {
    for call in &commit.diff.calls {
        let Some(after) = &call.after else { continue };
        let before = call.before.as_ref().map_or(FIRST, |before| before.status);
        holds!(
            leads(&CALLS, &CallEvent::ALL, before, after.status),
            "a call moves by its table: call {:?} went from {before:?} to {:?}",
            call.at,
            after.status
        );
    }
    for lead in &commit.diff.leads {
        let Some(after) = &lead.after else { continue };
        let before = lead.before.as_ref().map_or(LeadStatus::Created, |before| before.status);
        let events: &[LeadEvent] =
            if commit.cause.set_lead == Some(lead.at) { &[LeadEvent::set(after.status)] } else { &DIALERS };
        holds!(
            leads(&LEADS, events, before, after.status),
            "a lead moves by its table: lead {:?} went from {before:?} to {:?}",
            lead.at,
            after.status
        );
    }
    for campaign in &commit.diff.campaigns {
        let Some(after) = &campaign.after else { continue };
        let before = campaign.before.as_ref().map_or(CampaignStatus::Draft, |before| before.status);
        let direct = CampaignEvent::ALL.iter().any(|event| CAMPAIGNS.next(before, *event) == Some(after.status));
        holds!(
            before == after.status || direct,
            "a campaign moves by its table: campaign {:?} went from {before:?} to {:?}",
            campaign.at,
            after.status
        );
    }
    Ok(())
}

/// Returns whether a sequence of these events leads from one state to another: a commit may contain several.
fn leads<S: Copy + PartialEq, E: Copy + PartialEq>(table: &States<S, E>, events: &[E], from: S, to: S) -> bool {
    let mut reached = vec![from];
    for _ in 0..WAY_MAX {
        if reached.contains(&to) {
            return true;
        }
        let next: Vec<S> =
            reached.iter().flat_map(|state| events.iter().filter_map(|event| table.next(*state, *event))).collect();
        for state in next {
            if !reached.contains(&state) {
                reached.push(state);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::call::tables::CallStatus;

    #[test]
    fn a_way_of_several_moves_is_found_and_none_is_made_up() {
        assert!(leads(&CALLS, &CallEvent::ALL, CallStatus::Initiated, CallStatus::Completed));
        assert!(!leads(&CALLS, &CallEvent::ALL, CallStatus::Failed, CallStatus::Completed));
        assert!(!leads(&LEADS, &DIALERS, LeadStatus::Completed, LeadStatus::Created));
    }
}
