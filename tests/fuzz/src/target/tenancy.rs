//! Two accounts: after every act of a history, each id of the first account, wherever a path, a body or a filter takes
//! one, behaves for the second account like an id that never existed.
//!
//! An input is a history, as [`session`](super::session) lives it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_core::http::reply::Content;
use switchboard_core::http::request::{Method, Request};
use switchboard_core::http::route::{Route, Who};
use switchboard_core::id;
use switchboard_core::key::{self, Kind, Space};
use switchboard_core::service::routes::ROUTES;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::view::{Scene, View};
use switchboard_sim::random::Random;
use switchboard_tests::house::{assistant, with};

use super::session::{Life, acts, script};
use super::{Seen, Target, mutated};
use crate::corpus;
use crate::http::{self, Text};
use crate::layer::Layer;
use crate::town::Town;

/// Most acts of a drawn history.
const ACTS_MAX: u64 = 6;
/// A count that no resource reaches.
const NEVER: u32 = 4_000_000;
/// A UUID of no resource.
const NOBODY: &str = "00000000-0000-4000-8000-000000000000";
/// Headers that differ from request to request (docs/api.md, Conventions).
const VARYING: [&str; 5] = ["date", "x-request-id", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// Path prefixes with the kind of resource that their `{id}` names.
const PATHS: &[(&str, Kind)] = &[
    ("/user/api-keys", Kind::ApiKey),
    ("/user/assistant", Kind::Assistant),
    ("/user/folder", Kind::Folder),
    ("/user/label", Kind::Label),
    ("/user/tools", Kind::Tool),
    ("/user/mid-call-tools", Kind::Tool),
    ("/user/phone-numbers", Kind::Number),
    ("/user/knowledgebases", Kind::Knowledgebase),
    ("/user/calls", Kind::Call),
    ("/engine/calls", Kind::Call),
    ("/user/campaign", Kind::Campaign),
    ("/user/leads/imports", Kind::Import),
    ("/user/leads", Kind::Lead),
    ("/leads", Kind::Lead),
    ("/user/do-not-call/imports", Kind::Import),
    ("/user/do-not-call", Kind::DoNotCall),
    ("/user/webhook-deliveries", Kind::Delivery),
    ("/widgets", Kind::Assistant),
    ("/conversations", Kind::Conversation),
    ("/user/conversations", Kind::Conversation),
    ("/automate/conversations", Kind::Conversation),
];

/// A position of an id inside a body or a filter.
struct Inside {
    /// Name of the operation.
    operation: &'static str,
    /// Name of the member or parameter.
    name: &'static str,
    /// Kind of resource that the id names.
    kind: Kind,
    /// Whether the value is a list of ids.
    list: bool,
    /// Remaining members of the body.
    body: Value,
}

/// Returns all such positions, with what else the operation requires.
fn insides() -> Vec<Inside> {
    let hook = || json!({ "webhook_url": "https://a.example" });
    let phone = |more: Value| with(json!({ "phone_number": "+40700000099" }), &more);
    let one = |operation, name, kind, body| Inside { operation, name, kind, list: false, body };
    let many = |operation, name, kind, body| Inside { operation, name, kind, list: true, body };
    vec![
        one("enableInboundWebhook", "assistant_id", Kind::Assistant, hook()),
        one("disableInboundWebhook", "assistant_id", Kind::Assistant, json!({})),
        one("enableWebhook", "assistant_id", Kind::Assistant, hook()),
        one("disableWebhook", "assistant_id", Kind::Assistant, json!({})),
        one("enableInboundWebhookOf", "assistant_id", Kind::Assistant, hook()),
        one("disableInboundWebhookOf", "assistant_id", Kind::Assistant, json!({})),
        one("enableWebhookOf", "assistant_id", Kind::Assistant, hook()),
        one("disableWebhookOf", "assistant_id", Kind::Assistant, json!({})),
        one("enableConversationEndedWebhook", "assistant_id", Kind::Assistant, hook()),
        one("disableConversationEndedWebhook", "assistant_id", Kind::Assistant, json!({})),
        one("enableConversationEndedWebhookOf", "assistant_id", Kind::Assistant, hook()),
        one("startConversation", "assistant_id", Kind::Assistant, json!({ "type": "test" })),
        one("generateReply", "assistant_id", Kind::Assistant, json!({ "customer_identifier": "c", "message": "Hi" })),
        one("listConversations", "assistant_id", Kind::Assistant, json!({})),
        one("makeCall", "assistant_id", Kind::Assistant, phone(json!({}))),
        one("makeWebCall", "assistant_id", Kind::Assistant, json!({})),
        one("createCampaign", "assistant_id", Kind::Assistant, json!({ "name": "C" })),
        many("createCampaign", "phone_number_ids", Kind::Number, json!({ "name": "C", "assistant_id": 1 })),
        one("updateCampaign", "assistant_id", Kind::Assistant, json!({})),
        many("updateCampaign", "phone_number_ids", Kind::Number, json!({})),
        one("switchCampaign", "campaign_id", Kind::Campaign, json!({ "action": "stop" })),
        one("createLead", "campaign_id", Kind::Campaign, phone(json!({}))),
        one("updateLead", "campaign_id", Kind::Campaign, json!({})),
        one("sendSms", "from", Kind::Number, json!({ "to": "+40700000009", "body": "Hi" })),
        one("createAssistant", "knowledgebase_id", Kind::Knowledgebase, assistant()),
        one("createAssistant", "phone_number_id", Kind::Number, assistant()),
        many("createAssistant", "tool_ids", Kind::Tool, assistant()),
        one("createAssistant", "folder_id", Kind::Folder, assistant()),
        many("createAssistant", "label_ids", Kind::Label, assistant()),
        one("updateAssistant", "knowledgebase_id", Kind::Knowledgebase, json!({})),
        one("updateAssistant", "phone_number_id", Kind::Number, json!({})),
        many("updateAssistant", "tool_ids", Kind::Tool, json!({})),
        one("updateAssistant", "folder_id", Kind::Folder, json!({})),
        many("updateAssistant", "label_ids", Kind::Label, json!({})),
        one("bringCall", "assistant_id", Kind::Assistant, json!({ "type": "web" })),
        one("bringCall", "trunk_id", Kind::Number, json!({ "type": "inbound", "to": "+40215550100" })),
        one("listAssistants", "folder_id", Kind::Folder, json!({})),
        many("listAssistants", "label_id", Kind::Label, json!({})),
        one("allAssistants", "folder_id", Kind::Folder, json!({})),
        many("allAssistants", "label_id", Kind::Label, json!({})),
        one("listCalls", "assistant_id", Kind::Assistant, json!({})),
        one("listCalls", "campaign_id", Kind::Campaign, json!({})),
        one("listLeads", "campaign_id", Kind::Campaign, json!({})),
        one("listDeliveries", "call_id", Kind::Call, json!({})),
        one("importLeads", "campaign_id", Kind::Campaign, json!({})),
    ]
}

/// Target `tenancy`: ids of one account in requests of another.
pub struct Tenancy<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
    insides: Vec<Inside>,
    /// The second account, with its own resources.
    stranger: Space,
}

