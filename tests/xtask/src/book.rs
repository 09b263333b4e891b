//! The documents as a book: `cargo xtask book`, into the build folder.
//!
//! Pages are kept where readers find them best in the repository, some of them above `docs/`. mdBook wants them in one
//! folder under their table of contents, so they are copied there first.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chores::{Done, root, runtimes, step, target, text};

/// Pinned release of mdBook.
const MDBOOK: &str = "0.5.4";
const SUMMARY: &str = "docs/SUMMARY.md";
const SETTINGS: &str = "[book]\ntitle = \"Switchboard\"\nlanguage = \"en\"\n";

/// Builds the book; mdBook is installed from its registry if it is missing.
pub fn run() -> Done {
    let program = mdbook()?;
    let folder = target()?.join("book");
    gather(&folder).map_err(|error| format!("the pages cannot be copied: {error}"))?;
    step("book", &text(&program), &["build", &text(&folder)])?;
    println!("== the book begins with {}", folder.join("book/index.html").display());
    Ok(())
}

/// Copies every page of the summary to its place below the book's folder.
fn gather(folder: &Path) -> std::io::Result<()> {
    let pages = folder.join("src");
    if pages.exists() {
        fs::remove_dir_all(&pages)?;
    }
    fs::create_dir_all(&pages)?;
    fs::write(folder.join("book.toml"), SETTINGS)?;
    let summary = from_root(&fs::read_to_string(root().join(SUMMARY))?);
    for page in summary.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
        let to = pages.join(page.0);
        fs::create_dir_all(to.parent().unwrap_or(&pages))?;
        // mdBook names a folder's README page `index`.
        fs::write(to, fs::read_to_string(root().join(page.0))?.replace("/README.", "/index."))?;
    }
    fs::write(pages.join("SUMMARY.md"), summary)
}

/// Returns the summary with links from the root instead of from `docs/`.
fn from_root(summary: &str) -> String {
    summary.replace("](", "](docs/").replace("](docs/../", "](")
}

fn mdbook() -> Result<PathBuf, String> {
    let cargo = runtimes()?.join("cargo");
    let program = cargo.join("bin/mdbook");
    if !program.is_file() {
        let wanted = ["install", "mdbook", "--version", MDBOOK, "--locked", "--no-default-features", "--quiet"];
        step("mdbook", "cargo", &[&wanted[..], &["--root", &text(&cargo)]].concat())?;
    }
    Ok(program)
}
