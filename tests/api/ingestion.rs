//! Reading documents and searching them (docs/api.md, Knowledgebases and States).

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_tests::house::{Got, House, assistant, with};
use switchboard_tests::line::Line;

/// Answers the requests for a site's pages, by URL.
type Site = Box<dyn Fn(&str) -> Result<HttpIn, SendError>>;

/// Uploads a file as a document of this type.
fn upload(house: &mut House, base: u64, kind: &str, file: &[u8]) -> Got {
    let mut body = Vec::new();
    for (name, value) in [("name", "File"), ("type", kind)] {
        body.extend(format!("--xx\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").bytes());
    }
    body.extend(b"--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n");
    body.extend(file);
    body.extend(b"\r\n--xx--\r\n");
    let call = house.call(Method::Post, &format!("/user/knowledgebases/{base}/documents"));
    call.header("content-type", "multipart/form-data; boundary=xx").body(body).send()
}

/// Returns a page of a site, as its server responds.
fn page(status: u16, media: &str, body: &str) -> Result<HttpIn, SendError> {
    let headers = vec![("content-type".to_owned(), media.to_owned())];
    Ok(HttpIn { status, headers, body: body.as_bytes().to_vec(), ..HttpIn::default() })
}

/// Adds a website whose pages `site` answers to a knowledgebase, and runs until it is read.
fn read_site(
    extra: &Value,
    site: impl Fn(&str) -> Result<HttpIn, SendError> + 'static,
) -> (House, u64, Value, Rc<RefCell<Vec<String>>>) {
    let mut house = House::default();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let asked = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&asked);
    house.outside(move |request| {
        log.borrow_mut().push(request.url.clone());
        site(&request.url)
    });
    let body = with(json!({ "name": "Site", "type": "website", "url": "https://a.example/" }), extra);
    let document = house.make(&format!("/user/knowledgebases/{base}/documents"), &body);
    house.tick();
    let shown = house.get(&format!("/user/knowledgebases/{base}/documents/{document}")).json["data"].clone();
    (house, base, shown, asked)
}

fn search(house: &mut House, base: u64, query: &str) -> Vec<Value> {
    let got = house.post(&format!("/user/knowledgebases/{base}/search"), &json!({ "query": query })).send().expect(200);
    got.json["data"].as_array().expect("a list").clone()
}

#[test]
fn a_website_is_fetched_followed_and_found() {
    let site = |url: &str| match url {
        "https://a.example/robots.txt" => page(200, "text/plain", "User-agent: *\nDisallow: /secret"),
        "https://a.example/" => page(
            200,
            "text/html; charset=utf-8",
            "<title>Home</title><p>We sell bicycles.</p><a href='/hours'>h</a><a href='/secret'>s</a>\
             <a href='https://b.example/'>b</a><a href='/img.png'>i</a><a href='/hours#top'>h</a><a href='/more'>m</a>",
        ),
        "https://a.example/hours" => page(200, "text/html", "<p>On Sundays we open at nine.</p><script>var x</script>"),
        "https://a.example/more" => page(404, "text/html", "gone"),
        other => panic!("{other} was asked"),
    };
    let (mut house, base, document, asked) = read_site(&json!({ "relative_links_limit": 3 }), site);
    assert_eq!((&document["status"], &document["failure_reason"]), (&json!("active"), &Value::Null));
    assert_eq!(document["progress"], Value::Null, "it is read");
    assert_eq!(house.get(&format!("/user/knowledgebases/{base}")).json["data"]["status"], "active");
    let want = ["robots.txt", "", "hours", "more"].map(|path| format!("https://a.example/{path}"));
    assert_eq!(*asked.borrow(), want);
    let hits = search(&mut house, base, "when do you open on Sunday?");
    assert_eq!(hits[0]["text"], "On Sundays we open at nine.");
    assert_eq!((&hits[0]["document_id"], &hits[0]["document_name"]), (&document["id"], &json!("Site")));
    assert!(hits[0]["score"].as_f64().expect("a score") > 0.0);
    assert!(search(&mut house, base, "helicopters").is_empty());
    house.delete(&format!("/user/knowledgebases/{base}/documents/{}", document["id"])).expect(200);
    assert!(search(&mut house, base, "bicycles").is_empty(), "a deleted document is found no more");
    house.tick();
    let report = switchboard_core::verify::verify(&house.store).expect("the store can be read");
    assert_eq!(report.faults, Vec::<String>::new());
}

#[test]
fn a_redirect_leads_only_where_robots_txt_allows() {
    let site = |url: &str| {
        let to = |place: &str| {
            let headers = vec![("location".to_owned(), place.to_owned())];
            Ok(HttpIn { status: 302, headers, ..HttpIn::default() })
        };
        match url {
            "https://a.example/robots.txt" => page(200, "text/plain", "User-agent: *\nDisallow: /priv"),
            "https://b.example/robots.txt" => page(200, "text/plain", "User-agent: *\nDisallow: /no"),
            "https://a.example/" => page(
                200,
                "text/html",
                "<p>root</p><a href='/go'>1</a><a href='/far'>2</a><a href='/off'>3</a><a href='/loop'>4</a>",
            ),
            "https://a.example/go" => to("/priv/x"),
            "https://a.example/far" => to("https://b.example/yes"),
            "https://a.example/off" => to("https://b.example/no"),
            "https://a.example/loop" => to("/loop"),
            "https://b.example/yes" => page(200, "text/html", "<p>elsewhere</p>"),
            other => panic!("{other} was asked"),
        }
    };
    let (mut house, base, document, asked) = read_site(&json!({}), site);
    assert_eq!(document["status"], "active");
    assert_eq!(asked.borrow().iter().filter(|url| url.ends_with("/loop")).count(), 4, "three redirects are followed");
    assert_eq!((search(&mut house, base, "elsewhere").len(), search(&mut house, base, "root").len()), (1, 1));
}

