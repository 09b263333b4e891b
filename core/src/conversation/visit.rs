//! What strangers may begin in an account (docs/api.md, Without a token): counts in the account's space, so that they hold
//! over restarts and for all nodes. What they use of an assistant is in [`visited`](crate::assistant::visited).

use core::net::IpAddr;

use super::rows::ConversationRow;
use crate::account::plan;
use crate::assistant::visited::{Used, until_tomorrow};
use crate::http::base;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::key::{self, Key};
use crate::limits::{MESSAGES_A_MINUTE, VISITS_A_DAY, VISITS_A_MINUTE, VISITS_SWEPT};
use crate::rate::{Bucket, Limit};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// What an address did on a day.
#[derive(Clone, Copy, Default)]
struct Visits {
    /// Conversations that it began.
    began: u32,
    /// When its bucket is full again, microseconds.
    full_at: u64,
}

const DAMAGED: Stop = Stop::Corrupt("a count of visits has an unknown form");

impl Visits {
    fn load(account: Scope<'_>, at: &Key) -> Result<Self, Stop> {
        let Some(bytes) = account.get(at.clone())? else { return Ok(Self::default()) };
        let (began, full_at) = bytes.split_at_checked(4).ok_or(DAMAGED)?;
        let began = u32::from_be_bytes(began.try_into().map_err(|_| DAMAGED)?);
        Ok(Self { began, full_at: u64::from_be_bytes(full_at.try_into().map_err(|_| DAMAGED)?) })
    }

    fn to_bytes(self) -> alloc::vec::Vec<u8> {
        [&self.began.to_be_bytes()[..], &self.full_at.to_be_bytes()].concat()
    }
}

/// Counts a new conversation of the account; 403 if its plan allows no more today, and for a stranger, who is told
/// nothing of plans, 429.
pub fn begin(account: Scope<'_>, now: Timestamp, is_stranger: bool) -> Result<(), Halt> {
    let allowed = plan::of(account)?.conversations_daily;
    let at = key::visited(account.space(), now.day().number(), 0);
    let mut used = Used::load(account, &at)?;
    if used.times >= allowed {
        if is_stranger {
            return Err(Refusal::TooMany(until_tomorrow(now)).into());
        }
        let says = alloc::format!(
            "You have reached your plan limit of {allowed} conversations a day. Please upgrade your plan to begin more conversations."
        );
        return Err(Refusal::Forbidden(says).into());
    }
    sweep(account, key::visited_before(account.space(), now.day().number()))?;
    used.times += 1;
    Ok(account.put(at, used.to_bytes())?)
}

/// Counts a conversation or a call that a stranger begins, by address; 429 if it began too many.
pub fn begin_visit(ctx: &Ctx<'_>, account: Scope<'_>) -> Result<(), Halt> {
    let day = ctx.now.day().number();
    // Without an address, as in a host that knows none, all strangers are one.
    let network =
        base::client(&ctx.setup.config, ctx.request).map_or([0; 16], |address| octets(base::network(address)));
    let at = key::visit(account.space(), day, &network);
    let mut visits = Visits::load(account, &at)?;
    if visits.began >= VISITS_A_DAY {
        return Err(Refusal::TooMany(until_tomorrow(ctx.now)).into());
    }
    let bucket = Bucket::full_at(Timestamp::from_micros(visits.full_at));
    let (next, rate) = bucket.take(Limit { per_minute: VISITS_A_MINUTE, burst: VISITS_A_MINUTE }, ctx.now);
    if !rate.admitted {
        return Err(Refusal::TooMany(rate.retry_after).into());
    }
    sweep(account, key::visits_before(account.space(), day))?;
    visits = Visits { began: visits.began + 1, full_at: next.is_full_at().micros() };
    Ok(account.put(at, visits.to_bytes())?)
}

/// Takes a message from a conversation's bucket; 429 if it holds none.
pub fn message(talk: &mut ConversationRow, now: Timestamp) -> Result<(), Halt> {
    let bucket = Bucket::full_at(talk.live.messages_full_at);
    let (next, rate) = bucket.take(Limit { per_minute: MESSAGES_A_MINUTE, burst: MESSAGES_A_MINUTE }, now);
    if !rate.admitted {
        return Err(Refusal::TooMany(rate.retry_after).into());
    }
    talk.live.messages_full_at = next.is_full_at();
    Ok(())
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// Deletes a few rows of earlier days: more than a visit adds, so that they never accumulate.
fn sweep(account: Scope<'_>, before: core::ops::Range<Key>) -> Result<(), Stop> {
    for (at, _) in account.scan(before, Order::Ascending, VISITS_SWEPT)? {
        account.delete(at)?;
    }
    Ok(())
}
