//! One connection: HTTP/1.1, or HTTP/2 if it begins with that preface; slow ones are closed.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::http::request;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::request::{Body as RequestBody, Request};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::engines;
use super::exchange::{self, Handed};
use super::front::{self, Entrance, Front};
use super::incoming::Coming;
use super::owed::{Owed, Why};
use super::pass::{self, Dispatched, Origin, PassedOn, Unsent};
use super::patient::Patient;
use super::response::{ResponseBody, full, response};
use super::routes::Running;
use super::seats::{ActiveRequest, Seat};
use super::store::{self, Other};
use super::waiting;
use crate::host::Host;
use crate::limiter::RateDecisions;

/// How long the head of a request may take, and how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(15);
/// Most bytes of a request's head over HTTP/1.1.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Most bytes of a request's headers over HTTP/2: a connection may hold this much for each of its streams.
const HEADERS_BYTES_MAX: u32 = 16 << 10;
/// Flow-control windows of HTTP/2, of a stream and of a connection, bytes: what may arrive before any of it is
/// admitted.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 128 << 10;
/// How often a request may come to a writer that has not the rows which it wants: while it is handed on, they may move.
const HANDED_MAX: u8 = 3;
const NODES_ONLY: &str = "This address is for other nodes of the service.";
/// Most concurrent streams of one HTTP/2 connection.
const STREAMS_MAX: u32 = 100;

fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADERS_BYTES_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(HEAD)
        .keep_alive_timeout(HEAD);
    builder
}

