//! What reads: requests on a snapshot, and what the host itself wants to know.

use switchboard_core::http::list::ListChunk;
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::Request;
use switchboard_core::http::route::Who;
use switchboard_core::job;
use switchboard_core::outside::{Answer, Unwritten};
use switchboard_core::seed::Seed;
use switchboard_core::service::figures::{self, StoreFigures};
use switchboard_core::step::{Input, Outcome, Output};
use switchboard_core::view::{Read, Scene, Stop};

use super::{Host, LOADS_MAX, Verdict, failure_reply};
use crate::large::{LargeReads, Turn};
use crate::limiter::RateDecisions;
use crate::room::Holder;
use crate::send::Hearing;
use crate::sparse::Sparse;
use crate::store::{Admission, Snapshot, StoreError};
use crate::writer::{Failure, guarded};

/// Who takes turns before a step is run.
pub(super) enum ReadTurns<'h> {
    /// Accounts that are known to read much: their step stops.
    Known(&'h LargeReads),
    /// This is the turn of such an account.
    Taken(Turn),
}

impl Host {
    /// Runs a write on a snapshot before its body is read, so that a refused one never waits for the writer.
    pub async fn precheck(&self, request: &Request, told: &RateDecisions, seed: Seed) -> Verdict {
        match self.look(request, &[], told, seed, None).await {
            Ok(Output { outcome: Outcome::ReadBody(max), .. }) => Verdict::Read(max),
            Ok(Output { outcome: Outcome::StoreBody(upload), .. }) => Verdict::Store(upload.account),
            Ok(output) if output.changes.is_empty() && output.sends.is_empty() => {
                Verdict::Refused(self.reply_of(request, output, seed))
            }
            Ok(_) => Verdict::Write,
            Err(Failure::Stopped(Stop::Elsewhere(account))) => Verdict::Elsewhere(account),
            Err(failure) => Verdict::Refused(failure_reply(request, &failure, &seed)),
        }
    }

    /// Answers a request that changes nothing, from a snapshot; the error is the account whose rows another writer has.
    /// Accounts that read much wait for their turn.
    pub async fn read(&self, request: &Request, told: &RateDecisions, seed: Seed) -> Result<Reply, u32> {
        let (mut answers, mut hearing) = (Vec::new(), Hearing::default());
        let (mut turn, mut deadline) = (None, None);
        loop {
            let turns = turn.take().map_or(ReadTurns::Known(&self.large), ReadTurns::Taken);
            let looked = self.look(request, &answers, told, seed, Some(turns)).await;
            match looked {
                Ok(Output { outcome: Outcome::Wait, sends, account, .. }) => {
                    let payer = self.payer(request, told, account);
                    Box::pin(self.perform(sends, &mut answers, payer, &mut hearing)).await;
                }
                Ok(Output { outcome: Outcome::Park(topic, until), .. }) => {
                    let until = *deadline.get_or_insert(until);
                    if !Box::pin(self.is_news(request, &answers, told, seed, (topic, until))).await {
                        answers.push(Answer::Elapsed);
                    }
                }
                Ok(output) => {
                    let reply = self.reply_of(request, output, seed);
                    self.large.note(reply.content.made().len(), || told.account());
                    return Ok(reply);
                }
                Err(Failure::Stopped(Stop::Missing(_))) => match self.large.turn(self.holder(request, told)).await {
                    Ok(taken) => turn = Some(taken),
                    Err(full) => return Ok(self.refused(request, full, &seed)),
                },
                Err(Failure::Stopped(Stop::Elsewhere(account))) => return Err(account),
                Err(failure) => return Ok(failure_reply(request, &failure, &seed)),
            }
        }
    }

    /// Returns the next piece of a list; `None` if it cannot be read any more, so that the answer breaks off.
    pub async fn read_rest(&self, request: &Request, rest: Unwritten, told: &RateDecisions) -> Option<ListChunk> {
        let seed = self.clock.seed().ok()?;
        let turn = self.large.turn(self.holder(request, told)).await.ok()?;
        // If the key was deleted meanwhile, the step refuses and the answer breaks off.
        let looked = self.look(request, &[Answer::Rest(rest)], told, seed, Some(ReadTurns::Taken(turn))).await;
        match looked.ok()?.outcome {
            Outcome::Reply(Reply { content: Content::Piece(piece), .. }) => {
                self.large.note(piece.bytes.len(), || told.account());
                Some(piece)
            }
            _ => None,
        }
    }

