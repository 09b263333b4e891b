//! The operator's price list (docs/api.md, Prices), and what accounts are charged by it.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::outside::{Answer, HttpIn};
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Call, Got, House, assistant};

use crate::carrier::{json_reply, owner as twilio, refusal};
use crate::conversations::{asking, begun, said, say};

fn put<'h>(house: &'h mut House, list: &Value) -> Call<'h> {
    let operator = house.operator.clone();
    house.put("/admin/prices", list).token(&operator)
}

fn read(house: &mut House) -> Got {
    let operator = house.operator.clone();
    house.call(Method::Get, "/admin/prices").token(&operator).send().expect(200)
}

/// Returns a list of these prices, each of a unit and maybe a code.
fn list(prices: &[(&str, Option<&str>, f64)]) -> Value {
    let item = |(unit, code, price): &(&str, Option<&str>, f64)| json!({ "unit": unit, "code": code, "price": price });
    json!({ "currency": "USD", "items": prices.iter().map(item).collect::<Vec<_>>() })
}

fn set(house: &mut House, unit: &str, price: f64) {
    put(house, &list(&[(unit, None, price)])).send().expect(200);
}

fn set_balance(house: &mut House, balance: f64) {
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "balance": balance })).token(&operator).send().expect(200);
}

fn balance(house: &mut House) -> Value {
    house.get("/user/me").expect(200).json["total_balance"].clone()
}

#[test]
fn the_list_is_replaced_as_a_whole() {
    let mut house = House::default();
    assert_eq!(read(&mut house).json, json!({ "data": list(&[]) }));
    let first = list(&[
        ("chat_message", None, 0.000_001),
        ("chat_message", Some("gpt-4o"), 0.123_456),
        ("llm_token_in", Some("gpt-4o"), 0.0),
        ("platform_minute", None, 1_000_000.0),
    ]);
    assert_eq!(put(&mut house, &first).send().expect(200).json, json!({ "data": first }));
    assert_eq!(read(&mut house).json, json!({ "data": first }));
    let units = ["stt_second", "tts_character", "llm_token_in", "llm_token_out", "carrier_second", "sms_segment"];
    let second = list(&units.map(|unit| (unit, None, 0.5)));
    put(&mut house, &second).send().expect(200);
    assert_eq!(read(&mut house).json, json!({ "data": second }));
    let short = json!({ "items": [{ "unit": "sms_segment", "price": 1 }] });
    put(&mut house, &short).send().expect(200);
    assert_eq!(read(&mut house).json, json!({ "data": list(&[("sms_segment", None, 1.0)]) }));
    put(&mut house, &json!({ "items": [] })).send().expect(200);
    assert_eq!(read(&mut house).json, json!({ "data": list(&[]) }));
}

#[test]
fn what_prices_must_keep_to() {
    let mut house = House::default();
    let kept = list(&[("chat_message", None, 0.25)]);
    put(&mut house, &kept).send().expect(200);
    let one = |item: Value| json!({ "items": [item] });
    let price = |price: Value| one(json!({ "unit": "chat_message", "price": price }));
    for (body, wrong) in [
        (one(json!({ "unit": "fax_page", "price": 1 })), "items.0.unit"),
        (one(json!({ "unit": "CHAT_MESSAGE", "price": 1 })), "items.0.unit"),
        (one(json!({ "price": 1 })), "items.0.unit"),
        (one(json!({ "unit": "chat_message" })), "items.0.price"),
        (price(json!(0.000_000_1)), "items.0.price"),
        (price(json!(0.123_456_7)), "items.0.price"),
        (price(json!(999_999.000_000_1)), "items.0.price"),
        (price(json!(-0.01)), "items.0.price"),
        (price(json!(1_000_000.1)), "items.0.price"),
        (price(json!("much")), "items.0.price"),
        (price(json!(null)), "items.0.price"),
        (one(json!({ "unit": "chat_message", "code": "x".repeat(256), "price": 1 })), "items.0.code"),
        (list(&[("chat_message", None, 1.0), ("chat_message", None, 2.0)]), "items.1.code"),
        (
            list(&[("sms_segment", Some("a"), 1.0), ("chat_message", Some("a"), 1.0), ("sms_segment", Some("a"), 1.0)]),
            "items.2.code",
        ),
        (json!({ "currency": "EUR", "items": [] }), "currency"),
        (json!({ "items": vec![json!({ "unit": "chat_message", "price": 1 }); 1_001] }), "items"),
        (json!({ "items": {} }), "items"),
    ] {
        let got = put(&mut house, &body).send();
        let errors = got.json["errors"].as_object().map(|errors| errors.contains_key(wrong));
        assert_eq!((got.status, errors), (422, Some(true)), "{body} {}", got.json);
        assert_eq!(read(&mut house).json, json!({ "data": kept }), "{body}");
    }
    house.put("/admin/prices", &kept).send().expect(401);
}

