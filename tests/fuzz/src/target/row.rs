//! Damaged rows: reads, writes and jobs over them stop or continue, and never panic.
//!
//! An input is a key in hexadecimal, a line end, the name of an act, a line end, and the value.

use switchboard_core::http::request::{Method, Request};
use switchboard_core::http::route::BodyKind;
use switchboard_core::key::Key;
use switchboard_core::service::routes::ROUTES;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::store::Change;
use switchboard_core::verify::verify;
use switchboard_core::view::{Bytes, Scene, Stop};
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::layer::Layer;
use crate::town::Town;
use crate::{corpus, http, mutate};

/// Delay before the jobs run over the rows, seconds.
const LATER: u64 = 700;

/// Target `row`: damaged rows of a town's store.
pub struct Rows<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
    stored: Vec<(&'t Key, &'t Bytes)>,
    /// Acts by name, each a request.
    acts: Vec<(String, Request)>,
}

impl<'t> Rows<'t> {
    /// Creates the target for the rows of a town.
    pub fn new(town: &'t Town) -> Self {
        let stored = town.store.rows().iter().collect();
        Self { town, corpus: corpus::of("row"), stored, acts: acts(town) }
    }

    fn damaged(&self, random: &mut Random) -> Vec<u8> {
        let (key, value) = random.one(&self.stored);
        let mut value = value.clone();
        mutate::bytes(random, &mut value);
        let act = match random.below(40) {
            0 => "verify",
            1..=6 => "tick",
            _ => &self.acts[mutate::index(random, self.acts.len())].0,
        };
        [mutate::hex(key).as_bytes(), b"\n", act.as_bytes(), b"\n", &value].concat()
    }

    fn act(&self, name: &str, layer: &Layer<'_>) -> Result<String, Stop> {
        let scene = |seconds| Scene {
            now: self.town.now.plus_seconds(seconds),
            seed: Random::new(3).seed(),
            view: layer,
            careful: false,
        };
        let output = match name {
            "verify" => return verify(layer).map(|report| format!("verify, {}", report.faults.len().min(1))),
            "tick" => self.town.service.step(&Input::Tick, &scene(LATER))?,
            name => match self.acts.iter().find(|(known, _)| known == name) {
                Some((_, request)) => self.town.service.step(&Input::Http(request, &[]), &scene(0))?,
                None => return Ok("nothing".into()),
            },
        };
        Ok(match output.outcome {
            Outcome::Reply(reply) => reply.status.to_string(),
            Outcome::Nothing => "decided".into(),
            _ => "waits".into(),
        })
    }
}

/// Returns a valid request to every operation.
fn acts(town: &Town) -> Vec<(String, Request)> {
    let mut random = Random::new(11);
    let mut acts = Vec::new();
    for route in ROUTES {
        let token = match route.who {
            switchboard_core::http::route::Who::Operator => "operator",
            switchboard_core::http::route::Who::Engine => "engine",
            _ => "owner",
        };
        let mut text = http::Text::new(route.method, &town.owner.path(route.paths[0])).bearer(token);
        match route.body {
            BodyKind::Json(table, _) | BodyKind::Document(table) if route.method == Method::Post => {
                text = text.json(town.bodies.fit(&mut random, table).to_string());
            }
            BodyKind::Json(..) | BodyKind::Document(_) => text = text.json("{}"),
            BodyKind::Object(media, _) => {
                text = text.header("content-type", media[0].as_bytes());
                text.body = Some(b"RIFF".to_vec());
            }
            BodyKind::File(..) => {
                text = text.header("content-type", b"text/csv");
                text.body = Some(b"phone_number\n+40700000001\n".to_vec());
            }
            BodyKind::None => {}
        }
        if let Some(request) = http::parse(&text.bytes(), &town.tokens) {
            acts.push((route.id.to_owned(), request));
        }
    }
    acts
}

impl Target for Rows<'_> {
    fn name(&self) -> &'static str {
        "row"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| self.damaged(random))
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let mut parts = input.splitn(3, |byte| *byte == b'\n');
        let text = |part: Option<&[u8]>| part.and_then(|part| String::from_utf8(part.to_vec()).ok());
        let (key, act, value) = (text(parts.next()), text(parts.next()), parts.next());
        let (Some(key), Some(act), Some(value)) = (key.and_then(|key| unhex(&key)), act, value) else {
            return Ok(Seen::word("no row"));
        };
        let mut layer = Layer::over(&self.town.store);
        layer.apply(&[Change::Put(key, value.to_vec())]);
        Ok(match self.act(&act, &layer) {
            Ok(said) => Seen { kind: format!("{act} {said}"), said },
            Err(Stop::Corrupt(what)) => Seen { said: "corrupt".into(), kind: what.into() },
            Err(Stop::OverBudget) => Seen::word("over budget"),
            Err(stop) => return Err(format!("a store in memory stopped: {stop:?}")),
        })
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map(digit).collect()
}
