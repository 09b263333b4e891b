//! Imports: a file in the request that starts one, and the jobs that read it to the end.

use serde_json::{Value, json};
use switchboard_core::http::reply::Content;
use switchboard_core::http::request::Method;
use switchboard_core::memory::Memory;
use switchboard_core::outside::{Answer, SendError};
use switchboard_core::step::Input;
use switchboard_core::verify::verify;
use switchboard_core::view::Scene;
use switchboard_sim::random::Random;
use switchboard_tests::house::{House, assistant, campaign};

use super::{Seen, Target, mutated};
use crate::exchange::Place;
use crate::http::{self, Text};
use crate::layer::Layer;
use crate::mutate::index;
use crate::town::Town;
use crate::{corpus, draw, mutate};

/// Most slices of one import.
const SLICES_MAX: u64 = 60;

/// Target `import`: a store with one campaign and nothing else to do.
pub struct Imports<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
    store: Memory,
    tokens: Vec<(&'static str, String)>,
}

impl<'t> Imports<'t> {
    /// Creates the target for a town's service.
    pub fn new(town: &'t Town) -> Self {
        let mut house = House::default();
        let id = house.make("/user/assistant", &assistant());
        house.make("/user/campaigns", &campaign(id));
        house.make("/user/leads", &json!({ "campaign_id": 1, "phone_number": "+40700000201" }));
        let tokens = vec![("owner", house.key.clone())];
        Self { town, corpus: corpus::of("import"), store: house.store, tokens }
    }

    fn request(random: &mut Random) -> Vec<u8> {
        let mapping =
            random.one(&["", "", "&mapping=phone_number%3Dphone_number", "&mapping=a%3Db,c%3Dd", "&mapping=%2C%3D"]);
        let duplicates = random.one(&["", "&allow_dupplicate=1"]);
        let country = random.one(&["", "&default_country=DE", "&default_country=us", "&default_country=IT"]);
        let target = match random.below(4) {
            0 => format!("/user/do-not-call/import?x=1{country}{mapping}"),
            _ => format!("/user/leads/import?campaign_id=1{duplicates}{country}{mapping}"),
        };
        let media = random.one(&["text/csv", "text/csv; charset=utf-8", "application/x-ndjson"]);
        let mut text = Text::new(Method::Post, &target).bearer("owner").header("content-type", media.as_bytes());
        text.body = Some(match random.below(12) {
            0 => mutate::noise(random, 400),
            1 => long(random),
            _ => draw::file(random),
        });
        text.bytes()
    }

    /// Runs an import to its end; returns how it ended.
    fn finish(
        &self,
        layer: &mut Layer<'_>,
        now: switchboard_core::time::Timestamp,
        target: &str,
    ) -> Result<Value, String> {
        for slice in 0..SLICES_MAX {
            let scene = Scene { now, seed: Random::new(slice).seed(), view: &*layer, careful: false };
            let output = self.town.service.step(&Input::Tick, &scene);
            let output = output.map_err(|stop| format!("a slice stopped: {stop:?}"))?;
            layer.apply(&output.changes);
            let text = Text::new(Method::Get, target).bearer("owner").bytes();
            let request = http::parse(&text, &self.tokens).ok_or("a request")?;
            let mut place = Place {
                service: &self.town.service,
                judge: &self.town.judge,
                layer,
                now,
                seed: Random::new(slice).seed(),
            };
            let carried = place.carry(request, true, |_| Answer::Failed(SendError::Unreachable))?;
            let Content::Json(bytes) = carried.reply.content else { return Err("an import has no body".into()) };
            let value: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
            if value["data"]["status"] != "processing" {
                return Ok(value["data"].clone());
            }
        }
        Err("an import never ends".into())
    }
}

/// Draws a file with one or many overlong records.
fn long(random: &mut Random) -> Vec<u8> {
    let cell = random.one(&["x", "\"", ",", "é", "\"\"", "\r"]);
    let count = random.one(&[300, 5_000, 70_000]);
    let tail = "\n+40700000301,y\n";
    let lines = (0..index(random, 200)).map(|n| format!("+4070001{n:04},z\n")).collect::<Vec<_>>().concat();
    format!("phone_number,a\n+40700000300,{}{tail}{lines}", cell.repeat(count)).into_bytes()
}

impl Target for Imports<'_> {
    fn name(&self) -> &'static str {
        "import"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, Self::request)
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let Some(request) = http::parse(input, &self.tokens) else { return Ok(Seen::word("no request")) };
        let leads = request.target.starts_with("/user/leads");
        let mut layer = Layer::over(&self.store);
        let now = self.town.now;
        let mut place = Place {
            service: &self.town.service,
            judge: &self.town.judge,
            layer: &mut layer,
            now,
            seed: Random::new(5).seed(),
        };
        let carried = place.carry(request, true, |_| Answer::Failed(SendError::Unreachable))?;
        if carried.reply.status != 202 {
            return Ok(carried.seen);
        }
        let target = if leads { "/user/leads/imports/1" } else { "/user/do-not-call/imports/1" };
        let ended = self.finish(&mut layer, now, target)?;
        let number = |name: &str| ended[name].as_u64().unwrap_or(u64::MAX);
        let parts = ["created", "duplicates", "rejected"].map(number);
        if parts.iter().sum::<u64>() != number("processed") {
            return Err(format!("of {} records {parts:?} are told", number("processed")));
        }
        let report = verify(&layer).map_err(|stop| format!("{stop:?}"))?;
        if let Some(fault) = report.faults.first() {
            return Err(format!("the store is not sound: {fault}"));
        }
        let said = ended["status"].as_str().unwrap_or_default().to_owned();
        let kind = format!("{said} {} {:?}", ended["failure_reason"], parts.map(|part| part.min(2)));
        Ok(Seen { said, kind })
    }
}