impl<'t> Tenancy<'t> {
    /// Creates the target for a town.
    pub fn new(town: &'t Town) -> Self {
        let (account, _) = id::split(town.stranger.id("/user/tools"));
        let insides = insides();
        Self { town, corpus: corpus::of("tenancy"), insides, stranger: Space::Account(account) }
    }

    /// Sends every request that takes an id twice: with an id of the first account, and with one of no account.
    fn probe(&self, life: &Life<'_>, random: &mut Random) -> Result<(), String> {
        let theirs = newest(&life.layer, Space::Account(0), random);
        let own = newest(&life.layer, self.stranger, random);
        for route in ROUTES.iter().filter(|route| route.paths[0].contains('{')) {
            for pattern in route.paths {
                self.path(life, route, pattern, &theirs, &own)?;
            }
        }
        for inside in &self.insides {
            if let Some(count) = theirs.get(&inside.kind) {
                self.inside(life, inside, *count, &own)?;
            }
        }
        Ok(())
    }

    fn path(&self, life: &Life<'_>, route: &Route, pattern: &str, theirs: &Counts, own: &Counts) -> Result<(), String> {
        let Some((_, kind)) =
            PATHS.iter().filter(|(start, _)| pattern.starts_with(start)).max_by_key(|(start, _)| start.len())
        else {
            return Ok(());
        };
        let Some(count) = theirs.get(kind) else { return Ok(()) };
        let ids = [id::of(Space::Account(0), *count), id::of(Space::Account(0), NEVER), id::of(self.stranger, NEVER)];
        let text = |id: &str| {
            let target = pattern.replace("{id}", id).replace("{uuid}", id);
            let target = target.replace("{document_id}", "1").replace("{name}", "look");
            asked(route, &target)
        };
        let mut probes: Vec<(Vec<u8>, String)> = ids.iter().map(|id| (text(&id.to_string()), id.to_string())).collect();
        if *kind == Kind::Assistant {
            let uuid = uuid(&life.layer, *count).ok_or("an assistant has a UUID")?;
            probes.extend([uuid, NOBODY.into()].map(|uuid| (text(&uuid), uuid)));
        }
        if *kind == Kind::Conversation {
            let uuid = conversation_uuid(&life.layer, *count).ok_or("a conversation has a UUID")?;
            let never = id::uuid_of_row(0, NEVER, [7; 16]);
            probes.extend([uuid, never, NOBODY.into()].map(|uuid| (text(&uuid), uuid)));
        }
        if pattern.contains("{document_id}")
            && let (Some(document), Some(base)) = (theirs.get(&Kind::Document), own.get(&Kind::Knowledgebase))
        {
            let base = id::of(self.stranger, *base).to_string();
            for id in [*document, NEVER].map(|count| id::of(Space::Account(0), count).to_string()) {
                let target = pattern.replace("{id}", &base).replace("{document_id}", &id);
                alike(
                    pattern,
                    &[self.ask(life, &asked(route, &target), &id)?, self.never(life, route, pattern, &base)?],
                )?;
            }
        }
        let replies: Result<Vec<Told>, String> = probes.iter().map(|(text, id)| self.ask(life, text, id)).collect();
        alike(pattern, &replies?)
    }

