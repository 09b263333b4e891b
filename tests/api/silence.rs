//! Types that hold secrets never show them in `Debug`, neither as text nor as a list of bytes.

use serde_json::{Value, json};
use switchboard_core::account::signing::SigningSecret;
use switchboard_core::admin::tables::NewAccount;
use switchboard_core::assistant::rows::tools;
use switchboard_core::assistant::tables::NewAssistant;
use switchboard_core::http::request::Method;
use switchboard_core::json;
use switchboard_core::key::{Kind, Space};
use switchboard_core::number::tables::NewTrunk;
use switchboard_core::record::{MemberSource, Record, check};
use switchboard_core::step::Input;
use switchboard_core::store::{Change, Tx};
use switchboard_core::tool::NewTool;
use switchboard_tests::house::{House, assistant, tool, trunk, with};

const MARKER: &str = "marker-of-a-secret-0123456789";

/// Returns the `Debug` output of a value, after checking that it shows no marker.
#[track_caller]
fn silent(shown: &dyn std::fmt::Debug) -> String {
    let text = format!("{shown:?} {shown:#?}");
    let bytes = format!("{:?}", MARKER.as_bytes());
    assert!(!text.contains(MARKER), "{text}");
    assert!(!text.contains(bytes.trim_matches(['[', ']'])), "{text}");
    text
}

/// Returns the record that a body is checked into.
fn of<R: Record>(body: &Value) -> R {
    let Ok(json::Value::Object(members)) = json::parse(body.to_string().as_bytes()) else { panic!("not an object") };
    check(R::TABLE, members, MemberSource::Body).finish().expect("a right body")
}

#[test]
fn debug_shows_no_secret() {
    let mut house = House::default();
    let tool = with(tool("probe"), &json!({ "headers": [{ "name": "x-key", "value": MARKER }] }));
    let calendar = json!([{ "type": "calendar_integration", "calendar_api_key": MARKER, "calendar_event_slug": "x" }]);
    let body = with(assistant(), &json!({ "tools": calendar }));
    assert!(silent(&of::<NewTool>(&tool)).contains("x-key"));
    assert!(silent(&of::<NewAssistant>(&body)).contains("CalendarIntegration"));

    let request = house.call(Method::Post, "/user/tools").token(MARKER).json(&tool).request();
    assert!(silent(&request).contains("authorization"));
    let trunk = with(trunk("+40712345678"), &json!({ "sip_password": MARKER }));
    assert!(silent(&of::<NewTrunk>(&trunk)).contains("+40712345678"));
    let account = json!({ "name": "Bo", "email": "a@b.example", "password": MARKER });
    assert!(silent(&of::<NewAccount>(&account)).contains("a@b.example"));
    let signing = json!({ "id": 7, "secret": MARKER, "created_at": "2026-01-31T14:05:09.000000Z" });
    assert!(silent(&of::<SigningSecret>(&signing)).contains("id: 7"));
    silent(&Input::Http(&request, &[]));
    house.make("/user/assistant", &body);
    let request = house.call(Method::Post, "/user/tools").json(&tool).request();
    let seed = house.seed();
    let output = house.step(&Input::Http(&request, &[]), seed);
    assert!(
        output.changes.iter().any(|change| matches!(change, Change::Put(_, value) if holds(value))),
        "it is stored"
    );
    assert!(silent(&output).contains("Put("));

    let tx = Tx::new(&house.store);
    let account = tx.scope(Space::Account(0));
    let row = account.find(Kind::Assistant, 1).expect("a sound store").expect("an assistant");
    assert!(holds(&row.private));
    silent(&row);
    silent(&tools(&row).expect("a sound store"));
}

fn holds(bytes: &[u8]) -> bool {
    bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
}
