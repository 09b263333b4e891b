//! One request from its first step to its reply, with every reply checked.

use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::{Body, Request};
use switchboard_core::object::UploadError;
use switchboard_core::outside::{Answer, Work};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::time::Timestamp;
use switchboard_core::view::Scene;
use switchboard_tests::judge::{Exchange, Judge};

use crate::layer::Layer;
use crate::target::Seen;
use crate::town::{MARKER, Town};

/// Most runs of one request: each asks for its body or for something outside.
const RUNS_MAX: usize = 12;

/// Where a request is executed.
pub struct Place<'p, 'm> {
    /// Service that executes it.
    pub service: &'p Service,
    /// Checker of its replies.
    pub judge: &'p Judge,
    /// Store with the changes so far.
    pub layer: &'p mut Layer<'m>,
    /// Time of every run.
    pub now: Timestamp,
    /// Random seed of the request.
    pub seed: Seed,
}

/// A reply with its classification.
pub struct Carried {
    /// Reply of the service.
    pub reply: Reply,
    /// Outcome for the table.
    pub seen: Seen,
}

impl Place<'_, '_> {
    /// Executes a request; `answer` answers for the outside. The error says which promise was broken.
    pub fn carry(
        &mut self,
        mut request: Request,
        own: bool,
        mut answer: impl FnMut(&Work) -> Answer,
    ) -> Result<Carried, String> {
        let mut answers = Vec::new();
        for _ in 0..RUNS_MAX {
            let scene = Scene { now: self.now, seed: self.seed, view: &*self.layer, careful: false };
            let output = self
                .service
                .step(&Input::Http(&request, &answers), &scene)
                .map_err(|stop| format!("the step stopped: {stop:?}"))?;
            self.layer.apply(&output.changes);
            match &output.outcome {
                Outcome::Reply(reply) => {
                    let foreign = own.then_some(MARKER);
                    let exchange =
                        Exchange { request: &request, output: &output, reply, outside: !answers.is_empty(), foreign };
                    let says = self.judge.judge(&exchange)?;
                    let operation = self.judge.route(&request).map_or("nothing", |route| route.id);
                    let seen =
                        Seen { said: reply.status.to_string(), kind: format!("{operation} {} {says}", reply.status) };
                    return Ok(Carried { reply: reply.clone(), seen });
                }
                Outcome::ReadBody(_) if request.body == Body::Pending => request.body = Body::Full(b"{}".to_vec()),
                Outcome::Wait if !output.sends.is_empty() => {
                    answers.extend(output.sends.iter().map(|send| answer(&send.work)));
                }
                Outcome::Park(..) => answers.push(Answer::Elapsed),
                Outcome::Yield => answers.push(Answer::Yielded),
                Outcome::StoreBody(_) => answers.push(Answer::Stored(Err(UploadError::Cut))),
                other => return Err(format!("the step ends with {other:?}")),
            }
        }
        Err("the request never ends".into())
    }
}

/// Returns whether a request carries a token of the first account.
pub fn is_own(town: &Town, request: &Request) -> bool {
    let header = request.header("authorization").unwrap_or_default();
    ["owner", "session", "reader"].iter().any(|name| header.contains(town.token(name)))
}
