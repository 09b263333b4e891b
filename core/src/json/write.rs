//! [`ToJson`]: values appended to a byte buffer as JSON.

use alloc::string::String;
use alloc::vec::Vec;

use super::{JsonNumber, Members, Value};

/// Value with a JSON form.
pub trait ToJson {
    /// Appends the JSON form.
    fn write(&self, out: &mut Vec<u8>);

    /// Returns whether [`Object::given`] leaves this value out.
    fn is_absent(&self) -> bool {
        false
    }

    /// Returns the JSON form in a buffer of its own.
    fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        self.write(&mut out);
        out
    }
}

/// Appends `text` as a JSON string.
pub fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[from..at]);
        escape(out, byte);
        from = at + 1;
    }
    out.extend_from_slice(&text.as_bytes()[from..]);
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        8 => b'b',
        12 => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Returns one object with the members of both, which must not share a name.
pub fn joined(first: &impl ToJson, second: &impl ToJson) -> Vec<u8> {
    let (mut out, more) = (first.to_json(), second.to_json());
    if more.len() > 2 {
        out.pop();
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(&more[1..]);
    }
    out
}

/// Bytes that are JSON already, written as they are.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a>(pub &'a [u8]);

impl ToJson for Raw<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}

impl ToJson for str {
    fn write(&self, out: &mut Vec<u8>) {
        text(out, self);
    }
}

impl ToJson for String {
    fn write(&self, out: &mut Vec<u8>) {
        text(out, self);
    }
}

impl ToJson for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl ToJson for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        const DIGITS: usize = 20;
        let (mut digits, mut at, mut rest) = ([0_u8; DIGITS], DIGITS, *self);
        while rest > 0 || at == DIGITS {
            at -= 1;
            digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        out.extend_from_slice(&digits[at..]);
    }
}

impl ToJson for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }
}

impl ToJson for u16 {
    fn write(&self, out: &mut Vec<u8>) {
        u64::from(*self).write(out);
    }
}

impl ToJson for i64 {
    fn write(&self, out: &mut Vec<u8>) {
        if *self < 0 {
            out.push(b'-');
        }
        self.unsigned_abs().write(out);
    }
}

impl ToJson for f64 {
    /// Writes the shortest digits that read back as the same double.
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&serde_json::to_vec(self).unwrap_or_else(|_| b"null".to_vec()));
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write(&self, out: &mut Vec<u8>) {
        (**self).write(out);
    }

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write(&self, out: &mut Vec<u8>) {
        let mut array = Array::open(out);
        for entry in self {
            array.entry(entry);
        }
        array.close();
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_slice().write(out);
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl ToJson for JsonNumber {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Unsigned(n) => n.write(out),
            Self::Signed(n) => n.write(out),
            Self::Float(n) => n.write(out),
        }
    }
}

impl ToJson for Members {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.members(self);
        object.close();
    }
}

impl ToJson for Value {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(value) => value.write(out),
            Self::Number(value) => value.write(out),
            Self::Text(value) => value.write(out),
            Self::List(value) => value.write(out),
            Self::Object(value) => value.write(out),
        }
    }
}

/// Writer of an object.
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Object<'o> {
    /// Writes the opening brace.
    pub fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Writes one member, its name escaped.
    pub fn member(&mut self, name: &str, value: impl ToJson) -> &mut Self {
        value.write(self.name(name));
        self
    }

    /// Writes a member unless it is absent.
    pub fn given(&mut self, name: &str, value: impl ToJson) -> &mut Self {
        if value.is_absent() { self } else { self.member(name, value) }
    }

    /// Writes all members of another object.
    pub fn members(&mut self, members: &Members) -> &mut Self {
        for (name, value) in &members.0 {
            self.member(name, value);
        }
        self
    }

    /// Writes a member's name and returns the buffer for its value.
    pub fn name(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        text(self.out, name);
        self.out.push(b':');
        self.out
    }

    /// Writes the closing brace.
    pub fn close(self) {
        self.out.push(b'}');
    }
}

/// Writer of an array.
pub struct Array<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Array<'o> {
    /// Writes the opening bracket.
    pub fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, empty: true }
    }

    /// Writes one entry, after a comma unless it is the first.
    pub fn entry(&mut self, value: impl ToJson) {
        value.write(self.slot());
    }

    /// Starts an entry and returns the buffer for its value.
    pub fn slot(&mut self) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out
    }

    /// Writes the closing bracket.
    pub fn close(self) {
        self.out.push(b']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<u64>().prop_map(|n| Value::Number(JsonNumber::Unsigned(n))),
            (i64::MIN..0).prop_map(|n| Value::Number(JsonNumber::Signed(n))),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| Value::Number(JsonNumber::Float(n))),
            any::<String>().prop_map(Value::Text),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|m| Value::Object(Members(m.into_iter().collect()))),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in value()) {
            prop_assert_eq!(parse(&value.to_json()), Ok(value));
        }

        #[test]
        fn joined_objects_have_the_members_of_both(mut first: BTreeMap<String, u64>, second: BTreeMap<String, u64>) {
            first.retain(|name, _| !second.contains_key(name));
            let object = |members: &BTreeMap<String, u64>| {
                Members(members.iter().map(|(name, n)| (name.clone(), Value::Number(JsonNumber::Unsigned(*n)))).collect())
            };
            let (first, second) = (object(&first), object(&second));
            let all = Members([first.0.clone(), second.0.clone()].concat());
            prop_assert_eq!(joined(&first, &second), all.to_json());
        }
    }
}
