//! Phone numbers of the simulated carrier, caller ids and SIP trunks.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{Got, House, assistant, campaign, trunk, with};

const IN_USE: &str = "This phone number is already in use.";
const MISSING: &str = "Phone number not found.";
const TRUNKS: &str = "/user/phone-numbers/sip-trunks";

/// Returns the first number on offer that can, or cannot, send messages.
fn offer(house: &mut House, sms_capable: bool) -> String {
    let found = house.get("/user/phone-numbers/search?country_code=GB").expect(200).json["data"].clone();
    let fits = found.as_array().expect("a list").iter().find(|offer| offer["sms_capable"] == sms_capable);
    fits.expect("an offer")["phone_number"].as_str().expect("a number").to_owned()
}

fn buy(house: &mut House, number: &str) -> Got {
    house.post("/user/phone-numbers/purchase", &json!({ "phone_number": number })).send()
}

fn all(house: &mut House) -> Vec<Value> {
    house.get("/user/phone-numbers/all").expect(200).json["data"].as_array().expect("a list").clone()
}

#[test]
fn a_search_shows_what_can_be_bought() {
    let mut house = House::default();
    let home = house.get("/user/phone-numbers/search").expect(200).json;
    assert_eq!(home, house.get("/user/phone-numbers/search?country_code=US").json);
    for country in ["US", "CA", "GB", "AU", "IL", "PL", "FI", "NL", "DK", "IT"] {
        let target = format!("/user/phone-numbers/search?country_code={country}&contains=7");
        let found = house.get(&target).expect(200).json["data"].clone();
        let found = found.as_array().expect("a list");
        assert!(!found.is_empty(), "{country}");
        for one in found {
            let members = [
                "address_requirements",
                "billing_price_id",
                "country_code",
                "phone_number",
                "phone_number_formatted",
                "price",
                "sms_capable",
            ];
            assert!(one.as_object().is_some_and(|one| one.keys().eq(members)), "{one}");
            assert!(one["country_code"] == country && one["price"].is_f64(), "{one}");
            assert!(one["phone_number"].as_str().is_some_and(|number| number.contains('7')), "{one}");
            assert!(
                ["none", "local", "foreign", "inventory"]
                    .contains(&one["address_requirements"].as_str().expect("a word"))
            );
        }
    }
    assert_eq!(house.get("/user/phone-numbers/search?contains=0000000000").expect(200).json, json!({ "data": [] }));
}

#[test]
fn a_bought_number_is_the_accounts_alone() {
    let mut house = House::default();
    let stranger = house.account("stranger@example.com");
    let number = offer(&mut house, true);
    let got = buy(&mut house, &number).expect(201);
    let data = json!({
        "id": got.id(), "phone_number": number, "country_code": "GB", "type": "normal", "sms_capable": true,
    });
    assert_eq!(got.json, json!({ "message": "Phone number purchased successfully.", "data": data }));
    let want = json!({
        "id": got.id(), "phone_number": number, "nickname": null, "country_code": "GB", "type": "normal",
        "type_label": "Normal", "sms_capable": true, "region": null, "has_active_subscription": true,
        "created_at": house.now.iso(), "verified": true,
    });
    assert_eq!(all(&mut house), [want]);
    buy(&mut house, &number).error(400, IN_USE);
    let body = json!({ "phone_number": number });
    house.post("/user/phone-numbers/purchase", &body).token(&stranger).send().error(400, IN_USE);
    house.post(TRUNKS, &trunk(&number)).token(&stranger).send().error(409, IN_USE);
}

#[test]
fn what_cannot_be_bought_is_told_as_an_error() {
    let mut house = House::default();
    buy(&mut house, "+15005550000").error(400, "This phone number is not available.");
    for bad in ["", "123", "+0123456789", "+1 202 555 0100"] {
        let got = buy(&mut house, bad).expect(422);
        assert!(got.json["error"].is_string() && got.json.get("errors").is_none(), "{bad}: {}", got.json);
    }
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "balance": 0.5 })).token(&operator).send().expect(200);
    let number = offer(&mut house, true);
    assert!(buy(&mut house, &number).expect(402).json["error"].is_string());
    assert!(all(&mut house).is_empty());
}

#[test]
fn the_short_list_has_those_that_send_messages() {
    let mut house = House::default();
    let (sends, mute) = (offer(&mut house, true), offer(&mut house, false));
    buy(&mut house, &mute).expect(201);
    buy(&mut house, &sends).expect(201);
    let list = house.get("/user/phone-numbers").expect(200).json;
    assert_eq!(list, json!([all(&mut house)[1]]));
}

