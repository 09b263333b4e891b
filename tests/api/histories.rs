//! Random histories over two accounts against a plain model: lists, filters, pages and reads agree, and the store is
//! sound after each.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::time::Timestamp;
use switchboard_core::verify::verify;
use switchboard_tests::drawn::for_all;
use switchboard_tests::house::{House, assistant, campaign, lead, tool, with};

/// Number of histories, and actions in each.
const HISTORIES: u32 = 60;
const ACTIONS: usize = 30;

/// One action of a history; an index picks one of the resources that exist.
#[derive(Clone, Debug)]
enum Action {
    Assistant { inbound: bool, tools: Vec<Index> },
    Tool(u8),
    Campaign(Index),
    Lead { campaign: Index, phone: u8, contacts: u8, duplicate: bool },
    Call { assistant: Index, phone: u8 },
    Rename(Kind, Index),
    Turn(Index),
    Advance { lead: Index, status: usize, campaign: Option<Index> },
    Delete(Kind, Index),
    Wait(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Assistant,
    Tool,
    Campaign,
    Lead,
}

const STATUSES: [&str; 3] = ["created", "completed", "reached-max-retries"];

fn action() -> impl Strategy<Value = Action> {
    let kind = prop::sample::select(vec![Kind::Assistant, Kind::Tool, Kind::Campaign, Kind::Lead]);
    let index = any::<Index>;
    prop_oneof![
        3 => (any::<bool>(), prop::collection::vec(index(), 0..3)).prop_map(|(inbound, tools)| Action::Assistant { inbound, tools }),
        2 => (0..6_u8).prop_map(Action::Tool),
        2 => index().prop_map(Action::Campaign),
        5 => (index(), 0..12_u8, 0..3_u8, any::<bool>())
            .prop_map(|(campaign, phone, contacts, duplicate)| Action::Lead { campaign, phone, contacts, duplicate }),
        3 => (index(), 0..4_u8).prop_map(|(assistant, phone)| Action::Call { assistant, phone }),
        2 => (kind.clone(), index()).prop_map(|(kind, at)| Action::Rename(kind, at)),
        1 => index().prop_map(Action::Turn),
        3 => (index(), 0..STATUSES.len(), prop::option::of(index()))
            .prop_map(|(lead, status, campaign)| Action::Advance { lead, status, campaign }),
        3 => (kind, index()).prop_map(|(kind, at)| Action::Delete(kind, at)),
        1 => (0..100_000_u64).prop_map(Action::Wait),
    ]
}

/// Expected contents of one account: each resource as it is read, by id; leads with their contacts' numbers.
#[derive(Default)]
struct Model {
    rows: BTreeMap<Kind, BTreeMap<u64, Value>>,
    calls: BTreeMap<u64, Value>,
}

impl Model {
    fn of(&mut self, kind: Kind) -> &mut BTreeMap<u64, Value> {
        self.rows.entry(kind).or_default()
    }

    fn pick(&mut self, kind: Kind, at: Index) -> Option<u64> {
        let rows = self.of(kind);
        (!rows.is_empty()).then(|| *rows.keys().nth(at.index(rows.len())).expect("an id"))
    }

    /// Whether a number is in a campaign already, by a lead other than `but` or by any contact.
    fn has(&mut self, campaign: u64, phone: &str, but: u64) -> bool {
        let contacts = |lead: &Value| lead["secondary_contacts"].as_array().cloned().unwrap_or_default();
        self.of(Kind::Lead).iter().filter(|(_, lead)| lead["campaign_id"] == campaign).any(|(id, lead)| {
            *id != but && lead["phone_number"] == phone || contacts(lead).iter().any(|one| one["phone_number"] == phone)
        })
    }
}

fn path(kind: Kind, id: u64) -> String {
    let start = match kind {
        Kind::Assistant => "assistants",
        Kind::Tool => "tools",
        Kind::Campaign => "campaigns",
        Kind::Lead => "leads",
    };
    format!("/user/{start}/{id}")
}

/// One account of a house with its model.
struct Account<'h> {
    house: &'h mut House,
    token: &'h str,
    model: &'h mut Model,
}

