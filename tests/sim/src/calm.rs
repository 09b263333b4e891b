//! How a world comes to rest: faults end, and people start whatever may run and then leave it alone.

use serde_json::json;
use switchboard_core::campaign::tables::CampaignStatus;
use switchboard_core::id;
use switchboard_core::key::Space;
use switchboard_core::time::Timestamp;

use crate::agenda::SECOND;
use crate::base::base;
use crate::client::{Ask, Heard};
use crate::engine::{Errand, Manners};
use crate::faults::Faults;
use crate::world::{Event, World};

/// Length of the shortest calling hours that are drawn, seconds.
const WINDOW_SECONDS: u64 = 19 * 60;

impl World {
    /// Ends all faults, makes engines behave, and starts whatever may run.
    pub fn calm_down(&mut self) {
        self.calm = true;
        self.strike(Faults::default());
        self.stuck = None;
        self.model.is_honest = true;
        for account in self.suspended.clone() {
            self.suspend(account, false);
        }
        for person in 0..self.people.len() {
            self.meter(self.people[person].account, 1_000.0);
        }
        if self.parallel_calls < 4 {
            self.replan(4);
        }
        for at in 0..self.receivers.count() {
            if self.random.chance(900) {
                self.receivers.please(at);
            }
        }
        for at in 0..self.engines.len() {
            self.engines[at].manners = Manners::default();
            self.later(SECOND, Event::Engine(at, Errand::Claim));
        }
        for person in 0..self.people.len() {
            self.leave_alone(person);
        }
        self.operator_retries();
        self.answer_all();
        self.deadline = self.time_to_finish();
    }

    /// Has the operator retry the tasks that were set aside, and come back for later ones.
    pub fn operator_retries(&mut self) {
        let operator = &base().operator;
        let listed = self.must(&Ask::get("/admin/jobs?state=set_aside&per_page=100"), operator);
        let Heard::Said(200, listed) = listed else {
            return self.note(Err(format!("the operator sees what was set aside: {listed:?}")));
        };
        let jobs = listed["data"].as_array().cloned().unwrap_or_default();
        for job in jobs {
            self.tally.set_aside += 1;
            let target = format!("/admin/jobs/{}/retry", job["id"]);
            let heard = self.must(&Ask::post(target, json!({})), operator);
            self.note(if heard.status() == 202 { Ok(()) } else { Err(format!("{job} is tried again: {heard:?}")) });
        }
        self.later(3_600 * SECOND, Event::Operator);
    }

    fn leave_alone(&mut self, person: usize) {
        let (account, key) = (self.people[person].account, self.people[person].key.clone());
        let idle: Vec<u32> = self.mirror.assistants.keys().filter(|at| at.0 == account).map(|at| at.1).collect();
        for count in idle {
            let id = id::of(Space::Account(account), count);
            self.must(&Ask::put(format!("/user/assistants/{id}"), json!({ "status": "active" })), &key);
        }
        let stopped: Vec<u32> = self
            .mirror
            .campaigns
            .iter()
            .filter(|(at, row)| at.0 == account && row.status != CampaignStatus::InProgress)
            .map(|(at, _)| at.1)
            .collect();
        for count in stopped {
            if self.random.chance(700) {
                let body = json!({ "campaign_id": id::of(Space::Account(account), count), "action": "start" });
                self.must(&Ask::post("/user/campaigns/update-status", body), &key);
            }
        }
    }

    /// Returns when every running campaign must be done and every webhook delivered: generous, but finite.
    fn time_to_finish(&self) -> Timestamp {
        let week = 7 * 86_400;
        let mut seconds = 30 * 86_400;
        for (at, campaign) in &self.mirror.campaigns {
            let people = self.mirror.leads.iter().filter(|(lead, row)| lead.0 == at.0 && row.campaign == at.1).count();
            let rounds = u64::from(campaign.rules.max_retries) + 1;
            // A call holds its line for less than twelve minutes, and each closing window ends one that waits.
            let calls = people as u64 * rounds * 12 * 60;
            let open = campaign.rules.allowed_days.len() as u64 * WINDOW_SECONDS;
            seconds += (calls / open + 1) * week + rounds * (campaign.rules.retry_interval * 60 + week);
        }
        self.now.plus_seconds(seconds)
    }
}
