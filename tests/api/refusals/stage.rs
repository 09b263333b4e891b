//! [`Stage`]: houses in the states in which every operation of a kind is refused alike.

use serde_json::{Value, json};
use switchboard_core::http::cause::Cause;
use switchboard_core::http::request::{Body, Door};
use switchboard_core::http::route::{BodyKind, Route, Who};
use switchboard_core::limits::TARGET_BYTES_MAX;
use switchboard_core::outside::HttpIn;
use switchboard_core::record::{ColumnType, Table};
use switchboard_core::setup::Config;
use switchboard_tests::house::{Call, Got, House, assistant, with};
use switchboard_tests::places::Places;

use super::bodies::{sender, valid};
use super::keys;

/// An id that no resource has.
pub const NOWHERE: &str = "4000000";

/// A house with one resource of each kind, which no refusal changes, and others in special states.
pub struct Stage {
    house: House,
    places: Places,
    /// API key of a suspended account.
    suspended: String,
    /// API key that may only read.
    reader: String,
    /// House whose operators have a listener of their own.
    apart: House,
    /// House whose account has no byte of storage left, with its resources.
    full: (House, Places),
}

impl Stage {
    /// Prepares all houses and keys.
    pub fn new() -> Self {
        let (mut house, places) = filled(House::default());
        let suspended = house.account("suspended@example.com");
        let operator = house.operator.clone();
        let body = json!({ "suspended": true });
        house.put("/admin/accounts/2", &body).token(&operator).send().expect(200);
        let made = house.post("/user/api-keys", &json!({ "name": "Reader", "read_only": true })).send().expect(201);
        let reader = made.json["api_key"]["token"].as_str().expect("a token").to_owned();
        let apart = House::with(Config { separate_admin: true, ..Config::default() });
        Self { house, places, suspended, reader, apart, full: full() }
    }

    /// Prepares a permitted request of an operation, without a body.
    pub fn ask(&mut self, route: &Route) -> Call<'_> {
        let target = self.places.path(route.paths[0]);
        self.ask_at(route, &target)
    }

    fn ask_at(&mut self, route: &Route, target: &str) -> Call<'_> {
        let token = token(&self.house, &self.places, route);
        self.house.call(route.method, target).token(&token)
    }

    /// Provokes a refusal whose cause follows from the columns of a row; returns it with words of its sentence.
    pub fn provoke(&mut self, route: &'static Route, cause: Cause) -> Option<(Got, &'static str)> {
        let got = match cause {
            Cause::Malformed if route.who == Who::Anyone => self.ask(route).raw(Body::Full(b"{".to_vec())).send(),
            Cause::Malformed => self.ask(route).header("authorization", "Bearer x").send(),
            Cause::TargetTooLong => {
                let target = format!("{}?x={}", self.places.path(route.paths[0]), "x".repeat(TARGET_BYTES_MAX));
                self.ask_at(route, &target).send()
            }
            Cause::Unauthenticated if route.who == Who::Visitor => self.ask(route).token("unknown").send(),
            Cause::Unauthenticated => self.ask(route).without("authorization").send(),
            Cause::Suspended => {
                let token = self.suspended.clone();
                self.ask(route).token(&token).send()
            }
            Cause::ReadOnly => {
                let token = self.reader.clone();
                self.ask(route).token(&token).send()
            }
            Cause::TooMany => self.strained(route, |house| &mut house.crowded),
            Cause::DiskFull => self.strained(route, |house| &mut house.full),
            Cause::NoRoute => {
                let target = self.places.path(route.paths[0]);
                let door = if route.who == Who::Operator { Door::Main } else { Door::Admin };
                self.apart.call(route.method, &target).door(door).send()
            }
            Cause::NotFound if route.parameters().next().is_some() => {
                let nowhere = |path: String, name: &str| path.replace(&format!("{{{name}}}"), NOWHERE);
                let target = route.parameters().fold(route.paths[0].to_owned(), nowhere);
                self.ask_at(route, &target).send()
            }
            Cause::Stale => {
                let body = json!({ "verified": true, "items": [] });
                self.ask(route).json(&body).header("if-match", "\"another\"").send()
            }
            Cause::TooLarge => self.ask(route).raw(Body::TooLarge).send(),
            Cause::MediaType => {
                self.ask(route).header("content-type", "text/css").raw(Body::Full(b"x".to_vec())).send()
            }
            Cause::Invalid => self.wrong(route),
            Cause::Unknown => {
                self.ask(route).json(&json!({ "no_such_member": 1 })).header("prefer", "handling=strict").send()
            }
            Cause::NoObject => self.ask(route).json(&json!([])).send(),
            Cause::Key => self.ask(route).header("idempotency-key", &"k".repeat(256)).send(),
            Cause::Storage | Cause::KnowledgeStorage | Cause::ToolStorage => {
                let (house, places) = &mut self.full;
                let token = token(house, places, route);
                let sent = valid(route.id, house, places)?;
                let target = format!("{}{}", places.path(route.paths[0]), sent.query);
                sent.with(house.call(route.method, &target).token(&token)).send()
            }
            Cause::KeyRunning => keys::running(route)?,
            Cause::KeySpent => keys::spent(route)?,
            Cause::Deleted => keys::deleted(route)?,
            _ => return None,
        };
        Some((got, says(cause)))
    }

    /// Sends a request while the host is out of some kind of room.
    fn strained(&mut self, route: &Route, room: fn(&mut House) -> &mut bool) -> Got {
        *room(&mut self.house) = true;
        let got = self.ask(route).send();
        *room(&mut self.house) = false;
        got
    }

    /// Sends a request in which every body member and query parameter has a wrong type.
    fn wrong(&mut self, route: &Route) -> Got {
        let names = |table: &Table| table.columns.iter().map(|column| format!("{}=*", column.name)).collect::<Vec<_>>();
        let query = route.query.map(|table| names(table).join("&")).unwrap_or_default();
        let target = format!("{}?{query}", self.places.path(route.paths[0]));
        let call = self.ask_at(route, &target);
        match route.body {
            BodyKind::None => call,
            BodyKind::Json(table, _) | BodyKind::Document(table) => call.json(&of_another_type(table)),
            BodyKind::Object(media, _) | BodyKind::File(media, _) => {
                call.header("content-type", media[0]).body(b"phone_number\n".to_vec())
            }
        }
        .send()
    }
}

