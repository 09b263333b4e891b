//! Rules of a site for this crawler: robots.txt as in RFC 9309.
//!
//! Only paths are judged here; fetching the file, and what its absence means, is up to the crawler.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::limits::ROBOTS_BYTES_MAX;

/// Product token by which a site addresses this crawler.
pub const PRODUCT_TOKEN: &str = "switchboard";
/// Most rules kept of a file, since judging a path reads each of them.
const RULES_MAX: usize = 10_000;

/// The rules of a robots.txt that apply to this crawler. Without any, every path is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    rules: Vec<Rule>,
}

/// An `Allow` or `Disallow` line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    allow: bool,
    /// Normalised pattern; `*` matches any characters.
    pattern: String,
    /// Whether the pattern ended with `$`, so that it must match to the end of the path.
    whole: bool,
}

/// Crawlers that the lines of a group apply to.
#[derive(Clone, Copy, Default)]
struct Group {
    /// This crawler, by name.
    us: bool,
    /// Every crawler that no group names.
    others: bool,
    /// Whether a rule has come, so that the next `User-agent` opens another group.
    closed: bool,
}

impl Robots {
    /// Parses a file. No file is an error: lines that are not understood are ignored. Bytes after [`ROBOTS_BYTES_MAX`],
    /// with the line that they cut, are ignored, and so are rules after the 10,000th.
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(within(bytes));
        let (mut ours, mut others, mut named, mut group) = (Vec::new(), Vec::new(), false, Group::default());
        for (name, value) in text.trim_start_matches('\u{feff}').split(['\n', '\r']).filter_map(field) {
            if name.eq_ignore_ascii_case("user-agent") {
                let before = if group.closed { Group::default() } else { group };
                let us = product(value).eq_ignore_ascii_case(PRODUCT_TOKEN);
                named |= us;
                group = Group { us: before.us || us, others: before.others || value.starts_with('*'), closed: false };
            } else if let Some(allow) = verdict(name) {
                group.closed = true;
                for (meant, rules) in [(group.us, &mut ours), (group.others, &mut others)] {
                    // A line without a path is ignored.
                    if meant && !value.is_empty() && rules.len() < RULES_MAX {
                        rules.push(Rule::new(allow, value));
                    }
                }
            }
        }
        Self { rules: if named { ours } else { others } }
    }

    /// Returns whether a path with its query may be read: the longest matching rule decides, and of two equally long
    /// ones the one that allows.
    pub fn allows(&self, path_and_query: &str) -> bool {
        let path = if path_and_query.is_empty() { "/" } else { path_and_query };
        let path = normal(path.split('#').next().unwrap_or(path), Special::Plain);
        if path == "/robots.txt" {
            return true;
        }
        let matching = self.rules.iter().filter(|rule| rule.matches(&path));
        matching.max_by_key(|rule| (rule.octets(), rule.allow)).is_none_or(|rule| rule.allow)
    }
}

impl Rule {
    fn new(allow: bool, value: &str) -> Self {
        let (pattern, whole) = value.strip_suffix('$').map_or((value, false), |start| (start, true));
        Self { allow, pattern: normal(pattern, Special::Star), whole }
    }

    fn octets(&self) -> usize {
        self.pattern.len() + usize::from(self.whole)
    }

    /// Matches each piece between the stars at its first occurrence, which leaves most room for the next.
    fn matches(&self, path: &str) -> bool {
        let (first, rest) = self.pattern.split_once('*').map_or((self.pattern.as_str(), None), |(a, b)| (a, Some(b)));
        let Some(mut left) = path.strip_prefix(first) else { return false };
        let Some(rest) = rest else { return !self.whole || left.is_empty() };
        let (middle, last) = rest.rsplit_once('*').map_or((None, rest), |(middle, last)| (Some(middle), last));
        for piece in middle.into_iter().flat_map(|middle| middle.split('*')) {
            let Some(at) = left.find(piece) else { return false };
            left = &left[at + piece.len()..];
        }
        if self.whole { left.ends_with(last) } else { left.contains(last) }
    }
}

/// Returns the bytes that count, without the line that the limit cuts: half a rule would mean something else.
fn within(bytes: &[u8]) -> &[u8] {
    let Some(start) = bytes.get(..ROBOTS_BYTES_MAX).filter(|_| bytes.len() > ROBOTS_BYTES_MAX) else { return bytes };
    let end = start.iter().rposition(|byte| b"\r\n".contains(byte)).unwrap_or(0);
    &start[..end]
}

