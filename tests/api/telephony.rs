//! docs/api.md, Telephony: how calls reach the network, the list of trunks, and calls that come over them.

use serde_json::{Value, json};
use switchboard_core::carrier::Carrier;
use switchboard_core::carrier::twilio::Twilio;
use switchboard_core::http::request::Method;
use switchboard_core::key::{self, Space};
use switchboard_core::record::Secret;
use switchboard_core::setup::Config;
use switchboard_tests::house::{Got, House, assistant, trunk, with};

/// An engine token that gets credentials, or does not.
fn engine(house: &mut House, telephony: bool) -> String {
    let operator = house.operator.clone();
    let new = json!({ "name": "T", "telephony": telephony });
    let made = house.post("/admin/engine-tokens", &new).token(&operator).send().expect(201);
    assert_eq!(made.json["telephony"], telephony);
    made.json["token"].as_str().expect("a token").to_owned()
}

fn new_trunk(house: &mut House, changes: &Value) -> u64 {
    let body =
        with(with(trunk("+40215550100"), &json!({ "sip_username": "desk", "sip_password": "marker-secret" })), changes);
    house.post("/user/phone-numbers/sip-trunks", &body).send().expect(201).json["data"]["id"].as_u64().expect("an id")
}

fn on(house: &mut House, number: u64, changes: &Value) -> u64 {
    let own = json!({ "phone_number_id": number, "is_active": true });
    house.make("/user/assistant", &with(with(assistant(), &own), changes))
}

fn claim(house: &mut House, token: &str) -> Value {
    let body = json!({ "engine": "one", "protocol": 2 });
    let got = house.post("/engine/claim", &body).token(token).from("127.0.0.1").send().expect(200);
    assert_eq!(got.header("cache-control"), Some("no-store"));
    got.json["calls"][0].clone()
}

fn call(house: &mut House, assistant: u64, to: &str) {
    house.post("/user/make_call", &json!({ "phone_number": to, "assistant_id": assistant })).send().expect(200);
}

#[test]
fn a_claim_says_how_to_dial() {
    let mut house = House::default();
    let (all, none) = (engine(&mut house, true), engine(&mut house, false));
    let number = new_trunk(&mut house, &json!({ "sip_address": "sip.example:5061", "outbound_proxy": true }));
    let id = on(&mut house, number, &json!({ "type": "outbound" }));
    call(&mut house, id, "+40700000001");
    let told = claim(&mut house, &all)["telephony"].clone();
    let want = json!({
        "kind": "sip", "trunk_id": number, "from": "+40215550100", "dial": "+40700000001", "address": "sip.example:5061",
        "transport": "tls", "username": "desk", "password": "marker-secret", "outbound_proxy": "sip.example:5061",
        "inbound_authorization_type": "auth", "allowed_inbound_ips": [],
    });
    assert_eq!(told, want);
    call(&mut house, id, "+40700000002");
    let told = claim(&mut house, &none)["telephony"].clone();
    assert_eq!(
        (&told["username"], &told["password"], &told["address"]),
        (&Value::Null, &Value::Null, &want["address"])
    );
}

#[test]
fn a_number_is_written_as_its_trunk_wants_it() {
    for (format, country, to, want) in [
        ("+e164", "RO", "+40721000001", "+40721000001"),
        ("e164", "RO", "+40721000001", "40721000001"),
        ("national", "RO", "+40721000001", "0721000001"),
        ("national", "RO", "+4915112345678", "004915112345678"),
        ("national", "US", "+12125550123", "12125550123"),
        ("national", "US", "+40721000001", "01140721000001"),
        ("national", "IT", "+390612345678", "0612345678"),
    ] {
        let mut house = House::default();
        let token = engine(&mut house, true);
        let number = new_trunk(&mut house, &json!({ "sip_calling_format": format, "country_code": country }));
        let id = on(&mut house, number, &json!({ "type": "outbound" }));
        call(&mut house, id, to);
        assert_eq!(claim(&mut house, &token)["telephony"]["dial"], want, "{format} {country} {to}");
    }
}

#[test]
fn a_bought_number_is_dialed_by_the_operator_s_carrier() {
    let twilio = Twilio {
        base_url: Twilio::PUBLIC.into(),
        account_sid: "AC1".into(),
        auth_token: Secret("carrier-marker".into()),
        number_price_cents: 100,
    };
    let mut house = House::with(Config { carrier: Carrier::Twilio(twilio), ..Config::default() });
    let token = engine(&mut house, true);
    house.outside(|_| {
        Ok(switchboard_core::outside::HttpIn {
            status: 201,
            body: br#"{"sid":"PN1","capabilities":{"sms":true}}"#.to_vec(),
            ..Default::default()
        })
    });
    let bought =
        house.post("/user/phone-numbers/purchase", &json!({ "phone_number": "+12125550100" })).send().expect(201);
    let id = on(&mut house, bought.id(), &json!({ "type": "outbound" }));
    call(&mut house, id, "+40700000001");
    let told = claim(&mut house, &token)["telephony"].clone();
    let shown = ["kind", "from", "dial", "address", "username", "password"].map(|name| told[name].clone());
    assert_eq!(
        shown,
        ["twilio", "+12125550100", "+40700000001", Twilio::PUBLIC, "AC1", "carrier-marker"].map(Value::from)
    );
}

