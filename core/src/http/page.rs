//! The pagination envelope (docs/api.md, Pages).
//!
//! `per_page` is bounded by a column of each query (`record::per_page`), refused by `record/check.rs`; a page past the
//! end is empty (`collection/page.rs`).

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::csv::{self, CsvSeparator};
use super::ctx::Ctx;
use super::list::{self, List};
use super::query as query_string;
use super::refusal::Halt;
use super::reply::Reply;
use crate::collection::{self, Page, Query};
use crate::json::{Array, Object, Raw, ToJson, Value};
use crate::key::Kind;
use crate::record::schema::{self, object, string, strings};
use crate::store::{Row, Scope};
use crate::view::Stop;

/// Writes a row whose public part is already the JSON that the API shows.
pub fn public(_: u32, row: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
    out.extend_from_slice(Row::public_of(row)?);
    Ok(())
}

/// Replies with one page of a collection; `write` turns a stored row into its public JSON.
pub fn list(
    ctx: &Ctx<'_>,
    scope: Scope<'_>,
    kind: Kind,
    query: &Query,
    write: impl FnMut(u32, &[u8], &mut Vec<u8>) -> Result<(), Stop>,
) -> Result<Reply, Halt> {
    of(ctx, scope, kind, query, || Ok(collection::page(scope, kind, query)?), write)
}

/// Replies with one page of a collection, or with all rows of the query to a caller who prefers CSV.
pub fn or_csv(
    ctx: &Ctx<'_>,
    scope: Scope<'_>,
    kind: Kind,
    (query, separator): (&Query, Option<CsvSeparator>),
    write: impl FnMut(u32, &[u8], &mut Vec<u8>) -> Result<(), Stop>,
) -> Result<Reply, Halt> {
    if csv::is_wanted(ctx.route, ctx.request) {
        return csv::reply(ctx, (scope, kind), (query, separator), |_| Ok(true), write);
    }
    list(ctx, scope, kind, query, write)
}

/// Replies with one page of the rows that `find` selects, for filters that no set of the collection covers.
pub fn of(
    ctx: &Ctx<'_>,
    scope: Scope<'_>,
    kind: Kind,
    query: &Query,
    find: impl FnOnce() -> Result<Page, Halt>,
    write: impl FnMut(u32, &[u8], &mut Vec<u8>) -> Result<(), Stop>,
) -> Result<Reply, Halt> {
    /// Buffer size in bytes that is enough for most envelopes.
    const ENVELOPE_BYTES: usize = 4_096;
    let envelope = || {
        let page = find()?;
        let links = Links::of(ctx, page.total, query);
        let mut head = Vec::with_capacity(ENVELOPE_BYTES);
        let mut envelope = Object::open(&mut head);
        envelope.member("current_page", links.current);
        envelope.name("data").push(b'[');
        let mut tail = Vec::with_capacity(ENVELOPE_BYTES);
        tail.push(b']');
        let mut rest = Object::open(&mut tail);
        links.write(&mut rest, page.ids.len(), page.total, query);
        rest.close();
        // The object continues after its list: the opening brace becomes a comma.
        tail[1] = b',';
        Ok(List { head, rows: page.ids, tail })
    };
    list::reply(ctx, scope, kind, envelope, write)
}

/// Replies with a page whose entries are already JSON, for lists that are not rows of a collection.
pub fn entries(ctx: &Ctx<'_>, query: &Query, total: u64, entries: &[Vec<u8>]) -> Reply {
    let mut out = Vec::new();
    let links = Links::of(ctx, total, query);
    let mut envelope = Object::open(&mut out);
    envelope.member("current_page", links.current);
    let mut array = Array::open(envelope.name("data"));
    entries.iter().for_each(|entry| array.entry(Raw(entry)));
    array.close();
    links.write(&mut envelope, entries.len(), total, query);
    envelope.close();
    Reply::ok_raw(out)
}

struct Links {
    path: String,
    /// A page URL as a JSON string, up to the page number: built once because an envelope holds a dozen of them.
    url: Vec<u8>,
    last: u64,
    current: u64,
}

impl Links {
    fn of(ctx: &Ctx<'_>, total: u64, query: &Query) -> Self {
        let last = total.div_ceil(query.limit as u64).max(1);
        let mut path = ctx.base().0;
        path.push_str(ctx.path);
        let mut url = String::with_capacity(path.len() + ctx.query.len() + "?&page=".len());
        url.push_str(&path);
        url.push('?');
        for pair in query_string::without(ctx.query, "page") {
            url.push_str(pair);
            url.push('&');
        }
        url.push_str("page=");
        let mut url = url.to_json();
        // Drops the closing quote: the page number goes before it.
        url.pop();
        Self { path, url, last, current: query.offset / query.limit as u64 + 1 }
    }

