//! API records of leads.

use alloc::string::String;
use alloc::vec::Vec;

use crate::http::csv::CsvSeparator;
use crate::key::Kind;
use crate::limits::SECONDARY_CONTACTS_MAX;
use crate::record::{
    Ref, Sql, Strictness, VariableChanges, Variables, boolean, choice, format, id, list, ordered, per_page, sql, text,
    variable_changes, variables,
};
use crate::{choice, record};

choice! {
    /// State of a lead.
    pub enum LeadStatus {
        /// New; not called yet.
        Created = "created",
        /// Next in line to be called.
        Scheduled = "scheduled",
        /// Being called, or its secondary contacts are.
        Processing = "processing",
        /// Reached, or set by the API: it is not called again.
        Completed = "completed",
        /// Not reached; called again later.
        Rescheduled = "rescheduled",
        /// Not reached in any of its rounds, or set by the API: it is not called again.
        ReachedMaxRetries = "reached-max-retries",
        /// Its number is on the account's list of numbers not to be called.
        Blacklisted = "blacklisted",
    }
}

record! {
    /// A further person to try if the lead is not reached.
    pub struct NewContact {
        /// Number to call, E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
        /// Variables of this person, laid over those of the lead; for example `customer_name` and `email`.
        variables: Variables = variables(),
    }
}

record! {
    /// Body of `POST /user/lead`.
    pub struct NewLead {
        /// Number to call, E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
        /// Id of the campaign that calls the lead.
        campaign_id: u64 = id().exists(Ref::Row(Kind::Campaign)).required(),
        /// Variables filled into the assistant's prompts, for example `customer_name` and `email`.
        variables: Variables = variables(),
        /// Whether the lead is created even if the campaign already has its number; spelled as the API family spells
        /// it.
        allow_dupplicate: bool = boolean().or_bool(false),
        /// Further people to try if the lead is not reached, in order.
        secondary_contacts: Vec<NewContact> = list::<NewContact>(SECONDARY_CONTACTS_MAX),
    }
}

record! {
    /// Body of `PUT /user/leads/{id}`.
    pub struct ChangedLead {
        /// Id of the campaign to move the lead to, with its secondary contacts.
        campaign_id: Option<u64> = id().exists(Ref::Row(Kind::Campaign)),
        /// New number to call, E.164.
        phone_number: Option<String> = text(1, 16).form(&format::E164),
        /// New state: `created`, `completed` or `reached-max-retries`.
        status: Option<LeadStatus> = choice::<LeadStatus>(),
        /// Variables to add to the lead's own, or to replace there; `null` removes one.
        variables: VariableChanges = variable_changes(),
    }
}

record! {
    /// The campaign of a lead.
    pub struct LeadCampaign {
        /// Id of the campaign.
        id: u64 = id().required(),
        /// Name of the campaign.
        name: String = text(0, 255).required(),
    }
}

record! {
    /// A further person to try if the lead is not reached.
    pub struct Contact {
        /// Id of the contact; it is read, changed and deleted as a lead.
        id: u64 = id().required(),
        /// Number to call, E.164.
        phone_number: String = text(0, 16).required(),
        /// Variables of this person, laid over those of the lead.
        variables: Variables = variables(),
        /// Current state of the contact.
        status: LeadStatus = choice::<LeadStatus>().required(),
        /// When the contact was created, UTC.
        created_at: Sql = sql().required(),
        /// When the contact last changed, UTC.
        updated_at: Sql = sql().required(),
    }
}

record! {
    /// A lead of a campaign.
    pub struct Lead {
        /// Id of the lead, assigned by the service.
        id: u64 = id().required(),
        /// Id of the campaign that calls the lead.
        campaign_id: u64 = id().required(),
        /// Number to call, E.164.
        phone_number: String = text(0, 16).required(),
        /// Variables filled into the assistant's prompts.
        variables: Variables = variables(),
        /// Current state of the lead.
        status: LeadStatus = choice::<LeadStatus>().required(),
        /// When the lead was created, UTC.
        created_at: Sql = sql().required(),
        /// When the lead last changed, UTC.
        updated_at: Sql = sql().required(),
        /// The same campaign, with its name.
        campaign: LeadCampaign = crate::record::object::<LeadCampaign>().required(),
        /// Further people to try if the lead is not reached, in order.
        secondary_contacts: Vec<Contact> = list::<Contact>(SECONDARY_CONTACTS_MAX),
    }
}

record! {
    /// Query of `GET /user/leads`.
    pub struct LeadQuery {
        /// Only leads in this state.
        status: Option<LeadStatus> = choice::<LeadStatus>(),
        /// Only leads of this campaign.
        campaign_id: Option<u64> = id(),
        /// Only leads whose number contains these digits.
        phone_number: Option<String> = text(1, 32),
        /// Only leads created on or after this UTC day, `YYYY-MM-DD`.
        date_from: Option<String> = text(1, 10).form(&format::DATE),
        /// Only leads created on or before this UTC day, `YYYY-MM-DD`.
        date_to: Option<String> = text(1, 10).form(&format::DATE),
        /// For `text/csv`: what separates cells; a comma if not given.
        separator: Option<CsvSeparator> = choice::<CsvSeparator>(),
        /// Number of leads on a page.
        per_page: u32 = per_page(15),
        /// Number of the page, from 1.
        page: u64 = id().or_int(1),
    } rules {
        ordered("date_from", "date_to", Strictness::OrEqual, "field must not be before the date from field."),
    }
}
