//! Requests of people about conversations, and talks that begin.

use serde_json::json;

use super::Act;
use crate::client::Ask;
use crate::mirror::At;
use crate::world::World;

impl World {
    pub(super) fn act_on_talk(&mut self, person: usize, act: Act) -> Option<Ask> {
        let account = self.people[person].account;
        if act == Act::Talk {
            let rows: Vec<At> = self.mirror.assistants.keys().filter(|at| at.0 == account).copied().collect();
            let assistant = self.random.pick(&rows).copied()?;
            self.begin_talk(person, assistant, 0);
            return None;
        }
        let rows: Vec<At> = self.mirror.conversations.keys().filter(|at| at.0 == account).copied().collect();
        let at = self.random.pick(&rows).copied()?;
        self.meddle(at, act)
    }

    /// Returns the request of an act on a conversation.
    pub(crate) fn meddle(&mut self, at: At, act: Act) -> Option<Ask> {
        let row = self.mirror.conversations.get(&at)?;
        let uuid = &row.uuid;
        Some(match act {
            Act::DropTalk => Ask::delete(format!("/user/conversations/{uuid}")),
            _ if row.ai_enabled => Ask::post(format!("/automate/conversations/{uuid}/disable-ai"), json!({})),
            _ => Ask::post(format!("/automate/conversations/{uuid}/enable-ai"), json!({})),
        })
    }
}
