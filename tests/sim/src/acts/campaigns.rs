//! Requests of people about campaigns and assistants.

use serde_json::json;

use super::{Act, named};
use crate::client::Ask;
use crate::draw;
use crate::mirror::At;
use crate::receiver::Receivers;
use crate::world::World;

impl World {
    pub(super) fn act_on_campaign(&mut self, person: usize, act: Act) -> Option<Ask> {
        let account = self.people[person].account;
        let switch = |at: At, action: &str| {
            Ask::post("/user/campaigns/update-status", json!({ "campaign_id": named(at), "action": action }))
        };
        Some(match act {
            Act::Start => switch(self.campaign(account, Some(false))?, "start"),
            Act::Stop => switch(self.campaign(account, Some(true))?, "stop"),
            Act::EditCampaign => {
                let at = self.campaign(account, None)?;
                let mut changes = draw::rules(&mut self.random);
                changes.as_object_mut()?.retain(|_, _| self.random.chance(400));
                Ask::put(format!("/user/campaigns/{}", named(at)), changes)
            }
            Act::NewCampaign => {
                let assistant = self.assistant(account, "outbound")?;
                let numbers = self.numbers_of(account);
                Ask::post("/user/campaigns", draw::campaign(&mut self.random, named(assistant), &numbers))
            }
            _ => Ask::delete(format!("/user/campaigns/{}", named(self.campaign(account, None)?))),
        })
    }

    pub(super) fn act_on_assistant(&mut self, person: usize, act: Act) -> Option<Ask> {
        let account = self.people[person].account;
        let kind = self.random.one(&["outbound", "outbound", "inbound"]);
        let at = self.assistant(account, kind)?;
        let path = format!("/user/assistants/{}", named(at));
        Some(match act {
            Act::Turn => {
                let active = self.mirror.assistants.get(&at)?.status == "active";
                Ask::put(path, json!({ "status": if active { "inactive" } else { "active" } }))
            }
            Act::EditAssistant if self.random.chance(300) => {
                let url = Receivers::url(self.receiver(), self.random.below(3));
                let body = json!({ "assistant_id": named(at), "webhook_url": url });
                let switch = if kind == "inbound" { "enable-inbound-webhook" } else { "enable-webhook" };
                Ask::post(format!("/user/assistants/{switch}"), body)
            }
            Act::EditAssistant if self.random.chance(200) => {
                let switch = if kind == "inbound" { "disable-inbound-webhook" } else { "disable-webhook" };
                Ask::post(format!("/user/assistants/{switch}"), json!({ "assistant_id": named(at) }))
            }
            Act::EditAssistant => {
                let receiver = self.receiver();
                let mut changes = draw::manner(&mut self.random, receiver);
                changes.as_object_mut()?.retain(|name, _| name != "is_webhook_active" && self.random.chance(500));
                Ask::put(path, changes)
            }
            _ => Ask::delete(path),
        })
    }
}
