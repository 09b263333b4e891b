//! Requests drawn from the route table: any operation, by any caller, with valid or nearly valid input.

use switchboard_core::http::request::{HEADERS, Method};
use switchboard_core::http::route::{BodyKind, Route, Who};
use switchboard_core::record::{Column, ColumnType, Table};
use switchboard_core::service::routes::ROUTES;
use switchboard_sim::random::Random;

use crate::http::Text;
use crate::mutate::{self, NUMBERS, hex, index};
use crate::town::Town;

/// One request in this many has a body over the limit: a mebibyte takes time to build.
const HUGE_ONE_IN: u64 = 8_000;
/// Length of a body over every JSON limit, bytes.
const HUGE_BYTES: usize = (1 << 20) + 1;

const METHODS: [Method; 8] = [
    Method::Get,
    Method::Head,
    Method::Post,
    Method::Put,
    Method::Patch,
    Method::Delete,
    Method::Options,
    Method::Other,
];

/// Draws a request to any operation.
pub fn request(random: &mut Random, town: &Town) -> Text {
    let route = &ROUTES[index(random, ROUTES.len())];
    to(random, town, route)
}

/// Draws a request to an operation that reads.
pub fn read(random: &mut Random, town: &Town) -> Text {
    let routes: Vec<&Route> = ROUTES.iter().filter(|route| route.method == Method::Get).collect();
    let route = random.one(&routes);
    to(random, town, route)
}

/// Draws a request to an operation.
pub fn to(random: &mut Random, town: &Town, route: &Route) -> Text {
    let method = match random.below(24) {
        0 => random.one(&METHODS),
        1 if route.method == Method::Get => Method::Head,
        2 if route.patch => Method::Patch,
        _ => route.method,
    };
    let mut target = path(random, town, route);
    if let Some(table) = route.query.filter(|_| random.chance(850)) {
        target.push_str(&query(random, town, table));
    } else if random.chance(60) {
        target.push('?');
        target.push_str(&mutate::text(random));
    }
    // A character that cannot be in a request line never reaches a service.
    target.retain(|letter| letter != '\n');
    let text = Text::new(method, &target).bearer(token(random, route));
    let text = headers(random, text);
    body(random, town, route, text)
}

fn token(random: &mut Random, route: &Route) -> &'static str {
    if random.chance(40) {
        return random.one(&[
            "owner",
            "stranger",
            "operator",
            "engine",
            "theirs",
            "reader",
            "session",
            "revoked",
            "suspended",
            "nobody",
        ]);
    }
    match route.who {
        Who::Operator => "operator",
        Who::Engine => "engine",
        Who::Visitor if random.chance(300) => "nobody",
        Who::User | Who::Visitor if random.chance(40) => random.one(&["session", "reader", "stranger"]),
        Who::User | Who::Visitor | Who::Anyone => "owner",
    }
}

/// Draws a path of the route: mostly with existing ids.
fn path(random: &mut Random, town: &Town, route: &Route) -> String {
    let pattern = random.one(route.paths);
    let places = if random.chance(80) { &town.stranger } else { &town.owner };
    let mut path = if random.chance(650) { places.path(pattern) } else { String::new() };
    if path.is_empty() {
        for part in pattern.split('/').skip(1) {
            path.push('/');
            match part {
                part if part.starts_with('{') => path.push_str(&id(random)),
                part => path.push_str(part),
            }
        }
    }
    match random.below(60) {
        0 => path.insert_str(0, "/api"),
        1 => path.push('/'),
        2 => path.push_str(&mutate::text(random)),
        3 => path = path.to_uppercase(),
        _ => {}
    }
    path
}

/// Draws an id, or something in its place.
pub fn id(random: &mut Random) -> String {
    match random.below(12) {
        0..=6 => (1 + random.below(8)).to_string(),
        7 => (1 + random.below(4) + (random.below(4) << 32)).to_string(),
        8 => random.one(NUMBERS).to_owned(),
        9 => mutate::text(random),
        10 => "standard".to_owned(),
        _ => random.bits().to_string(),
    }
}

/// Draws a query for a table.
fn query(random: &mut Random, town: &Town, table: &Table) -> String {
    let mut query = String::from("?");
    for column in table.columns {
        if random.chance(350) {
            let value = parameter(random, town, column);
            query.extend([column.name, "=", &escaped(&value), "&"]);
        }
    }
    if random.chance(80) {
        let mut bytes = query.into_bytes();
        mutate::bytes(random, &mut bytes);
        query = String::from_utf8_lossy(&bytes).into_owned();
    }
    if random.chance(5) {
        query.push_str(&"a=1&".repeat(99 + index(random, 4)));
    }
    query
}

fn parameter(random: &mut Random, town: &Town, column: &Column) -> String {
    if random.chance(200) {
        return mutate::text(random);
    }
    match column.spec.kind {
        ColumnType::Int { .. } | ColumnType::Number { .. } => match column.name {
            "per_page" | "page" | "limit" => random.one(&["1", "2", "100", "101", "0", "999999999"]).to_owned(),
            "campaign_id" => town.owner.id("/user/campaign").to_string(),
            _ => id(random),
        },
        ColumnType::IdOrUuid => id(random),
        ColumnType::Choice(words) => random.one(words).to_owned(),
        ColumnType::Bool | ColumnType::BoolOrText { .. } => random.one(&["true", "false", "1", "0", "yes"]).to_owned(),
        _ => random
            .one(&["2026-09-21", "2026-12-31", "0001-01-01", "+40700000001", "40700", "415", "ra", "US"])
            .to_owned(),
    }
}