#[test]
fn a_list_without_its_items_is_refused() {
    let mut house = House::default();
    set(&mut house, "chat_message", 0.5);
    for body in [json!({}), json!({ "itmes": [] }), json!({ "items": null })] {
        put(&mut house, &body).send().wrong(&["items"]);
    }
    assert_eq!(read(&mut house).json["data"]["items"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_list_that_was_changed_meanwhile_is_not_replaced() {
    let mut house = House::default();
    let [first, second, third] = [0.1, 0.2, 0.3].map(|price| list(&[("chat_message", None, price)]));
    let empty = read(&mut house).header("etag").expect("a tag").to_owned();
    put(&mut house, &first).header("if-match", &empty).send().expect(200);
    put(&mut house, &second).header("if-match", &empty).send().expect(412);
    assert_eq!(read(&mut house).json, json!({ "data": first }));
    let tag = read(&mut house).header("etag").expect("a tag").to_owned();
    put(&mut house, &second).header("if-match", &tag).send().expect(200);
    put(&mut house, &third).header("if-match", &tag).send().expect(412);
    put(&mut house, &third).header("if-match", "*").send().expect(200);
    assert_eq!(read(&mut house).json, json!({ "data": third }));
}

#[test]
fn an_answer_costs_what_the_list_says_when_its_turn_begins() {
    let mut house = asking();
    set_balance(&mut house, 10.0);
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    house.outside(|_| Ok(said("Yes.")));
    let costs = |house: &mut House| {
        let row = house.get("/user/conversations").json["data"][0]["total_cost"].clone();
        (row, house.get(&format!("/user{talk}")).json["total_cost"].clone(), balance(house))
    };
    for (price, cost, left) in
        [(0.0, 0.0, 10.0), (0.25, 0.25, 9.75), (0.5, 0.75, 9.25), (0.000_001, 0.750_001, 9.249_999)]
    {
        set(&mut house, "chat_message", price);
        say(&mut house, &talk, &format!("At {price}?")).expect(200);
        assert_eq!(costs(&mut house), (json!(cost), json!(cost), json!(left)), "{price}");
    }
    // Nor does an empty list change what was charged.
    put(&mut house, &json!({ "items": [] })).send().expect(200);
    say(&mut house, &talk, "And for nothing?").expect(200);
    assert_eq!(costs(&mut house), (json!(0.750_001), json!(0.750_001), json!(9.249_999)));
    // A price that changes while the model thinks is that of the next answer.
    let request = house.post(&format!("{talk}/messages"), &json!({ "message": "How much?" })).request();
    let seed = house.seed();
    set(&mut house, "chat_message", 5.0);
    assert!(matches!(house.step(&Input::Http(&request, &[]), seed).outcome, Outcome::Wait));
    set(&mut house, "chat_message", 1.0);
    let output = house.step(&Input::Http(&request, &[Answer::Http(said("One."))]), seed);
    assert!(matches!(output.outcome, Outcome::Reply(reply) if reply.status == 200));
    assert_eq!(costs(&mut house), (json!(5.750_001), json!(5.750_001), json!(4.249_999)));
    // The assistant's model may have a price of its own.
    let models = house.get("/user/assistants/models").json;
    let model = models.as_array().and_then(|models| models.iter().find(|model| model["id"] == 1)).expect("the model");
    assert_eq!(model["name"], "GPT-4.1");
    let own = list(&[("chat_message", None, 1.0), ("chat_message", Some("gpt-4.1"), 2.0)]);
    put(&mut house, &own).send().expect(200);
    say(&mut house, &talk, "And by its model?").expect(200);
    assert_eq!(costs(&mut house), (json!(7.750_001), json!(7.750_001), json!(2.249_999)));
}

/// Asks for a message while a segment costs `before`, and answers as the carrier once it costs `after`.
fn text(before: f64, after: f64, answer: HttpIn) -> (u16, Value, Value) {
    let (mut house, from) = twilio();
    set_balance(&mut house, 10.0);
    set(&mut house, "sms_segment", before);
    let body = json!({ "from": from, "to": "+40700000001", "body": "Hi" });
    let request = house.post("/user/sms", &body).request();
    let seed = house.seed();
    assert!(matches!(house.step(&Input::Http(&request, &[]), seed).outcome, Outcome::Wait));
    assert_eq!(balance(&mut house), json!(10.0 - before));
    set(&mut house, "sms_segment", after);
    let Outcome::Reply(reply) = house.step(&Input::Http(&request, &[Answer::Http(answer)]), seed).outcome else {
        panic!("no reply")
    };
    let json = serde_json::from_slice(reply.body()).expect("JSON");
    (reply.status, json, balance(&mut house))
}

#[test]
fn a_message_keeps_the_price_that_it_was_charged() {
    for (before, after) in [(0.5, 0.25), (0.25, 0.5), (0.25, 0.0), (0.0, 0.25)] {
        let sent = json!({ "sid": "SM1", "status": "queued", "num_segments": "2", "body": "Hi", "price": null });
        let (status, got, left) = text(before, after, json_reply(201, &sent).expect("an answer"));
        let data = &got["data"];
        let shown = (status, &data["segment_price"], &data["total_cost"], left);
        assert_eq!(shown, (200, &json!(before), &json!(2.0 * before), json!(10.0 - 2.0 * before)), "{before} {after}");
        let (status, got, left) = text(before, after, refusal(400, 21_211).expect("an answer"));
        assert_eq!((status, left), (400, json!(10.0)), "{before} {after} {got}");
    }
}
