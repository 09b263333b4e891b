//! Histories: requests, jobs and jumps of the clock, one after another in one store, which must be sound at the end.

use std::collections::VecDeque;

use switchboard_core::step::{Input, Send};
use switchboard_core::time::Timestamp;
use switchboard_core::verify::verify;
use switchboard_core::view::Scene;
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::exchange::{Place, is_own};
use crate::layer::Layer;
use crate::town::Town;
use crate::{answer, corpus, draw, http};

/// Separator between two acts.
pub const BETWEEN: &[u8] = b"\n===\n";
/// Most acts of a drawn history.
const ACTS_MAX: u64 = 10;
/// Jumps of the clock, seconds: from none to the end of the calendar.
const JUMPS: [u64; 10] = [0, 1, 5, 61, 3_600, 90_000, 2_700_000, 40_000_000, 3_000_000_000, 300_000_000_000];

/// Target `session`: histories of acts in one store.
pub struct Sessions<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
}

impl<'t> Sessions<'t> {
    /// Creates the target for a town.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("session") }
    }
}

/// A history being played.
pub struct Life<'t> {
    town: &'t Town,
    /// Store with the changes so far.
    pub layer: Layer<'t>,
    /// Time of the next act, which only advances.
    pub now: Timestamp,
    pending: VecDeque<Send>,
    random: Random,
}

impl<'t> Life<'t> {
    /// Begins a history in a town.
    pub fn new(town: &'t Town, salt: u64) -> Self {
        let layer = Layer::over(&town.store);
        Self { town, layer, now: town.now, pending: VecDeque::new(), random: Random::new(salt) }
    }

    /// Performs one act; returns the outcome of its reply, if it was a request.
    pub fn act(&mut self, act: &[u8]) -> Result<Option<Seen>, String> {
        if let Some(seconds) = act.strip_prefix(b"tick ") {
            let seconds = std::str::from_utf8(seconds).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            self.now = self.now.plus_seconds(seconds);
            return self.job(&Input::Tick).map(|()| None);
        }
        if let Some(text) = act.strip_prefix(b"answer\n") {
            let Some(send) = self.pending.pop_front() else { return Ok(None) };
            let answer = answer::parse(text, &send.work);
            return self.job(&Input::Answered(send.ticket, answer)).map(|()| None);
        }
        let Some(request) = http::parse(act, &self.town.tokens) else { return Ok(None) };
        let own = is_own(self.town, &request);
        let seed = self.random.seed();
        let Self { town, layer, now, random, .. } = self;
        let mut place = Place { service: &town.service, judge: &town.judge, layer, now: *now, seed };
        place.carry(request, own, |work| answer::parse(&answer::draw(random), work)).map(|carried| Some(carried.seen))
    }

    fn job(&mut self, input: &Input<'_>) -> Result<(), String> {
        let scene = Scene { now: self.now, seed: self.random.seed(), view: &self.layer, careful: false };
        let output = self.town.service.step(input, &scene).map_err(|stop| format!("a job stopped: {stop:?}"))?;
        self.layer.apply(&output.changes);
        self.pending.extend(output.sends);
        Ok(())
    }

    /// Checks that the store is sound.
    pub fn sound(&self) -> Result<(), String> {
        let report = verify(&self.layer).map_err(|stop| format!("the store cannot be read: {stop:?}"))?;
        report.faults.first().map_or(Ok(()), |fault| Err(format!("the store is not sound: {fault}")))
    }
}

/// Splits an input into acts.
pub fn acts(input: &[u8]) -> Vec<&[u8]> {
    let mut acts = Vec::new();
    let mut rest = input;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|window| window == BETWEEN) {
        acts.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    acts.push(rest);
    acts
}

/// Draws a history of `acts` acts.
pub fn script(random: &mut Random, town: &Town, acts: u64) -> Vec<u8> {
    let acts: Vec<Vec<u8>> = (0..acts)
        .map(|_| match random.below(8) {
            0 => format!("tick {}", random.one(&JUMPS)).into_bytes(),
            1 => [b"answer\n".to_vec(), answer::draw(random)].concat(),
            _ => draw::request(random, town).bytes(),
        })
        .collect();
    acts.join(BETWEEN)
}

impl Target for Sessions<'_> {
    fn name(&self) -> &'static str {
        "session"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let acts = 2 + random.below(ACTS_MAX);
            script(random, self.town, acts)
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let mut life = Life::new(self.town, corpus::digest(input));
        let mut last = Seen::word("nothing");
        for act in acts(input) {
            if let Some(seen) = life.act(act)? {
                last = seen;
            }
        }
        life.sound()?;
        Ok(Seen { said: "sound".into(), kind: format!("last {}", last.kind) })
    }
}
