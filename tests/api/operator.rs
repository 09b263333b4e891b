//! The operator's API (docs/api.md, Operator): accounts, plans, engine tokens and caller ids.

use serde_json::{Value, json};
use switchboard_core::http::request::{Door, Method};
use switchboard_core::setup::Config;
use switchboard_tests::house::{Got, House};

fn ask(house: &mut House, method: Method, path: &str, body: &Value) -> Got {
    let operator = house.operator.clone();
    house.call(method, path).json(body).token(&operator).send()
}

fn post(house: &mut House, path: &str, body: &Value) -> Got {
    ask(house, Method::Post, path, body)
}

fn put(house: &mut House, path: &str, body: &Value) -> Got {
    ask(house, Method::Put, path, body)
}

fn get(house: &mut House, path: &str) -> Got {
    ask(house, Method::Get, path, &json!({}))
}

#[test]
fn an_account_is_made_with_a_key_and_a_password_shown_once() {
    let mut house = House::default();
    let got = post(&mut house, "/admin/accounts", &json!({ "email": "New@Example.com" })).expect(201);
    assert_eq!(got.header("cache-control"), Some("no-store"));
    let names: Vec<_> = got.json.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(names, ["api_key", "email", "id", "name", "password", "plan"]);
    assert_eq!(
        (&got.json["id"], &got.json["email"], &got.json["plan"]),
        (&json!(2), &json!("new@example.com"), &json!("standard"))
    );
    let key = got.json["api_key"].as_str().expect("a key").to_owned();
    let me = house.call(Method::Get, "/user/me").token(&key).send().expect(200).json;
    let want = json!({
        "id": 2, "name": got.json["name"], "email": "new@example.com", "timezone": "Etc/UTC", "plan": "standard",
        "total_balance": me["total_balance"],
    });
    assert_eq!((&me, me["total_balance"].as_f64()), (&want, Some(0.0)));
    let login = json!({ "email": "new@example.com", "password": got.json["password"] });
    house.post("/user/login", &login).without("authorization").send().expect(200);
    let own =
        json!({ "email": "own@example.com", "password": "long enough", "name": "Own", "timezone": "Asia/Kolkata" });
    let got = post(&mut house, "/admin/accounts", &own).expect(201);
    assert_eq!((&got.json["password"], &got.json["name"]), (&Value::Null, &json!("Own")));
}

#[test]
fn what_an_account_must_keep_to() {
    let mut house = House::default();
    let cases = [
        (json!({}), "email"),
        (json!({ "email": "nobody" }), "email"),
        (json!({ "email": "OWNER@localhost" }), "email"),
        (json!({ "email": "a@b", "password": "short" }), "password"),
        (json!({ "email": "a@b", "timezone": "UTC" }), "timezone"),
        (json!({ "email": "a@b", "plan": "golden" }), "plan"),
    ];
    for (body, field) in cases {
        post(&mut house, "/admin/accounts", &body).wrong(&[field]);
    }
    for (body, field) in [
        (json!({ "name": null }), "name"),
        (json!({ "timezone": "UTC" }), "timezone"),
        (json!({ "plan": "golden" }), "plan"),
        (json!({ "balance": "much" }), "balance"),
        (json!({ "suspended": "maybe" }), "suspended"),
    ] {
        put(&mut house, "/admin/accounts/1", &body).wrong(&[field]);
    }
    for path in ["/admin/accounts/9", "/admin/accounts/0"] {
        get(&mut house, path).message(404, "Account not found.");
    }
    get(&mut house, "/admin/accounts/x").message(404, "Not found.");
}

