//! The console out of the binary, and the widget: pages and files, and what browsers are told of them.

use std::io::Read;

use flate2::read::GzDecoder;
use switchboard_tests::server::{Folder, Server, send};

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).expect("gzip");
    text
}

#[test]
fn its_page_is_served_at_every_address_of_its_own_and_nowhere_else() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let get =
        |path: &str, headers: &[(&str, &str)]| send("GET", &format!("{}{path}", server.text("url")), "", headers, "");
    let (status, head, page) = get("/", &[BROWSER]);
    assert_eq!(status, 200);
    assert!(unpacked(&page).contains("<title>Switchboard"), "{}", unpacked(&page));
    for part in [
        r#""content-type": "text/html; charset=utf-8""#,
        r#""content-encoding": "gzip""#,
        r#""cache-control": "no-cache""#,
        r#""x-content-type-options": "nosniff""#,
        r#""referrer-policy": "no-referrer""#,
        "script-src 'self'; style-src 'self';",
        "frame-ancestors 'none'; require-trusted-types-for 'script'",
        "media-src 'self' blob:; connect-src 'self'\"",
    ] {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(!head.contains("unsafe"), "{head}");
    for path in ["/console", "/console/", "/console/calls/4294967297", "/console/a/b/c?d=e.f", "/console/index.html"] {
        let got = get(path, &[]);
        assert_eq!((got.0, &got.2), (200, &page), "{path}");
    }
    for path in ["/console/nothing.js", "/console/a/b.css", "/console/../Cargo.toml", "/consoles", "/console/.git"] {
        assert_eq!(get(path, &[]).0, 404, "{path}");
    }
}

#[test]
fn a_file_that_a_browser_has_is_not_sent_again() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    for path in ["/console", "/docs/swagger-ui-bundle.js", "/docs"] {
        let url = format!("{}{path}", server.text("url"));
        let (status, head, body) = send("GET", &url, "", &[], "");
        assert_eq!((status, body.get(..2)), (200, Some(&[0x1f, 0x8b][..])), "{path}");
        let tag =
            head.split(r#""etag": "\"#).nth(1).and_then(|rest| rest.split('\\').next()).expect("a tag").to_owned();
        let tag = format!("{tag}\"");
        let (status, head, body) = send("GET", &url, "", &[("if-none-match", &tag)], "");
        assert_eq!((status, body.len()), (304, 0), "{path}");
        assert!(head.contains("content-security-policy") && !head.contains("content-encoding"), "{head}");
        assert_eq!(send("GET", &url, "", &[("if-none-match", "\"x\"")], "").0, 200, "{path}");
        let (status, _, body) = send("HEAD", &url, "", &[], "");
        assert_eq!((status, body.len()), (200, 0), "{path}");
    }
}

#[test]
fn the_widget_is_one_script_that_pages_of_every_origin_may_load() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none", "--cors-origin", "https://app.example"]);
    let get =
        |path: &str, headers: &[(&str, &str)]| send("GET", &format!("{}{path}", server.text("url")), "", headers, "");
    for origin in ["https://shop.example", "https://app.example", "null"] {
        let (status, head, script) = get("/widget.js", &[("origin", origin)]);
        assert_eq!(status, 200, "{origin}");
        for part in [
            r#""content-type": "text/javascript; charset=utf-8""#,
            r#""access-control-allow-origin": "*""#,
            r#""cross-origin-resource-policy": "cross-origin""#,
            r#""cache-control": "public, max-age=300, stale-while-revalidate=86400""#,
        ] {
            assert!(head.contains(part), "{part}: {head}");
        }
        assert_eq!(head.matches("access-control-allow-origin").count(), 1, "{head}");
        let text = unpacked(&script);
        assert!(text.starts_with("(() => {") && text.len() <= 30_000, "{} bytes", text.len());
        assert!(!text.lines().any(|line| line.starts_with("import ") || line.starts_with("export ")));
    }
    for path in ["/widget.js/x", "/api/widget.js", "/console/widget/panel.js", "/widget"] {
        assert_eq!(get(path, &[]).0, 404, "{path}");
    }
}
