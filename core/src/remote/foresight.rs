//! Prefetching for a remote store: predicts the reads of an account's request, so that they are loaded in the first
//! round. Covers the reads that are certain, the plan that most accounts have, and the newest chunk of each set whose
//! head is read.
//!
//! It affects only the number of round trips, never the result of a step. The rows follow from the route table alone
//! (its column `about`); nothing here reads a body or decides anything.

use alloc::vec::Vec;
use core::ops::Range;

use crate::account::caller::PresentedToken;
use crate::account::plan;
use crate::collection::Facet;
use crate::http::request::{Method, Request};
use crate::http::route::{Route, Who};
use crate::id;
use crate::key::{self, Space};
use crate::service::Service;
use crate::view::{Order, Read, Scan};

/// Returns the scan of a set's head and newest chunk; `None` if the key does not belong to a set.
pub fn newest(key: &[u8]) -> Option<Scan> {
    let Range { start: from, end: to } = key::set_of(key)?;
    Some(Scan { from, to, order: Order::Ascending, limit: 2 })
}

/// Widens a read of a set's head to include the newest chunk: a request that reads the head adds a row or shows the
/// first page, and needs that chunk next.
pub fn wider(read: Read) -> Read {
    match &read {
        Read::Get(key) => newest(key).filter(|scan| scan.from == *key).map_or(read, Read::Scan),
        _ => read,
    }
}

/// Returns the reads that a request is expected to make; none unless it carries an account's token.
pub fn of(service: &Service, request: &Request) -> Vec<Read> {
    let path = request.target.split('?').next().unwrap_or_default();
    let Some(found) = service.router.find(path) else { return Vec::new() };
    let of_account = |route: &&Route| matches!(route.who, Who::User | Who::Visitor);
    let Some(route) = found.route(request.method).filter(of_account) else { return Vec::new() };
    let Ok(shown) = PresentedToken::by(&service.setup.config, request) else { return Vec::new() };
    let space = Space::Account(shown.credential.account);
    let mut keys = Vec::from(shown.keys());
    match (route.about, found.params.first()) {
        (Some(kind), Some(text)) => {
            let count = id::parse(space, text).or_else(|| id::count_of_uuid(shown.credential.account, text));
            keys.extend(count.map(|count| key::row(space, kind, count)));
        }
        (Some(kind), None) => {
            keys.push(key::head(space, kind, &Facet::ALL));
            if route.method == Method::Post {
                keys.push(key::ledger(space));
                keys.extend(plan::standard_keys());
            }
        }
        (None, _) => {}
    }
    keys.into_iter().map(Read::Get).collect()
}