impl Account<'_> {
    fn get(&mut self, path: &str) -> Value {
        self.house.call(Method::Get, path).token(self.token).send().expect(200).json
    }

    /// Creates a resource and enters it in the model as it is read.
    fn make(&mut self, kind: Kind, target: &str, body: &Value) {
        let got = self.house.post(target, body).token(self.token).send();
        assert!(matches!(got.status, 200 | 201), "{}", got.json);
        self.refresh(kind, got.id());
    }

    fn refresh(&mut self, kind: Kind, id: u64) {
        let row = self.get(&path(kind, id));
        self.model.of(kind).insert(id, row);
    }

    fn put(&mut self, kind: Kind, id: u64, body: &Value) {
        self.house.put(&path(kind, id), body).token(self.token).send().expect(200);
        let before = self.model.of(kind).get(&id).cloned().expect("a row");
        self.refresh(kind, id);
        let after = &self.model.of(kind)[&id];
        for (name, value) in after.as_object().expect("an object") {
            let want = body.get(name).unwrap_or(&before[name]);
            let derived = ["updated_at", "campaign", "secondary_contacts", "leads"].contains(&name.as_str());
            assert!(value == want || derived, "{kind:?} {name}: {value} is not {want}");
        }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Assistant { inbound, tools } => self.assistant(*inbound, tools),
            Action::Tool(n) => {
                let name = ["ask", "look", "book", "call", "find", "tell"][usize::from(*n)];
                self.make(Kind::Tool, "/user/tools", &tool(name));
            }
            Action::Campaign(at) => {
                if let Some(id) = self.outbound(*at) {
                    self.make(Kind::Campaign, "/user/campaigns", &campaign(id));
                }
            }
            Action::Lead { campaign, phone, contacts, duplicate } => {
                self.lead(*campaign, *phone, *contacts, *duplicate);
            }
            Action::Call { assistant, phone } => self.call(*assistant, *phone),
            Action::Rename(Kind::Lead, at) => {
                if let Some(id) = self.model.pick(Kind::Lead, *at) {
                    self.put(Kind::Lead, id, &json!({}));
                }
            }
            Action::Rename(kind, at) => {
                if let Some(id) = self.model.pick(*kind, *at) {
                    // A tool's name must be unique, so its description is changed instead.
                    let name = if *kind == Kind::Tool { "description" } else { "name" };
                    self.put(*kind, id, &json!({ name: "Changed" }));
                    self.rename_in_leads(*kind, id);
                }
            }
            Action::Turn(at) => {
                if let Some(id) = self.model.pick(Kind::Assistant, *at) {
                    let inbound = self.model.of(Kind::Assistant)[&id]["type"] == "inbound";
                    self.put(Kind::Assistant, id, &json!({ "type": if inbound { "outbound" } else { "inbound" } }));
                }
            }
            Action::Advance { lead, status, campaign } => self.advance(*lead, STATUSES[*status], *campaign),
            Action::Delete(kind, at) => self.delete(*kind, *at),
            Action::Wait(seconds) => {
                self.house.now = self.house.now.plus_seconds(*seconds);
                self.house.tick();
            }
        }
    }

    fn outbound(&mut self, at: Index) -> Option<u64> {
        let id = self.model.pick(Kind::Assistant, at)?;
        (self.model.of(Kind::Assistant)[&id]["type"] == "outbound").then_some(id)
    }

    fn assistant(&mut self, inbound: bool, tools: &[Index]) {
        let mut ids: BTreeMap<String, u64> = BTreeMap::new();
        for at in tools {
            if let Some(id) = self.model.pick(Kind::Tool, *at) {
                ids.insert(self.model.of(Kind::Tool)[&id]["name"].to_string(), id);
            }
        }
        let kind = if inbound { "inbound" } else { "outbound" };
        let ids: Vec<u64> = ids.into_values().collect();
        let body = with(assistant(), &json!({ "type": kind, "tool_ids": ids }));
        self.make(Kind::Assistant, "/user/assistant", &body);
    }

    fn lead(&mut self, campaign: Index, phone: u8, contacts: u8, duplicate: bool) {
        let Some(campaign) = self.model.pick(Kind::Campaign, campaign) else { return };
        let number = format!("+407000000{phone:02}");
        let others: Vec<Value> =
            (0..contacts).map(|n| json!({ "phone_number": format!("+4071000{phone:02}{n:02}") })).collect();
        let mut taken =
            others.iter().map(|one| one["phone_number"].as_str().expect("a number")).chain([number.as_str()]);
        let taken = taken.any(|one| self.model.has(campaign, one, 0));
        let extra = json!({ "secondary_contacts": others, "allow_dupplicate": duplicate });
        let body = with(lead(campaign, &number), &extra);
        if taken && !duplicate {
            self.house.post("/user/leads", &body).token(self.token).send().expect(422);
        } else {
            self.make(Kind::Lead, "/user/leads", &body);
        }
    }

    fn call(&mut self, at: Index, phone: u8) {
        let Some(id) = self.model.pick(Kind::Assistant, at) else { return };
        let body = json!({ "phone_number": format!("+4079999990{phone}"), "assistant_id": id });
        let got = self.house.post("/user/make_call", &body).token(self.token).send().expect(200);
        let call = got.json["call_id"].as_u64().expect("an id");
        let row = self.get(&format!("/user/calls/{call}"));
        self.model.calls.insert(call, row);
    }

    /// Renames a campaign in the model's leads, which show its name.
    fn rename_in_leads(&mut self, kind: Kind, id: u64) {
        if kind == Kind::Campaign {
            for lead in self.model.of(Kind::Lead).values_mut().filter(|lead| lead["campaign_id"] == id) {
                lead["campaign"]["name"] = json!("Changed");
            }
        }
    }

    fn advance(&mut self, at: Index, status: &str, campaign: Option<Index>) {
        let Some(id) = self.model.pick(Kind::Lead, at) else { return };
        let mut body = json!({ "status": status });
        if let Some(campaign) = campaign.and_then(|at| self.model.pick(Kind::Campaign, at)) {
            let lead = self.model.of(Kind::Lead)[&id].clone();
            let contacts = lead["secondary_contacts"].as_array().expect("a list");
            let mut numbers = contacts.iter().chain([&lead]).map(|one| one["phone_number"].as_str().expect("a number"));
            if lead["campaign_id"] != campaign && numbers.any(|number| self.model.has(campaign, number, id)) {
                return;
            }
            body["campaign_id"] = json!(campaign);
        }
        self.put(Kind::Lead, id, &body);
    }

    fn delete(&mut self, kind: Kind, at: Index) {
        let Some(id) = self.model.pick(kind, at) else { return };
        self.house.call(Method::Delete, &path(kind, id)).token(self.token).send().expect(200);
        self.model.of(kind).remove(&id);
        if kind == Kind::Campaign {
            self.model.of(Kind::Lead).retain(|_, lead| lead["campaign_id"] != id);
        }
        if kind == Kind::Tool {
            let at = json!(self.house.now.iso());
            for row in self.model.of(Kind::Assistant).values_mut() {
                let ids = row["tool_ids"].as_array_mut().expect("a list");
                let before = ids.len();
                ids.retain(|tool| *tool != id);
                if ids.len() < before {
                    row["updated_at"] = at.clone();
                }
            }
        }
    }

    /// Enters in the model's campaigns how many leads they have in each state.
    fn count_leads(&mut self) {
        let leads: Vec<Value> = self.model.of(Kind::Lead).values().cloned().collect();
        for (id, row) in self.model.of(Kind::Campaign) {
            let own = leads.iter().filter(|lead| lead["campaign_id"] == *id);
            for (name, sum) in row["leads"].as_object_mut().expect("sums") {
                let counts = |lead: &&Value| name == "total" || lead["status"] == name.replace('_', "-");
                *sum = json!(own.clone().filter(counts).count());
            }
        }
    }

    fn agrees(&mut self) {
        self.count_leads();
        for kind in [Kind::Assistant, Kind::Tool, Kind::Campaign, Kind::Lead] {
            for (id, row) in self.model.of(kind).clone() {
                assert_eq!(self.get(&path(kind, id)), row, "{kind:?}");
            }
        }
        for (kind, list) in [(Kind::Assistant, "assistants"), (Kind::Tool, "tools"), (Kind::Campaign, "campaigns")] {
            let rows: Vec<Value> = self.model.of(kind).values().cloned().collect();
            assert_eq!(self.get(&format!("/user/{list}")), json!(rows), "{kind:?}");
        }
        let assistants: Vec<Value> = self.model.of(Kind::Assistant).values().cloned().collect();
        for kind in ["inbound", "outbound"] {
            self.pages("/user/assistants/get", &format!("type={kind}"), &assistants, |row| row["type"] == kind);
        }
        self.give_up_calls();
        let calls: Vec<Value> = self.model.calls.values().rev().cloned().collect();
        for status in ["initiated", "failed", "completed"] {
            self.pages("/user/calls", &format!("status={status}"), &calls, |row| row["status"] == status);
        }
        for phone in ["+40799999900", "+40799999903"] {
            let query = format!("phone_number={}&type=outbound", phone.replace('+', "%2B"));
            self.pages("/user/calls", &query, &calls, |row| row["client_phone_number"] == phone);
        }
        if let Some(id) = calls.first().map(|call| call["assistant_id"].clone()) {
            self.pages("/user/calls", &format!("assistant_id={id}"), &calls, |row| row["assistant_id"] == id);
        }
        let leads: Vec<Value> = self.model.of(Kind::Lead).values().rev().cloned().collect();
        for status in STATUSES {
            self.pages("/user/leads", &format!("status={status}"), &leads, |row| row["status"] == status);
        }
        for id in self.model.of(Kind::Campaign).keys().copied().collect::<Vec<_>>() {
            let query = format!("campaign_id={id}&status=created");
            self.pages("/user/leads", &query, &leads, |row| row["campaign_id"] == id && row["status"] == "created");
        }
        let part = |row: &Value| row["phone_number"].as_str().is_some_and(|phone| phone.contains("0001"));
        self.pages("/user/leads", "phone_number=0001", &leads, part);
        let day = |row: &Value| row["created_at"].as_str().expect("a time")[..10].to_owned();
        if let Some(last) = leads.last().map(day) {
            let query = format!("date_from={last}&date_to={last}");
            self.pages("/user/leads", &query, &leads, |row| day(row) == last);
        }
    }

    /// Applies to the model: a call that no engine has claimed for ten minutes fails; none was ever attached.
    fn give_up_calls(&mut self) {
        let deadline = Timestamp::from_seconds(self.house.now.seconds() - 600).sql();
        let old: Vec<u64> = self
            .model
            .calls
            .iter()
            .filter(|(_, row)| row["created_at"].as_str() <= Some(&*deadline))
            .map(|(id, _)| *id)
            .collect();
        for id in old {
            let updated_at = self.get(&format!("/user/calls/{id}"))["updated_at"].clone();
            let row = self.model.calls.get_mut(&id).expect("a call");
            (row["status"], row["updated_at"]) = (json!("failed"), updated_at);
            row["ended_reason"] = json!("no_engine");
        }
    }

    /// Checks that every page of a filtered list is a slice of the model's rows, and its total their number.
    fn pages(&mut self, list: &str, query: &str, rows: &[Value], fits: impl Fn(&Value) -> bool) {
        let rows: Vec<&Value> = rows.iter().filter(|row| fits(row)).collect();
        for (at, slice) in rows.chunks(3).chain([&[][..]]).enumerate() {
            let page = self.get(&format!("{list}?{query}&per_page=3&page={}", at + 1));
            assert_eq!((&page["data"], &page["total"]), (&json!(slice), &json!(rows.len())), "{list}?{query}");
        }
    }
}

fn run(history: &[(bool, Action)]) {
    let mut house = House::default();
    let tokens = [house.key.clone(), house.account("stranger@example.com")];
    let mut models = [Model::default(), Model::default()];
    for (second, action) in history {
        let at = usize::from(*second);
        Account { house: &mut house, token: &tokens[at], model: &mut models[at] }.act(action);
    }
    house.tick();
    for (token, model) in tokens.iter().zip(&mut models) {
        Account { house: &mut house, token, model }.agrees();
    }
    let report = verify(&house.store).expect("the store can be read");
    assert_eq!(report.faults, Vec::<String>::new());
}

#[test]
fn any_history_agrees_with_a_plain_model() {
    let histories = prop::collection::vec((any::<bool>(), action()), ACTIONS);
    for_all(HISTORIES, &histories, |history| {
        run(&history);
        Ok(())
    });
}
