//! Refusals of an idempotency key: its first request is still running, its answer is not stored, or shows a deleted
//! row.

use serde_json::{Value, json};
use switchboard_core::http::route::{Route, Who};
use switchboard_core::llm::Llm;
use switchboard_core::outside::HttpIn;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::view::Scene;
use switchboard_tests::house::{Call, Got, House, assistant, with};
use switchboard_tests::line::Line;
use switchboard_tests::places::Places;

use super::bodies::{Sent, valid};
use super::stage::filled;
use crate::carrier::{NUMBER, twilio};

/// Size of a file that is stored in several steps.
const FILE_BYTES: usize = 3 << 20;

/// A request that can be repeated with the same key.
struct Repeated {
    house: House,
    route: &'static Route,
    target: String,
    token: String,
    sent: Sent,
}

impl Repeated {
    fn new(house: House, places: &Places, route: &'static Route, sent: Sent) -> Self {
        let token = match route.who {
            Who::Operator => house.operator.clone(),
            Who::Engine => places.engine.clone(),
            Who::User | Who::Visitor | Who::Anyone => house.key.clone(),
        };
        let target = format!("{}{}", places.path(route.paths[0]), sent.query);
        Self { house, route, target, token, sent }
    }

    fn ask(&mut self) -> Call<'_> {
        let call = self.house.call(self.route.method, &self.target).token(&self.token);
        self.sent.with(call).header("idempotency-key", "once")
    }

    fn send(&mut self) -> Got {
        self.ask().send()
    }
}

/// Repeats a request while the first one waits for someone outside, or for its turn.
pub fn running(route: &'static Route) -> Option<Got> {
    let is_turn = ["sendMessage", "generateReply"].contains(&route.id);
    let (mut house, places) = filled(if is_turn { asking() } else { bought() });
    // This call waits for an engine.
    house.make_call(places.id("/user/assistant"));
    let sent = match route.id {
        "purchaseNumber" => Sent::json(&json!({ "phone_number": NUMBER.replace("0199", "0100") })),
        "bringCall" => Sent::json(&json!({ "type": "inbound", "to": NUMBER })),
        "importLeads" | "importDoNotCall" => {
            let campaign = format!("?campaign_id={}", places.id("/user/campaign"));
            Sent::csv(campaign, b"phone_number\n+40700000001\n".repeat(FILE_BYTES / 26))
        }
        "checkTrunk" => {
            Line::checking(&mut house);
            Sent::json(&json!({}))
        }
        id => valid(id, &mut house, &places)?,
    };
    let mut first = Repeated::new(house, &places, route, sent);
    let request = first.ask().request();
    let seed = first.house.seed();
    // A host that has just started hands out each call in a step of its own.
    let scene = Scene { now: first.house.now, seed, view: &first.house.store, careful: true };
    let output = first.house.service.step(&Input::Http(&request, &[]), &scene).expect("a step");
    assert!(matches!(output.outcome, Outcome::Wait | Outcome::Yield), "{}: {:?}", route.id, output.outcome);
    first.house.store.apply(&output.changes);
    Some(first.send())
}

/// Returns a house whose operator has a model.
pub fn asking() -> House {
    let llm = Llm { url: "https://llm.example/v1".into(), key: None, model: "m".into() };
    House::with(Config { llm: Some(llm), ..Config::default() })
}

/// Returns a house with a Twilio carrier, a number of it, and an inbound assistant that answers once its webhook has.
fn bought() -> House {
    let mut house = twilio();
    let owned = json!({ "sid": "PN1", "phone_number": NUMBER, "capabilities": { "voice": true, "sms": true } });
    let answer = HttpIn { status: 201, body: owned.to_string().into_bytes(), ..HttpIn::default() };
    house.outside(move |_| Ok(answer.clone()));
    let number = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": NUMBER }));
    inbound(&mut house, number);
    house
}

/// Creates an active inbound assistant for a number, with its webhook on; returns its id.
pub fn inbound(house: &mut House, number: u64) -> u64 {
    let events = ["call.incoming", "call.completed"];
    let inbound = json!({ "type": "inbound", "phone_number_id": number, "inbound_webhook_events": events });
    let body = with(assistant(), &inbound);
    let id = house.make("/user/assistant", &body);
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let hook = json!({ "assistant_id": id, "webhook_url": "https://a.example" });
    house.post("/user/assistants/enable-inbound-webhook", &hook).send().expect(200);
    id
}

/// Repeats a request whose answer showed a token.
pub fn spent(route: &'static Route) -> Option<Got> {
    let (mut house, places) = filled(House::default());
    let sent = valid(route.id, &mut house, &places)?;
    let mut first = Repeated::new(house, &places, route, sent);
    first.send().expect(route.status);
    Some(first.send())
}

/// Repeats a request after the resource in its answer was deleted.
pub fn deleted(route: &'static Route) -> Option<Got> {
    let (mut house, places) = filled(House::default());
    let assistant = places.id("/user/assistant");
    house.make_call(assistant);
    house.put(&format!("/user/assistant/{assistant}"), &json!({ "status": "active" })).send().expect(200);
    let sent = valid(route.id, &mut house, &places)?;
    let mut first = Repeated::new(house, &places, route, sent);
    let got = first.send().expect(route.status);
    let target = deleted_at(&first, &got)?;
    if target.starts_with("/user/calls/") {
        end(&mut first.house, &places, &target);
    }
    first.house.delete(&target).expect(200);
    Some(first.send())
}

/// Returns the path of the resource that an answer shows.
fn deleted_at(first: &Repeated, got: &Got) -> Option<String> {
    let id = |value: &Value| value.as_u64().expect("an id");
    Some(match first.route.id {
        "createDocument"
        | "createKnowledgebase"
        | "createTool"
        | "createCampaign"
        | "createFolder"
        | "createLabel"
        | "addDoNotCall"
        | "createAssistant" => format!("{}/{}", first.target, got.id()),
        "duplicateAssistant" => format!("/user/assistant/{}", got.id()),
        "purchaseNumber" | "createCallerId" | "createTrunk" => format!("/user/phone-numbers/{}", got.id()),
        "createLead" => format!("/user/leads/{}", got.id()),
        "sendSms" => format!("/user/phone-numbers/{}", id(&got.json["data"]["phone_number_id"])),
        "switchCampaign" => format!("/user/campaigns/{}", id(&got.json["data"]["campaign_id"])),
        "makeCall" => format!("/user/calls/{}", id(&got.json["call_id"])),
        "claimCalls" => format!("/user/calls/{}", id(&got.json["calls"][0]["call"]["id"])),
        "bringCall" => format!("/user/calls/{}", id(&got.json["call"]["id"])),
        "sendMessage" => first.target.replace("/messages", "").replace("/conversations", "/user/conversations"),
        "startConversation" | "generateReply" => {
            format!("/user/conversations/{}", got.json["conversation_id"].as_str().expect("a UUID"))
        }
        _ => return None,
    })
}

/// Ends a call, whether an engine has it or not.
pub fn end(house: &mut House, places: &Places, target: &str) {
    if house.post(&format!("{target}/hangup"), &json!({})).send().json["message"] == "The call was called off." {
        return;
    }
    let target = format!("{}/events", target.replace("/user/", "/engine/"));
    let mut say = |events: Value| {
        let body = json!({ "events": events });
        house.post(&target, &body).token(&places.engine).send()
    };
    // A call that was answered has an event already.
    let next = say(json!([{ "seq": 1_000, "type": "failed" }])).expect(409).json["next_seq"].clone();
    say(json!([{ "seq": next, "type": "failed" }])).expect(200);
}
