//! What the committed `OpenAPI` document has besides the tables: for each operation a paragraph and an example, written
//! by hand in `core/src/service/operations`, and the reply that the service gives to the example.
//!
//! The examples are played in order on one service in memory, whose time and seed never change: the same replies each
//! time. In a target or a body `{createTool}` stands for what the example of that operation made or found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use switchboard_core::http::request::Method;
use switchboard_core::http::route::{Route, Who};
use switchboard_core::json::{self, Members};
use switchboard_core::outside::HttpIn;
use switchboard_core::record::schema::{object, string};
use switchboard_core::service::openapi;
use switchboard_core::service::routes::ROUTES;

use crate::house::{Got, House};

/// Base URL of the service that plays the examples.
const BASE: &str = "http://switchboard.example";
/// Rows of a list that an example shows.
const ROWS: usize = 2;

/// The order in which the examples are played. What stands in no order here follows from nothing before it.
const ORDER: &str = "
    home health ready metrics openapi docs console widget
    createPlan updatePlan listPlans replacePrices getPrices createAccount listAccounts getAccount updateAccount createAccountKey listAccountKeys
    deleteAccountKey createEngineToken listEngineTokens
    login logout me updateMe createApiKey listApiKeys deleteApiKey
    listModels listVoices listLanguages listSynthesizerProviders listTranscriberProviders
    createFolder listFolders updateFolder createLabel listLabels updateLabel createTool listTools getTool updateTool testTool
    createKnowledgebase createDocument listDocuments getDocument updateDocument searchKnowledgebase listKnowledgebases
    getKnowledgebase updateKnowledgebase
    createAssistant updateAssistant getAssistant previewAssistant duplicateAssistant listAssistants allAssistants
    outboundAssistants enableInboundWebhook disableInboundWebhook enableInboundWebhookOf disableInboundWebhookOf
    removeInboundWebhook enableWebhookOf disableWebhookOf removeWebhook disableWebhook enableWebhook
    enableConversationEndedWebhookOf removeConversationEndedWebhook disableConversationEndedWebhook
    enableConversationEndedWebhook
    searchNumbers purchaseNumber allNumbers listSmsNumbers getNumber updateNumber createCallerId verifyCallerId createTrunk
    listTrunks getTrunk updateTrunk listAssignableNumbers sendSms
    addDoNotCall importDoNotCall getDoNotCallImport listDoNotCall removeDoNotCall
    makeCall readInterface claimCalls renewLeases makeWebCall callWidget listEngineTrunks listEngines drainEngine runTool askKnowledge commandCall reportEvents uploadRecording getRecording listCallEvents getCall bringCall hangUpCall listCalls
    listDeliveries resendDelivery listWebhookSecrets rotateWebhookSecret listEvents
    createCampaign listCampaigns getCampaign getCampaignProgress updateCampaign createLead importLeads getLeadImport listLeads getLead updateLead
    explainLead switchCampaign switchCampaignOf overview listWhatsAppSenders
    getWidget startConversation sendMessage getOpenConversation generateReply listConversations getConversation disableAi enableAi
    deleteConversation
    listJobs listQueues listSettings getStore listNodes drainNode deleteLead deleteCampaign deleteRecording deleteCall deleteDocument deleteKnowledgebase deleteAssistant deleteTool
    deleteFolder deleteLabel releaseNumber deleteEngineToken deleteAccount backup rotateOperatorToken
";

/// Operations whose examples are not played: jobs are set aside by faults alone, a check waits for an engine,
/// one-time codes are made by `switchboard dev` alone, and a bundle is asked for by its media type.
const UNPLAYED: [&str; 6] = ["retryJob", "dropJob", "checkTrunk", "answerTrunkCheck", "loginByCode", "bundleCall"];

/// What a page says of one operation.
struct Section {
    paragraph: String,
    /// Method and target.
    line: String,
    media: String,
    body: String,
}

/// What came of playing an example.
struct Played {
    /// The body that was sent, as JSON; a file is a text.
    sent: Option<json::Value>,
    /// The reply, cut; none where only a host can make it.
    reply: Option<json::Value>,
}

