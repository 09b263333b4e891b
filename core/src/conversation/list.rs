//! `GET /user/conversations`: by pages, or by cursor for whoever reads all of them while new ones are begun.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::open::by_uuid;
use super::rows::{facet_of_assistant, facet_of_customer, facet_of_phone, facet_of_type};
use super::tables::ConversationQuery;
use crate::collection::{Query, page as select};
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::query;
use crate::http::refusal::Refusal;
use crate::http::reply::{ObjectFn, Reply};
use crate::http::route::Handled;
use crate::id;
use crate::json::{Array, Object, Raw};
use crate::key::Kind;
use crate::record::Errors;
use crate::store::Row;
use crate::view::Order;

/// `GET /user/conversations`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let asked: ConversationQuery = ctx.asks()?;
    let account = ctx.account();
    let mut facets = Vec::new();
    facets.extend(asked.r#type.map(facet_of_type));
    if let Some(name) = &asked.assistant_id {
        let count = match id::parse(account.space(), name) {
            Some(count) => Some(count),
            None => by_uuid(account, name)?,
        };
        // Another account's assistant has no conversations here: the page is empty.
        facets.push(facet_of_assistant(count.unwrap_or(0)));
    }
    facets.extend(asked.customer_phone.as_deref().map(|phone| facet_of_phone(&query::phone_number(phone))));
    facets.extend(asked.external_identifier.as_deref().map(facet_of_customer));
    let range = account.dates(Kind::Conversation, asked.date_from.as_deref(), asked.date_to.as_deref())?;
    if query::parse(ctx.query)?.get("cursor").is_none() {
        let rows = Query::page(facets, range, Order::Descending, asked.per_page, asked.page);
        return page::list(ctx, account, Kind::Conversation, &rows, page::public);
    }
    let cursor = match asked.cursor.as_deref() {
        None => Cursor::Begin,
        Some(text) => Cursor::read(text).ok_or_else(|| {
            let mut errors = Errors::default();
            errors.say("cursor", "field must be next_cursor or prev_cursor of an answer, or empty.");
            Refusal::Invalid(errors)
        })?,
    };
    slice(ctx, &Query { range, facets, order: Order::Descending, offset: 0, limit: asked.per_page as usize }, cursor)
}

/// Where a list by cursor goes on, newest first.
#[derive(Clone, Copy)]
enum Cursor {
    /// At the newest.
    Begin,
    /// At those older than this local id.
    Older(u32),
    /// At those newer than this local id.
    Newer(u32),
}

impl Cursor {
    fn read(text: &str) -> Option<Self> {
        let (way, count) = text.split_at_checked(1)?;
        let count = count.parse().ok().filter(|count: &u32| count.to_string() == text[1..])?;
        match way {
            "o" => Some(Self::Older(count)),
            "n" => Some(Self::Newer(count)),
            _ => None,
        }
    }

    fn text(self) -> Option<String> {
        match self {
            Self::Begin => None,
            Self::Older(count) => Some(alloc::format!("o{count}")),
            Self::Newer(count) => Some(alloc::format!("n{count}")),
        }
    }
}

fn slice(ctx: &Ctx<'_>, query: &Query, cursor: Cursor) -> Handled {
    let account = ctx.account();
    let mut query = Query { limit: query.limit + 1, ..query.clone() };
    match cursor {
        Cursor::Begin => {}
        Cursor::Older(count) => query.range.end = query.range.end.min(count),
        Cursor::Newer(count) => {
            query.range.start = query.range.start.max(count.saturating_add(1));
            query.order = Order::Ascending;
        }
    }
    let mut ids = if query.range.is_empty() { Vec::new() } else { select(account, Kind::Conversation, &query)?.ids };
    // One more than asked for tells whether the list goes on.
    let goes_on = ids.len() == query.limit;
    ids.truncate(query.limit - 1);
    if query.order == Order::Ascending {
        ids.reverse();
    }
    let is_forward = query.order == Order::Descending;
    let older = ids.last().filter(|_| goes_on || !is_forward).map_or(Cursor::Begin, |last| Cursor::Older(*last));
    let has_newer = if is_forward { !matches!(cursor, Cursor::Begin) } else { goes_on };
    let newer = ids.first().filter(|_| has_newer).map_or(Cursor::Begin, |first| Cursor::Newer(*first));
    let rows = account.rows(Kind::Conversation, &ids)?;
    let shown = rows.iter().map(|row| Row::public_of(row)).collect::<Result<Vec<_>, _>>()?;
    let path = [&ctx.base().0, ctx.path].concat();
    Ok(Reply::ok(&ObjectFn(|o: &mut Object<'_>| {
        let mut array = Array::open(o.name("data"));
        shown.iter().for_each(|row| array.entry(Raw(row)));
        array.close();
        o.member("path", &path).member("per_page", (query.limit - 1) as u64);
        o.member("next_cursor", older.text()).member("prev_cursor", newer.text());
    })))
}
