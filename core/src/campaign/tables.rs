//! The tables of campaigns.

use alloc::string::String;
use alloc::vec::Vec;

use crate::key::Kind;
use crate::limits::ENTRIES_MAX;
use crate::record::{Iso, Ref, boolean, choice, choices, format, id, ids, int, iso, text};
use crate::{choice, record};

choice! {
    /// The days of a week.
    pub enum Weekday {
        /// Monday.
        Monday = "monday",
        /// Tuesday.
        Tuesday = "tuesday",
        /// Wednesday.
        Wednesday = "wednesday",
        /// Thursday.
        Thursday = "thursday",
        /// Friday.
        Friday = "friday",
        /// Saturday.
        Saturday = "saturday",
        /// Sunday.
        Sunday = "sunday",
    }
}

choice! {
    /// The states of a campaign.
    pub enum CampaignStatus {
        /// It never ran.
        Draft = "draft",
        /// It calls.
        InProgress = "in-progress",
        /// It was stopped.
        Stopped = "stopped",
        /// Every lead is done.
        Completed = "completed",
    }
}

choice! {
    /// What to do with a campaign.
    pub enum Action {
        /// Call its leads.
        Start = "start",
        /// Call no further ones.
        Stop = "stop",
    }
}

record! {
    /// Body of `POST /user/campaigns`.
    pub struct NewCampaign {
        /// Its name.
        name: String = text(1, 255).required(),
        /// The outbound assistant that calls.
        assistant_id: u64 = id().required(),
        /// The zone of its calling hours; the account's when not given.
        timezone: Option<String> = text(1, 64).form(&format::ZONE),
        /// Calls at once.
        max_calls_in_parallel: u32 = int(1, 10).or_int(3),
        /// Calls from this time of day on.
        allowed_hours_start_time: String = text(1, 8).form(&format::CLOCK).or_text("00:00"),
        /// Calls until this time of day.
        allowed_hours_end_time: String = text(1, 8).form(&format::CLOCK).or_text("23:59"),
        /// Calls on these days.
        allowed_days: Vec<Weekday> = choices::<Weekday>(7).or_all(),
        /// Further rounds of calls to a lead that was not reached in the first.
        max_retries: u32 = int(1, 5).or_int(3),
        /// Between rounds, minutes.
        retry_interval: u32 = int(10, 4_320).or_int(60),
        /// Whether voicemail counts as not reached.
        retry_on_voicemail: bool = boolean().or_bool(false),
        /// Whether a missed goal counts as not reached.
        retry_on_goal_incomplete: bool = boolean().or_bool(false),
        /// The extracted variable that tells whether the goal was reached.
        goal_completion_variable: Option<String> = text(1, 64).clears(),
        /// Whether it completes when no lead is left.
        mark_complete_when_no_leads: bool = boolean().or_bool(true),
        /// Numbers to call from, in turn.
        phone_number_ids: Vec<u64> = ids(ENTRIES_MAX).exists(Ref::Row(Kind::Number)),
    }
}

record! {
    /// A campaign.
    pub struct Campaign stored as "a campaign" {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// Where it stands.
        status: CampaignStatus = choice::<CampaignStatus>().required(),
        /// The outbound assistant that calls.
        assistant_id: u64 = id().required(),
        /// The zone of its calling hours.
        timezone: String = text(0, 64).required(),
        /// Calls at once.
        max_calls_in_parallel: u32 = int(1, 10).required(),
        /// Calls from this time of day on, `HH:MM:SS`.
        allowed_hours_start_time: String = text(0, 8).required(),
        /// Calls until this time of day, `HH:MM:SS`.
        allowed_hours_end_time: String = text(0, 8).required(),
        /// Calls on these days.
        allowed_days: Vec<Weekday> = choices::<Weekday>(7),
        /// Further rounds of calls to a lead that was not reached in the first.
        max_retries: u32 = int(1, 5).required(),
        /// Between rounds, minutes.
        retry_interval: u32 = int(10, 4_320).required(),
        /// Whether voicemail counts as not reached.
        retry_on_voicemail: bool = boolean().required(),
        /// Whether a missed goal counts as not reached.
        retry_on_goal_incomplete: bool = boolean().required(),
        /// The extracted variable that tells whether the goal was reached.
        goal_completion_variable: Option<String> = text(0, 64),
        /// Whether it completes when no lead is left.
        mark_complete_when_no_leads: bool = boolean().required(),
        /// Numbers to call from, in turn.
        phone_number_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// When it was made.
        created_at: Iso = iso().required(),
        /// When it last changed.
        updated_at: Iso = iso().required(),
    }
}

record! {
    /// Body of `POST /user/campaigns/update-status`.
    pub struct Switch {
        /// The campaign.
        campaign_id: u64 = id().required(),
        /// What to do.
        action: Action = choice::<Action>().required(),
    }
}

record! {
    /// A campaign's new state.
    pub struct Switched {
        /// The campaign.
        campaign_id: u64 = id().required(),
        /// Where it stands.
        status: CampaignStatus = choice::<CampaignStatus>().required(),
    }
}

record! {
    /// What `POST /user/campaigns/update-status` answers.
    pub struct SwitchReply {
        /// What was done.
        message: String = text(0, 255).required(),
        /// `true`
        success: bool = boolean().required(),
        /// The new state.
        data: Switched = crate::record::object::<Switched>().required(),
    }
}
