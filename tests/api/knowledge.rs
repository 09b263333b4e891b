//! Knowledgebases and their documents.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{Got, House, assistant, with};

const BASES: &str = "/user/knowledgebases";
const MISSING: &str = "Knowledgebase not found.";
const NO_DOCUMENT: &str = "Document not found.";

fn house() -> (House, u64) {
    let mut house = House::default();
    let id = house.make(BASES, &json!({ "name": "Hours", "description": "When we open" }));
    (house, id)
}

fn site() -> Value {
    json!({ "name": "Site", "type": "website", "url": "https://a.example" })
}

/// Uploads a form with these fields, with a file or without one.
fn upload(house: &mut House, base: u64, fields: &[(&str, &str)], file: Option<&[u8]>) -> Got {
    let mut body = Vec::new();
    for (name, value) in fields {
        body.extend(format!("--xx\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").bytes());
    }
    if let Some(file) = file {
        body.extend(b"--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n");
        body.extend(file);
        body.extend(b"\r\n");
    }
    body.extend(b"--xx--\r\n");
    let call = house.call(Method::Post, &format!("{BASES}/{base}/documents"));
    call.header("content-type", "multipart/form-data; boundary=xx").body(body).send()
}

#[test]
fn one_is_created_empty_and_shown() {
    let mut house = House::default();
    assert_eq!(house.get(BASES).expect(200).json, json!({ "data": [] }));
    let got = house.post(BASES, &json!({ "name": "Hours", "description": "When we open" })).send().expect(201);
    let at = house.now.iso();
    let want = json!({
        "id": got.id(), "name": "Hours", "description": "When we open", "status": "empty", "status_label": "Empty",
        "documents_count": 0, "assistants_count": 0, "created_at": at, "updated_at": at,
    });
    assert_eq!(got.json, json!({ "message": "Knowledgebase created successfully.", "data": want }));
    assert_eq!(house.get(&format!("{BASES}/{}", got.id())).expect(200).json, json!({ "data": want }));
    assert_eq!(house.get(BASES).json, json!({ "data": [want] }));
}

#[test]
fn what_it_must_keep_to() {
    let (mut house, id) = house();
    house.post(BASES, &json!({})).send().wrong(&["name"]);
    for field in ["name", "description"] {
        let body = with(json!({ "name": "x" }), &json!({ field: "x".repeat(256) }));
        let got = house.post(BASES, &body).send();
        got.wrong(&[field]);
        assert_eq!(got.json["message"], got.json["errors"][field][0]);
        house.put(&format!("{BASES}/{id}"), &body).send().wrong(&[field]);
    }
    house.put(&format!("{BASES}/{id}"), &json!({ "name": null })).send().wrong(&["name"]);
}

#[test]
fn it_is_renamed_and_its_description_cleared() {
    let (mut house, id) = house();
    let path = format!("{BASES}/{id}");
    house.now = house.now.plus_seconds(5);
    let got = house.put(&path, &json!({ "name": "Times" })).send().expect(200);
    assert_eq!(got.json["message"], "Knowledgebase updated successfully.");
    assert_eq!(got.json["data"], house.get(&path).json["data"]);
    assert_eq!(
        (&got.json["data"]["name"], &got.json["data"]["description"]),
        (&json!("Times"), &json!("When we open"))
    );
    assert_eq!(got.json["data"]["updated_at"], house.now.iso());
    house.put(&path, &json!({ "description": null })).send().expect(200);
    assert_eq!(house.get(&path).json["data"]["description"], Value::Null);
    house.put(&format!("{BASES}/9"), &json!({})).send().error(404, MISSING);
}

#[test]
fn a_website_is_a_document_to_be_processed() {
    let (mut house, base) = house();
    let path = format!("{BASES}/{base}/documents");
    assert_eq!(house.get(&path).expect(200).json, json!({ "data": [] }));
    let got = house.post(&path, &site()).send().expect(201);
    let at = house.now.iso();
    let want = json!({
        "id": got.id(), "name": "Site", "description": null, "type": "website", "type_label": "Website",
        "status": "processing", "status_label": "Processing", "failure_reason": null, "progress": { "done": 0, "total": 1 }, "created_at": at,
        "updated_at": at,
    });
    let says = "Document created successfully. Processing will begin shortly.";
    assert_eq!(got.json, json!({ "message": says, "data": want }));
    assert_eq!(house.get(&format!("{path}/{}", got.id())).expect(200).json, json!({ "data": want }));
    assert_eq!(house.get(&path).json, json!({ "data": [want] }));
    let shown = house.get(&format!("{BASES}/{base}")).json["data"].clone();
    assert_eq!((&shown["status"], &shown["documents_count"]), (&json!("processing"), &json!(1)));
    assert_eq!(shown["status_label"], "Processing");
    let links = json!({ "url": null, "links": [{ "link": "https://a.example/1" }], "relative_links_limit": 50 });
    let links = house.post(&path, &with(site(), &links)).send().expect(201);
    assert_eq!(links.json["data"]["progress"], json!({ "done": 0, "total": 1 }));
}

