//! Folders and labels, and the lists of assistants that are narrowed by them.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{House, assistant, with};

const TAKEN: &str = "The name has already been taken.";

fn ids(list: &Value) -> Vec<u64> {
    list.as_array().expect("a list").iter().map(|one| one["id"].as_u64().expect("an id")).collect()
}

#[test]
fn one_is_created_listed_changed_and_deleted() {
    for (path, plural, word) in [("/user/folder", "/user/folders", "Folder"), ("/user/label", "/user/labels", "Label")]
    {
        let mut house = House::default();
        let got = house.post(path, &json!({ "name": "Sales", "color": "teal" })).send().expect(201);
        let id = got.id();
        let shown = json!({ "id": id, "name": "Sales", "color": "teal", "assistants_count": 0 });
        assert_eq!(got.json, json!({ "message": format!("{word} created successfully"), "data": shown }));
        let second = house.post(plural, &json!({ "name": "Support" })).send().expect(201).id();
        let list = house.get(plural).expect(200).json;
        assert_eq!(json!([list["data"][0], list["total"], list["per_page"]]), json!([shown, 2, 15]));
        assert_eq!(list["data"][1]["color"], Value::Null);
        for name in ["sales", "SALES", "Sales"] {
            let got = house.post(path, &json!({ "name": name })).send();
            got.wrong(&["name"]);
            assert_eq!(got.json["message"], TAKEN);
        }
        let own = format!("{path}/{id}");
        house.put(&own, &json!({ "name": "support" })).send().wrong(&["name"]);
        house.put(&own, &json!({ "name": "SALES" })).send().expect(200);
        let got =
            house.call(Method::Patch, &format!("{plural}/{id}")).json(&json!({ "color": null })).send().expect(200);
        let shown = json!({ "id": id, "name": "SALES", "color": null, "assistants_count": 0 });
        assert_eq!(got.json, json!({ "message": format!("{word} updated successfully"), "data": shown }));
        house.delete(&own).message(200, &format!("{word} deleted successfully"));
        house.delete(&own).message(404, &format!("{word} not found"));
        house.post(path, &json!({ "name": "sales" })).send().expect(201);
        assert_eq!(ids(&house.get(plural).json["data"])[0], second);
    }
}

#[test]
fn what_is_wrong_is_named() {
    let mut house = House::default();
    let operator = house.operator.clone();
    house.post("/user/folder", &json!({})).send().wrong(&["name"]);
    let long = json!({ "name": "x".repeat(256), "color": "mauve" });
    house.post("/user/folder", &long).send().wrong(&["name", "color"]);
    house.post("/admin/plans", &json!({ "name": "one", "folders": 1 })).token(&operator).send().expect(201);
    house.put("/admin/accounts/1", &json!({ "plan": "one" })).token(&operator).send().expect(200);
    house.make("/user/folder", &json!({ "name": "Sales" }));
    assert!(house.post("/user/folder", &json!({ "name": "Support" })).send().expect(403).json["message"].is_string());
    house.make("/user/label", &json!({ "name": "Sales" }));
}

/// Returns a house with a folder, two labels and four assistants: three in the folder or with labels, and one in none.
fn filed() -> (House, [u64; 3], [u64; 4]) {
    let mut house = House::default();
    let folder = house.make("/user/folder", &json!({ "name": "Sales" }));
    let labels = ["Trial", "German"].map(|name| house.make("/user/label", &json!({ "name": name })));
    let assistants = [
        json!({ "name": "Anna", "folder_id": folder, "label_ids": labels }),
        json!({ "name": "Änne", "folder_id": folder, "label_ids": [labels[0]] }),
        json!({ "name": "Bob", "label_ids": [labels[1]], "type": "inbound" }),
        json!({ "name": "Joanna" }),
    ]
    .map(|changes| house.make("/user/assistant", &with(assistant(), &changes)));
    (house, [folder, labels[0], labels[1]], assistants)
}

