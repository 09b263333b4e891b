//! Conversations by text (docs/api.md, Conversations).

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::llm::Llm;
use switchboard_core::outside::{HttpIn, HttpOut, SendError};
use switchboard_core::setup::{Config, ServedModel};
use switchboard_tests::house::{Got, House, assistant, tool, with};

/// Returns a house whose operator has a model.
pub fn asking() -> House {
    House::with(Config { llm: Some(model("m")), ..Config::default() })
}

fn model(name: &str) -> Llm {
    Llm { url: format!("https://{name}.example/v1"), key: None, model: name.into() }
}

/// Returns a model's answer in one piece.
pub fn said(text: &str) -> HttpIn {
    let body = json!({ "choices": [{ "message": { "content": text } }] });
    HttpIn { status: 200, body: body.to_string().into_bytes(), ..HttpIn::default() }
}

/// Returns a model's answer that calls functions.
pub fn calls(names: &[(&str, &str)]) -> HttpIn {
    let call = |(name, arguments): &(&str, &str)| json!({ "id": format!("id_{name}"), "function": { "name": name, "arguments": arguments } });
    let body = json!({ "choices": [{ "message": { "content": null, "tool_calls": names.iter().map(call).collect::<Vec<_>>() } }] });
    HttpIn { status: 200, body: body.to_string().into_bytes(), ..HttpIn::default() }
}

/// Begins a test conversation with an assistant; returns its path.
pub fn begun(house: &mut House, assistant: u64) -> String {
    let body = json!({ "assistant_id": assistant, "type": "test" });
    let got = house.post("/conversations", &body).send().expect(200);
    format!("/conversations/{}", got.json["conversation_id"].as_str().expect("a UUID"))
}

/// Says something in a conversation.
pub fn say(house: &mut House, talk: &str, message: &str) -> Got {
    house.post(&format!("{talk}/messages"), &json!({ "message": message })).send()
}

/// Returns the texts of a conversation, as its owner reads it.
pub fn texts(house: &mut House, talk: &str) -> Vec<String> {
    let got = house.get(&format!("/user{talk}")).expect(200);
    let history = got.json["history"].as_array().expect("a history");
    history.iter().map(|message| message["content"].as_str().expect("text").to_owned()).collect()
}

/// Checks that a request was refused, in the form of conversations.
#[track_caller]
pub fn refused(got: &Got, status: u16, says: &str) {
    let want = json!({ "status": false, "error": says, "message": says });
    assert_eq!((got.status, &got.json), (status, &want));
}

fn is_model(request: &HttpOut) -> bool {
    request.url.ends_with("/chat/completions")
}

fn question(request: &HttpOut) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