#[test]
fn a_number_is_renamed() {
    let mut house = House::default();
    let number = offer(&mut house, true);
    let id = buy(&mut house, &number).id();
    let path = format!("/user/phone-numbers/{id}");
    let got = house.put(&path, &json!({ "nickname": "ü".repeat(50) })).send().expect(200);
    assert_eq!(got.json, json!({ "message": "Phone number updated successfully.", "data": all(&mut house)[0] }));
    house.put(&path, &json!({ "nickname": "x".repeat(51) })).send().wrong(&["nickname"]);
    house.put(&path, &json!({})).send().expect(200);
    assert_eq!(all(&mut house)[0]["nickname"], "ü".repeat(50));
    house.put(&path, &json!({ "nickname": null })).send().expect(200);
    assert_eq!(all(&mut house)[0]["nickname"], Value::Null);
    house.put("/user/phone-numbers/99", &json!({ "nickname": "x" })).send().error(404, MISSING);
}

#[test]
fn a_number_given_back_leaves_everything_but_the_calls() {
    let mut house = House::default();
    let number = offer(&mut house, true);
    let id = buy(&mut house, &number).id();
    let holder = house.make("/user/assistant", &with(assistant(), &json!({ "phone_number_id": id })));
    house.make("/user/campaigns", &with(campaign(holder), &json!({ "phone_number_ids": [id] })));
    let call = house.make_call(holder);
    house.delete(&format!("/user/phone-numbers/{id}")).expect(200);
    assert_eq!(house.get(&format!("/user/assistant/{holder}")).json["phone_number_id"], Value::Null);
    assert_eq!(house.get("/user/campaigns").json[0]["phone_number_ids"], json!([]));
    assert_eq!(house.get(&format!("/user/calls/{call}")).json["assistant_phone_number"], json!(number));
    house.delete(&format!("/user/phone-numbers/{id}")).error(404, MISSING);
    buy(&mut house, &number).expect(201);
}

#[test]
fn a_caller_id_is_unique_within_its_account_only() {
    let mut house = House::default();
    let stranger = house.account("stranger@example.com");
    let body = json!({ "phone_number": "+40700000001" });
    let got = house.post("/user/phone-numbers/caller-ids", &body).send().expect(201);
    let listed = all(&mut house);
    assert_eq!((got.json["message"].is_string(), &got.json["data"]), (true, &listed[0]));
    let kind = json!([listed[0]["type"], listed[0]["type_label"], listed[0]["verified"], listed[0]["sms_capable"]]);
    assert_eq!(kind, json!(["caller_id", "Caller ID", true, false]));
    assert!(house.post("/user/phone-numbers/caller-ids", &body).send().expect(400).json["error"].is_string());
    house.post("/user/phone-numbers/caller-ids", &body).token(&stranger).send().expect(201);
    let bad = house.post("/user/phone-numbers/caller-ids", &json!({ "phone_number": "0700" })).send().expect(422);
    assert!(bad.json["error"].is_string());
    house.delete(&format!("/user/phone-numbers/{}", got.id())).expect(200);
    house.post("/user/phone-numbers/caller-ids", &body).send().expect(201);
}

#[test]
fn a_trunk_is_a_number_whose_password_is_never_shown() {
    let mut house = House::default();
    assert_eq!(house.get(TRUNKS).expect(200).json, json!({ "data": [] }));
    let got = house.post(TRUNKS, &with(trunk("+40700000002"), &json!({ "nickname": "Office" }))).send().expect(201);
    let id = got.id();
    let want = json!({
        "id": id, "phone_number": "+40700000002", "nickname": "Office", "sip_username": "anna",
        "sip_address": "sip.example:5060", "sip_calling_format": "+e164", "inbound_authorization_type": "auth",
        "allowed_inbound_ips": [], "country_code": null, "outbound_proxy": null, "created_at": house.now.iso(),
        "sip_trunk_type": "number", "inbound_trunk_id": null, "outbound_trunk_id": null, "registration": null, "updated_at": house.now.iso(),
    });
    assert_eq!((got.json["message"].is_string(), &got.json["data"]), (true, &want));
    let path = format!("{TRUNKS}/{id}");
    assert_eq!(house.get(&path).expect(200).json, json!({ "data": want }));
    assert_eq!(house.get(TRUNKS).json, json!({ "data": [want] }));
    assert_eq!(all(&mut house)[0]["type_label"], "SIP");
    house.put(&path, &json!({ "sip_address": "10.0.0.1", "sip_calling_format": "national" })).send().expect(200);
    let got = house.get(&path).json["data"].clone();
    assert_eq!((&got["sip_address"], &got["sip_username"]), (&json!("10.0.0.1"), &json!("anna")));
    house.put(&format!("/user/phone-numbers/{id}"), &json!({ "nickname": "Desk" })).send().expect(200);
    assert_eq!(house.get(&path).json["data"]["nickname"], "Desk");
    house.delete(&format!("/user/phone-numbers/{id}")).expect(200);
    house.get(&path).error(404, "SIP trunk not found.");
}

