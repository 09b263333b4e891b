//! Every message and every lenient spelling, one line a case.

use alloc::string::String;

use super::*;
use crate::json::parse;
use crate::record::rule::{fixed, ordered, require};
use crate::record::{
    Json, Variables, any_object, boolean, choice, format, hundredths, id, int, list, number, tagged, text, variables,
};
use crate::{choice, record, tagged};

choice! {
    pub enum Colour { /// Red.
        Red = "red", /// Blue.
        Blue = "blue" }
}

record! {
    pub struct Part {
        name: String = text(2, 4).form(&format::EXTRACT_NAME).required(),
        note: Option<String> = text(1, 5).sparse(),
    }
}

record! {
    /// Nothing but a type.
    pub struct Bare {
        note: Option<String> = text(1, 5).sparse(),
    }
}

tagged! {
    pub enum Shape { /// A part.
        Part(Part) = "part", /// Bare.
        Bare(Bare) = "bare" }
}

record! {
    /// A sample of every kind.
    pub struct Sample {
        name: String = text(1, 5).required(),
        colour: Colour = choice::<Colour>().required(),
        count: u32 = int(1, 9).or_int(3),
        owner_id: Option<u64> = id().clears(),
        share: Option<f64> = number(0.0, 1.0),
        speed: crate::record::Hundredths = hundredths(0.7, 1.2).or_number(1.0),
        on: bool = boolean().or_bool(false),
        parts: Vec<Part> = list::<Part>(2).unique("name"),
        shapes: Vec<Shape> = tagged::<Shape>(2),
        variables: Variables = variables(),
        own: Option<Json> = any_object(40),
        date_from: Option<String> = text(1, 10).form(&format::DATE),
        date_to: Option<String> = text(1, 10).form(&format::DATE),
    } rules {
        require("owner_id", "colour", &["blue"]),
        fixed("on", Literal::Bool(false), "Red is off.", "colour", &["red"]),
        ordered("date_from", "date_to", Strictness::OrEqual, "field must not be before the date from field."),
    }
}

fn members(json: &str) -> Members {
    match parse(json.as_bytes()) {
        Ok(Value::Object(members)) => members,
        other => panic!("{other:?}"),
    }
}

fn sample(json: &str) -> Result<Sample, Errors> {
    check(Sample::TABLE, members(json), MemberSource::Body).finish()
}

/// Asserts that this field alone fails, with exactly these sentences, in a body that is otherwise valid.
#[track_caller]
fn fails(with: &str, field: &str, says: &[&str]) {
    let errors = sample(&format!("{{\"name\":\"n\",\"colour\":\"red\",{with}}}")).expect_err(with);
    assert_eq!(errors.0, [(field.to_string(), says.iter().map(ToString::to_string).collect())], "{with}");
}

#[track_caller]
fn holds(with: &str, shows: &str) {
    let sample = sample(&format!("{{\"name\":\"n\",\"colour\":\"red\",{with}}}")).expect(with);
    let json = String::from_utf8(sample.to_json()).expect("JSON is UTF-8");
    assert!(json.contains(shows), "{with} gives {json}");
}

#[test]
fn all_errors_at_once_in_table_order() {
    let errors = sample(r#"{"date_to":5,"parts":[{"name":"A"}],"count":"x"}"#).expect_err("nothing is right");
    let fields: Vec<&str> = errors.0.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["name", "colour", "count", "parts.0.name", "date_to"]);
    assert_eq!(errors.first(), "The name field is required.");
    let both = [
        "The parts.0.name field must be at least 2 characters.",
        "The parts.0.name field must contain only lowercase letters, digits and underscores.",
    ];
    assert_eq!(errors.0[3].1, both);
}

