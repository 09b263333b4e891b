//! [`Task`]: a unit of durable work, and the bytes that identify it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::choice;
use crate::id;
use crate::key::{Kind, Space};
use crate::numbered::numbered;

/// A unit of durable work. Its bytes are its identity within the account: scheduling the same task twice yields one
/// job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Find out whether an unanswered purchase succeeded.
    SettlePurchase {
        /// Amount charged to the balance, millionths of a dollar.
        micros: i64,
        /// Random number that identifies the purchase.
        claim: u32,
        /// The number in E.164 form.
        number: String,
    },
    /// Return a number to the carrier, by its count.
    Release(u32),
    /// Delete the parts of a large resource, by kind and count.
    DropParts(Kind, u32),
    /// Delete the leads of a deleted campaign, by its count.
    DropLeads(u32),
    /// Delete expired idempotency keys.
    SweepIdempotency,
    /// Enforce a call's lease and time limits, by its count.
    Watch(u32),
    /// Evaluate a call and extract its fields, by its count.
    Conclude(u32),
    /// Try to deliver a webhook, by the delivery's count.
    Deliver(u32),
    /// Delete events and deliveries that are no longer kept.
    SweepEvents,
    /// Place the next calls of a campaign, by its count.
    Dial(u32),
    /// Cancel the queued calls of a campaign that does not run any more.
    CallOff {
        /// Count of the campaign.
        campaign: u32,
        /// Count of the call after which to go on.
        after: u32,
    },
    /// Fetch or extract the next part of a document, by its count.
    Ingest(u32),
    /// Index the next slice of a document's text, by its count.
    Index(u32),
    /// Remove a deleted document from its knowledgebase's index, by the counts of both.
    DropPassages(u32, u32),
    /// Read the next lines of an import, by its count.
    Import(u32),
    /// End a conversation in which nobody says anything, by its count.
    EndConversation(u32),
    /// Continue a deletion that detaches a resource from assistants, by kind and count.
    Detach(Kind, u32),
    /// Delete the objects of a call that are not its recording, by its count.
    DropRecordings(u32),
    /// Erase an account that is being deleted.
    EraseAccount,
    /// Blank the feed events that show a deleted call or lead, by kind and count.
    EmptyEvents(Kind, u32),
    /// Blank such events among those older than the feed's index.
    EmptyOldEvents {
        /// Call, lead, or campaign (for all its leads).
        kind: Kind,
        /// Count of that resource.
        count: u32,
        /// Sequence number of the first event to examine.
        from: u32,
    },
}

choice! {
    /// Kind of job.
    pub enum JobKind {
        /// Find out whether an unanswered purchase of a number succeeded.
        SettlePurchase = "settle_purchase",
        /// Return a number to the carrier.
        ReleaseNumber = "release_number",
        /// Delete the parts of a large resource.
        DropParts = "drop_parts",
        /// Delete the leads of a deleted campaign.
        DropLeads = "drop_leads",
        /// Delete expired idempotency keys.
        SweepIdempotency = "sweep_idempotency",
        /// Enforce a call's lease and time limits.
        WatchCall = "watch_call",
        /// Evaluate a call and extract its fields.
        ConcludeCall = "conclude_call",
        /// Deliver a webhook.
        DeliverWebhook = "deliver_webhook",
        /// Delete events and deliveries that are no longer kept.
        SweepEvents = "sweep_events",
        /// Place the next calls of a campaign.
        DialCampaign = "dial_campaign",
        /// Cancel the queued calls of a stopped or deleted campaign.
        CallOff = "call_off",
        /// Fetch or extract a document.
        IngestDocument = "ingest_document",
        /// Index a document.
        IndexDocument = "index_document",
        /// Remove a deleted document from the index.
        DropPassages = "drop_passages",
        /// Read the lines of an import.
        Import = "import",
        /// End a conversation in which nobody says anything.
        EndConversation = "end_conversation",
        /// Delete recordings that are not needed any more.
        DropRecordings = "drop_recordings",
        /// Detach a deleted resource from assistants.
        Detach = "detach",
        /// Blank the feed events that show a deleted resource.
        EmptyEvents = "empty_events",
        /// Erase a deleted account.
        EraseAccount = "erase_account",
        /// A job of another release.
        Unknown = "unknown",
    }
}

numbered! {
    /// Queue that a task waits in: slow work delays only its own lane.
    pub enum Lane {
        /// Quick, and needs nothing from outside.
        Quick = 0,
        /// Asks something outside, over the network.
        Asking = 1,
        /// Waits for an answer: due when its lease expires.
        Leased = 2,
        /// One slice of long work.
        Slice = 3,
    }
}

impl Task {
    /// What the stored bytes of every [`Self::SettlePurchase`] begin with.
    pub const PURCHASES: [u8; 1] = [1];

