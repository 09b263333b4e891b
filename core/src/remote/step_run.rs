//! [`StepRun`]: one step over a remote store, rerun with each batch of missing reads.

use alloc::vec::Vec;

use super::foresight;
use super::loaded::LoadedReads;
use crate::limits::remote::ROUNDS_MAX;
use crate::rate::{Caller, Rate};
use crate::seed::Seed;
use crate::service::Service;
use crate::step::{Output, OwnedInput};
use crate::time::Timestamp;
use crate::view::{Found, Read, Scene, Stop};

/// One step in progress.
#[derive(Clone, Debug)]
pub struct StepRun {
    input: OwnedInput,
    now: Timestamp,
    seed: Seed,
    loaded: LoadedReads,
    wanted: Vec<Read>,
    rounds: usize,
    careful: bool,
}

/// State of a step after a run.
#[derive(Debug)]
pub enum Progress {
    /// It needs these reads, all from one snapshot of the store.
    Need(Vec<Read>),
    /// It is finished, with this decision.
    Done(Output),
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The step stopped.
    Stopped(Stop),
    /// The host's results do not match the reads: a bug of the host, described in words.
    Misread(&'static str),
}

impl StepRun {
    /// Starts the run of a step for an input; nothing is read yet.
    pub fn new(input: OwnedInput, now: Timestamp, seed: Seed) -> Self {
        Self { input, now, seed, loaded: LoadedReads::default(), wanted: Vec::new(), rounds: 0, careful: false }
    }

    /// Continues with the results of the last [`Progress::Need`], in the order of the reads; empty on the first call.
    /// More than [`ROUNDS_MAX`] rounds end with [`Stop::OverBudget`].
    pub fn advance(&mut self, service: &Service, found: Vec<Found>) -> Result<Progress, Fault> {
        self.load(found)?;
        let scene = Scene { now: self.now, seed: self.seed, view: &self.loaded, careful: self.careful };
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

    /// Returns predicted reads to add to the first round.
    fn foreseen(&self, service: &Service, reads: &[Read]) -> Vec<Read> {
        let OwnedInput::Http(request, _) = &self.input else { return Vec::new() };
        foresight::of(service, request).into_iter().filter(|read| !reads.contains(read)).collect()
    }

    fn load(&mut self, found: Vec<Found>) -> Result<(), Fault> {
        if found.len() != self.wanted.len() {
            return Err(Fault::Misread("there are not as many answers as reads"));
        }
        for (read, found) in core::mem::take(&mut self.wanted).into_iter().zip(found) {
            self.loaded.load(read, found).map_err(Fault::Misread)?;
        }
        Ok(())
    }

    /// Starts over with nothing read; rate-limit decisions are kept.
    pub fn restart(&mut self) {
        self.loaded.forget_rows();
        self.wanted.clear();
        self.rounds = 0;
    }

    /// Sets the time of the following runs.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Sets whether work that may never finish is marked before it starts: see [`Scene::careful`].
    pub fn set_careful(&mut self, careful: bool) {
        self.careful = careful;
    }

    /// Replaces the seed; only valid before the step has decided anything.
    pub fn set_seed(&mut self, seed: Seed) {
        self.seed = seed;
    }

    /// Returns the input, including the answers so far.
    pub fn input(&self) -> &OwnedInput {
        &self.input
    }

    /// Returns the input to extend it, for example with an answer before a restart.
    pub fn input_mut(&mut self) -> &mut OwnedInput {
        &mut self.input
    }

    /// Stores a rate-limit decision before the step asks for it.
    pub fn tell(&mut self, caller: Caller, rate: Option<Rate>) {
        self.loaded.tell(caller, rate);
    }

    /// Returns the data read so far.
    pub fn loaded(&self) -> &LoadedReads {
        &self.loaded
    }

    /// Returns the seed of the exchange.
    pub fn seed(&self) -> Seed {
        self.seed
    }
}