#[test]
fn where_no_engine_could_dial_there_is_nothing() {
    let mut house = House::default();
    let token = engine(&mut house, true);
    let id = house.make("/user/assistant", &assistant());
    call(&mut house, id, "+40700000001");
    assert_eq!(claim(&mut house, &token)["telephony"], Value::Null);
}

/// What a proxy that is not trusted says counts for nothing.
#[test]
fn credentials_go_over_private_connections_only() {
    let says = "Credentials of trunks are sent over https, or to this machine, only.";
    let mut house =
        House::with(Config { trust_proxy: vec!["198.51.100.0/24".parse().expect("a range")], ..Config::default() });
    let (all, none) = (engine(&mut house, true), engine(&mut house, false));
    let number = new_trunk(&mut house, &json!({}));
    on(&mut house, number, &json!({ "type": "inbound" }));
    let mut ask = |token: &str, peer: &str, proto: &str| -> [Got; 3] {
        let bodies = [
            (Method::Get, "/engine/trunks", Value::Null),
            (Method::Post, "/engine/claim", json!({ "engine": "one" })),
            (Method::Post, "/engine/calls", json!({ "type": "inbound", "to": "+40215550100" })),
        ];
        bodies.map(|(method, path, body)| {
            let call = house.call(method, path).token(token).from(peer).header("x-forwarded-proto", proto);
            if body.is_null() { call.send() } else { call.json(&body).send() }
        })
    };
    for (peer, proto, is_private) in [
        ("203.0.113.9", "https", false),
        ("198.51.100.1", "http", false),
        ("198.51.100.1", "https", true),
        ("127.0.0.1", "http", true),
        ("::1", "http", true),
        ("::ffff:127.0.0.1", "http", true),
    ] {
        for got in ask(&all, peer, proto) {
            if is_private {
                assert!((200..300).contains(&got.status), "{peer} {proto} {}", got.json);
            } else {
                got.message(403, says);
            }
        }
    }
    ask(&none, "203.0.113.9", "http").iter().for_each(|got| assert!(got.status < 300, "it has nothing to hide"));
}

fn trunks(house: &mut House, token: &str, query: &str) -> Got {
    house.call(Method::Get, &format!("/engine/trunks{query}")).token(token).from("127.0.0.1").send()
}

#[test]
fn an_engine_is_told_of_all_trunks_and_of_each_change() {
    let mut house = House::default();
    let token = engine(&mut house, true);
    let empty = trunks(&mut house, &token, "").expect(200).json;
    assert_eq!(empty, json!({ "version": 0, "trunks": [] }));
    let by_address = json!({ "inbound_authorization_type": "ip", "allowed_inbound_ips": ["192.0.2.0/24"] });
    let number = new_trunk(&mut house, &by_address);
    let one = trunks(&mut house, &token, "?after=0").expect(200).json;
    let shown = &one["trunks"][0];
    assert_eq!(
        (&one["version"], &shown["trunk_id"], &shown["password"]),
        (&json!(1), &json!(number), &json!("marker-secret"))
    );
    assert_eq!((&shown["allowed_inbound_ips"], &shown["dial"]), (&json!(["192.0.2.0/24"]), &Value::Null));
    let path = format!("/user/phone-numbers/sip-trunks/{number}");
    house.put(&path, &json!({ "sip_address": "other.example" })).send().expect(200);
    let two = trunks(&mut house, &token, "?after=1").expect(200).json;
    assert_eq!((&two["version"], &two["trunks"][0]["address"]), (&json!(2), &json!("other.example")));
    // Other accounts' trunks are there as well, but for a token of one account, and a suspended one's.
    let other = house.account("other@example.com");
    let body = with(trunk("+40215550199"), &json!({ "sip_username": "other", "sip_password": "another" }));
    house.post("/user/phone-numbers/sip-trunks", &body).token(&other).send().expect(201);
    assert_eq!(trunks(&mut house, &token, "").json["trunks"].as_array().map(Vec::len), Some(2));
    let operator = house.operator.clone();
    let own = json!({ "name": "Own", "account_ids": [(number >> 32) + 1] });
    let made = house.post("/admin/engine-tokens", &own).token(&operator).send().expect(201);
    let own = made.json["token"].as_str().expect("a token").to_owned();
    assert_eq!(trunks(&mut house, &own, "").json["trunks"].as_array().map(Vec::len), Some(1));
    assert_eq!(trunks(&mut house, &own, "").json["trunks"][0]["password"], Value::Null);
    let account = format!("/admin/accounts/{}", (number >> 32) + 1);
    house.put(&account, &json!({ "suspended": true })).token(&operator).send().expect(200);
    assert_eq!(trunks(&mut house, &token, "").json["trunks"].as_array().map(Vec::len), Some(1));
    house.put(&account, &json!({ "suspended": false })).token(&operator).send().expect(200);
    house.delete(&format!("/user/phone-numbers/{number}")).expect(200);
    assert_eq!(trunks(&mut house, &token, "").json["trunks"].as_array().map(Vec::len), Some(1));
}