/// Serves a connection until it ends.
pub async fn run(
    front: &Arc<Front>,
    stream: TcpStream,
    peer: SocketAddr,
    entrance: Entrance,
    seat: Seat,
    watcher: Watcher,
    mut stop: watch::Receiver<bool>,
) {
    // No Nagle delay for small answers.
    let _ = stream.set_nodelay(true);
    let seat = Arc::new(seat);
    let mut stream = Patient::of(stream, Arc::clone(&seat));
    let second = tokio::select! {
        // A connection that has sent nothing does not hold up a stop.
        _ = stop.changed() => return,
        () = seat.wanted() => return,
        second = tokio::time::timeout(HEAD, stream.speaks_http2()) => second,
    };
    let Ok(Ok(second)) = second else { return };
    let answer = |request| answer(Arc::clone(front), request, (peer.ip(), entrance), seat.running());
    let io = TokioIo::new(stream);
    let ended = if second {
        let owed = Owed::new();
        let service = service_fn(|request| {
            let (owing, answer) = (owed.asked(), Box::pin(answer(request)));
            async move { answer.await.map(|answer| owing.answered(answer)) }
        });
        let mut connection = pin!(http2().serve_connection(io, service));
        let mut leaving = *stop.borrow();
        loop {
            if leaving {
                // GOAWAY tells the client which requests it may retry on another connection.
                connection.as_mut().graceful_shutdown();
            }
            leaving = tokio::select! {
                ended = connection.as_mut() => break ended,
                _ = stop.changed(), if !leaving => true,
                () = seat.wanted() => return,
                why = owed.over() => match why {
                    Why::Idle if !leaving => true,
                    Why::Idle | Why::Late => return,
                },
            };
        }
    } else {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_BYTES_MAX).half_close(false);
        let connection = watcher.watch(builder.serve_connection(io, service_fn(answer)));
        tokio::select! {
            ended = connection => ended,
            () = seat.wanted() => return,
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Answers a request; its connection is busy until the answer is complete.
async fn answer(
    front: Arc<Front>,
    incoming: hyper::Request<Incoming>,
    (peer, entrance): (IpAddr, Entrance),
    running: ActiveRequest,
) -> Result<Response<ResponseBody>, Infallible> {
    let (head, body) = incoming.into_parts();
    let body = Unsent::Coming(body, Some(running.unfinished()));
    let answer = match origin(&front, &head, peer, entrance) {
        Ok(origin) => match routed(&front, Dispatched { head, body, origin, account: None, handed: 0 }) {
            Routed::Here(host, _running, request, coming) => {
                match exchange::carry(&front, &host, request, coming, RateDecisions::default()).await {
                    Ok(response) => response,
                    Err(other) => Box::pin(hand_over(&front, *other, origin, 0)).await,
                }
            }
            Routed::Other(answer) => answer.await,
        },
        Err(refused) => *refused,
    };
    Ok(answered(answer, running))
}

/// Returns where a request comes from; the error is its answer.
fn origin(
    front: &Front,
    head: &request::Parts,
    peer: IpAddr,
    entrance: Entrance,
) -> Result<Origin, Box<Response<ResponseBody>>> {
    if head.version == Version::HTTP_11 && head.headers.get_all("host").iter().count() != 1 {
        // RFC 9112 section 3.2.
        let refusal = Refusal::BadRequest("A request over HTTP/1.1 must have one Host header.".into());
        return Err(Box::new(pass::refused(head, refusal)));
    }
    match entrance {
        Entrance::Clients(door) => Ok(Origin { client: peer, door, hops: 0, is_part: false }),
        Entrance::Nodes => {
            let origin = front.passing.as_ref().and_then(|passing| passing.origin(&head.headers));
            origin.ok_or_else(|| Box::new(pass::refused(head, Refusal::Forbidden(NODES_ONLY.into()))))
        }
    }
}

/// What becomes of a request.
enum Routed {
    /// This host carries it out.
    Here(Arc<Host>, Running, Request, Coming),
    /// Rarer, and larger: in a box, it does not enlarge the future of every request, which hyper moves.
    Other(Pin<Box<dyn Future<Output = Response<ResponseBody>> + Send>>),
}

/// Finds out what becomes of a request: it may be a message of the store protocol from an edge node, or for a host of this
/// process or another one.
fn routed(front: &Arc<Front>, request: Dispatched) -> Routed {
    if request.origin.hops > 0 && request.head.uri.path() == waiting::PATH {
        return Routed::Other(Box::pin(told(Arc::clone(front), request.head)));
    }
    if let Some(wanted) = engines::wanted(front, &request) {
        return Routed::Other(Box::pin(engines::answer(Arc::clone(front), wanted, request)));
    }
    let account = || request.account.or_else(|| front::account_in(&request.head));
    let Some((host, running)) = front.here(account) else {
        return Routed::Other(Box::pin(elsewhere(Arc::clone(front), request)));
    };
    let Dispatched { head, body, origin, handed, .. } = request;
    if store::is_for(&host, &head, origin.door) {
        let answer = message(Arc::clone(front), (host, running), (head, body.coming()), origin, handed);
        return Routed::Other(Box::pin(answer));
    }
    let request = exchange::request_of(&head, &body, origin.client, origin.door);
    Routed::Here(host, running, request, body.coming())
}

/// Tells another node of news of waiting calls.
async fn told(front: Arc<Front>, head: request::Parts) -> Response<ResponseBody> {
    let known = head.uri.query().and_then(|query| query.strip_prefix("after=")?.parse().ok());
    Response::new(full(front.calls.after(known).await.to_string()))
}

/// Carries a request out that came back, or is handed on.
async fn dispatch(front: &Arc<Front>, request: Dispatched) -> Response<ResponseBody> {
    let (origin, handed) = (request.origin, request.handed);
    match routed(front, request) {
        Routed::Here(host, _running, request, coming) => {
            match exchange::carry(front, &host, request, coming, RateDecisions::default()).await {
                Ok(response) => response,
                Err(other) => Box::pin(hand_over(front, *other, origin, handed)).await,
            }
        }
        Routed::Other(answer) => answer.await,
    }
}

/// Answers a message of an edge node, or hands it to whoever has the rows that it wants.
async fn message(
    front: Arc<Front>,
    (host, _running): (Arc<Host>, Running),
    (head, body): (request::Parts, Coming),
    origin: Origin,
    handed: u8,
) -> Response<ResponseBody> {
    match store::answer(&front, &host, &head, body).await {
        Ok(response) => response,
        Err(Other::Request(other)) => hand_over(&front, *other, origin, handed).await,
        Err(Other::Message(account, _)) if handed >= HANDED_MAX => several(head.uri.path(), account),
        Err(Other::Message(account, bytes)) => {
            let body = Unsent::Read(bytes.into());
            dispatch(&front, Dispatched { head, body, origin, account: Some(account), handed: handed + 1 }).await
        }
    }
}

/// Refuses what no one writer can do.
fn several(target: &str, account: u32) -> Response<ResponseBody> {
    tracing::error!(target, account, "a request wants the rows of several writers");
    response(Refusal::Unavailable.reply_to(target), None)
}

/// Passes a request on to the node that serves; takes it back once that is this one.
async fn elsewhere(front: Arc<Front>, request: Dispatched) -> Response<ResponseBody> {
    match pass::carry(&front, request).await {
        PassedOn::Answered(response) => response,
        PassedOn::Here(back) => dispatch(&front, *back).await,
    }
}

/// Hands a request to whoever has the rows that it wants.
async fn hand_over(front: &Arc<Front>, other: Handed, origin: Origin, handed: u8) -> Response<ResponseBody> {
    let Handed { account, request, body } = other;
    let target = request.target.clone();
    if handed >= HANDED_MAX {
        return several(&target, account);
    }
    let Some(head) = exchange::head_of(&request) else {
        return response(Refusal::Unavailable.reply_to(&target), None);
    };
    let body = match (body.unread(), request.body) {
        (Some((body, unfinished)), _) => Unsent::Coming(body, unfinished),
        (None, RequestBody::Full(bytes)) => Unsent::Read(bytes.into()),
        (None, _) => Unsent::Read(Bytes::new()),
    };
    dispatch(front, Dispatched { head, body, origin, account: Some(account), handed: handed + 1 }).await
}

/// Keeps the connection busy until the end of an answer of unknown length.
fn answered(answer: Response<ResponseBody>, running: ActiveRequest) -> Response<ResponseBody> {
    if answer.body().size_hint().exact().is_some() {
        return answer;
    }
    answer.map(|body| Ongoing { body, _running: running }.boxed())
}

struct Ongoing {
    body: ResponseBody,
    _running: ActiveRequest,
}

impl Body for Ongoing {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn future_bytes<A, B, C, D, F>(_: impl Fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_a_request_is_small() {
        // hyper moves it into the connection, once for each request.
        let bytes = future_bytes(answer);
        assert!(bytes <= 2_048, "{bytes} bytes");
    }
}
