//! One request to a store that has something of everything: of any kind, or a read with queries, cursors, filters and
//! ids of every kind.

use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::exchange::{Place, is_own};
use crate::http::Text;
use crate::layer::Layer;
use crate::town::Town;
use crate::{answer, corpus, draw, http};

/// Target `request` or `query`.
pub struct Requests<'t> {
    name: &'static str,
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
    drawn: fn(&mut Random, &Town) -> Text,
}

impl<'t> Requests<'t> {
    /// Creates the target for requests of any kind.
    pub fn all(town: &'t Town) -> Self {
        Self { name: "request", town, corpus: corpus::of("request"), drawn: draw::request }
    }

    /// Creates the target for reads.
    pub fn reads(town: &'t Town) -> Self {
        Self { name: "query", town, corpus: corpus::of("query"), drawn: draw::read }
    }
}

impl Target for Requests<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| (self.drawn)(random, self.town).bytes())
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        one(self.town, input)
    }
}

/// Executes the request of an input over the town's store.
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
