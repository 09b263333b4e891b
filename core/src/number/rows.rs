//! Phone numbers as they are stored; what is shown of one depends on other rows.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::{ADDRESSES, Authorization, CallingFormat, NewTrunk, NumberType};
use crate::collection::Facet;
use crate::json::ToJson;
use crate::record;
use crate::record::{Iso, Rest, Secret, boolean, choice, iso, object, text, texts};
use crate::store::Row;

/// Numbers of a type.
pub fn facet_of_type(kind: NumberType) -> Facet {
    Facet::new(1, kind.word().as_bytes())
}

/// Numbers that can send messages.
pub fn facet_of_sms() -> Facet {
    Facet::new(2, b"")
}

record! {
    /// The settings of a trunk; its password stands behind the row.
    pub struct TrunkSettings stored as "a trunk" {
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// A label.
        nickname: Option<String> = text(0, 50),
        /// Name at the trunk.
        sip_username: Option<String> = text(0, 128),
        /// Host of the trunk.
        sip_address: String = text(0, 255).required(),
        /// How it wants numbers written.
        sip_calling_format: CallingFormat = choice::<CallingFormat>().required(),
        /// How its calls are let in.
        inbound_authorization_type: Authorization = choice::<Authorization>().required(),
        /// Addresses that calls are let in from.
        allowed_inbound_ips: Vec<String> = texts(&ADDRESSES, 50),
        /// ISO 3166-1 alpha-2.
        country_code: Option<String> = text(0, 2),
        /// A proxy for outgoing calls.
        outbound_proxy: Option<String> = text(0, 255),
    }
}

record! {
    /// A phone number.
    pub struct NumberRow stored as "a phone number" {
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// Normal, trunk or caller id.
        r#type: NumberType = choice::<NumberType>().required(),
        /// A label.
        nickname: Option<String> = text(0, 50),
        /// ISO 3166-1 alpha-2.
        country_code: Option<String> = text(0, 2),
        /// Whether it can send messages.
        sms_capable: bool = boolean().or_bool(false),
        /// Whether a caller id may be shown on calls.
        verified: bool = boolean().or_bool(false),
        /// The carrier's id of a bought number.
        carrier_id: Option<String> = text(0, 255),
        /// Whether it is being given back.
        releasing: bool = boolean().or_bool(false),
        /// When it came.
        created_at: Iso = iso().required(),
        /// Of a trunk: its settings.
        trunk: Option<TrunkSettings> = object::<TrunkSettings>().sparse(),
    }
}

impl NumberRow {
    /// Its row; a trunk's password stands in the private part.
    pub fn row(&self, password: &[u8]) -> Row {
        let mut facets = Vec::from([facet_of_type(self.r#type)]);
        if self.sms_capable {
            facets.push(facet_of_sms());
        }
        Row { facets, public: self.to_json(), private: password.to_vec() }
    }

    /// Whether it is a caller id that no call may show.
    pub fn is_unverified(&self) -> bool {
        self.r#type == NumberType::CallerId && !self.verified
    }
}

impl TrunkSettings {
    /// The settings of a body; `rest` is what was stored of a trunk that changes.
    pub fn new(new: &NewTrunk, rest: Rest) -> Self {
        let new = new.clone();
        Self {
            phone_number: new.phone_number,
            nickname: new.nickname,
            sip_username: new.sip_username,
            sip_address: new.sip_address,
            sip_calling_format: new.sip_calling_format,
            inbound_authorization_type: new.inbound_authorization_type,
            allowed_inbound_ips: new.allowed_inbound_ips,
            country_code: new.country_code,
            outbound_proxy: new.outbound_proxy,
            rest,
        }
    }

    /// The body that would make this trunk: what an update is laid over.
    pub fn into_body(self, sip_password: Option<Secret>) -> NewTrunk {
        NewTrunk {
            phone_number: self.phone_number,
            nickname: self.nickname,
            sip_username: self.sip_username,
            sip_password,
            sip_address: self.sip_address,
            sip_calling_format: self.sip_calling_format,
            inbound_authorization_type: self.inbound_authorization_type,
            allowed_inbound_ips: self.allowed_inbound_ips,
            country_code: self.country_code,
            outbound_proxy: self.outbound_proxy,
        }
    }
}
