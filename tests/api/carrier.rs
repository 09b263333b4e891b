//! The Twilio carrier, played by the test with the shapes that its REST API documents.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use switchboard_core::carrier::Carrier;
use switchboard_core::carrier::twilio::Twilio;
use switchboard_core::outside::{Egress, HttpIn, HttpOut, SendError};
use switchboard_core::record::Secret;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant, campaign, with};

/// The number that the tests buy.
pub const NUMBER: &str = "+14155550199";
const ROOT: &str = "https://carrier.test/2010-04-01/Accounts/AC1";
const NO_ANSWER: Result<HttpIn, SendError> = Err(SendError::TimedOut);

/// Returns a house whose numbers come from Twilio, at 1.15 a month.
pub fn twilio() -> House {
    let twilio = Twilio {
        base_url: "https://carrier.test/".into(),
        account_sid: "AC1".into(),
        auth_token: Secret("token".into()),
        number_price_cents: 115,
    };
    House::with(Config { carrier: Carrier::Twilio(twilio), ..Config::default() })
}

pub fn json_reply(status: u16, body: &Value) -> Result<HttpIn, SendError> {
    Ok(HttpIn { status, body: body.to_string().into_bytes(), ..HttpIn::default() })
}

/// Returns an error response in the API's form.
pub fn refusal(status: u16, code: u64) -> Result<HttpIn, SendError> {
    let more = format!("https://www.twilio.com/docs/errors/{code}");
    json_reply(status, &json!({ "code": code, "message": "No.", "more_info": more, "status": status }))
}

fn owned() -> Value {
    json!({
        "sid": "PN1", "account_sid": "AC1", "friendly_name": "(415) 555-0199", "phone_number": NUMBER,
        "capabilities": { "voice": true, "sms": true, "mms": false, "fax": false }, "status": "in-use",
    })
}

fn page(list: &str, entries: &Value) -> Value {
    json!({ list: entries, "page": 0, "page_size": 50, "next_page_uri": null })
}

/// Answers every outgoing request with this response.
fn answers(house: &mut House, answer: Result<HttpIn, SendError>) {
    house.outside(move |_| answer.clone());
}

/// Answers every outgoing request with this response, and records its method, URL and body.
fn noted(house: &mut House, answer: Result<HttpIn, SendError>) -> Rc<RefCell<Vec<(String, String, String)>>> {
    let log = Rc::new(RefCell::new(Vec::new()));
    let notes = Rc::clone(&log);
    house.outside(move |sent: &HttpOut| {
        assert!(sent.headers.contains(&("authorization".into(), Secret("Basic QUMxOnRva2Vu".into()))));
        assert_eq!((sent.egress, sent.timeout_ms > 0), (Egress::Operator, true));
        let typed = sent
            .headers
            .iter()
            .any(|(name, Secret(value))| name == "content-type" && value == "application/x-www-form-urlencoded");
        assert_eq!(typed, !sent.body.is_empty(), "a form says that it is one");
        let body = String::from_utf8(sent.body.clone()).expect("text");
        notes.borrow_mut().push((sent.method.to_owned(), sent.url.clone(), body));
        answer.clone()
    });
    log
}

fn buy(house: &mut House) -> Got {
    house.post("/user/phone-numbers/purchase", &json!({ "phone_number": NUMBER })).send()
}

fn numbers(house: &mut House) -> Vec<Value> {
    house.get("/user/phone-numbers/all").expect(200).json["data"].as_array().expect("a list").clone()
}

fn set_balance(house: &mut House, balance: f64) {
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "balance": balance })).token(&operator).send().expect(200);
}

#[track_caller]
fn assert_balance(house: &mut House, balance: f64) {
    assert_eq!(house.get("/user/me").json["total_balance"], json!(balance));
}

/// Moves the clock and runs the jobs due by then; none may be planned afterwards.
#[track_caller]
fn settle(house: &mut House, seconds: u64) {
    house.now = house.now.plus_seconds(seconds);
    house.tick();
    assert_eq!(house.tick(), None);
}

/// Returns a house that owns [`NUMBER`], and the number's id.
pub fn owner() -> (House, u64) {
    let mut house = twilio();
    answers(&mut house, json_reply(201, &owned()));
    let id = buy(&mut house).expect(201).id();
    (house, id)
}