/// Returns the document as it is committed, published and served by the native host.
///
/// # Panics
/// If an operation has no paragraph or no example, or the service refuses one.
pub fn described() -> String {
    let sections = sections();
    let played = play(&sections);
    let mut document = openapi::document();
    let mut examples = Members::default();
    for route in ROUTES {
        let named = |what: &str| format!("{}{what}", route.id);
        let Some(Played { sent, reply }) = played.get(route.id) else { continue };
        for (what, value) in [("Body", sent), ("Reply", reply)] {
            if let Some(value) = value {
                examples.set(&named(what), object([("value", value.clone())]));
            }
        }
    }
    for route in ROUTES {
        let methods = [Some(route.method.name()), route.patch.then_some("PATCH")];
        for (path, method) in route.paths.iter().flat_map(|path| methods.iter().flatten().map(move |m| (path, m))) {
            let operation = within(&mut document, &["paths", path, &method.to_lowercase()]).expect("an operation");
            describe(operation, route, &sections[route.id], &examples);
        }
    }
    let components = within(&mut document, &["components"]).and_then(members).expect("components");
    components.set("examples", json::Value::Object(examples));
    openapi::written(&document)
}

/// Adds paragraph and examples to an operation of the document.
fn describe(operation: &mut json::Value, route: &Route, section: &Section, examples: &Members) {
    let own = members(operation).expect("an operation");
    let after = own.0.iter().position(|(name, _)| name == "summary").expect("a summary") + 1;
    own.0.insert(after, ("description".into(), string(&section.paragraph)));
    let status = route.status.to_string();
    let places = [
        ("Body", vec!["requestBody", "content", &section.media]),
        ("Reply", vec!["responses", &status, "content", "application/json"]),
    ];
    for (what, place) in places {
        let name = format!("{}{what}", route.id);
        let Some(media) = examples.get(&name).and_then(|_| within(operation, &place)).and_then(members) else {
            continue;
        };
        let example = object([("$ref", string(&format!("#/components/examples/{name}")))]);
        media.set("examples", object([("example", example)]));
    }
}

/// Plays the examples of all operations.
fn play(sections: &BTreeMap<String, Section>) -> BTreeMap<String, Played> {
    let order: Vec<&str> = ORDER.split_whitespace().collect();
    for route in ROUTES {
        let times = order.iter().chain(&UNPLAYED).filter(|id| **id == route.id).count();
        assert_eq!(times, 1, "{} is played {times} times", route.id);
        assert!(sections.contains_key(route.id), "no page in core/src/service/operations has a section {}", route.id);
    }
    assert_eq!(sections.len(), ROUTES.len(), "a section is about no operation");
    let (mut house, mut known, mut played) = (House::default(), BTreeMap::new(), BTreeMap::new());
    let mut refused = Vec::new();
    house.outside(|request| Ok(answer(&request.url)));
    for id in order {
        let route = ROUTES.iter().find(|route| route.id == id).unwrap_or_else(|| panic!("there is no {id}"));
        let (got, sent) = send(&mut house, route, &sections[id], &known);
        if got.status != route.status {
            refused.push(format!("{id}: {} {}", got.status, got.json));
        }
        house.tick();
        known.insert(id.to_owned(), made(&got.json));
        known.extend(got.json["uuid"].as_str().map(|uuid| (format!("{id}.uuid"), uuid.to_owned())));
        known.extend(got.json["token"].as_str().map(|token| (format!("{id}.token"), token.to_owned())));
        let shown = (!got.json.is_null() && id != "openapi").then(|| cut(parsed(id, &got.bytes)));
        played.insert(id.to_owned(), Played { sent, reply: shown });
    }
    assert!(refused.is_empty(), "examples that are not answered as their operations say:\n{}", refused.join("\n"));
    played
}

/// Sends the example of an operation as whoever may.
fn send(
    house: &mut House,
    route: &Route,
    section: &Section,
    known: &BTreeMap<String, String>,
) -> (Got, Option<json::Value>) {
    let filled = |text: &str| {
        let fill = |text: String, (id, value): (&String, &String)| text.replace(&format!("{{{id}}}"), value);
        known.iter().fold(text.to_owned(), fill)
    };
    let line = filled(&section.line);
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let token = match (route.who, route.id) {
        (Who::User, "logout") => known["login.token"].clone(),
        (Who::User | Who::Visitor | Who::Anyone, _) => house.key.clone(),
        (Who::Operator, _) => house.operator.clone(),
        (Who::Engine, _) => known["createEngineToken.token"].clone(),
    };
    let mut call = house
        .call(Method::parse(method), target)
        .token(&token)
        .without("host")
        .header("host", &BASE["http://".len()..]);
    if route.who == Who::Anyone {
        call = call.without("authorization");
    }
    let body = filled(&section.body);
    if body.is_empty() {
        return (call.send(), None);
    }
    let sent = match &*section.media {
        "application/json" => parsed(route.id, body.as_bytes()),
        _ => string(&body),
    };
    (call.header("content-type", &section.media).body(body.into_bytes()).send(), Some(sent))
}

