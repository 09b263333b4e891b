//! Tables of phone numbers and SIP trunks.

use alloc::string::String;
use alloc::vec::Vec;

use super::registration::Registration;
use super::rows::NumberRow;
use crate::json::{ToJson, Value};
use crate::limits::URL_MAX;
use crate::numbering::dialing::DialingCountry;
use crate::numbering::{self, Offer};
use crate::record::{
    Cell, ColumnType, Field, Iso, Secret, boolean, boolean_or_text, choice, form_if, form_unless, format, id, is_e164,
    iso, number, object, require, text, texts,
};
use crate::{choice, record};

choice! {
    /// Where a number comes from, and so what it can be used for.
    pub enum NumberType {
        /// Bought from the carrier.
        Normal = "normal",
        /// A number of the account's own SIP trunk.
        Sip = "sip",
        /// A number that is only shown on outgoing calls.
        CallerId = "caller_id",
    }
}

impl NumberType {
    /// Returns the label that people see.
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
        /// Country to search, ISO 3166-1 alpha-2.
        country_code: Country = choice::<Country>().or_text("US"),
        /// Digits that the number must contain, in a row.
        contains: Option<String> = text(1, 10).form(&format::DIGITS),
    }
}

record! {
    /// A number that can be bought.
    pub struct Available {
        /// Phone number in E.164, such as `+12025550123`.
        phone_number: String = text(0, 16).required(),
        /// The number as people of its country write it.
        phone_number_formatted: String = text(0, 32).required(),
        /// Country of the number, ISO 3166-1 alpha-2.
        country_code: String = text(0, 2).required(),
        /// Monthly rental, USD; charged on purchase.
        price: f64 = number(0.0, 0.0).required(),
        /// Id of the price: country and US cents a month, such as `price_us_115`.
        billing_price_id: String = text(0, 64).required(),
        /// Address that its buyer must give: `none`, `local`, `foreign` or `inventory`.
        address_requirements: String = text(0, 16).required(),
        /// Whether it can send text messages.
        sms_capable: bool = boolean().required(),
    }
}

impl Available {
    /// Converts a carrier's offer.
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
        /// The number, E.164, such as `+12025550123`.
        phone_number: String = text(1, 16).form(&format::E164).required(),
    }
}

record! {
    /// Body of `PUT /admin/accounts/{id}/caller-ids/{number_id}`.
    pub struct Verification {
        /// Whether calls may show it as their caller id.
        verified: bool = boolean().required(),
    }
}

record! {
    /// A number that was just bought.
    pub struct Purchased {
        /// Id of the number, as in `phone_number_id`.
        id: u64 = id().required(),
        /// Phone number in E.164, such as `+12025550123`.
        phone_number: String = text(0, 16).required(),
        /// Country of the number, ISO 3166-1 alpha-2; null outside the ten countries that are sold.
        country_code: Option<String> = text(0, 2),
        /// Always `normal`: bought from the carrier.
        r#type: NumberType = choice::<NumberType>().required(),
        /// Whether it can send text messages.
        sms_capable: bool = boolean().required(),
    }
}

record! {
    /// A phone number of the account.
    pub struct Number {
        /// Id of the number, as in `phone_number_id`.
        id: u64 = id().required(),
        /// Phone number in E.164, such as `+12025550123`; of a trunk maybe an extension, such as `101`.
        phone_number: String = text(0, 16).required(),
        /// Label of the number, shown in lists.
        nickname: Option<String> = text(0, 50),
        /// Country of the number, ISO 3166-1 alpha-2; null when not known.
        country_code: Option<String> = text(0, 2),
        /// `normal` (bought from the carrier), `sip` (a SIP trunk) or `caller_id`.
        r#type: NumberType = choice::<NumberType>().required(),
        /// The type for people: `Normal`, `SIP` or `Caller ID`.
        type_label: String = text(0, 16).required(),
        /// Whether it can send text messages; never true of trunks and caller ids.
        sms_capable: bool = boolean().required(),
        /// Always null: the carriers here do not tell.
        region: Option<String> = text(0, 255),
        /// Whether it is rented from the carrier: true of bought numbers until they are released.
        has_active_subscription: bool = boolean().required(),
        /// Time at which the account got it.
        created_at: Iso = iso().required(),
        /// Whether calls may show it: true of all but unconfirmed caller ids.
        verified: bool = boolean().required(),
    }
}

impl Number {
    /// Converts a stored number.
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
        /// Id of the number: `phone_number_id` of an assistant.
        id: u64 = id().required(),
        /// Phone number in E.164, such as `+12025550123`.
        phone_number: String = text(0, 16).required(),
        /// Country of the number, ISO 3166-1 alpha-2; null when not known.
        country_code: Option<String> = text(0, 2),
        /// The type for people: `Normal`, `SIP` or `Caller ID`.
        type_label: String = text(0, 16).required(),
        /// Whether no inbound assistant holds it.
        is_available: bool = boolean().required(),
    }
}

record! {
    /// Body of `PUT /user/phone-numbers/{id}`.
    pub struct Rename {
        /// Label of the number, shown in lists.
        nickname: Option<String> = text(1, 50).clears(),
    }
}

choice! {
    /// How a trunk wants numbers written.
    pub enum CallingFormat {
        /// E.164 with its plus sign.
        PlusE164 = "+e164",
        /// E.164 without the plus sign.
        E164 = "e164",
        /// As dialed within the country.
        National = "national",
    }
}

