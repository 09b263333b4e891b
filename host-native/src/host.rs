//! [`Host`]: all parts of a running service, and the loop around `step`.

mod edge;
mod read;
mod scheduler;
mod upload;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_core::http::base;
use switchboard_core::http::caller::Credential;
use switchboard_core::http::notice::Notice;
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::{Body, Request};
use switchboard_core::http::route::Who;
use switchboard_core::id;
use switchboard_core::key::{self, Topic};
use switchboard_core::outside::{Answer, Egress, Work};
use switchboard_core::rate::RateLimits;
use switchboard_core::seed::Seed;
use switchboard_core::service::{self, Service};
use switchboard_core::setup::Config;
use switchboard_core::step::{Outcome, Output, Send};
use switchboard_core::time::Timestamp;
use switchboard_core::view::Stop;

use tokio::sync::{RwLock, oneshot, watch};

use crate::DOCUMENT;
use crate::clock::Clock;
use crate::edge::EdgeToken;
use crate::extract::child::Extractor;
use crate::follow::Follower;
use crate::large::LargeReads;
use crate::limiter::{Limiter, RateDecisions};
use crate::metrics::Metrics;
use crate::news::{News, Waiting};
use crate::room::{Held, Holder, UsedUp};
use crate::rooms::Rooms;
use crate::send::{Hearing, Outside, SendExecutor};
use crate::store::Store;
use crate::vault::Vault;
use crate::writer::{Care, Exchange, Failure, Writer, WriterContext, WriterInput};

/// The operation that hands calls to engines.
const CLAIM: &str = "claimCalls";
/// Most keys noted between two writes of their last use; further ones are not noted.
const USED_MAX: usize = 100_000;

/// Everything a service is started with.
pub struct HostOptions {
    /// The operator's configuration.
    pub config: Config,
    /// The store, already open.
    pub store: Store,
    /// Rate limits of one token.
    pub rate_limits: RateLimits,
    /// Source of time and of seeds.
    pub clock: Arc<Clock>,
    /// Where requests to the outside go.
    pub outside: Outside,
    /// Token with which edge nodes reach the store; `None`: the store protocol is closed.
    pub edge: Option<EdgeToken>,
    /// Rooms that bound everything that queues or holds memory.
    pub rooms: Arc<Rooms>,
    /// Counters and gauges of these rooms and of what the host does.
    pub metrics: Arc<Metrics>,
    /// Where recordings are kept; `None`: none are.
    pub vault: Option<Vault>,
}

/// A running service, except for its listeners.
pub struct Host {
    /// The core: decides what each input does.
    pub service: Arc<Service>,
    /// The store; written by the writer thread only, once it runs.
    pub store: Arc<Store>,
    /// Counters and gauges of `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Source of time and of seeds.
    pub clock: Arc<Clock>,
    /// Token with which edge nodes reach the store; `None`: the store protocol is closed.
    pub edge: Option<EdgeToken>,
    /// Rooms that bound everything that queues or holds memory.
    pub rooms: Arc<Rooms>,
    /// Where recordings are kept; `None`: none are.
    pub vault: Option<Arc<Vault>>,
    large: LargeReads,
    limiter: Arc<Limiter>,
    writer: Writer,
    sender: SendExecutor,
    used: Mutex<BTreeSet<Credential>>,
    news: Arc<News>,
    wake: watch::Receiver<Option<Timestamp>>,
    plan: watch::Sender<Option<Timestamp>>,
    /// Careful ticks left, see `CAREFUL_TICKS`.
    careful: AtomicU32,
    /// Careful claims of engines left: a busy host has used up its careful ticks before an engine reconnects.
    careful_claims: AtomicU32,
    /// Read-locked by each send of a job until its answer is committed; the write lock waits for all of them.
    carried: RwLock<()>,
    /// True once the service stops waiting: pending sends of jobs are answered [`SendError::Busy`].
    hand_back: watch::Sender<bool>,
}

/// Result of checking a write before its body is read.
pub enum Verdict {
    /// Read its body, at most this many bytes.
    Read(usize),
    /// Store its body as an object for this account.
    Store(u32),
    /// Pass it to the writer without a body.
    Write,
    /// Answer it with this reply: it changes nothing.
    Refused(Reply),
    /// Hand it to whoever has the rows of this account.
    Elsewhere(u32),
}

/// A request that wants the rows of an account which another writer has; nothing of it was done.
pub struct Elsewhere {
    /// Number of the account.
    pub account: u32,
    /// The request, with its body if that was read.
    pub request: Request,
}

