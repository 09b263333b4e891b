//! Sessions and API keys: logins, expiry, deletion and read-only keys.

use serde_json::json;
use switchboard_core::http::request::Method;
use switchboard_core::outside::Work;
use switchboard_core::step::{Input, Outcome, Send, Ticket};
use switchboard_tests::house::House;

#[test]
fn a_session_works_until_it_is_logged_out() {
    let mut house = House::default();
    let body = json!({ "email": "Owner@LOCALHOST", "password": house.password });
    let got = house.post("/user/login", &body).without("authorization").send().expect(200);
    let token = got.json["token"].as_str().expect("a token").to_owned();
    assert_eq!(got.json["message"], "Login successful.");
    assert_eq!(got.json["token_type"], "Bearer");
    assert_eq!(got.json["user"], json!({ "id": 1, "name": "Owner", "email": "owner@localhost" }));
    assert_eq!(got.header("cache-control"), Some("no-store"));
    house.call(Method::Get, "/user/me").token(&token).send().expect(200);
    house.call(Method::Post, "/user/logout").token(&token).send().expect(200);
    house.call(Method::Get, "/user/me").token(&token).send().expect(401);
}

#[test]
fn a_wrong_pair_is_refused_whether_or_not_the_account_exists() {
    let mut house = House::default();
    for email in ["owner@localhost", "nobody@localhost"] {
        let got = house
            .post("/user/login", &json!({ "email": email, "password": "wrong" }))
            .without("authorization")
            .send()
            .expect(401);
        assert_eq!(got.json, json!({ "message": "These credentials do not match our records." }));
    }
}

#[test]
fn an_unknown_address_makes_as_much_work_as_a_known_one() {
    let mut house = House::default();
    let asked = ["owner@localhost", "nobody@localhost"].map(|email| {
        let body = json!({ "email": email, "password": "wrong" });
        let request = house.post("/user/login", &body).without("authorization").request();
        let seed = house.seed();
        let output = house.step(&Input::Http(&request, &[]), seed);
        assert_eq!(output.outcome, Outcome::Wait);
        let [Send { ticket: Ticket::Exchange, work: Work::VerifyPassword { password, stored } }] = &*output.sends
        else {
            panic!("{email}: no password is compared")
        };
        (password.0.clone(), stored.len())
    });
    assert_eq!(asked[0], asked[1]);
}

/// Logs the owner in and returns the token.
fn login(house: &mut House, password: &str) -> String {
    let body = json!({ "email": "owner@localhost", "password": password });
    let got = house.post("/user/login", &body).without("authorization").send().expect(200);
    got.json["token"].as_str().expect("a token").to_owned()
}

#[test]
fn an_account_changes_its_name_and_zone() {
    let mut house = House::default();
    let got = house.put("/user/me", &json!({ "name": "Ana" })).send().expect(200);
    assert_eq!(got.json["message"], "Profile updated successfully");
    assert_eq!((&got.json["data"], &got.json["data"]["name"]), (&house.get("/user/me").json, &json!("Ana")));
    let got = house.put("/user/me", &json!({ "timezone": "Asia/Kolkata" })).send().expect(200);
    assert_eq!((&got.json["data"]["name"], &got.json["data"]["timezone"]), (&json!("Ana"), &json!("Asia/Kolkata")));
    for (body, fields) in [
        (json!({ "name": "" }), &["name"][..]),
        (json!({ "timezone": "Mars/Base" }), &["timezone"]),
        (json!({ "password": "short", "current_password": "x" }), &["password"]),
        (json!({ "password": "long enough" }), &["current_password"]),
    ] {
        house.put("/user/me", &body).send().wrong(fields);
    }
    // What it may not change, and a password without a new one, change nothing.
    let own = json!({ "email": "a@b.example", "plan": "golden", "total_balance": 9, "current_password": "x" });
    assert_eq!(house.put("/user/me", &own).send().expect(200).json["data"], got.json["data"]);
    let tag = house.get("/user/me").header("etag").expect("a tag").to_owned();
    house.put("/user/me", &json!({ "name": "Bea" })).header("if-match", &tag).send().expect(200);
    house.put("/user/me", &json!({ "name": "Cat" })).header("if-match", &tag).send().expect(412);
}

