//! Links, and references to the documents in the code, lead to pages and headings that exist.

use std::path::{Path, PathBuf};

use switchboard_documents::{markdown, pages};

/// Endings of files that may refer to a page.
const ENDS: [&str; 9] = [".rs", ".js", ".ts", ".md", ".wit", ".toml", ".tsv", ".py", ".html"];

#[test]
fn links_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    for page in pages::files(&[".md"]).expect("the folder") {
        let text = pages::read(&page).expect(&page);
        for (line, link) in markdown::links(&text) {
            if !link.contains("://") && !leads_somewhere(&page, &link) {
                broken.push(format!("{page}:{line}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}

fn leads_somewhere(page: &str, link: &str) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { PathBuf::from(page) } else { folder(page).join(path) };
    if anchor.is_empty() {
        return pages::root().join(target).exists();
    }
    let text = pages::read(&target.to_string_lossy()).unwrap_or_default();
    markdown::anchors(&text).iter().any(|known| known == anchor)
}

fn folder(file: &str) -> &Path {
    Path::new(file).parent().unwrap_or(Path::new(""))
}

#[test]
fn every_page_is_in_the_book() {
    let summary = pages::read("docs/SUMMARY.md").expect("the summary");
    let named: Vec<String> = markdown::links(&summary).into_iter().map(|(_, link)| link).collect();
    for page in pages::files(&[".md"]).expect("the folder") {
        let link = match page.strip_prefix("docs/") {
            Some("SUMMARY.md") => continue,
            Some(below) => below.to_owned(),
            None if page.contains('/') => continue,
            None => format!("../{page}"),
        };
        assert!(named.contains(&link), "docs/SUMMARY.md lacks {link}");
    }
}

/// A code block whose first line names a file is found in that file.
#[test]
fn quoted_code_is_that_of_its_file() {
    for page in pages::files(&[".md"]).expect("the folder") {
        let text = pages::read(&page).expect(&page);
        for (file, code) in markdown::quotes(&text) {
            let source = pages::read(file).unwrap_or_default();
            assert!(source.contains(code), "{page}: {file} has no such lines:\n{code}");
        }
    }
}

/// Checks references like `docs/api.md, Idempotency`: a page, then one of its headings after a comma and a capital.
#[test]
fn the_code_refers_to_pages_and_headings_that_are_there() {
    let mut broken = Vec::new();
    for file in pages::files(&ENDS).expect("the folder") {
        let text = pages::read(&file).expect(&file);
        for (at, name) in named_pages(&text) {
            let line = text[..at].matches('\n').count() + 1;
            let said = heading_behind(&text[at + name.len()..]);
            match page_of(&file, name) {
                None => broken.push(format!("{file}:{line}: there is no {name}")),
                Some(page) if !has_heading(&page, &said) => {
                    broken.push(format!("{file}:{line}: {name} has no heading \"{said}\""));
                }
                Some(_) => {}
            }
        }
    }
    assert!(broken.is_empty(), "these references lead nowhere:\n{}", broken.join("\n"));
}

/// Returns the page names in a text, each with its offset.
fn named_pages(text: &str) -> Vec<(usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./{}".contains(c);
    let ends = text.match_indices(".md").filter(|(at, _)| !text[at + 3..].starts_with(|c: char| c.is_alphanumeric()));
    ends.filter_map(|(at, _)| {
        let start = text[..at].rfind(|c: char| !is_part(c)).map_or(0, |before| before + 1);
        let name = &text[start..at + 3];
        (at > start && !name.contains(['{', '}'])).then_some((start, name))
    })
    .collect()
}

/// Returns the page that a file refers to: from the root, from the file's folder, or below `docs/`.
fn page_of(file: &str, name: &str) -> Option<String> {
    let places = [Path::new(""), folder(file), Path::new("docs")];
    let mut paths = places.iter().map(|place| place.join(name));
    paths.find(|path| pages::root().join(path).exists()).map(|path| path.to_string_lossy().into_owned())
}

/// Returns the text after a page's name and a comma, to the end of the next line (a comment may wrap), if it begins
/// with a capital: only a heading does.
fn heading_behind(rest: &str) -> String {
    let Some(said) = rest.strip_prefix(", ").filter(|said| said.starts_with(|c: char| c.is_ascii_uppercase())) else {
        return String::new();
    };
    let lines = said.lines().take(2).map(|line| line.trim_start_matches(['/', '!', ' ', '*', '#']));
    lines.collect::<Vec<_>>().join(" ")
}

fn has_heading(page: &str, said: &str) -> bool {
    let text = pages::read(page).unwrap_or_default();
    said.is_empty() || markdown::headings(&text).iter().any(|heading| said.starts_with(heading))
}
