//! The documents of this repository: the parts generated from the code's tables, and helpers for the checks of all
//! pages.
//!
//! A generated part is enclosed by two comments of its page. `cargo xtask docs` rewrites all of them, and a test fails
//! while a page differs.

pub mod budgets;
pub mod columns;
pub mod markdown;
pub mod marks;
pub mod operations;
pub mod pages;

/// Pages with generated parts, relative to the root of the repository.
pub const GENERATED: [&str; 2] = ["docs/api.md", "docs/budgets.md"];

/// Returns the text of a generated part, by the name in its mark.
pub fn part(name: &str) -> Result<String, String> {
    let (kind, rest) = name.split_once(' ').unwrap_or((name, ""));
    match (kind, rest.strip_prefix("of ")) {
        ("budgets", _) => Ok(budgets::table()),
        ("operations", _) => operations::table(rest),
        ("body", Some(operation)) => columns::of_body(operation),
        ("query", Some(operation)) => columns::of_query(operation),
        ("answer", Some(operation)) => columns::of_answer(operation),
        _ => Err(format!("there is no generated part \"{name}\"")),
    }
}
