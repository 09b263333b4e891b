//! Twilio's public REST API (version 2010-04-01) as data: `AvailablePhoneNumbers`, `IncomingPhoneNumbers`,
//! `OutgoingCallerIds` and `Messages`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64ct::{Base64, Encoding};

use super::{Ask, CarrierAnswer};
use crate::json::{self, Value};
use crate::limits::{CARRIER_REPLY_BYTES_MAX, CARRIER_TIMEOUT_MS};
use crate::numbering::{self, Offer};
use crate::outside::{Answer, Egress, HttpOut, Redirects};
use crate::record::{Secret, is_e164};

/// How to reach an account at Twilio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twilio {
    /// URL of the API, [`Twilio::PUBLIC`] unless configured.
    pub base_url: String,
    /// Account SID, part of every path and the user name of authentication.
    pub account_sid: String,
    /// Auth token of the account, the password of authentication.
    pub auth_token: Secret,
    /// Monthly price of a number, US cents: the API does not report it with a search.
    pub number_price_cents: u32,
}

impl Twilio {
    /// URL of the public API.
    pub const PUBLIC: &'static str = "https://api.twilio.com";

    /// Builds the request for a question.
    pub fn request(&self, ask: &Ask<'_>) -> HttpOut {
        match ask {
            Ask::Search { country, digits } => {
                let mut query = form(&[("PageSize", "30")]);
                if !digits.is_empty() {
                    query = form(&[("Contains", digits), ("PageSize", "30")]);
                }
                self.http("GET", &format!("AvailablePhoneNumbers/{country}/Local.json?{query}"), String::new())
            }
            Ask::Buy(number) => self.http("POST", "IncomingPhoneNumbers.json", form(&[("PhoneNumber", number)])),
            Ask::Owned(number) => self.http(
                "GET",
                &format!("IncomingPhoneNumbers.json?{}", form(&[("PhoneNumber", number)])),
                String::new(),
            ),
            Ask::Release(sid) => self.http("DELETE", &format!("IncomingPhoneNumbers/{sid}.json"), String::new()),
            Ask::Verified(number) => {
                self.http("GET", &format!("OutgoingCallerIds.json?{}", form(&[("PhoneNumber", number)])), String::new())
            }
            Ask::Message { from, to, body } => {
                self.http("POST", "Messages.json", form(&[("From", from), ("To", to), ("Body", body)]))
            }
        }
    }

    fn http(&self, method: &'static str, path: &str, body: String) -> HttpOut {
        let pair = Base64::encode_string(format!("{}:{}", self.account_sid, self.auth_token.0).as_bytes());
        let mut headers = Vec::from([("authorization".to_string(), Secret(format!("Basic {pair}")))]);
        if !body.is_empty() {
            headers.push(("content-type".to_string(), Secret("application/x-www-form-urlencoded".into())));
        }
        HttpOut {
            method,
            url: format!("{}/2010-04-01/Accounts/{}/{path}", self.base_url.trim_end_matches('/'), self.account_sid),
            headers,
            body: body.into_bytes(),
            timeout_ms: CARRIER_TIMEOUT_MS,
            reply_bytes_max: CARRIER_REPLY_BYTES_MAX,
            egress: Egress::Operator,
            redirects: Redirects::None,
        }
    }

    /// Interprets an answer. One without the documented shape is a failure, never guessed at.
    pub fn read(&self, ask: &Ask<'_>, answer: &Answer) -> CarrierAnswer {
        let Answer::Http(answer) = answer else { return CarrierAnswer::Silent };
        if answer.status == 429 {
            return CarrierAnswer::Failed;
        }
        if answer.status >= 500 || answer.cut {
            return CarrierAnswer::Silent;
        }
        let body = json::parse(&answer.body).unwrap_or(Value::Null);
        let code = body.member("code").and_then(Value::as_u64);
        match (ask, answer.status) {
            (Ask::Search { country, .. }, 200) => self.offers(country, &body),
            // The country is unknown to Twilio.
            (Ask::Search { .. }, 404) => CarrierAnswer::Offers(Vec::new()),
            (Ask::Buy(_), 201) => ours(&body).unwrap_or(CarrierAnswer::Silent),
            (Ask::Buy(_), 400 | 404) if matches!(code, Some(21_421 | 21_422 | 21_404 | 20_404)) => {
                CarrierAnswer::NotAvailable
            }
            (Ask::Owned(_), 200) => match list(&body, "incoming_phone_numbers") {
                Some([]) => CarrierAnswer::NotOurs,
                Some([number, ..]) => ours(number).unwrap_or(CarrierAnswer::Failed),
                None => CarrierAnswer::Failed,
            },
            // 404: it is already gone, as requested.
            (Ask::Release(_), 204 | 404) => CarrierAnswer::Released,
            (Ask::Verified(_), 200) => match list(&body, "outgoing_caller_ids") {
                Some(listed) => CarrierAnswer::Verified(!listed.is_empty()),
                None => CarrierAnswer::Failed,
            },
            (Ask::Message { .. }, 201) => sent(&body),
            (Ask::Message { .. }, 400) if matches!(code, Some(21_211 | 21_614 | 21_265 | 21_408 | 21_610)) => {
                CarrierAnswer::NoSuchNumber
            }
            _ => CarrierAnswer::Failed,
        }
    }

    fn offers(&self, country: &str, body: &Value) -> CarrierAnswer {
        let Some(list) = list(body, "available_phone_numbers") else { return CarrierAnswer::Failed };
        let known = numbering::COUNTRIES.iter().find(|known| **known == country);
        let offers = list.iter().filter_map(|entry| {
            let number = text(entry, "phone_number").filter(|number| is_e164(number))?;
            let required = match text(entry, "address_requirements").as_deref() {
                Some("any" | "local") => "local",
                Some("foreign") => "foreign",
                _ => "none",
            };
            Some(Offer {
                number,
                country: known?,
                price_cents: self.number_price_cents,
                address_requirements: required,
                sms_capable: sms(entry),
            })
        });
        CarrierAnswer::Offers(offers.collect())
    }
}

fn ours(number: &Value) -> Option<CarrierAnswer> {
    Some(CarrierAnswer::Ours { id: text(number, "sid")?, sms_capable: sms(number) })
}

/// Reads the SMS capability: search results spell it in capitals, owned numbers in small letters.
fn sms(number: &Value) -> bool {
    let capability = number.member("capabilities").and_then(|list| list.member("SMS").or(list.member("sms")));
    capability == Some(&Value::Bool(true))
}

fn sent(body: &Value) -> CarrierAnswer {
    let segments = text(body, "num_segments").and_then(|n| n.parse().ok()).unwrap_or(1);
    match (text(body, "sid"), text(body, "status")) {
        (Some(sid), Some(status)) => CarrierAnswer::Sent { sid, status, segments },
        _ => CarrierAnswer::Silent,
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.member(name).and_then(Value::as_text).map(ToString::to_string)
}

fn list<'v>(body: &'v Value, name: &str) -> Option<&'v [Value]> {
    body.member(name).and_then(Value::as_list)
}

fn form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}
