//! JSON bodies: valid ones, drawn once per table, and their mutations.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};
use switchboard_core::http::route::BodyKind;
use switchboard_core::record::{Ref, Table};
use switchboard_core::service::routes::ROUTES;
use switchboard_sim::random::Random;
use switchboard_tests::strategy;

use crate::mutate::{self, NUMBERS, index};

/// Bodies drawn per table.
const DRAWN: usize = 24;
/// Deepest nesting that is drawn, levels.
const DEPTH_MAX: usize = 5_000;

/// Valid bodies, and invalid values, by the name of their table.
pub struct Bodies {
    fit: BTreeMap<&'static str, Vec<Map<String, Value>>>,
    broken: BTreeMap<&'static str, Vec<(&'static str, Value)>>,
}

impl Default for Bodies {
    fn default() -> Self {
        Self::new()
    }
}

impl Bodies {
    /// Draws the bodies: the same ones every time.
    pub fn new() -> Self {
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[0x66; 32]);
        let mut runner = TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng);
        let mut bodies = Self { fit: BTreeMap::new(), broken: BTreeMap::new() };
        for table in tables() {
            let known = |what: Ref| if matches!(what, Ref::Row(_)) { vec![1, 2, 3] } else { vec![1, 2] };
            let drawn = strategy::body(table, &known);
            let fit = (0..DRAWN).map(|_| drawn.new_tree(&mut runner).expect("a body").current()).collect();
            bodies.fit.insert(table.name, fit);
            let broken = table.columns.iter();
            let broken = broken.flat_map(|column| strategy::broken(column).into_iter().map(|bad| (column.name, bad)));
            // A value too long for a text may be a megabyte: few inputs need that.
            let broken = broken.filter(|(_, bad)| bad.as_str().is_none_or(|text| text.len() < 5_000)).collect();
            bodies.broken.insert(table.name, broken);
        }
        bodies
    }

    /// Draws a valid body of a table.
    pub fn fit(&self, random: &mut Random, table: &Table) -> Value {
        let bodies = self.fit.get(table.name).map_or(&[][..], Vec::as_slice);
        random.pick(bodies).map_or_else(|| json!({}), |body| Value::Object(body.clone()))
    }

    /// Draws a body of a table: often valid, often broken in one place, now and then not JSON at all.
    pub fn draw(&self, random: &mut Random, table: &Table) -> Vec<u8> {
        let mut body = self.fit(random, table);
        match random.below(12) {
            0..=3 => {}
            4..=5 => {
                let broken = self.broken.get(table.name).map_or(&[][..], Vec::as_slice);
                if let Some((name, value)) = random.pick(broken) {
                    body[*name] = value.clone();
                }
            }
            6..=8 => (0..=random.below(2)).for_each(|_| change(random, &mut body)),
            9 => return nested(random),
            _ => {
                let mut bytes = body.to_string().into_bytes();
                mutate::bytes(random, &mut bytes);
                return bytes;
            }
        }
        let text = body.to_string();
        if random.chance(60) { renumbered(random, &text) } else { text.into_bytes() }
    }
}

/// Returns every table of a body.
fn tables() -> Vec<&'static Table> {
    let table = |body: &BodyKind| match body {
        BodyKind::Json(table, _) | BodyKind::Document(table) => Some(*table),
        BodyKind::None | BodyKind::File(..) | BodyKind::Object(..) => None,
    };
    let by_name: BTreeMap<_, _> =
        ROUTES.iter().filter_map(|route| table(&route.body)).map(|table| (table.name, table)).collect();
    by_name.into_values().collect()
}

/// Changes one place in a value.
pub fn change(random: &mut Random, value: &mut Value) {
    let descend = random.chance(700);
    match value {
        Value::Object(members) if descend && !members.is_empty() => {
            let at = index(random, members.len());
            let name = members.keys().nth(at).expect("a member").clone();
            match random.below(8) {
                0 => drop(members.remove(&name)),
                1 => drop(members.insert(mutate::text(random), odd(random))),
                _ => change(random, members.get_mut(&name).expect("a member")),
            }
        }
        Value::Array(entries) if descend && !entries.is_empty() => {
            let at = index(random, entries.len());
            match random.below(8) {
                0 => drop(entries.remove(at)),
                1 => entries.push(entries[at].clone()),
                2 => *entries = vec![entries[at].clone(); index(random, 60)],
                _ => change(random, &mut entries[at]),
            }
        }
        value => *value = odd(random),
    }
}

/// Draws a value that a parser may not expect.
pub fn odd(random: &mut Random) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => json!(random.chance(500)),
        2 => json!([]),
        3 => json!({}),
        4 => json!([odd(random)]),
        5 => json!({ mutate::text(random): odd(random) }),
        6 => serde_json::from_str(random.one(NUMBERS)).unwrap_or(Value::Null),
        _ => Value::String(mutate::text(random)),
    }
}

/// Draws nested brackets, closed or not.
fn nested(random: &mut Random) -> Vec<u8> {
    let most = random.one(&[30, 34, 40, DEPTH_MAX]);
    let depth = index(random, most);
    let (open, close) = random.one(&[("[", "]"), ("{\"a\":", "}"), ("[{\"name\":", "}]")]);
    let inner = random.one(&["1", "", "null", "{\"a\":1,\"a\":2}"]);
    let closed = if random.chance(800) { depth } else { depth / 2 };
    format!("{{\"name\":{}{inner}{}}}", open.repeat(depth), close.repeat(closed)).into_bytes()
}

/// Rewrites one of the numbers in a text: JSON can express what no number type holds.
fn renumbered(random: &mut Random, text: &str) -> Vec<u8> {
    let starts: Vec<usize> = text
        .char_indices()
        .filter(|(at, letter)| letter.is_ascii_digit() && *at > 0 && text.as_bytes()[at - 1] == b':')
        .map(|(at, _)| at)
        .collect();
    let Some(start) = random.pick(&starts).copied() else { return text.as_bytes().to_vec() };
    let end = text[start..].find([',', '}', ']']).map_or(text.len(), |at| start + at);
    [&text[..start], random.one(NUMBERS), &text[end..]].concat().into_bytes()
}
