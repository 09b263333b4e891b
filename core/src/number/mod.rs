//! Phone numbers: searched, bought, renamed, given back; caller ids; SIP trunks (docs/api.md, Phone numbers).

mod caller_ids;
mod operations;
mod purchase;
mod release;
mod rows;
pub mod tables;
mod trunks;

pub use caller_ids::{create as create_caller_id, set_verified};
pub use operations::{all, search, sms_capable, update};
pub use purchase::{purchase, settle as settle_purchase};
pub use release::{detach_all, release, settle as settle_release};
pub use rows::NumberRow;
pub use trunks::{create as create_trunk, list as list_trunks, read as read_trunk, update as update_trunk};

use alloc::string::String;
use alloc::vec::Vec;

use crate::json::ToJson;
use crate::key::{self, Kind, Unique};
use crate::record::Stored;
use crate::store::{Row, Scope};
use crate::view::Stop;
use rows::facet_of_type;
use tables::NumberType;

const MISSING: &str = "Phone number not found.";
/// What is said where a call would show an unverified caller id.
pub const UNVERIFIED: &str = "The caller id is not verified.";

/// Files a new number of the account; its E.164 leads to it.
fn insert(account: Scope<'_>, count: u32, stored: &NumberRow, password: &[u8]) -> Result<(), Stop> {
    let unique = key::unique(account.space(), Unique::Number, &unique_value(stored));
    account.put(unique, count.to_be_bytes().to_vec())?;
    account.insert(Kind::Number, count, stored.created_at.0, &stored.row(password))
}

/// A caller id and a number of one's own may be the same E.164.
fn unique_value(stored: &NumberRow) -> Vec<u8> {
    let class = if stored.r#type == NumberType::CallerId { b"c" } else { b"n" };
    [&class[..], stored.phone_number.as_bytes()].concat()
}

/// The account's own row of an E.164, a caller id or not.
fn row_of(account: Scope<'_>, e164: &str, caller_id: bool) -> Result<Option<u32>, Stop> {
    let class: &[u8] = if caller_id { b"c" } else { b"n" };
    let bytes = account.get(key::unique(account.space(), Unique::Number, &[class, e164.as_bytes()].concat()))?;
    Ok(bytes.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?))))
}

/// Removes a number's row and what leads to it.
fn remove(account: Scope<'_>, count: u32, row: &Row, stored: &NumberRow) -> Result<(), Stop> {
    account.delete(key::unique(account.space(), Unique::Number, &unique_value(stored)))?;
    account.remove(Kind::Number, count, row)
}

/// Whether a number is a caller id.
pub fn is_caller_id(account: Scope<'_>, count: u32) -> Result<bool, Stop> {
    let row = account.find(Kind::Number, count)?;
    Ok(row.is_some_and(|row| row.facets.contains(&facet_of_type(NumberType::CallerId))))
}

/// What a call from a number shows as its caller id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerNumber {
    /// This E.164, or nothing where there is no number.
    Shown(Option<String>),
    /// The number is a caller id that nobody verified: no call may show it.
    Unverified,
}

impl CallerNumber {
    /// What a number of the account shows.
    pub fn of(account: Scope<'_>, count: u32) -> Result<Self, Stop> {
        let Some(row) = account.find(Kind::Number, count)? else { return Ok(Self::Shown(None)) };
        let stored = NumberRow::read(&row.public)?;
        Ok(if stored.is_unverified() { Self::Unverified } else { Self::Shown(Some(stored.phone_number)) })
    }
}

/// Whether the account has an E.164 as an unverified caller id and as nothing else.
pub fn is_unverified(account: Scope<'_>, e164: &str) -> Result<bool, Stop> {
    if row_of(account, e164, false)?.is_some() {
        return Ok(false);
    }
    let row = row_of(account, e164, true)?.map(|count| account.find(Kind::Number, count)).transpose()?.flatten();
    row.map_or(Ok(false), |row| Ok(NumberRow::read(&row.public)?.is_unverified()))
}

/// The E.164 of a number that may be shown on calls: a caller id once it is verified.
pub fn shown_on_calls(account: Scope<'_>, count: u32) -> Result<Option<String>, Stop> {
    let Some(row) = account.find(Kind::Number, count)? else { return Ok(None) };
    let stored = NumberRow::read(&row.public)?;
    let may = !stored.releasing && !stored.is_unverified();
    Ok(may.then_some(stored.phone_number))
}

/// What a message is sent from.
pub struct Sender {
    /// E.164.
    pub phone_number: String,
    /// Whether it can send messages.
    pub sms_capable: bool,
}

/// A number of the account as a sender.
pub fn sender(account: Scope<'_>, count: u32) -> Result<Option<Sender>, Stop> {
    let Some(row) = account.find(Kind::Number, count)? else { return Ok(None) };
    let NumberRow { phone_number, sms_capable, .. } = NumberRow::read(&row.public)?;
    Ok(Some(Sender { phone_number, sms_capable }))
}

/// The JSON of a number for `If-Match`.
fn shown(id: u64, stored: &NumberRow) -> Vec<u8> {
    tables::Number::of(id, stored).to_json()
}
