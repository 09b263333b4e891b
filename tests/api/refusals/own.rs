//! Causes that a row of the route table names itself: a case for each.

use serde_json::{Value, json};
use switchboard_core::admin::DrainOrder;
use switchboard_core::http::cause::Cause;
use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::Method;
use switchboard_core::limits::IMPORTS_MAX;
use switchboard_core::object::UploadError;
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant, campaign, tool, trunk, with};
use switchboard_tests::line::Line;
use switchboard_tests::places::Places;

use super::bodies::{offered, sender, valid};
use super::keys::{asking, end, inbound};
use super::stage::{NOWHERE, filled};
use crate::carrier::{NUMBER, twilio};

/// Most rows of some kinds that an installation, an account or a knowledgebase may have.
const ALL: usize = 1_000;
const PURCHASE: &str = "/user/phone-numbers/purchase";
const NOT_THERE: &str = "Assistant not found";

/// An operation's id, its cause, words of the refusal, and a request that provokes it.
type Case = (&'static str, Cause, &'static str, fn() -> Got);

/// One case for each cause that a row names.
#[rustfmt::skip]
pub const CASES: &[Case] = &[
    ("login", Cause::WrongPassword, "do not match", || login(|_| (), "wrong")),
    ("login", Cause::Suspended, "suspended", || login(suspend, "")),
    ("login", Cause::TooMany, "Too many", || login(|house| house.crowded = true, "")),
    ("loginByCode", Cause::NotFound, "Code not found", || House::default().post("/user/login/code", &json!({ "code": "none" })).send()),
    ("loginByCode", Cause::TooMany, "Too many", || { let mut house = House::default(); house.crowded = true; house.post("/user/login/code", &json!({ "code": "none" })).send() }),
    ("logout", Cause::NoSession, "cannot log out", || post("/user/logout", &json!({}))),
    ("createApiKey", Cause::Limit, "at most", || beyond("/user/api-keys", |n| json!({ "name": format!("{n}") }), false)),
    ("createAccountKey", Cause::Limit, "at most", || beyond("/admin/accounts/1/api-keys", |n| json!({ "name": format!("{n}") }), true)),
    ("drainNode", Cause::Conflict, "No other node", || only_one()),
    ("createPlan", Cause::Limit, "at most", || beyond("/admin/plans", |n| json!({ "name": format!("plan-{n}") }), true)),
    ("createEngineToken", Cause::Limit, "at most", || beyond("/admin/engine-tokens", |n| json!({ "name": format!("{n}") }), true)),
    ("createAssistant", Cause::Limit, "plan limit of 1 assistants", || limited("createAssistant")),
    ("duplicateAssistant", Cause::Limit, "plan limit of 1 assistants", || limited("duplicateAssistant")),
    ("previewAssistant", Cause::Unprocessable, "larger than 1 MiB", unfolding),
    ("createTool", Cause::ToolLimit, "plan limit of 1 mid call tools", || limited("createTool")),
    ("createKnowledgebase", Cause::Limit, "plan limit of 1 knowledgebases", || limited("createKnowledgebase")),
    ("createCampaign", Cause::Limit, "plan limit of 1 campaigns", || limited("createCampaign")),
    ("purchaseNumber", Cause::Limit, "plan limit of 1 phone numbers", || limited("purchaseNumber")),
    ("createCallerId", Cause::Limit, "plan limit of 1 phone numbers", || limited("createCallerId")),
    ("createTrunk", Cause::Limit, "plan limit of 1 phone numbers", || limited("createTrunk")),
    ("createFolder", Cause::Limit, "plan limit of 1 folders", || limited("createFolder")),
    ("createLabel", Cause::Limit, "plan limit of 1 labels", || limited("createLabel")),
    ("createDocument", Cause::Limit, "at most", documents),
    ("importLeads", Cause::Limit, "imports may be under way", || imports("importLeads")),
    ("importDoNotCall", Cause::Limit, "imports may be under way", || imports("importDoNotCall")),
    ("enableInboundWebhook", Cause::NotFound, NOT_THERE, || webhook("enable-inbound-webhook")),
    ("disableInboundWebhook", Cause::NotFound, NOT_THERE, || webhook("disable-inbound-webhook")),
    ("enableWebhook", Cause::NotFound, NOT_THERE, || webhook("enable-webhook")),
    ("disableWebhook", Cause::NotFound, NOT_THERE, || webhook("disable-webhook")),
    ("enableConversationEndedWebhook", Cause::NotFound, NOT_THERE, || webhook("enable-conversation-ended-webhook")),
    ("disableConversationEndedWebhook", Cause::NotFound, NOT_THERE, || webhook("disable-conversation-ended-webhook")),
    ("testTool", Cause::Outside, "", || test_tool(SendError::Unreachable)),
    ("testTool", Cause::Late, "", || test_tool(SendError::TimedOut)),
    ("searchNumbers", Cause::Outside, "did not answer", || twilio().get("/user/phone-numbers/search")),
    ("purchaseNumber", Cause::Declined, "already in use", || { let (mut house, number) = owner(); house.post(PURCHASE, &number).send() }),
    ("purchaseNumber", Cause::Payment, "Insufficient balance", || { let mut house = poor(); let number = offered(&mut house); house.post(PURCHASE, &json!({ "phone_number": number })).send() }),
    ("purchaseNumber", Cause::Outside, "did not answer", || twilio().post(PURCHASE, &json!({ "phone_number": NUMBER })).send()),
    ("createCallerId", Cause::Declined, "already there", caller_id),
    ("createTrunk", Cause::Conflict, "", || trunks(|house, body| house.post("/user/phone-numbers/sip-trunks", body).send())),
    ("updateTrunk", Cause::Conflict, "", || trunks(|house, body| { let other = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000082")); house.put(&format!("/user/phone-numbers/sip-trunks/{other}"), body).send() })),
    ("checkTrunk", Cause::NoEngine, "No voice engine", || checked(false, 1)),
    ("checkTrunk", Cause::Late, "not answered in time", || checked(true, 1)),
    ("checkTrunk", Cause::Conflict, "being checked", || checked(true, 2)),
    ("answerTrunkCheck", Cause::NotFound, "Check not found", || { let (mut house, places) = filled(House::default()); house.post("/engine/checks/00000000-0000-4000-8000-000000000000", &json!({ "steps": [{ "name": "reach", "ok": true }] })).token(&places.engine).send() }),
    ("releaseNumber", Cause::Outside, "did not confirm", || released(1)),
    ("releaseNumber", Cause::Declined, "still releasing", || released(2)),
    ("deleteCall", Cause::Conflict, "still running", || calls(|house, _, target| house.delete(target))),
    ("hangUpCall", Cause::Conflict, "already over", || calls(|house, places, target| { end(house, places, target); house.post(&format!("{target}/hangup"), &json!({})).send() })),
    ("commandCall", Cause::Conflict, "is over", || calls(|house, places, target| { end(house, places, target); house.post(&format!("{target}/commands"), &json!({ "type": "hold" })).send() })),
    ("makeCall", Cause::Payment, "Insufficient balance", || make_call(poor(), &json!({}))),
    ("makeCall", Cause::NotFound, NOT_THERE, || post("/user/make_call", &json!({ "phone_number": "+40700000081", "assistant_id": NOWHERE }))),
    ("makeCall", Cause::Unprocessable, "not verified", unverified),
    ("makeCall", Cause::NoEngine, "No voice engine", || make_call(House::with(Config { refuse_without_engine: true, ..Config::default() }), &json!({}))),
    ("listCallEvents", Cause::EventId, "Last-Event-ID", || calls(|house, _, target| last_event(house, &format!("{target}/events"), "x"))),
    ("listEvents", Cause::EventId, "Last-Event-ID", || last_event(&mut House::default(), "/user/events", "x")),
    ("listEvents", Cause::Forgotten, "", forgotten),
    ("createCampaign", Cause::NotFound, NOT_THERE, || post("/user/campaigns", &json!({ "name": "C", "assistant_id": NOWHERE }))),
    ("switchCampaign", Cause::NotFoundUnsuccessful, "Campaign not found", || post("/user/campaigns/update-status", &json!({ "campaign_id": NOWHERE, "action": "start" }))),
    ("switchCampaign", Cause::Unsuccessful, "not active", inactive),
    ("switchCampaignOf", Cause::Unsuccessful, "not active", inactive_of),
    ("sendSms", Cause::Declined, "From number not found", || post("/user/sms", &json!({ "from": NOWHERE, "to": "+40700000081", "body": "Hello" }))),
    ("sendSms", Cause::Outside, "did not answer", message),
    ("bringCall", Cause::NotFound, NOT_THERE, || bring(House::default(), &json!({ "type": "web", "assistant_id": NOWHERE }))),
    ("bringCall", Cause::Unprocessable, "larger than 1 MiB", large),
    ("bringCall", Cause::TooMany, "at once", announced),
    ("reportEvents", Cause::OutOfOrder, "missing", || engine("events", &json!({ "events": [{ "seq": 5, "type": "ringing" }] }), false, None)),
    ("deleteRecording", Cause::Conflict, "still running", || calls(|house, _, target| house.delete(&format!("{target}/recording")))),
    ("getRecording", Cause::Link, "not valid", || played("bytes=0-", |house| house.now = house.now.plus_seconds(200_000))),
    ("getRecording", Cause::NotFound, "Recording not found", || played("bytes=0-", suspend)),
    ("getRecording", Cause::Range, "not within", || played("bytes=9-", |_| ())),
    ("getRecording", Cause::NotKept, "keeps no recordings", || played("bytes=0-", without_recordings)),
    ("uploadRecording", Cause::Invalid, "must not be empty", || uploaded(&mut House::default(), true, 0, |_, _| ())),
    ("uploadRecording", Cause::NotRecorded, "does not record", || recorded(&mut House::default(), false, |_, _| ())),
    ("uploadRecording", Cause::Conflict, "more than a day ago", || recorded(&mut House::default(), true, |house, places| { end(house, places, &format!("/user/calls/{}", places.id("/user/calls"))); house.now = house.now.plus_seconds(86_400); })),
    ("uploadRecording", Cause::Storage, "plan limit of stored data", || recorded(&mut House::default(), true, |house, _| operate(house, "/admin/plans/standard", &json!({ "storage_bytes": 1_048_576 })))),
    ("uploadRecording", Cause::Outside, "did not answer", || recorded(&mut House::default(), true, |house, _| house.broken = Some(UploadError::Unreachable))),
    ("uploadRecording", Cause::DiskFull, "disk", || recorded(&mut House::default(), true, |house, _| house.broken = Some(UploadError::DiskFull))),
    ("uploadRecording", Cause::NotKept, "keeps no recordings", || recorded(&mut House::default(), true, |house, _| without_recordings(house))),
    ("runTool", Cause::OutOfOrder, "missing", || engine("tools/look", &json!({ "events": [{ "seq": 5, "type": "answered" }] }), false, None)),
    ("runTool", Cause::Unprocessable, "must be an object", || engine("tools/look", &json!({ "arguments": [1] }), false, None)),
    ("listEngineTrunks", Cause::Exposed, "https", || exposed(Method::Get, "/engine/trunks", &Value::Null)),
    ("claimCalls", Cause::Exposed, "https", || exposed(Method::Post, "/engine/claim", &json!({ "engine": "E" }))),
    ("bringCall", Cause::Exposed, "https", || exposed(Method::Post, "/engine/calls", &json!({ "type": "inbound", "to": "+40215550100" }))),
    ("bringCall", Cause::Elsewhere, "another origin", elsewhere),
    ("makeWebCall", Cause::NoEngine, "No voice engine", || web_call(House::default(), &json!(null))),
    ("makeWebCall", Cause::NotFound, NOT_THERE, || web_call(House::default(), &json!(NOWHERE))),
    ("makeWebCall", Cause::Payment, "Insufficient", || web_call(poor(), &json!(null))),
    ("bringCall", Cause::OffTrunk, "not on this trunk", off_trunk),
    ("bringCall", Cause::Conflict, "external_id", brought_again),
    ("runTool", Cause::Conflict, "over", || engine("tools/look", &json!({}), true, None)),
    ("runTool", Cause::TooMany, "at once", || engine("tools/look", &json!({}), false, Some(SendError::ShareUsed))),
    ("runTool", Cause::Outside, "", || engine("tools/look", &json!({}), false, Some(SendError::Unreachable))),
    ("runTool", Cause::Late, "", || engine("tools/look", &json!({}), false, Some(SendError::TimedOut))),
    ("askKnowledge", Cause::Conflict, "over", || engine("knowledge", &json!({ "query": "When?" }), true, None)),
    ("startConversation", Cause::NotFound, NOT_THERE, || post("/conversations", &json!({ "assistant_id": NOWHERE }))),
    ("startConversation", Cause::Declined, "top up", || talk(poor(), "/conversations", &json!({}))),
    ("startConversation", Cause::Origin, "origin", foreign_page),
    ("startConversation", Cause::Limit, "plan limit of 1 conversations a day", || { let mut house = House::default(); operate(&mut house, "/admin/plans/standard", &json!({ "conversations_daily": 1 })); talk(house, "/conversations", &json!({})) }),
    ("startConversation", Cause::Unprocessable, "larger than 1 MiB", || talk_at_length("/conversations")),
    ("getWidget", Cause::Origin, "origin", widget_of_a_foreign_page),
    ("callWidget", Cause::Origin, "origin", || visit_by_voice(House::default(), "https://b.example")),
    ("callWidget", Cause::NoEngine, "No voice engine", || visit_by_voice(House::default(), "https://a.example")),
    ("callWidget", Cause::Declined, "Insufficient", || visit_by_voice(poor(), "https://a.example")),
    ("getOpenConversation", Cause::Origin, "origin", || in_a_foreign_page(Method::Get, "")),
    ("sendMessage", Cause::Origin, "origin", || in_a_foreign_page(Method::Post, "/messages")),
    ("sendMessage", Cause::Declined, "top up", || say(House::default(), |house, _| operate(house, "/admin/accounts/1", &json!({ "balance": 0 })))),
    ("sendMessage", Cause::Conflict, "still being answered", busy),
    ("sendMessage", Cause::Unprocessable, "full", full_conversation),
    ("sendMessage", Cause::Outside, "could not", || say(asking(), |house, _| house.outside(|_| Err(SendError::Unreachable)))),
    ("sendMessage", Cause::Late, "within 60 s", || say(asking(), |house, _| house.outside(|_| Err(SendError::TimedOut)))),
    ("generateReply", Cause::NotFound, NOT_THERE, || reply(House::default(), &json!({ "assistant_id": NOWHERE }))),
    ("generateReply", Cause::Payment, "top up", || { let mut house = poor(); let id = house.make("/user/assistant", &assistant()); reply(house, &json!({ "assistant_id": id })) }),
    ("generateReply", Cause::Limit, "plan limit of 1 conversations a day", || { let mut house = House::default(); operate(&mut house, "/admin/plans/standard", &json!({ "conversations_daily": 1 })); talk(house, "/user/ai/generate-reply", &json!({ "customer_identifier": "c", "message": "Hello" })) }),
    ("generateReply", Cause::Unprocessable, "larger than 1 MiB", || talk_at_length("/user/ai/generate-reply")),
    ("generateReply", Cause::Conflict, "still being answered", busy_reply),
    ("generateReply", Cause::Outside, "could not", || reply_of(SendError::Unreachable)),
    ("generateReply", Cause::Late, "within 60 s", || reply_of(SendError::TimedOut)),
    ("retryJob", Cause::Conflict, "not set aside", || job(Method::Post, "/retry")),
    ("dropJob", Cause::Conflict, "not set aside", || job(Method::Delete, "")),
];

/// Returns what a host answers whose only node is to be drained.
fn only_one() -> Got {
    let Reply { status, headers, content } = DrainOrder::OnlyOne.reply_to("/admin/nodes");
    let bytes = content.made().to_vec();
    Got { status, json: serde_json::from_slice(&bytes).expect("JSON"), bytes, headers }
}

fn post(target: &str, body: &Value) -> Got {
    House::default().post(target, body).send()
}

fn login(prepare: fn(&mut House), password: &str) -> Got {
    let mut house = House::default();
    let password = if password.is_empty() { house.password.clone() } else { password.to_owned() };
    prepare(&mut house);
    house.post("/user/login", &json!({ "email": "owner@localhost", "password": password })).send()
}

fn operate(house: &mut House, target: &str, body: &Value) {
    let operator = house.operator.clone();
    house.put(target, body).token(&operator).send().expect(200);
}

fn suspend(house: &mut House) {
    operate(house, "/admin/accounts/1", &json!({ "suspended": true }));
}

/// Returns a house whose owner has a balance of 0.
fn poor() -> House {
    let mut house = House::default();
    operate(&mut house, "/admin/accounts/1", &json!({ "balance": 0 }));
    house
}

/// Creates one more of a kind than the service allows.
fn beyond(target: &str, body: fn(usize) -> Value, by_operator: bool) -> Got {
    let mut house = House::default();
    let token = if by_operator { house.operator.clone() } else { house.key.clone() };
    let mut made = (0..=ALL).map(|n| house.post(target, &body(n)).token(&token).send());
    made.find(|got| got.status != 201).expect("a limit")
}

/// Creates a second resource under a plan that allows one of each kind.
fn limited(id: &str) -> Got {
    let (mut house, places) = filled(House::default());
    let sent = valid(id, &mut house, &places).expect("a body");
    let one = json!({ "assistants": 1, "tools": 1, "knowledgebases": 1, "campaigns": 1, "numbers": 1, "folders": 1 });
    operate(&mut house, "/admin/plans/standard", &one);
    let route = switchboard_core::service::routes::ROUTES.iter().find(|route| route.id == id).expect("a row");
    sent.with(house.call(Method::Post, &places.path(route.paths[0]))).send()
}

/// Previews an assistant whose texts unfold to more than a call may have.
fn unfolding() -> Got {
    let mut house = House::default();
    let texts = json!({ "system_prompt": "{{a}}".repeat(200), "variables": { "a": "x".repeat(10_000) } });
    let id = house.make("/user/assistant", &with(assistant(), &texts));
    house.post(&format!("/user/assistant/{id}/preview"), &json!({})).send()
}

fn documents() -> Got {
    let mut house = House::default();
    let base = house.make("/user/knowledgebases", &json!({ "name": "K" }));
    let site = json!({ "name": "Site", "type": "website", "url": "https://a.example" });
    let target = format!("/user/knowledgebases/{base}/documents");
    let mut made = (0..=ALL).map(|_| house.post(&target, &site).send());
    made.find(|got| got.status != 201).expect("a limit")
}

fn imports(id: &str) -> Got {
    let (mut house, places) = filled(House::default());
    let sent = valid(id, &mut house, &places).expect("a file");
    let path = if id == "importLeads" { "/user/leads/import" } else { "/user/do-not-call/import" };
    let target = format!("{path}{}", sent.query);
    let mut made = (0..=IMPORTS_MAX).map(|_| sent.with(house.call(Method::Post, &target)).send());
    made.find(|got| got.status != 202).expect("a limit")
}

fn webhook(switch: &str) -> Got {
    let body = json!({ "assistant_id": NOWHERE, "webhook_url": "https://a.example" });
    post(&format!("/user/assistants/{switch}"), &body)
}

fn test_tool(error: SendError) -> Got {
    let mut house = House::default();
    let id = house.make("/user/tools", &tool("look"));
    house.outside(move |_| Err(error));
    house.post(&format!("/user/tools/{id}/test"), &json!({})).send()
}

/// Returns a house with a number of the simulated carrier, and the body that bought it.
fn owner() -> (House, Value) {
    let mut house = House::default();
    let number = json!({ "phone_number": offered(&mut house) });
    house.make(PURCHASE, &number);
    (house, number)
}

fn caller_id() -> Got {
    let mut house = House::default();
    let body = json!({ "phone_number": "+40700000083" });
    house.make("/user/phone-numbers/caller-ids", &body);
    house.post("/user/phone-numbers/caller-ids", &body).send()
}

/// Requests a number that another trunk has.
fn trunks(ask: fn(&mut House, &Value) -> Got) -> Got {
    let mut house = House::default();
    let body = trunk("+40700000084");
    house.make("/user/phone-numbers/sip-trunks", &body);
    ask(&mut house, &body)
}

/// Returns a house with a number whose carrier no longer answers, and the number's id.
fn left_alone() -> (House, u64) {
    let mut house = twilio();
    let owned = json!({ "sid": "PN1", "phone_number": NUMBER, "capabilities": { "voice": true, "sms": true } });
    let answer = HttpIn { status: 201, body: owned.to_string().into_bytes(), ..HttpIn::default() };
    house.outside(move |_| Ok(answer.clone()));
    let id = house.make(PURCHASE, &json!({ "phone_number": NUMBER }));
    house.outside(|_| Err(SendError::TimedOut));
    (house, id)
}

fn released(times: usize) -> Got {
    let (mut house, id) = left_alone();
    (0..times).map(|_| house.delete(&format!("/user/phone-numbers/{id}"))).last().expect("once")
}

fn message() -> Got {
    let (mut house, id) = left_alone();
    house.post("/user/sms", &json!({ "from": id, "to": "+40700000081", "body": "Hello" })).send()
}

/// Sends a request about a call that an engine has.
fn calls(ask: fn(&mut House, &Places, &str) -> Got) -> Got {
    let (mut house, places) = filled(House::default());
    let target = format!("/user/calls/{}", places.id("/user/calls"));
    ask(&mut house, &places, &target)
}

fn make_call(mut house: House, changes: &Value) -> Got {
    let id = house.make("/user/assistant", &with(assistant(), changes));
    house.post("/user/make_call", &json!({ "phone_number": "+40700000081", "assistant_id": id })).send()
}

fn unverified() -> Got {
    let mut house = House::default();
    let number = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000083" }));
    operate(&mut house, &format!("/admin/accounts/1/caller-ids/{number}"), &json!({ "verified": false }));
    make_call(house, &json!({ "phone_number_id": number }))
}

fn last_event(house: &mut House, target: &str, id: &str) -> Got {
    house.call(Method::Get, target).header("last-event-id", id).send()
}

/// Requests an account's first event, after it has expired and been swept.
fn forgotten() -> Got {
    let (mut house, places) = filled(House::default());
    end(&mut house, &places, &format!("/user/calls/{}", places.id("/user/calls")));
    for _ in 0..40 {
        house.now = house.now.plus_seconds(86_400);
        house.tick();
    }
    house.get("/user/events?after=0")
}

fn inactive() -> Got {
    let (mut house, id) = with_inactive_assistant();
    house.post("/user/campaigns/update-status", &json!({ "campaign_id": id, "action": "start" })).send()
}

fn inactive_of() -> Got {
    let (mut house, id) = with_inactive_assistant();
    house.call(Method::Patch, &format!("/user/campaigns/{id}/status")).json(&json!({ "status": "active" })).send()
}

/// Returns a campaign whose assistant was switched off.
fn with_inactive_assistant() -> (House, u64) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    for status in ["active", "inactive"] {
        house.put(&format!("/user/assistant/{id}"), &json!({ "status": status })).send().expect(200);
    }
    let id = house.make("/user/campaigns", &campaign(id));
    (house, id)
}

fn bring(mut house: House, body: &Value) -> Got {
    let line = Line::attach(&mut house);
    house.post("/engine/calls", body).token(&line.token).send()
}

fn large() -> Got {
    let mut house = House::default();
    let long = json!({ "system_prompt": "p".repeat(900_000) });
    let id = house.make("/user/assistant", &with(assistant(), &long));
    bring(house, &json!({ "type": "web", "assistant_id": id }))
}

/// Brings a call to an assistant whose webhook the account's budget has no room for.
fn announced() -> Got {
    let mut house = House::default();
    let number = sender(&mut house);
    inbound(&mut house, number);
    let to = house.get("/user/phone-numbers").json[0]["phone_number"].clone();
    house.outside(|_| Err(SendError::ShareUsed));
    bring(house, &json!({ "type": "inbound", "to": to }))
}

/// Has an engine that gets credentials ask for trunks over a connection that others can read.
fn exposed(method: Method, path: &str, body: &Value) -> Got {
    let mut house = House::default();
    let operator = house.operator.clone();
    let new = json!({ "name": "T", "telephony": true });
    let made = house.post("/admin/engine-tokens", &new).token(&operator).send().expect(201);
    let token = made.json["token"].as_str().expect("a token");
    let call = house.call(method, path).token(token).from("203.0.113.9");
    if body.is_null() { call.send() } else { call.json(body).send() }
}

/// Brings a call twice by the same id, with other numbers.
fn brought_again() -> Got {
    let (mut house, places) = filled(House::default());
    let assistant = places.id("/user/assistant");
    let body = |from: &str| json!({ "type": "web", "assistant_id": assistant, "external_id": "a", "from": from });
    house.post("/engine/calls", &body("1")).token(&places.engine).send().expect(201);
    house.post("/engine/calls", &body("2")).token(&places.engine).send()
}

/// Brings a call to a number that is another than the trunk's.
fn off_trunk() -> Got {
    let mut house = House::default();
    let id = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000084"));
    bring(house, &json!({ "type": "inbound", "to": "101", "trunk_id": id }))
}

/// Asks so many times for the check of a trunk, which no engine answers.
fn checked(has_engine: bool, times: u32) -> Got {
    let mut house = House::default();
    let id = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000083"));
    if has_engine {
        Line::checking(&mut house);
    }
    let target = format!("/user/phone-numbers/sip-trunks/{id}/check");
    let mut ask = || house.post(&target, &json!({})).send();
    (1..times).for_each(|_| drop(ask()));
    ask()
}

/// Makes a web call with the house's first assistant, or with the one of this id.
fn web_call(mut house: House, id: &Value) -> Got {
    let id = if id.is_null() { json!(house.make("/user/assistant", &assistant())) } else { id.clone() };
    house.post("/user/web_calls", &json!({ "assistant_id": id })).send()
}

/// Shows the token of a web call from a page of another origin.
fn elsewhere() -> Got {
    let (mut house, places) = filled(House::default());
    let new = json!({ "assistant_id": places.id("/user/assistant") });
    let made = house.post("/user/web_calls", &new).header("origin", "https://a.example").send().expect(201).json;
    let shown = json!({ "type": "web", "token": made["token"], "origin": "https://b.example" });
    house.post("/engine/calls", &shown).token(&places.engine).send()
}

/// Sends an engine's request in a call; `is_over` ends the call first, `error` fails what is asked outside.
fn engine(what: &str, body: &Value, is_over: bool, error: Option<SendError>) -> Got {
    let (mut house, places) = filled(House::default());
    let call = places.id("/engine/calls");
    if is_over {
        end(&mut house, &places, &format!("/user/calls/{call}"));
    }
    if let Some(error) = error {
        house.outside(move |_| Err(error));
    }
    house.post(&format!("/engine/calls/{call}/{what}"), body).token(&places.engine).send()
}

/// Uploads a recording of nine bytes, which says that it is larger than the smallest plan allows.
fn recorded(house: &mut House, records: bool, prepare: fn(&mut House, &Places)) -> Got {
    uploaded(house, records, 9, prepare)
}

/// The same, of so many bytes.
fn uploaded(house: &mut House, records: bool, bytes: usize, prepare: fn(&mut House, &Places)) -> Got {
    let key = house.key.clone();
    let places = Places::of(house, &key);
    let assistant = format!("/user/assistant/{}", places.id("/user/assistant"));
    house.put(&assistant, &json!({ "record": records })).send().expect(200);
    prepare(house, &places);
    let target = format!("/engine/calls/{}/recording", places.id("/engine/calls"));
    let call = house.call(Method::Put, &target).token(&places.engine).header("content-type", "audio/wav");
    call.header("content-length", "1048577").body(vec![1; bytes]).send()
}

/// Plays a part of such a recording, once the house was changed.
fn played(range: &str, change: fn(&mut House)) -> Got {
    let mut house = House::default();
    let uploaded = recorded(&mut house, true, |_, _| ()).expect(201);
    let url = uploaded.json["url"].as_str().expect("a URL").replace("http://test", "");
    change(&mut house);
    house.call(Method::Get, &url).without("authorization").header("range", range).send()
}

fn without_recordings(house: &mut House) {
    house.service = Service::new(Config::default());
}

/// Begins a conversation with a new assistant, twice.
fn talk(mut house: House, target: &str, changes: &Value) -> Got {
    let id = house.make("/user/assistant", &assistant());
    let body = with(json!({ "assistant_id": id }), changes);
    house.post(target, &body).send();
    let body = if target == "/conversations" { body } else { with(body, &json!({ "customer_identifier": "d" })) };
    house.post(target, &body).send()
}

/// Says something to an assistant whose texts unfold to more than they may have.
fn talk_at_length(target: &str) -> Got {
    let texts = json!({ "system_prompt": "{{a}}".repeat(200), "variables": { "a": "x".repeat(10_000) } });
    let mut house = House::default();
    let id = house.make("/user/assistant", &with(assistant(), &texts));
    let body = json!({ "assistant_id": id, "customer_identifier": "c", "message": "Hello" });
    house.post(target, &body).send()
}

/// Adds an assistant that pages of one origin may embed; returns the house and its UUID.
fn embedded(mut house: House) -> (House, String) {
    let settings = json!({ "enabled": true, "voice": true, "allowed_origins": ["https://a.example"] });
    let widget = json!({ "widget_settings": settings });
    let id = house.make("/user/assistant", &with(assistant(), &widget));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let uuid = house.get(&format!("/user/assistant/{id}")).json["uuid"].as_str().expect("a UUID").to_owned();
    (house, uuid)
}

fn foreign_page() -> Got {
    let (mut house, uuid) = embedded(House::default());
    let call = house.post("/conversations", &json!({ "assistant_id": uuid })).without("authorization");
    call.header("origin", "https://b.example").send()
}

fn visit_by_voice(house: House, origin: &str) -> Got {
    let (mut house, uuid) = embedded(house);
    let call = house.call(Method::Post, &format!("/widgets/{uuid}/web_calls")).without("authorization");
    call.header("origin", origin).send()
}

fn widget_of_a_foreign_page() -> Got {
    let (mut house, uuid) = embedded(House::default());
    let call = house.call(Method::Get, &format!("/widgets/{uuid}")).without("authorization");
    call.header("origin", "https://b.example").send()
}

fn in_a_foreign_page(method: Method, what: &str) -> Got {
    let (mut house, uuid) = embedded(House::default());
    let begun = house.post("/conversations", &json!({ "assistant_id": uuid })).without("authorization").send();
    let target = format!("/conversations/{}{what}", begun.json["conversation_id"].as_str().expect("a UUID"));
    let call = house.call(method, &target).json(&json!({ "message": "Hello" })).without("authorization");
    call.header("origin", "https://b.example").send()
}

/// Says something in a new conversation, once the house is prepared.
fn say(mut house: House, prepare: fn(&mut House, &str)) -> Got {
    let id = house.make("/user/assistant", &assistant());
    let begun = house.post("/conversations", &json!({ "assistant_id": id })).send().expect(200);
    let target = format!("/conversations/{}/messages", begun.json["conversation_id"].as_str().expect("a UUID"));
    prepare(&mut house, &target);
    house.post(&target, &json!({ "message": "Hello" })).send()
}

/// Says something while the last message is still being answered.
fn busy() -> Got {
    say(asking(), |house, target| begin(house, target, &json!({ "message": "Good day" })))
}

fn busy_reply() -> Got {
    let mut house = asking();
    let id = house.make("/user/assistant", &assistant());
    let body = json!({ "assistant_id": id, "customer_identifier": "c", "message": "Hello" });
    begin(&mut house, "/user/ai/generate-reply", &body);
    house.post("/user/ai/generate-reply", &body).send()
}

/// Runs the first step of a request, which asks the model.
fn begin(house: &mut House, target: &str, body: &Value) {
    let request = house.post(target, body).request();
    let seed = house.seed();
    let output = house.step(&Input::Http(&request, &[]), seed);
    assert!(matches!(output.outcome, Outcome::Wait), "{:?}", output.outcome);
}

fn full_conversation() -> Got {
    say(House::default(), |house, target| {
        for n in 0..100 {
            house.now = house.now.plus_seconds(60);
            house.post(target, &json!({ "message": format!("Message {n}") })).send();
        }
        house.now = house.now.plus_seconds(60);
    })
}

fn reply(mut house: House, changes: &Value) -> Got {
    let body = json!({ "customer_identifier": "c", "message": "Hello" });
    house.post("/user/ai/generate-reply", &with(body, changes)).send()
}

fn reply_of(error: SendError) -> Got {
    let mut house = asking();
    let id = house.make("/user/assistant", &assistant());
    house.outside(move |_| Err(error));
    reply(house, &json!({ "assistant_id": id }))
}

fn job(method: Method, what: &str) -> Got {
    let (mut house, places) = filled(House::default());
    let (target, operator) = (format!("{}{what}", places.path("/admin/jobs/{id}")), house.operator.clone());
    house.call(method, &target).token(&operator).send()
}
