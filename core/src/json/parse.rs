//! Bytes to [`Value`]: `serde_json`'s reader driving a visitor of our own.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{JsonNumber, Members, Value};
use crate::limits::JSON_DEPTH_MAX;

/// Reason why bytes are not JSON that the service accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong, with line and column; a phrase, not a full sentence.
    pub reason: String,
}

/// Parses one JSON value that spans all of `bytes`, at most [`JSON_DEPTH_MAX`] levels deep.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Levels(JSON_DEPTH_MAX)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| JsonError { reason: error.to_string() })
}

/// Callback that returns the place of a name; the second argument is where to look first.
pub type MemberIndex<'p> = &'p dyn Fn(&str, usize) -> Option<usize>;

/// Parses an object that the service wrote itself: returns the values by place, `count` of them, and the members
/// without a place, in their order.
pub fn parse_by_place(
    bytes: &[u8],
    count: usize,
    place: MemberIndex<'_>,
) -> Result<(Vec<Option<Value>>, Members), JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader
        .deserialize_map(Placed { count, place })
        .and_then(|placed| reader.end().map(|()| placed))
        .map_err(|error| JsonError { reason: error.to_string() })
}

/// Parses only the members with these names of an object that the service wrote itself.
pub fn pick<const N: usize>(bytes: &[u8], names: [&str; N]) -> Result<[Option<Value>; N], JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.deserialize_map(Picked(names)).map_err(|error| JsonError { reason: error.to_string() })
}

/// Visitor of a value: how many levels may still open.
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
        Ok(Value::Number(JsonNumber::Unsigned(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(JsonNumber::Signed(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() {
            Ok(Value::Number(JsonNumber::Float(value)))
        } else {
            Err(E::custom("number out of range"))
        }
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
        let below = self.below()?;
        let mut members: Vec<(String, Value)> = Vec::new();
        while let Some(name) = entries.next_key()? {
            members.push((name, entries.next_value_seed(below)?));
        }
        match twice(&members) {
            Some(name) => Err(A::Error::custom(format!("member {name:?} occurs twice"))),
            None => Ok(Value::Object(Members(members))),
        }
    }
}

/// Returns a name that more than one member has.
fn twice(members: &[(String, Value)]) -> Option<&str> {
    /// Up to this many members, comparing all pairs is quicker than sorting.
    const FEW: usize = 16;
    if members.len() <= FEW {
        let mut each = members.iter().enumerate();
        let twice = each.find(|(at, (name, _))| members[..*at].iter().any(|(earlier, _)| earlier == name));
        return twice.map(|(_, (name, _))| name.as_str());
    }
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Visitor of an object's members by place.
struct Placed<'p> {
    count: usize,
    place: MemberIndex<'p>,
}

impl<'de> Visitor<'de> for Placed<'_> {
    type Value = (Vec<Option<Value>>, Members);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut placed: Vec<Option<Value>> = Vec::with_capacity(self.count);
        placed.resize_with(self.count, || None);
        let (mut others, mut next) = (Members::default(), 0);
        while let Some(name) = entries.next_key_seed(PlaceOf(self.place, next))? {
            let value = entries.next_value_seed(Levels(JSON_DEPTH_MAX))?;
            match name {
                Ok(at) => {
                    placed[at] = Some(value);
                    next = at + 1;
                }
                Err(name) => others.0.push((name, value)),
            }
        }
        Ok((placed, others))
    }
}

/// Visitor of a name: its place, or the name itself where it has none.
struct PlaceOf<'p>(MemberIndex<'p>, usize);

impl<'de> DeserializeSeed<'de> for PlaceOf<'_> {
    type Value = Result<usize, String>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for PlaceOf<'_> {
    type Value = Result<usize, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok((self.0)(name, self.1).ok_or_else(|| name.to_string()))
    }
}

/// Visitor of an object's members by name.
#[derive(Clone, Copy)]
struct Picked<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Picked<'_, N> {
    type Value = [Option<Value>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<[Option<Value>; N], A::Error> {
        let mut picked = [const { None }; N];
        while let Some(at) = entries.next_key_seed(Name(&self.0))? {
            match at.and_then(|at| picked.get_mut(at)) {
                Some(value) => *value = Some(entries.next_value_seed(Levels(JSON_DEPTH_MAX))?),
                None => drop(entries.next_value::<IgnoredAny>()?),
            }
        }
        Ok(picked)
    }
}

/// Visitor of a name: its index among these.
struct Name<'n>(&'n [&'n str]);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<usize>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|known| *known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, says: &str) {
        let JsonError { reason: sentence } = parse(text.as_bytes()).expect_err(text);
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
    fn members_are_picked_out_of_an_object() {
        let bytes = br#"{"a":[{"c":1}],"b":"x\u00e9","c":null,"d":{"b":2}}"#;
        let picked = pick(bytes, ["b", "z", "a", "c"]).expect("an object");
        let all = parse(bytes).expect("JSON");
        assert_eq!(picked, ["b", "z", "a", "c"].map(|name| all.member(name).cloned()));
        for wrong in ["[1]", "{\"a\":}", "{\"x\":[}", ""] {
            assert!(pick(wrong.as_bytes(), ["a"]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_keep_their_value() {
        assert_eq!(parse(b"18446744073709551615"), Ok(Value::Number(JsonNumber::Unsigned(u64::MAX))));
        assert_eq!(parse(b"-5"), Ok(Value::Number(JsonNumber::Signed(-5))));
        assert_eq!(parse(b"0.1"), Ok(Value::Number(JsonNumber::Float(0.1))));
        assert_eq!(JsonNumber::Float(12.0).as_whole(), Some(12));
        assert_eq!(JsonNumber::Float(12.5).as_whole(), None);
        assert_eq!(JsonNumber::Float(-9_007_199_254_740_991.0).as_whole(), Some(-9_007_199_254_740_991));
        assert_eq!(JsonNumber::Float(9_007_199_254_740_992.0).as_whole(), None);
        assert_eq!(JsonNumber::Unsigned(u64::MAX).as_whole(), None);
    }
}