#[test]
fn what_a_trunk_must_keep_to() {
    let mut house = House::default();
    let ip = json!({ "inbound_authorization_type": "ip", "sip_username": null, "sip_password": null });
    let cases = [
        (json!({ "phone_number": "0700" }), "phone_number"),
        (json!({ "sip_address": null }), "sip_address"),
        (json!({ "sip_username": null }), "sip_username"),
        (json!({ "sip_username": "ab" }), "sip_username"),
        (json!({ "sip_username": "x".repeat(129) }), "sip_username"),
        (json!({ "sip_password": "ab" }), "sip_password"),
        (json!({ "sip_calling_format": "E164" }), "sip_calling_format"),
        (json!({ "inbound_authorization_type": "none" }), "inbound_authorization_type"),
        (ip.clone(), "allowed_inbound_ips"),
        (with(ip.clone(), &json!({ "allowed_inbound_ips": ["10.0.0"] })), "allowed_inbound_ips.0"),
    ];
    for (changes, field) in cases {
        let mut body = trunk("+40700000002");
        body.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
        let got = house.post(TRUNKS, &body).send();
        got.wrong(&[field]);
        assert_eq!(got.json["message"], "The given data was invalid.", "{changes}");
    }
    let open = json!({ "inbound_authorization_type": "ip", "allowed_inbound_ips": ["10.0.0.0/8", "::1"] });
    let body = json!({ "phone_number": "+40700000002", "sip_address": "10.0.0.1" });
    let id = house.make(TRUNKS, &with(body, &open));
    house.post(TRUNKS, &trunk("+40700000002")).send().error(409, IN_USE);
    house.make(TRUNKS, &trunk("+40700000003"));
    let path = format!("{TRUNKS}/{id}");
    house.put(&path, &json!({ "phone_number": "+40700000003" })).send().error(409, IN_USE);
    house.put(&path, &json!({ "inbound_authorization_type": "auth" })).send().wrong(&["sip_username", "sip_password"]);
    house.put(&path, &json!({ "phone_number": "+40700000004" })).send().expect(200);
    house.make(TRUNKS, &trunk("+40700000002"));
    let caller = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000009" }));
    house.get(&format!("{TRUNKS}/{caller}")).error(404, "SIP trunk not found.");
}

#[test]
fn a_trunk_may_be_an_extension_of_the_accounts_own() {
    let mut house = House::default();
    let stranger = house.account("stranger@example.com");
    let extension = with(trunk("101"), &json!({ "sip_trunk_type": "extension" }));
    let id = house.make(TRUNKS, &extension);
    let shown = house.get(&format!("{TRUNKS}/{id}")).json["data"].clone();
    assert_eq!(json!([shown["phone_number"], shown["sip_trunk_type"]]), json!(["101", "extension"]));
    assert_eq!(all(&mut house)[0]["phone_number"], "101");
    house.post(TRUNKS, &extension).send().error(409, IN_USE);
    house.make(TRUNKS, &with(extension.clone(), &json!({ "sip_address": "other.example" })));
    house.post(TRUNKS, &extension).token(&stranger).send().expect(201);
    let path = format!("{TRUNKS}/{id}");
    house.put(&path, &json!({ "sip_address": "other.example" })).send().error(409, IN_USE);
    house.put(&path, &json!({ "sip_trunk_type": "number" })).send().wrong(&["phone_number"]);
    house.put(&path, &json!({ "phone_number": "+40700000002" })).send().wrong(&["phone_number"]);
    for bad in ["", "1 01", "+40700000002", "x".repeat(16).as_str()] {
        house.post(TRUNKS, &with(extension.clone(), &json!({ "phone_number": bad }))).send().wrong(&["phone_number"]);
    }
    let turned = json!({ "phone_number": "+40 700 000 002", "sip_trunk_type": "trunk" });
    let got = house.put(&path, &turned).send().expect(200);
    let data = &got.json["data"];
    assert_eq!(json!([data["phone_number"], data["sip_trunk_type"]]), json!(["+40700000002", "number"]));
    house.post(TRUNKS, &trunk("+40700000002")).token(&stranger).send().error(409, IN_USE);
    house.make(TRUNKS, &extension);
    house.put(&path, &json!({ "phone_number": "desk.2", "sip_trunk_type": "extension" })).send().expect(200);
    house.post(TRUNKS, &trunk("+40700000002")).token(&stranger).send().expect(201);
    house.delete(&format!("/user/phone-numbers/{id}")).expect(200);
    house.make(TRUNKS, &with(trunk("desk.2"), &json!({ "sip_trunk_type": "extension" })));
}

