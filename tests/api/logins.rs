//! Logins: their rate limits, and failed ones (docs/api.md, Logins).

use std::cell::RefCell;
use std::ops::Range;

use serde_json::json;
use switchboard_core::http::notice::Notice;
use switchboard_core::http::request::{Body, Method};
use switchboard_core::key::Key;
use switchboard_core::memory::Memory;
use switchboard_core::outside::{Answer, Work};
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::step::{Input, Outcome, Send};
use switchboard_core::view::{Bytes, Order, Scene, Stop, View};
use switchboard_tests::house::House;

/// A store whose host refuses some callers.
struct Limited<'m>(&'m Memory, fn(Caller) -> bool);

impl View for Limited<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.0.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.0.scan(range, order, limit)
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        let rate = Rate { admitted: false, limit: 20, remaining: 0, reset: 0, retry_after: 3 };
        Ok(self.1(caller).then_some(rate))
    }
}

/// Returns the outcome of a login of which only the head was read.
fn head_of_login(house: &mut House, peer: &str, refused: fn(Caller) -> bool) -> Outcome {
    let call = house.call(Method::Post, "/user/login").without("authorization").from(peer).raw(Body::Pending);
    let request = call.request();
    let seed = house.seed();
    let scene = Scene { now: house.now, seed, view: &Limited(&house.store, refused), careful: false };
    house.service.step(&Input::Http(&request, &[]), &scene).expect("sound").outcome
}

#[test]
fn an_address_that_logs_in_too_often_is_not_listened_to() {
    let mut house = House::default();
    let by_address = |caller| matches!(caller, Caller::LoginAddress(_));
    let Outcome::Reply(reply) = head_of_login(&mut house, "192.0.2.1", by_address) else { panic!("its body is read") };
    assert_eq!(reply.status, 429);
    assert!(reply.headers.contains(&("retry-after", "3".into())), "{:?}", reply.headers);
    assert_eq!(head_of_login(&mut house, "192.0.2.1", |_| false), Outcome::ReadBody(4_096));
}

#[test]
fn a_login_is_at_most_four_kibibytes() {
    let mut house = House::default();
    let body = |bytes: usize| format!("{{\"email\":\"a@b.example\",\"password\":\"x\"{}}}", " ".repeat(bytes - 38));
    for (bytes, status) in [(4_096, 401), (4_097, 413)] {
        let body = body(bytes).into_bytes();
        assert_eq!(body.len(), bytes);
        let call = house.call(Method::Post, "/user/login").without("authorization");
        call.header("content-type", "application/json").body(body).send().expect(status);
    }
}

#[test]
fn addresses_of_one_network_share_the_rates_of_logins() {
    let seen = |peer: &str| {
        let mut house = House::default();
        let asked = RefCell::new(Vec::new());
        let login = json!({ "email": "owner@localhost", "password": "wrong" });
        let request = house.post("/user/login", &login).without("authorization").from(peer).request();
        let seed = house.seed();
        let view = Noted(&house.store, &asked);
        let scene = Scene { now: house.now, seed, view: &view, careful: false };
        house.service.step(&Input::Http(&request, &[]), &scene).expect("sound");
        asked.into_inner()
    };
    let first = seen("2001:db8::1");
    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(first, seen("2001:db8::ffff:0:0:9"));
    let other = seen("2001:db8:0:1::1");
    assert!(first.iter().all(|caller| !other.contains(caller)));
    assert_eq!(seen("192.0.2.1"), seen("::ffff:192.0.2.1"));
}

/// A store that records the callers whose rate is checked.
struct Noted<'m>(&'m Memory, &'m RefCell<Vec<Caller>>);

impl View for Noted<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.0.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.0.scan(range, order, limit)
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.1.borrow_mut().push(caller);
        Ok(None)
    }
}

/// Logs in as the owner; returns the status.
fn login_from(house: &mut House, peer: &str, password: &str) -> u16 {
    let body = json!({ "email": "Owner@localhost", "password": password });
    house.post("/user/login", &body).without("authorization").from(peer).send().status
}

#[test]
fn after_twenty_failures_only_addresses_that_logged_in_get_in() {
    let mut house = House::default();
    let password = house.password.clone();
    let (home, away) = ("2001:db8::1", "2001:db8::2:9");
    assert_eq!(login_from(&mut house, home, &password), 200);
    for failure in 0..19 {
        assert_eq!(login_from(&mut house, &format!("198.51.100.{failure}"), "guess"), 401);
    }
    assert_eq!(login_from(&mut house, "192.0.2.1", &password), 200, "nineteen are not too many");
    assert_eq!(login_from(&mut house, "198.51.100.99", "guess"), 401);
    for _ in 0..3 {
        assert_eq!(login_from(&mut house, "198.51.100.100", &password), 401, "whatever its password");
    }
    assert_eq!(login_from(&mut house, away, &password), 200, "the same /64");
    assert_eq!(login_from(&mut house, "192.0.2.1", &password), 200);
    assert_eq!(login_from(&mut house, home, "guess"), 401);
    house.now = house.now.plus_seconds(901);
    assert_eq!(login_from(&mut house, "198.51.100.100", &password), 200, "after 15 minutes");
}

#[test]
fn a_login_that_is_not_judged_makes_as_much_work_and_the_log_tells() {
    let mut house = House::default();
    let password = house.password.clone();
    let mut told = Vec::new();
    let mut compared = Vec::new();
    for at in 0..22 {
        let email = if at == 21 { "nobody@localhost" } else { "owner@localhost" };
        let given = if at < 20 { "guess" } else { &password };
        let body = json!({ "email": email, "password": given });
        let request = house.post("/user/login", &body).without("authorization").from("192.0.2.1").request();
        let seed = house.seed();
        let asked = house.step(&Input::Http(&request, &[]), seed).sends;
        compared.push(matches!(&*asked, [Send { work: Work::VerifyPassword { .. }, .. }]));
        let answer = Answer::Verified(at == 20);
        let output = house.step(&Input::Http(&request, &[answer]), seed);
        assert!(matches!(&output.outcome, Outcome::Reply(reply) if reply.status == 401), "{at}: {output:?}");
        assert_eq!(output.changes.len(), 1, "{at}: each writes one row");
        told.extend(output.notice.map(|notice| (at, notice)));
    }
    assert_eq!(compared, [true; 22]);
    assert_eq!(told, [(19, Notice::LoginsGuarded(0))]);
}

#[test]
fn what_strangers_try_stays_small() {
    let mut house = House::default();
    let size = |house: &House| house.store.rows().iter().map(|(key, row)| key.len() + row.len()).sum::<usize>();
    let failed = |house: &mut House, email: &str, peer: u16| {
        let body = json!({ "email": email, "password": "guess" });
        let call = house.post("/user/login", &body).without("authorization");
        let request = call.from(&format!("2001:db8:{peer:x}::1")).request();
        let seed = house.seed();
        house.step(&Input::Http(&request, &[Answer::Verified(false)]), seed);
    };
    let before = size(&house);
    for at in 0..500 {
        failed(&mut house, "owner@localhost", at);
        failed(&mut house, &format!("nobody{at}@localhost"), at);
    }
    let grown = size(&house) - before;
    assert!(grown < 500, "{grown} bytes for a thousand failures");
}
