//! Which statuses an operation may answer by the route table, and which refusals come from the host and not the core.

use std::sync::LazyLock;

use switchboard_core::http::cause::Cause;
use switchboard_core::http::request::Method;
use switchboard_core::http::route::{BodyKind, ReplyForm, Route, Who};
use switchboard_core::http::router::Router;
use switchboard_core::service::causes;
use switchboard_core::service::routes::ROUTES;

static ROUTER: LazyLock<Router> = LazyLock::new(|| Router::new(ROUTES).expect("a table without ambiguity"));

/// Whether a refusal comes from the host alone: `tests/hosts` covers these, `tests/api` the others.
pub fn is_the_hosts(route: &Route, cause: Cause) -> bool {
    // For these the core reads neither token nor body; the host still checks the head.
    let is_open = route.who == Who::Anyone && matches!(route.body, BodyKind::None);
    match cause {
        Cause::HeadTooLarge | Cause::Busy => true,
        Cause::Malformed => is_open,
        // The core does not read objects.
        Cause::Outside => matches!(route.shape, ReplyForm::Object(_)),
        // Users have a rate limit; of the others only these ask for something outside, of which there is a share.
        Cause::TooMany => {
            !matches!(route.who, Who::User | Who::Visitor)
                && !["login", "loginByCode", "bringCall", "runTool"].contains(&route.id)
        }
        _ => false,
    }
}

/// Whether the document names a status for a request. Paths that are no operation are the host's own or unknown: any
/// status passes.
pub fn is_documented(method: &str, target: &str, status: u16) -> bool {
    let method = Method::parse(method);
    let path = target.split('?').next().unwrap_or_default();
    let Some(found) = ROUTER.find(path) else { return true };
    let Some(route) = found.route(method) else {
        return status == if method == Method::Options { 204 } else { 405 };
    };
    let is_file = !route.files.is_empty() && status == 404;
    let is_looked_at =
        status == 200 && route.looks.is_some() || status == 206 && matches!(route.shape, ReplyForm::Object(_));
    let is_made = status == route.status || is_looked_at || route.etag && status == 304;
    is_file || is_made || causes::of(route).iter().any(|cause| cause.status() == status)
}