    fn never(&self, life: &Life<'_>, route: &Route, pattern: &str, base: &str) -> Result<Told, String> {
        let never = id::of(self.stranger, NEVER).to_string();
        let target = pattern.replace("{id}", base).replace("{document_id}", &never);
        self.ask(life, &asked(route, &target), &never)
    }

    fn inside(&self, life: &Life<'_>, inside: &Inside, count: u32, own: &Counts) -> Result<(), String> {
        let Some(route) = ROUTES.iter().find(|route| route.id == inside.operation) else {
            return Err(format!("there is no operation {}", inside.operation));
        };
        let ids = [id::of(Space::Account(0), count), id::of(Space::Account(0), NEVER), id::of(self.stranger, NEVER)];
        let mut replies = Vec::new();
        for id in ids {
            let Some(text) = self.within(route, inside, id, own) else { return Ok(()) };
            replies.push(self.ask(life, &text, &format!("{}={id}&", inside.name))?);
        }
        alike(&format!("{} {}", inside.operation, inside.name), &replies)
    }

    /// Builds the request with an id in that position; `None` if the second account lacks a resource that it needs.
    fn within(&self, route: &Route, inside: &Inside, id: u64, own: &Counts) -> Option<Vec<u8>> {
        let mut target = route.paths[0].to_owned();
        if target.contains("{id}") {
            let (_, kind) =
                PATHS.iter().filter(|(start, _)| target.starts_with(start)).max_by_key(|(start, _)| start.len())?;
            target = target.replace("{id}", &id::of(self.stranger, *own.get(kind)?).to_string());
        }
        let mut body = inside.body.clone();
        if body["assistant_id"] == 1 {
            body["assistant_id"] = json!(id::of(self.stranger, *own.get(&Kind::Assistant)?));
        }
        if route.method == Method::Get || route.id == "importLeads" {
            target = format!("{target}?{}={id}", inside.name);
        } else {
            body[inside.name] = if inside.list { json!([id]) } else { json!(id) };
        }
        let token = if route.who == Who::Engine { "theirs" } else { "stranger" };
        let text =
            Text::new(route.method, &target).bearer(token).header("host", b"test").header("x-request-id", b"probe");
        Some(match route.id {
            "importLeads" => {
                let mut text = text.header("content-type", b"text/csv");
                text.body = Some(b"phone_number\n+40700000001\n".to_vec());
                text.bytes()
            }
            _ if route.method == Method::Get => text.bytes(),
            _ => text.json(body.to_string()).bytes(),
        })
    }

