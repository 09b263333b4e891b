//! Requests of people about calls and webhooks.

use serde_json::{Value, json};
use switchboard_core::webhook::tables::DeliveryStatus;

use super::{Act, named};
use crate::checks::Cause;
use crate::client::Ask;
use crate::draw;
use crate::mirror::At;
use crate::world::World;

/// Probability that a command is sent instead of a hang-up, per mille.
const COMMANDS: u64 = 500;

/// Returns one of each command.
fn commands() -> [Value; 7] {
    [
        json!({ "type": "say", "text": "One more thing." }),
        json!({ "type": "context", "text": "They are in a hurry." }),
        json!({ "type": "transfer", "to": "+40700000001" }),
        json!({ "type": "dtmf", "digits": "12#" }),
        json!({ "type": "hold" }),
        json!({ "type": "resume" }),
        json!({ "type": "end", "after": "sentence" }),
    ]
}

impl World {
    pub(super) fn act_on_call(&mut self, person: usize, act: Act) -> Option<Ask> {
        let account = self.people[person].account;
        if act == Act::Call {
            let kind = self.random.one(&["outbound", "outbound", "inbound"]);
            let assistant = self.assistant(account, kind)?;
            let body = json!({ "assistant_id": named(assistant), "phone_number": draw::phone(&mut self.random) });
            self.people[person].by_hand += 1;
            let key = format!("call {account} {}", self.people[person].by_hand);
            return Some(Ask::post("/user/make_call", body).keyed(key));
        }
        let runs = act == Act::HangUp;
        let calls = self.mirror.calls.iter();
        let calls: Vec<At> =
            calls.filter(|(at, call)| at.0 == account && call.status.is_running() == runs).map(|(at, _)| *at).collect();
        let at = named(self.one_of(calls.into_iter())?);
        let path = format!("/user/calls/{at}");
        if runs && self.random.chance(COMMANDS) {
            let body = self.random.pick(&commands()).cloned()?;
            return Some(Ask::post(format!("{path}/commands"), body));
        }
        Some(if runs { Ask::post(format!("{path}/hangup"), json!({})) } else { Ask::delete(path) })
    }

    pub(super) fn act_on_webhooks(&mut self, person: usize, act: Act) -> Option<(Ask, Cause)> {
        let account = self.people[person].account;
        if act == Act::Rotate {
            return Some((Ask::post("/user/webhook-secrets/rotate", json!({})), Cause::default()));
        }
        let pending = self.random.chance(500);
        let rows = self.mirror.deliveries.iter();
        let rows: Vec<At> = rows
            .filter(|(at, row)| at.0 == account && (!pending || row.status == DeliveryStatus::Pending))
            .map(|(at, _)| *at)
            .collect();
        let at = self.one_of(rows.into_iter())?;
        let ask = Ask::post(format!("/user/webhook-deliveries/{}/resend", named(at)), json!({}));
        Some((ask, Cause { resend: Some(at), ..Cause::default() }))
    }
}
