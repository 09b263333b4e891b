//! A deleted resource is detached from large assistants a few at a time: others get their turn, nobody sees an
//! assistant that refers to a deleted resource, and a client that does not come back leaves nothing half done.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::outside::Answer;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::store::Change;
use switchboard_core::verify::verify;
use switchboard_tests::house::{House, assistant, tool, trunk, with};

/// Assistants of nearly a megabyte each; a step can change one of them.
const HOLDERS: usize = 3;

/// Path that creates a resource, its body, and the member by which an assistant refers to its id.
type Case = (&'static str, Value, fn(u64) -> Value);

fn cases() -> [Case; 3] {
    [
        ("/user/tools", tool("look"), |id| json!({ "tool_ids": [id] })),
        ("/user/knowledgebases", json!({ "name": "Hours" }), |id| json!({ "knowledgebase_id": id })),
        ("/user/phone-numbers/sip-trunks", trunk("+40700000009"), |id| json!({ "phone_number_id": id })),
    ]
}

/// A house with a resource, its path, and the assistants that refer to it.
struct Held {
    house: House,
    path: String,
    without: Value,
    with: Value,
    holders: Vec<u64>,
}

impl Held {
    fn of((target, body, held): Case) -> Self {
        let mut house = House::default();
        let id = house.make(target, &body);
        let large = with(assistant(), &json!({ "system_prompt": "x".repeat(900_000) }));
        let holder = |_| house.make("/user/assistant", &with(large.clone(), &held(id)));
        let holders = (0..HOLDERS).map(holder).collect();
        let path = if target.contains("sip-trunks") { "/user/phone-numbers" } else { target };
        let with = held(id);
        let without = if target == "/user/tools" { json!([]) } else { Value::Null };
        Self { house, path: format!("{path}/{id}"), without, with, holders }
    }

    /// Returns how many assistants still refer to it; all others must have nothing in its place.
    fn holding(&mut self) -> usize {
        let (name, value) = self.with.as_object().and_then(|members| members.iter().next()).expect("one member");
        let mut is_held = |holder: &u64| {
            let shown = self.house.get(&format!("/user/assistant/{holder}")).json[name].clone();
            assert!(shown == *value || shown == self.without, "{shown}");
            shown == *value
        };
        self.holders.clone().iter().filter(|holder| is_held(holder)).count()
    }

    fn is_there(&mut self) -> bool {
        let path = self.path.clone();
        let path = if path.contains("phone-numbers") { "/user/phone-numbers/all" } else { &path };
        let got = self.house.get(path);
        got.status == 200 && got.json["data"] != json!([])
    }

    /// Runs one step of the deletion; `None` once it has answered.
    fn step(&mut self, answers: &mut Vec<Answer>) -> Option<()> {
        let request = self.house.call(Method::Delete, &self.path).request();
        let seed = self.house.seed();
        let output = self.house.step(&Input::Http(&request, answers), seed);
        let bytes = |change: &Change| if let Change::Put(at, value) = change { at.len() + value.len() } else { 0 };
        let changed: usize = output.changes.iter().map(bytes).sum();
        assert!(changed < (1 << 20) + (64 << 10), "a step changes {changed} bytes");
        match output.outcome {
            Outcome::Yield => {
                answers.push(Answer::Yielded);
                Some(())
            }
            Outcome::Reply(reply) => {
                assert_eq!(reply.status, 200);
                None
            }
            other => panic!("{other:?}"),
        }
    }

    fn is_gone(&mut self) {
        assert_eq!((self.holding(), self.is_there()), (0, false), "{}", self.path);
        assert_eq!(self.house.delete(&self.path.clone()).status, 404);
        assert_eq!(verify(&self.house.store).expect("it reads").faults, [""; 0]);
    }
}

#[test]
fn a_deletion_goes_in_steps_and_leaves_no_dangling_reference() {
    for case in cases() {
        let mut held = Held::of(case);
        let (mut answers, mut steps) = (Vec::new(), 1);
        while held.step(&mut answers).is_some() {
            let left = held.holding();
            assert!(left > 0 && left < HOLDERS && held.is_there(), "{left} have {}", held.path);
            steps += 1;
        }
        assert_eq!(steps, 3, "{}", held.path);
        held.is_gone();
        assert_eq!(held.house.tick(), None, "nothing is left to do");
    }
}

#[test]
fn a_deletion_whose_request_is_lost_is_taken_up() {
    for case in cases() {
        let mut held = Held::of(case);
        held.step(&mut Vec::new()).expect("more than a step");
        held.house.tick();
        assert!(held.is_there(), "the request may come back");
        held.house.now = held.house.now.plus_seconds(60);
        held.house.tick();
        held.is_gone();
    }
}

#[test]
fn a_job_that_was_quicker_is_no_failure() {
    for case in cases() {
        let mut held = Held::of(case);
        let mut answers = Vec::new();
        held.step(&mut answers).expect("more than a step");
        held.house.now = held.house.now.plus_seconds(60);
        held.house.tick();
        assert_eq!(held.step(&mut answers), None);
        held.is_gone();
    }
}
