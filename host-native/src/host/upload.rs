//! The two runs of a request whose body becomes an object: the first says which, the second what it is for.

use std::sync::Arc;

use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::Request;
use switchboard_core::object::{ObjectUpload, StoredObject, UploadError};
use switchboard_core::outside::Answer;
use switchboard_core::seed::Seed;
use switchboard_core::service;
use switchboard_core::step::{Outcome, Output};

use super::{Host, failure_reply};
use crate::limiter::RateDecisions;
use crate::writer::{Care, Exchange, WriterInput};

impl Host {
    /// Runs the request before its body: returns the object to make of that, or the refusal.
    pub async fn begin_upload(&self, request: &Request, seed: Seed) -> Result<ObjectUpload, Reply> {
        let output = self.run_upload(request, Vec::new(), seed).await?;
        match output.outcome {
            Outcome::StoreBody(upload) => Ok(upload),
            _ => Err(self.reply_of(request, output, seed)),
        }
    }

    /// Runs the request after its body was stored, or was not.
    pub async fn end_upload(
        self: &Arc<Self>,
        request: &Request,
        stored: Result<StoredObject, UploadError>,
        seed: Seed,
    ) -> Reply {
        match self.run_upload(request, vec![Answer::Stored(stored)], seed).await {
            Ok(output) => self.reply_of(request, output, seed),
            Err(reply) => reply,
        }
    }

    async fn run_upload(&self, request: &Request, answers: Vec<Answer>, seed: Seed) -> Result<Output, Reply> {
        let holder = self.holder(request, &RateDecisions::default());
        let told = RateDecisions::default();
        let exchange = Exchange { request: request.clone(), answers, told, seed, care: Care::Usual };
        let place = self.place(holder, &exchange).await.map_err(|full| self.refused(request, full, &seed))?;
        let (_, done) = self.writer.submit(holder, WriterInput::Http(Box::new(exchange)), seed).await;
        drop(place);
        match done {
            // An upload is never parked, and yields to nobody.
            Ok(Output { outcome: Outcome::Nothing, .. }) => Err(service::failed(request, None, &seed)),
            Ok(output) => Ok(output),
            Err(failure) => {
                self.take_care(&failure);
                Err(failure_reply(request, &failure, &seed))
            }
        }
    }
}
