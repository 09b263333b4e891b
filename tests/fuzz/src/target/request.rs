//! One request of any kind to a store that has something of everything.

use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::exchange::{Place, is_own};
use crate::layer::Layer;
use crate::town::Town;
use crate::{answer, corpus, draw, http};

/// Requests.
pub struct Requests<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
}

impl<'t> Requests<'t> {
    /// Requests to a town.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("request") }
    }
}

impl Target for Requests<'_> {
    fn name(&self) -> &'static str {
        "request"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| draw::request(random, self.town).bytes())
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        one(self.town, input)
    }
}

/// Carries out the one request of an input over the town's store.
pub fn one(town: &Town, input: &[u8]) -> Result<Seen, String> {
    let Some(request) = http::parse(input, &town.tokens) else { return Ok(Seen::word("no request")) };
    let own = is_own(town, &request);
    let mut layer = Layer::over(&town.store);
    let mut random = Random::new(corpus::digest(input));
    let mut place =
        Place { service: &town.service, judge: &town.judge, layer: &mut layer, now: town.now, seed: random.seed() };
    let carried = place.carry(request, own, |work| answer::parse(&answer::draw(&mut random), work))?;
    Ok(carried.seen)
}
