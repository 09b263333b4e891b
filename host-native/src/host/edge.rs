//! What edge nodes ask of this one, which has the rows.

use switchboard_core::remote::region;
use switchboard_core::remote::wire::{CommitCall, ReadAnswer, ReadCall};
use switchboard_core::view::Stop;

use super::Host;
use crate::limiter::RateDecisions;
use crate::room::Holder;
use crate::store::{Admission, Snapshot};
use crate::writer::{Failure, WriterInput};

impl Host {
    /// Executes the reads of a step at an edge node; `None` if something it read before no longer holds.
    pub async fn read_for(&self, call: &ReadCall) -> Result<Option<ReadAnswer>, Failure> {
        let told = RateDecisions::default();
        self.on_snapshot(|snapshot| self.answer_for(call, snapshot, &told)).await
    }

    fn answer_for(
        &self,
        call: &ReadCall,
        snapshot: &Snapshot,
        told: &RateDecisions,
    ) -> Result<Option<ReadAnswer>, Failure> {
        let now = self.clock.now();
        let limits = Admission { limiter: &self.limiter, told, now, full: false, large: None };
        let view = snapshot.view(Some(&limits));
        if !region::holds(&view, &call.seen).map_err(Failure::Stopped)? {
            return Ok(None);
        }
        let admitted = match &call.shown {
            Some(shown) => region::admit(&view, shown, now).map_err(Failure::Stopped)?,
            None => None,
        };
        let found = region::carry_out(&view, &call.reads).map_err(Failure::Stopped)?;
        let seed = self.clock.seed().map_err(|_| Failure::Stopped(Stop::Failed))?;
        let rates = admitted.map(|(credential, rate)| {
            self.note(credential);
            (credential.bucket(), rate)
        });
        Ok(Some(ReadAnswer { now, seed, found, rates: rates.into_iter().collect() }))
    }

    /// Commits the changes of a step at an edge node, if everything it read still holds.
    pub async fn commit_for(&self, call: CommitCall) -> Result<(), Failure> {
        self.decide(Holder::Service, WriterInput::Commit(call)).await.map(drop)
    }
}
