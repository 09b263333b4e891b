//! `GET /widgets/{uuid}`: what the widget of a page is told before anybody has written.

use serde_json::json;
use switchboard_core::http::request::Method;
use switchboard_tests::house::{House, assistant, with};

/// Makes an assistant that pages of one origin may embed; returns its id and UUID.
fn embedded(house: &mut House, settings: &serde_json::Value) -> (u64, String) {
    let open = json!({ "enabled": true, "allowed_origins": ["https://shop.example"] });
    let widget = json!({ "name": "Anna", "widget_settings": with(open, settings) });
    let id = house.make("/user/assistant", &with(assistant(), &widget));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let uuid = house.get(&format!("/user/assistant/{id}")).json["uuid"].as_str().expect("a UUID").to_owned();
    (id, uuid)
}

#[test]
fn a_page_is_told_how_it_looks_and_nothing_else() {
    let mut house = House::default();
    let secret = json!({ "variables": { "customer_name": "guest" }, "daily_cost_max": 4.5, "voice": true });
    let (id, uuid) = embedded(&mut house, &secret);
    let ask = |house: &mut House, target: &str| {
        let call = house.call(Method::Get, target).without("authorization");
        call.header("origin", "https://shop.example").send()
    };
    let target = format!("/widgets/{uuid}");
    let got = ask(&mut house, &target).expect(200);
    let plain = json!({ "status": true, "title": "Anna", "color": null, "position": "right", "theme": "auto",
        "voice": false });
    assert_eq!(got.json, plain, "the assistant's name is the title where there is none");
    assert_eq!(got.header("access-control-allow-origin"), Some("https://shop.example"));
    assert!(got.header("etag").is_some() && got.header("vary").is_some_and(|vary| vary.contains("Origin")));
    let looks = json!({ "title": "Ask Anna", "color": "oklch(0.5 0.1 200)", "position": "left", "theme": "dark" });
    house.put(&format!("/user/assistant/{id}"), &json!({ "widget_settings": looks })).send().expect(200);
    assert_eq!(
        ask(&mut house, &format!("/api{target}")).expect(200).json,
        with(looks, &json!({ "status": true, "voice": false }))
    );
    // However often it is asked, no conversation begins, and nothing is used up.
    let before = house.store.rows().clone();
    for _ in 0..100 {
        ask(&mut house, &target).expect(200);
    }
    assert_eq!(*house.store.rows(), before);
}

#[test]
fn what_is_not_open_is_missing_and_other_pages_are_refused() {
    let mut house = House::default();
    let (id, uuid) = embedded(&mut house, &json!({}));
    let target = format!("/widgets/{uuid}");
    let stranger = |house: &mut House| house.call(Method::Get, &target).without("authorization").send();
    stranger(&mut house).expect(200);
    let call = house.call(Method::Get, &target).without("authorization");
    let got = call.header("origin", "https://other.example").send().expect(403);
    assert_eq!(got.header("access-control-allow-origin"), Some("https://other.example"), "a page may read why");
    let operator = house.operator.clone();
    for suspended in [true, false] {
        house.put("/admin/accounts/1", &json!({ "suspended": suspended })).token(&operator).send().expect(200);
        stranger(&mut house).expect(if suspended { 404 } else { 200 });
    }
    let path = format!("/user/assistant/{id}");
    for change in
        [json!({ "status": "inactive" }), json!({ "status": "active", "widget_settings": { "enabled": false } })]
    {
        house.put(&path, &change).send().expect(200);
        assert_eq!(stranger(&mut house).expect(404).json["message"], "Assistant not found");
        house.get(&target).expect(200);
    }
    let other = house.account("stranger@example.com");
    house.call(Method::Get, &target).token(&other).send().expect(404);
}