/// Percent-encodes what a request line requires.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"&#%\"<>".contains(&byte);
    let mut out = String::new();
    for byte in text.bytes() {
        if plain(byte) { out.push(char::from(byte)) } else { out.extend(["%", &hex(&[byte])]) }
    }
    out
}

/// Draws headers that a client may send, well-formed or not.
fn headers(random: &mut Random, mut text: Text) -> Text {
    if random.chance(500) {
        text = text.header("host", b"test");
    }
    while random.chance(180) {
        let name = random.one(&HEADERS);
        let value = match random.below(4) {
            0 => mutate::noise(random, 24),
            1 => mutate::text(random).into_bytes(),
            _ => usual(random, name).into_bytes(),
        };
        text = text.header(name, &value);
    }
    if random.chance(20) {
        let peer = random.one(&["127.0.0.1", "10.0.0.1", "::1", "2001:db8::1"]);
        text.head.extend_from_slice(format!(":peer {peer}\n").as_bytes());
    }
    if random.chance(5) {
        text.head.extend_from_slice(b":door admin\n");
    }
    text
}

fn usual(random: &mut Random, name: &str) -> String {
    let values: &[&str] = match name {
        "accept" => &["*/*", "application/json", "text/event-stream", "text/event-stream;q=0"],
        "content-type" => &["application/json", "text/csv", "multipart/form-data", "application/json; charset=x"],
        "content-length" => &["0", "5", "1048577", "99999999999999999999"],
        "idempotency-key" => &["k", "another key", ""],
        "if-match" | "if-none-match" => &["*", "\"x\"", "W/\"x\"", "\"a\", \"b\"", ","],
        "last-event-id" => &["0", "1", "4294967295", "4294967296", "x"],
        "range" => &["bytes=0-", "bytes=1-2", "bytes=-1", "bytes=99999999999999999999-", "bytes=0-1,2-3", "x=0-1"],
        "x-request-id" => &["abc", "a b", ""],
        "origin" => &["https://app.example", "https://other.example", "null"],
        "access-control-request-method" => &["POST", "x"],
        "forwarded" => &["for=10.0.0.1;proto=https;host=a.example", "for=\"[::1]:80\"", "for=;;=,"],
        "x-forwarded-for" => &["10.0.0.1, 10.0.0.2", "::1", ","],
        "x-forwarded-host" => &["a.example", "a b"],
        "x-forwarded-proto" => &["https", "gopher"],
        _ => &["test", "a.example:99999", "[::1]"],
    };
    random.one(values).to_owned()
}

fn body(random: &mut Random, town: &Town, route: &Route, mut text: Text) -> Text {
    if random.below(HUGE_ONE_IN) == 0 {
        return text.json(vec![b' '; HUGE_BYTES]);
    }
    match random.below(40) {
        0 => {
            let state = random.one(&[":body cut", ":body too-large", ":body pending"]);
            text.head.extend_from_slice(format!("{state}\n").as_bytes());
            return text;
        }
        1 => return text.json(mutate::noise(random, 64)),
        2 => {
            text.body = Some(mutate::text(random).into_bytes());
            return text;
        }
        3 => return text,
        _ => {}
    }
    match route.body {
        BodyKind::Json(table, _) | BodyKind::Document(table) => text.json(town.bodies.draw(random, table)),
        BodyKind::File(media, _) | BodyKind::Object(media, _) => {
            let mut text = text.header("content-type", random.one(media).as_bytes());
            text.body = Some(file(random));
            text
        }
        BodyKind::None => text,
    }
}

/// Valid and invalid import files, as a base for mutation.
const FILES: &[&str] = &[
    "phone_number,customer_name,city\n+40700000201,Ana,Cluj\n+40700000202,\"B, \"\"b\"\"\",\nbad,x,y\n",
    "phone_number\r\n+40700000203\r\n\r\n+40700000203\r\n",
    "\u{feff}phone_number;name\n+40700000204;x\n",
    "{\"phone_number\":\"+40700000205\",\"variables\":{\"a\":1}}\n\n{\"phone_number\":5}\n{\"phone_number\":\"+40700000206\",\"secondary_contacts\":[{\"phone_number\":\"+40700000207\"}]}\n",
    "phone_number,name\n030 123456,a\n(415) 555-0100,b\n0049 30 123456,c\n491512345678,d\n06 1234 5678,e\n",
    "phone_number,reason\n+40700000208,\"asked\nnot to\"\n+40700000209\n",
];

/// Draws an import file, mutated more often than not.
pub fn file(random: &mut Random) -> Vec<u8> {
    let mut file = random.one(FILES).as_bytes().to_vec();
    if random.chance(700) {
        mutate::bytes(random, &mut file);
    }
    file
}