/// Splits a line into name and value, without its comment.
fn field(line: &str) -> Option<(&str, &str)> {
    let line = line.split('#').next().unwrap_or_default();
    let (name, value) = line.split_once(':')?;
    Some((name.trim(), value.trim()))
}

/// Returns the product token at the start of a `User-agent`; a version or comment may follow it.
fn product(value: &str) -> &str {
    let end = value.find(|c: char| !c.is_ascii_alphabetic() && c != '-' && c != '_').unwrap_or(value.len());
    &value[..end]
}

fn verdict(name: &str) -> Option<bool> {
    match name {
        name if name.eq_ignore_ascii_case("allow") => Some(true),
        name if name.eq_ignore_ascii_case("disallow") => Some(false),
        _ => None,
    }
}

/// Meaning of `*` in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// An ordinary character, as in a path.
    Plain,
    /// Any characters, as in a pattern.
    Star,
}

/// Returns the canonical spelling of a path or pattern (RFC 9309, section 2.2.2): unreserved characters are unescaped,
/// those outside ASCII are percent-encoded, and escapes have capital digits. In a query an escaped `:` or `/` is
/// unescaped too, since it means the same there.
fn normal(text: &str, special: Special) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at, mut query) = (String::with_capacity(text.len()), 0, false);
    while let Some(&byte) = bytes.get(at) {
        let escaped = (byte == b'%').then(|| bytes.get(at + 1..at + 3).and_then(hex)).flatten();
        at += if escaped.is_some() { 3 } else { 1 };
        let plain = match escaped {
            Some(byte) => unreserved(byte) || query && b":/".contains(&byte),
            None => byte.is_ascii_graphic() && byte != b'$' && (byte != b'*' || special == Special::Star),
        };
        let byte = escaped.unwrap_or(byte);
        query |= escaped.is_none() && byte == b'?';
        if plain {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string takes all text");
        }
    }
    out
}