#[test]
fn a_website_that_cannot_be_read_fails_with_a_reason() {
    let robots = |rules: &'static str| {
        move |url: &str| {
            if url.ends_with("robots.txt") {
                page(200, "text/plain", rules)
            } else {
                page(200, "text/html", "<p>x</p>")
            }
        }
    };
    let plain = |status: u16, media: &'static str, body: &'static str| {
        move |url: &str| {
            if url.ends_with("robots.txt") { page(404, "text/plain", "") } else { page(status, media, body) }
        }
    };
    let late =
        |url: &str| if url.ends_with("robots.txt") { page(404, "text/plain", "") } else { Err(SendError::TimedOut) };
    let failed: [(Site, &str); 8] = [
        (
            Box::new(|_| Err(SendError::Unreachable)),
            "https://a.example/robots.txt could not be reached: there was no connection, or it broke off.",
        ),
        (
            Box::new(|_| Err(SendError::Refused)),
            "https://a.example/robots.txt may not be reached from here: its address is not public; the operator can allow it.",
        ),
        (Box::new(|_| page(500, "text/plain", "")), "https://a.example/robots.txt answered with status 500."),
        (Box::new(late), "https://a.example/page did not answer within 20 s."),
        (
            Box::new(robots("User-agent: switchboard\nDisallow: /")),
            "https://a.example/page is not read: the site's robots.txt does not allow it.",
        ),
        (Box::new(plain(403, "text/html", "")), "https://a.example/page answered with status 403."),
        (Box::new(plain(200, "image/png", "x")), "https://a.example/page is neither HTML nor text."),
        (Box::new(plain(200, "text/html", "<script>x</script>")), ""),
    ];
    for (site, reason) in failed {
        // Neither its query nor its credentials are told.
        let url = json!({ "url": "https://user:pass@a.example/page?key=hidden" });
        let (mut house, base, document, _) = read_site(&url, site);
        assert_eq!(document["status"], "failed", "{reason}");
        let said = document["failure_reason"].as_str().expect("a reason");
        assert!(said == reason || reason.is_empty() && !said.is_empty(), "{said}");
        assert_eq!(house.get(&format!("/user/knowledgebases/{base}")).json["data"]["status"], "failed");
    }
}

#[test]
fn files_become_text_or_fail_with_a_reason() {
    for (kind, file, status) in [
        ("txt", b"The warranty lasts two years.".to_vec(), "active"),
        ("pdf", b"no PDF at all".to_vec(), "failed"),
        ("docx", b"PK\x03\x04garbage".to_vec(), "failed"),
        ("txt", b"   ".to_vec(), "failed"),
    ] {
        let mut house = House::default();
        let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
        let document = upload(&mut house, base, kind, &file).expect(201).id();
        house.tick();
        let shown = house.get(&format!("/user/knowledgebases/{base}/documents/{document}")).json["data"].clone();
        assert_eq!(shown["status"], status, "{kind} {}", shown["failure_reason"]);
        assert_eq!(shown["failure_reason"].is_string(), status == "failed");
        let parts = house.store.rows().keys().filter(|key| key.get(5) == Some(&6)).count();
        assert_eq!(parts, 0, "what was read is not kept");
        assert_eq!(search(&mut house, base, "warranty").len(), usize::from(status == "active"));
    }
}

#[test]
fn a_long_text_is_indexed_in_slices_and_reaches_prompts() {
    let mut house = House::default();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let articles: Vec<String> =
        (0..6_000).map(|n| format!("Article {n} is about item{n}. It is kept in hall {}.", n % 7)).collect();
    let text = articles.join("\n\n");
    upload(&mut house, base, "txt", text.as_bytes()).expect(201);
    house.tick();
    for n in [0, 2_999, 5_999] {
        let hits = search(&mut house, base, &format!("item{n}"));
        assert!(hits[0]["text"].as_str().expect("text").contains(&format!("item{n}.")), "{n}");
    }
    let body = json!({ "knowledgebase_id": base, "knowledgebase_mode": "prompt" });
    let assistant = house.make("/user/assistant", &with(assistant(), &body));
    house.make_call(assistant);
    let line = Line::attach(&mut house);
    let held = line.take(&mut house);
    let knowledge = held.claimed["assistant"]["knowledge"].as_str().expect("text");
    assert!(knowledge.contains("item5.") && knowledge.len() <= 64 << 10);
    let path = format!("/engine/calls/{}/knowledge", held.id);
    let asked = house.post(&path, &json!({ "query": "item77", "limit": 2 })).token(&line.token).send().expect(200);
    assert!(asked.json["data"][0]["text"].as_str().expect("text").contains("item77."));
}

#[test]
fn a_call_without_a_knowledgebase_knows_nothing() {
    let mut house = House::default();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    upload(&mut house, base, "txt", b"We open at nine.").expect(201);
    house.tick();
    let assistant = house.make("/user/assistant", &with(assistant(), &json!({ "knowledgebase_id": base })));
    house.make_call(assistant);
    let line = Line::attach(&mut house);
    let held = line.take(&mut house);
    let path = format!("/engine/calls/{}/knowledge", held.id);
    let ask = |house: &mut House| {
        let asked = house.post(&path, &json!({ "query": "nine" })).token(&line.token).send().expect(200);
        asked.json["data"].as_array().expect("a list").len()
    };
    assert_eq!(ask(&mut house), 1);
    house.delete(&format!("/user/knowledgebases/{base}")).expect(200);
    assert_eq!(ask(&mut house), 0, "an assistant whose knowledgebase went knows nothing");
}
