//! API records of campaigns.

use alloc::string::String;
use alloc::vec::Vec;

use crate::key::Kind;
use crate::limits::{ENTRIES_MAX, LINES_MAX};
use crate::record::{Iso, Ref, any_of, boolean, choice, choices, format, id, ids, int, iso, text};
use crate::{choice, record};

choice! {
    /// A day of the week.
    pub enum Weekday {
        /// The first day of the week.
        Monday = "monday",
        /// The second day of the week.
        Tuesday = "tuesday",
        /// The third day of the week.
        Wednesday = "wednesday",
        /// The fourth day of the week.
        Thursday = "thursday",
        /// The fifth day of the week.
        Friday = "friday",
        /// The sixth day of the week.
        Saturday = "saturday",
        /// The last day of the week.
        Sunday = "sunday",
    }
}

choice! {
    /// State of a campaign.
    pub enum CampaignStatus {
        /// Not started since it was created.
        Draft = "draft",
        /// Calls its leads, within its calling hours.
        InProgress = "in-progress",
        /// Stopped by a user or the operator, or because its assistant was deleted.
        Stopped = "stopped",
        /// No lead is left to call; it can be started again.
        Completed = "completed",
    }
}

choice! {
    /// Change of a campaign's state.
    pub enum Action {
        /// Start to call its leads.
        Start = "start",
        /// Place no further calls; those in progress go on.
        Stop = "stop",
        /// As `start`.
        Active = "active",
        /// As `stop`.
        Paused = "paused",
    }
}

impl Action {
    /// Returns whether the campaign is started.
    pub const fn starts(self) -> bool {
        matches!(self, Self::Start | Self::Active)
    }
}

record! {
    /// Body of `POST /user/campaigns`.
    pub struct NewCampaign {
        /// Name of the campaign, shown in lists.
        name: String = text(1, 255).required(),
        /// Id of the assistant that calls; it must be an outbound one.
        assistant_id: u64 = id().required(),
        /// IANA time zone of the calling hours; the account's if not given.
        timezone: Option<String> = text(1, 64).form(&format::ZONE),
        /// Most calls at once, at most the plan's `parallel_calls`; if not given 3, or what the plan allows if that is less.
        max_calls_in_parallel: Option<u32> = int(1, LINES_MAX as i64),
        /// Time of day from which to call, in the campaign's zone, `HH:MM` or `HH:MM:SS`.
        allowed_hours_start_time: String = text(1, 8).form(&format::CLOCK).or_text("00:00"),
        /// Time of day until which to call, after the start; `23:59` means the end of the day.
        allowed_hours_end_time: String = text(1, 8).form(&format::CLOCK).or_text("23:59"),
        /// Days of the week on which to call.
        allowed_days: Vec<Weekday> = choices::<Weekday>(7).or_all().filled(),
        /// Most further rounds of calls to a lead that was not reached in the first.
        max_retries: u32 = int(1, 5).or_int(3),
        /// Time between rounds, minutes.
        retry_interval: u32 = int(10, 4_320).or_int(60),
        /// Whether voicemail counts as not reached.
        retry_on_voicemail: bool = boolean().or_bool(false),
        /// Whether a missed goal counts as not reached.
        retry_on_goal_incomplete: bool = boolean().or_bool(false),
        /// Variable, collected or extracted, that tells whether the goal was reached: `true`, a number other than 0, or
        /// a text other than an empty one, `0`, `false`, `no`, `none` and `null`.
        goal_completion_variable: Option<String> = text(1, 64).clears(),
        /// Whether the campaign completes when no lead is left to call.
        mark_complete_when_no_leads: bool = boolean().or_bool(true),
        /// Ids of numbers to call from, in turn; the assistant's own number if empty.
        phone_number_ids: Vec<u64> = ids(ENTRIES_MAX).exists(Ref::Row(Kind::Number)),
        /// Time before which a started campaign calls nobody: ISO, or `YYYY-MM-DDTHH:MM` in the campaign's zone.
        starts_at: Option<String> = text(1, 40).form(&format::START).clears(),
    }
}