#[test]
fn accounts_are_listed_and_changed() {
    let mut house = House::default();
    for n in 0..3 {
        house.account(&format!("a{n}@example.com"));
    }
    let page = get(&mut house, "/admin/accounts?per_page=2&page=2").expect(200).json;
    let ids: Vec<_> = page["data"].as_array().expect("rows").iter().map(|row| row["id"].clone()).collect();
    assert_eq!((ids, &page["total"]), (vec![json!(3), json!(4)], &json!(4)));
    let change = json!({ "name": "Ana", "timezone": "Europe/Bucharest", "balance": 12.5, "suspended": false });
    let got = put(&mut house, "/admin/accounts/3", &change).expect(200);
    let want = json!({
        "id": 3, "name": "Ana", "email": "a1@example.com", "timezone": "Europe/Bucharest", "plan": "standard",
        "balance": 12.5, "suspended": false, "status": "active", "created_at": house.now.iso(),
    });
    assert_eq!((got.json["message"].is_string(), &got.json["data"]), (true, &want));
    assert_eq!(get(&mut house, "/admin/accounts/3").json, want);
    put(&mut house, "/admin/accounts/3", &json!({ "name": "Bea" })).expect(200);
    assert_eq!(get(&mut house, "/admin/accounts/3").json["balance"], 12.5, "only what is supplied changes");
    put(&mut house, "/admin/accounts/3", &json!({ "suspended": true })).expect(200);
    assert_eq!(get(&mut house, "/admin/accounts/3").json["status"], "suspended");
    put(&mut house, "/admin/accounts/3", &json!({ "balance": null })).expect(200);
    assert_eq!(get(&mut house, "/admin/accounts/3").json["balance"], Value::Null, "unmetered");
}

#[test]
fn keys_of_an_account_are_made_and_deleted() {
    let mut house = House::default();
    house.account("a@example.com");
    let body = json!({ "name": "Rescue", "read_only": true });
    let got = post(&mut house, "/admin/accounts/2/api-keys", &body).expect(201);
    assert_eq!((got.header("cache-control"), &got.json["api_key"]["read_only"]), (Some("no-store"), &json!(true)));
    let key = got.json["api_key"]["token"].as_str().expect("a token").to_owned();
    assert_eq!(house.call(Method::Get, "/user/me").token(&key).send().expect(200).json["id"], 2);
    let path = format!("/admin/accounts/2/api-keys/{}", got.id());
    ask(&mut house, Method::Delete, &path.replace("/2/", "/1/"), &json!({})).expect(404);
    ask(&mut house, Method::Delete, &path, &json!({})).expect(200);
    house.call(Method::Get, "/user/me").token(&key).send().expect(401);
    let listed = get(&mut house, "/admin/accounts/2/api-keys").expect(200).json;
    assert_eq!(listed["api_keys"].as_array().map(Vec::len), Some(1), "{listed}");
    let first = post(&mut house, "/admin/accounts/2/api-keys", &json!({ "name": "First" })).expect(201);
    let first = first.json["api_key"]["token"].as_str().expect("a token").to_owned();
    let own = house.call(Method::Get, "/user/api-keys").token(&first).send().expect(200);
    let got = get(&mut house, "/admin/accounts/2/api-keys").expect(200);
    assert_eq!((&got.json, got.json.to_string().contains("sbk_")), (&own.json, false));
    get(&mut house, "/admin/accounts/9/api-keys").message(404, "Account not found.");
    post(&mut house, "/admin/accounts/9/api-keys", &body).message(404, "Account not found.");
    post(&mut house, "/admin/accounts/2/api-keys", &json!({})).wrong(&["name"]);
}

#[test]
fn the_standard_plan_and_others() {
    let mut house = House::default();
    let standard = json!({
        "name": "standard", "assistants": 1000, "tools": 1000, "knowledgebases": 1000, "campaigns": 1000,
        "numbers": 1000, "folders": 1000, "parallel_calls": 100, "storage_bytes": 10_737_418_240_u64,
        "conversations_daily": 10_000,
    });
    assert_eq!(get(&mut house, "/admin/plans").expect(200).json, json!({ "data": [standard] }));
    let got = post(&mut house, "/admin/plans", &json!({ "name": "small", "tools": 2 })).expect(201);
    assert_eq!((&got.json["data"]["tools"], &got.json["data"]["assistants"]), (&json!(2), &json!(1000)));
    assert!(got.json["message"].is_string());
    let got = put(&mut house, "/admin/plans/small", &json!({ "tools": 10_000, "name": "tiny" })).expect(200);
    assert_eq!((&got.json["data"]["tools"], &got.json["data"]["name"]), (&json!(10_000), &json!("small")));
    post(&mut house, "/admin/plans", &json!({ "name": "small" })).wrong(&["name"]);
    post(&mut house, "/admin/plans", &json!({ "name": "Sm all" })).wrong(&["name"]);
    for field in ["assistants", "tools", "knowledgebases", "campaigns", "numbers"] {
        for bad in [0, 10_001] {
            put(&mut house, "/admin/plans/small", &json!({ field: bad })).wrong(&[field]);
        }
    }
    put(&mut house, "/admin/plans/small", &json!({ "name": "Sm all" })).wrong(&["name"]);
    put(&mut house, "/admin/plans/none", &json!({})).message(404, "Plan not found.");
}

