//! What a request of an account will read, so that a step over a store elsewhere asks for it at once: what it is
//! sure to read, the plan that most accounts have, and the newest chunk of each set whose head is read.
//!
//! A step comes to the same without: it only goes back more often. The rows follow from the route table alone
//! (its column `about`); nothing here looks at a body or decides anything.

use alloc::vec::Vec;
use core::ops::Range;

use crate::account::caller::Shown;
use crate::account::plan;
use crate::collection::Facet;
use crate::http::request::{Method, Request};
use crate::http::route::Who;
use crate::id;
use crate::key::{self, Space};
use crate::service::Service;
use crate::view::{Order, Read, Scan};

/// The head of a set and its newest chunk, where a key belongs to a set.
pub fn newest(key: &[u8]) -> Option<Scan> {
    let Range { start: from, end: to } = key::set_of(key)?;
    Some(Scan { from, to, order: Order::Ascending, limit: 2 })
}

/// What to ask for instead of a read: who reads the head of a set files a new row or shows a first page, and wants
/// the newest chunk next.
pub fn wider(read: Read) -> Read {
    match &read {
        Read::Get(key) => newest(key).filter(|scan| scan.from == *key).map_or(read, Read::Scan),
        _ => read,
    }
}

/// The reads that a request will make.
pub fn of(service: &Service, request: &Request) -> Vec<Read> {
    let path = request.target.split('?').next().unwrap_or_default();
    let Some(found) = service.router.find(path) else { return Vec::new() };
    let Some(route) = found.route(request.method).filter(|route| route.who == Who::User) else { return Vec::new() };
    let Ok(shown) = Shown::by(request) else { return Vec::new() };
    let space = Space::Account(shown.credential.account);
    let mut keys = Vec::from(shown.keys());
    match (route.about, found.params.first()) {
        (Some(kind), Some(text)) => keys.extend(id::parse(space, text).map(|count| key::row(space, kind, count))),
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
