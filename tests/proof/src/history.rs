//! Scripts drawn from a number: any operation, with valid, broken and missing bodies, by any caller.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use switchboard_core::http::request::Method;
use switchboard_core::http::route::{BodyKind, Route};
use switchboard_core::record::Ref;
use switchboard_core::seed::Seed;
use switchboard_core::service::routes::ROUTES;
use switchboard_tests::strategy;

use crate::said::Transcript;
use crate::scene::{OF_THE_HOST, Recorder};
use crate::script::{Act, Script};

/// Inputs of one history.
const LINES: usize = 40;

/// Source of random values.
struct Draw {
    runner: TestRunner,
    seed: Seed,
    count: u32,
}

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.count += 1;
        let last = u32::try_from(bound - 1).expect("a small bound");
        self.seed.number(&format!("draw {}", self.count), 0..=last) as usize
    }

    fn body(&mut self, table: &'static switchboard_core::record::Table) -> Value {
        let known = |what: Ref| if matches!(what, Ref::Row(_)) { vec![1, 2, 3] } else { vec![1, 2] };
        let tree = strategy::body(table, &known).new_tree(&mut self.runner).expect("a body");
        let mut body = tree.current();
        if self.below(4) == 0 {
            let column = &table.columns[self.below(table.columns.len())];
            let broken = strategy::broken(column);
            if !broken.is_empty() {
                let at = self.below(broken.len());
                body.insert(column.name.to_owned(), broken[at].clone());
            }
        }
        Value::Object(body)
    }
}

/// Draws the history of a number, and plays it on the plainest host.
pub fn draw(number: u64) -> (Script, Transcript) {
    let mut bytes = [0x68; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let runner = TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng);
    let mut draw = Draw { runner, seed: Seed::new(bytes), count: 0 };
    let mut recorder = Recorder::begin(1_790_067_600);
    for _ in 0..LINES {
        match draw.below(12) {
            0 => {
                recorder.act(Act::Tick);
            }
            1 => {
                recorder.act(Act::Answer);
            }
            2 => recorder.wait([1, 61, 3_700, 90_000][draw.below(4)]),
            _ => ask(&mut draw, &mut recorder),
        }
    }
    recorder.settle();
    recorder.finish()
}

fn ask(draw: &mut Draw, recorder: &mut Recorder) {
    let routes: Vec<&Route> = ROUTES.iter().filter(|route| !OF_THE_HOST.contains(&route.id)).collect();
    let route = routes[draw.below(routes.len())];
    let target = target(draw, route.paths[0]);
    let token = recorder.tokens()[[0, 0, 0, 0, 1, 2, 3][draw.below(7)]].to_owned();
    let token = match route.who {
        switchboard_core::http::route::Who::Operator if draw.below(8) > 0 => recorder.tokens()[2].to_owned(),
        switchboard_core::http::route::Who::Engine if draw.below(8) > 0 => recorder.tokens()[3].to_owned(),
        _ => token,
    };
    let body = match route.body {
        BodyKind::Json(table, _) | BodyKind::Document(table) => {
            // A claim that waits would wait in real time on a host with a clock of its own.
            let mut body = draw.body(table);
            if let Some(members) = body.as_object_mut() {
                members.remove("wait");
            }
            Some(body.to_string().into_bytes())
        }
        BodyKind::File(..) | BodyKind::Object(..) => Some(b"phone_number\n+40700000001\n".to_vec()),
        BodyKind::None => None,
    };
    let media =
        if matches!(route.body, BodyKind::File(..) | BodyKind::Object(..)) { "text/csv" } else { "application/json" };
    let headers: &[_] = if body.is_some() { &[("content-type", media)] } else { &[] };
    let method = if route.method == Method::Get && draw.below(8) == 0 { Method::Head } else { route.method };
    recorder.send(method, &target, &token, headers, body.as_deref());
}

fn target(draw: &mut Draw, pattern: &str) -> String {
    let ids = ["1", "1", "2", "3", "4294967297", "x"];
    let mut target = String::new();
    for part in pattern.split('/').skip(1) {
        target.push('/');
        target.push_str(match part {
            "{name}" => "standard",
            part if part.starts_with('{') => ids[draw.below(ids.len())],
            part => part,
        });
    }
    target
}
