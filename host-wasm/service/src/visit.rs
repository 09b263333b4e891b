//! One request through an edge: asks the core what to do, has the shell do it, and repeats until an answer is sent.

use std::cell::OnceCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use switchboard_core::http::reply::message;
use switchboard_core::http::request::{Method, Request};
use switchboard_core::json::ToJson;
use switchboard_core::remote::{CompleteReply, Do, EdgeRequest, NodeEvent};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;

use crate::headers::{Framed, framed, unreachable};
use crate::incoming::{BodySource, Incoming};
use crate::settings::EdgeSettings;

/// The service and its settings: created once per instance of the component.
pub struct Site {
    /// The service that decides.
    pub service: Service,
    /// Settings of the operator.
    pub settings: EdgeSettings,
}

/// Path at which a region accepts whole requests.
pub const PASS: &str = "/store/pass";

/// What the loop needs of a version of `wasi:http`.
#[allow(async_fn_in_trait, reason = "both shells are single-threaded")]
pub trait Shell {
    /// Source of request bodies.
    type Source: BodySource;
    /// Proof of a sent answer, as the host expects it.
    type Sent;

    /// Sends bytes to a path of the region: returns `NodeEvent::Answer` or `NodeEvent::Lost`.
    async fn ask(&self, settings: &EdgeSettings, path: &str, body: Vec<u8>) -> NodeEvent;

    /// Forwards the request; sends the region's answer unchanged, or the fallback if there is none.
    async fn pass(self, settings: &EdgeSettings, passed: Passed<Self::Source>) -> Self::Sent;

    /// Sends a framed answer.
    async fn reply(self, framed: Framed) -> Self::Sent;
}

/// A request to be forwarded to the region.
pub struct Passed<S> {
    /// Method of the request.
    pub method: Method,
    /// Bytes sent before the body.
    pub head: Vec<u8>,
    /// Body, of which a part may have been read.
    pub body: Incoming<S>,
    /// Framed answer for when the region cannot be reached.
    pub fallback: Framed,
}

thread_local! {
    static SITE: OnceCell<Result<Rc<Site>, String>> = const { OnceCell::new() };
}

/// Returns the site of this instance, creating it on the first call; the error says why that failed.
pub fn site(environment: impl FnOnce() -> Vec<(String, String)>) -> Result<Rc<Site>, String> {
    SITE.with(|site| {
        site.get_or_init(|| {
            let settings = EdgeSettings::from_environment(&environment())?;
            Ok(Rc::new(Site { service: Service::new(settings.config.clone()), settings }))
        })
        .clone()
    })
}

/// Answers a request through the shell; without a site the answer says what is not configured.
pub async fn answer<S: Shell>(
    site: Result<Rc<Site>, String>,
    request: Request,
    mut body: Incoming<S::Source>,
    seed: [u8; 32],
    shell: S,
) -> S::Sent {
    let method = request.method;
    let site = match site {
        Ok(site) => site,
        Err(why) => return refuse(method, body, misconfigured(&why), shell).await,
    };
    let Site { service, settings } = &*site;
    let mut visit = EdgeRequest::new(request, Seed::new(seed));
    let mut came = NodeEvent::Begin;
    loop {
        came = match visit.next(service, came) {
            Do::Ask { path, body } => shell.ask(settings, path, body).await,
            Do::ReadBody(max) => NodeEvent::Body(body.read(max).await),
            Do::Pass { head, otherwise } => {
                let fallback = framed(unreachable(otherwise), method);
                return shell.pass(settings, Passed { method, head, body, fallback }).await;
            }
            Do::Reply(answered) => return refuse(method, body, answered, shell).await,
        }
    }
}

/// Sends an answer of the edge's own, after draining the body.
async fn refuse<S: Shell>(method: Method, mut body: Incoming<S::Source>, answered: CompleteReply, shell: S) -> S::Sent {
    body.drain().await;
    shell.reply(framed(answered, method)).await
}

/// Returns the answer to every request until the operator has completed the settings.
fn misconfigured(why: &str) -> CompleteReply {
    let text = format!("This edge is not configured: {why}");
    let headers = vec![("content-type", "application/json".to_owned())];
    CompleteReply { status: 500, headers, body: message(&text).to_json() }
}

/// Returns the result of a future that never waits, as those of a shell with blocking calls.
pub fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a call that blocks has returned"),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::headers;
    use crate::incoming::BodyChunk;
    use crate::incoming::script::{Script, incoming};

    /// A shell without a network: answers are returned to the test.
    struct Desk;

    impl Shell for Desk {
        type Source = Script;
        type Sent = Framed;

        async fn ask(&self, _: &EdgeSettings, _: &str, _: Vec<u8>) -> NodeEvent {
            NodeEvent::Lost
        }

        async fn pass(self, _: &EdgeSettings, passed: Passed<Script>) -> Framed {
            passed.fallback
        }

        async fn reply(self, framed: Framed) -> Framed {
            framed
        }
    }

    #[test]
    fn an_edge_without_settings_says_what_is_missing_after_the_whole_body() {
        let asked = RefCell::new(0);
        for _ in 0..2 {
            let site = site(|| {
                *asked.borrow_mut() += 1;
                vec![("SWITCHBOARD_REGION".to_owned(), "http://region".to_owned())]
            });
            let head = headers::request(Method::Post, Some("/user/tools".into()), None, &Vec::new());
            let body = incoming(None, &["ab", "cd"], BodyChunk::End);
            let answered = at_once(answer(site, head, body, [7; 32], Desk));
            assert_eq!(answered.status, 500);
            let text = String::from_utf8(answered.body).expect("JSON is text");
            let why = "This edge is not configured: SWITCHBOARD_STORE_TOKEN is not set.";
            assert_eq!(text, format!(r#"{{"message":"{why}"}}"#));
        }
        assert_eq!(asked.into_inner(), 1, "an instance reads its environment once");
    }
}
