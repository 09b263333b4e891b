//! The tables of phone numbers.

use alloc::string::String;
use alloc::vec::Vec;

use super::rows::NumberRow;
use crate::limits::URL_MAX;
use crate::numbering::{self, Offer};
use crate::record::{Iso, Kind, Secret, boolean, choice, format, id, iso, number, require, text, texts};
use crate::{choice, record};

choice! {
    /// What a number is.
    pub enum NumberType {
        /// Bought from the carrier.
        Normal = "normal",
        /// A SIP trunk.
        Sip = "sip",
        /// A number to show on outgoing calls.
        CallerId = "caller_id",
    }
}

impl NumberType {
    /// Its label for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Sip => "SIP",
            Self::CallerId => "Caller ID",
        }
    }
}

choice! {
    /// Countries with purchasable numbers.
    pub enum Country {
        /// United States.
        Us = "US",
        /// Canada.
        Ca = "CA",
        /// United Kingdom.
        Gb = "GB",
        /// Australia.
        Au = "AU",
        /// Israel.
        Il = "IL",
        /// Poland.
        Pl = "PL",
        /// Finland.
        Fi = "FI",
        /// Netherlands.
        Nl = "NL",
        /// Denmark.
        Dk = "DK",
        /// Italy.
        It = "IT",
    }
}

record! {
    /// Query of `GET /user/phone-numbers/search`.
    pub struct SearchQuery {
        /// ISO 3166-1 alpha-2.
        country_code: Country = choice::<Country>().or_text("US"),
        /// Digits that the number contains.
        contains: Option<String> = text(1, 10).form(&format::DIGITS),
    }
}

record! {
    /// A number that can be bought.
    pub struct Available {
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// For display.
        phone_number_formatted: String = text(0, 32).required(),
        /// ISO 3166-1 alpha-2.
        country_code: String = text(0, 2).required(),
        /// Monthly rental, USD.
        price: f64 = number(0.0, 0.0).required(),
        /// The price used for billing.
        billing_price_id: String = text(0, 64).required(),
        /// `none`, `local`, `foreign` or `inventory`.
        address_requirements: String = text(0, 16).required(),
        /// Whether it can send messages.
        sms_capable: bool = boolean().required(),
    }
}

impl Available {
    /// A carrier's offer as it is shown.
    pub fn of(offer: &Offer) -> Self {
        Self {
            phone_number: offer.number.clone(),
            phone_number_formatted: numbering::display(&offer.number),
            country_code: offer.country.into(),
            price: f64::from(offer.price_cents) / 100.0,
            billing_price_id: alloc::format!("price_{}_{}", offer.country.to_lowercase(), offer.price_cents),
            address_requirements: offer.address_requirements.into(),
            sms_capable: offer.sms_capable,
        }
    }
}

record! {
    /// Body of `POST /user/phone-numbers/purchase` and `POST /user/phone-numbers/caller-ids`.
    pub struct OneNumber {
        /// E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
    }
}

record! {
    /// The operator's word on a caller id.
    pub struct Verification {
        /// Whether it may be shown on calls.
        verified: bool = boolean().required(),
    }
}

record! {
    /// A bought number.
    pub struct Purchased {
        /// Its id.
        id: u64 = id().required(),
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// ISO 3166-1 alpha-2.
        country_code: Option<String> = text(0, 2),
        /// `normal`
        r#type: NumberType = choice::<NumberType>().required(),
        /// Whether it can send messages.
        sms_capable: bool = boolean().required(),
    }
}

record! {
    /// A phone number of the account.
    pub struct Number {
        /// Its id.
        id: u64 = id().required(),
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// A label.
        nickname: Option<String> = text(0, 50),
        /// ISO 3166-1 alpha-2.
        country_code: Option<String> = text(0, 2),
        /// What it is.
        r#type: NumberType = choice::<NumberType>().required(),
        /// What it is, for people.
        type_label: String = text(0, 16).required(),
        /// Whether it can send messages.
        sms_capable: bool = boolean().required(),
        /// Where it is; the carriers here do not tell.
        region: Option<String> = text(0, 255),
        /// Whether the carrier rents it to the account.
        has_active_subscription: bool = boolean().required(),
        /// When it came.
        created_at: Iso = iso().required(),
        /// Whether a caller id may be shown on calls.
        verified: bool = boolean().required(),
    }
}