#[test]
fn calls_go_out_through_a_proxy_a_trunks_own_address_or_neither() {
    let mut house = House::default();
    let id = house.make(TRUNKS, &with(trunk("+40700000002"), &json!({ "outbound_proxy": true })));
    let path = format!("{TRUNKS}/{id}");
    assert_eq!(house.get(&path).json["data"]["outbound_proxy"], true);
    for (sent, shown) in [
        (json!(false), json!(false)),
        (json!(1), json!(true)),
        (json!("proxy.example:5060"), json!("proxy.example:5060")),
        (Value::Null, Value::Null),
    ] {
        house.put(&path, &json!({ "outbound_proxy": sent })).send().expect(200);
        assert_eq!(house.get(&path).json["data"]["outbound_proxy"], shown);
    }
    for bad in [json!("a b"), json!(2), json!(["proxy.example"])] {
        house.put(&path, &json!({ "outbound_proxy": bad })).send().wrong(&["outbound_proxy"]);
    }
}

#[test]
fn a_changed_trunk_tells_when() {
    let mut house = House::default();
    let id = house.make(TRUNKS, &trunk("+40700000002"));
    let made = house.now.iso();
    let path = format!("{TRUNKS}/{id}");
    let times = |house: &mut House| {
        let data = house.get(&path).json["data"].clone();
        [data["created_at"].clone(), data["updated_at"].clone()]
    };
    assert_eq!(times(&mut house), [json!(made), json!(made)]);
    house.now = house.now.plus_seconds(5);
    house.put(&path, &json!({ "sip_address": "10.0.0.1" })).send().expect(200);
    assert_eq!(times(&mut house), [json!(made), json!(house.now.iso())]);
    house.now = house.now.plus_seconds(5);
    house.put(&format!("/user/phone-numbers/{id}"), &json!({ "nickname": "Desk" })).send().expect(200);
    assert_eq!(times(&mut house), [json!(made), json!(house.now.iso())]);
}

#[test]
fn a_number_is_read_alone() {
    let mut house = House::default();
    let number = offer(&mut house, true);
    let id = buy(&mut house, &number).id();
    let path = format!("/user/phone-numbers/{id}");
    let got = house.get(&path).expect(200);
    assert_eq!(got.json, json!({ "data": all(&mut house)[0] }));
    let tag = got.header("etag").expect("a tag").to_owned();
    house.put(&path, &json!({ "nickname": "Desk" })).header("if-match", &tag).send().expect(200);
    house.put(&path, &json!({ "nickname": "Bank" })).header("if-match", &tag).send().expect(412);
    house.get("/user/phone-numbers/99").error(404, MISSING);
    let stranger = house.account("stranger@example.com");
    house.call(Method::Get, &path).token(&stranger).send().error(404, MISSING);
}

#[test]
fn a_plan_counts_numbers_of_every_type() {
    let mut house = House::default();
    let operator = house.operator.clone();
    house.post("/admin/plans", &json!({ "name": "one", "numbers": 1 })).token(&operator).send().expect(201);
    house.put("/admin/accounts/1", &json!({ "plan": "one" })).token(&operator).send().expect(200);
    house.make(TRUNKS, &trunk("+40700000002"));
    let number = offer(&mut house, true);
    for (path, body) in [
        ("/user/phone-numbers/purchase", json!({ "phone_number": number })),
        ("/user/phone-numbers/caller-ids", json!({ "phone_number": "+40700000001" })),
        (TRUNKS, trunk("+40700000003")),
    ] {
        assert!(house.post(path, &body).send().expect(403).json["message"].is_string(), "{path}");
    }
}

#[test]
fn a_search_never_offers_what_somebody_has() {
    let mut house = House::default();
    let stranger = house.account("stranger@example.com");
    let offers = |house: &mut House| -> Vec<String> {
        let found = house.get("/user/phone-numbers/search?country_code=GB").expect(200).json["data"].clone();
        let numbers = found.as_array().expect("a list").iter();
        numbers.map(|offer| offer["phone_number"].as_str().expect("a number").to_owned()).collect()
    };
    let before = offers(&mut house);
    let id = buy(&mut house, &before[0]).expect(201).id();
    let body = json!({ "phone_number": before[1] });
    house.post("/user/phone-numbers/purchase", &body).token(&stranger).send().expect(201);
    house.post(TRUNKS, &trunk(&before[2])).token(&stranger).send().expect(201);
    assert_eq!(offers(&mut house), before[3..]);
    house.delete(&format!("/user/phone-numbers/{id}")).expect(200);
    assert_eq!(offers(&mut house)[0], before[0], "what was given back can be had again");
}
