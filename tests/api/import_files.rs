//! The files of imports: bad ones, bad records in good ones, and drawn ones, whose imports equal as many creations.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::lead::tables::NewLead;
use switchboard_core::limits::IMPORT_RECORD_BYTES_MAX;
use switchboard_core::record::{Record, Ref};
use switchboard_tests::drawn::for_all;
use switchboard_tests::house::{lead, with};
use switchboard_tests::strategy;

use crate::imports::{CSV, LINES, counts, house, import, leads, send, wrong};

#[test]
fn a_file_that_cannot_be_read_is_refused_at_once() {
    let (mut house, _, target) = house();
    let before = house.store.rows().clone();
    let many = (0..100_000).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let hundred = (0..102).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let cases: [(&str, Vec<u8>, &str); 13] = [
        (CSV, Vec::new(), "The file is empty."),
        (LINES, Vec::new(), "The file is empty."),
        (CSV, b"\r\n\n\r".to_vec(), "The file is empty."),
        (CSV, b"\xef\xbb\xbf".to_vec(), "The file is empty."),
        (LINES, b"\xef\xbb\xbf \r\n\t\n".to_vec(), "The file is empty."),
        (CSV, b"phone,name\n+40700000001,Ana\n".to_vec(), "The file has no phone_number column."),
        (CSV, b"phone_number,a, a\n".to_vec(), "The file has more than one a column."),
        (CSV, b"phone_number,\"a\n+40700000001,b\n".to_vec(), "A quotation mark is not closed."),
        (CSV, [b"\xff\xfe".to_vec(), utf16("phone_number\n")].concat(), "The file is written in UTF-16"),
        (CSV, utf16("phone_number\n+40700000001"), "The file has no phone_number column."),
        (CSV, b"phone_number,a\0b\n".to_vec(), "control characters"),
        (CSV, many.into_bytes(), "The line is longer than 65536 bytes"),
        (CSV, format!("phone_number,{hundred}\n").into_bytes(), "more than 100 columns"),
    ];
    for (media, file, says) in cases {
        let got = send(&mut house, &target, media, &file);
        got.wrong(&["file"]);
        let told = got.json["errors"]["file"].to_string();
        assert!(told.contains(says), "{told} lacks {says}");
    }
    assert!(*house.store.rows() == before, "a refusal stores nothing");
    house.call(Method::Post, &target).send().wrong(&["file"]);
    let done = import(&mut house, &target, CSV, "phone_number,name\r\n");
    assert_eq!((counts(&done), &done["status"]), ([0, 0, 0], &json!("completed")), "a header alone is a file");
}

#[test]
fn a_bad_record_is_an_error_of_its_line() {
    let (mut house, _, target) = house();
    let long = "x".repeat(IMPORT_RECORD_BYTES_MAX);
    let wide = ",".repeat(60_000);
    let line = |text: &str| text.as_bytes().to_vec();
    let cases: [(Vec<u8>, &[&str]); 12] = [
        (line("0700000001,a"), &["phone_number"]),
        (line(",a"), &["phone_number"]),
        (line("+4070\0,a"), &["phone_number"]),
        (line("+40700000001,a,b"), &["line"]),
        (line(&format!("+40700000001,{wide}x")), &["line"]),
        (line(&format!("+40700000001,{wide}{wide}")), &["line"]),
        (line(&format!("+40700000001,{long}")), &["line"]),
        (line(&format!("+40700000001,\"{long}\n{long}\n\"")), &["line"]),
        (b"+40700000001,\xc3\xa9\xff".to_vec(), &["line"]),
        (line("\"+4070\"0000001,\"a\"\"b\"c"), &[]),
        (line("+40700000002,\0"), &[]),
        (line("\"+40700000003\",\"open\n"), &["line"]),
    ];
    let mut file = b"\xef\xbb\xbfphone_number,note\r\n".to_vec();
    let (mut at, mut want, mut good) = (2, Vec::new(), 0);
    for (record, fields) in &cases {
        file.extend_from_slice(record);
        file.extend_from_slice(b"\r\n");
        if fields.is_empty() {
            good += 1;
        } else {
            want.push((at, fields.iter().map(ToString::to_string).collect::<Vec<_>>()));
        }
        at += record.split(|byte| *byte == b'\n').count() as u64;
    }
    let done = import(&mut house, &target, CSV, file);
    assert_eq!(wrong(&done), want);
    assert_eq!(counts(&done), [good, 0, want.len() as u64]);
    let notes: Vec<Value> = leads(&mut house).iter().map(|lead| lead["variables"]["note"].clone()).collect();
    assert_eq!(notes, [json!("a\"bc"), json!("\0")]);
}

