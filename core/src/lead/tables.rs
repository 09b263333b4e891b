//! The tables of leads.

use alloc::string::String;
use alloc::vec::Vec;

use crate::key::Kind;
use crate::limits::SECONDARY_CONTACTS_MAX;
use crate::record::{
    Ref, Sql, Strictness, Variables, boolean, choice, format, id, int, list, ordered, sql, text, variables,
};
use crate::{choice, record};

choice! {
    /// The states of a lead.
    pub enum LeadStatus {
        /// New.
        Created = "created",
        /// It is to be called.
        Scheduled = "scheduled",
        /// It is being called.
        Processing = "processing",
        /// It is done.
        Completed = "completed",
        /// It is called again later.
        Rescheduled = "rescheduled",
        /// It was called often enough.
        ReachedMaxRetries = "reached-max-retries",
        /// Its number is not to be called.
        Blacklisted = "blacklisted",
    }
}

record! {
    /// A further person to try for a lead.
    pub struct NewContact {
        /// E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
        /// For example `customer_name` and `email`.
        variables: Variables = variables(),
    }
}

record! {
    /// Body of `POST /user/lead`.
    pub struct NewLead {
        /// E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
        /// The campaign.
        campaign_id: u64 = id().exists(Ref::Row(Kind::Campaign)).required(),
        /// For example `customer_name` and `email`.
        variables: Variables = variables(),
        /// Whether the campaign may have the number already; spelled as the API family spells it.
        allow_dupplicate: bool = boolean().or_bool(false),
        /// Further people to try, in order.
        secondary_contacts: Vec<NewContact> = list::<NewContact>(SECONDARY_CONTACTS_MAX),
    }
}

record! {
    /// Body of `PUT /user/leads/{id}`.
    pub struct ChangedLead {
        /// Another campaign.
        campaign_id: Option<u64> = id().exists(Ref::Row(Kind::Campaign)),
        /// Another number, E.164.
        phone_number: Option<String> = text(1, 16).form(&format::E164),
        /// `created`, `completed` or `reached-max-retries`.
        status: Option<LeadStatus> = choice::<LeadStatus>(),
        /// Laid over the lead's own.
        variables: Variables = variables(),
    }
}

record! {
    /// A lead's campaign.
    pub struct LeadCampaign {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(0, 255).required(),
    }
}

record! {
    /// A further person to try for a lead.
    pub struct Contact {
        /// Its id, as a lead.
        id: u64 = id().required(),
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// Its variables.
        variables: Variables = variables(),
        /// Where it stands.
        status: LeadStatus = choice::<LeadStatus>().required(),
        /// When it was made, UTC.
        created_at: Sql = sql().required(),
        /// When it last changed, UTC.
        updated_at: Sql = sql().required(),
    }
}

record! {
    /// A lead.
    pub struct Lead {
        /// Its id.
        id: u64 = id().required(),
        /// Its campaign.
        campaign_id: u64 = id().required(),
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// Its variables.
        variables: Variables = variables(),
        /// Where it stands.
        status: LeadStatus = choice::<LeadStatus>().required(),
        /// When it was made, UTC.
        created_at: Sql = sql().required(),
        /// When it last changed, UTC.
        updated_at: Sql = sql().required(),
        /// Its campaign.
        campaign: LeadCampaign = crate::record::object::<LeadCampaign>().required(),
        /// Further people to try, in order.
        secondary_contacts: Vec<Contact> = list::<Contact>(SECONDARY_CONTACTS_MAX),
    }
}

record! {
    /// Query of `GET /user/leads`.
    pub struct LeadQuery {
        /// Leads in this state.
        status: Option<LeadStatus> = choice::<LeadStatus>(),
        /// Leads of this campaign.
        campaign_id: Option<u64> = id(),
        /// Leads whose number contains this.
        phone_number: Option<String> = text(1, 32),
        /// From this UTC day on.
        date_from: Option<String> = text(1, 10).form(&format::DATE),
        /// Until this UTC day, included.
        date_to: Option<String> = text(1, 10).form(&format::DATE),
        /// Rows a page.
        per_page: u32 = int(1, 100).or_int(15),
        /// The page, from 1.
        page: u64 = id().or_int(1),
    } rules {
        ordered("date_from", "date_to", Strictness::OrEqual, "field must not be before the date from field."),
    }
}
