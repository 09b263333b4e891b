//! What a call costs by the operator's price list: what its engine reports as used, and the minutes of the service
//! itself. A cost that the engine reports wins.

use super::rows::CallRow;
use super::tables::CostBreakdown;
use crate::account::prices::{PriceUnit, price};
use crate::account::profile::{dollars, micros};
use crate::record::Rest;
use crate::root;
use crate::store::Scope;
use crate::view::Stop;

/// What a part of a call used.
#[derive(Clone, Copy, Debug)]
pub struct Amount<'a> {
    /// What has the price.
    pub unit: PriceUnit,
    /// How much of it.
    pub amount: f64,
    /// Code of the model, provider or route whose own price counts; `None` for none.
    pub code: Option<&'a str>,
}

/// Adds what a call used to its cost.
pub fn add(account: Scope<'_>, call: &mut CallRow, used: &[Amount<'_>]) -> Result<(), Stop> {
    let mut parts = call.shown.cost_breakdown.clone().unwrap_or_else(nothing);
    for Amount { unit, amount, code } in used {
        if *amount > 0.0 {
            #[expect(clippy::cast_precision_loss, reason = "prices are below 2^53 millionths")]
            let cost = *amount * price(root::of(account), *unit, *code)? as f64 / 1e6;
            let part = part_of(&mut parts, *unit);
            *part = dollars(micros(*part + cost));
        }
    }
    call.shown.cost_breakdown = Some(parts);
    total(call);
    Ok(())
}

/// Adds the minutes of the service at the end of a call, if they have a price.
pub fn close(account: Scope<'_>, call: &mut CallRow) -> Result<(), Stop> {
    let minutes = f64::from(call.shown.duration) / 60.0;
    if minutes > 0.0 && price(root::of(account), PriceUnit::PlatformMinute, None)? > 0 {
        add(account, call, &[Amount { unit: PriceUnit::PlatformMinute, amount: minutes, code: None }])?;
    }
    Ok(())
}

/// Makes the parts the cost of the call, unless its engine reported one.
fn total(call: &mut CallRow) {
    let Some(parts) = call.shown.cost_breakdown.as_ref().filter(|_| call.live.is_priced != Some(true)) else { return };
    let CostBreakdown { carrier, stt, llm, tts, platform, .. } = parts;
    call.shown.carrier_cost = *carrier;
    call.shown.total_cost = dollars(micros(carrier + stt + llm + tts + platform));
}

fn nothing() -> CostBreakdown {
    CostBreakdown { carrier: 0.0, stt: 0.0, llm: 0.0, tts: 0.0, platform: 0.0, rest: Rest::default() }
}

fn part_of(parts: &mut CostBreakdown, unit: PriceUnit) -> &mut f64 {
    match unit {
        PriceUnit::CarrierSecond => &mut parts.carrier,
        PriceUnit::SttSecond => &mut parts.stt,
        PriceUnit::LlmTokenIn | PriceUnit::LlmTokenOut => &mut parts.llm,
        PriceUnit::TtsCharacter => &mut parts.tts,
        PriceUnit::ChatMessage | PriceUnit::SmsSegment | PriceUnit::PlatformMinute => &mut parts.platform,
    }
}