record! {
    /// A campaign of the account.
    pub struct Campaign stored as "a campaign" {
        /// Id of the campaign, assigned by the service.
        id: u64 = id().required(),
        /// Name of the campaign, shown in lists.
        name: String = text(0, 255).required(),
        /// Current state of the campaign.
        status: CampaignStatus = choice::<CampaignStatus>().required(),
        /// Id of the outbound assistant that calls.
        assistant_id: u64 = id().required(),
        /// IANA time zone of the calling hours.
        timezone: String = text(0, 64).required(),
        /// Most calls at once.
        max_calls_in_parallel: u32 = int(1, LINES_MAX as i64).required(),
        /// Time of day from which it calls, `HH:MM:SS`.
        allowed_hours_start_time: String = text(0, 8).required(),
        /// Time of day until which it calls, `HH:MM:SS`; `23:59:00` means the end of the day.
        allowed_hours_end_time: String = text(0, 8).required(),
        /// Days of the week on which it calls.
        allowed_days: Vec<Weekday> = choices::<Weekday>(7),
        /// Most further rounds of calls to a lead that was not reached in the first.
        max_retries: u32 = int(1, 5).required(),
        /// Time between rounds, minutes.
        retry_interval: u32 = int(10, 4_320).required(),
        /// Whether voicemail counts as not reached.
        retry_on_voicemail: bool = boolean().required(),
        /// Whether a missed goal counts as not reached.
        retry_on_goal_incomplete: bool = boolean().required(),
        /// Variable, collected or extracted, that tells whether the goal was reached.
        goal_completion_variable: Option<String> = text(0, 64),
        /// Whether the campaign completes when no lead is left to call.
        mark_complete_when_no_leads: bool = boolean().required(),
        /// Ids of the numbers it calls from, in turn; the assistant's own number if empty.
        phone_number_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Time before which it calls nobody, UTC; null: from its start on.
        starts_at: Option<Iso> = iso(),
        /// When the campaign was created, UTC.
        created_at: Iso = iso().required(),
        /// When the campaign last changed, UTC.
        updated_at: Iso = iso().required(),
    }
}

record! {
    /// Body of `POST /user/campaigns/update-status`.
    pub struct Switch {
        /// Id of the campaign.
        campaign_id: u64 = id().required(),
        /// Whether to `start` or to `stop` it.
        action: Option<Action> = choice::<Action>(),
        /// The same as `action`, for clients that call it so.
        status: Option<Action> = choice::<Action>(),
    } rules {
        any_of(&["action", "status"]),
    }
}

record! {
    /// Body of `PATCH /user/campaigns/{id}/status`.
    pub struct SwitchThis {
        /// Whether to start (`active`) or to stop (`paused`) it.
        status: Action = choice::<Action>().alias(&["action"]).required(),
    }
}

record! {
    /// State of a campaign after a change.
    pub struct Switched {
        /// Id of the campaign.
        campaign_id: u64 = id().required(),
        /// State after the change.
        status: CampaignStatus = choice::<CampaignStatus>().required(),
    }
}

record! {
    /// Answer of `POST /user/campaigns/update-status`.
    pub struct SwitchReply {
        /// Text for people, such as `Campaign started successfully.`.
        message: String = text(0, 255).required(),
        /// Always `true`; a refused change is an error.
        success: bool = boolean().required(),
        /// State of the campaign after the change.
        data: Switched = crate::record::object::<Switched>().required(),
    }
}

record! {
    /// A campaign in the payload of a call.
    pub struct CampaignOfCall {
        /// Id of the campaign.
        id: u64 = id().required(),
        /// Name of the campaign.
        name: String = text(0, 255).required(),
        /// Current state of the campaign.
        status: CampaignStatus = choice::<CampaignStatus>().required(),
        /// Time of day from which it calls, `HH:MM:SS`.
        allowed_hours_start_time: String = text(0, 8).required(),
        /// Time of day until which it calls, `HH:MM:SS`.
        allowed_hours_end_time: String = text(0, 8).required(),
        /// Days of the week on which it calls.
        allowed_days: Vec<Weekday> = choices::<Weekday>(7),
        /// Most calls at once.
        max_calls_in_parallel: u32 = int(1, LINES_MAX as i64).required(),
        /// Most further rounds of calls to a lead that was not reached in the first.
        max_retries: u32 = int(1, 5).required(),
        /// Time between rounds, minutes.
        retry_interval: u32 = int(10, 4_320).required(),
        /// When the campaign was created, UTC.
        created_at: Iso = iso().required(),
        /// When the campaign last changed, UTC.
        updated_at: Iso = iso().required(),
    }
}
