//! Stored phone numbers; what the API shows of one is built from its row.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::{ADDRESSES, Authorization, CallingFormat, NewTrunk, NumberType, OutboundProxy, TrunkType};
use crate::collection::Facet;
use crate::json::ToJson;
use crate::limits::URL_MAX;
use crate::record;
use crate::record::{Iso, Rest, Secret, boolean, boolean_or_text, choice, format, iso, object, text, texts};
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
        /// Number of the trunk, E.164, or its extension.
        phone_number: String = text(0, 16).required(),
        /// Whether `phone_number` is a telephone number or an extension.
        sip_trunk_type: TrunkType = choice::<TrunkType>().or_text("number"),
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
        /// Host that outgoing calls are sent through, or whether `sip_address` is.
        outbound_proxy: Option<OutboundProxy> = boolean_or_text(URL_MAX, &format::SIP_HOST),
        /// Time of the last change; `None`: not changed since its creation.
        updated_at: Option<Iso> = iso().sparse(),
    }
}

record! {
    /// A stored phone number of any type.
    pub struct NumberRow stored as "a phone number" {
        /// The number, E.164, or the extension of a trunk.
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

    /// Returns whether it is an extension, which belongs to its account alone.
    pub fn is_extension(&self) -> bool {
        self.trunk.as_ref().is_some_and(|trunk| trunk.sip_trunk_type == TrunkType::Extension)
    }

    /// Returns whether it is a caller id that calls may not show.
    pub fn is_unverified(&self) -> bool {
        self.r#type == NumberType::CallerId && !self.verified
    }
}

impl TrunkSettings {
    /// Takes the settings from a body. In an update, `updated_at` is its time and `rest` are the unknown members of the
    /// stored trunk.
    pub fn new(new: &NewTrunk, updated_at: Option<Iso>, rest: Rest) -> Self {
        let new = new.clone();
        let sip_trunk_type = match new.sip_trunk_type {
            TrunkType::Number | TrunkType::Trunk => TrunkType::Number,
            TrunkType::Extension => TrunkType::Extension,
        };
        Self {
            phone_number: new.phone_number,
            sip_trunk_type,
            nickname: new.nickname,
            sip_username: new.sip_username,
            sip_address: new.sip_address,
            sip_calling_format: new.sip_calling_format,
            inbound_authorization_type: new.inbound_authorization_type,
            allowed_inbound_ips: new.allowed_inbound_ips,
            country_code: new.country_code,
            outbound_proxy: new.outbound_proxy,
            updated_at,
            rest,
        }
    }

    /// Returns the body that would create this trunk, into which an update is merged.
    pub fn into_body(self, sip_password: Option<Secret>) -> NewTrunk {
        NewTrunk {
            phone_number: self.phone_number,
            sip_trunk_type: self.sip_trunk_type,
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
