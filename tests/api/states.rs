//! Every pair of state and event of every table (docs/api.md, States): the allowed transitions are the published ones.

use serde_json::{Value, json};
use switchboard_core::assistant::states::{self as assistant, AssistantEvent};
use switchboard_core::assistant::tables::Status;
use switchboard_core::knowledge::states::{self as knowledge, DocumentEvent};
use switchboard_core::knowledge::tables::DocumentStatus;
use switchboard_core::record::Choice;
use switchboard_core::state::States;
use switchboard_tests::house::House;

/// Returns the transitions of a table, as "from to".
fn moves<S: Choice + PartialEq, E: Copy + PartialEq>(table: &States<S, E>, events: &[E]) -> Vec<String> {
    let name = |state: S| S::WORDS[S::ALL.iter().position(|known| *known == state).expect("a state")];
    let pairs = S::ALL.iter().flat_map(|from| events.iter().map(move |event| (*from, *event)));
    pairs.filter_map(|(from, event)| Some(format!("{} {}", name(from), name(table.next(from, event)?)))).collect()
}

#[test]
fn assistants_and_documents_move_as_published() {
    let mut all = moves(&assistant::MOVES, &AssistantEvent::ALL);
    all.sort();
    assert_eq!(all, ["active inactive", "inactive active", "inactive active"]);
    assert_eq!(moves(&knowledge::MOVES, &DocumentEvent::ALL), ["processing active", "processing failed"]);
    assert_eq!(
        Status::ALL.len() * AssistantEvent::ALL.len() + DocumentStatus::ALL.len() * DocumentEvent::ALL.len(),
        12
    );
}

#[test]
fn an_assistant_that_is_asked_to_be_what_it_is_stays_so() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &switchboard_tests::house::assistant());
    let path = format!("/user/assistant/{id}");
    for (asked, want) in
        [("inactive", "inactive"), ("active", "active"), ("active", "active"), ("inactive", "inactive")]
    {
        house.put(&path, &json!({ "status": asked })).send().expect(200);
        assert_eq!(house.get(&path).json["status"], want);
    }
    house.put(&path, &json!({ "status": "gone" })).send().wrong(&["status"]);
    house.put(&path, &json!({ "status": Value::Null })).send().wrong(&["status"]);
}
