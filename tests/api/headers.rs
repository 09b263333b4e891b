//! Pages, entity tags, request ids, origins and absolute URLs (docs/api.md, Conventions).

use serde_json::{Value, json};
use switchboard_core::http::request::{HEADERS, Method};
use switchboard_core::setup::Config;
use switchboard_tests::house::{House, tool};

/// Returns a house with this many calls, all by one assistant.
fn calls(count: usize) -> House {
    let mut house = House::default();
    let id = house.make("/user/assistant", &switchboard_tests::house::assistant());
    for _ in 0..count {
        house.make_call(id);
    }
    house
}

fn labels(page: &Value) -> Vec<&str> {
    page["links"].as_array().expect("links").iter().map(|link| link["label"].as_str().expect("a label")).collect()
}

#[test]
fn an_envelope_is_what_the_specification_shows() {
    let mut house = calls(5);
    let mut page = house.get("/user/calls?type=outbound&per_page=2&page=2&x=%20y").expect(200).json;
    let url = |page: u64| format!("http://test/user/calls?type=outbound&per_page=2&x=%20y&page={page}");
    let ids: Vec<_> = page["data"].as_array().expect("rows").iter().map(|call| call["id"].clone()).collect();
    assert_eq!(ids, [3, 2], "newest first");
    page["data"] = json!([]);
    let link = |page: u64, label: &str, active| json!({ "url": url(page), "label": label, "active": active });
    let want = json!({
        "current_page": 2, "data": [], "first_page_url": url(1), "from": 3, "last_page": 3, "last_page_url": url(3),
        "links": [
            link(1, "&laquo; Previous", false), link(1, "1", false), link(2, "2", true), link(3, "3", false),
            link(3, "Next &raquo;", false),
        ],
        "next_page_url": url(3), "path": "http://test/user/calls", "per_page": 2, "prev_page_url": url(1), "to": 4,
        "total": 5,
    });
    assert_eq!(page, want);
}

#[test]
fn an_empty_list_has_one_empty_page() {
    let page = House::default().get("/user/calls").expect(200).json;
    let nothing = json!([page["from"], page["to"], page["next_page_url"], page["prev_page_url"], page["total"]]);
    assert_eq!(nothing, json!([null, null, null, null, 0]));
    assert_eq!((&page["last_page"], &page["per_page"], &page["data"]), (&json!(1), &json!(15), &json!([])));
    assert_eq!(labels(&page), ["&laquo; Previous", "1", "Next &raquo;"]);
    assert_eq!(page["links"][0]["url"], Value::Null);
}

#[test]
fn a_page_past_the_end_is_empty() {
    let page = calls(3).get("/user/calls?per_page=2&page=9").expect(200).json;
    assert_eq!((&page["data"], &page["total"], &page["last_page"]), (&json!([]), &json!(3), &json!(2)));
    assert_eq!((&page["from"], &page["to"], &page["current_page"]), (&Value::Null, &Value::Null, &json!(9)));
}

#[test]
fn the_links_are_a_window_on_many_pages() {
    let mut house = calls(20);
    let mut window = |query: &str| {
        let page = house.get(&format!("/user/calls?{query}")).expect(200).json;
        let active: Vec<_> = page["links"].as_array().expect("links").iter().filter(|l| l["active"] == true).collect();
        let label = page["current_page"].to_string();
        assert!(active.len() == 1 && active[0]["label"].as_str() == Some(&label));
        for link in page["links"].as_array().expect("links").iter().filter(|link| link["label"] == "...") {
            assert_eq!(link, &json!({ "url": null, "label": "...", "active": false }));
        }
        labels(&page)[1..].split_last().expect("a next").1.join(" ")
    };
    assert_eq!(window("per_page=2"), "1 2 3 4 5 6 7 8 9 10");
    assert_eq!(window("per_page=1&page=1"), "1 2 3 4 ... 19 20");
    assert_eq!(window("per_page=1&page=5"), "1 2 3 4 5 6 7 8 ... 19 20");
    assert_eq!(window("per_page=1&page=10"), "1 2 ... 7 8 9 10 11 12 13 ... 19 20");
    assert_eq!(window("per_page=1&page=20"), "1 2 ... 17 18 19 20");
}