impl Number {
    /// A stored number as it is shown.
    pub fn of(id: u64, stored: &NumberRow) -> Self {
        Self {
            id,
            phone_number: stored.phone_number.clone(),
            nickname: stored.nickname.clone(),
            country_code: stored.country_code.clone(),
            r#type: stored.r#type,
            type_label: stored.r#type.label().into(),
            sms_capable: stored.sms_capable,
            region: None,
            has_active_subscription: stored.r#type == NumberType::Normal && !stored.releasing,
            created_at: stored.created_at,
            verified: stored.verified,
        }
    }
}

record! {
    /// A number in the list for assistants.
    pub struct Assignable {
        /// Its id: `phone_number_id`.
        id: u64 = id().required(),
        /// E.164.
        phone_number: String = text(0, 16).required(),
        /// ISO 3166-1 alpha-2.
        country_code: Option<String> = text(0, 2),
        /// What it is, for people.
        type_label: String = text(0, 16).required(),
        /// Whether no inbound assistant holds it.
        is_available: bool = boolean().required(),
    }
}

record! {
    /// Body of `PUT /user/phone-numbers/{id}`.
    pub struct Rename {
        /// A label; null takes it away.
        nickname: Option<String> = text(1, 50).clears(),
    }
}

choice! {
    /// How a trunk wants numbers written.
    pub enum CallingFormat {
        /// With the plus sign.
        PlusE164 = "+e164",
        /// Without it.
        E164 = "e164",
        /// As in the country.
        National = "national",
    }
}

choice! {
    /// How a trunk's calls are let in.
    pub enum Authorization {
        /// By name and password.
        Auth = "auth",
        /// By address.
        Ip = "ip",
    }
}

/// An address, or a range of them.
pub static ADDRESSES: Kind = Kind::Text { min: 1, max: 64, format: Some(&format::ADDRESS) };

record! {
    /// Body of `POST /user/phone-numbers/sip-trunks`.
    pub struct NewTrunk {
        /// E.164.
        phone_number: String = text(1, 16).form(&format::E164).required(),
        /// A label.
        nickname: Option<String> = text(1, 50).clears(),
        /// Name at the trunk.
        sip_username: Option<String> = text(3, 128).clears(),
        /// Password at the trunk; never shown.
        sip_password: Option<Secret> = text(3, 255).clears(),
        /// Host of the trunk.
        sip_address: String = text(1, 255).form(&format::SIP_HOST).required(),
        /// How it wants numbers written.
        sip_calling_format: CallingFormat = choice::<CallingFormat>().or_text("+e164"),
        /// How its calls are let in.
        inbound_authorization_type: Authorization = choice::<Authorization>().or_text("auth"),
        /// Addresses that calls are let in from.
        allowed_inbound_ips: Vec<String> = texts(&ADDRESSES, 50),
        /// ISO 3166-1 alpha-2.
        country_code: Option<String> = text(2, 2).clears(),
        /// A proxy for outgoing calls.
        outbound_proxy: Option<String> = text(1, URL_MAX).form(&format::SIP_HOST).clears(),
    } rules {
        require("sip_username", "inbound_authorization_type", &["auth"]),
        require("sip_password", "inbound_authorization_type", &["auth"]),
        require("allowed_inbound_ips", "inbound_authorization_type", &["ip"]),
    }
}

record! {
    /// A SIP trunk. The password is never shown.
    pub struct Trunk {
        /// Its id, as a phone number.
        id: u64 = id().required(),
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
        /// When it was made.
        created_at: Iso = iso().required(),
    }
}
