//! Reads with queries, cursors, filters and ids of every kind.

use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::town::Town;
use crate::{corpus, draw};

/// Reads.
pub struct Queries<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
}

impl<'t> Queries<'t> {
    /// Reads of a town.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("query") }
    }
}

impl Target for Queries<'_> {
    fn name(&self) -> &'static str {
        "query"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| draw::read(random, self.town).bytes())
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        super::request::one(self.town, input)
    }
}
