//! Purchase of a number: one commit reserves and pays it, then the carrier is asked, the next commit inserts it.
//!
//! A job covers the time between the two: if the host dies or the carrier does not answer, the job asks the carrier
//! whether the number is ours, and inserts it or refunds the price.

use alloc::string::ToString;

use super::insert;
use super::rows::NumberRow;
use super::tables::{NumberType, OneNumber, Purchased};
use crate::account::plan;
use crate::account::profile::Profile;
use crate::carrier::{Ask, CarrierAnswer};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Form, Halt, Invalid, Refusal};
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::job::{self, Task, TaskContext, TaskOutcome};
use crate::key::{Kind, Space};
use crate::numbering;
use crate::record::{Iso, Rest};
use crate::root::{self, Owner};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

const IN_USE: &str = "This phone number is already in use.";
const NOT_AVAILABLE: &str = "This phone number is not available.";
const BALANCE: &str = "Insufficient balance.";
const FAILED: &str = "The carrier could not carry out the purchase.";
const SILENT: &str = "The carrier did not answer. The purchase is settled as soon as it does.";
/// Delay before the job asks the carrier about a purchase, seconds.
const SETTLE_SECONDS: u64 = 60;

/// `POST /user/phone-numbers/purchase`
pub fn purchase(ctx: &Ctx<'_>) -> Handled {
    let body: OneNumber = ctx.body()?;
    let number = body.phone_number;
    let micros = ctx.setup.config.carrier.price_micros(&number);
    // The same in every run of this purchase and different from all others, so that a late answer or job acts only on
    // the reservation of its own purchase.
    let [a, b, c, d, ..] = ctx.seed.uuid("purchase");
    let claim = u32::from_be_bytes([a, b, c, d]);
    if ctx.answered() == 0 {
        reserve(ctx, &number, micros, claim)?;
    }
    let account = ctx.account();
    let refuse = |refusal: Refusal| Ok(refusal.reply(Form::Error, Invalid::Error));
    let told = ctx.carrier(&Ask::Buy(&number))?;
    if !is_held(account, &number, claim)? {
        return refuse(Refusal::BadGateway(SILENT.into()));
    }
    match told {
        CarrierAnswer::Ours { id, sms_capable } => {
            let count = enter(account, &number, id, sms_capable, ctx.now)?;
            let country_code = numbering::country_of(&number).map(ToString::to_string);
            let bought = Purchased {
                id: ctx.id(count),
                phone_number: number,
                country_code,
                r#type: NumberType::Normal,
                sms_capable,
            };
            Ok(Reply::created(&message_data("Phone number purchased successfully.", &bought)))
        }
        // The reservation was committed before the carrier was asked, so it has to be undone.
        CarrierAnswer::NotAvailable => {
            undo(account, &number, micros)?;
            refuse(Refusal::Declined(NOT_AVAILABLE.into()))
        }
        CarrierAnswer::Silent => refuse(Refusal::BadGateway(SILENT.into())),
        _ => {
            undo(account, &number, micros)?;
            refuse(Refusal::BadGateway(FAILED.into()))
        }
    }
}

fn reserve(ctx: &Ctx<'_>, number: &str, micros: i64, claim: u32) -> Result<(), Halt> {
    let account = ctx.account();
    if root::owner(account, number)?.is_some() {
        return Err(Refusal::Declined(IN_USE.into()).into());
    }
    ctx.plan_room(Kind::Number, "phone numbers", plan::of(account)?.numbers.into(), Refusal::Forbidden)?;
    let mut profile = Profile::of(account)?;
    if !profile.pay(micros) {
        return Err(Refusal::Payment(BALANCE.into()).into());
    }
    profile.save(account)?;
    root::own(account, number, Owner { account: ctx.caller().account, count: 0, claim })?;
    job::add(
        account,
        ctx.now.plus_seconds(SETTLE_SECONDS),
        Task::SettlePurchase { number: number.to_string(), micros, claim },
    )?;
    Ok(())
}

/// Returns whether the number is still reserved by this purchase.
fn is_held(account: Scope<'_>, number: &str, claim: u32) -> Result<bool, Stop> {
    let owner = root::owner(account, number)?;
    Ok(owner.is_some_and(|owner| {
        owner.count == 0 && owner.claim == claim && Space::Account(owner.account) == account.space()
    }))
}

fn enter(
    account: Scope<'_>,
    number: &str,
    id: alloc::string::String,
    sms_capable: bool,
    now: Timestamp,
) -> Result<u32, Stop> {
    let owner = account.account_number()?;
    let (count, created_at) = account.allot(Kind::Number, now)?;
    let stored = NumberRow {
        phone_number: number.to_string(),
        r#type: NumberType::Normal,
        nickname: None,
        country_code: numbering::country_of(number).map(ToString::to_string),
        sms_capable,
        verified: true,
        carrier_id: Some(id),
        releasing: false,
        created_at: Iso(created_at),
        trunk: None,
        rest: Rest::default(),
    };
    insert(account, count, &stored, &[])?;
    root::own(account, number, Owner { account: owner, count, claim: 0 })?;
    Ok(count)
}

fn undo(account: Scope<'_>, number: &str, micros: i64) -> Result<(), Stop> {
    root::disown(account, number)?;
    let mut profile = Profile::of(account)?;
    profile.refund(micros);
    profile.save(account)
}

/// Job that settles a purchase whose answer never arrived: inserts the number or refunds the price.
pub fn settle(work: &TaskContext<'_>, number: &str, micros: i64, claim: u32) -> Result<TaskOutcome, Stop> {
    if !is_held(work.account, number, claim)? {
        return Ok(TaskOutcome::Done);
    }
    match work.setup.config.carrier.ask(work.asks, &work.seed, &Ask::Owned(number)) {
        None => Ok(TaskOutcome::Waits),
        Some(CarrierAnswer::Ours { id, sms_capable }) => {
            enter(work.account, number, id, sms_capable, work.now)?;
            Ok(TaskOutcome::Done)
        }
        Some(CarrierAnswer::NotOurs | CarrierAnswer::NotAvailable) => {
            undo(work.account, number, micros)?;
            Ok(TaskOutcome::Done)
        }
        Some(_) => Ok(TaskOutcome::Later),
    }
}
