//! [`Task`]: what there is to do, and the bytes by which it is known.

use alloc::string::String;
use alloc::vec::Vec;

use crate::choice;
use crate::id;
use crate::key::{Kind, Space};

/// What there is to do. Its bytes are its identity within its account: a task that is planned twice is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Find out what an unanswered purchase came to.
    SettlePurchase {
        /// What was taken off the balance, millionths of a dollar.
        micros: i64,
        /// Which purchase.
        claim: u32,
        /// The number.
        number: String,
    },
    /// Give a number back, by its count.
    Release(u32),
    /// Delete the parts of something large, by kind and count.
    DropParts(Kind, u32),
    /// Delete the leads of a campaign that is gone, by its count.
    DropLeads(u32),
    /// Forget idempotency keys.
    SweepIdempotency,
    /// Look after a call's lease and time limits, by its count.
    Watch(u32),
    /// Evaluate a call and extract its fields, by its count.
    Conclude(u32),
    /// Try to deliver a webhook, by the delivery's count.
    Deliver(u32),
    /// Forget events and deliveries of the past.
    SweepEvents,
    /// Place the next calls of a campaign, by its count.
    Dial(u32),
    /// Fetch or read what comes next of a document, by its count.
    Ingest(u32),
    /// Index the next slice of a document's text, by its count.
    Index(u32),
    /// Take a document that is gone out of its knowledgebase's index, by both counts.
    DropPassages(u32, u32),
    /// Read the next lines of an import, by its count.
    Import(u32),
    /// Go on with a deletion that takes a resource away from assistants, by kind and count.
    Detach(Kind, u32),
    /// Empty the events of the feed that show a call or a lead that was deleted, by kind and count.
    EmptyEvents(Kind, u32),
    /// Look for such events among those that are older than the index of the feed.
    EmptyOldEvents {
        /// A call, a lead, or a campaign for all its leads.
        kind: Kind,
        /// Its count.
        count: u32,
        /// The sequence number of the first event to look at.
        from: u32,
    },
}

choice! {
    /// The kinds of jobs.
    pub enum JobKind {
        /// Find out what an unanswered purchase of a number came to.
        SettlePurchase = "settle_purchase",
        /// Give a number back.
        ReleaseNumber = "release_number",
        /// Delete the parts of something large.
        DropParts = "drop_parts",
        /// Delete the leads of a campaign that is gone.
        DropLeads = "drop_leads",
        /// Forget idempotency keys.
        SweepIdempotency = "sweep_idempotency",
        /// Look after the clocks of a call.
        WatchCall = "watch_call",
        /// Evaluate a call.
        ConcludeCall = "conclude_call",
        /// Deliver a webhook.
        DeliverWebhook = "deliver_webhook",
        /// Forget events and deliveries of the past.
        SweepEvents = "sweep_events",
        /// Place the next calls of a campaign.
        DialCampaign = "dial_campaign",
        /// Fetch or read a document.
        IngestDocument = "ingest_document",
        /// Index a document.
        IndexDocument = "index_document",
        /// Take a document that is gone out of its index.
        DropPassages = "drop_passages",
        /// Read the lines of an import.
        Import = "import",
        /// Take something that is gone away from assistants.
        Detach = "detach",
        /// Empty the events of the feed that show what was deleted.
        EmptyEvents = "empty_events",
        /// One of another release.
        Unknown = "unknown",
    }
}

/// What a task waits in: a slow neighbour holds up its own lane only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Lane {
    /// Quick, and asks nobody.
    Quick = 0,
    /// Asks something outside.
    Asking = 1,
    /// Asked, and waits for the answer: due when its lease lapses.
    Leased = 2,
    /// One slice of something long.
    Slice = 3,
}

impl Lane {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Quick, Self::Asking, Self::Leased, Self::Slice];

    /// The lane of a stored number.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| *lane as u8 == number)
    }
}

