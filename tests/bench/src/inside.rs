//! The service in this process, over a store of its own: steps and their commits without a server.

use std::path::Path;
use std::time::{Duration, Instant};

use switchboard::clock::{self, Clock};
use switchboard::store::Store;
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::output::{Input, Outcome};
use switchboard_core::service::{Config, Service};
use switchboard_core::store::Change;
use switchboard_core::view::Scene;

use crate::Failed;

/// A service and its store.
pub struct Inside {
    /// The store.
    pub store: Store,
    /// The service.
    pub service: Service,
    clock: Clock,
}

/// What one step came to.
pub struct Stepped {
    /// What it decided.
    pub outcome: Outcome,
    /// What it changed.
    pub changes: Vec<Change>,
    /// How long it took.
    pub step: Duration,
    /// How long its changes and their commit took.
    pub commit: Duration,
}

impl Inside {
    /// Opens a store that is there.
    pub fn open(data: &Path) -> Result<Self, Failed> {
        let service = Service::new(Config::default());
        Ok(Self { store: Store::existing(data)?, service, clock: Clock::default() })
    }

    /// Runs and commits one step.
    pub fn step(&self, input: &Input<'_>) -> Result<Stepped, Failed> {
        let write = self.store.begin()?;
        let seed = clock::seed()?;
        let began = Instant::now();
        let (output, step) = {
            let mut rows = write.rows()?;
            let output = {
                let view = rows.view(None);
                let scene = Scene { now: self.clock.now(), seed, view: &view };
                self.service.step(input, &scene).map_err(|stop| format!("{stop:?}"))?
            };
            let step = began.elapsed();
            rows.apply(&output.changes)?;
            (output, step)
        };
        write.commit()?;
        Ok(Stepped {
            outcome: output.outcome,
            changes: output.changes,
            step,
            commit: began.elapsed().saturating_sub(step),
        })
    }

    /// Carries out requests in one commit; gives what each changed.
    pub fn group<'r>(&self, requests: impl Iterator<Item = &'r Request>) -> Result<Vec<Vec<Change>>, Failed> {
        let write = self.store.begin()?;
        let mut changes = Vec::new();
        {
            let mut rows = write.rows()?;
            for request in requests {
                let output = {
                    let view = rows.view(None);
                    let scene = Scene { now: self.clock.now(), seed: clock::seed()?, view: &view };
                    self.service.step(&Input::Http(request, &[]), &scene).map_err(|stop| format!("{stop:?}"))?
                };
                if !matches!(&output.outcome, Outcome::Reply(reply) if reply.status < 300) {
                    return Err(format!("{}: {:?}", request.target, output.outcome).into());
                }
                rows.apply(&output.changes)?;
                changes.push(output.changes);
            }
        }
        write.commit()?;
        Ok(changes)
    }
}

/// A POST with a token.
pub fn post(key: &str, target: &str, media: &str, body: impl Into<Vec<u8>>) -> Request {
    let headers = vec![
        ("authorization", format!("Bearer {key}").into_bytes()),
        ("content-type", media.as_bytes().to_vec()),
        ("host", b"bench".to_vec()),
    ];
    let body = Body::Full(body.into());
    Request { method: Method::Post, target: target.into(), headers, body, peer: None, door: Door::Main }
}

/// A GET with a token.
pub fn get(key: &str, target: &str) -> Request {
    Request { method: Method::Get, body: Body::None, ..post(key, target, "application/json", "") }
}