fn bring(house: &mut House, token: &str, body: &Value) -> Got {
    house.post("/engine/calls", body).token(token).from("127.0.0.1").send()
}

#[test]
fn a_call_comes_as_the_network_writes_it() {
    let mut house = House::default();
    let token = engine(&mut house, true);
    let number = new_trunk(&mut house, &json!({ "sip_calling_format": "national", "country_code": "RO" }));
    on(&mut house, number, &json!({ "type": "inbound" }));
    for (from, shown, raw) in [
        ("+40 721 000 001", json!("+40721000001"), Value::Null),
        ("anonymous", Value::Null, json!("anonymous")),
        ("0721000001", Value::Null, json!("0721000001")),
    ] {
        let body = json!({ "type": "inbound", "from": from, "to": "0215550100", "trunk_id": number });
        let call = bring(&mut house, &token, &body).expect(201).json;
        assert_eq!((&call["call"]["client_phone_number"], &call["call"]["from_raw"]), (&shown, &raw));
        assert_eq!(call["telephony"]["trunk_id"], number);
        assert_eq!(call["telephony"]["dial"], Value::Null);
    }
    let wrong = json!({ "type": "inbound", "to": "0215550101", "trunk_id": number });
    bring(&mut house, &token, &wrong).message(403, "The number is not on this trunk.");
    let nowhere = json!({ "type": "inbound", "to": "0215550100", "trunk_id": number + 50 });
    bring(&mut house, &token, &nowhere).message(404, "No active inbound assistant holds this number.");
    let long = json!({ "type": "inbound", "from": "x".repeat(65), "to": "0215550100", "trunk_id": number });
    bring(&mut house, &token, &long).wrong(&["from"]);
}

#[test]
fn an_extension_is_called_by_its_name() {
    let mut house = House::default();
    let token = engine(&mut house, true);
    let number = new_trunk(&mut house, &json!({ "phone_number": "101", "sip_trunk_type": "extension" }));
    on(&mut house, number, &json!({ "type": "inbound" }));
    for to in ["101", "desk"] {
        let body = json!({ "type": "inbound", "from": "102", "to": to, "trunk_id": number });
        assert_eq!(bring(&mut house, &token, &body).expect(201).json["call"]["from_raw"], "102");
    }
    let body = json!({ "type": "inbound", "from": "102", "to": "103", "trunk_id": number });
    bring(&mut house, &token, &body).expect(403);
}

#[test]
fn the_same_call_comes_back_by_its_external_id() {
    let mut house = House::default();
    let token = engine(&mut house, true);
    let number = new_trunk(&mut house, &json!({}));
    on(&mut house, number, &json!({ "type": "inbound" }));
    let body = json!({ "type": "inbound", "from": "+40700000001", "to": "+40215550100", "trunk_id": number, "external_id": "a@192.0.2.1" });
    let first = bring(&mut house, &token, &body).expect(201).json;
    let again = bring(&mut house, &token, &body).expect(200).json;
    assert_eq!(again["call"]["id"], first["call"]["id"]);
    assert_eq!(again["next_seq"], 1);
    let says = "The call with this external_id is over, or has other numbers.";
    bring(&mut house, &token, &with(body.clone(), &json!({ "from": "+40700000002" }))).message(409, says);
    let other = engine(&mut house, true);
    let strange = bring(&mut house, &other, &body).expect(201).json;
    assert_ne!(strange["call"]["id"], first["call"]["id"], "another token has ids of its own");
    let events = format!("/engine/calls/{}/events", first["call"]["id"]);
    let end = json!({ "events": [{ "seq": 1, "type": "answered" }, { "seq": 2, "type": "ended" }] });
    house.post(&events, &end).token(&token).send().expect(200);
    bring(&mut house, &token, &body).message(409, says);
    house.now = house.now.plus_seconds(86_400);
    let tomorrow = bring(&mut house, &token, &body).expect(201).json;
    assert_ne!(tomorrow["call"]["id"], first["call"]["id"], "a new day has new calls");
    let noted = key::brought_before(Space::Account(0), u64::MAX);
    let noted = house.store.rows().keys().filter(|at| noted.contains(*at)).count();
    assert_eq!(noted, 1, "those of yesterday are forgotten");
    bring(&mut house, &token, &with(body, &json!({ "external_id": "ă" }))).wrong(&["external_id"]);
}

#[test]
fn a_filter_names_trunks() {
    let mut house = House::default();
    let token = engine(&mut house, false);
    let number = new_trunk(&mut house, &json!({}));
    let id = on(&mut house, number, &json!({ "type": "outbound" }));
    call(&mut house, id, "+40700000001");
    let mut claimed = |trunk: u64| {
        let body = json!({ "engine": "one", "filter": { "trunk_ids": [trunk] } });
        house.post("/engine/claim", &body).token(&token).send().expect(200).json["calls"].as_array().map(Vec::len)
    };
    assert_eq!((claimed(number + 1), claimed(number)), (Some(0), Some(1)));
}