#[test]
fn a_tag_spares_the_body_until_something_changes() {
    let mut house = House::default();
    let id = house.make("/user/tools", &tool("look"));
    for path in [format!("/user/tools/{id}"), "/user/tools".into()] {
        let got = house.get(&path).expect(200);
        let tag = got.header("etag").expect("a tag").to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"'), "strong");
        assert_eq!(house.get(&path).header("etag"), Some(tag.as_str()));
        for field in [tag.clone(), format!("\"other\", {tag}"), "*".into(), format!("W/{tag}")] {
            for method in [Method::Get, Method::Head] {
                let got = house.call(method, &path).header("if-none-match", &field).send().expect(304);
                assert_eq!((got.bytes.len(), got.header("etag")), (0, Some(tag.as_str())), "{field}");
            }
        }
        house.call(Method::Get, &path).header("if-none-match", "\"other\"").send().expect(200);
        house.now = house.now.plus_seconds(1);
        house.put(&format!("/user/tools/{id}"), &json!({ "timeout": 5 })).send().expect(200);
        house.call(Method::Get, &path).header("if-none-match", &tag).send().expect(200);
        house.put(&format!("/user/tools/{id}"), &json!({ "timeout": 9 })).send().expect(200);
    }
    for path in ["/user/phone-numbers/search", "/healthz"] {
        assert_eq!(house.get(path).expect(200).header("etag"), None, "{path}");
    }
}

#[test]
fn a_write_with_a_stale_tag_changes_nothing() {
    let mut house = House::default();
    let id = house.make("/user/tools", &tool("look"));
    let path = format!("/user/tools/{id}");
    let tag = house.get(&path).header("etag").expect("a tag").to_owned();
    let body = json!({ "timeout": 5 });
    for stale in ["\"other\"", &format!("W/{tag}"), &tag[1..]] {
        let got = house.put(&path, &body).header("if-match", stale).send().expect(412);
        assert!(got.json["message"].is_string());
        house.call(Method::Delete, &path).header("if-match", stale).send().expect(412);
    }
    assert_eq!(house.get(&path).header("etag"), Some(tag.as_str()));
    house.put(&path, &body).header("if-match", &format!("\"other\", {tag}")).send().expect(200);
    house.call(Method::Patch, &path).json(&json!({ "timeout": 6 })).header("if-match", &tag).send().expect(412);
    house.put(&path, &body).header("if-match", "*").send().expect(200);
    house.call(Method::Delete, &path).header("if-match", &tag).send().expect(412);
    let tag = house.get(&path).header("etag").expect("a tag").to_owned();
    house.call(Method::Delete, &path).header("if-match", &tag).send().expect(200);
}

#[test]
fn a_request_id_is_echoed_or_made() {
    let mut house = House::default();
    let long = "x".repeat(128);
    for good in ["a", "Ab.9_-z", &long] {
        let got = house.call(Method::Get, "/user/me").header("x-request-id", good).send().expect(200);
        assert_eq!(got.header("x-request-id"), Some(good));
    }
    for bad in ["", "a b", "ü", "a/b", &format!("{long}x")] {
        let got = house.call(Method::Get, "/user/nope").header("x-request-id", bad).send().expect(404);
        let made = got.header("x-request-id").expect("one is made");
        assert!(made != bad && !made.is_empty(), "{bad}");
    }
    let (one, other) = (house.get("/user/me"), house.get("/user/me"));
    assert_ne!(one.header("x-request-id").expect("one"), other.header("x-request-id").expect("another"));
}

