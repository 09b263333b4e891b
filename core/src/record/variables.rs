//! The check of a `variables` object (docs/api.md, Variables).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::cell::Cell;
use super::errors::{Errors, ValuePath, label};
use crate::json::{Members, ToJson, Value};
use crate::limits::{VARIABLE_DEPTH_MAX, VARIABLE_NAME_MAX, VARIABLES_BYTES_MAX, VARIABLES_MAX};
use crate::template;

/// Checks the object; members that are `null` stay, for a merge to remove their names.
pub(super) fn check(value: Value, field: &ValuePath<'_>, errors: &mut Errors) -> Cell {
    let mut members = match value {
        Value::Object(members) => members,
        // An empty PHP array is the empty object of the clients of this API family.
        Value::List(entries) if entries.is_empty() => Members::default(),
        _ => {
            errors.say(&field.text(), "field must be an object.");
            return Cell::None;
        }
    };
    members.0.iter_mut().for_each(|(_, value)| drop_nulls(value));
    if let Some(says) = over_bounds(&members) {
        errors.say(&field.text(), &says);
        return Cell::None;
    }
    for (name, value) in &members.0 {
        let wrong = [wrong_name(name), wrong_value(value)].into_iter().flatten();
        let field = format!("{field}.{name}");
        let sentences: Vec<_> = wrong.map(|says| format!("The {} {says}", label(&field))).collect();
        if !sentences.is_empty() {
            // Names are unique: there is no earlier error of this field to add to.
            errors.0.push((field, sentences));
        }
    }
    Cell::Object(members)
}

/// Returns what is wrong if the variables, without those that are `null`, are too many or too large.
pub fn over_bounds(members: &Members) -> Option<String> {
    if members.0.iter().filter(|(_, value)| *value != Value::Null).count() > VARIABLES_MAX {
        return Some(format!("field must not have more than {VARIABLES_MAX} items."));
    }
    let is_large = members.to_json().len() > VARIABLES_BYTES_MAX;
    is_large.then(|| format!("field must not be larger than {VARIABLES_BYTES_MAX} bytes."))
}

/// Removes the members of inner objects that are `null`: they are not given.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.0.retain(|(_, value)| *value != Value::Null);
            members.0.iter_mut().for_each(|(_, value)| drop_nulls(value));
        }
        Value::List(entries) => entries.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn wrong_name(name: &str) -> Option<String> {
    let fits = template::is_name(name) && name.chars().count() <= VARIABLE_NAME_MAX;
    (!fits).then(|| format!("name must be 1 to {VARIABLE_NAME_MAX} letters, digits, underscores, hyphens or dots."))
}

fn wrong_value(value: &Value) -> Option<String> {
    if depth(value) > VARIABLE_DEPTH_MAX {
        return Some(format!("field must not be nested deeper than {VARIABLE_DEPTH_MAX} levels."));
    }
    has_null_entry(value).then(|| "field must not have null in a list.".to_string())
}

/// Returns the levels of a value: 1 for a text, a number or a boolean.
fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.0.iter().map(|(_, value)| depth(value)).max().unwrap_or(0),
        Value::List(entries) => entries.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn has_null_entry(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.0.iter().any(|(_, value)| has_null_entry(value)),
        Value::List(entries) => entries.iter().any(|entry| *entry == Value::Null || has_null_entry(entry)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::json;

    fn checked(text: &str) -> Result<String, Vec<(String, Vec<String>)>> {
        let mut errors = Errors::default();
        let whole = ValuePath::Whole;
        let value = json::parse(text.as_bytes()).expect("JSON");
        let cell = check(value, &ValuePath::Member(&whole, "variables"), &mut errors);
        match cell {
            Cell::Object(members) if errors.is_empty() => Ok(String::from_utf8(members.to_json()).expect("UTF-8")),
            _ => Err(errors.0),
        }
    }

    #[test]
    fn values_may_be_lists_and_objects() {
        let nested = r#"{"a":{"b":[1,"x",true,[]]},"c":[{"d":{}}],"e":null}"#;
        assert_eq!(checked(nested).as_deref(), Ok(nested));
        assert_eq!(checked(r#"{"a":{"b":null,"c":[{"d":null,"e":1}]}}"#).as_deref(), Ok(r#"{"a":{"c":[{"e":1}]}}"#));
        assert_eq!(checked("[]").as_deref(), Ok("{}"));
    }

    #[test]
    fn what_is_wrong_is_said_of_the_name() {
        let says = |text: &str| checked(text).expect_err(text);
        let one = |name: &str, says: &str| {
            vec![(format!("variables.{name}"), vec![format!("The variables.{} {says}", name.replace('_', " "))])]
        };
        let long = "a".repeat(65);
        let name = "name must be 1 to 64 letters, digits, underscores, hyphens or dots.";
        for (json_name, name_itself) in [("", ""), ("a b", "a b"), (long.as_str(), long.as_str())] {
            assert_eq!(says(&format!(r#"{{"{json_name}":1}}"#)), one(name_itself, name));
        }
        assert!(checked(r#"{"ünï_1.x-y":1}"#).is_ok());
        let lists = |levels: usize| format!(r#"{{"a_b":{}1{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert!(checked(&lists(7)).is_ok());
        assert_eq!(says(&lists(8)), one("a_b", "field must not be nested deeper than 8 levels."));
        assert_eq!(says(r#"{"a":[1,null]}"#), one("a", "field must not have null in a list."));
    }

    #[test]
    fn bounds_count_what_is_given() {
        let many = |count: usize, value: &str| {
            let members: Vec<String> = (0..count).map(|at| format!(r#""n{at}":{value}"#)).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(checked(&many(100, "1")).is_ok());
        assert!(checked(&many(200, "null")).is_ok());
        assert_eq!(
            checked(&many(101, "1")).expect_err("many")[0].1,
            ["The variables field must not have more than 100 items."]
        );
        let large = format!(r#"{{"a":{{"b":"{}"}}}}"#, "x".repeat(16 << 10));
        assert_eq!(
            checked(&large).expect_err("large")[0].1,
            ["The variables field must not be larger than 16384 bytes."]
        );
    }
}
