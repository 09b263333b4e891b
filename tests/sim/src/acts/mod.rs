//! Acts of people: drawn by weight, each turned into a request.

mod calls;
mod campaigns;
mod leads;
mod talks;

use serde_json::{Value, json};
use switchboard_core::campaign::tables::CampaignStatus;
use switchboard_core::id;
use switchboard_core::key::Space;

use crate::checks::Cause;
use crate::client::Ask;
use crate::mirror::At;
use crate::world::World;

/// An act of a person, or of the operator on the person's account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Starts a campaign that is not running.
    Start,
    /// Stops a running campaign.
    Stop,
    /// Changes a campaign's rules.
    EditCampaign,
    /// Creates a campaign with random rules.
    NewCampaign,
    /// Deletes a campaign of the account.
    DropCampaign,
    /// Adds a lead to a campaign.
    NewLead,
    /// Deletes a lead or a secondary contact.
    DropLead,
    /// Sets a lead's status.
    SetLead,
    /// Moves a lead to another campaign.
    MoveLead,
    /// Changes a lead's number.
    Renumber,
    /// Adds a number to the suppression list.
    Suppress,
    /// Removes a number from the suppression list.
    Unsuppress,
    /// Hangs a call up.
    HangUp,
    /// Creates a call by hand.
    Call,
    /// Deletes a call of the account.
    DropCall,
    /// Has a webhook delivery sent again.
    Resend,
    /// Rotates the webhook secret.
    Rotate,
    /// Activates or deactivates an assistant.
    Turn,
    /// Changes an assistant's webhooks or timeouts.
    EditAssistant,
    /// Deletes an assistant of the account.
    DropAssistant,
    /// Releases a phone number.
    DropNumber,
    /// Somebody begins to talk to an assistant.
    Talk,
    /// Takes a conversation over from its assistant, or gives it back.
    TakeOver,
    /// Deletes a conversation.
    DropTalk,
    /// The operator suspends the account, or lifts the suspension.
    Suspend,
    /// The operator changes the plan's limit of parallel calls.
    Replan,
    /// The operator sets the account's balance, which makes it metered.
    Meter,
    /// The operator changes the price of an answer in a conversation.
    Price,
}

/// Every act with its weight.
pub const ACTS: [(u64, Act); 28] = [
    (14, Act::Start),
    (7, Act::Stop),
    (7, Act::EditCampaign),
    (2, Act::NewCampaign),
    (1, Act::DropCampaign),
    (10, Act::NewLead),
    (7, Act::DropLead),
    (8, Act::SetLead),
    (4, Act::MoveLead),
    (2, Act::Renumber),
    (6, Act::Suppress),
    (2, Act::Unsuppress),
    (8, Act::HangUp),
    (5, Act::Call),
    (3, Act::DropCall),
    (9, Act::Resend),
    (2, Act::Rotate),
    (3, Act::Turn),
    (4, Act::EditAssistant),
    (1, Act::DropAssistant),
    (1, Act::DropNumber),
    (24, Act::Talk),
    (4, Act::TakeOver),
    (1, Act::DropTalk),
    (1, Act::Suspend),
    (2, Act::Replan),
    (3, Act::Meter),
    (1, Act::Price),
];

/// Returns the id by which the API names a row.
pub fn named(at: At) -> u64 {
    id::of(Space::Account(at.0), at.1)
}

impl World {
    /// Returns the request of an act; `None` if there is nothing to apply it to.
    pub fn act(&mut self, person: usize, act: Act) -> Option<(Ask, Cause)> {
        let ask = match act {
            Act::Start | Act::Stop | Act::EditCampaign | Act::NewCampaign | Act::DropCampaign => {
                self.act_on_campaign(person, act)?
            }
            Act::NewLead | Act::DropLead | Act::SetLead | Act::MoveLead | Act::Renumber => {
                return self.act_on_lead(person, act);
            }
            Act::Suppress | Act::Unsuppress | Act::DropNumber => self.act_on_number(person, act)?,
            Act::HangUp | Act::Call | Act::DropCall => self.act_on_call(person, act)?,
            Act::Resend | Act::Rotate => return self.act_on_webhooks(person, act),
            Act::Turn | Act::EditAssistant | Act::DropAssistant => self.act_on_assistant(person, act)?,
            Act::Talk | Act::TakeOver | Act::DropTalk => self.act_on_talk(person, act)?,
            Act::Suspend | Act::Replan | Act::Meter | Act::Price => {
                self.operate(person, act);
                return None;
            }
        };
        Some((ask, Cause::default()))
    }

    fn one_of(&mut self, rows: impl Iterator<Item = At>) -> Option<At> {
        let rows: Vec<At> = rows.collect();
        self.random.pick(&rows).copied()
    }

    fn campaign(&mut self, account: u32, runs: Option<bool>) -> Option<At> {
        let all: Vec<At> = self
            .mirror
            .campaigns
            .iter()
            .filter(|(at, row)| {
                at.0 == account && runs.is_none_or(|runs| runs == (row.status == CampaignStatus::InProgress))
            })
            .map(|(at, _)| *at)
            .collect();
        self.random.pick(&all).copied()
    }

    fn assistant(&mut self, account: u32, kind: &str) -> Option<At> {
        let all: Vec<At> = self
            .mirror
            .assistants
            .iter()
            .filter(|(at, row)| at.0 == account && row.r#type == kind)
            .map(|(at, _)| *at)
            .collect();
        self.random.pick(&all).copied()
    }

    /// Performs an act of the operator, without faults.
    fn operate(&mut self, person: usize, act: Act) {
        let account = self.people[person].account;
        if act == Act::Replan {
            let calls = self.random.within(1..=12);
            self.replan(calls);
        } else if act == Act::Price {
            let dollars = self.random.one(&[0.0, 0.01, 0.05]);
            self.price(dollars);
        } else if act == Act::Meter {
            let dollars = self.random.one(&[0.0, 0.1, 0.5, 5.0]);
            self.meter(account, dollars);
        } else {
            self.suspend(account, !self.suspended.contains(&account));
        }
    }

    fn receiver(&mut self) -> usize {
        usize::try_from(self.random.below(self.receivers.count() as u64)).unwrap_or(0)
    }

    fn numbers_of(&self, account: u32) -> Vec<Value> {
        self.mirror.numbers.iter().filter(|at| at.0 == account).map(|at| json!(named(*at))).collect()
    }
}
