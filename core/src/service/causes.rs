//! Causes of refusal of an operation: those that follow from the columns of its row, and those that the row lists.

use alloc::vec::Vec;

use super::shown;
use crate::http::cause::Cause;
use crate::http::request::Method;
use crate::http::route::{BodyKind, Footprint, Route, Who};

/// Returns every cause that may apply to an operation: first those that follow from its columns, then the listed ones.
pub fn of(route: &Route) -> Vec<Cause> {
    let mut causes =
        Vec::from([Cause::Malformed, Cause::TargetTooLong, Cause::HeadTooLarge, Cause::Busy, Cause::TooMany]);
    of_caller(route, &mut causes);
    of_request(route, &mut causes);
    of_storage(route, &mut causes);
    of_key(route, &mut causes);
    causes.extend(route.refuses);
    causes
}

/// Adds causes of authentication. `NoRoute` is among them because the admin address may be separate, and each address
/// serves only its own operations.
fn of_caller(route: &Route, causes: &mut Vec<Cause>) {
    if route.who != Who::Anyone {
        causes.extend([Cause::Unauthenticated, Cause::NoRoute]);
    }
    if matches!(route.who, Who::User | Who::Visitor) {
        causes.push(Cause::Suspended);
        causes.extend((!route.read_only).then_some(Cause::ReadOnly));
    }
}

/// Adds causes of the path, the query, the headers and the body.
fn of_request(route: &Route, causes: &mut Vec<Cause>) {
    causes.extend((route.parameters().next().is_some()).then_some(Cause::NotFound));
    causes.extend(route.conditional.then_some(Cause::Stale));
    if route.method.is_write() {
        causes.extend([Cause::TooLarge, Cause::MediaType]);
    }
    let reads = !matches!(route.body, BodyKind::None) || route.query.is_some();
    causes.extend(reads.then_some(Cause::Invalid));
    let json = matches!(route.body, BodyKind::Json(..) | BodyKind::Document(_));
    causes.extend(json.then_some([Cause::Unknown, Cause::NoObject]).into_iter().flatten());
}

/// Adds causes of storage.
fn of_storage(route: &Route, causes: &mut Vec<Cause>) {
    if route.footprint == Footprint::More && matches!(route.who, Who::User | Who::Visitor) {
        causes.push(Cause::storage(route.about));
    }
    if route.footprint != Footprint::None && matches!(route.who, Who::Anyone | Who::User | Who::Visitor) {
        causes.push(Cause::DiskFull);
    }
}

/// Adds causes of the idempotency key.
fn of_key(route: &Route, causes: &mut Vec<Cause>) {
    if !route.keyed {
        return;
    }
    debug_assert!(route.method == Method::Post && route.who != Who::Anyone, "{} takes no key", route.id);
    causes.push(Cause::Key);
    causes.extend(route.several_steps.then_some(Cause::KeyRunning));
    causes.extend(route.secret.then_some(Cause::KeySpent));
    causes.extend((!route.secret && shown::may_show(route)).then_some(Cause::Deleted));
}