    /// Returns the lane in which it waits when scheduled.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Watch(_) | Self::Dial(_) => Lane::Quick,
            Self::SettlePurchase { .. }
            | Self::Release(_)
            | Self::Conclude(_)
            | Self::Deliver(_)
            | Self::Ingest(_)
            | Self::EndConversation(_)
            | Self::DropRecordings(_) => Lane::Asking,
            Self::DropParts(..)
            | Self::DropLeads(_)
            | Self::CallOff { .. }
            | Self::SweepIdempotency
            | Self::SweepEvents
            | Self::DropPassages(..)
            | Self::Index(_)
            | Self::Import(_)
            | Self::Detach(..)
            | Self::EraseAccount
            | Self::EmptyEvents(..)
            | Self::EmptyOldEvents { .. } => Lane::Slice,
        }
    }

    /// Returns whether it adds to the account's storage, so that it cannot run once that is used up.
    pub fn grows(&self) -> bool {
        matches!(self, Self::Dial(_) | Self::Ingest(_) | Self::Index(_) | Self::Import(_))
    }

    /// Returns the kind of job.
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
            Self::CallOff { .. } => JobKind::CallOff,
            Self::Ingest(_) => JobKind::IngestDocument,
            Self::Index(_) => JobKind::IndexDocument,
            Self::DropPassages(..) => JobKind::DropPassages,
            Self::Import(_) => JobKind::Import,
            Self::EndConversation(_) => JobKind::EndConversation,
            Self::DropRecordings(_) => JobKind::DropRecordings,
            Self::Detach(..) => JobKind::Detach,
            Self::EraseAccount => JobKind::EraseAccount,
            Self::EmptyEvents(..) | Self::EmptyOldEvents { .. } => JobKind::EmptyEvents,
        }
    }

    /// Returns what it works on, in words: the kind of resource and its id in the API, for example `call 4294967297`.
    pub fn reference(&self, space: Space) -> String {
        let (what, count) = match self {
            Self::SettlePurchase { number, .. } => return alloc::format!("number {number}"),
            Self::SweepIdempotency | Self::SweepEvents | Self::EraseAccount => return "account".into(),
            Self::DropParts(kind, count)
            | Self::Detach(kind, count)
            | Self::EmptyEvents(kind, count)
            | Self::EmptyOldEvents { kind, count, .. } => (word_of(*kind), count),
            Self::Release(count) => ("number", count),
            Self::DropLeads(count) | Self::Dial(count) | Self::CallOff { campaign: count, .. } => ("campaign", count),
            Self::Watch(count) | Self::Conclude(count) | Self::DropRecordings(count) => ("call", count),
            Self::Deliver(count) => ("delivery", count),
            Self::Ingest(count) | Self::Index(count) | Self::DropPassages(_, count) => ("document", count),
            Self::Import(count) => ("import", count),
            Self::EndConversation(count) => ("conversation", count),
        };
        alloc::format!("{what} {}", id::of(space, *count))
    }

    /// Returns the stored bytes: a tag, then the fields, big-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (tag, rest): (u8, Vec<u8>) = match self {
            Self::SettlePurchase { micros, claim, number } => {
                (Self::PURCHASES[0], [&micros.to_be_bytes()[..], &claim.to_be_bytes(), number.as_bytes()].concat())
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
            Self::CallOff { campaign, after } => (15, [campaign.to_be_bytes(), after.to_be_bytes()].concat()),
            Self::EndConversation(count) => (16, count.to_be_bytes().into()),
            Self::DropRecordings(count) => (17, count.to_be_bytes().into()),
            Self::Detach(kind, count) => (30, [&[*kind as u8][..], &count.to_be_bytes()].concat()),
            Self::EraseAccount => (31, Vec::new()),
            Self::EmptyEvents(kind, count) => (20, [&[*kind as u8][..], &count.to_be_bytes()].concat()),
            Self::EmptyOldEvents { kind, count, from } => {
                (21, [&[*kind as u8][..], &count.to_be_bytes(), &from.to_be_bytes()].concat())
            }
        };
        [&[tag][..], &rest].concat()
    }

    /// Parses stored bytes; `None` if they are not a task of this release.
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
            15 => Self::CallOff { campaign: count(0)?, after: count(4)? },
            16 => Self::EndConversation(count(0)?),
            17 => Self::DropRecordings(count(0)?),
            30 => Self::Detach(Kind::from_u8(*rest.first()?)?, count(1)?),
            31 => Self::EraseAccount,
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

/// Returns the word for a kind of resource.
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
        Kind::Conversation => "conversation",
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
            Task::CallOff { campaign: 7, after: 8 },
            Task::DropPassages(7, 8),
            Task::Import(7),
            Task::EndConversation(7),
            Task::DropRecordings(7),
            Task::Detach(Kind::Tool, 7),
            Task::EraseAccount,
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