#[test]
fn a_bad_line_of_json_is_an_error_of_its_line() {
    let (mut house, campaign_id, target) = house();
    let deep = (0..20).fold(json!(1), |inner, _| json!({ "a": inner }));
    let deeper = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let contacts: Vec<Value> = (0..11).map(|n| json!({ "phone_number": format!("+407100000{n:02}") })).collect();
    let cases: [(String, &[&str]); 14] = [
        ("{".into(), &["line"]),
        ("[]".into(), &["line"]),
        ("null".into(), &["line"]),
        ("{\"phone_number\":\"+40700000001\",\"phone_number\":\"+40700000001\"}".into(), &["line"]),
        ("{\"phone_number\":\"+40700000001\"} {}".into(), &["line"]),
        ("{\"phone_number\":\"\0\"}".into(), &["line"]),
        (format!("{{\"phone_number\":\"+40700000001\",\"x\":{deeper}}}"), &["line"]),
        (format!("{{\"x\":\"{}\"}}", "y".repeat(IMPORT_RECORD_BYTES_MAX)), &["line"]),
        ("{}".into(), &["phone_number"]),
        ("{\"phone_number\":40700000001}".into(), &["phone_number"]),
        (json!({ "phone_number": "+40700000001", "variables": { "x": deep } }).to_string(), &["variables.x"]),
        (json!({ "phone_number": "+40700000001", "variables": { "email": 1 } }).to_string(), &["variables.email"]),
        (
            json!({ "phone_number": "1", "allow_dupplicate": "maybe", "secondary_contacts": [{}] }).to_string(),
            &["allow_dupplicate", "phone_number", "secondary_contacts.0.phone_number"],
        ),
        (
            json!({ "phone_number": "+40700000001", "secondary_contacts": contacts }).to_string(),
            &["secondary_contacts"],
        ),
    ];
    let file = cases.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>().join("\n");
    let bytes = [file.as_bytes(), b"\n{\"phone_number\":\"\xff\"}\n", &b"\n".repeat(300_000)].concat();
    let done = import(&mut house, &target, LINES, bytes);
    let mut want: Vec<(u64, Vec<String>)> =
        (1..).zip(&cases).map(|(at, (_, fields))| (at, fields.iter().map(ToString::to_string).collect())).collect();
    want.push((15, vec!["line".into()]));
    assert_eq!(wrong(&done), want);
    assert_eq!(counts(&done), [0, 0, 15]);
    // The errors are those of a single creation, apart from what a parameter of imports would change.
    for (at, (line, fields)) in cases.iter().enumerate().filter(|(_, (_, fields))| fields != &["line"]) {
        let body: Value = serde_json::from_str(line).expect("JSON");
        let got = house.post("/user/lead", &with(body, &json!({ "campaign_id": campaign_id }))).send();
        got.wrong(fields);
        let said = done["errors"][at]["errors"].to_string().replace("; national ones need a default_country.", ".");
        assert_eq!(said, got.json["errors"].to_string());
    }
    assert!(done["errors"][0]["errors"]["line"][0].as_str().expect("a sentence").contains("column 1"), "{done}");
}

/// Draws a line of JSON, good or bad; its number is often one of a few.
fn line() -> impl Strategy<Value = Value> {
    let phone = (0..12_u8).prop_map(|n| json!(format!("+407000000{n:02}")));
    let known = |_: Ref| vec![1];
    let drawn = strategy::body(NewLead::TABLE, &known);
    (drawn, phone, 0..4_u8, any::<bool>()).prop_map(|(mut body, phone, how, few)| {
        if few {
            body.insert("phone_number".into(), phone);
        }
        if how == 0 {
            body.insert("variables".into(), json!({ "email": 5, "x": null }));
        }
        body.remove("campaign_id");
        Value::Object(body)
    })
}

