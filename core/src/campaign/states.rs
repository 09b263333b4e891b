//! The states of a campaign as a table (docs/api.md, States).

use super::tables::CampaignStatus::{self, Completed, Draft, InProgress, Stopped};
use crate::state::States;

/// What happens to a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignEvent {
    /// It is started.
    Start,
    /// It is stopped.
    Stop,
    /// No lead is left to call.
    Complete,
}

impl CampaignEvent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Start, Self::Stop, Self::Complete];
}

/// What moves a campaign.
#[rustfmt::skip]
pub static MOVES: States<CampaignStatus, CampaignEvent> = States(&[
    (Draft,      CampaignEvent::Start,    InProgress),
    (Stopped,    CampaignEvent::Start,    InProgress),
    (Completed,  CampaignEvent::Start,    InProgress),
    (InProgress, CampaignEvent::Stop,     Stopped),
    (InProgress, CampaignEvent::Complete, Completed),
]);