    fn url(&self, page: u64) -> Quoted<'_> {
        Quoted(&self.url, page)
    }

    fn previous(&self) -> Option<Quoted<'_>> {
        (self.current > 1).then(|| self.url(self.current - 1))
    }

    fn next(&self) -> Option<Quoted<'_>> {
        (self.current < self.last).then(|| self.url(self.current + 1))
    }

    fn write(&self, envelope: &mut Object<'_>, shown: usize, total: u64, query: &Query) {
        let from = (shown > 0).then(|| query.offset + 1);
        envelope.member("first_page_url", self.url(1)).member("from", from);
        envelope.member("last_page", self.last).member("last_page_url", self.url(self.last));
        self.write_links(envelope.name("links"));
        envelope.member("next_page_url", self.next()).member("path", &self.path);
        envelope.member("per_page", query.limit as u64).member("prev_page_url", self.previous());
        envelope.member("to", from.map(|from| from - 1 + shown as u64)).member("total", total);
    }

    fn write_links(&self, out: &mut Vec<u8>) {
        let mut array = Array::open(out);
        link(array.slot(), self.previous(), "&laquo; Previous", false);
        let mut before = 0;
        for number in shown(self.current, self.last) {
            if number > before + 1 {
                link(array.slot(), None, "...", false);
            }
            link(array.slot(), Some(self.url(number)), Quoted(b"\"", number), number == self.current);
            before = number;
        }
        link(array.slot(), self.next(), "Next &raquo;", false);
        array.close();
    }
}

/// JSON string that ends in a number: the part before the number, including the opening quote, and the number.
struct Quoted<'a>(&'a [u8], u64);

impl ToJson for Quoted<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
        self.1.write(out);
        out.push(b'"');
    }
}

fn link(out: &mut Vec<u8>, url: Option<Quoted<'_>>, label: impl ToJson, active: bool) {
    let mut object = Object::open(out);
    object.member("url", url).member("label", label).member("active", active);
    object.close();
}

/// Returns the page numbers to link: all of them up to 13 pages, else three on each side of the current one and two at
/// each end.
fn shown(current: u64, last: u64) -> BTreeSet<u64> {
    if last <= 13 {
        return (1..=last).collect();
    }
    let around = current.saturating_sub(3)..=current.saturating_add(3);
    let ends = [1, 2, last - 1, last];
    around.chain(ends).filter(|number| (1..=last).contains(number)).collect()
}

/// Returns the schema of a page, given that of a row and that of a link to another page.
pub fn schema(row: Value, link: Value) -> Value {
    let integer = || object([("type", string("integer"))]);
    let text = || object([("type", string("string"))]);
    let nullable = |kind: &str| object([("type", strings(&[kind, "null"]))]);
    let array = |items| object([("type", string("array")), ("items", items)]);
    schema::whole([
        ("current_page", integer()),
        ("data", array(row)),
        ("first_page_url", text()),
        ("from", nullable("integer")),
        ("last_page", integer()),
        ("last_page_url", text()),
        ("links", array(link)),
        ("next_page_url", nullable("string")),
        ("path", text()),
        ("per_page", integer()),
        ("prev_page_url", nullable("string")),
        ("to", nullable("integer")),
        ("total", integer()),
    ])
}

/// Returns the schema of a list by cursor, given that of a row.
pub fn cursor_schema(row: Value) -> Value {
    let nullable = || object([("type", strings(&["string", "null"]))]);
    schema::whole([
        ("data", object([("type", string("array")), ("items", row)])),
        ("path", object([("type", string("string"))])),
        ("per_page", object([("type", string("integer"))])),
        ("next_cursor", nullable()),
        ("prev_cursor", nullable()),
    ])
}

/// Returns the schema of a link to another page; the label is HTML.
pub fn link_schema() -> Value {
    schema::whole([
        ("url", object([("type", strings(&["string", "null"]))])),
        ("label", object([("type", string("string"))])),
        ("active", object([("type", string("boolean"))])),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_never_grows() {
        let numbers = |current, last| shown(current, last).into_iter().collect::<Vec<_>>();
        assert_eq!(numbers(1, 1), [1]);
        assert_eq!(numbers(5, 13), (1..=13).collect::<Vec<_>>());
        assert_eq!(numbers(1, 14), [1, 2, 3, 4, 13, 14]);
        assert_eq!(numbers(50, 100), [1, 2, 47, 48, 49, 50, 51, 52, 53, 99, 100]);
        assert_eq!(numbers(900, 100), [1, 2, 99, 100]);
    }
}