fn unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digits = core::str::from_utf8(digits).ok()?;
    // The number parser would accept a sign too.
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// A file, the paths that are open, and those that are closed.
    type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

    const GROUPS: &[Case] = &[
        ("", &["/", "", "/a"], &[]),
        ("Disallow: /", &["/"], &[]),
        ("User-agent: *\nDisallow: /", &["/robots.txt"], &["/", "", "/a"]),
        ("User-agent: *\nDisallow:", &["/a"], &[]),
        ("\u{feff}user-AGENT : Switchboard # us\r\n DISALLOW :/a\r\n", &["/b"], &["/a"]),
        ("User-agent: switchboard/1.0\rDisallow: /a\r", &["/b"], &["/a"]),
        ("User-agent: switchboard-images\nDisallow: /", &["/a"], &[]),
        ("User-agent: other\nDisallow: /", &["/a"], &[]),
        ("User-agent: *\nDisallow: /\n\nUser-agent: switchboard\nDisallow: /a", &["/b"], &["/a"]),
        ("User-agent: switchboard\nDisallow:\nUser-agent: *\nDisallow: /", &["/a"], &[]),
        ("User-agent: switchboard\nUser-agent: other\nDisallow: /a", &["/b"], &["/a"]),
        (
            "User-agent: other\nSitemap: x\nUser-agent: switchboard\nCrawl-delay: 9\nDisallow: /a\nUser-agent: z\nDisallow: /b",
            &["/b"],
            &["/a"],
        ),
        (
            "User-agent: switchboard\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: switchboard\nDisallow: /c",
            &["/b"],
            &["/a", "/c"],
        ),
    ];

    /// Rules of one group, the paths that are open, and those that are closed.
    const RULES: &[Case] = &[
        ("Disallow: /a", &["/", "/A", "/b/a"], &["/a", "/a/b", "/ab", "/a?b"]),
        ("Disallow: /a/", &["/a"], &["/a/", "/a/b"]),
        ("Disallow: a", &["/a"], &[]),
        ("Disallow: /a # all of it", &["/"], &["/a"]),
        ("Disallow: /\nAllow: /a", &["/a", "/ab"], &["/b"]),
        ("Allow: /a\nDisallow: /a", &["/a"], &[]),
        ("Disallow: /a\nAllow: /a", &["/a"], &[]),
        ("Allow: /a\nDisallow: /a/b", &["/a", "/a/c"], &["/a/b"]),
        ("Allow: /*.html$\nDisallow: /a", &["/a.html"], &["/a", "/a.html?x"]),
        ("Disallow: *.gif$", &["/a.gif?x", "/gif"], &["/a.gif", "/b/c.gif", "/a.gif/.gif"]),
        ("Disallow: /*/x*y$", &["/x/y", "/a/xyz"], &["/a/xy", "/a/b/xqqy", "/a/xyzy"]),
        ("Disallow: /*?", &["/a"], &["/a?", "/a?b"]),
        ("Disallow: /a$", &["/ab", "/a/"], &["/a"]),
        ("Allow: /a\nDisallow: /a$", &["/ab"], &["/a"]),
        ("Disallow: /a*", &["/b"], &["/a", "/ab"]),
        ("Disallow: /**b", &["/a"], &["/b", "/ab"]),
        ("Disallow: /ab*ba$", &["/aba"], &["/abba", "/abxba"]),
        ("Disallow: /$", &["/a"], &["/", ""]),
        ("Disallow: /a$b", &["/a"], &["/a$b", "/a%24bc"]),
        ("Disallow: /a%2Ab", &["/aab"], &["/a*b", "/a%2ab"]),
        ("Disallow: /%62%61%7A", &["/b"], &["/baz", "/%62az"]),
        ("Disallow: /ツ", &["/"], &["/%E3%83%84", "/%e3%83%84/x", "/ツ"]),
        ("Disallow: /%e3%83%84", &["/"], &["/ツ"]),
        ("Disallow: /a%2fb", &["/a/b"], &["/a%2Fb"]),
        ("Disallow: /a/b", &["/a%2Fb"], &["/a/b"]),
        ("Disallow: /a?u=https://b", &["/a"], &["/a?u=https%3A%2F%2Fb", "/a?u=https://b"]),
        ("Disallow: /a?u=https%3A%2F%2Fb", &["/a"], &["/a?u=https://b"]),
        ("Disallow: */feed/", &["/a"], &["/x?a=/feed/", "/x/feed/"]),
        ("Disallow: /%zz%4", &["/"], &["/%zz%4", "/%zz%4g", "/%zz%4?"]),
        ("Disallow: /a", &["/b#/a"], &["/a#b"]),
        ("Allow: /robots\nDisallow: /robots.txt", &["/robots.txt"], &["/robots.txt?x"]),
    ];

    fn check(file: &str, open: &[&str], closed: &[&str]) {
        let robots = Robots::parse(file.as_bytes());
        for (paths, allowed) in [(open, true), (closed, false)] {
            for path in paths {
                assert_eq!(robots.allows(path), allowed, "{path:?} after {file:?}");
            }
        }
    }

    #[test]
    fn the_group_of_this_crawler_or_of_all_counts() {
        GROUPS.iter().for_each(|(file, open, closed)| check(file, open, closed));
    }

    #[test]
    fn the_longest_rule_decides() {
        RULES.iter().for_each(|(rules, open, closed)| check(&format!("User-agent: *\n{rules}\n"), open, closed));
    }

    #[test]
    fn bytes_that_are_no_text_say_nothing() {
        let robots = Robots::parse(b"\xff\xfe\0\nUser-agent: *\nDisallow: /\xff\nDisallow: /a");
        assert!(robots.allows("/b") && !robots.allows("/a"));
    }

    #[test]
    fn a_file_counts_to_its_bound_and_no_cut_line_does() {
        let start = "User-agent: *\nDisallow: /a\n#";
        let padding = "x".repeat(ROBOTS_BYTES_MAX - start.len() - "\nDisallow: /b".len());
        let file = format!("{start}{padding}\nDisallow: /bcd\nDisallow: /e");
        check(&file, &["/b", "/bcd", "/e"], &["/a"]);
        check(&format!("User-agent: *\nDisallow: {}", "/".repeat(ROBOTS_BYTES_MAX)), &["/", "//"], &[]);
    }

    #[test]
    fn rules_count_to_their_bound() {
        let many =
            (0..=RULES_MAX).fold(String::from("User-agent: *\n"), |file, n| file + &format!("Disallow: /{n}$\n"));
        let last = RULES_MAX - 1;
        check(&many, &[&format!("/{RULES_MAX}")], &["/0", &format!("/{last}")]);
    }
}
