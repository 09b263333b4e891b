//! The requests of docs/engines-writing.md are such as the service takes.

use switchboard_core::http::request::Method;
use switchboard_core::http::route::Route;
use switchboard_core::json;
use switchboard_core::record::{MemberSource, check, unknown};
use switchboard_core::service::routes::ROUTES;
use switchboard_documents::{columns, pages};

/// What stands in the page for ids.
const ID: &str = "ID";
const BASE: &str = "$SWITCHBOARD_URL";

#[test]
fn the_bodies_of_engines_are_valid() {
    let page = pages::read("docs/engines-writing.md").expect("the page");
    let mut seen = Vec::new();
    for (path, body) in requests(&page) {
        let route = route(path).unwrap_or_else(|| panic!("nothing is posted to {path}"));
        let table = columns::body(route).expect(path);
        let value = json::parse(body.replace(ID, "1").as_bytes()).unwrap_or_else(|_| panic!("{path}: no JSON: {body}"));
        let json::Value::Object(members) = value else { panic!("{path}: no object: {body}") };
        assert_eq!(unknown(table, route.shown, &members, 8), [""; 0], "{path}: {body}");
        assert_eq!(check(table, members, MemberSource::Body).errors.0, [], "{path}: {body}");
        seen.push(route.id);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() >= 7, "the page shows {seen:?} only");
}

/// Returns the paths and bodies of a page's requests, which are written for curl; those without a body are left out.
fn requests(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split(BASE).skip(1).filter_map(|rest| {
        let (path, options) = rest.split_once(' ')?;
        let (_, body) = options.split_once("-d '")?;
        Some((path, body.split_once('\'')?.0))
    })
}

/// Returns the operation that a path is posted to.
fn route(path: &str) -> Option<&'static Route> {
    let fits = |pattern: &str| {
        let (asked, known) = (path.split('/'), pattern.split('/'));
        asked.clone().count() == known.clone().count()
            && asked.zip(known).all(|(part, known)| known.starts_with('{') || part == known)
    };
    ROUTES.iter().find(|route| route.method == Method::Post && route.paths.iter().any(|pattern| fits(pattern)))
}
