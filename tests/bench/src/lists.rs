//! Pages of the service's collections beside `SQLite` with an index for every filter: transaction, exact total and the
//! rows of a page, both in this process.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use switchboard_claims::{Claim, tell};
use switchboard_core::collection::{Facet, Query, page};
use switchboard_core::key::{Kind, Space};
use switchboard_core::store::Tx;
use switchboard_core::view::Order;

use crate::Failed;
use crate::fill::{ASSISTANTS, Folder, Stock};
use crate::inside::Inside;
use crate::turns::Turns;

/// Repetitions of each kind of page.
const TURNS: Turns = Turns { span: Duration::from_millis(300), bounds: (5, 2_000) };
const PER_PAGE: u32 = 15;
/// Rows inserted in one transaction.
const BATCH: u32 = 10_000;

/// A list: its name, the service's facets by tag and value, the condition in `SQLite`, and the aimed speedup of a page
/// at each size.
struct List {
    name: &'static str,
    facets: &'static [(u8, &'static [u8])],
    condition: &'static str,
    aims: [f64; 3],
}

const LISTS: [List; 5] = [
    List { name: "no filter", facets: &[], condition: "1", aims: [20.0, 100.0, 1_000.0] },
    List {
        name: "status 60%",
        facets: &[(1, b"completed")],
        condition: "status = 'completed'",
        aims: [20.0, 100.0, 1_000.0],
    },
    List {
        name: "status 60%, type 57%",
        facets: &[(1, b"completed"), (2, b"outbound")],
        condition: "status = 'completed' AND type = 'outbound'",
        aims: [100.0, 1_000.0, 5_000.0],
    },
    List { name: "campaign 0.1%", facets: &[(5, &[0, 0, 0, 1])], condition: "campaign = 1", aims: [1.0; 3] },
    // The number of the first call.
    List { name: "phone number", facets: &[(3, b"+40700118889")], condition: "phone = '+40700118889'", aims: [1.0; 3] },
];

/// Compares stores of three sizes.
pub fn print() -> Result<bool, Failed> {
    let folder = Folder::new("lists")?;
    println!("Microseconds of a page of {PER_PAGE}, the middle one of the list.\n");
    println!("| calls | list | rows | own | SQLite | times |\n|---|---|---|---|---|---|");
    let mut claims = Vec::new();
    for (at, calls) in [10_000, 100_000, 1_000_000].into_iter().enumerate() {
        let stock = Stock::new(&folder.0, &format!("store-{calls}"), ASSISTANTS, calls)?;
        let inside = Inside::open(&stock.data)?;
        let other = copied(&inside, &folder.0.join(format!("{calls}.sqlite")), calls)?;
        for list in &LISTS {
            let (rows, own) = timed(|offset| own_page(&inside, list, offset))?;
            let (others, sqlite) = timed(|offset| sqlite_page(&other, list, offset))?;
            if rows != others {
                return Err(format!("{}: {rows} and {others} rows", list.name).into());
            }
            println!("| {calls} | {} | {rows} | {own:.1} | {sqlite:.1} | {:.1} |", list.name, sqlite / own);
            let text = format!("SQLite's time over ours, {calls} calls, {}", list.name);
            claims.push(Claim::at_least(text, list.aims[at], sqlite / own, "times"));
        }
    }
    Ok(tell(&claims)?)
}

/// Copies the calls into `SQLite`: the store's documents, and the values of its filters.
fn copied(inside: &Inside, path: &Path, calls: u32) -> Result<Connection, Failed> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -(256 << 10))?;
    connection.execute_batch(
        "CREATE TABLE calls (id INTEGER PRIMARY KEY, status TEXT, type TEXT, assistant INTEGER, campaign INTEGER, phone TEXT, body BLOB);
         CREATE INDEX by_status ON calls (status, id); CREATE INDEX by_type ON calls (type, id);
         CREATE INDEX by_assistant ON calls (assistant, id); CREATE INDEX by_campaign ON calls (campaign, id);
         CREATE INDEX by_phone ON calls (phone, id);",
    )?;
    let snapshot = inside.store.whole()?;
    let view = snapshot.view(None);
    let mut from = 1;
    while from <= calls {
        let until = calls.min(from + BATCH - 1);
        let transaction = connection.transaction()?;
        {
            let tx = Tx::new(&view);
            let mut insert = transaction.prepare_cached("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)")?;
            for count in from..=until {
                let row = tx.scope(Space::Account(0)).find(Kind::Call, count).map_err(|stop| format!("{stop:?}"))?;
                let row = row.ok_or("a call is missing")?;
                let facet = |tag| row.facets.iter().find(|facet| facet.tag() == tag).map(Facet::value);
                let text = |tag| facet(tag).map(|value| String::from_utf8_lossy(value).into_owned());
                let number = |tag| Some(u32::from_be_bytes(facet(tag)?.try_into().ok()?));
                insert.execute(params![count, text(1), text(2), number(4), number(5), text(3), row.public])?;
            }
        }
        transaction.commit()?;
        from = until + 1;
    }
    connection.execute_batch("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE);")?;
    Ok(connection)
}

/// Returns the number of a list's rows, and the microseconds of its middle page.
fn timed(page: impl Fn(u64) -> Result<u64, Failed>) -> Result<(u64, f64), Failed> {
    let rows = page(0)?;
    let offset = rows.div_ceil(u64::from(PER_PAGE)) / 2 * u64::from(PER_PAGE);
    Ok((rows, TURNS.middle(|_| page(offset))?))
}

/// Reads a page from the store; returns the number of the list's rows.
fn own_page(inside: &Inside, list: &List, offset: u64) -> Result<u64, Failed> {
    let snapshot = inside.store.whole()?;
    let view = snapshot.view(None);
    let tx = Tx::new(&view);
    let scope = tx.scope(Space::Account(0));
    let facets = list.facets.iter().map(|(tag, value)| Facet::new(*tag, value)).collect();
    let query = Query::of(facets, Order::Descending, offset, PER_PAGE as usize);
    let found = page(scope, Kind::Call, &query).map_err(|stop| format!("{stop:?}"))?;
    let rows = scope.rows(Kind::Call, &found.ids).map_err(|stop| format!("{stop:?}"))?;
    std::hint::black_box(rows);
    Ok(found.total)
}

fn sqlite_page(connection: &Connection, list: &List, offset: u64) -> Result<u64, Failed> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let condition = list.condition;
    let total = connection
        .prepare_cached(&format!("SELECT COUNT(*) FROM calls WHERE {condition}"))?
        .query_row([], |row| row.get::<_, i64>(0))?;
    let mut rows = connection.prepare_cached(&format!(
        "SELECT body FROM calls WHERE {condition} ORDER BY id DESC LIMIT {PER_PAGE} OFFSET ?"
    ))?;
    let bodies =
        rows.query_map([i64::try_from(offset)?], |row| row.get::<_, Vec<u8>>(0))?.collect::<Result<Vec<_>, _>>()?;
    std::hint::black_box(bodies);
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(u64::try_from(total)?)
}
