//! The shell for `wasi:http` 0.3: one instance answers many requests concurrently, so a request's state is its future.

mod streams;

use std::time::Duration;

use switchboard_core::http::request::{Body, Method};
use switchboard_core::remote::NodeEvent;
use wit_bindgen::{FutureReader, StreamReader, spawn_local};

use self::bindings::wasi::cli0_3_0::environment::get_environment;
use self::bindings::wasi::http0_3_0::client;
use self::bindings::wasi::http0_3_0::types::{self, ErrorCode, Request, Response};
use self::bindings::wasi::random0_3_0::random::get_random_bytes;
use self::streams::{End, Receiving, Sending, consume};
use crate::alike::{address, alike, set_status};
use crate::headers::{self, Fields, Framed, from_region, has_body, is_refusal, to_region};
use crate::incoming::Incoming;
use crate::limits::{ANSWER_BYTES_MAX, ASK_FIRST_BYTE, BETWEEN_BYTES, CONNECT, nanoseconds, pass_first_byte};
use crate::settings::EdgeSettings;
use crate::visit::{PASS, Passed, Shell, answer, site};

/// Bindings generated from the interface of `wasi:http` 0.3.
mod bindings {
    #![allow(unsafe_code, missing_docs, clippy::pedantic)]
    wit_bindgen::generate!({ world: "service-p3", path: "../../wit/service", generate_all });
    use super::Service;
    export!(Service with_types_in self);
}

struct Service;

impl bindings::exports::wasi::http0_3_0::handler::Guest for Service {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let method = method(&request.get_method());
        let sent = request.get_headers().copy_all();
        let head = headers::request(method, request.get_path_with_query(), request.get_authority(), &sent);
        let body = match head.body {
            Body::None => Incoming::absent(),
            _ => Incoming::pending(Receiving::of_request(request), head.content_length()),
        };
        Ok(answer(site(get_environment), head, body, seed(), Service).await)
    }
}

impl Shell for Service {
    type Source = Receiving;
    type Sent = Response;

    async fn ask(&self, settings: &EdgeSettings, path: &str, body: Vec<u8>) -> NodeEvent {
        let (sending, receiver) = Sending::new();
        let length = Some(body.len() as u64);
        let Some(request) = request(settings, path, length, ASK_FIRST_BYTE, receiver) else { return NodeEvent::Lost };
        spawn_local(sending.whole(body));
        let Ok(response) = client::send(request).await else { return NodeEvent::Lost };
        let status = response.get_status_code();
        let mut answer = Incoming::pending(Receiving::of_response(response), None);
        match answer.fill(ANSWER_BYTES_MAX).await {
            Ok(()) => NodeEvent::Answer { status, body: answer.take_kept() },
            Err(_) => NodeEvent::Lost,
        }
    }

    async fn pass(self, settings: &EdgeSettings, passed: Passed<Receiving>) -> Response {
        let Passed { method, head, mut body, fallback } = passed;
        let (sending, receiver) = Sending::new();
        let length = body.length().map(|length| length + head.len() as u64);
        let request = request(settings, PASS, length, pass_first_byte(body.length()), receiver);
        let start = [head, body.take_kept()].concat();
        // The upload continues after the region has answered: stopping it may cost the rest of the answer.
        spawn_local(sending.upload(start, body));
        let response = match request {
            Some(request) => client::send(request).await.ok(),
            None => None,
        };
        match response {
            Some(response) if !is_refusal(&response.get_headers().copy_all()) => forward(response, method),
            _ => self.reply(fallback).await,
        }
    }

    async fn reply(self, framed: Framed) -> Response {
        let (sending, (stream, end)) = Sending::new();
        let contents = (!framed.body.is_empty()).then_some(stream);
        let (response, _) = Response::new(fields(&framed.headers), contents, end);
        set_status!(response, framed.status);
        spawn_local(sending.whole(framed.body));
        response
    }
}

/// Forwards the region's answer unchanged: the host moves its body without this component.
fn forward(response: Response, method: Method) -> Response {
    let status = response.get_status_code();
    let headers = fields(&from_region(response.get_headers().copy_all(), method));
    let (stream, end) = consume(response);
    let (response, _) = Response::new(headers, has_body(status, method).then_some(stream), end);
    set_status!(response, status);
    response
}

/// Builds a request to a path of the region; `None` if the host rejects its address.
fn request(
    settings: &EdgeSettings,
    path: &str,
    length: Option<u64>,
    first_byte: Duration,
    (body, end): (StreamReader<u8>, FutureReader<End>),
) -> Option<Request> {
    let headers = fields(&to_region(settings, length));
    let (request, _) = Request::new(headers, Some(body), end, Some(options(first_byte)));
    address!(request, settings, path);
    Some(request)
}

alike!();

/// Draws a seed of 32 random bytes; a host may return fewer at once.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    let mut filled = 0;
    while filled < seed.len() {
        for byte in get_random_bytes((seed.len() - filled) as u64) {
            seed[filled] = byte;
            filled += 1;
        }
    }
    seed
}
