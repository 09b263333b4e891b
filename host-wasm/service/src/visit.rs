//! One request through an edge: asks the core what to do, has the shell do it, and so on until an answer is sent.

use std::cell::OnceCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use switchboard_core::http::reply::message;
use switchboard_core::http::request::{Method, Request};
use switchboard_core::json::ToJson;
use switchboard_core::remote::{Answered, Came, Do, Visit};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;

use crate::headers::{Framed, framed, unreachable};
use crate::incoming::{Incoming, Source};
use crate::settings::Settings;

/// A service and where its region is: made once an instance of the component.
pub struct Site {
    /// What decides.
    pub service: Service,
    /// What its operator said.
    pub settings: Settings,
}

/// Where a region takes whole requests.
pub const PASS: &str = "/store/pass";

/// What a version of `wasi:http` does for the loop.
#[allow(async_fn_in_trait, reason = "both shells are single-threaded")]
pub trait Shell {
    /// Where bodies come from.
    type Source: Source;
    /// What a sent answer is to the host.
    type Sent;

    /// Sends bytes to a path of the region: `Came::Answer` or `Came::Lost`.
    async fn ask(&self, settings: &Settings, path: &str, body: Vec<u8>) -> Came;

    /// Hands the request on; the region's answer is sent as it is, or else the fallback.
    async fn pass(self, settings: &Settings, passed: Passed<Self::Source>) -> Self::Sent;

    /// Sends an answer that is framed.
    async fn reply(self, framed: Framed) -> Self::Sent;
}

/// A request that is handed on.
pub struct Passed<S> {
    /// Its method.
    pub method: Method,
    /// What goes before its body.
    pub head: Vec<u8>,
    /// Its body.
    pub body: Incoming<S>,
    /// The answer, framed, if the region cannot be reached.
    pub fallback: Framed,
}

thread_local! {
    static SITE: OnceCell<Result<Rc<Site>, String>> = const { OnceCell::new() };
}

/// The site of this instance; a sentence says why there is none.
pub fn site(environment: impl FnOnce() -> Vec<(String, String)>) -> Result<Rc<Site>, String> {
    SITE.with(|site| {
        site.get_or_init(|| {
            let settings = Settings::from_environment(&environment())?;
            Ok(Rc::new(Site { service: Service::new(settings.config.clone()), settings }))
        })
        .clone()
    })
}

/// Answers a request.
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
    let mut visit = Visit::new(request, Seed::new(seed));
    let mut came = Came::Begin;
    loop {
        came = match visit.next(service, came) {
            Do::Ask { path, body } => shell.ask(settings, path, body).await,
            Do::ReadBody(max) => Came::Body(body.read(max).await),
            Do::Pass { head, otherwise } => {
                let fallback = framed(unreachable(otherwise), method);
                return shell.pass(settings, Passed { method, head, body, fallback }).await;
            }
            Do::Reply(answered) => return refuse(method, body, answered, shell).await,
        }
    }
}

/// Sends an answer of the edge's own, after what nobody read of the body.
async fn refuse<S: Shell>(method: Method, mut body: Incoming<S::Source>, answered: Answered, shell: S) -> S::Sent {
    body.drain().await;
    shell.reply(framed(answered, method)).await
}

/// The answer to every request until the operator has set what is missing.
fn misconfigured(why: &str) -> Answered {
    let text = format!("This edge is not configured: {why}");
    let headers = vec![("content-type", "application/json".to_owned())];
    Answered { status: 500, headers, body: message(&text).to_json() }
}

/// The result of a future that never waits, as those of a shell whose calls block.
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
    use crate::incoming::Chunk;
    use crate::incoming::script::{Script, incoming};

    /// Sends nowhere; its answers come back.
    struct Desk;

    impl Shell for Desk {
        type Source = Script;
        type Sent = Framed;

        async fn ask(&self, _: &Settings, _: &str, _: Vec<u8>) -> Came {
            Came::Lost
        }

        async fn pass(self, _: &Settings, passed: Passed<Script>) -> Framed {
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
            let body = incoming(None, &["ab", "cd"], Chunk::End);
            let answered = at_once(answer(site, head, body, [7; 32], Desk));
            assert_eq!(answered.status, 500);
            let text = String::from_utf8(answered.body).expect("JSON is text");
            let why = "This edge is not configured: SWITCHBOARD_STORE_TOKEN is not set.";
            assert_eq!(text, format!(r#"{{"message":"{why}"}}"#));
        }
        assert_eq!(asked.into_inner(), 1, "an instance reads its environment once");
    }
}
