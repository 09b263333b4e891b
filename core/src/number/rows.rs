//! Stored phone numbers; what the API shows of one is built from its row.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::{ADDRESSES, Authorization, CallingFormat, NewTrunk, NumberType};
use crate::collection::Facet;
use crate::json::ToJson;
use crate::record;
use crate::record::{Iso, Rest, Secret, boolean, choice, iso, object, text, texts};
use crate::store::Row;

/// Facet of the numbers of a type.
pub fn facet_of_type(kind: NumberType) -> Facet {
    Facet::new(1, kind.word().as_bytes())
}

/// Facet of the numbers that can send messages.
pub fn facet_of_sms() -> Facet {
    Facet::new(2, b"")
}

record! {
    /// Settings of a trunk; its password is in the row's private part.
    pub struct TrunkSettings stored as "a trunk" {
        /// Number of the trunk, E.164.
        phone_number: String = text(0, 16).required(),
        /// Label of the trunk, shown in lists.
        nickname: Option<String> = text(0, 50),
        /// User name for authentication at the trunk.
        sip_username: Option<String> = text(0, 128),
        /// Host name or IP address of the trunk.
        sip_address: String = text(0, 255).required(),
        /// How the trunk wants dialed numbers written.
        sip_calling_format: CallingFormat = choice::<CallingFormat>().required(),
        /// How incoming calls are authorized: by user name and password, or by source address.
        inbound_authorization_type: Authorization = choice::<Authorization>().required(),
        /// IP addresses and CIDR ranges from which calls are accepted.
        allowed_inbound_ips: Vec<String> = texts(&ADDRESSES, 50),
        /// Country as it was given, ISO 3166-1 alpha-2.
        country_code: Option<String> = text(0, 2),
        /// Host that outgoing calls are sent through.
        outbound_proxy: Option<String> = text(0, 255),
    }
}

record! {
    /// A stored phone number of any type.
    pub struct NumberRow stored as "a phone number" {
        /// The number, E.164.
        phone_number: String = text(0, 16).required(),
        /// Whether it is bought, a SIP trunk or a caller id.
        r#type: NumberType = choice::<NumberType>().required(),
        /// Label of the number, shown in lists.
        nickname: Option<String> = text(0, 50),
        /// Country of the number, ISO 3166-1 alpha-2.
        country_code: Option<String> = text(0, 2),
        /// Whether it can send text messages.
        sms_capable: bool = boolean().or_bool(false),
        /// Whether calls may show it; false only of an unconfirmed caller id.
        verified: bool = boolean().or_bool(false),
        /// The carrier's id of a bought number; `None` for trunks and caller ids.
        carrier_id: Option<String> = text(0, 255),
        /// Whether a release was started that the carrier has not confirmed.
        releasing: bool = boolean().or_bool(false),
        /// Time at which the account got it.
        created_at: Iso = iso().required(),
        /// Settings of a trunk; `None` for other numbers.
        trunk: Option<TrunkSettings> = object::<TrunkSettings>().sparse(),
    }
}

impl NumberRow {
    /// Builds its row; a trunk's password goes into the private part.
    pub fn row(&self, password: &[u8]) -> Row {
        let mut facets = Vec::from([facet_of_type(self.r#type)]);
        if self.sms_capable {
            facets.push(facet_of_sms());
        }
        Row { facets, public: self.to_json(), private: password.to_vec() }
    }

    /// Returns whether it is a caller id that calls may not show.
    pub fn is_unverified(&self) -> bool {
        self.r#type == NumberType::CallerId && !self.verified
    }
}

impl TrunkSettings {
    /// Takes the settings from a body; `rest` are the unknown members of the stored trunk when it is updated.
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

    /// Returns the body that would create this trunk, into which an update is merged.
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
