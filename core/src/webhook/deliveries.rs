//! The log of deliveries: listing it, sending again, and giving up those whose call or lead was deleted.

use alloc::vec::Vec;

use super::rows::{DeliveryRow, Webhook, facet_of_call, facet_of_status};
use super::tables::{Attempt, DeliveryQuery, DeliveryStatus};
use crate::assistant;
use crate::assistant::tables::Assistant;
use crate::collection::{Facet, Query, ids};
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::job::{self, Task};
use crate::key::Kind;
use crate::record::{Iso, MemberTuple};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

const MISSING: &str = "Webhook delivery not found";
/// Error of the last attempt of a delivery whose call or lead was deleted.
const DELETED: &str = "deleted";
/// Most deliveries of one call or conversation that are looked at: a call has at most three events, each with at most two.
const OF_ONE_MAX: usize = 64;

/// Gives up the pending deliveries of an event whose call, lead or conversation was deleted; `subject` is the facet of
/// the deliveries about the same.
pub fn give_up(account: Scope<'_>, subject: &Facet, seq: u32, now: Timestamp) -> Result<(), Stop> {
    for count in ids(account, Kind::Delivery, subject, OF_ONE_MAX)? {
        let Some(mut delivery) = DeliveryRow::find(account, count)?.filter(|delivery| delivery.state.seq == seq) else {
            continue;
        };
        if delivery.shown.status == DeliveryStatus::Pending {
            delivery.attempted(Attempt::failed(Iso(now), DELETED));
            delivery.stands(DeliveryStatus::Exhausted, None);
            delivery.save(account)?;
            job::cancel(account, &Task::Deliver(count))?;
        }
    }
    Ok(())
}

/// Returns the deliveries about a call as answers show them, oldest first.
pub fn of_call(account: Scope<'_>, call: u32) -> Result<Vec<Vec<u8>>, Stop> {
    let rows = account.list(Kind::Delivery, &facet_of_call(call), OF_ONE_MAX)?;
    let shown = |(_, row): &(u32, Row)| {
        let mut out = Vec::new();
        complete(&row.public, &mut out);
        out
    };
    Ok(rows.iter().map(shown).collect())
}

/// `GET /user/webhook-deliveries`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: DeliveryQuery = ctx.asks()?;
    let mut facets = Vec::new();
    facets.extend(query.status.map(facet_of_status));
    facets.extend(query.call_id.map(|id| facet_of_call(ctx.own(id).unwrap_or(0))));
    let rows = Query::page(facets, 0..u32::MAX, Order::Descending, query.per_page, query.page);
    page::or_csv(ctx, ctx.account(), Kind::Delivery, (&rows, query.separator), |_, row, out| {
        complete(Row::public_of(row)?, out);
        Ok(())
    })
}

/// Writes a delivery. One of a release that knew no conversations gets its `conversation_id` as null.
fn complete(public: &[u8], out: &mut Vec<u8>) {
    // No text has these bytes: its quotes are escaped.
    const LAST: &[u8] = b",\"conversation_id\":";
    if public.windows(LAST.len()).any(|window| window == LAST) {
        return out.extend_from_slice(public);
    }
    out.extend_from_slice(public.strip_suffix(b"}").unwrap_or(public));
    out.extend_from_slice(LAST);
    out.extend_from_slice(b"null}");
}

/// `POST /user/webhook-deliveries/{id}/resend`: sends to the current URL of the assistant's webhook, if that is on,
/// otherwise to the same as before.
pub fn resend(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Delivery, MISSING)?;
    let account = ctx.account();
    let mut delivery = DeliveryRow::of(count, row)?;
    if super::feed::payload(account, delivery.state.seq)?.is_none() {
        return Err(Refusal::NotFound(MISSING).into());
    }
    if let Some(assistant) = assistant::rows::of_call(account, delivery.state.assistant)? {
        let its = Assistant::MEMBERS;
        let (post_call, is_active, inbound, ended) =
            (its.webhook_url, its.is_webhook_active, its.inbound_webhook_url, its.conversation_ended_webhook_url)
                .read(&assistant.public)?;
        let current = match delivery.state.webhook() {
            Webhook::PostCall => post_call.filter(|_| is_active),
            Webhook::Inbound => inbound,
            Webhook::ConversationEnded => ended,
        };
        if let Some(url) = current {
            delivery.shown.url = url;
        }
    }
    delivery.stands(DeliveryStatus::Pending, Some(ctx.now));
    delivery.state.tries = 0;
    delivery.save(account)?;
    // An answer to the attempt under way is ignored: it may come from another URL.
    job::cancel(account, &Task::Deliver(count))?;
    job::add(account, ctx.now, Task::Deliver(count))?;
    Ok(Reply::accepted(&message("The webhook is sent again.")))
}