impl CallingFormat {
    /// Returns an E.164 number as the trunk wants it dialed; `country` is the trunk's.
    pub fn dialed(self, e164: &str, country: Option<&str>) -> String {
        match self {
            Self::PlusE164 => e164.into(),
            Self::E164 => e164.trim_start_matches('+').into(),
            Self::National => match country.and_then(DialingCountry::of) {
                Some(country) => country.dialed(e164),
                None => e164.into(),
            },
        }
    }

    /// Returns the E.164 form of a number as the trunk writes it, if it can be read.
    pub fn read(self, written: &str, country: Option<&str>) -> Option<String> {
        let number = format::dialed(written);
        let is_whole = number.starts_with('+');
        let number = match self {
            _ if is_whole => number,
            Self::PlusE164 | Self::E164 => alloc::format!("+{number}"),
            Self::National => country.and_then(DialingCountry::of)?.e164(&number).ok()?,
        };
        is_e164(&number).then_some(number)
    }
}

choice! {
    /// How a trunk's incoming calls are authorized.
    pub enum Authorization {
        /// By user name and password.
        Auth = "auth",
        /// By source IP address.
        Ip = "ip",
    }
}

choice! {
    /// What the telephone system knows a trunk by.
    pub enum TrunkType {
        /// A telephone number.
        Number = "number",
        /// Another word for `number`.
        Trunk = "trunk",
        /// An extension of the telephone system.
        Extension = "extension",
    }
}

/// Where a trunk's outgoing calls are sent through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboundProxy {
    /// This host.
    Host(String),
    /// Through the trunk's own `sip_address`, or not through any.
    Own(bool),
}

impl Field for OutboundProxy {
    fn from_cell(cell: Cell) -> Self {
        match cell {
            Cell::Text(host) => Self::Host(host),
            cell => Self::Own(cell == Cell::Bool(true)),
        }
    }

    fn from_json(value: Value) -> Option<Self> {
        match value {
            Value::Text(host) => Some(Self::Host(host)),
            Value::Bool(own) => Some(Self::Own(own)),
            _ => None,
        }
    }
}

impl ToJson for OutboundProxy {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Host(host) => host.write(out),
            Self::Own(own) => own.write(out),
        }
    }
}

/// Bounds of an IP address or CIDR range.
pub static ADDRESSES: ColumnType = ColumnType::Text { min: 1, max: 64, format: Some(&format::ADDRESS) };

record! {
    /// Body of `POST /user/phone-numbers/sip-trunks`.
    pub struct NewTrunk {
        /// Number of the trunk: E.164, unique in the installation; or an extension, unique in the account at its
        /// `sip_address`.
        phone_number: String = text(1, 16).form(&format::TRUNK_NUMBER).required(),
        /// Whether `phone_number` is a telephone number (`number`, or `trunk`) or an `extension`.
        sip_trunk_type: TrunkType = choice::<TrunkType>().or_text("number"),
        /// Label of the trunk, shown in lists.
        nickname: Option<String> = text(1, 50).clears(),
        /// User name for authentication at the trunk.
        sip_username: Option<String> = text(3, 128).clears(),
        /// Password for authentication at the trunk; never shown.
        sip_password: Option<Secret> = text(3, 255).clears(),
        /// Host name or IP address of the trunk.
        sip_address: String = text(1, 255).form(&format::SIP_HOST).required(),
        /// How the trunk wants dialed numbers written.
        sip_calling_format: CallingFormat = choice::<CallingFormat>().or_text("+e164"),
        /// How incoming calls are authorized: by user name and password, or by source address.
        inbound_authorization_type: Authorization = choice::<Authorization>().or_text("auth"),
        /// IP addresses and CIDR ranges from which calls are accepted.
        allowed_inbound_ips: Vec<String> = texts(&ADDRESSES, 50),
        /// Country of the number, ISO 3166-1 alpha-2; found from the number when not given.
        country_code: Option<String> = text(2, 2).clears(),
        /// Host that outgoing calls are sent through; true: `sip_address`; false or not given: none.
        outbound_proxy: Option<OutboundProxy> = boolean_or_text(URL_MAX, &format::SIP_HOST).clears(),
    } rules {
        form_unless("phone_number", &format::E164, "sip_trunk_type", &["extension"]),
        form_if("phone_number", &format::EXTENSION, "sip_trunk_type", &["extension"]),
        require("sip_username", "inbound_authorization_type", &["auth"]),
        require("sip_password", "inbound_authorization_type", &["auth"]),
        require("allowed_inbound_ips", "inbound_authorization_type", &["ip"]),
    }
}

record! {
    /// A SIP trunk. The password is never shown.
    pub struct Trunk {
        /// Id of the trunk, and of its phone number.
        id: u64 = id().required(),
        /// Number of the trunk, E.164, or its extension.
        phone_number: String = text(0, 16).required(),
        /// Whether `phone_number` is a telephone number (`number`) or an `extension`.
        sip_trunk_type: TrunkType = choice::<TrunkType>().required(),
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
        /// Country as it was given, ISO 3166-1 alpha-2; null when it was not.
        country_code: Option<String> = text(0, 2),
        /// Host that outgoing calls are sent through; true: `sip_address`; false or null: none.
        outbound_proxy: Option<OutboundProxy> = boolean_or_text(URL_MAX, &format::SIP_HOST),
        /// Always null: there is no trunk of a carrier behind it.
        inbound_trunk_id: Option<String> = text(0, 255),
        /// Always null, for the same reason.
        outbound_trunk_id: Option<String> = text(0, 255),
        /// How an engine's registration with the trunk goes; null while no attached engine tells of one.
        registration: Option<Registration> = object::<Registration>(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
        /// Time of the last change, UTC.
        updated_at: Iso = iso().required(),
    }
}
