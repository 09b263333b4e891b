//! `default_country`: national numbers in the files of imports.

use serde_json::{Value, json};
use switchboard_tests::house::House;

use crate::imports::{CSV, LINES, counts, house, import, leads, send, wrong};

#[test]
fn national_numbers_of_a_csv_file_are_stored_as_e_164() {
    let (mut house, _, target) = house();
    let file = "phone_number,name\n030 123456,a\n0049 30 123457,b\n+1 (415) 555-0100,c\n030 123456,again\n12,d\n";
    let done = import(&mut house, &target, CSV, file);
    assert_eq!(counts(&done), [1, 0, 4], "without a country they are no numbers");
    let says = "The phone number field must be a phone number in E.164 format; national ones need a default_country.";
    assert_eq!(done["errors"][0]["errors"], json!({ "phone_number": [says] }));
    let done = import(&mut house, &format!("{target}&default_country=de"), CSV, file);
    assert_eq!((counts(&done), wrong(&done)), ([2, 2, 1], vec![(6, vec!["phone_number".into()])]));
    let says = "The phone number field must be a phone number in E.164 format, or one as it is written in DE.";
    assert_eq!(done["errors"][0]["errors"], json!({ "phone_number": [says] }));
    let made: Vec<Value> = leads(&mut house).iter().map(|lead| lead["phone_number"].clone()).collect();
    assert_eq!(made, ["+14155550100", "+4930123456", "+4930123457"]);
}

#[test]
fn so_are_those_of_json_lines_and_of_secondary_contacts() {
    let (mut house, campaign_id, target) = house();
    let contacts = json!([{ "phone_number": "06 1234 5678" }, { "phone_number": "x" }]);
    let lines = [
        json!({ "phone_number": "392 123 4567", "secondary_contacts": [contacts[0]] }),
        json!({ "phone_number": "392 123 4568", "secondary_contacts": contacts }),
        json!({ "phone_number": "", "secondary_contacts": [5] }),
        json!({ "phone_number": 3_921_234_567_u64 }),
        json!({ "secondary_contacts": vec![&contacts[1]; 11] }),
    ];
    let file = lines.map(|line| line.to_string()).join("\n");
    let done = import(&mut house, &format!("{target}&default_country=IT"), LINES, file);
    assert_eq!(counts(&done), [1, 0, 4]);
    let fields = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let want = [
        (2, fields(&["secondary_contacts.1.phone_number"])),
        (3, fields(&["phone_number", "secondary_contacts.0"])),
        (4, fields(&["phone_number"])),
        (5, fields(&["phone_number", "secondary_contacts"])),
    ];
    assert_eq!(wrong(&done), want);
    let made = leads(&mut house);
    assert_eq!(made[0]["phone_number"], "+393921234567");
    assert_eq!(made[0]["secondary_contacts"][0]["phone_number"], "+390612345678");
    let single = json!({ "campaign_id": campaign_id, "phone_number": "392 123 4567", "default_country": "IT" });
    house.post("/user/lead", &single).send().wrong(&["phone_number"]);
}

#[test]
fn what_may_be_two_numbers_is_told() {
    let (mut house, _, target) = house();
    let done = import(&mut house, &format!("{target}&default_country=DE"), CSV, "phone_number\n491512345678\n");
    let says =
        "The phone number field may be +49491512345678 or +491512345678: please write it with + and its calling code.";
    assert_eq!(done["errors"], json!([{ "line": 2, "errors": { "phone_number": [says] } }]));
}

#[test]
fn numbers_not_to_be_called_are_read_alike() {
    let mut house = House::default();
    house.make("/user/do-not-call", &json!({ "phone_number": "+14155550100" }));
    let target = "/user/do-not-call/import?default_country=US";
    let done = import(&mut house, target, CSV, "phone_number\n(415) 555-0100\n1-415-555-0101\n555-0102\n");
    assert_eq!((counts(&done), wrong(&done)), ([1, 1, 1], vec![(4, vec!["phone_number".into()])]));
    assert_eq!(house.get("/user/do-not-call").json["data"][1]["phone_number"], "+14155550101");
}

#[test]
fn a_dry_run_reads_them_and_shows_the_file() {
    let (mut house, _, target) = house();
    let target = format!("{target}&default_country=HU&dry_run=1");
    let shown = send(&mut house, &target, CSV, "phone_number\n06 30 123 4567\n12\n").expect(200).json;
    assert_eq!(shown["data"]["rows"], json!([["06 30 123 4567"], ["12"]]));
    let errors = shown["data"]["errors"].as_array().expect("a list");
    assert_eq!(errors.iter().map(|error| &error["line"]).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_country_that_there_is_not_is_refused() {
    let (mut house, _, target) = house();
    for (target, country) in
        [(target.as_str(), "Germany"), (&target, "EU"), (&target, "D"), ("/user/do-not-call/import?", "49")]
    {
        let got = send(&mut house, &format!("{target}&default_country={country}"), CSV, "phone_number\n+40700000001\n");
        got.wrong(&["default_country"]);
        assert!(got.json.to_string().contains("such as US") || country == "Germany", "{}", got.json);
    }
}