#[test]
fn a_conversation_begins_with_the_greeting_and_the_simulated_model_answers() {
    let mut house = House::default();
    let changes = json!({ "initial_message": "Hello {{customer_name}}", "variables": { "customer_name": "you" } });
    let id = house.make("/user/assistant", &with(assistant(), &changes));
    let uuid = house.get(&format!("/user/assistant/{id}")).json["uuid"].clone();
    let body = json!({ "assistant_id": uuid, "type": "test", "variables": { "customer_name": "Ana", "customer_phone": "+40700000001" } });
    let got = house.post("/conversations", &body).send().expect(200);
    assert_eq!(got.json["history"], json!([{ "role": "assistant", "content": "Hello Ana" }]));
    let talk = format!("/conversations/{}", got.json["conversation_id"].as_str().expect("a UUID"));
    let got = say(&mut house, &talk, "Hi").expect(200);
    let says = got.json["message"].as_str().expect("text");
    assert!(says.starts_with("This is the simulated model of Anna"), "{says}");
    assert_eq!((&got.json["status"], &got.json["function_calls"]), (&json!(true), &json!([])));
    let whole = house.get(&format!("/user{talk}")).expect(200).json;
    assert_eq!(whole["history"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        (&whole["message_count"], &whole["type"], &whole["ai_enabled"]),
        (&json!(3), &json!("test"), &json!(true))
    );
    assert_eq!(whole["customer"], json!({ "phone": "+40700000001", "name": "Ana" }));
    let open = house.get(&talk).expect(200).json;
    assert_eq!((&open["history"], &open["variables"]["customer_name"]), (&whole["history"], &json!("Ana")));
}

#[test]
fn a_turn_asks_the_model_carries_out_its_calls_and_asks_again() {
    let mut house = asking();
    let look = json!({ "schema": [{ "name": "city", "type": "string", "description": "Where" }], "headers": [{ "name": "x-key", "value": "secret-of-ours" }] });
    let tool_id = house.make("/user/tools", &with(tool("look"), &look));
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let prompt = json!({ "tool_ids": [tool_id], "knowledgebase_id": base, "system_prompt": "Be kind to {{customer_name}}.", "variables": { "customer_name": "Ana" } });
    let id = house.make("/user/assistant", &with(assistant(), &prompt));
    let talk = begun(&mut house, id);
    house.outside(|request| {
        if !is_model(request) {
            assert_eq!(request.url, "https://tools.example/look?city=Iasi");
            return Ok(HttpIn { status: 200, body: b"sun, by secret-of-ours".to_vec(), ..HttpIn::default() });
        }
        let asked = question(request);
        let messages = asked["messages"].as_array().expect("messages");
        assert_eq!(messages[0], json!({ "role": "system", "content": "Be kind to Ana." }));
        assert_eq!(messages[1], json!({ "role": "assistant", "content": "Hello" }));
        let tools = asked["tools"].as_array().expect("tools").iter().map(|tool| tool["function"]["name"].clone());
        assert_eq!(tools.collect::<Vec<_>>(), ["look", "search_knowledgebase"]);
        if messages.len() == 3 {
            return Ok(calls(&[
                ("look", r#"{"city":"Iasi","other":1}"#),
                ("search_knowledgebase", r#"{"query":"x"}"#),
                ("none", "{}"),
                ("look", "no"),
            ]));
        }
        assert_eq!(messages[4], json!({ "role": "tool", "tool_call_id": "id_look", "content": "sun, by ****" }));
        Ok(said("Sunny."))
    });
    let got = say(&mut house, &talk, "What is the weather in Iasi?").expect(200);
    assert_eq!(got.json["message"], "Sunny.");
    let results: Vec<_> =
        got.json["function_calls"].as_array().expect("calls").iter().map(|call| call["result"].clone()).collect();
    assert_eq!(
        results,
        [
            "sun, by ****",
            "Nothing was found.",
            "Error: there is no function of this name.",
            "Error: the arguments are not JSON."
        ]
    );
    assert_eq!(got.json["function_calls"][0]["arguments"], json!({ "city": "Iasi", "other": 1 }));
    assert_eq!(got.json["function_calls"][3]["arguments"], "no");
    let whole = house.get(&format!("/user{talk}")).json;
    assert_eq!(whole["history"][2]["function_calls"], got.json["function_calls"]);
}

#[test]
fn what_was_said_is_sent_again_with_its_calls() {
    let mut house = asking();
    let tool_id = house.make("/user/tools", &tool("look"));
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": [tool_id] })));
    let talk = begun(&mut house, id);
    house.outside(|request| match is_model(request) {
        true if question(request)["messages"].as_array().expect("messages").len() == 3 => Ok(calls(&[("look", "{}")])),
        true => Ok(said("Found.")),
        false => Ok(said("seen")),
    });
    say(&mut house, &talk, "Look").expect(200);
    house.outside(|request| {
        let messages = question(request)["messages"].clone();
        let roles: Vec<_> = messages.as_array().expect("messages").iter().map(|one| one["role"].clone()).collect();
        assert_eq!(roles, ["system", "assistant", "user", "assistant", "tool", "assistant", "user"]);
        assert_eq!(messages[3]["tool_calls"][0]["id"], messages[4]["tool_call_id"]);
        Ok(said("Again."))
    });
    say(&mut house, &talk, "And now?").expect(200);
    assert_eq!(texts(&mut house, &talk), ["Hello", "Look", "Found.", "And now?", "Again."]);
}

#[test]
fn each_model_has_its_endpoint_and_one_that_fails_its_fallback() {
    let served = |name: &Value, at: &str| ServedModel { name: name.as_str().expect("a name").into(), llm: model(at) };
    let mut house = House::default();
    let llms = house.get("/user/assistants/models").json;
    let multimodal = house.get("/user/assistants/models?type=multimodal").json;
    let models = vec![served(&llms[0]["name"], "first"), served(&llms[1]["name"], "second")];
    let mut house = House::with(Config { models, llm: Some(model("default")), ..Config::default() });
    let voice = house.get("/user/assistants/voices?mode=multimodal").json[0]["id"].clone();
    let spoken = json!({
        "mode": "multimodal", "multimodal_model_id": multimodal[0]["id"], "llm_model_id": null, "voice_id": voice,
        "chat_llm_fallback_id": llms[1]["id"],
    });
    for (changes, want) in [
        (json!({ "llm_model_id": llms[0]["id"] }), &["first"][..]),
        (json!({ "llm_model_id": llms[2]["id"] }), &["default"]),
        (spoken.clone(), &["default", "second"]),
        (with(spoken, &json!({ "chat_llm_fallback_id": llms[2]["id"] })), &["default"]),
    ] {
        let id = house.make("/user/assistant", &with(assistant(), &changes));
        let talk = begun(&mut house, id);
        let asked = Rc::new(RefCell::new(Vec::new()));
        let heard = Rc::clone(&asked);
        house.outside(move |request| {
            heard.borrow_mut().push(request.url.clone());
            if request.url.contains("second") { Ok(said("I am the second.")) } else { Err(SendError::Unreachable) }
        });
        let got = say(&mut house, &talk, "Hi");
        assert_eq!(got.status, if want.contains(&"second") { 200 } else { 502 }, "{}", got.json);
        let urls: Vec<String> = want.iter().map(|name| format!("https://{name}.example/v1/chat/completions")).collect();
        assert_eq!(*asked.borrow(), urls);
    }
}

#[test]
fn the_answer_comes_as_frames_for_whoever_prefers_them() {
    let mut house = asking();
    let tool_id = house.make("/user/tools", &tool("look"));
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": [tool_id] })));
    let talk = begun(&mut house, id);
    house.outside(|request| match is_model(request) {
        true if question(request)["messages"].as_array().expect("messages").len() == 3 => Ok(calls(&[("look", "{}")])),
        true => Ok(said("Found.")),
        false => Ok(said("seen")),
    });
    let keyed = |house: &mut House| {
        let call =
            house.post(&format!("{talk}/messages"), &json!({ "message": "Look" })).header("idempotency-key", "k");
        call.header("accept", "text/event-stream").send().expect(200)
    };
    let got = keyed(&mut house);
    assert_eq!(got.header("content-type"), Some("text/event-stream"));
    let frames = String::from_utf8(got.bytes).expect("text");
    let events: Vec<&str> = frames.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(events, ["tool", "tool", "delta", "done"], "{frames}");
    assert!(
        frames.contains(r#"data: {"name":"look","status":"running"}"#) && frames.contains(r#"data: {"text":"Found."}"#)
    );
    let again = keyed(&mut house);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let replayed = String::from_utf8(again.bytes).expect("text");
    assert!(frames.ends_with(&replayed) && replayed.starts_with("event: done\n"), "{replayed}");
    let plain = house.post(&format!("{talk}/messages"), &json!({ "message": "Look" })).header("idempotency-key", "k");
    assert_eq!(plain.send().expect(200).json["message"], "Found.");
    assert_eq!(texts(&mut house, &talk).len(), 3, "it was said once");
}

#[test]
fn a_turn_that_failed_costs_nothing_and_its_message_is_answered_when_it_is_said_again() {
    let mut house = asking();
    let operator = house.operator.clone();
    let prices = json!({ "items": [{ "unit": "chat_message", "price": 1 }, { "unit": "chat_message", "code": "gpt-4.1", "price": 0.25 }] });
    house.put("/admin/prices", &prices).token(&operator).send().expect(200);
    house.put("/admin/accounts/1", &json!({ "balance": 0.30 })).token(&operator).send().expect(200);
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    let balance = |house: &mut House| {
        house.call(Method::Get, "/admin/accounts/1").token(&operator).send().json["balance"].clone()
    };
    for (error, status) in [(SendError::Unreachable, 502), (SendError::TimedOut, 504), (SendError::ShareUsed, 503)] {
        house.outside(move |_| Err(error));
        say(&mut house, &talk, "Hi").expect(status);
        assert_eq!((balance(&mut house), texts(&mut house, &talk).len()), (json!(0.3), 2), "{error:?}");
    }
    house.outside(|_| Ok(said("Hello again")));
    say(&mut house, &talk, "Hi").expect(200);
    assert_eq!(texts(&mut house, &talk), ["Hello", "Hi", "Hello again"]);
    assert_eq!(balance(&mut house), json!(0.05));
    let row = house.get("/user/conversations").json["data"][0].clone();
    assert_eq!((&row["total_cost"], &row["message_count"]), (&json!(0.25), &json!(3)));
    say(&mut house, &talk, "More").expect(200);
    refused(&say(&mut house, &talk, "More"), 400, "Insufficient balance. Please top up your account.");
}

#[test]
fn a_customer_has_one_conversation_and_a_person_may_take_over() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let body = |customer: &str, message: &str| json!({ "assistant_id": id, "customer_identifier": customer, "message": message });
    let first = house.post("/user/ai/generate-reply", &body("+40700000001", "Hi")).send().expect(200);
    assert_eq!((&first.json["success"], &first.json["ai_disabled"]), (&json!(true), &json!(false)));
    let talk = first.json["conversation_id"].as_str().expect("a UUID").to_owned();
    for (target, customer, is_same) in
        [("/ai/generate-reply", "+40700000001", true), ("/api/ai-replies/generate", "b", false)]
    {
        let got = house.post(target, &body(customer, "Again")).send().expect(200);
        assert_eq!(got.json["conversation_id"] == talk.as_str(), is_same, "{target}");
        assert_eq!(got.json["customer_identifier"], customer);
    }
    let switch = |house: &mut House, what: &str| {
        house.post(&format!("/automate/conversations/{talk}/{what}"), &json!({})).send().expect(200).json
    };
    assert_eq!(switch(&mut house, "disable-ai"), json!({ "status": true, "ai_enabled": false }));
    let got = house.post("/user/ai/generate-reply", &body("+40700000001", "Is a person there?")).send().expect(200);
    assert_eq!((&got.json["reply"], &got.json["ai_disabled"]), (&Value::Null, &json!(true)));
    assert_eq!(switch(&mut house, "enable-ai"), json!({ "status": true, "ai_enabled": true }));
    let kept = texts(&mut house, &format!("/conversations/{talk}"));
    assert_eq!((kept.len(), kept.last().map(String::as_str)), (5, Some("Is a person there?")));
    house.post("/user/ai/generate-reply", &body("c", "Hi")).without("authorization").send().expect(401);
    let wrong = house.post("/user/ai/generate-reply", &json!({ "assistant_id": true })).send().expect(422).json;
    assert_eq!((&wrong["success"], &wrong["error_code"]), (&json!(false), &json!("VALIDATION_FAILED")));
    assert!(wrong["errors"]["assistant_id"].is_array() && wrong["errors"]["message"].is_array());
}

#[test]
fn lists_filter_and_go_on_from_their_cursor() {
    let mut house = House::default();
    let ids = ["Anna", "Bob"].map(|name| house.make("/user/assistant", &with(assistant(), &json!({ "name": name }))));
    let mut talks = Vec::new();
    for at in 0..7 {
        talks.push(begun(&mut house, ids[at % 2]).replace("/conversations/", ""));
    }
    let reply = json!({ "assistant_id": ids[0], "customer_identifier": "+40700000001", "message": "Hi" });
    let api = house.post("/user/ai/generate-reply", &reply).send().expect(200).json["conversation_id"].clone();
    let uuid = house.get(&format!("/user/assistant/{}", ids[0])).json["uuid"].as_str().expect("a UUID").to_owned();
    let mut count = |query: &str| house.get(&format!("/user/conversations?{query}")).expect(200).json["total"].clone();
    for (query, total) in [
        ("", 8),
        ("type=test", 7),
        ("type=api", 1),
        ("type=whatsapp", 0),
        (&format!("assistant_id={}", ids[0]), 5),
        (&format!("assistant_id={uuid}&type=test"), 4),
        ("assistant_id=4000000", 0),
        ("customer_phone=%2B40700000001", 1),
        ("external_identifier=%2B40700000001", 1),
        ("external_identifier=b", 0),
        ("date_from=2026-09-21", 8),
        ("date_to=2026-09-21", 8),
        ("date_from=2026-09-21&date_to=2026-09-21", 8),
        ("date_to=2026-09-20", 0),
    ] {
        assert_eq!(count(query), total, "{query}");
    }
    let (mut cursor, mut seen, mut pages) = (String::new(), Vec::new(), 0);
    let last = loop {
        let got = house.get(&format!("/user/conversations?type=test&per_page=3&cursor={cursor}")).expect(200).json;
        seen.extend(
            got["data"].as_array().expect("rows").iter().map(|row| row["id"].as_str().expect("a UUID").to_owned()),
        );
        assert_eq!(got["prev_cursor"].is_null(), pages == 0);
        pages += 1;
        let Some(next) = got["next_cursor"].as_str().map(str::to_owned) else { break got };
        cursor = next;
        // New ones shift nothing.
        begun(&mut house, ids[0]);
    };
    talks.reverse();
    assert_eq!((seen, pages), (talks, 3));
    let back = last["prev_cursor"].as_str().expect("a cursor");
    let got = house.get(&format!("/user/conversations?type=test&per_page=3&cursor={back}")).expect(200).json;
    assert_eq!(got["data"].as_array().map(Vec::len), Some(3));
    house.get("/user/conversations?cursor=x").wrong(&["cursor"]);
    assert!(api.is_string());
}

#[test]
fn a_conversation_ends_when_nobody_says_anything_and_is_told_once() {
    let mut house = asking();
    let told = json!({
        "conversation_ended_webhook_url": "https://hook.example/talks", "conversation_inactivity_timeout": 5,
        "post_call_schema": [{ "name": "city", "type": "string", "description": "Where they live" }],
    });
    let id = house.make("/user/assistant", &with(assistant(), &told));
    let silent = begun(&mut house, id);
    let talk = begun(&mut house, id);
    let analysis =
        r#"{"evaluation":{"success":true,"sentiment":"positive","summary":"Fine."},"variables":{"city":"Iasi"}}"#;
    house.outside(move |request| {
        Ok(said(if question(request).get("response_format").is_some() { analysis } else { "Good day" }))
    });
    say(&mut house, &talk, "I live in Iasi").expect(200);
    house.now = house.now.plus_seconds(240);
    say(&mut house, &talk, "Yes").expect(200);
    house.now = house.now.plus_seconds(299);
    house.tick();
    assert_eq!(house.get("/user/events").json["data"], json!([]), "somebody spoke five minutes ago");
    house.now = house.now.plus_seconds(1);
    house.tick();
    let events = house.get("/user/events").json["data"].clone();
    let payload = &events[0]["payload"];
    assert_eq!(
        (&events[0]["event"], events.as_array().map(Vec::len)),
        (&json!("conversation.ended"), Some(1)),
        "{silent} is not told"
    );
    assert_eq!(payload["conversation_id"], talk.replace("/conversations/", "").as_str());
    assert_eq!(
        (&payload["extracted_variables"], &payload["evaluation"]["summary"]),
        (&json!({ "city": "Iasi" }), &json!("Fine."))
    );
    assert_eq!(
        payload["formatted_transcript"],
        "AI: Hello\nCustomer: I live in Iasi\nAI: Good day\nCustomer: Yes\nAI: Good day"
    );
    assert_eq!(payload["transcript"][1]["role"], "user");
    let row = house.get("/user/conversations?per_page=1").json["data"][0].clone();
    assert_eq!((&row["variables"]["city"], &row["evaluation"]["success"]), (&json!("Iasi"), &json!(true)));
    let deliveries = house.get("/user/webhook-deliveries").json["data"].clone();
    assert_eq!(
        (&deliveries[0]["conversation_id"], &deliveries[0]["call_id"]),
        (&payload["conversation_id"], &Value::Null)
    );
    // It goes on and ends again: told again only where the assistant wishes that.
    for (again, told) in [(false, 1), (true, 2)] {
        house
            .put(&format!("/user/assistant/{id}"), &json!({ "conversation_ended_retrigger": again }))
            .send()
            .expect(200);
        say(&mut house, &talk, "One more thing").expect(200);
        house.now = house.now.plus_seconds(301);
        house.tick();
        assert_eq!(house.get("/user/events").json["data"].as_array().map(Vec::len), Some(told));
    }
    // Deleted, it is gone everywhere.
    house.delete(&format!("/user{talk}")).expect(200);
    house.tick();
    for event in house.get("/user/events").json["data"].as_array().expect("events") {
        assert_eq!(event["payload"], json!({ "deleted": true }));
    }
    refused(&house.get(&talk), 404, "Conversation not found");
    refused(&say(&mut house, &talk, "Hi"), 404, "Conversation not found");
}

#[test]
fn a_conversation_of_a_deleted_customer_s_assistant_stays_readable() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    say(&mut house, &talk, "Hi").expect(200);
    house.delete(&format!("/user/assistant/{id}")).expect(200);
    assert_eq!(texts(&mut house, &talk).len(), 3);
    refused(&say(&mut house, &talk, "Hi"), 404, "Assistant not found");
    house.now = house.now.plus_seconds(86_400);
    house.tick();
    assert_eq!(house.get("/user/events").json["data"][0]["event"], "conversation.ended");
}

#[test]
fn the_webhook_is_switched_in_the_words_of_its_neighbours() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let body = json!({ "assistant_id": id, "webhook_url": "https://a.example" });
    let url =
        |house: &mut House| house.get(&format!("/user/assistant/{id}")).json["conversation_ended_webhook_url"].clone();
    for (method, target, says, want) in [
        (
            Method::Post,
            "/user/assistants/enable-conversation-ended-webhook".to_owned(),
            "enabled",
            json!("https://a.example"),
        ),
        (Method::Post, "/user/assistants/disable-conversation-ended-webhook".to_owned(), "disabled", Value::Null),
        (
            Method::Post,
            format!("/user/assistants/{id}/conversation-ended-webhook"),
            "enabled",
            json!("https://a.example"),
        ),
        (Method::Delete, format!("/user/assistants/{id}/conversation-ended-webhook"), "disabled", Value::Null),
    ] {
        let call = house.call(method, &target);
        let got = if method == Method::Post { call.json(&body) } else { call }.send().expect(200);
        assert_eq!(
            got.json,
            json!({ "message": format!("Conversation ended webhook {says} successfully"), "data": [] })
        );
        assert_eq!(url(&mut house), want);
    }
}
