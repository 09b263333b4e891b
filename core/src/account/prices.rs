//! The price list of the operator (docs/api.md, Prices): what metered accounts pay for a unit. It is one row, replaced as a
//! whole.

use alloc::string::String;
use alloc::vec::Vec;

use super::profile::{dollars, micros};
use crate::carrier::SEGMENT_MICROS;
use crate::choice;
use crate::json::ToJson;
use crate::key;
use crate::record;
use crate::record::{Errors, Rest, Stored, choice, list, number, text};
use crate::store::Scope;
use crate::view::Stop;

/// Most prices of the list.
const PRICES_MAX: usize = 1_000;

choice! {
    /// What has a price.
    pub enum PriceUnit {
        /// A second of speech that is understood.
        SttSecond = "stt_second",
        /// A character that is spoken.
        TtsCharacter = "tts_character",
        /// A token that a language model reads.
        LlmTokenIn = "llm_token_in",
        /// A token that a language model writes.
        LlmTokenOut = "llm_token_out",
        /// A second on the telephone network.
        CarrierSecond = "carrier_second",
        /// An answer of an assistant by text.
        ChatMessage = "chat_message",
        /// A segment of a text message.
        SmsSegment = "sms_segment",
        /// A minute of a call.
        PlatformMinute = "platform_minute",
    }
}

choice! {
    /// Currency of prices.
    pub enum Currency {
        /// United States dollars.
        Usd = "USD",
    }
}

record! {
    /// The price of a unit.
    pub struct UnitPrice stored as "the price list" {
        /// What has the price.
        unit: PriceUnit = choice::<PriceUnit>().required(),
        /// Provider, model or route that the price is for, by its code; null: all that have no price of their own.
        code: Option<String> = text(1, 255),
        /// Price of one, USD, at most 6 decimal places.
        price: f64 = number(0.0, 1_000_000.0).required(),
    }
}

record! {
    /// The price list.
    pub struct Prices stored as "the price list" {
        /// Currency of all prices.
        currency: Currency = choice::<Currency>().or_text("USD"),
        /// The prices.
        items: Vec<UnitPrice> = list::<UnitPrice>(PRICES_MAX).required(),
    }
}

impl Prices {
    /// Loads the list; an empty one if the operator set none.
    pub fn load(root: Scope<'_>) -> Result<Self, Stop> {
        match root.get(key::prices())? {
            Some(bytes) => Self::read(&bytes),
            None => Ok(Self { currency: Currency::Usd, items: Vec::new(), rest: Rest::default() }),
        }
    }

    /// Stores the list.
    pub fn save(&self, root: Scope<'_>) -> Result<(), Stop> {
        root.put(key::prices(), self.to_json())
    }

    /// Returns what is wrong with prices that fit their columns: too many places, or two for the same.
    pub fn wrong(&self) -> Errors {
        let mut errors = Errors::default();
        for (at, item) in self.items.iter().enumerate() {
            #[expect(clippy::float_cmp, reason = "both are the double that is nearest to one decimal number")]
            let is_exact = dollars(micros(item.price)) == item.price;
            if !is_exact {
                errors.say(&alloc::format!("items.{at}.price"), "field must have at most 6 decimal places.");
            }
            let is_same = |other: &UnitPrice| other.unit == item.unit && other.code == item.code;
            if self.items[..at].iter().any(is_same) {
                errors.say(&alloc::format!("items.{at}.code"), "field has a duplicate value for its unit.");
            }
        }
        errors
    }
}

/// Returns the price of a unit, millionths of a dollar: that of the code, else that of the unit, else 0. A segment of a
/// text message costs what it always did until the operator says otherwise.
pub fn price(root: Scope<'_>, unit: PriceUnit, code: Option<&str>) -> Result<i64, Stop> {
    let prices = Prices::load(root)?;
    let of = |code: Option<&str>| prices.items.iter().find(|item| item.unit == unit && item.code.as_deref() == code);
    let found = code.and_then(|code| of(Some(code))).or_else(|| of(None));
    let usual = if unit == PriceUnit::SmsSegment { SEGMENT_MICROS } else { 0 };
    Ok(found.map_or(usual, |item| micros(item.price)))
}