    /// Executes a request without keeping its changes; `named` is masked in the reply.
    fn ask(&self, life: &Life<'_>, text: &[u8], named: &str) -> Result<Told, String> {
        let request = http::parse(text, &self.town.tokens).ok_or("a request")?;
        let scene = Scene { now: life.now, seed: Random::new(9).seed(), view: &life.layer, careful: false };
        let output = self.town.service.step(&Input::Http(&request, &[]), &scene);
        let output = output.map_err(|stop| format!("{}: the step stopped: {stop:?}", request.target))?;
        let Outcome::Reply(reply) = output.outcome else {
            return Err(format!("{} is not answered at once", shown(&request)));
        };
        let body = match reply.content {
            Content::Json(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => format!("{other:?}"),
        };
        let echoed = body.contains(named);
        let headers = reply
            .headers
            .into_iter()
            // The tag is a hash of the bytes sent, which repeat the filter of a filtered list.
            .filter(|(name, _)| !(VARYING.contains(name) || echoed && *name == "etag"))
            .collect();
        Ok(Told { asked: shown(&request), status: reply.status, headers, body: body.replace(named, "ID") })
    }
}

/// Builds an empty request of the second account.
fn asked(route: &Route, target: &str) -> Vec<u8> {
    let token = if route.who == Who::Engine { "theirs" } else { "stranger" };
    let text = Text::new(route.method, target).bearer(token).header("host", b"test").header("x-request-id", b"probe");
    if route.method.is_write() { text.json("{}").bytes() } else { text.bytes() }
}

/// Reply to a probe.
struct Told {
    asked: String,
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn shown(request: &Request) -> String {
    format!("{} {}", request.method.name(), request.target)
}

/// Returns an error unless all replies are the same.
fn alike(what: &str, told: &[Told]) -> Result<(), String> {
    for other in &told[1..] {
        let one = &told[0];
        if (one.status, &one.headers, &one.body) != (other.status, &other.headers, &other.body) {
            return Err(format!(
                "{what}: {} is answered {} {:?} {}, but {} {} {:?} {}",
                one.asked, one.status, one.headers, one.body, other.asked, other.status, other.headers, other.body
            ));
        }
    }
    Ok(())
}

/// A count for each kind of resource.
type Counts = BTreeMap<Kind, u32>;

/// Returns a resource of each kind that an account has: the newest, or a random one.
fn newest(layer: &Layer<'_>, space: Space, random: &mut Random) -> Counts {
    let mut all: BTreeMap<Kind, Vec<u32>> = BTreeMap::new();
    for kind in PATHS.iter().map(|(_, kind)| *kind).chain([Kind::Document]) {
        let range = key::row(space, kind, 0)..key::row(space, kind, u32::MAX);
        let rows = layer.scan(range, switchboard_core::view::Order::Ascending, 200).unwrap_or_default();
        let counts: Vec<u32> = rows
            .iter()
            .filter_map(|(at, _)| key::read_row(at))
            .filter(|(of, _)| *of == kind)
            .map(|(_, count)| count)
            .collect();
        if !counts.is_empty() {
            all.insert(kind, counts);
        }
    }
    let mut pick = |counts: &[u32]| if random.chance(500) { counts[counts.len() - 1] } else { random.one(counts) };
    all.iter().map(|(kind, counts)| (*kind, pick(counts))).collect()
}

fn uuid(layer: &Layer<'_>, count: u32) -> Option<String> {
    text_in(layer, Kind::Assistant, count, "\"uuid\":\"")
}

fn conversation_uuid(layer: &Layer<'_>, count: u32) -> Option<String> {
    text_in(layer, Kind::Conversation, count, "{\"id\":\"")
}

/// Returns the UUID behind these bytes of a stored row.
fn text_in(layer: &Layer<'_>, kind: Kind, count: u32, before: &str) -> Option<String> {
    let row = layer.get(&[key::row(Space::Account(0), kind, count)]).ok()?.pop()??;
    let text = String::from_utf8_lossy(&row);
    let at = text.find(before)? + before.len();
    text.get(at..at + NOBODY.len()).map(ToOwned::to_owned)
}

impl Target for Tenancy<'_> {
    fn name(&self) -> &'static str {
        "tenancy"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let acts = 1 + random.below(ACTS_MAX);
            script(random, self.town, acts)
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let salt = corpus::digest(input);
        let (mut life, mut random) = (Life::new(self.town, salt), Random::new(salt));
        for act in acts(input) {
            life.act(act)?;
            self.probe(&life, &mut random)?;
        }
        Ok(Seen::word("invisible"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::http::route::BodyKind;
    use switchboard_core::record::{Column, ColumnType as Of, ID_MAX, Ref};

    /// Parameters that are not ids, or name what every account may see: pages, and the operator's accounts.
    /// The last is named back: to an engine that has no such call it is lost, whosever it is.
    const NO_IDS: [(&str, &str); 5] = [
        ("page", ""),
        ("account_ids", "createEngineToken"),
        ("account_id", "listJobs"),
        ("after", "listEngineTrunks"),
        ("calls", "renewLeases"),
    ];

    /// Most resources of a kind that the second account has.
    const OWN_MAX: u32 = 9;

    fn names_a_row(route: &Route, column: &Column) -> bool {
        let of_id = |kind: &Of| matches!(kind, Of::Int { max, .. } if *max == ID_MAX);
        let is_id = match &column.spec.kind {
            Of::List { of, .. } => of_id(of),
            kind => of_id(kind),
        };
        let other = column.spec.exists.is_some_and(|what| !matches!(what, Ref::Row(_)));
        let lookup = route.id.starts_with("list") && ["language_id", "synthesizer_provider_id"].contains(&column.name);
        let counted = NO_IDS.iter().any(|(name, id)| column.name == *name && (id.is_empty() || route.id == *id));
        is_id && !other && !lookup && !counted
    }

    #[test]
    fn every_id_that_a_body_or_a_filter_takes_is_asked() {
        let insides = insides();
        let mut missed = Vec::new();
        for route in ROUTES {
            let body = match route.body {
                BodyKind::Json(table, _) | BodyKind::Document(table) => Some(table),
                BodyKind::None | BodyKind::File(..) | BodyKind::Object(..) => None,
            };
            for column in [body, route.query].into_iter().flatten().flat_map(|table| table.columns) {
                let known = insides.iter().any(|one| one.operation == route.id && one.name == column.name);
                if names_a_row(route, column) && !known {
                    missed.push((route.id, column.name));
                }
            }
        }
        assert_eq!(missed, []);
        let paths = ROUTES.iter().filter(|route| route.who == Who::User || route.who == Who::Engine);
        // The id of a check names no row, and is drawn.
        let paths = paths.filter(|route| route.id != "answerTrunkCheck");
        for pattern in paths.flat_map(|route| route.paths).filter(|path| path.contains('{')) {
            assert!(PATHS.iter().any(|(start, _)| pattern.starts_with(start)), "{pattern}");
        }
    }

    #[test]
    fn an_own_id_is_answered_otherwise_so_the_probes_can_fail() {
        let town = Town::new();
        let tenancy = Tenancy::new(&town);
        let life = Life::new(&town, 1);
        let own = newest(&life.layer, tenancy.stranger, &mut Random::new(1));
        for inside in &tenancy.insides {
            let route = ROUTES.iter().find(|route| route.id == inside.operation).expect("an operation");
            let told = |count| {
                let id = id::of(tenancy.stranger, count);
                let text = tenancy.within(route, inside, id, &own).expect("a request");
                tenancy.ask(&life, &text, &format!("{}={id}&", inside.name))
            };
            // A message waits for the carrier, and a waiting request is not a refusal.
            let same = |count| told(count).and_then(|one| alike("own", &[one, told(NEVER)?]));
            let differs = (1..=OWN_MAX).any(|count| same(count).is_err());
            assert!(differs, "{} {}", inside.operation, inside.name);
        }
    }
}
