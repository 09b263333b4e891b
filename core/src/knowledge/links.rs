//! Selects the links of a page that a crawl of its site follows.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use url::Url;

use crate::limits::{LINKS_MAX, URL_MAX};

/// File extensions, sorted, that lead to no readable text.
const NO_TEXT: [&str; 60] = [
    "7z", "aac", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "csv", "deb", "dmg", "doc", "eot", "eps", "exe",
    "flac", "flv", "gif", "gz", "heic", "ico", "ics", "iso", "jar", "jpeg", "jpg", "js", "json", "m4a", "m4v", "map",
    "mjs", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "odt", "ogg", "otf", "png", "ppt", "pptx", "rar", "rpm",
    "rss", "svg", "tar", "tgz", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2", "zip",
];

/// Returns the pages of the same site (scheme, host and port) that a page links to, absolute and without fragments, in
/// the page's order and each once, at most [`LINKS_MAX`]. The page itself, links with a user name, and files that are
/// obviously no text are left out.
///
/// `base_href` is the base that the page declares for its links; if it is no URL, the page's own URL is used.
pub fn follow(page_url: &str, base_href: Option<&str>, links: &[String]) -> Vec<String> {
    let Some(page) = Url::parse(page_url).ok().and_then(page_of) else { return Vec::new() };
    let base = base_href.and_then(|href| page.join(href.trim()).ok()).unwrap_or_else(|| page.clone());
    let mut seen = BTreeSet::from([String::from(page.as_str())]);
    let followed = links.iter().filter_map(|link| {
        let url = page_of(base.join(link.trim()).ok()?)?;
        let fits = same_site(&page, &url) && url.as_str().len() <= URL_MAX && may_be_text(&url);
        (fits && seen.insert(url.as_str().into())).then(|| url.into())
    });
    followed.take(LINKS_MAX).collect()
}

/// Returns the URL without its fragment, if it may be a page.
fn page_of(mut url: Url) -> Option<Url> {
    let web = matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    url.set_fragment(None);
    web.then_some(url)
}

fn same_site(a: &Url, b: &Url) -> bool {
    (a.scheme(), a.host(), a.port_or_known_default()) == (b.scheme(), b.host(), b.port_or_known_default())
}

fn may_be_text(url: &Url) -> bool {
    let file = url.path().rsplit('/').next().unwrap_or_default();
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_none_or(|ending| NO_TEXT.binary_search(&ending.as_str()).is_err())
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn followed(page: &str, base: Option<&str>, links: &[&str]) -> Vec<String> {
        follow(page, base, &links.iter().map(|link| String::from(*link)).collect::<Vec<_>>())
    }

    #[test]
    fn links_become_pages_of_the_site() {
        // A page, its base, a link, and what is followed.
        let cases: [(&str, Option<&str>, &str, Option<&str>); 38] = [
            ("https://a.com/x/y", None, "z", Some("https://a.com/x/z")),
            ("https://a.com/x/y", None, " /z\n", Some("https://a.com/z")),
            ("https://a.com/x/y", None, "../z#part", Some("https://a.com/z")),
            ("https://a.com/x", None, "?page=2", Some("https://a.com/x?page=2")),
            ("https://a.com/x", None, "//a.com/z", Some("https://a.com/z")),
            ("https://a.com/x", None, "HTTPS://A.COM:443/z", Some("https://a.com/z")),
            ("https://a.com/x", None, "https:/z", Some("https://a.com/z")),
            ("https://a.com/x", None, "\\z", Some("https://a.com/z")),
            ("https://a.com/x", None, "/a b", Some("https://a.com/a%20b")),
            ("https://a.com/x", None, "/ă", Some("https://a.com/%C4%83")),
            ("http://a.com:8080/x", None, "http://a.com:8080/z", Some("http://a.com:8080/z")),
            ("http://127.0.0.1/x", None, "http://0x7f.1/z", Some("http://127.0.0.1/z")),
            ("https://a.com/x", None, "/guide.html", Some("https://a.com/guide.html")),
            ("https://a.com/x", None, "/v1.2/", Some("https://a.com/v1.2/")),
            ("https://a.com/x", None, "/a.zip/b", Some("https://a.com/a.zip/b")),
            ("https://a.com/x", None, "/b?file=a.zip", Some("https://a.com/b?file=a.zip")),
            ("https://a.com/x", None, "/prices.pdf", Some("https://a.com/prices.pdf")),
            ("https://a.com/x", None, "", None),
            ("https://a.com/x", None, "#top", None),
            ("https://a.com/x", None, "http://a.com/z", None),
            ("https://a.com/x", None, "https://www.a.com/z", None),
            ("https://a.com/x", None, "https://a.com.evil.com/z", None),
            ("https://a.com/x", None, "https://a.com:444/z", None),
            ("https://a.com/x", None, "https://user@a.com/z", None),
            ("https://a.com/x", None, "https://:secret@a.com/z", None),
            ("https://a.com/x", None, "https://", None),
            ("https://a.com/x", None, "mailto:me@a.com", None),
            ("https://a.com/x", None, "javascript:void(0)", None),
            ("https://a.com/x", None, "data:text/html,x", None),
            ("https://a.com/x", None, "/photo.JPG", None),
            ("https://a.com/x", None, "/style.css?v=3", None),
            ("https://a.com/x", Some("/docs/"), "z", Some("https://a.com/docs/z")),
            ("https://a.com/x", Some("https://a.com/docs/y"), "z", Some("https://a.com/docs/z")),
            ("https://a.com/x", Some("https://b.com/"), "z", None),
            ("https://a.com/x", Some("https://b.com/"), "https://a.com/z", Some("https://a.com/z")),
            ("https://a.com/x", Some("https://["), "z", Some("https://a.com/z")),
            ("ftp://a.com/x", None, "z", None),
            ("not a URL", None, "https://a.com/z", None),
        ];
        for (page, base, link, expected) in cases {
            let found = followed(page, base, &[link]);
            assert_eq!(found.first().map(String::as_str), expected, "{link:?} on {page:?} with {base:?}");
        }
    }

    #[test]
    fn each_once_and_in_order() {
        let links = ["/b", "/a", "/b#x", "", "/b?", "/c.png", "/a"];
        assert_eq!(
            followed("https://a.com/", None, &links),
            ["https://a.com/b", "https://a.com/a", "https://a.com/b?"]
        );
        let itself = followed("https://a.com/x#top", None, &["x", "#end", "https://a.com/x"]);
        assert_eq!(itself, [""; 0]);
    }

    #[test]
    fn lists_and_urls_are_bounded() {
        let many: Vec<String> = (0..LINKS_MAX + 10).map(|n| format!("/{n}")).collect();
        assert_eq!(follow("https://a.com/", None, &many).len(), LINKS_MAX);
        let long = "x".repeat(URL_MAX - "https://a.com/".len());
        assert_eq!(followed("https://a.com/", None, &[&long, &format!("{long}x")]).len(), 1);
    }

    #[test]
    fn the_endings_are_in_order() {
        assert!(NO_TEXT.is_sorted());
    }
}
