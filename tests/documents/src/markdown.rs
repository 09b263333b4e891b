//! The part of Markdown that the checks of pages need: headings with their anchors, and links.

use std::collections::BTreeMap;

/// Returns the lines of a page outside code blocks, each with its number from 1.
pub fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    page.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        let shown = !in_code && !is_fence;
        in_code ^= is_fence;
        shown.then_some((at + 1, line))
    })
}

/// Returns the texts of a page's headings, markup included.
pub fn headings(page: &str) -> Vec<&str> {
    let heads = prose(page).filter_map(|(_, line)| {
        let text = line.trim_start_matches('#');
        (text.len() < line.len()).then(|| text.strip_prefix(' '))?
    });
    heads.map(str::trim).collect()
}

/// Returns the anchors of a page's headings: in lower case, spaces as hyphens, other punctuation dropped; repeated ones
/// are numbered.
pub fn anchors(page: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for heading in headings(page) {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase();
        let times = seen.entry(anchor.clone()).and_modify(|times| *times += 1).or_insert(0);
        anchors.push(if *times == 0 { anchor } else { format!("{anchor}-{times}") });
    }
    anchors
}

/// Returns the targets of a page's links, each with its line; text in code is ignored.
pub fn links(page: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (at, line) in prose(page) {
        // Every second piece is between backticks.
        let shown: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = shown.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        links.extend(targets.map(|(target, _)| (at, target.to_owned())));
    }
    links
}

/// Returns the code blocks that quote a file, each with the file's path: ` ```rust core/src/lib.rs `.
pub fn quotes(page: &str) -> Vec<(&str, &str)> {
    let blocks = page.split("\n```rust ").skip(1).filter_map(|block| block.split_once('\n'));
    blocks.filter_map(|(file, rest)| Some((file, rest.split_once("\n```")?.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# One: `two` & three\n\n[a](b#c) `[no](link)`\n```rust a.rs\n# no heading\n```\n## Same\n## Same\n";

    #[test]
    fn pages_are_read() {
        assert_eq!(headings(PAGE), ["One: `two` & three", "Same", "Same"]);
        assert_eq!(anchors(PAGE), ["one-two--three", "same", "same-1"]);
        assert_eq!(links(PAGE), [(3, "b#c".to_owned())]);
        assert_eq!(quotes(PAGE), [("a.rs", "# no heading")]);
    }
}
