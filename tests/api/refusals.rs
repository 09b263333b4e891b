//! Every refusal that the document names is seen: for each operation and each of its causes, one request that is
//! refused for it. That no other refusal occurs is checked by the judge of every reply.
//!
//! Causes that follow from a row's columns are provoked alike for all rows; a cause that a row names itself has a case
//! of its own ([`own`]). A cause that nothing provokes fails the test.

pub mod bodies;
mod keys;
mod own;
pub mod stage;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use switchboard_core::http::cause::Cause;
use switchboard_core::http::route::{ReplyForm, Route};
use switchboard_core::service::causes;
use switchboard_core::service::routes::ROUTES;
use switchboard_tests::document;
use switchboard_tests::house::Got;
use switchboard_tests::refusals::is_the_hosts;

use stage::Stage;

/// Checks a refusal against its cause; the error says what it is instead.
fn is_refused(got: &Got, cause: Cause, says: &str) -> Result<(), String> {
    let sentence = got.json["message"].as_str().or(got.json["error"].as_str()).unwrap_or_default();
    if got.status == cause.status() && sentence.contains(says) {
        return Ok(());
    }
    Err(format!("{} {}, not {} {says}", got.status, got.json, cause.status()))
}

#[test]
fn each_documented_refusal_is_seen() {
    let mut stage = Stage::new();
    let (mut missed, mut used) = (Vec::new(), BTreeSet::new());
    for route in ROUTES {
        for cause in causes::of(route).into_iter().filter(|cause| !is_the_hosts(route, *cause)) {
            let case = own::CASES.iter().find(|(id, own, ..)| (*id, *own) == (route.id, cause));
            used.extend(case.map(|_| (route.id, cause)));
            // A reply that the judge rejects counts as missed, too.
            let seen = catch_unwind(AssertUnwindSafe(|| match case {
                Some((.., says, provoke)) => is_refused(&provoke(), cause, says),
                None => match stage.provoke(route, cause) {
                    Some((got, says)) => is_refused(&got, cause, says),
                    None => Err("no request in tests/api/refusals provokes it: add one".into()),
                },
            }));
            if let Err(why) = seen.unwrap_or_else(|_| Err("it panics, see above".into())) {
                missed.push(format!("{} {cause:?}: {why}", route.id));
            }
        }
    }
    assert!(missed.is_empty(), "{} refusals were not seen:\n{}", missed.len(), missed.join("\n"));
    for (id, cause, ..) in own::CASES {
        assert!(used.contains(&(*id, *cause)), "{id} does not refuse for {cause:?}");
    }
}

#[test]
fn each_list_and_resource_is_unchanged_for_whoever_has_it() {
    let mut stage = Stage::new();
    // Of the pages that only a host makes, it has the tag as well.
    let has_tag = |route: &&Route| route.etag && !matches!(route.shape, ReplyForm::Media(_));
    for route in ROUTES.iter().filter(has_tag) {
        let got = stage.ask(route).header("if-none-match", "*").send();
        assert_eq!(got.status, 304, "{}: {}", route.id, got.json);
    }
}

/// For each path and method of an operation, the document names the causes of its row and nothing else.
#[test]
fn the_document_is_made_of_the_rows_alone() {
    let document = document::resolved();
    let mut operations = 0;
    for route in ROUTES {
        let mut statuses: BTreeSet<u16> = causes::of(route).into_iter().map(Cause::status).collect();
        statuses.insert(route.status);
        statuses.extend(route.etag.then_some(304));
        statuses.extend(route.looks.map(|_| 200));
        statuses.extend(matches!(route.shape, ReplyForm::Object(_)).then_some(206));
        let methods = [Some(route.method.name()), route.patch.then_some("PATCH")];
        for (path, method) in route.paths.iter().flat_map(|path| methods.iter().flatten().map(move |m| (path, m))) {
            let operation = &document["paths"][path][method.to_lowercase()];
            assert_eq!(operation["tags"][0], route.tag, "{method} {path}");
            let responses = operation["responses"].as_object().expect("responses");
            let named: BTreeSet<u16> = responses.keys().map(|status| status.parse().expect("a status")).collect();
            assert_eq!(named, statuses, "{method} {path}");
            operations += 1;
        }
    }
    let paths = document["paths"].as_object().expect("paths").values();
    assert_eq!(operations, paths.map(|item| item.as_object().expect("methods").len()).sum::<usize>());
}