fn of_another_type(table: &Table) -> Value {
    let wrong = |kind: &ColumnType| match kind {
        ColumnType::Variables | ColumnType::Object { .. } | ColumnType::Record(_) | ColumnType::Any => json!("text"),
        _ => json!({ "no": 1 }),
    };
    table.columns.iter().map(|column| (column.name.to_owned(), wrong(&column.spec.kind))).collect()
}

/// Returns words that distinguish a refusal from others with the same status.
fn says(cause: Cause) -> &'static str {
    match cause {
        Cause::Suspended => "suspended",
        Cause::ReadOnly => "read-only",
        Cause::NoRoute => "Not found.",
        Cause::Storage | Cause::KnowledgeStorage | Cause::ToolStorage => "plan limit of stored data",
        Cause::DiskFull => "disk",
        Cause::NoObject => "must be a JSON object",
        Cause::Key => "Idempotency-Key header must be",
        Cause::KeyRunning => "still running",
        Cause::KeySpent => "showed a token",
        Cause::Deleted => "was deleted",
        _ => "",
    }
}

fn token(house: &House, places: &Places, route: &Route) -> String {
    match route.who {
        Who::Operator => house.operator.clone(),
        Who::Engine => places.engine.clone(),
        Who::User | Who::Visitor | Who::Anyone => house.key.clone(),
    }
}

/// Returns a house with one resource of each kind.
pub fn filled(mut house: House) -> (House, Places) {
    let key = house.key.clone();
    let places = Places::of(&mut house, &key);
    (house, places)
}

/// Returns a house whose account has stored all that its plan allows, to the byte.
fn full() -> (House, Places) {
    let (mut house, places) = filled(House::default());
    // A finished delivery: sending it again takes room.
    house.outside(|_| Ok(HttpIn { status: 200, ..HttpIn::default() }));
    house.tick();
    sender(&mut house);
    let operator = house.operator.clone();
    let prompt = |bytes: usize| json!({ "system_prompt": "x".repeat(bytes) });
    house.make("/user/assistant", &with(assistant(), &prompt(900_000)));
    let filler = house.make("/user/assistant", &assistant());
    let plan = json!({ "storage_bytes": 1_048_576 });
    house.put("/admin/plans/standard", &plan).token(&operator).send().expect(200);
    let (mut bytes, mut more) = (0, 100_000);
    while more > 0 {
        match house.put(&format!("/user/assistant/{filler}"), &prompt(bytes + more)).send().status {
            200 => bytes += more,
            _ => more /= 2,
        }
    }
    (house, places)
}
