//! The generated parts match the code's tables, and leave out no operation and no table.

use std::collections::BTreeSet;

use switchboard_core::record::Table;
use switchboard_core::service::routes::ROUTES;
use switchboard_documents::{GENERATED, columns, marks, operations, pages, part};

#[test]
fn generated_parts_are_up_to_date() {
    for path in GENERATED {
        let page = pages::read(path).expect(path);
        let made = marks::filled(&page, part).expect(path);
        let differs = page.lines().zip(made.lines()).find(|(old, new)| old != new);
        assert!(made == page, "{path} is not what `cargo xtask docs` writes: {differs:#?}");
    }
}

#[test]
fn the_contract_shows_every_operation() {
    let page = pages::read("docs/api.md").expect("the page");
    let shown: BTreeSet<&str> =
        marks::names(&page).iter().filter_map(|name| name.strip_prefix("operations ")).collect();
    let tags = operations::tags();
    assert_eq!(shown, tags.keys().map(String::as_str).collect());
    assert_eq!(tags.values().sum::<usize>(), ROUTES.len());
}

/// By name: a table that is shown for one operation counts for all that use it.
#[test]
fn the_contract_shows_every_table() {
    let page = pages::read("docs/api.md").expect("the page");
    let mut shown = BTreeSet::new();
    for name in marks::names(&page) {
        let Some((kind, operation)) = name.split_once(" of ") else { continue };
        let operation = operation.split(" besides ").next().unwrap_or_default();
        let route = operations::find(operation).expect(name);
        let table = match kind {
            "body" => columns::body(route),
            "query" => route.query,
            _ => route.shape.table(),
        };
        gather(table.expect(name), &mut shown);
    }
    let wanted = ROUTES.iter().flat_map(|route| {
        [columns::body(route), route.query, route.shape.table()].into_iter().flatten().map(|table| table.name)
    });
    let missing: BTreeSet<&str> = wanted.filter(|name| !shown.contains(name)).collect();
    assert!(missing.is_empty(), "docs/api.md shows no table of {missing:?}");
}

fn gather(table: &'static Table, shown: &mut BTreeSet<&'static str>) {
    shown.insert(table.name);
    for column in table.columns {
        for (_, inner) in columns::inner(&column.spec.kind) {
            gather(inner, shown);
        }
    }
}