impl Task {
    /// Where it waits.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Watch(_) | Self::Dial(_) => Lane::Quick,
            Self::SettlePurchase { .. } | Self::Release(_) | Self::Conclude(_) | Self::Deliver(_) | Self::Ingest(_) => {
                Lane::Asking
            }
            Self::DropParts(..)
            | Self::DropLeads(_)
            | Self::SweepIdempotency
            | Self::SweepEvents
            | Self::DropPassages(..)
            | Self::Index(_)
            | Self::Import(_)
            | Self::Detach(..)
            | Self::EmptyEvents(..)
            | Self::EmptyOldEvents { .. } => Lane::Slice,
        }
    }

    /// Whether an account that has used up its storage cannot go on with it.
    pub fn grows(&self) -> bool {
        matches!(self, Self::Dial(_) | Self::Ingest(_) | Self::Index(_) | Self::Import(_))
    }

    /// What kind of job it is.
    pub fn kind(&self) -> JobKind {
        match self {
            Self::SettlePurchase { .. } => JobKind::SettlePurchase,
            Self::Release(_) => JobKind::ReleaseNumber,
            Self::DropParts(..) => JobKind::DropParts,
            Self::DropLeads(_) => JobKind::DropLeads,
            Self::SweepIdempotency => JobKind::SweepIdempotency,
            Self::Watch(_) => JobKind::WatchCall,
            Self::Conclude(_) => JobKind::ConcludeCall,
            Self::Deliver(_) => JobKind::DeliverWebhook,
            Self::SweepEvents => JobKind::SweepEvents,
            Self::Dial(_) => JobKind::DialCampaign,
            Self::Ingest(_) => JobKind::IngestDocument,
            Self::Index(_) => JobKind::IndexDocument,
            Self::DropPassages(..) => JobKind::DropPassages,
            Self::Import(_) => JobKind::Import,
            Self::Detach(..) => JobKind::Detach,
            Self::EmptyEvents(..) | Self::EmptyOldEvents { .. } => JobKind::EmptyEvents,
        }
    }

    /// What it is about, in words: the kind of resource and its id as the API shows it.
    pub fn reference(&self, space: Space) -> String {
        let (what, count) = match self {
            Self::SettlePurchase { number, .. } => return alloc::format!("number {number}"),
            Self::SweepIdempotency | Self::SweepEvents => return "account".into(),
            Self::DropParts(kind, count)
            | Self::Detach(kind, count)
            | Self::EmptyEvents(kind, count)
            | Self::EmptyOldEvents { kind, count, .. } => (word_of(*kind), count),
            Self::Release(count) => ("number", count),
            Self::DropLeads(count) | Self::Dial(count) => ("campaign", count),
            Self::Watch(count) | Self::Conclude(count) => ("call", count),
            Self::Deliver(count) => ("delivery", count),
            Self::Ingest(count) | Self::Index(count) | Self::DropPassages(_, count) => ("document", count),
            Self::Import(count) => ("import", count),
        };
        alloc::format!("{what} {}", id::of(space, *count))
    }

    /// Its stored bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (tag, rest): (u8, Vec<u8>) = match self {
            Self::SettlePurchase { micros, claim, number } => {
                (1, [&micros.to_be_bytes()[..], &claim.to_be_bytes(), number.as_bytes()].concat())
            }
            Self::Release(count) => (2, count.to_be_bytes().into()),
            Self::DropParts(kind, count) => (3, [&[*kind as u8][..], &count.to_be_bytes()].concat()),
            Self::DropLeads(count) => (4, count.to_be_bytes().into()),
            Self::SweepIdempotency => (5, Vec::new()),
            Self::Watch(count) => (6, count.to_be_bytes().into()),
            Self::Conclude(count) => (7, count.to_be_bytes().into()),
            Self::Deliver(count) => (8, count.to_be_bytes().into()),
            Self::SweepEvents => (9, Vec::new()),
            Self::Dial(count) => (10, count.to_be_bytes().into()),
            Self::Ingest(count) => (11, count.to_be_bytes().into()),
            Self::DropPassages(base, document) => (12, [base.to_be_bytes(), document.to_be_bytes()].concat()),
            Self::Import(count) => (13, count.to_be_bytes().into()),
            Self::Index(count) => (14, count.to_be_bytes().into()),
            Self::Detach(kind, count) => (30, [&[*kind as u8][..], &count.to_be_bytes()].concat()),
            Self::EmptyEvents(kind, count) => (20, [&[*kind as u8][..], &count.to_be_bytes()].concat()),
            Self::EmptyOldEvents { kind, count, from } => {
                (21, [&[*kind as u8][..], &count.to_be_bytes(), &from.to_be_bytes()].concat())
            }
        };
        [&[tag][..], &rest].concat()
    }

    /// Reads stored bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first()?;
        let count = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let task = match tag {
            1 => {
                let micros = i64::from_be_bytes(rest.get(..8)?.try_into().ok()?);
                let number = core::str::from_utf8(rest.get(12..)?).ok()?.into();
                Self::SettlePurchase { micros, claim: count(8)?, number }
            }
            2 => Self::Release(count(0)?),
            3 => Self::DropParts(Kind::from_u8(*rest.first()?)?, count(1)?),
            4 => Self::DropLeads(count(0)?),
            5 => Self::SweepIdempotency,
            6 => Self::Watch(count(0)?),
            7 => Self::Conclude(count(0)?),
            8 => Self::Deliver(count(0)?),
            9 => Self::SweepEvents,
            10 => Self::Dial(count(0)?),
            11 => Self::Ingest(count(0)?),
            12 => Self::DropPassages(count(0)?, count(4)?),
            13 => Self::Import(count(0)?),
            14 => Self::Index(count(0)?),
            30 => Self::Detach(Kind::from_u8(*rest.first()?)?, count(1)?),
            20 => Self::EmptyEvents(Kind::from_u8(*rest.first()?)?, count(1)?),
            21 => {
                let kind = Kind::from_u8(*rest.first()?)?;
                Self::EmptyOldEvents { kind, count: count(1)?, from: count(5)? }
            }
            _ => return None,
        };
        Some(task)
    }
}

/// A kind of resource in words.
fn word_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Call => "call",
        Kind::Document => "document",
        Kind::Import => "import",
        Kind::Tool => "tool",
        Kind::Knowledgebase => "knowledgebase",
        Kind::Number => "number",
        Kind::Lead => "lead",
        Kind::Campaign => "campaign",
        _ => "resource",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_read_back_and_differ() {
        let tasks = [
            Task::SettlePurchase { number: "+1".into(), micros: -5, claim: 8 },
            Task::Release(7),
            Task::DropParts(Kind::Document, 9),
            Task::DropLeads(7),
            Task::SweepIdempotency,
            Task::Watch(7),
            Task::Conclude(7),
            Task::Deliver(7),
            Task::SweepEvents,
            Task::Dial(7),
            Task::Ingest(7),
            Task::Index(7),
            Task::DropPassages(7, 8),
            Task::Import(7),
            Task::Detach(Kind::Tool, 7),
            Task::EmptyEvents(Kind::Call, 7),
            Task::EmptyOldEvents { kind: Kind::Lead, count: 7, from: 8 },
        ];
        for (at, task) in tasks.iter().enumerate() {
            assert_eq!(Task::from_bytes(&task.to_bytes()).as_ref(), Some(task));
            assert!(tasks.iter().skip(at + 1).all(|other| other.to_bytes() != task.to_bytes()));
        }
        assert_eq!(Task::from_bytes(&[0]), None);
        assert_eq!(Task::from_bytes(&[2, 0]), None);
    }
}