/// Most times that a step is run because rows that it missed were loaded.
pub const LOADS_MAX: usize = 256;

type Fault = Box<dyn std::error::Error + std::marker::Send + Sync>;

impl Host {
    /// Builds the host over an open store and starts the writer; returns its thread, to be joined after the last
    /// handle.
    pub fn start(
        HostOptions { config, store, rate_limits, clock, outside, edge, rooms, metrics, vault }: HostOptions,
    ) -> Result<(Arc<Self>, std::thread::JoinHandle<()>), Fault> {
        let vault = vault.map(Arc::new);
        let keeps_recordings = vault.is_some();
        let config = Config { lists_in_pieces: true, passes_pieces: true, keeps_recordings, ..config };
        let (service, store) =
            (Arc::new(Service::with_document(config, || DOCUMENT.to_owned())), Arc::new(store.loading(&rooms.loads)));
        let limiter = Arc::new(Limiter::new(rate_limits));
        let (plan, wake) = watch::channel(None);
        let news = Arc::new(News::default());
        let learned = Arc::clone(&news);
        store.tell_learned(move |keys| {
            keys.iter().filter_map(|at| key::topic_of(at)).for_each(|at| learned.publish(at));
        });
        let parts = WriterContext {
            service: Arc::clone(&service),
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            limiter: Arc::clone(&limiter),
            metrics: Arc::clone(&metrics),
            wake: plan.clone(),
            news: Arc::clone(&news),
        };
        let (writer, thread) = Writer::start(parts)?;
        let sender = SendExecutor::new(
            outside,
            Extractor::of_this_program(Arc::clone(&rooms.readers))?,
            vault.clone(),
            Arc::clone(&metrics),
            &rooms,
        )?;
        let used = Mutex::new(BTreeSet::new());
        let large = LargeReads::new(Arc::clone(&rooms.large_reads));
        let host = Self {
            service,
            store,
            metrics,
            clock,
            edge,
            rooms,
            vault,
            large,
            limiter,
            writer,
            sender,
            used,
            news,
            wake,
            plan,
            careful: AtomicU32::new(0),
            careful_claims: AtomicU32::new(0),
            carried: RwLock::default(),
            hand_back: watch::Sender::new(false),
        };
        Ok((Arc::new(host), thread))
    }

    /// Returns the holder that a request's resources count for: its account once known, the service for the operator
    /// and engines, else the client's address.
    pub fn holder(&self, request: &Request, told: &RateDecisions) -> Holder {
        if let Some(account) = told.account() {
            return Holder::Account(account);
        }
        match self.service.who(request.method, &request.target) {
            Some(Who::Operator | Who::Engine) => Holder::Service,
            _ => base::client(&self.service.setup.config, request).map_or(Holder::Service, Holder::nobody),
        }
    }