    fn snapshot(&self) -> Result<Snapshot, Failure> {
        self.store.snapshot().map_err(|error| unavailable(&error))
    }

    /// Runs a step on a snapshot; with `turns`, accounts that read much take theirs.
    pub(super) async fn look(
        &self,
        request: &Request,
        answers: &[Answer],
        told: &RateDecisions,
        seed: Seed,
        turns: Option<ReadTurns<'_>>,
    ) -> Result<Output, Failure> {
        let large = if let Some(ReadTurns::Known(large)) = turns { Some(large) } else { None };
        let step = |snapshot: &Snapshot| {
            let now = self.clock.now();
            let limits = Admission { limiter: &self.limiter, told, now, full: self.store.is_full(), large };
            let view = snapshot.view(Some(&limits));
            let scene = Scene { now, seed, view: &view, careful: false };
            guarded(&self.metrics, || self.service.step(&Input::Http(request, answers), &scene))
        };
        if self.spans(request) {
            return self.on_whole(step).await;
        }
        match &turns {
            Some(ReadTurns::Taken(turn)) => self.on_snapshot(|snapshot| turn.read(|| step(snapshot))).await,
            _ => self.on_snapshot(step).await,
        }
    }

    /// Returns whether a request may read rows of many accounts, of which other writers have some.
    fn spans(&self, request: &Request) -> bool {
        let may = || matches!(self.service.who(request.method, &request.target), Some(Who::Operator | Who::Engine));
        !self.store.is_whole() && !request.method.is_write() && may()
    }

    /// Reads from where rows are kept, whoever writes them.
    async fn on_whole<T>(&self, read: impl Fn(&Snapshot) -> Result<T, Failure>) -> Result<T, Failure> {
        let place = self.rooms.loads.take(Holder::Service).await;
        let _place = place.map_err(|_| Failure::Unavailable)?;
        tokio::task::block_in_place(|| read(&self.store.whole().map_err(|error| unavailable(&error))?))
    }

    /// Reads from a snapshot, again from a newer one when rows that it missed were loaded. What it read was true until it
    /// had read it.
    pub(super) async fn on_snapshot<T>(&self, read: impl Fn(&Snapshot) -> Result<T, Failure>) -> Result<T, Failure> {
        for _ in 0..LOADS_MAX {
            let (read, shared) = {
                let snapshot = self.snapshot()?;
                (read(&snapshot), snapshot.shared())
            };
            match read {
                Err(Failure::Stopped(Stop::Missing(missing))) if !missing.is_empty() => self.load(missing).await?,
                read => {
                    self.store.confirm_read().await.map_err(|error| unavailable(&error))?;
                    let Some(shared) = shared else { return read };
                    if self.store.is_current(shared).await.map_err(|error| unavailable(&error))? {
                        return read;
                    }
                }
            }
        }
        Err(Failure::Stopped(Stop::OverBudget))
    }

    async fn load(&self, missing: Vec<Read>) -> Result<(), Failure> {
        self.store.load(missing).await.map_err(|error| unavailable(&error))
    }

    /// Updates the job metrics from the store, and counts what its accounts hold.
    pub async fn figures(&self) -> Result<StoreFigures, Failure> {
        let jobs = self.on_snapshot(|snapshot| job::figures(&snapshot.view(None)).map_err(Failure::Stopped)).await?;
        self.metrics.jobs(&jobs);
        self.on_snapshot(|snapshot| figures::figures(&snapshot.view(None)).map_err(Failure::Stopped)).await
    }

    /// Returns the ids of all accounts, whoever serves them.
    pub async fn accounts(&self) -> Result<Vec<u32>, Failure> {
        self.on_snapshot(|snapshot| figures::accounts(&snapshot.view(None)).map_err(Failure::Stopped)).await
    }
}

fn unavailable(error: &StoreError) -> Failure {
    static FAILED: Sparse = Sparse::new();
    if let Some(more) = FAILED.more() {
        tracing::error!(%error, more, "the store failed");
    }
    Failure::Unavailable
}
