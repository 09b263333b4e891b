//! Phone numbers: searched, bought, renamed, given back; caller ids; SIP trunks (API.md, Phone numbers).

mod caller_ids;
mod operations;
mod purchase;
mod release;
pub mod tables;
mod trunks;

pub use caller_ids::{create as create_caller_id, set_verified};
pub use operations::{all, search, sms_capable, update};
pub use purchase::{purchase, settle as settle_purchase};
pub use release::{detach_all, release, settle as settle_release};
pub use trunks::{create as create_trunk, list as list_trunks, read as read_trunk, update as update_trunk};

use alloc::string::String;
use alloc::vec::Vec;

use crate::collection::Facet;
use crate::json::{self, Object, ToJson, Value};
use crate::key::{self, Kind, Unique};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;
use tables::NumberType;

const DAMAGED: Stop = Stop::Corrupt("a phone number has an unknown form");
const MISSING: &str = "Phone number not found.";
/// What is said where a call would show an unverified caller id.
pub const UNVERIFIED: &str = "The caller id is not verified.";

/// The filters of numbers.
mod tag {
    pub const TYPE: u8 = 1;
    pub const SMS: u8 = 2;
}

/// A number as it is kept; what is shown of it depends on other rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// E.164.
    pub phone_number: String,
    /// Normal, trunk or caller id.
    pub kind: NumberType,
    /// A label.
    pub nickname: Option<String>,
    /// ISO 3166-1 alpha-2.
    pub country_code: Option<String>,
    /// Whether it can send messages.
    pub sms_capable: bool,
    /// Whether a caller id may be shown on calls.
    pub verified: bool,
    /// The carrier's id of a bought number.
    pub carrier_id: Option<String>,
    /// Whether it is being given back.
    pub releasing: bool,
    /// When it came.
    pub created_at: Timestamp,
    /// Of a trunk: its settings without the password, as JSON.
    pub trunk: Option<Value>,
}

impl Stored {
    /// Its row; a trunk's password stands in the private part.
    pub fn row(&self, password: &[u8]) -> Row {
        let mut facets = Vec::from([Facet::new(tag::TYPE, self.kind.word().as_bytes())]);
        if self.sms_capable {
            facets.push(Facet::new(tag::SMS, b""));
        }
        let mut public = Vec::new();
        let mut object = Object::open(&mut public);
        object.member("phone_number", &self.phone_number).member("type", self.kind).member("nickname", &self.nickname);
        object
            .member("country_code", &self.country_code)
            .member("sms_capable", self.sms_capable)
            .member("verified", self.verified);
        object
            .member("carrier_id", &self.carrier_id)
            .member("releasing", self.releasing)
            .member("created_at", self.created_at.iso());
        object.given("trunk", &self.trunk);
        object.close();
        Row { facets, public, private: password.to_vec() }
    }

    /// Whether it is a caller id that no call may show.
    fn is_unverified(&self) -> bool {
        self.kind == NumberType::CallerId && !self.verified
    }

    /// Reads it back.
    pub fn of(public: &[u8]) -> Result<Self, Stop> {
        let value = json::parse(public).map_err(|_| DAMAGED)?;
        let text = |name: &str| value.member(name).and_then(Value::as_text).map(String::from);
        let flag = |name: &str| value.member(name) == Some(&Value::Bool(true));
        let kind = match text("type").as_deref() {
            Some("normal") => NumberType::Normal,
            Some("sip") => NumberType::Sip,
            Some("caller_id") => NumberType::CallerId,
            _ => return Err(DAMAGED),
        };
        Ok(Self {
            phone_number: text("phone_number").ok_or(DAMAGED)?,
            kind,
            nickname: text("nickname"),
            country_code: text("country_code"),
            sms_capable: flag("sms_capable"),
            verified: flag("verified"),
            carrier_id: text("carrier_id"),
            releasing: flag("releasing"),
            created_at: text("created_at").as_deref().and_then(Timestamp::parse_iso).ok_or(DAMAGED)?,
            trunk: value.member("trunk").cloned(),
        })
    }
}

/// Files a new number of the account; its E.164 leads to it.
fn insert(account: Scope<'_>, count: u32, stored: &Stored, password: &[u8]) -> Result<(), Stop> {
    let unique = key::unique(account.space(), Unique::Number, &unique_value(stored));
    account.put(unique, count.to_be_bytes().to_vec())?;
    account.insert(Kind::Number, count, stored.created_at, &stored.row(password))
}

/// A caller id and a number of one's own may be the same E.164.
fn unique_value(stored: &Stored) -> Vec<u8> {
    let class = if stored.kind == NumberType::CallerId { b"c" } else { b"n" };
    [&class[..], stored.phone_number.as_bytes()].concat()
}

/// The account's own row of an E.164, a caller id or not.
fn row_of(account: Scope<'_>, e164: &str, caller_id: bool) -> Result<Option<u32>, Stop> {
    let class: &[u8] = if caller_id { b"c" } else { b"n" };
    let bytes = account.get(key::unique(account.space(), Unique::Number, &[class, e164.as_bytes()].concat()))?;
    Ok(bytes.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?))))
}

/// Removes a number's row and what leads to it.
fn remove(account: Scope<'_>, count: u32, row: &Row, stored: &Stored) -> Result<(), Stop> {
    account.delete(key::unique(account.space(), Unique::Number, &unique_value(stored)))?;
    account.remove(Kind::Number, count, row)
}

/// Whether a number is a caller id.
pub fn is_caller_id(account: Scope<'_>, count: u32) -> Result<bool, Stop> {
    let row = account.find(Kind::Number, count)?;
    Ok(row.is_some_and(|row| row.facets.contains(&Facet::new(tag::TYPE, NumberType::CallerId.word().as_bytes()))))
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
        let stored = Stored::of(&row.public)?;
        Ok(if stored.is_unverified() { Self::Unverified } else { Self::Shown(Some(stored.phone_number)) })
    }
}

/// Whether the account has an E.164 as an unverified caller id and as nothing else.
pub fn is_unverified(account: Scope<'_>, e164: &str) -> Result<bool, Stop> {
    if row_of(account, e164, false)?.is_some() {
        return Ok(false);
    }
    let row = row_of(account, e164, true)?.map(|count| account.find(Kind::Number, count)).transpose()?.flatten();
    row.map_or(Ok(false), |row| Ok(Stored::of(&row.public)?.is_unverified()))
}

/// The E.164 of a number that may be shown on calls: a caller id once it is verified.
pub fn shown_on_calls(account: Scope<'_>, count: u32) -> Result<Option<String>, Stop> {
    let Some(row) = account.find(Kind::Number, count)? else { return Ok(None) };
    let stored = Stored::of(&row.public)?;
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
    let Stored { phone_number, sms_capable, .. } = Stored::of(&row.public)?;
    Ok(Some(Sender { phone_number, sms_capable }))
}

/// The JSON of a number for `If-Match`.
fn shown(id: u64, stored: &Stored) -> Vec<u8> {
    tables::Number::of(id, stored).to_json()
}
