//! Plans: how much of each kind an account may have (docs/api.md, Plans).

use alloc::string::String;

use super::profile::Profile;
use crate::json::ToJson;
use crate::key::{self, Key, Kind, Space, Unique};
use crate::record;
use crate::record::{Stored, bytes, format, int, text};
use crate::root;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// The plan of an account for which the operator named none.
pub const STANDARD: &str = "standard";

/// Bytes of a plan that does not say how many: 10 GiB.
pub const STORAGE_BYTES: i64 = 10 << 30;

record! {
    /// What an account on this plan may have.
    pub struct Plan stored as "a plan" {
        /// Its name.
        name: String = text(1, 64).form(&format::PLAN_NAME).required(),
        /// Assistants.
        assistants: u32 = int(1, 10_000).or_int(1_000),
        /// Mid-call tools.
        tools: u32 = int(1, 10_000).or_int(1_000),
        /// Knowledgebases.
        knowledgebases: u32 = int(1, 10_000).or_int(1_000),
        /// Campaigns.
        campaigns: u32 = int(1, 10_000).or_int(1_000),
        /// Phone numbers, caller ids and SIP trunks together.
        numbers: u32 = int(1, 10_000).or_int(1_000),
        /// Calls at once.
        parallel_calls: u32 = int(1, 10_000).or_int(100),
        /// What it stores, bytes: resources with their texts, files, events and kept answers.
        storage_bytes: u64 = bytes(1 << 20, 16 << 40).or_int(STORAGE_BYTES),
    }
}

/// The plan of an account.
pub fn of(account: Scope<'_>) -> Result<Plan, Stop> {
    let profile = Profile::of(account)?;
    load(root::of(account), &profile.own.plan)?.ok_or(Stop::Corrupt("an account's plan is not there"))
}

/// A plan by name.
pub fn load(root: Scope<'_>, name: &str) -> Result<Option<Plan>, Stop> {
    let Some(count) = root.get(key::unique(root.space(), Unique::PlanName, name.as_bytes()))? else { return Ok(None) };
    let count = u32::from_be_bytes(count.try_into().map_err(|_| Plan::DAMAGED)?);
    root.find(Kind::Plan, count)?.map(|row| Plan::read(&row.public)).transpose()
}

/// Where the plan of an account for which the operator named none stands: it is the first of an installation.
pub fn standard_keys() -> [Key; 2] {
    let root = Space::Root;
    [key::unique(root, Unique::PlanName, STANDARD.as_bytes()), key::row(root, Kind::Plan, 1)]
}

/// Stores a new plan, or a changed one under its name.
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
