//! Requests of people about leads and numbers.

use serde_json::json;

use super::{Act, named};
use crate::checks::Cause;
use crate::client::Ask;
use crate::draw;
use crate::mirror::At;
use crate::world::World;

impl World {
    /// Picks a lead or a secondary contact; half of the time one that is being called, since that is where races are.
    fn somebody(&mut self, account: u32) -> Option<At> {
        let all: Vec<At> = self.mirror.leads.keys().filter(|at| at.0 == account).copied().collect();
        let called: Vec<At> = self
            .mirror
            .running
            .iter()
            .filter(|at| at.0 == account)
            .filter_map(|at| Some((account, self.mirror.calls.get(at)?.lead?)))
            .filter(|lead| self.mirror.leads.contains_key(lead))
            .collect();
        let busy = self.random.chance(500) && !called.is_empty();
        self.random.pick(if busy { &called } else { &all }).copied()
    }

    pub(super) fn act_on_lead(&mut self, person: usize, act: Act) -> Option<(Ask, Cause)> {
        let account = self.people[person].account;
        if act == Act::NewLead {
            let campaign = self.campaign(account, None)?;
            let body = draw::lead(&mut self.random, named(campaign));
            return Some((Ask::post("/user/lead", body), Cause::default()));
        }
        let at = self.somebody(account)?;
        let path = format!("/user/leads/{}", named(at));
        let mut cause = Cause::default();
        let ask = match act {
            Act::DropLead => Ask::delete(path),
            Act::SetLead => {
                cause.set_lead = Some(at);
                let status = self.random.one(&["created", "created", "completed", "reached-max-retries"]);
                Ask::put(path, json!({ "status": status }))
            }
            Act::MoveLead => Ask::put(path, json!({ "campaign_id": named(self.campaign(account, None)?) })),
            _ => Ask::put(path, json!({ "phone_number": draw::phone(&mut self.random) })),
        };
        Some((ask, cause))
    }

    pub(super) fn act_on_number(&mut self, person: usize, act: Act) -> Option<Ask> {
        let account = self.people[person].account;
        Some(match act {
            Act::Suppress => {
                let at = self.somebody(account)?;
                let phone = self.mirror.leads.get(&at)?.phone.clone();
                Ask::post("/user/do-not-call", json!({ "phone_number": phone }))
            }
            Act::Unsuppress => {
                let rows: Vec<At> = self.mirror.suppressed.keys().filter(|at| at.0 == account).copied().collect();
                Ask::delete(format!("/user/do-not-call/{}", named(*self.random.pick(&rows)?)))
            }
            _ => {
                let numbers = self.numbers_of(account);
                Ask::delete(format!("/user/phone-numbers/{}", self.random.pick(&numbers)?))
            }
        })
    }
}
