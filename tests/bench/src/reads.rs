//! Reads and pages, each beside bare hyper that sends the same bytes.

use crate::Failed;
use crate::load::{Figures, get, run};
use crate::server::Server;

/// Connections of a read.
const CONNECTIONS: usize = 64;

/// One line of the report.
pub struct Line {
    /// What was asked for.
    pub name: String,
    /// The service.
    pub own: Figures,
    /// Bare hyper with the same bytes.
    pub bare: Figures,
}

/// Measures a target, which may differ from request to request.
pub fn line(
    server: &Server,
    key: &str,
    name: &str,
    target: impl Fn(u64) -> String + Clone + Send + Sync + 'static,
) -> Result<Line, Failed> {
    let key = key.to_owned();
    let own = run(server, CONNECTIONS, move |turn| get(&key, &target(turn)))?;
    let bare = run(&Server::bare(own.bytes)?, CONNECTIONS, |_| get("none", "/"))?;
    eprintln!("{name}: {:.0}/s, bare {:.0}/s", own.rate, bare.rate);
    Ok(Line { name: name.to_owned(), own, bare })
}

/// Pages of a list at the beginning, in the middle, at the end and anywhere.
pub fn pages(server: &Server, key: &str, name: &str, query: &str, rows: u64) -> Result<Vec<Line>, Failed> {
    let last = rows.div_ceil(15).max(1);
    let at = |page: u64| {
        let query = query.to_owned();
        move |_: u64| format!("/user/calls?{query}per_page=15&page={page}")
    };
    let query_any = query.to_owned();
    let any = move |turn: u64| {
        format!("/user/calls?{query_any}per_page=15&page={}", 1 + turn.wrapping_mul(2_654_435_761) % last)
    };
    Ok(vec![
        line(server, key, &format!("{name}, first page"), at(1))?,
        line(server, key, &format!("{name}, middle page"), at(last.div_ceil(2)))?,
        line(server, key, &format!("{name}, last page"), at(last))?,
        line(server, key, &format!("{name}, any page"), any)?,
    ])
}