#[test]
fn a_configured_origin_may_call_from_a_browser() {
    let origin = "https://app.example";
    let mut house = House::with(Config { cors_origins: vec![origin.into()], ..Config::default() });
    let preflight = |house: &mut House, origin: &str| {
        let call = house.call(Method::Options, "/user/tools").without("authorization").header("origin", origin);
        call.header("access-control-request-method", "POST").send().expect(204)
    };
    let got = preflight(&mut house, origin);
    assert_eq!(got.header("access-control-allow-origin"), Some(origin));
    assert!(got.header("access-control-allow-methods").is_some_and(|methods| methods.contains("POST")));
    let allowed = got.header("access-control-allow-headers").expect("a list").to_lowercase();
    let allowed: Vec<&str> = allowed.split(", ").collect();
    // Headers that browsers or proxies set by themselves: no page requests them in a preflight.
    let own = ["content-length", "host", "origin", "access-control-request-method"];
    // Those of the console's cookie are for the service's own pages alone.
    let cookies = ["cookie", "sec-fetch-site", "x-csrf-token"];
    for name in HEADERS.iter().filter(|name| !own.contains(name) && !name.contains("forwarded")) {
        assert_eq!(allowed.contains(name), !cookies.contains(name), "{name}");
    }
    let got = house.call(Method::Get, "/user/me").header("origin", origin).send().expect(200);
    assert_eq!(got.header("access-control-allow-origin"), Some(origin));
    assert_eq!(got.header("vary"), Some("Origin"));
    let got = house.call(Method::Get, "/user/me").without("authorization").header("origin", origin).send().expect(401);
    assert_eq!(got.header("access-control-allow-origin"), Some(origin), "a browser may read refusals");
    for stranger in ["https://evil.example", "https://app.example.evil", "null"] {
        assert_eq!(preflight(&mut house, stranger).header("access-control-allow-origin"), None, "{stranger}");
    }
    let mut house = House::default();
    assert_eq!(preflight(&mut house, origin).header("access-control-allow-origin"), None);
}

type Headers<'h> = &'h [(&'h str, &'h str)];

/// Returns the first page's URL as one caller sees it.
fn first_page(config: Config, headers: Headers<'_>, peer: &str) -> String {
    let mut house = House::with(config);
    let mut call = house.call(Method::Get, "/user/calls").from(peer);
    for (name, value) in headers {
        call = call.without(name).header(name, value);
    }
    call.send().expect(200).json["path"].as_str().expect("a URL").to_owned()
}

#[test]
fn absolute_urls_start_as_the_caller_sees_the_service() {
    let plain = Config::default;
    let public = || Config { public_url: Some("https://voice.example/".into()), ..Config::default() };
    let proxied = || Config { trust_proxy: vec!["10.0.0.0/8".parse().expect("a range")], ..Config::default() };
    let forwarded: Headers<'_> = &[("x-forwarded-proto", "https"), ("x-forwarded-host", "voice.example")];
    let standard: Headers<'_> = &[("forwarded", "for=192.0.2.1;proto=https;host=\"voice.example:8443\"")];
    // The proxy sets one family of headers; the other came from the client.
    let both: Headers<'_> = &[
        ("forwarded", "for=192.0.2.1;proto=http;host=evil.example"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "voice.example"),
    ];
    let without_host: Headers<'_> = &[("forwarded", "host=evil.example"), ("x-forwarded-for", "192.0.2.1")];
    let cases: [(Config, Headers<'_>, &str, &str); 11] = [
        (proxied(), both, "10.0.0.1", "https://voice.example"),
        (proxied(), without_host, "10.0.0.1", "http://test"),
        (plain(), &[], "192.0.2.1", "http://test"),
        (plain(), &[("host", "other.example:8080")], "192.0.2.1", "http://other.example:8080"),
        (plain(), forwarded, "10.0.0.1", "http://test"),
        (proxied(), forwarded, "192.0.2.1", "http://test"),
        (proxied(), forwarded, "10.0.0.1", "https://voice.example"),
        (proxied(), standard, "10.0.0.1", "https://voice.example:8443"),
        (proxied(), &[("x-forwarded-proto", "ftp"), ("x-forwarded-host", "a b")], "10.0.0.1", "http://test"),
        (public(), &[], "192.0.2.1", "https://voice.example"),
        (public(), forwarded, "10.0.0.1", "https://voice.example"),
    ];
    for (config, headers, peer, base) in cases {
        assert_eq!(first_page(config, headers, peer), format!("{base}/user/calls"), "{headers:?} {peer}");
    }
    let mut house = House::default();
    assert_eq!(house.get("/api/user/calls").json["path"], "http://test/api/user/calls");
}