#[test]
fn every_message() {
    fails(r#""name2":1,"count":10"#, "count", &["The count field must be between 1 and 9."]);
    fails(r#""count":1.5"#, "count", &["The count field must be an integer."]);
    fails(r#""owner_id":0"#, "owner_id", &["The owner id field must be at least 1."]);
    fails(
        r#""owner_id":9007199254740992"#,
        "owner_id",
        &["The owner id field must not be greater than 9007199254740991."],
    );
    fails(r#""share":"a""#, "share", &["The share field must be a number."]);
    fails(r#""speed":1.201"#, "speed", &["The speed field must be between 0.7 and 1.2."]);
    fails(r#""on":"yes""#, "on", &["The on field must be true or false."]);
    fails(r#""on":true"#, "on", &["Red is off."]);
    fails(r#""parts":{}"#, "parts", &["The parts field must be an array."]);
    fails(r#""parts":[1]"#, "parts.0", &["The parts.0 field must be an object."]);
    fails(
        r#""parts":[{"name":"ab"},{"name":"ab"}]"#,
        "parts.1.name",
        &["The parts.1.name field has a duplicate value."],
    );
    fails(r#""parts":[{},{},{}]"#, "parts", &["The parts field must not have more than 2 items."]);
    fails(r#""shapes":[{}]"#, "shapes.0.type", &["The shapes.0.type field is required."]);
    fails(r#""shapes":[{"type":"x"}]"#, "shapes.0.type", &["The selected shapes.0.type is invalid: part or bare."]);
    fails(r#""variables":[1]"#, "variables", &["The variables field must be an object."]);
    fails(r#""variables":{"a":[null]}"#, "variables.a", &["The variables.a field must not have null in a list."]);
    fails(r#""own":[]"#, "own", &["The own field must be an object."]);
    fails(r#""own":"x""#, "own", &["The own field must be an object."]);
    let large = format!(r#""own":{{"a":"{}"}}"#, "x".repeat(33));
    fails(&large, "own", &["The own field must not be larger than 40 bytes."]);
    fails(
        r#""date_from":"2026-02-30""#,
        "date_from",
        &["The date from field must be a valid date in the form YYYY-MM-DD."],
    );
    fails(
        r#""date_from":"2026-02-02","date_to":"2026-02-01""#,
        "date_to",
        &["The date to field must not be before the date from field."],
    );
}

#[test]
fn lenient_spellings() {
    holds(r#""count":"7""#, "\"count\":7");
    holds(r#""count":7.0"#, "\"count\":7");
    holds(r#""count":null"#, "\"count\":3");
    holds(r#""share":"1e-1""#, "\"share\":0.1");
    holds(r#""speed":1.115"#, "\"speed\":1.12");
    holds(r#""on":"0""#, "\"on\":false");
    holds(r#""date_from":"""#, "\"date_from\":null");
    holds(r#""own":null"#, "\"own\":null");
    holds(r#""own":{"a":null,"b":[{"c":null}],"d":1.50}"#, r#""own":{"a":null,"b":[{"c":null}],"d":1.5}"#);
    holds(&format!(r#""own":{{"a":"{}"}}"#, "x".repeat(32)), "\"own\":{\"a\":\"xx");
    holds(r#""variables":[]"#, "\"variables\":{}");
    holds(r#""variables":{"a":null,"b":[{"c":null}]}"#, "\"variables\":{\"b\":[{}]}");
    holds(
        r#""shapes":[{"type":"bare"},{"type":"part","name":"ab","x":1}]"#,
        r#"[{"type":"bare"},{"type":"part","name":"ab"}]"#,
    );
    for text in ["+7", " 7", "07", "7.", ".7", "1e", "0x7", "", "-", "7 "] {
        let body = format!("{{\"name\":\"n\",\"colour\":\"red\",\"share\":\"{text}\"}}");
        assert!(sample(&body).is_err(), "{text}");
    }
}

#[test]
fn a_number_of_a_query_is_read_as_one_of_a_body() {
    let count = |text: &str| {
        let query = members(&format!("{{\"name\":\"n\",\"colour\":\"red\",\"count\":\"{text}\"}}"));
        check(Sample::TABLE, query, MemberSource::Query).finish::<Sample>().map(|sample| sample.count).ok()
    };
    for (text, read) in [("7", Some(7)), ("7.0", Some(7)), ("7.5", None), ("07", None), ("7.", None), ("1e400", None)] {
        assert_eq!(count(text), read, "{text}");
    }
}

#[test]
fn a_rule_waits_for_its_fields() {
    let errors = sample(r#"{"name":"n","colour":"blue"}"#).expect_err("owner is required");
    assert_eq!(errors.0[0].0, "owner_id");
    let errors = sample(r#"{"name":"n","colour":"blue","owner_id":"x"}"#).expect_err("owner is wrong");
    assert_eq!(errors.0, [("owner_id".to_string(), ["The owner id field must be an integer.".to_string()].into())]);
}

#[test]
fn an_update_is_checked_as_a_whole() {
    let stored = || members(r#"{"name":"n","colour":"blue","owner_id":4,"count":5}"#);
    let update = |json: &str| check_update(Sample::TABLE, stored(), members(json)).finish::<Sample>();
    assert_eq!(update(r#"{"count":6}"#).expect("a good change").count, 6);
    assert_eq!(update(r#"{"owner_id":null,"colour":"red"}"#).expect("it may be cleared").owner_id, None);
    for (body, field, says) in [
        (r#"{"owner_id":null}"#, "owner_id", "The owner id field is required."),
        (r#"{"count":null}"#, "count", "The count field must not be null."),
        (r#"{"name":""}"#, "name", "The name field is required."),
    ] {
        assert_eq!(update(body).expect_err(body).0, [(field.to_string(), [says.to_string()].into())]);
    }
}
