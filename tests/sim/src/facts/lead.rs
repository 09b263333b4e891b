//! Leads and suppressed numbers as the claims see them.

use serde::Deserialize;
use switchboard_core::lead::tables::LeadStatus;
use switchboard_core::time::Timestamp;

use super::{Fact, json, word};

/// A row of a lead, or of a secondary contact.
#[derive(Clone, Debug)]
pub struct Lead {
    /// State of the lead.
    pub status: LeadStatus,
    /// Count of the campaign.
    pub campaign: u32,
    /// Phone number, E.164, compared with suppressed numbers.
    pub phone: String,
    /// Count of the lead that a secondary contact belongs to; `None` for a lead.
    pub parent: Option<u32>,
    /// Counts of the secondary contacts.
    pub contacts: Vec<u32>,
    /// Rounds of calls that are over.
    pub rounds: u32,
    /// Position of the person who is next in this round.
    pub person: u32,
    /// Count of the call in which it is being called; 0 means none.
    pub call: u32,
    /// Planned time of the next call.
    pub due: Option<Timestamp>,
}

#[derive(Deserialize)]
struct LeadRow {
    status: String,
    campaign: u32,
    phone_number: String,
    parent: Option<u32>,
    contacts: Vec<u32>,
    #[serde(default)]
    rounds: u32,
    #[serde(default)]
    person: u32,
    #[serde(default)]
    call: u32,
    due: Option<String>,
}

impl Fact for Lead {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        let row: LeadRow = json(public)?;
        Some(Self {
            status: word(&row.status)?,
            campaign: row.campaign,
            phone: row.phone_number,
            parent: row.parent,
            contacts: row.contacts,
            rounds: row.rounds,
            person: row.person,
            call: row.call,
            due: row.due.as_deref().and_then(Timestamp::parse_iso),
        })
    }
}

impl Lead {
    /// Returns whether the dialer is done with it.
    pub const fn is_done(&self) -> bool {
        matches!(self.status, LeadStatus::Completed | LeadStatus::ReachedMaxRetries | LeadStatus::Blacklisted)
    }
}

/// A number on the suppression list.
#[derive(Clone, Debug, Deserialize)]
pub struct Suppressed {
    /// The suppressed number, E.164.
    pub phone_number: String,
}

impl Fact for Suppressed {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        json(public)
    }
}