/// Answers for everything outside: a website, an endpoint of a tool, and receivers of webhooks.
fn answer(url: &str) -> HttpIn {
    let (status, media, body) = match url.strip_prefix("https://clinic.example/").unwrap_or_default() {
        "" => (
            200,
            "text/html",
            "<title>Clinic</title><p>The clinic opens at nine and closes at five, from Monday to Friday.</p>",
        ),
        "robots.txt" => (404, "text/plain", ""),
        path if path.starts_with("api/") => (200, "application/json", r#"{"appointment":"Monday at nine"}"#),
        _ => (200, "application/json", "{}"),
    };
    let headers = vec![("content-type".to_owned(), media.to_owned())];
    HttpIn { status, headers, body: body.into(), ..HttpIn::default() }
}

/// Returns what later examples name: the id of what was made, or of the first in a list.
fn made(reply: &Value) -> String {
    let places = [
        "/conversation_id",
        "/data/id",
        "/id",
        "/api_key/id",
        "/call_id",
        "/call/id",
        "/data/0/id",
        "/data/0/phone_number",
        "/0/id",
        "/url",
    ];
    let found = places.iter().find_map(|place| reply.pointer(place)).unwrap_or(&Value::Null);
    // A URL of the service itself leads to its path.
    let text = found.as_str().map(|text| text.strip_prefix(BASE).unwrap_or(text));
    text.map_or_else(|| found.to_string(), str::to_owned)
}

/// Shortens a reply's lists, and covers its secrets with as many letters.
fn cut(mut reply: json::Value) -> json::Value {
    cover(&mut reply);
    for way in [&[][..], &["data"], &["calls"], &["secrets"], &["api_keys"]] {
        if let Some(json::Value::List(rows)) = within(&mut reply, way) {
            rows.truncate(ROWS);
        }
    }
    reply
}

/// Replaces tokens, passwords and secrets by letters, up to the prefix that says what they are.
fn cover(value: &mut json::Value) {
    const SECRET: [&str; 4] = ["token", "api_key", "secret", "password"];
    match value {
        json::Value::List(entries) => entries.iter_mut().for_each(cover),
        json::Value::Object(members) => members.0.iter_mut().for_each(|(name, member)| match member {
            json::Value::Text(text) if SECRET.contains(&name.as_str()) => {
                let prefix = text.find('_').map_or(0, |at| at + 1);
                *text = format!("{}{}", &text[..prefix], "x".repeat(text.len() - prefix));
            }
            member => cover(member),
        }),
        _ => {}
    }
}

/// Reads the pages: a section an operation, its paragraph and its request.
fn sections() -> BTreeMap<String, Section> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/service/operations");
    let mut sections = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder of the pages") {
        let page = std::fs::read_to_string(entry.expect("a page").path()).expect("a page");
        for text in page.split("\n## ").skip(1) {
            let (id, section) = read(text);
            assert!(sections.insert(id.clone(), section).is_none(), "{id} has two sections");
        }
    }
    sections
}

fn read(text: &str) -> (String, Section) {
    let (id, rest) = text.split_once('\n').expect("a heading");
    let (paragraph, rest) = rest.split_once("\n```http\n").unwrap_or_else(|| panic!("{id} has no request"));
    let request = rest.split("```").next().unwrap_or_default();
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    let (line, media) = head.trim_end().split_once("\nContent-Type: ").unwrap_or((head, "application/json"));
    let mut words = String::new();
    for line in paragraph.trim().lines() {
        let _ = write!(words, "{}{line}", if words.is_empty() { "" } else { " " });
    }
    assert!(words.ends_with('.'), "{id} has no paragraph");
    let (line, media, body) = (line.trim().to_owned(), media.trim().to_owned(), body.trim_end().to_owned());
    (id.trim().to_owned(), Section { paragraph: words, line, media, body })
}

fn parsed(id: &str, text: &[u8]) -> json::Value {
    json::parse(text).unwrap_or_else(|error| panic!("{id}: {error:?}"))
}

fn within<'v>(value: &'v mut json::Value, way: &[&str]) -> Option<&'v mut json::Value> {
    way.iter().try_fold(value, |value, step| {
        members(value)?.0.iter_mut().find(|(name, _)| name == step).map(|(_, member)| member)
    })
}

fn members(value: &mut json::Value) -> Option<&mut Members> {
    match value {
        json::Value::Object(members) => Some(members),
        _ => None,
    }
}