#[test]
fn an_engine_token_is_shown_once() {
    let mut house = House::default();
    let body = json!({ "name": "Voice", "account_ids": [1] });
    let got = post(&mut house, "/admin/engine-tokens", &body).expect(201);
    assert_eq!(got.header("cache-control"), Some("no-store"));
    let token = got.json["token"].as_str().expect("a token").to_owned();
    let kept = json!({ "id": got.id(), "name": "Voice", "account_ids": [1], "telephony": false, "created_at": house.now.iso() });
    assert_eq!(get(&mut house, "/admin/engine-tokens").expect(200).json, json!({ "data": [kept] }));
    assert!(!house.store.rows().values().any(|row| String::from_utf8_lossy(row).contains(&token)));
    for path in ["/user/me", "/admin/plans"] {
        house.call(Method::Get, path).token(&token).send().expect(401);
    }
    post(&mut house, "/admin/engine-tokens", &json!({ "name": "V", "account_ids": [1, 9] })).wrong(&["account_ids.1"]);
    let path = format!("/admin/engine-tokens/{}", got.id());
    assert!(ask(&mut house, Method::Delete, &path, &json!({})).expect(200).json["message"].is_string());
    ask(&mut house, Method::Delete, &path, &json!({})).expect(404);
    assert_eq!(get(&mut house, "/admin/engine-tokens").json, json!({ "data": [] }));
}

#[test]
fn the_operators_token_is_replaced_by_another() {
    let mut house = House::default();
    let got = post(&mut house, "/admin/operator-token/rotate", &json!({})).expect(201);
    assert_eq!(got.header("cache-control"), Some("no-store"));
    let names: Vec<&String> = got.json.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["token"]);
    get(&mut house, "/admin/plans").expect(401);
    got.json["token"].as_str().expect("a token").clone_into(&mut house.operator);
    assert!(house.operator.starts_with("sbo_"));
    get(&mut house, "/admin/plans").expect(200);
    let token = house.operator.clone();
    assert!(!house.store.rows().values().any(|row| String::from_utf8_lossy(row).contains(&token)));
}

#[test]
fn a_caller_id_may_be_verified_by_the_operator() {
    let mut house = House::default();
    let id = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" }));
    let path = format!("/admin/accounts/1/caller-ids/{id}");
    for verified in [false, true] {
        let got = put(&mut house, &path, &json!({ "verified": verified })).expect(200);
        assert_eq!(got.json["data"], house.get("/user/phone-numbers/all").json["data"][0]);
        assert_eq!(got.json["data"]["verified"], verified);
    }
    put(&mut house, &path, &json!({})).wrong(&["verified"]);
    put(&mut house, "/admin/accounts/1/caller-ids/99", &json!({ "verified": true })).expect(404);
}

#[test]
fn with_a_door_of_its_own_the_operators_api_is_unknown_at_the_public_one() {
    let mut house = House::with(Config { separate_admin: true, ..Config::default() });
    get(&mut house, "/admin/plans").message(404, "Not found.");
    let operator = house.operator.clone();
    let mut at_the_back = |path: &str| house.call(Method::Get, path).token(&operator).door(Door::Admin).send().status;
    assert_eq!(["/admin/plans", "/user/me", "/healthz"].map(&mut at_the_back), [200, 404, 200]);
}

#[test]
fn the_word_on_a_caller_id_is_required_as_the_document_says() {
    let mut house = House::default();
    let id = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+12122011890" }));
    let operator = house.operator.clone();
    house.put(&format!("/admin/accounts/1/caller-ids/{id}"), &json!({})).token(&operator).send().wrong(&["verified"]);
    let schemas = house.get("/openapi.json").json["components"]["schemas"].clone();
    assert_eq!(schemas["Verification"]["required"], json!(["verified"]));
}
