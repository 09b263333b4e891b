//! Plans: the limits of an account (docs/api.md, Plans).

use alloc::string::String;

use super::profile::Profile;
use crate::json::ToJson;
use crate::key::{self, Key, Kind, Space, Unique};
use crate::limits::LINES_MAX;
use crate::record;
use crate::record::{Stored, bytes, format, int, text};
use crate::root;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Plan of accounts for which the operator named none.
pub const STANDARD: &str = "standard";

/// Default of `conversations_daily`.
pub const CONVERSATIONS_DAILY: u32 = 10_000;

/// Default of `storage_bytes`: 10 GiB.
pub const STORAGE_BYTES: i64 = 10 << 30;

record! {
    /// Limits of the accounts on a plan.
    pub struct Plan stored as "a plan" {
        /// Name of the plan, by which accounts refer to it; it cannot be changed.
        name: String = text(1, 64).form(&format::PLAN_NAME).required(),
        /// Limit of assistants per account.
        assistants: u32 = int(1, 10_000).or_int(1_000),
        /// Limit of mid-call tools per account.
        tools: u32 = int(1, 10_000).or_int(1_000),
        /// Limit of knowledgebases per account.
        knowledgebases: u32 = int(1, 10_000).or_int(1_000),
        /// Limit of campaigns per account.
        campaigns: u32 = int(1, 10_000).or_int(1_000),
        /// Limit of phone numbers, caller ids and SIP trunks together.
        numbers: u32 = int(1, 10_000).or_int(1_000),
        /// Limit of calls at once; further ones wait for an engine.
        parallel_calls: u32 = int(1, LINES_MAX as i64).or_int(100),
        /// Limit of folders, and of labels.
        folders: u32 = int(1, 10_000).or_int(1_000),
        /// Limit of conversations that an account may begin a day.
        conversations_daily: u32 = int(1, 1_000_000).or_int(CONVERSATIONS_DAILY as i64),
        /// Limit of stored bytes: resources with their texts, files, events and kept answers.
        storage_bytes: u64 = bytes(1 << 20, 16 << 40).or_int(STORAGE_BYTES),
    }
}

/// Returns the plan of an account.
pub fn of(account: Scope<'_>) -> Result<Plan, Stop> {
    let profile = Profile::of(account)?;
    load(root::of(account), &profile.own.plan)?.ok_or(Stop::Corrupt("an account's plan is not there"))
}

/// Loads a plan by name.
pub fn load(root: Scope<'_>, name: &str) -> Result<Option<Plan>, Stop> {
    let Some(count) = root.get(key::unique(root.space(), Unique::PlanName, name.as_bytes()))? else { return Ok(None) };
    let count = u32::from_be_bytes(count.try_into().map_err(|_| Plan::DAMAGED)?);
    root.find(Kind::Plan, count)?.map(|row| Plan::read(&row.public)).transpose()
}

/// Returns the keys under which the plan [`STANDARD`] is stored: it is the first plan of an installation.
pub fn standard_keys() -> [Key; 2] {
    let root = Space::Root;
    [key::unique(root, Unique::PlanName, STANDARD.as_bytes()), key::row(root, Kind::Plan, 1)]
}

/// Stores a plan under its name, whether it is new or changed.
pub fn save(root: Scope<'_>, plan: &Plan, now: Timestamp) -> Result<(), Stop> {
    let name = key::unique(root.space(), Unique::PlanName, plan.name.as_bytes());
    let row = Row::open([].into(), plan.to_json());
    if let Some(count) = root.get(name.clone())? {
        let count = u32::from_be_bytes(count.try_into().map_err(|_| Plan::DAMAGED)?);
        let old = root.find(Kind::Plan, count)?.ok_or(Plan::DAMAGED)?;
        return root.replace(Kind::Plan, count, &old, &row);
    }
    let (count, at) = root.allot(Kind::Plan, now)?;
    root.put(name, count.to_be_bytes().to_vec())?;
    root.insert(Kind::Plan, count, at, &row)
}