    /// Executes a request that may change something through the writer, again after each set of answers it asked for.
    ///
    /// The error is the request that is another writer's. What a `follower` may see of it goes out while it waits for
    /// answers. A parked request is woken by news of its topic. When `gone` fires because its caller went away, it is
    /// dropped while it is parked or queued, before it takes a call or an event that nobody would receive.
    pub async fn write(
        &self,
        request: Request,
        told: RateDecisions,
        seed: Seed,
        mut gone: oneshot::Receiver<()>,
        mut follower: Option<&mut Follower>,
    ) -> Result<Reply, Box<Elsewhere>> {
        let Request { method, peer, door, .. } = request;
        let head = Request {
            method,
            target: request.target.clone(),
            headers: request.headers.clone(),
            body: Body::None,
            peer,
            door,
        };
        let holder = self.holder(&request, &told);
        let care = self.care_of(&request);
        let mut exchange = Exchange { request, answers: Vec::new(), told, seed, care };
        let mut held = Vec::new();
        let mut deadline = None;
        loop {
            let place = tokio::select! {
                biased;
                place = self.place(holder, &exchange) => place,
                _ = &mut gone => return Ok(service::failed(&head, None, &seed)),
            };
            let place = match place {
                Ok(place) => place,
                Err(full) => return Ok(self.refused(&head, full, &seed)),
            };
            let (input, done) = self.writer.submit(holder, WriterInput::Http(Box::new(exchange)), seed).await;
            drop(place);
            match (input, done) {
                (
                    Some(WriterInput::Http(back)),
                    Ok(Output { outcome: Outcome::Wait, sends, account, progress, .. }),
                ) => {
                    exchange = *back;
                    if let (Some(follower), Some(reply)) = (follower.as_deref_mut(), progress) {
                        follower.pass(*reply);
                    }
                    let holder = self.payer(&exchange.request, &exchange.told, account);
                    let mut hearing = Hearing { follower: follower.as_deref(), held };
                    Box::pin(self.perform(sends, &mut exchange.answers, holder, &mut hearing)).await;
                    held = hearing.held;
                }
                (Some(WriterInput::Http(back)), Ok(Output { outcome: Outcome::Yield, .. })) => {
                    exchange = *back;
                    exchange.answers.push(Answer::Yielded);
                }
                (Some(WriterInput::Http(back)), Ok(Output { outcome: Outcome::Park(topic, until), .. })) => {
                    exchange = *back;
                    let until = *deadline.get_or_insert(until);
                    tokio::select! {
                        () = self.park(&mut exchange, topic, until) => {}
                        _ = &mut gone => return Ok(service::failed(&head, None, &seed)),
                    }
                }
                (Some(WriterInput::Http(back)), Ok(output)) => {
                    // `Yielded` shows that a mark was committed before the call was handed out.
                    if care == Care::Careful && back.answers.contains(&Answer::Yielded) {
                        self.claimed();
                    }
                    return Ok(self.reply_of(&head, output, seed));
                }
                (_, Ok(output)) => return Ok(self.reply_of(&head, output, seed)),
                (Some(WriterInput::Http(back)), Err(Failure::Stopped(Stop::Elsewhere(account))))
                    if back.answers.iter().all(Answer::is_repeatable) =>
                {
                    return Err(Box::new(Elsewhere { account, request: back.request }));
                }
                (_, Err(failure)) => {
                    self.take_care(&failure);
                    return Ok(failure_reply(&head, &failure, &seed));
                }
            }
        }
    }

    /// Takes a place in the writer's queue. A request that already has answers overdraws: what has begun is finished.
    async fn place(&self, holder: Holder, exchange: &Exchange) -> Result<Held, UsedUp> {
        if exchange.answers.is_empty() {
            self.rooms.writes.take(holder).await
        } else {
            Ok(self.rooms.writes.overdraw(holder, 1))
        }
    }

    /// Waits until a step of the exchange no longer parks, or until the deadline.
    async fn park(&self, exchange: &mut Exchange, topic: Topic, until: Timestamp) {
        let Exchange { request, answers, told, seed, .. } = &*exchange;
        if !self.is_news(request, answers, told, *seed, (topic, until)).await {
            exchange.answers.push(Answer::Elapsed);
        }
    }

    /// Waits until a step no longer parks: false if the time has come first. It looks at snapshots only and never takes
    /// the writer's time.
    async fn is_news(
        &self,
        request: &Request,
        answers: &[Answer],
        told: &RateDecisions,
        seed: Seed,
        (topic, until): (Topic, Timestamp),
    ) -> bool {
        let mut waiting = self.news.subscribe(topic);
        let sleep = tokio::time::sleep(self.clock.until(until));
        tokio::pin!(sleep);
        loop {
            let looked = self.look(request, answers, told, seed, None).await;
            if !matches!(looked, Ok(Output { outcome: Outcome::Park(..), .. })) {
                return true;
            }
            let news = tokio::select! {
                news = waiting.news() => news,
                () = &mut sleep => false,
            };
            if !news {
                return false;
            }
        }
    }

    /// Subscribes to a topic: commits from now on are news.
    pub fn subscribe(&self, topic: Topic) -> Waiting {
        self.news.subscribe(topic)
    }

    /// Wakes all parked requests and streams, because the service stops.
    pub fn close(&self) {
        self.news.close();
    }

    /// Returns the refusal of a request that found no room, as it is sent.
    pub fn refused(&self, request: &Request, full: UsedUp, seed: &Seed) -> Reply {
        self.service.dressed(request, seed, Refusal::from(full).reply_to(&request.target))
    }

    fn reply_of(&self, request: &Request, output: Output, seed: Seed) -> Reply {
        if let Some(credential) = output.used {
            self.note(credential);
        }
        self.tell(output.notice);
        match output.outcome {
            Outcome::Reply(reply) => reply,
            _ => service::failed(request, None, &seed),
        }
    }

