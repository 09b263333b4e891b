//! [`Session`]: one step over a store that is elsewhere, run again with every reads that it missed.

use alloc::vec::Vec;

use super::cold::Cold;
use super::foresight;
use crate::limits::remote::ROUNDS_MAX;
use crate::rate::{Caller, Rate};
use crate::seed::Seed;
use crate::service::Service;
use crate::step::{Output, OwnedInput};
use crate::time::Timestamp;
use crate::view::{Found, Read, Scene, Stop};

/// One step on its way.
#[derive(Clone, Debug)]
pub struct Session {
    input: OwnedInput,
    now: Timestamp,
    seed: Seed,
    cold: Cold,
    wanted: Vec<Read>,
    rounds: usize,
    careful: bool,
}

/// How far a step came.
#[derive(Debug)]
pub enum Progress {
    /// It wants these reads, all from one picture of the store.
    Need(Vec<Read>),
    /// It decided this.
    Done(Output),
}

/// Why a step came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The step stopped.
    Stopped(Stop),
    /// The host did not answer what was asked: its bug, said in words.
    Misread(&'static str),
}

impl Session {
    /// A step that has not begun.
    pub fn new(input: OwnedInput, now: Timestamp, seed: Seed) -> Self {
        Self { input, now, seed, cold: Cold::default(), wanted: Vec::new(), rounds: 0, careful: false }
    }

    /// Goes on with what was found for the reads of the last [`Progress::Need`], in their order; nothing at
    /// first.
    pub fn advance(&mut self, service: &Service, found: Vec<Found>) -> Result<Progress, Fault> {
        self.load(found)?;
        let scene = Scene { now: self.now, seed: self.seed, view: &self.cold, careful: self.careful };
        match service.step(&self.input.borrow(), &scene) {
            Ok(output) => Ok(Progress::Done(output)),
            Err(Stop::Missing(_)) if self.rounds == ROUNDS_MAX => Err(Fault::Stopped(Stop::OverBudget)),
            Err(Stop::Missing(mut reads)) => {
                if self.rounds == 0 {
                    reads.extend(self.foreseen(service, &reads));
                }
                let reads: Vec<Read> = reads.into_iter().map(foresight::wider).collect();
                self.rounds += 1;
                self.wanted.clone_from(&reads);
                Ok(Progress::Need(reads))
            }
            Err(stop) => Err(Fault::Stopped(stop)),
        }
    }

    /// What the step is sure to read besides, as long as nothing was read yet.
    fn foreseen(&self, service: &Service, reads: &[Read]) -> Vec<Read> {
        let OwnedInput::Http(request, _) = &self.input else { return Vec::new() };
        foresight::of(service, request).into_iter().filter(|read| !reads.contains(read)).collect()
    }

    fn load(&mut self, found: Vec<Found>) -> Result<(), Fault> {
        if found.len() != self.wanted.len() {
            return Err(Fault::Misread("there are not as many answers as reads"));
        }
        for (read, found) in core::mem::take(&mut self.wanted).into_iter().zip(found) {
            self.cold.load(read, found).map_err(Fault::Misread)?;
        }
        Ok(())
    }

    /// Begins anew with nothing read: what the limiter said stays said.
    pub fn restart(&mut self) {
        self.cold.forget_rows();
        self.wanted.clear();
        self.rounds = 0;
    }

    /// The time from here on.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// What may come to no end is marked before it is begun: see [`Scene::careful`].
    pub fn set_careful(&mut self, careful: bool) {
        self.careful = careful;
    }

    /// Another seed, before the step decided anything.
    pub fn set_seed(&mut self, seed: Seed) {
        self.seed = seed;
    }

    /// The input.
    pub fn input(&self) -> &OwnedInput {
        &self.input
    }

    /// The input, to add to it before a restart.
    pub fn input_mut(&mut self) -> &mut OwnedInput {
        &mut self.input
    }

    /// Takes what the limiter said before it was asked.
    pub fn tell(&mut self, caller: Caller, rate: Option<Rate>) {
        self.cold.tell(caller, rate);
    }

    /// What was read.
    pub fn cold(&self) -> &Cold {
        &self.cold
    }

    /// The randomness of the exchange.
    pub fn seed(&self) -> Seed {
        self.seed
    }
}
