//! What an engine reports as used, priced by the codes of the models and providers that the call's assistant has.

use super::compiled::codes;
use super::event::UsageReport;
use crate::account::prices::PriceUnit;
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::call::cost::{self, Amount};
use crate::call::{CallRow, ending};
use crate::http::ctx::Ctx;
use crate::record::Stored;
use crate::store::Scope;
use crate::view::Stop;

/// Adds what was used to the cost of a call; one that is over is charged the difference.
pub fn add(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, used: &UsageReport) -> Result<(), Stop> {
    let row = of_call(account, call.assistant())?.ok_or(Assistant::DAMAGED)?;
    let codes = codes(&Assistant::read(&row.public)?, ctx.setup.catalogue());
    let of = |unit, amount, code| Amount { unit, amount, code };
    let amounts = [
        of(PriceUnit::SttSecond, used.stt_seconds, codes.stt),
        of(PriceUnit::TtsCharacter, used.tts_characters, codes.tts),
        of(PriceUnit::LlmTokenIn, used.llm_tokens_in, codes.llm),
        of(PriceUnit::LlmTokenOut, used.llm_tokens_out, codes.llm),
        of(PriceUnit::CarrierSecond, used.carrier_seconds, None),
    ];
    cost::add(account, call, &amounts)?;
    if call.status().is_running() { Ok(()) } else { ending::charge(account, call) }
}
