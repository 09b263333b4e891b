//! Phone numbers: search, purchase, renaming, release; caller ids; SIP trunks (docs/api.md, Phone numbers).

mod caller_ids;
mod operations;
mod purchase;
pub mod registration;
mod release;
mod rows;
pub mod tables;
mod trunks;

pub use caller_ids::{create as create_caller_id, set_verified};
pub use operations::{all, read, search, sms_capable, update};
pub use purchase::{purchase, settle as settle_purchase};
pub use release::{detach_all, give_back_all, has_any, release, settle as settle_release};
pub use rows::{NumberRow, TrunkSettings};
pub use trunks::{
    create as create_trunk, list as list_trunks, named as named_trunk, read as read_trunk, update as update_trunk,
};

use alloc::string::String;
use alloc::vec::Vec;

use crate::http::reply::data;
use crate::json::ToJson;
use crate::key::{self, Kind, Unique};
use crate::record::Stored;
use crate::root;
use crate::store::{Row, Scope};
use crate::view::Stop;
use rows::facet_of_type;
use tables::NumberType;

const MISSING: &str = "Phone number not found.";
/// Refusal of a call that would show an unverified caller id.
pub const UNVERIFIED: &str = "The caller id is not verified.";

/// Inserts a new number, and the key that finds it by its E.164 or extension.
fn insert(account: Scope<'_>, count: u32, stored: &NumberRow, password: &[u8]) -> Result<(), Stop> {
    let unique = key::unique(account.space(), Unique::Number, &unique_value(stored));
    account.put(unique, count.to_be_bytes().to_vec())?;
    if stored.trunk.is_some() {
        root::list_trunk(account, count, true)?;
    }
    account.insert(Kind::Number, count, stored.created_at.0, &stored.row(password))
}

/// Returns the unique value of a number. It starts with a class, as a caller id and another number may share an E.164,
/// and extensions of several telephone systems are alike.
fn unique_value(stored: &NumberRow) -> Vec<u8> {
    if let Some(trunk) = stored.trunk.as_ref().filter(|_| stored.is_extension()) {
        return [b"x", trunk.sip_address.as_bytes(), &[0], stored.phone_number.as_bytes()].concat();
    }
    let class = if stored.r#type == NumberType::CallerId { b"c" } else { b"n" };
    [&class[..], stored.phone_number.as_bytes()].concat()
}

/// Finds the row of an E.164 in the account, among caller ids or among all other numbers.
fn row_of(account: Scope<'_>, e164: &str, caller_id: bool) -> Result<Option<u32>, Stop> {
    let class: &[u8] = if caller_id { b"c" } else { b"n" };
    let bytes = account.get(key::unique(account.space(), Unique::Number, &[class, e164.as_bytes()].concat()))?;
    Ok(bytes.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?))))
}

/// Finds a number of the account, by count.
pub fn find(account: Scope<'_>, count: u32) -> Result<Option<(Row, NumberRow)>, Stop> {
    let Some(row) = account.find(Kind::Number, count)? else { return Ok(None) };
    let stored = NumberRow::read(&row.public)?;
    Ok(Some((row, stored)))
}

/// Finds the row of an E.164 in the account: a caller id only if nothing else has it.
pub fn of_number(account: Scope<'_>, e164: &str) -> Result<Option<u32>, Stop> {
    Ok(row_of(account, e164, false)?.or(row_of(account, e164, true)?))
}

/// Removes the row of a number and the key that finds it.
fn remove(account: Scope<'_>, count: u32, row: &Row, stored: &NumberRow) -> Result<(), Stop> {
    account.delete(key::unique(account.space(), Unique::Number, &unique_value(stored)))?;
    if stored.trunk.is_some() {
        root::list_trunk(account, count, false)?;
        registration::forget(account, count)?;
    }
    account.remove(Kind::Number, count, row)
}

/// Returns whether a number exists and is a caller id.
pub fn is_caller_id(account: Scope<'_>, count: u32) -> Result<bool, Stop> {
    let row = account.find(Kind::Number, count)?;
    Ok(row.is_some_and(|row| row.facets.contains(&facet_of_type(NumberType::CallerId))))
}

/// Caller id of a call from a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerNumber {
    /// This E.164; `None` if the account has no such number.
    Shown(Option<String>),
    /// The number is an unverified caller id, which calls may not show.
    Unverified,
}

impl CallerNumber {
    /// Returns what calls from a number of the account show.
    pub fn of(account: Scope<'_>, count: u32) -> Result<Self, Stop> {
        let Some(row) = account.find(Kind::Number, count)? else { return Ok(Self::Shown(None)) };
        let stored = NumberRow::read(&row.public)?;
        Ok(if stored.is_unverified() { Self::Unverified } else { Self::Shown(Some(stored.phone_number)) })
    }
}

/// Returns whether the account has this E.164 only as an unverified caller id.
pub fn is_unverified(account: Scope<'_>, e164: &str) -> Result<bool, Stop> {
    if row_of(account, e164, false)?.is_some() {
        return Ok(false);
    }
    let row = row_of(account, e164, true)?.map(|count| account.find(Kind::Number, count)).transpose()?.flatten();
    row.map_or(Ok(false), |row| Ok(NumberRow::read(&row.public)?.is_unverified()))
}

/// Returns the E.164 of a number if calls may show it: not while it is released, nor an unverified caller id.
pub fn shown_on_calls(account: Scope<'_>, count: u32) -> Result<Option<String>, Stop> {
    let Some(row) = account.find(Kind::Number, count)? else { return Ok(None) };
    let stored = NumberRow::read(&row.public)?;
    let may = !stored.releasing && !stored.is_unverified();
    Ok(may.then_some(stored.phone_number))
}

/// A number that a text message is sent from.
pub struct SmsSender {
    /// The number, E.164.
    pub phone_number: String,
    /// Whether it can send text messages.
    pub sms_capable: bool,
}

/// Returns a number of the account as a sender; `None` if there is no such number.
pub fn sender(account: Scope<'_>, count: u32) -> Result<Option<SmsSender>, Stop> {
    let Some(row) = account.find(Kind::Number, count)? else { return Ok(None) };
    let NumberRow { phone_number, sms_capable, .. } = NumberRow::read(&row.public)?;
    Ok(Some(SmsSender { phone_number, sms_capable }))
}

/// Returns the answer that shows a number, whose entity tag `If-Match` is compared with.
fn shown(id: u64, stored: &NumberRow) -> Vec<u8> {
    data(&tables::Number::of(id, stored)).to_json()
}
