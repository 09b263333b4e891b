//! Bytes to [`Value`]: `serde_json`'s reader driving our own visitor.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Members, Number, Value};
use crate::limits::JSON_DEPTH_MAX;

/// Why bytes are not JSON that the service takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What is wrong, with line and column; no sentence of its own.
    pub reason: String,
}

/// Reads one JSON value that fills `bytes`.
pub fn parse(bytes: &[u8]) -> Result<Value, Malformed> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Levels(JSON_DEPTH_MAX)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| Malformed { reason: error.to_string() })
}

/// How many levels may still open.
#[derive(Clone, Copy)]
struct Levels(usize);

impl Levels {
    fn below<E: Error>(self) -> Result<Self, E> {
        match self.0.checked_sub(1) {
            Some(left) => Ok(Self(left)),
            None => Err(E::custom(format!("more than {JSON_DEPTH_MAX} levels"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(Number::Unsigned(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(Number::Signed(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() { Ok(Value::Number(Number::Float(value))) } else { Err(E::custom("number out of range")) }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_string()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(below)? {
            list.push(entry);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        /// Up to this many members a walk over them is quicker than a set.
        const FEW: usize = 16;
        let below = self.below()?;
        let mut members: Vec<(String, Value)> = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            let twice = if members.len() < FEW {
                members.iter().any(|(n, _)| *n == name)
            } else {
                if seen.is_empty() {
                    seen.extend(members.iter().map(|(n, _)| n.clone()));
                }
                !seen.insert(name.clone())
            };
            if twice {
                return Err(A::Error::custom(format!("member {name:?} occurs twice")));
            }
            let value = entries.next_value_seed(below)?;
            members.push((name, value));
        }
        Ok(Value::Object(Members(members)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, says: &str) {
        let Malformed { reason: sentence } = parse(text.as_bytes()).expect_err(text);
        assert!(sentence.contains(says) && sentence.contains("line 1 column"), "{sentence}");
    }

    #[test]
    fn members_named_twice_are_refused_at_any_depth() {
        refused(r#"{"a":1,"a":2}"#, "\"a\" occurs twice");
        refused(r#"[{"b":{"c":1,"c":1}}]"#, "\"c\" occurs twice");
        let many: Vec<String> = (0..40).map(|n| format!("\"m{n}\":0")).collect();
        refused(&format!("{{{},\"m7\":1}}", many.join(",")), "\"m7\" occurs twice");
    }

    #[test]
    fn the_thirty_third_level_is_refused() {
        let nested = |n| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(nested(32).as_bytes()).is_ok());
        refused(&nested(33), "more than 32 levels");
        refused(&"[".repeat(100_000), "more than 32 levels");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{", "{\"a\"}", "[1,]", "01", "1e999", "\"\u{1}\"", "nul", "{} {}", "\"\\ud800\""] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }

    #[test]
    fn numbers_keep_their_value() {
        assert_eq!(parse(b"18446744073709551615"), Ok(Value::Number(Number::Unsigned(u64::MAX))));
        assert_eq!(parse(b"-5"), Ok(Value::Number(Number::Signed(-5))));
        assert_eq!(parse(b"0.1"), Ok(Value::Number(Number::Float(0.1))));
        assert_eq!(Number::Float(12.0).as_whole(), Some(12));
        assert_eq!(Number::Float(12.5).as_whole(), None);
        assert_eq!(Number::Unsigned(u64::MAX).as_whole(), None);
    }
}
