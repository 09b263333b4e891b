//! The shell for `wasi:http` 0.2: one request after another, every call blocks.

mod streams;

use std::time::Duration;

use switchboard_core::http::request::{Body, Method};
use switchboard_core::remote::NodeEvent;

use self::bindings::wasi::cli0_2_0::environment::get_environment;
use self::bindings::wasi::http0_2_0::outgoing_handler;
use self::bindings::wasi::http0_2_0::types::{
    self, FutureIncomingResponse, IncomingRequest, IncomingResponse, OutgoingRequest, OutgoingResponse,
    ResponseOutparam,
};
use self::bindings::wasi::random0_2_0::random::get_random_bytes;
use self::streams::{Receiving, Sending};
use crate::alike::{address, alike, set_status};
use crate::headers::{self, Fields, Framed, from_region, has_body, is_refusal, to_region};
use crate::incoming::Incoming;
use crate::limits::{ANSWER_BYTES_MAX, ASK_FIRST_BYTE, BETWEEN_BYTES, CONNECT, nanoseconds, pass_first_byte};
use crate::settings::EdgeSettings;
use crate::visit::{PASS, Passed, Shell, answer, at_once, site};

/// Bindings generated from the interface of `wasi:http` 0.2.
mod bindings {
    #![allow(unsafe_code, missing_docs, clippy::pedantic)]
    wit_bindgen::generate!({ world: "service-p2", path: "../../wit/service", generate_all });
    use super::Service;
    export!(Service with_types_in self);
}

struct Service;

impl bindings::exports::wasi::http0_2_0::incoming_handler::Guest for Service {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let method = method(&request.method());
        let sent = request.headers().entries();
        let head = headers::request(method, request.path_with_query(), request.authority(), &sent);
        let body = match head.body {
            Body::None => Incoming::absent(),
            _ => Incoming::pending(Receiving::of_request(request), head.content_length()),
        };
        at_once(answer(site(get_environment), head, body, seed(), Exchange(out)));
    }
}

/// A request that must be answered.
struct Exchange(ResponseOutparam);

impl Shell for Exchange {
    type Source = Receiving;
    type Sent = ();

    async fn ask(&self, settings: &EdgeSettings, path: &str, body: Vec<u8>) -> NodeEvent {
        let length = Some(body.len() as u64);
        let Some((sending, coming)) = send(settings, path, length, ASK_FIRST_BYTE) else { return NodeEvent::Lost };
        if sending.write(&body) {
            sending.finish();
        }
        let Some(response) = wait(&coming) else { return NodeEvent::Lost };
        let status = response.status();
        let mut answer = Incoming::pending(Receiving::of_response(&response), None);
        match answer.fill(ANSWER_BYTES_MAX).await {
            Ok(()) => NodeEvent::Answer { status, body: answer.take_kept() },
            Err(_) => NodeEvent::Lost,
        }
    }

    async fn pass(self, settings: &EdgeSettings, passed: Passed<Receiving>) {
        let Passed { method, head, mut body, fallback } = passed;
        let length = body.length().map(|length| length + head.len() as u64);
        let sent = send(settings, PASS, length, pass_first_byte(body.length()));
        let coming = sent.map(|(sending, coming)| {
            if sending.write(&[head, body.take_kept()].concat()) && !body.is_broken() {
                match body.rest() {
                    Some(rest) => sending.pour(rest),
                    None => sending.finish(),
                }
            }
            coming
        });
        // The region may have answered before it had read the whole body.
        body.drain().await;
        match coming.and_then(|coming| wait(&coming)) {
            Some(response) if !is_refusal(&response.headers().entries()) => self.forward(&response, method),
            _ => self.reply(fallback).await,
        }
    }

    async fn reply(self, framed: Framed) {
        if let Some(sending) = self.begin(framed.status, &framed.headers)
            && sending.write(&framed.body)
        {
            sending.finish();
        }
    }
}

impl Exchange {
    /// Sends the head of the answer, so that its body has a receiver.
    fn begin(self, status: u16, headers: &Fields) -> Option<Sending> {
        let response = OutgoingResponse::new(fields(headers));
        set_status!(response, status);
        let body = response.body().ok();
        ResponseOutparam::set(self.0, Ok(response));
        body.and_then(Sending::new)
    }

    /// Forwards the region's answer unchanged.
    fn forward(self, response: &IncomingResponse, method: Method) {
        let status = response.status();
        let headers = from_region(response.headers().entries(), method);
        match self.begin(status, &headers) {
            Some(sending) if has_body(status, method) => sending.pour(&mut Receiving::of_response(response)),
            Some(sending) => sending.finish(),
            None => {}
        }
    }
}

/// Sends a request to a path of the region; `None` if the host refuses.
fn send(
    settings: &EdgeSettings,
    path: &str,
    length: Option<u64>,
    first_byte: Duration,
) -> Option<(Sending, FutureIncomingResponse)> {
    let request = OutgoingRequest::new(fields(&to_region(settings, length)));
    address!(request, settings, path);
    let sending = Sending::new(request.body().ok()?)?;
    let coming = outgoing_handler::handle(request, Some(options(first_byte))).ok()?;
    Some((sending, coming))
}

/// Waits for the answer to a request; `None` if the region does not answer.
fn wait(coming: &FutureIncomingResponse) -> Option<IncomingResponse> {
    coming.subscribe().block();
    coming.get()?.ok()?.ok()
}

alike!();

/// Draws a seed of 32 random bytes.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    let bytes = get_random_bytes(seed.len() as u64);
    seed.copy_from_slice(&bytes);
    seed
}