#[test]
fn lists_of_assistants_are_narrowed() {
    let (mut house, [folder, trial, german], [anna, anne, bob, joanna]) = filed();
    house.put(&format!("/user/assistant/{bob}"), &json!({ "status": "active" })).send().expect(200);
    let cases: [(String, &[u64]); 12] = [
        (format!("folder_id={folder}"), &[anna, anne]),
        ("folder_id=0".into(), &[bob, joanna]),
        (format!("label_id={trial}"), &[anna, anne]),
        (format!("label_id={trial}&label_id={german}"), &[anna]),
        (format!("label_id={german}&folder_id=0"), &[bob]),
        (format!("folder_id={folder}&search=ANN"), &[anna]),
        ("search=ann".into(), &[anna, joanna]),
        ("search=%C3%A4".into(), &[anne]),
        ("status=active".into(), &[bob]),
        ("status=inactive&type=outbound".into(), &[anna, anne, joanna]),
        ("folder_id=99".into(), &[]),
        ("label_id=".into(), &[anna, anne, bob, joanna]),
    ];
    for (query, want) in cases {
        assert_eq!(ids(&house.get(&format!("/user/assistants?{query}")).expect(200).json), want, "{query}");
        let page = house.get(&format!("/user/assistants/get?{query}&per_page=1&page=2")).expect(200).json;
        assert_eq!(page["total"], want.len(), "{query}");
        assert_eq!(ids(&page["data"]), want.iter().skip(1).take(1).copied().collect::<Vec<_>>(), "{query}");
    }
    for (query, field) in [("status=on", "status"), ("folder_id=-1", "folder_id"), ("label_id=x", "label_id.0")] {
        house.get(&format!("/user/assistants?{query}")).wrong(&[field]);
    }
}

#[test]
fn a_list_reads_so_much_and_no_more_to_narrow_itself() {
    let mut house = House::default();
    let label = house.make("/user/label", &json!({ "name": "Few" }));
    let large = json!({ "system_prompt": "x".repeat(1_000_000) });
    for _ in 0..68 {
        house.make("/user/assistant", &with(assistant(), &large));
    }
    let few = house.make("/user/assistant", &with(assistant(), &json!({ "name": "Bea", "label_ids": [label] })));
    for (query, field) in [("search=bea", "search"), ("status=active", "status"), ("folder_id=0", "folder_id")] {
        house.get(&format!("/user/assistants?{query}")).wrong(&[field]);
        house.get(&format!("/user/assistants/get?{query}")).wrong(&[field]);
    }
    let narrowed = house.get(&format!("/user/assistants?search=bea&label_id={label}")).expect(200).json;
    assert_eq!(ids(&narrowed), [few]);
}

#[test]
fn their_assistants_are_counted_and_stay() {
    let (mut house, [folder, trial, german], [anna, anne, ..]) = filed();
    let counts = |house: &mut House, path: &str| -> Vec<u64> {
        let list = house.get(path).expect(200).json["data"].clone();
        list.as_array().expect("a list").iter().map(|one| one["assistants_count"].as_u64().expect("a count")).collect()
    };
    assert_eq!((counts(&mut house, "/user/folders"), counts(&mut house, "/user/labels")), (vec![2], vec![2, 2]));
    let path = format!("/user/assistant/{anna}");
    house.put(&path, &json!({ "folder_id": null, "label_ids": [] })).send().expect(200);
    assert_eq!((counts(&mut house, "/user/folders"), counts(&mut house, "/user/labels")), (vec![1], vec![1, 1]));
    house.delete(&format!("/user/folders/{folder}")).expect(200);
    house.delete(&format!("/user/label/{trial}")).expect(200);
    let shown = house.get(&format!("/user/assistant/{anne}")).json;
    assert_eq!(json!([shown["folder_id"], shown["label_ids"]]), json!([null, []]));
    assert_eq!((counts(&mut house, "/user/folders"), counts(&mut house, "/user/labels")), (vec![], vec![1]));
    house.put(&path, &json!({ "folder_id": folder })).send().wrong(&["folder_id"]);
    house.put(&path, &json!({ "label_ids": [german, trial] })).send().wrong(&["label_ids.1"]);
}

#[test]
fn those_of_another_account_are_not_there() {
    let (mut house, [folder, trial, _], _) = filed();
    let stranger = house.account("stranger@example.com");
    let body = with(assistant(), &json!({ "folder_id": folder, "label_ids": [trial] }));
    house.post("/user/assistant", &body).token(&stranger).send().wrong(&["folder_id", "label_ids.0"]);
    let path = format!("/user/folder/{folder}");
    house
        .call(Method::Put, &path)
        .token(&stranger)
        .json(&json!({ "name": "x" }))
        .send()
        .message(404, "Folder not found");
    house.post("/user/folder", &json!({ "name": "Sales" })).token(&stranger).send().expect(201);
    let list = house.call(Method::Get, "/user/folders").token(&stranger).send().expect(200).json;
    assert_eq!(list["total"], 1);
}