#[test]
fn a_search_asks_for_local_numbers_and_shows_them() {
    let mut house = twilio();
    let found = json!([
        { "friendly_name": "(415) 555-0199", "phone_number": NUMBER, "lata": "722", "iso_country": "US",
          "address_requirements": "none", "capabilities": { "voice": true, "SMS": true, "MMS": true } },
        { "phone_number": "+14155550198", "address_requirements": "any", "capabilities": { "SMS": false } },
        { "phone_number": "not a number", "address_requirements": "none" },
    ]);
    let log = noted(&mut house, json_reply(200, &page("available_phone_numbers", &found)));
    let got = house.get("/user/phone-numbers/search?contains=4155").expect(200);
    let (method, url, body) = log.borrow()[0].clone();
    assert_eq!((method.as_str(), body.as_str()), ("GET", ""));
    assert_eq!(url, format!("{ROOT}/AvailablePhoneNumbers/US/Local.json?Contains=4155&PageSize=30"));
    let first = json!({
        "phone_number": NUMBER, "phone_number_formatted": "(415) 555-0199", "country_code": "US", "price": 1.15,
        "billing_price_id": got.json["data"][0]["billing_price_id"], "address_requirements": "none",
        "sms_capable": true,
    });
    assert_eq!(got.json["data"][0], first);
    assert_eq!(got.json["data"][1]["sms_capable"], json!(false));
    assert_eq!(got.json["data"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_search_that_the_carrier_does_not_answer_is_502() {
    let cases = [
        (NO_ANSWER, 502),
        (Err(SendError::Unreachable), 502),
        (Ok(HttpIn { status: 200, cut: true, ..HttpIn::default() }), 502),
        (json_reply(500, &json!({})), 502),
        (refusal(429, 20_429), 502),
        (refusal(401, 20_003), 502),
        (json_reply(200, &json!({ "numbers": [] })), 502),
        (Ok(HttpIn { status: 200, body: b"<html>".to_vec(), ..HttpIn::default() }), 502),
        (refusal(404, 20_404), 200),
        (json_reply(200, &page("available_phone_numbers", &json!([]))), 200),
    ];
    for (answer, status) in cases {
        let mut house = twilio();
        answers(&mut house, answer.clone());
        let got = house.get("/user/phone-numbers/search");
        assert_eq!((got.status, got.json["error"].is_string()), (status, status == 502), "{answer:?}");
    }
}

#[test]
fn a_purchase_is_paid_and_entered() {
    let mut house = twilio();
    set_balance(&mut house, 2.0);
    let log = noted(&mut house, json_reply(201, &owned()));
    let got = buy(&mut house).expect(201);
    let data = json!({
        "id": got.id(), "phone_number": NUMBER, "country_code": "US", "type": "normal", "sms_capable": true,
    });
    assert_eq!(got.json, json!({ "message": "Phone number purchased successfully.", "data": data }));
    let sent = ("POST".into(), format!("{ROOT}/IncomingPhoneNumbers.json"), "PhoneNumber=%2B14155550199".into());
    assert_eq!(*log.borrow(), [sent]);
    assert_balance(&mut house, 0.85);
    settle(&mut house, 61);
    assert_eq!((numbers(&mut house).len(), log.borrow().len()), (1, 1), "nothing is left to settle");
    buy(&mut house).error(400, "This phone number is already in use.");
}

#[test]
fn a_refused_purchase_is_undone() {
    let cases = [
        (refusal(400, 21_422), 400),
        (refusal(400, 21_421), 400),
        (refusal(404, 21_404), 400),
        (refusal(400, 20_001), 502),
        (refusal(401, 20_003), 502),
        (refusal(429, 20_429), 502),
    ];
    for (answer, status) in cases {
        let mut house = twilio();
        set_balance(&mut house, 2.0);
        answers(&mut house, answer.clone());
        let got = buy(&mut house);
        assert_eq!((got.status, got.json["error"].is_string()), (status, true), "{answer:?}");
        assert_balance(&mut house, 2.0);
        answers(&mut house, json_reply(201, &owned()));
        buy(&mut house).expect(201);
    }
}

#[test]
fn a_purchase_beyond_the_balance_is_not_asked_for() {
    let mut house = twilio();
    set_balance(&mut house, 1.0);
    let log = noted(&mut house, json_reply(201, &owned()));
    assert!(buy(&mut house).expect(402).json["error"].is_string());
    assert!(log.borrow().is_empty());
    assert_balance(&mut house, 1.0);
}

/// A purchase that may have happened is not undone: the number stays reserved and paid.
#[test]
fn an_unanswered_purchase_is_held_until_it_is_settled() {
    let unknown = [
        NO_ANSWER,
        Err(SendError::Unreachable),
        Ok(HttpIn { status: 201, cut: true, ..HttpIn::default() }),
        json_reply(500, &json!({})),
        json_reply(503, &json!({})),
        Ok(HttpIn { status: 201, body: b"garbage".to_vec(), ..HttpIn::default() }),
    ];
    for answer in unknown {
        let mut house = twilio();
        let stranger = house.account("stranger@example.com");
        set_balance(&mut house, 2.0);
        answers(&mut house, answer.clone());
        assert!(buy(&mut house).expect(502).json["error"].is_string(), "{answer:?}");
        assert_balance(&mut house, 0.85);
        assert!(numbers(&mut house).is_empty());
        let theirs = house.post("/user/phone-numbers/purchase", &json!({ "phone_number": NUMBER })).token(&stranger);
        theirs.send().error(400, "This phone number is already in use.");
        house.now = house.now.plus_seconds(59);
        let log = noted(&mut house, json_reply(200, &page("incoming_phone_numbers", &json!([owned()]))));
        house.tick();
        assert!(log.borrow().is_empty(), "too early");
        settle(&mut house, 2);
        let (method, url, _) = log.borrow()[0].clone();
        assert_eq!(method, "GET");
        assert_eq!(url, format!("{ROOT}/IncomingPhoneNumbers.json?PhoneNumber=%2B14155550199"));
        let entered = numbers(&mut house);
        assert_eq!((entered.len(), &entered[0]["phone_number"]), (1, &json!(NUMBER)));
        assert_balance(&mut house, 0.85);
    }
}

#[test]
fn an_unanswered_purchase_that_never_was_is_refunded() {
    let mut house = twilio();
    set_balance(&mut house, 2.0);
    answers(&mut house, NO_ANSWER);
    buy(&mut house).expect(502);
    answers(&mut house, json_reply(200, &page("incoming_phone_numbers", &json!([]))));
    settle(&mut house, 61);
    assert_balance(&mut house, 2.0);
    answers(&mut house, json_reply(201, &owned()));
    buy(&mut house).expect(201);
}

#[test]
fn a_purchase_is_settled_however_long_the_carrier_is_away() {
    let mut house = twilio();
    answers(&mut house, NO_ANSWER);
    buy(&mut house).expect(502);
    for answer in [NO_ANSWER, refusal(500, 20_500), refusal(429, 20_429), json_reply(200, &json!({}))] {
        answers(&mut house, answer);
        house.now = house.now.plus_seconds(21_601);
        assert!(house.tick().is_some(), "it is tried again");
        assert!(numbers(&mut house).is_empty());
        buy(&mut house).error(400, "This phone number is already in use.");
    }
    answers(&mut house, json_reply(200, &page("incoming_phone_numbers", &json!([owned()]))));
    settle(&mut house, 21_601);
    assert_eq!(numbers(&mut house).len(), 1);
}

#[test]
fn a_host_that_dies_between_question_and_answer_loses_nothing() {
    let mut house = twilio();
    set_balance(&mut house, 2.0);
    let request = house.post("/user/phone-numbers/purchase", &json!({ "phone_number": NUMBER })).request();
    let seed = house.seed();
    let output = house.step(&Input::Http(&request, &[]), seed);
    assert!(matches!(output.outcome, Outcome::Wait) && output.sends.len() == 1);
    assert_balance(&mut house, 0.85);
    answers(&mut house, json_reply(200, &page("incoming_phone_numbers", &json!([owned()]))));
    settle(&mut house, 61);
    assert_eq!(numbers(&mut house).len(), 1);
    assert_balance(&mut house, 0.85);
}

#[test]
fn a_released_number_leaves_assistants_and_campaigns() {
    let (mut house, id) = owner();
    let holder = house.make("/user/assistant", &with(assistant(), &json!({ "phone_number_id": id })));
    let body = with(campaign(holder), &json!({ "phone_number_ids": [id] }));
    let caller = house.make("/user/campaigns", &body);
    let log = noted(&mut house, Ok(HttpIn { status: 204, body: Vec::new(), ..HttpIn::default() }));
    assert!(house.delete(&format!("/user/phone-numbers/{id}")).expect(200).json["message"].is_string());
    let sent = ("DELETE".into(), format!("{ROOT}/IncomingPhoneNumbers/PN1.json"), String::new());
    assert_eq!(*log.borrow(), [sent]);
    assert!(numbers(&mut house).is_empty());
    assert_eq!(house.get(&format!("/user/assistant/{holder}")).json["phone_number_id"], Value::Null);
    assert_eq!(house.get(&format!("/user/campaigns/{caller}")).json["phone_number_ids"], json!([]));
    house.delete(&format!("/user/phone-numbers/{id}")).error(404, "Phone number not found.");
    answers(&mut house, json_reply(201, &owned()));
    buy(&mut house).expect(201);
}

#[test]
fn a_release_that_is_not_confirmed_is_asked_for_again() {
    for answer in [NO_ANSWER, json_reply(500, &json!({})), refusal(429, 20_429), refusal(401, 20_003)] {
        let (mut house, id) = owner();
        let path = format!("/user/phone-numbers/{id}");
        answers(&mut house, answer.clone());
        assert!(house.delete(&path).expect(502).json["error"].is_string(), "{answer:?}");
        assert_eq!(numbers(&mut house)[0]["has_active_subscription"], json!(false));
        assert!(house.delete(&path).expect(400).json["error"].is_string());
        buy(&mut house).error(400, "This phone number is already in use.");
        // A number that is already gone counts as released.
        let log = noted(&mut house, refusal(404, 20_404));
        settle(&mut house, 61);
        assert_eq!(log.borrow()[0].0, "DELETE");
        assert!(numbers(&mut house).is_empty());
    }
}

#[test]
fn a_caller_id_is_verified_where_the_carrier_lists_it() {
    let listed = json!([{ "sid": "PN2", "friendly_name": "Office", "phone_number": "+40700000001" }]);
    let cases = [
        (json_reply(200, &page("outgoing_caller_ids", &listed)), true),
        (json_reply(200, &page("outgoing_caller_ids", &json!([]))), false),
        (NO_ANSWER, false),
        (refusal(429, 20_429), false),
    ];
    for (answer, verified) in cases {
        let mut house = twilio();
        let log = noted(&mut house, answer.clone());
        let got = house.post("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" })).send();
        assert_eq!(got.expect(201).json["data"]["verified"], json!(verified), "{answer:?}");
        assert_eq!(log.borrow()[0].1, format!("{ROOT}/OutgoingCallerIds.json?PhoneNumber=%2B40700000001"));
    }
}

fn text(house: &mut House, from: u64) -> Got {
    house.post("/user/sms", &json!({ "from": from, "to": "+40700000001", "body": "Hi & bye" })).send()
}

#[test]
fn a_message_is_sent_and_paid_by_the_carriers_count() {
    let (mut house, id) = owner();
    set_balance(&mut house, 1.0);
    let taken = json!({ "sid": "SM1", "status": "queued", "num_segments": "2", "body": "Hi & bye", "price": null });
    let log = noted(&mut house, json_reply(201, &taken));
    let got = text(&mut house, id).expect(200);
    let form = "From=%2B14155550199&To=%2B40700000001&Body=Hi+%26+bye";
    assert_eq!(*log.borrow(), [("POST".into(), format!("{ROOT}/Messages.json"), form.into())]);
    let data = &got.json["data"];
    assert_eq!((&data["sms_sid"], &data["status"], &data["segments"]), (&json!("SM1"), &json!("queued"), &json!(2)));
    assert_eq!((&data["segment_price"], &data["total_cost"]), (&json!(0.0079), &json!(0.0158)));
    assert_balance(&mut house, 0.9842);
}

#[test]
fn a_message_that_fails_is_refunded_unless_it_may_have_gone() {
    let cases = [
        (refusal(400, 21_211), 400, 1.0),
        (refusal(400, 21_614), 400, 1.0),
        (refusal(400, 21_617), 502, 1.0),
        (refusal(429, 20_429), 502, 1.0),
        (refusal(401, 20_003), 502, 1.0),
        (NO_ANSWER, 502, 0.9921),
        (json_reply(500, &json!({})), 502, 0.9921),
        (Ok(HttpIn { status: 201, body: b"garbage".to_vec(), ..HttpIn::default() }), 502, 0.9921),
    ];
    for (answer, status, left) in cases {
        let (mut house, id) = owner();
        set_balance(&mut house, 1.0);
        answers(&mut house, answer.clone());
        let got = text(&mut house, id);
        assert_eq!((got.status, got.json["message"].is_string()), (status, true), "{answer:?}");
        assert_balance(&mut house, left);
    }
}