#[test]
fn an_import_is_as_many_creations() {
    for_all(60, &prop::collection::vec(line(), 0..40), |lines| {
        let (mut one, campaign_id, _) = house();
        let (mut other, _, target) = house();
        let (mut want, mut errors) = ([0; 3], Vec::new());
        for (at, line) in (1..).zip(&lines) {
            let got = one.post("/user/lead", &with(line.clone(), &json!({ "campaign_id": campaign_id }))).send();
            let says = got.json["errors"].to_string();
            let taken = says.contains("already used");
            want[if got.status == 200 {
                0
            } else if taken {
                1
            } else {
                2
            }] += 1;
            if got.status != 200 && !taken {
                errors.push(json!({ "line": at, "errors": got.json["errors"] }));
            }
        }
        let file = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        if file.is_empty() {
            send(&mut other, &target, LINES, file).wrong(&["file"]);
            return Ok(());
        }
        let done = import(&mut other, &target, LINES, file);
        prop_assert_eq!(counts(&done), want);
        prop_assert_eq!(&done["errors"], &json!(errors));
        prop_assert_eq!(leads(&mut other), leads(&mut one));
        Ok(())
    });
}

/// Returns a quoted CSV cell, which may contain anything.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[test]
fn an_import_of_cells_is_as_many_creations() {
    let row = (0..12_u8, prop::collection::vec("[a\",\r\n é=;]{0,6}", 2));
    for_all(60, &prop::collection::vec(row, 0..100), |rows| {
        let (mut one, campaign_id, _) = house();
        let (mut other, _, target) = house();
        let (mut want, mut records) = ([0; 3], vec![String::from("name,phone_number,\"a \"\"b\"\"\"")]);
        for (phone, cells) in &rows {
            let phone = format!("+407000000{phone:02}");
            let mut variables = json!({ "name": cells[0], "a_b": cells[1] });
            variables.as_object_mut().expect("an object").retain(|_, cell| *cell != "");
            let body = with(lead(campaign_id, &phone), &json!({ "variables": variables }));
            want[usize::from(one.post("/user/lead", &body).send().status != 200)] += 1;
            records.push(format!("{},{phone},{}", quoted(&cells[0]), quoted(&cells[1])));
        }
        let done = import(&mut other, &target, CSV, records.join("\r\n"));
        prop_assert_eq!(counts(&done), want);
        prop_assert_eq!(leads(&mut other), leads(&mut one));
        Ok(())
    });
}

/// Reads back the leads that a file made: number and variables, by number.
fn made(house: &mut switchboard_tests::house::House) -> Vec<(Value, Value)> {
    let mut found: Vec<(Value, Value)> =
        leads(house).iter().map(|lead| (lead["phone_number"].clone(), lead["variables"].clone())).collect();
    found.sort_by_key(|(number, _)| number.to_string());
    found
}

#[test]
fn a_file_is_taken_as_spreadsheets_write_it() {
    let want = [
        (json!("+40700000001"), json!({ "First_name": "Zoë, \"Z\"", "Preis": "1,50" })),
        (json!("+40700000002"), json!({ "First_name": "Müller", "Preis": "2;5" })),
    ];
    let file = |separator: char| {
        let cells = [
            ["First name", "phone_number", "Preis"],
            ["\"Zoë, \"\"Z\"\"\"", "+40 (700) 000-001", "1,50"],
            ["Müller", "+40.700.000.002", "\"2;5\""],
        ];
        let line = |cells: &[&str; 3]| {
            let quoted = |cell: &&str| {
                if cell.contains(separator) && !cell.starts_with('"') {
                    format!("\"{cell}\"")
                } else {
                    (*cell).to_owned()
                }
            };
            cells.iter().map(quoted).collect::<Vec<_>>().join(&separator.to_string()) + "\r\n"
        };
        cells.iter().map(line).collect::<String>()
    };
    let latin1 = |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect::<Vec<u8>>();
    for separator in [',', ';', '\t'] {
        let text = file(separator);
        let marked = [b"\xef\xbb\xbf".to_vec(), text.clone().into_bytes()].concat();
        for bytes in [text.clone().into_bytes(), marked, latin1(&text)] {
            let (mut house, _, target) = house();
            let done = import(&mut house, &target, CSV, bytes);
            assert_eq!(counts(&done), [2, 0, 0], "{done}");
            assert_eq!(made(&mut house), want);
        }
    }
}

