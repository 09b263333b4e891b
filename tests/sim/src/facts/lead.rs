//! Leads, and numbers that are not to be called.

use serde::Deserialize;
use switchboard_core::lead::tables::LeadStatus;
use switchboard_core::time::Timestamp;

use super::{Fact, json, word};

/// A lead, or a secondary contact.
#[derive(Clone, Debug)]
pub struct Lead {
    /// Where it stands.
    pub status: LeadStatus,
    /// Its campaign, by count.
    pub campaign: u32,
    /// Its number.
    pub phone: String,
    /// Of a secondary contact: its lead.
    pub parent: Option<u32>,
    /// Its secondary contacts.
    pub contacts: Vec<u32>,
    /// Rounds that are over.
    pub rounds: u32,
    /// Who is next in this round.
    pub person: u32,
    /// The call in which it is being called; 0: none.
    pub call: u32,
    /// When it is called next, where that is planned.
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
    /// Whether the dialer is done with it.
    pub const fn is_done(&self) -> bool {
        matches!(self.status, LeadStatus::Completed | LeadStatus::ReachedMaxRetries | LeadStatus::Blacklisted)
    }
}

/// A number that is not to be called.
#[derive(Clone, Debug, Deserialize)]
pub struct Suppressed {
    /// The number.
    pub phone_number: String,
}

impl Fact for Suppressed {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        json(public)
    }
}
