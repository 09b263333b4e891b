//! The egress filter (docs/api.md, Requests outside): requests to any spelling of an address outside the public
//! internet, sent by the host's own HTTP client, open no socket; nor do redirects and names that lead to one.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::json;
use switchboard::room::Holder;
use switchboard::send::{Outside, SendExecutor};
use switchboard_core::egress::Filter;
use switchboard_core::http::request::Method;
use switchboard_core::outside::{Answer, Egress, HttpOut, Redirects, SendError, Work};
use switchboard_tests::house::{House, assistant, tool, with};
use switchboard_tests::line::Line;

use crate::outside::{listen, sender, serve_at};

/// Number of listening ports.
const PORTS: usize = 16;
/// Fewest spellings that must be tried.
const SPELLINGS_MIN: usize = 200;

/// Listeners on this machine's addresses that count connections.
struct Doors {
    ports: Vec<u16>,
    opened: Arc<AtomicUsize>,
}

impl Doors {
    /// Listens on all addresses of this machine, in both families if it has both.
    fn open() -> Self {
        let opened = Arc::new(AtomicUsize::new(0));
        let has_both = TcpListener::bind("[::]:0").is_ok();
        let any = if has_both { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let ports = (0..PORTS).map(|_| Self::listen(any, &opened)).collect();
        Self { ports, opened }
    }

    fn listen(any: IpAddr, opened: &Arc<AtomicUsize>) -> u16 {
        let listener = listen(any);
        let port = listener.local_addr().expect("an address").port();
        let opened = Arc::clone(opened);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                opened.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        port
    }

    fn port(&self, at: usize) -> u16 {
        self.ports[at % self.ports.len()]
    }

    /// Returns how many sockets were opened; a connection of its own proves that each listener has counted all before
    /// it.
    fn opened(&self) -> usize {
        let knocks = self.ports.len();
        let before = self.opened.load(Ordering::SeqCst);
        for port in &self.ports {
            drop(std::net::TcpStream::connect(("127.0.0.1", *port)).expect("the listener is there"));
        }
        while self.opened.load(Ordering::SeqCst) < before + knocks {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.opened.fetch_sub(knocks, Ordering::SeqCst) - knocks
    }
}

/// Closed addresses, each for another reason.
const CLOSED_V4: [&str; 24] = [
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.254",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.254",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
];

const CLOSED_V6: [&str; 24] = [
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::0001",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "fc00::1",
    "fd12:3456:789a::1",
    "ff02::1",
    "ff0e::1",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1:7f00:0:100::",
    "4000::1",
    "FE80::A",
];

/// URLs that lead to this machine, or are malformed; `{port}` is a listening port.
const ODD: [&str; 64] = [
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://localhost.:{port}/",
    "http://localhost.localdomain:{port}/",
    "http://ip6-localhost:{port}/",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://0:{port}/",
    "http://0x0:{port}/",
    "http://00:{port}/",
    "http://0x7f.1:{port}/",
    "http://0177.1:{port}/",
    "http://0X7F.0X0.0X0.0X1:{port}/",
    "http://127.0x1:{port}/",
    "http://127.0.0x0001:{port}/",
    "http://0000000000177.0.0.1:{port}/",
    "http://127.000.000.001:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://2130706433.:{port}/",
    "http://user@127.0.0.1:{port}/",
    "http://user:pass@127.0.0.1:{port}/",
    "http://192.0.2.1@127.0.0.1:{port}/",
    "http://192.0.2.1:80@127.0.0.1:{port}/",
    "http://example.com%40@127.0.0.1:{port}/",
    "http://a@b@127.0.0.1:{port}/",
    "http://:@127.0.0.1:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://127%2E0%2E0%2E1:{port}/",
    "http://%6C%6F%63%61%6C%68%6F%73%74:{port}/",
    "http://loc%61lhost:{port}/",
    "http://127.0.0.1%20:{port}/",
    "http://127.0.0.1%00:{port}/",
    "http://127.0.0.1%09:{port}/",
    "http://１２７.０.０.１:{port}/",
    "http://127。0。0。1:{port}/",
    "http://127．0．0．1:{port}/",
    "http://127｡0｡0｡1:{port}/",
    "http://①②⑦.⓪.⓪.①:{port}/",
    "http://𝟏𝟐𝟕.𝟎.𝟎.𝟏:{port}/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/",
    "http://ＬＯＣＡＬＨＯＳＴ:{port}/",
    "http://loc\u{ad}alhost:{port}/",
    "http://127.0.0.1\u{200b}:{port}/",
    "http:\\\\127.0.0.1:{port}\\",
    "http:/127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http:////127.0.0.1:{port}/",
    "HTTP://127.0.0.1:{port}/",
    "hTtP://[::1]:{port}/",
    "http://127.0.0.1:{port}\\@192.0.2.1/",
    "http://192.0.2.1\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}#@192.0.2.1/",
    "http://127.0.0.1:{port}?@192.0.2.1/",
    "http://127.0.0.1:0{port}/",
    "http://127.\t0.0.1:{port}/",
    " http://127.0.0.1:{port}/ ",
    "http://[::1%25lo]:{port}/",
    "http://[fe80::1%25eth0]:{port}/",
    "http://[fe80::1%lo]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[0:0:0:0:0:FFFF:7F00:0001]:{port}/",
    "ftp://127.0.0.1:{port}/",
    "file:///etc/passwd",
];

/// Returns an IPv4 address in every spelling that some parser accepts, and inside the IPv6 addresses that embed one.
fn disguises(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let number = u32::from(address);
    let (high, low) = (number >> 16, number & 0xffff);
    vec![
        address.to_string(),
        format!("{address}."),
        number.to_string(),
        format!("{number:#x}"),
        format!("{number:#X}"),
        format!("0{number:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{:#x}", number & 0x00ff_ffff),
        format!("{a}.{b}.{low}"),
        format!("[::ffff:{address}]"),
        format!("[::ffff:{high:x}:{low:x}]"),
        format!("[::{address}]"),
        format!("[::ffff:0:{address}]"),
        format!("[64:ff9b::{address}]"),
        format!("[64:ff9b:1::{address}]"),
        format!("[2002:{high:x}:{low:x}::1]"),
    ]
}

/// Returns all URLs that must not be reached.
fn closed(doors: &Doors) -> Vec<String> {
    let v4 = CLOSED_V4.iter().flat_map(|text| disguises(text.parse().expect("an address")));
    let hosts = v4.chain(CLOSED_V6.iter().map(|text| format!("[{text}]")));
    let schemes = ["http", "https"];
    let urls = hosts.enumerate().map(|(at, host)| format!("{}://{host}:{}/x", schemes[at % 2], doors.port(at)));
    let odd = ODD.iter().enumerate().map(|(at, url)| url.replace("{port}", &doors.port(at).to_string()));
    urls.chain(odd).collect()
}

/// A resolver with scripted answers: each lookup of a name gets its next answer.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<BTreeMap<String, Vec<Vec<IpAddr>>>>>);

impl Names {
    fn of(names: &[(&str, &[&[&str]])]) -> Self {
        let answer = |answer: &&[&str]| answer.iter().map(|text| text.parse().expect("an address")).collect();
        let names = names.iter().map(|(name, answers)| ((*name).to_owned(), answers.iter().map(answer).collect()));
        Self(Arc::new(Mutex::new(names.collect())))
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let mut names = self.0.lock().expect("a list");
        let found = names.get_mut(name.as_str()).map(|answers| {
            if answers.len() > 1 { answers.remove(0) } else { answers.first().cloned().unwrap_or_default() }
        });
        Box::pin(async move {
            let found = found.ok_or("there is no such name")?;
            Ok(Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// The host's client, on a runtime of its own.
struct Client {
    runtime: tokio::runtime::Runtime,
    sender: SendExecutor,
}

impl Client {
    fn new(outside: Outside) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, sender: sender(outside) }
    }

    fn send(&self, request: HttpOut) -> Answer {
        self.runtime.block_on(self.sender.perform(Work::Http(request), Holder::Account(1)))
    }
}

/// Returns the service's requests on behalf of users, one of each kind: a tool's, a webhook, a website's page.
fn asked() -> Vec<(&'static str, HttpOut)> {
    let mut house = House::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    house.outside(move |request: &HttpOut| {
        noted.lock().expect("a list").push(request.clone());
        Err(SendError::Unreachable)
    });
    let probe = house.make("/user/tools", &with(tool("probe"), &json!({ "method": "POST", "timeout": 1 })));
    house.post(&format!("/user/tools/{probe}/test"), &json!({})).send().expect(502);
    let hook =
        json!({ "is_webhook_active": true, "webhook_url": "https://hook.example/x", "post_call_evaluation": false });
    let id = house.make("/user/assistant", &with(assistant(), &hook));
    let line = Line::attach(&mut house);
    house.make_call(id);
    let mut held = line.take(&mut house);
    line.talk(&mut house, &mut held);
    house.tick();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Sites" }));
    let site = json!({ "name": "Home", "type": "website", "url": "https://site.example/" });
    house.make(&format!("/user/knowledgebases/{base}/documents"), &site);
    house.tick();
    let seen = seen.lock().expect("a list");
    let find = |part: &str| seen.iter().find(|request| request.url.contains(part)).expect(part).clone();
    vec![("tool", find("tools.example")), ("webhook", find("hook.example")), ("website", find("site.example"))]
}

#[test]
fn no_spelling_of_a_closed_address_opens_a_socket() {
    let doors = Doors::open();
    let client = Client::new(Outside::World(Filter::new(vec![])));
    let urls = closed(&doors);
    assert!(urls.len() >= SPELLINGS_MIN, "{} spellings", urls.len());
    for (what, request) in asked() {
        assert_eq!(request.egress, Egress::User, "{what}");
        for url in &urls {
            let said = client.send(HttpOut { url: url.clone(), timeout_ms: 2_000, ..request.clone() });
            let refused = match &said {
                Answer::Failed(SendError::Refused) => true,
                // A name that the system does not know leads nowhere.
                Answer::Failed(SendError::Unreachable) => url.contains("local"),
                _ => false,
            };
            assert!(refused, "{what} {url:?}: {said:?}");
        }
    }
    assert_eq!(doors.opened(), 0, "sockets were opened");
}

#[test]
fn what_a_user_stores_is_refused_then_or_when_it_is_sent() {
    let doors = Doors::open();
    let client = Client::new(Outside::World(Filter::new(vec![])));
    let mut house = House::default();
    house.outside(move |request| match client.send(request.clone()) {
        Answer::Http(answer) => Ok(answer),
        Answer::Failed(error) => Err(error),
        other => panic!("{other:?}"),
    });
    let (mut stored, mut refused) = (0, 0);
    for url in closed(&doors) {
        let made = house.post("/user/tools", &with(tool("probe"), &json!({ "endpoint": url, "timeout": 1 }))).send();
        if made.status == 422 {
            made.wrong(&["endpoint"]);
            refused += 1;
            continue;
        }
        let id = made.expect(201).id();
        let said = house.post(&format!("/user/tools/{id}/test"), &json!({})).send();
        assert!(said.status == 502 && said.json["message"].is_string(), "{url}: {} {}", said.status, said.json);
        house.delete(&format!("/user/tools/{id}")).expect(200);
        stored += 1;
    }
    assert!(stored > SPELLINGS_MIN && refused > 0, "{stored} stored, {refused} refused");
    assert_eq!(doors.opened(), 0, "sockets were opened");
    assert!(house.call(Method::Get, "/user/tools").send().expect(200).json.as_array().is_some_and(Vec::is_empty));
}

#[test]
fn a_name_is_reached_only_if_all_its_addresses_are_open() {
    let doors = Doors::open();
    let names: &[(&str, &[&[&str]])] = &[
        ("loopback.test", &[&["127.0.0.1"]]),
        ("private.test", &[&["10.0.0.1"]]),
        ("metadata.test", &[&["169.254.169.254"]]),
        ("zero.test", &[&["0.0.0.0"]]),
        ("six.test", &[&["::1"]]),
        ("mapped.test", &[&["::ffff:127.0.0.1"]]),
        ("translated.test", &[&["64:ff9b::127.0.0.1"]]),
        ("tunnel.test", &[&["2002:7f00:1::1"]]),
        ("local.test", &[&["fe80::1"]]),
        ("first.test", &[&["127.0.0.1", "1.1.1.1"]]),
        ("last.test", &[&["1.1.1.1", "127.0.0.1"]]),
        ("families.test", &[&["1.1.1.1", "::1"]]),
        ("none.test", &[&[]]),
    ];
    let client = Client::new(Outside::Named(Filter::new(vec![]), Arc::new(Names::of(names))));
    for (what, request) in asked() {
        for (at, (name, _)) in names.iter().enumerate() {
            for url in [
                format!("http://{name}:{}/", doors.port(at)),
                format!("https://{}:{}/", name.to_uppercase(), doors.port(at)),
            ] {
                let said = client.send(HttpOut { url: url.clone(), ..request.clone() });
                assert_eq!(said, Answer::Failed(SendError::Refused), "{what} {url}");
            }
        }
    }
    assert_eq!(doors.opened(), 0, "sockets were opened");
}

/// A name whose first answer is public and whose next is not, and redirects to every closed spelling.
#[test]
fn neither_a_redirect_nor_a_second_answer_leads_to_a_closed_address() {
    let doors = Doors::open();
    let open = Filter::new(vec!["127.77.7.7/32".parse().expect("a range")]);
    let to = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&to);
    let url =
        serve_at("127.77.7.7:0", move |_| (302, vec![("location", told.lock().expect("a URL").clone())], Vec::new()));
    let port = url.rsplit(':').next().expect("a port").to_owned();
    let names: &[(&str, &[&[&str]])] = &[("turns.test", &[&["127.77.7.7"], &["127.0.0.1"]])];
    let client = Client::new(Outside::Named(open, Arc::new(Names::of(names))));
    let (_, page) = asked().pop().expect("a website's page");
    assert_eq!(page.redirects, Redirects::Any);
    for target in closed(&doors) {
        to.lock().expect("a URL").clone_from(&target);
        let said = client.send(HttpOut { url: url.clone(), timeout_ms: 2_000, ..page.clone() });
        // A target that is no web URL is not followed, and a location without a host leads back here.
        let ends = matches!(&said, Answer::Http(answer) if answer.status == 302);
        let refused = matches!(said, Answer::Failed(SendError::Refused | SendError::Unreachable));
        assert!(ends || refused, "{target:?}: {said:?}");
    }
    *to.lock().expect("a URL") = format!("http://turns.test:{}/", doors.port(0));
    let turned = HttpOut { url: format!("http://turns.test:{port}/"), ..page };
    assert_eq!(client.send(turned), Answer::Failed(SendError::Refused));
    assert_eq!(doors.opened(), 0, "sockets were opened");
}

#[test]
fn what_is_open_is_reached() {
    let filter = Filter::new(vec![]);
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.1",
        "192.167.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001:80b::200e",
        "2001:4860:4860::8888",
        "::ffff:1.1.1.1",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ] {
        assert!(filter.allows(text.parse().expect(text)), "{text}");
    }
    let doors = Doors::open();
    let allowed = ["127.0.0.0/8", "::1/128"].map(|range| range.parse().expect("a range"));
    let names: &[(&str, &[&[&str]])] = &[("open.test", &[&["127.0.0.1"]])];
    let client = Client::new(Outside::Named(Filter::new(allowed.into()), Arc::new(Names::of(names))));
    let (_, request) = asked().remove(0);
    let hosts = ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "127.0.0.3", "127.0.0.1.", "open.test"];
    for (at, host) in hosts.iter().enumerate() {
        let said = client.send(HttpOut { url: format!("http://{host}:{}/", doors.port(at)), ..request.clone() });
        // The listeners answer nothing: the connection counts.
        assert_eq!(said, Answer::Failed(SendError::Unreachable), "{host}");
    }
    assert!(doors.opened() >= hosts.len(), "somebody was not reached");
}