#[test]
fn a_new_password_ends_the_other_sessions() {
    let mut house = House::default();
    let old = house.password.clone();
    let (own, other) = (login(&mut house, &old), login(&mut house, &old));
    let body = json!({ "password": "another one", "current_password": old });
    house.put("/user/me", &body).token(&own).send().expect(200);
    house.call(Method::Get, "/user/me").token(&own).send().expect(200);
    house.call(Method::Get, "/user/me").token(&other).send().expect(401);
    house.get("/user/me").expect(200);
    login(&mut house, "another one");
    let by_key = json!({ "password": "a third one", "current_password": "another one" });
    house.put("/user/me", &by_key).send().expect(200);
    house.call(Method::Get, "/user/me").token(&own).send().expect(401);
    house.post("/user/login", &json!({ "email": "owner@localhost", "password": "another one" })).send().expect(401);
    login(&mut house, "a third one");
}

#[test]
fn a_wrong_current_password_counts_as_a_failed_login() {
    let mut house = House::default();
    let (password, key) = (house.password.clone(), house.key.clone());
    let body = |current: &str| json!({ "password": "another one", "current_password": current });
    for _ in 0..switchboard_core::limits::LOGIN_FAILURES_MAX {
        let got = house.put("/user/me", &body("wrong")).from("192.0.2.1").send();
        got.wrong(&["current_password"]);
        assert_eq!(got.json["message"], "The current password is incorrect.");
    }
    // From now on even the right one is refused there, as a login is.
    house.put("/user/me", &body(&password)).from("192.0.2.1").send().wrong(&["current_password"]);
    let right = json!({ "email": "owner@localhost", "password": password });
    house.post("/user/login", &right).from("192.0.2.2").without("authorization").send().expect(401);
    house.now = house.now.plus_seconds(switchboard_core::limits::LOGIN_FAILURES_SECONDS);
    house.put("/user/me", &body(&password)).token(&key).from("192.0.2.1").send().expect(200);
    house.crowded = true;
    house.put("/user/me", &body("another one")).send().expect(429);
}

#[test]
fn a_session_ends_by_itself_and_with_the_password() {
    let mut house = House::default();
    let password = house.password.clone();
    let token = login(&mut house, &password);
    house.now = house.now.plus_seconds(86_399);
    house.call(Method::Get, "/user/me").token(&token).send().expect(200);
    house.now = house.now.plus_seconds(1);
    house.call(Method::Get, "/user/me").token(&token).send().expect(401);
    let token = login(&mut house, &password);
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "password": "another one" })).token(&operator).send().expect(200);
    house.call(Method::Get, "/user/me").token(&token).send().expect(401);
    login(&mut house, "another one");
}

#[test]
fn a_key_is_shown_once_and_fails_once_deleted() {
    let mut house = House::default();
    let made = house.post("/user/api-keys", &json!({ "name": "CI" })).send().expect(201);
    let token = made.json["api_key"]["token"].as_str().expect("a token").to_owned();
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let listed = house.get("/user/api-keys").expect(200);
    assert_eq!(listed.json["api_keys"][1]["name"], "CI");
    assert!(!String::from_utf8_lossy(&listed.bytes).contains(&token));
    let kept = house.store.rows().values().any(|row| String::from_utf8_lossy(row).contains(&token));
    assert!(!kept, "the store holds only a digest");
    house.delete(&format!("/user/api-keys/{}", made.id())).expect(200);
    house.call(Method::Get, "/user/me").token(&token).send().expect(401);
    assert_eq!(
        house.delete(&format!("/user/api-keys/{}", made.id())).expect(404).json,
        json!({ "message": "API key not found." })
    );
}

#[test]
fn an_expiring_key_begets_no_longer_one() {
    let mut house = House::default();
    let soon = house.now.plus_seconds(100).iso();
    let made = house.post("/user/api-keys", &json!({ "name": "short", "expires_at": soon })).send().expect(201);
    let token = made.json["api_key"]["token"].as_str().expect("a token").to_owned();
    let child = house.post("/user/api-keys", &json!({ "name": "child" })).token(&token).send().expect(201);
    assert_eq!(child.json["api_key"]["expires_at"], json!(soon));
    house.now = house.now.plus_seconds(100);
    house.call(Method::Get, "/user/me").token(&token).send().expect(401);
}

#[test]
fn a_read_only_key_reads() {
    let mut house = House::default();
    let made = house.post("/user/api-keys", &json!({ "name": "eyes", "read_only": true })).send().expect(201);
    let token = made.json["api_key"]["token"].as_str().expect("a token").to_owned();
    house.call(Method::Get, "/user/me").token(&token).send().expect(200);
    house.call(Method::Head, "/user/me").token(&token).send().expect(200);
    house.post("/user/tools", &json!({})).token(&token).send().expect(403);
}