    /// Logs or counts a step's notice for the operator.
    fn tell(&self, notice: Option<Notice>) {
        let Some(notice) = notice else { return };
        match notice {
            Notice::OverStorage(_) => self.metrics.over_storage(),
            Notice::LoginsGuarded(account) => tracing::warn!(
                user_id = id::user(account),
                "many logins of an account failed: for a while only addresses that logged in before are let in"
            ),
            Notice::JobSetAside { account, kind } => tracing::warn!(
                user_id = id::user(account),
                kind = kind.word(),
                "a job came to nothing too often and was set aside: `switchboard jobs list` shows why"
            ),
        }
    }

    fn note(&self, credential: Credential) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() < USED_MAX {
            used.insert(credential);
        }
    }

    /// Returns the holder that pays for a request's sends: the account named by the core, as for an engine's call, else
    /// the request's own holder.
    fn payer(&self, request: &Request, told: &RateDecisions, account: Option<u32>) -> Holder {
        account.map_or_else(|| self.holder(request, told), Holder::Account)
    }

    /// Performs the sends that a request waits for, one after the other. Each holder has a share of what goes out, so
    /// that its requests hold up neither its own durable work nor others. Hashes have a room of their own: strangers
    /// who log in take no place from the tools of accounts. So do models, which may think for a minute.
    async fn perform(&self, sends: Vec<Send>, answers: &mut Vec<Answer>, holder: Holder, hearing: &mut Hearing<'_>) {
        let mut place = None;
        for send in sends {
            let has_own_room = match &send.work {
                Work::HashPassword { .. } | Work::VerifyPassword { .. } => true,
                Work::Http(request) => request.egress == Egress::Model,
                _ => false,
            };
            if !has_own_room && place.is_none() {
                match self.rooms.asking.take(holder).await {
                    Ok(taken) => place = Some(taken),
                    Err(full) => return answers.push(Answer::Failed(full.into())),
                }
            }
            answers.push(self.sender.perform_for(send.work, holder, hearing).await);
        }
    }

    /// Creates the owner's account in an empty store; returns the reply with its secrets, shown once, or `None` if the
    /// store already has accounts.
    pub async fn first_start(&self) -> Result<Option<Reply>, Failure> {
        let seed = self.clock.seed().map_err(|_| Failure::Unavailable)?;
        let (mut answers, mut hearing) = (Vec::new(), Hearing::default());
        loop {
            let input = WriterInput::FirstStart(answers.clone());
            let (_, done) = self.writer.submit(Holder::Service, input, seed).await;
            // The first account is another writer's, which creates it.
            if matches!(done, Err(Failure::Stopped(Stop::Elsewhere(_)))) {
                return Ok(None);
            }
            match done? {
                Output { outcome: Outcome::Wait, sends, .. } => {
                    self.perform(sends, &mut answers, Holder::Service, &mut hearing).await;
                }
                Output { outcome: Outcome::Reply(reply), .. } => return Ok(Some(reply)),
                _ => return Ok(None),
            }
        }
    }

    /// Logs which locks the processes that read files lack on this kernel.
    pub async fn tell_of_locks(&self) {
        self.sender.tell_of_locks().await;
    }

    /// Runs an input other than a request on the writer, in a holder's turn; the caller performs the sends of its
    /// output.
    pub async fn decide(&self, holder: Holder, input: WriterInput) -> Result<Output, Failure> {
        let seed = self.clock.seed().map_err(|_| Failure::Unavailable)?;
        self.writer.submit(holder, input, seed).await.1
    }

    /// Performs one send for a holder and returns its answer.
    pub async fn perform_one(&self, work: Work, holder: Holder) -> Answer {
        self.sender.perform(work, holder).await
    }

    /// Returns whether a request marks a call before it hands it out; only engines' claims do.
    fn care_of(&self, request: &Request) -> Care {
        let is_careful = self.careful_claims.load(Ordering::Relaxed) > 0
            && self.service.operation(request.method, &request.target) == CLAIM;
        if is_careful { Care::Careful } else { Care::Usual }
    }

    /// Counts a careful claim that ended without a panic.
    fn claimed(&self) {
        self.careful_claims.store(self.careful_claims.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
    }
}

fn failure_reply(request: &Request, failure: &Failure, seed: &Seed) -> Reply {
    match failure {
        Failure::Stopped(stop) => service::failed(request, Some(stop), seed),
        Failure::Panicked => service::failed(request, None, seed),
        // `Changed` happens only to commits of edge nodes, which do not come here.
        Failure::Unavailable | Failure::Changed => service::failed(request, Some(&Stop::Failed), seed),
    }
}