#[test]
fn a_separator_may_be_named() {
    let (mut house, _, target) = house();
    let file = "phone_number;a,b,c\n+40700000001;x,y,z\n";
    send(&mut house, &target, CSV, file).wrong(&["file"]);
    let done = import(&mut house, &format!("{target}&separator=%3B"), CSV, file);
    assert_eq!(counts(&done), [1, 0, 0]);
    assert_eq!(made(&mut house), [(json!("+40700000001"), json!({ "a_b_c": "x,y,z" }))]);
    send(&mut house, &format!("{target}&separator=%7C"), CSV, file).wrong(&["separator"]);
    send(&mut house, &format!("{target}&separator=tab"), LINES, "{}").wrong(&["separator"]);
}

#[test]
fn a_file_without_a_number_names_its_columns() {
    let (mut house, _, target) = house();
    let got = send(&mut house, &target, CSV, "Nume;Telefon\nAna;+40700000001\n");
    let says = "The file has no phone_number column. Its columns are: Nume, Telefon. If one of them holds the numbers, \
                say so with mapping=COLUMN:phone_number.";
    assert_eq!(got.json["errors"]["file"], json!([says]));
    let done = import(
        &mut house,
        &format!("{target}&mapping=Telefon:phone_number,Nume:name"),
        CSV,
        "Nume;Telefon\nAna;+40700000001\n",
    );
    assert_eq!(counts(&done), [1, 0, 0]);
    assert_eq!(made(&mut house), [(json!("+40700000001"), json!({ "name": "Ana" }))]);
}

#[test]
fn a_dry_run_shows_what_would_be_made_and_stores_nothing() {
    let (mut house, _, target) = house();
    let target = format!("{target}&dry_run=true&mapping=Tel:phone_number");
    let rows = (0..120).map(|n| {
        let number = if n % 50 == 3 { "?".to_owned() } else { format!("+4070000{n:04}") };
        format!("M\u{fc}ller;{number}")
    });
    let rows = rows.collect::<Vec<_>>().join("\n");
    let text = format!("Name;Tel\n{rows}");
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect();
    let before = house.store.rows().clone();
    let got = send(&mut house, &target, CSV, bytes).expect(200).json;
    let data = &got["data"];
    assert_eq!((&data["columns"], &data["separator"]), (&json!(["Name", "phone_number"]), &json!(";")));
    assert_eq!((&data["encoding"], data["rows"].as_array().expect("rows").len()), (&json!("latin-1"), 10));
    assert_eq!(data["rows"][0], json!(["Müller", "+40700000000"]));
    let lines: Vec<&Value> = data["errors"].as_array().expect("errors").iter().map(|error| &error["line"]).collect();
    assert_eq!(lines, [5, 55], "of the first 100 records");
    let lines = send(
        &mut house,
        &target.replace("&mapping=Tel:phone_number", ""),
        LINES,
        "{\"phone_number\":\"+40700000001\"}\nx\n",
    );
    let want = json!({
        "columns": [], "separator": null, "encoding": "utf-8", "rows": [["{\"phone_number\":\"+40700000001\"}"], ["x"]],
        "errors": [{ "line": 2, "errors": lines.json["data"]["errors"][0]["errors"] }],
    });
    assert_eq!(lines.expect(200).json, json!({ "data": want }));
    let numbers = send(&mut house, "/user/do-not-call/import?dry_run=1", CSV, "phone_number\n+40 700\n");
    assert_eq!(numbers.expect(200).json["data"]["rows"], json!([["+40 700"]]));
    assert!(*house.store.rows() == before, "a dry run stores nothing");
}
