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

/// Copies every page of the summary, with its pictures, to its place below the book's folder.
fn gather(folder: &Path) -> std::io::Result<()> {
    let pages = folder.join("src");
    if pages.exists() {
        fs::remove_dir_all(&pages)?;
    }
    fs::create_dir_all(&pages)?;
    fs::write(folder.join("book.toml"), SETTINGS)?;
    let summary = from_root(&fs::read_to_string(root().join(SUMMARY))?);
    for page in summary.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
        let (from, to) = (root().join(page.0), pages.join(page.0));
        let text = fs::read_to_string(&from)?;
        for picture in pictures(&text) {
            let to = to.with_file_name(picture);
            fs::create_dir_all(to.parent().unwrap_or(&pages))?;
            fs::copy(from.with_file_name(picture), to)?;
        }
        fs::create_dir_all(to.parent().unwrap_or(&pages))?;
        // mdBook names a folder's README page `index`.
        fs::write(to, text.replace("/README.", "/index."))?;
    }
    fs::write(pages.join("SUMMARY.md"), summary)
}

/// Returns the files of a page's pictures, as it names them.
fn pictures(page: &str) -> impl Iterator<Item = &str> {
    let links = page.split("![").skip(1).filter_map(|rest| rest.split_once("](")?.1.split_once(')'));
    links.map(|(file, _)| file).filter(|file| !file.contains("://"))
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

#[cfg(test)]
mod tests {
    use super::pictures;

    #[test]
    fn pictures_of_a_page_are_found() {
        let page = "# A\n![one](console/a.webp) and [a link](docs/tour.md)\n![two [x]](../c.png)![far](https://d.example/e.png)";
        assert_eq!(pictures(page).collect::<Vec<_>>(), ["console/a.webp", "../c.png"]);
    }
}
