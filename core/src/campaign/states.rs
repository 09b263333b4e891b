//! State machine of a campaign (docs/api.md, States).

use super::tables::CampaignStatus::{self, Completed, Draft, InProgress, Stopped};
use crate::state::States;

/// An event that may change a campaign's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignEvent {
    /// A user starts it.
    Start,
    /// A user or the operator stops it, or its assistant is deleted.
    Stop,
    /// No lead is left to call.
    Complete,
}

impl CampaignEvent {
    /// Every event, in the order of the enum.
    pub const ALL: [Self; 3] = [Self::Start, Self::Stop, Self::Complete];
}

/// Transitions of a campaign: state, event, next state.
#[rustfmt::skip]
pub static MOVES: States<CampaignStatus, CampaignEvent> = States(&[
    (Draft,      CampaignEvent::Start,    InProgress),
    (Stopped,    CampaignEvent::Start,    InProgress),
    (Completed,  CampaignEvent::Start,    InProgress),
    (InProgress, CampaignEvent::Stop,     Stopped),
    (InProgress, CampaignEvent::Complete, Completed),
]);