#[test]
fn a_file_is_a_document_of_its_type() {
    let (mut house, base) = house();
    for (kind, label) in [("pdf", "PDF"), ("txt", "TXT"), ("docx", "DOCX")] {
        let fields = [("name", "Prices"), ("description", "All"), ("type", kind)];
        let got = upload(&mut house, base, &fields, Some(b"Bread 2.50")).expect(201);
        let data = &got.json["data"];
        let shown = json!([data["name"], data["description"], data["type_label"], data["status"]]);
        assert_eq!(shown, json!(["Prices", "All", label, "processing"]));
    }
    let large = vec![b'x'; 3 << 20];
    upload(&mut house, base, &[("name", "Large"), ("type", "txt")], Some(&large)).expect(201);
    assert_eq!(house.get(&format!("{BASES}/{base}")).json["data"]["documents_count"], 4);
}

#[test]
fn what_a_document_must_keep_to() {
    let (mut house, base) = house();
    let path = format!("{BASES}/{base}/documents");
    let cases = [
        (json!({ "name": null }), "name"),
        (json!({ "name": "x".repeat(256) }), "name"),
        (json!({ "type": "html" }), "type"),
        (json!({ "url": null }), "url"),
        (json!({ "url": "a.example" }), "url"),
        (json!({ "links": [{ "link": "x" }] }), "links.0.link"),
        (json!({ "relative_links_limit": 0 }), "relative_links_limit"),
        (json!({ "relative_links_limit": 51 }), "relative_links_limit"),
        (json!({ "type": "pdf" }), "file"),
    ];
    for (changes, field) in cases {
        house.post(&path, &with(site(), &changes)).send().wrong(&[field]);
    }
    for file in [None, Some(&b""[..])] {
        let got = upload(&mut house, base, &[("name", "Prices"), ("type", "txt")], file);
        got.wrong(&["file"]);
        assert_eq!(got.json["errors"]["file"], json!(["A file is required for this document type."]));
    }
    let huge = vec![b'x'; 20_000_001];
    upload(&mut house, base, &[("name", "Huge"), ("type", "txt")], Some(&huge)).wrong(&["file"]);
    let torn = house.call(Method::Post, &path).header("content-type", "multipart/form-data; boundary=xx");
    torn.body(b"--xx\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nPri".to_vec()).send().expect(400);
    house.post(&format!("{BASES}/9/documents"), &site()).send().error(404, MISSING);
    assert_eq!(house.get(&path).json, json!({ "data": [] }));
}

#[test]
fn a_document_is_renamed_and_deleted_within_its_base() {
    let (mut house, base) = house();
    let other = house.make(BASES, &json!({ "name": "Other" }));
    let id = house.make(&format!("{BASES}/{base}/documents"), &site());
    let path = format!("{BASES}/{base}/documents/{id}");
    let change = json!({ "name": "Page", "description": "Ours", "type": "pdf", "url": "x" });
    let got = house.put(&path, &change).send().expect(200);
    assert_eq!(got.json["message"], "Document updated successfully.");
    assert_eq!(got.json["data"], house.get(&path).json["data"]);
    assert_eq!((&got.json["data"]["name"], &got.json["data"]["type"]), (&json!("Page"), &json!("website")));
    house.put(&path, &json!({ "name": "" })).send().wrong(&["name"]);
    let elsewhere = format!("{BASES}/{other}/documents/{id}");
    house.get(&elsewhere).error(404, NO_DOCUMENT);
    house.put(&elsewhere, &json!({})).send().error(404, NO_DOCUMENT);
    house.delete(&elsewhere).error(404, NO_DOCUMENT);
    house.get(&format!("{BASES}/9/documents/{id}")).error(404, MISSING);
    house.delete(&path).message(200, "Document deleted successfully.");
    house.get(&path).error(404, NO_DOCUMENT);
    let shown = house.get(&format!("{BASES}/{base}")).json["data"].clone();
    assert_eq!((&shown["status"], &shown["documents_count"]), (&json!("empty"), &json!(0)));
}

#[test]
fn a_deleted_base_takes_its_documents_and_leaves_its_assistants() {
    let (mut house, base) = house();
    upload(&mut house, base, &[("name", "Prices"), ("type", "txt")], Some(b"a secret recipe")).expect(201);
    let holder = house.make("/user/assistant", &with(assistant(), &json!({ "knowledgebase_id": base })));
    let path = format!("{BASES}/{base}");
    assert_eq!(house.get(&path).json["data"]["assistants_count"], 1);
    house.delete(&path).message(200, "Knowledgebase deleted successfully.");
    assert_eq!(house.get(&format!("/user/assistant/{holder}")).json["knowledgebase_id"], Value::Null);
    house.get(&path).error(404, MISSING);
    house.get(&format!("{path}/documents")).error(404, MISSING);
    assert_eq!(house.tick(), None);
    let left = house.store.rows().values().any(|row| row.windows(8).any(|part| part == b"a secret"));
    assert!(!left, "what was uploaded is gone");
}

#[test]
fn a_plan_allows_so_many() {
    let (mut house, _) = house();
    let operator = house.operator.clone();
    house.post("/admin/plans", &json!({ "name": "one", "knowledgebases": 1 })).token(&operator).send().expect(201);
    house.put("/admin/accounts/1", &json!({ "plan": "one" })).token(&operator).send().expect(200);
    assert!(house.post(BASES, &json!({ "name": "More" })).send().expect(403).json["message"].is_string());
}
