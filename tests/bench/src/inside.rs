//! The service in this process, over a store of its own: steps and their commits without a server.

use std::path::Path;
use std::time::{Duration, Instant};

use switchboard::clock::{self, Clock};
use switchboard::store::Store;
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::outside::Answer;
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome, Output};
use switchboard_core::store::Change;
use switchboard_core::view::{Scene, View};

use crate::Failed;

/// A service with its store.
pub struct Inside {
    /// The store that steps read and commit to.
    pub store: Store,
    /// The service core with its default configuration.
    pub service: Service,
    clock: Clock,
}

/// Result of one committed step.
pub struct Stepped {
    /// Outcome of the step, such as its reply.
    pub outcome: Outcome,
    /// Whether the step changed any row.
    pub changed: bool,
    /// Duration of the step alone.
    pub step: Duration,
    /// Duration of applying its changes and committing them.
    pub commit: Duration,
}

impl Inside {
    /// Opens an existing store.
    pub fn open(data: &Path) -> Result<Self, Failed> {
        let service = Service::new(Config::default());
        Ok(Self { store: Store::existing(data)?, service, clock: Clock::default() })
    }

    /// Runs one step and commits it.
    pub fn step(&self, input: &Input<'_>) -> Result<Stepped, Failed> {
        self.seeded(input, clock::seed()?)
    }

    fn seeded(&self, input: &Input<'_>, seed: Seed) -> Result<Stepped, Failed> {
        let mut write = self.store.begin()?;
        let began = Instant::now();
        let output = self.decide(input, &write.view(None)?, seed)?;
        let step = began.elapsed();
        let changed = !output.changes.is_empty();
        write.apply(output.changes);
        write.commit()?;
        let commit = began.elapsed().saturating_sub(step);
        Ok(Stepped { outcome: output.outcome, changed, step, commit })
    }

    /// Executes requests, which must succeed, in one commit; `note` receives the changes of each. Returns how long the
    /// commit took.
    pub fn group<'r>(
        &self,
        requests: impl Iterator<Item = &'r Request>,
        mut note: impl FnMut(&[Change]),
    ) -> Result<Duration, Failed> {
        let mut write = self.store.begin()?;
        for request in requests {
            let output = self.decide(&Input::Http(request, &[]), &write.view(None)?, clock::seed()?)?;
            succeeded(request, &output.outcome)?;
            note(&output.changes);
            write.apply(output.changes);
        }
        let began = Instant::now();
        write.commit()?;
        Ok(began.elapsed())
    }

    /// Executes a request, which must succeed, on a snapshot; its changes are dropped.
    pub fn look(&self, request: &Request) -> Result<Outcome, Failed> {
        let snapshot = self.store.whole()?;
        let outcome = self.decide(&Input::Http(request, &[]), &snapshot.view(None), clock::seed()?)?.outcome;
        succeeded(request, &outcome)?;
        Ok(outcome)
    }

    /// Starts an import of leads into the first campaign and returns the turns of its request; the ticks that follow
    /// carry it out.
    pub fn import(&self, key: &str, csv: String) -> Result<Vec<Stepped>, Failed> {
        let request = post(key, "/user/leads/import?campaign_id=1", "text/csv", csv);
        let (seed, mut answers, mut turns) = (clock::seed()?, Vec::new(), Vec::new());
        let mut turn = self.seeded(&Input::Http(&request, &answers), seed)?;
        while turn.outcome == Outcome::Yield {
            turns.push(turn);
            answers.push(Answer::Elapsed);
            turn = self.seeded(&Input::Http(&request, &answers), seed)?;
        }
        succeeded(&request, &turn.outcome)?;
        turns.push(turn);
        Ok(turns)
    }

    fn decide(&self, input: &Input<'_>, view: &dyn View, seed: Seed) -> Result<Output, Failed> {
        let scene = Scene { now: self.clock.now(), seed, view, careful: false };
        Ok(self.service.step(input, &scene).map_err(|stop| format!("{stop:?}"))?)
    }
}

/// Checks that the outcome is a successful reply.
pub fn succeeded(request: &Request, outcome: &Outcome) -> Result<(), Failed> {
    match outcome {
        Outcome::Reply(reply) if reply.status < 300 => Ok(()),
        outcome => Err(format!("{}: {outcome:?}", request.target).into()),
    }
}

/// Returns a POST request with a token.
pub fn post(key: &str, target: &str, media: &str, body: impl Into<Vec<u8>>) -> Request {
    let headers = vec![
        ("authorization", format!("Bearer {key}").into_bytes()),
        ("content-type", media.as_bytes().to_vec()),
        ("host", b"bench".to_vec()),
    ];
    let body = Body::Full(body.into());
    Request { method: Method::Post, target: target.into(), headers, body, peer: None, door: Door::Main }
}

/// Returns a GET request with a token.
pub fn get(key: &str, target: &str) -> Request {
    Request { method: Method::Get, body: Body::None, ..post(key, target, "application/json", "") }
}
