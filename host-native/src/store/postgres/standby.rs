//! [`Standby`]: a node of a store in PostgreSQL that does not serve yet. It sees who does, and takes over when nobody is
//! heard of any more.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::RwLock;
use switchboard_core::key;
use switchboard_core::service::Service;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Found, Order, Read, Scan};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_postgres::{Client, Error};

use super::fence::{Fence, Id, draw};
use super::link::{DatabaseLink, told};
use super::load::Loader;
use super::rows::KnownRows;
use super::target::DatabaseTarget;
use super::{Driver, Lane, Lease, Node, Postgres, Rows, load, ownership, schema};
use crate::clock::Clock;
use crate::sparse::Sparse;
use crate::store::{Store, StoreError, failed};

/// How long another node must not have been heard of before its rows are taken: longer than it may answer without being
/// heard of, even if its clock runs slower by half.
const SILENCE: Duration = Duration::from_secs(7);
/// How often others are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often a node shows that it is there.
const PRESENCE: Duration = Duration::from_secs(1);
/// How far a machine's clock may be from the database's.
const APART_MAX: Duration = Duration::from_secs(10);
/// How far it may be without a warning.
const APART: Duration = Duration::from_secs(1);
const WHAT: &str = "the store cannot be opened";
const ANOTHER: &str = "another switchboard runs on it";
static UNREACHED: Sparse = Sparse::new();

/// A process that may serve, as others see it.
#[derive(Clone)]
pub(super) struct Presence {
    id: Id,
    address: String,
}

/// A node that waits to serve.
pub struct Standby {
    target: DatabaseTarget,
    driver: Driver,
    clock: Arc<Clock>,
    presence: Presence,
    secret: String,
}

/// A lane that another node holds.
#[derive(Clone, PartialEq, Eq)]
struct Living {
    id: Vec<u8>,
    seq: i64,
    beat: i64,
    address: Option<String>,
}

/// What a node does about others that live.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// It waits until they are silent.
    Await,
    /// It gives up.
    Refuse,
    /// It only looks at them, and takes nothing over.
    Watch,
}

fn refused(error: &Error) -> StoreError {
    StoreError::of(WHAT, &told(error))
}

impl Presence {
    /// Shows that the process is there, and forgets those that no longer are.
    pub async fn show(&self, link: &DatabaseLink) -> Result<(), Error> {
        if self.address.is_empty() {
            return Ok(());
        }
        let shown = "INSERT INTO node (id, address, release) VALUES ($1, $2, $3) \
            ON CONFLICT (id) DO UPDATE SET seen = now()";
        link.client.execute(shown, &[&self.id.as_slice(), &self.address, &Service::version()]).await?;
        link.client.execute("DELETE FROM node WHERE seen < now() - interval '1 minute'", &[]).await?;
        Ok(())
    }
}

impl Standby {
    /// Joins the nodes of the store of a URL; others reach this one at `address`, HOST:PORT, and nobody does if it is
    /// empty. Writes carry the times of `clock`.
    pub fn join(url: &str, address: &str, clock: Arc<Clock>) -> Result<Self, StoreError> {
        let target = DatabaseTarget::of(url)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(failed(WHAT))?;
        let presence = Presence { id: draw()?, address: address.to_owned() };
        let secret = runtime.block_on(joined(&target, &presence))?;
        Ok(Self { target, driver: Driver::of(runtime), clock, presence, secret })
    }

    /// Returns what nodes of this store know each other by.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Waits until this node is to serve, and returns the store; `seen` is told who serves meanwhile: the address of a
    /// node, or nobody.
    pub async fn lead(&self, seen: impl FnMut(Option<&str>) + Send + 'static) -> Result<Store, StoreError> {
        self.turn(Others::Await, seen).await.map(Store::of)
    }

    /// Tells `seen` who serves, for ever.
    pub async fn follow(&self, seen: impl FnMut(Option<&str>) + Send + 'static) {
        // It takes nothing over, and so does not end.
        let _ = self.turn(Others::Watch, seen).await;
    }

    pub(super) async fn turn(
        &self,
        others: Others,
        seen: impl FnMut(Option<&str>) + Send + 'static,
    ) -> Result<Postgres, StoreError> {
        let (target, clock, presence) = (self.target.clone(), Arc::clone(&self.clock), self.presence.clone());
        let waiting = self.driver.runtime()?.spawn(async move {
            let watch = Watch { target, clock, presence, link: None, shown: None };
            watch.turn(others, seen).await
        });
        // Who no longer waits for a turn must not get one.
        let node = Arc::new(Abandoned(waiting).await?);
        self.driver.runtime()?.spawn(ownership::live(Arc::downgrade(&node)));
        Ok(Postgres { node, driver: self.driver.clone() })
    }
}

/// A task that is ended when nobody waits for it any more.
struct Abandoned(tokio::task::JoinHandle<Result<Node, StoreError>>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Future for Abandoned {
    type Output = Result<Node, StoreError>;

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(context).map(|ended| ended.map_err(failed(WHAT))?)
    }
}

/// Checks the database and this machine's clock; returns the secret of the nodes.
async fn joined(target: &DatabaseTarget, presence: &Presence) -> Result<String, StoreError> {
    let link = DatabaseLink::to(target)
        .await
        .map_err(|error| StoreError::of(WHAT, &format!("{}: {error}", target.shown())))?;
    schema::check(&link.client).await?;
    compare_clocks(&link.client).await?;
    presence.show(&link).await.map_err(|error| refused(&error))?;
    let secret = "SELECT value FROM meta WHERE name = 'secret'";
    Ok(link.client.query_one(secret, &[]).await.map_err(|error| refused(&error))?.get(0))
}

/// Refuses a machine whose clock is far from the database's: what it writes would say another time than the other nodes.
async fn compare_clocks(client: &Client) -> Result<(), StoreError> {
    let here = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = here();
    let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    let there: i64 = client.query_one(now, &[]).await.map_err(|error| refused(&error))?.get(0);
    let there = Duration::from_micros(u64::try_from(there).unwrap_or_default());
    let after = here();
    // Between the two readings here lies the one there.
    let apart = before.saturating_sub(there).max(there.saturating_sub(after));
    if apart > APART_MAX {
        let why = format!("this machine's clock is {} s from the database's: set it", apart.as_secs());
        return Err(StoreError::of(WHAT, &why));
    }
    if apart > APART {
        tracing::warn!(apart_ms = apart.as_millis(), "this machine's clock is not the database's");
    }
    Ok(())
}

/// A look at others again and again.
struct Watch {
    target: DatabaseTarget,
    clock: Arc<Clock>,
    presence: Presence,
    link: Option<DatabaseLink>,
    shown: Option<Instant>,
}

impl Watch {
    async fn turn(mut self, others: Others, mut seen: impl FnMut(Option<&str>)) -> Result<Node, StoreError> {
        let mut last: Option<(Vec<Living>, Instant)> = None;
        loop {
            let living = match self.look().await {
                Ok(living) => living,
                Err(why) => {
                    if let Some(more) = UNREACHED.more() {
                        tracing::warn!(why, more, "the database is not reached");
                    }
                    // Whoever serves may not be heard for the same reason.
                    (self.link, last) = (None, None);
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
            };
            let is_same = last.as_ref().is_some_and(|(before, _)| *before == living);
            if others == Others::Refuse && last.is_some() && !is_same && !living.is_empty() {
                return Err(StoreError::of(WHAT, &ANOTHER));
            }
            if last.is_none() && !living.is_empty() && others != Others::Watch {
                tracing::info!("another node serves: this one does once it was not heard of for {SILENCE:?}");
            }
            let since = last.filter(|_| is_same).map_or_else(Instant::now, |(_, since)| since);
            let serves = living.iter().find_map(|lane| lane.address.as_deref());
            seen(serves.filter(|address| *address != self.presence.address));
            if others != Others::Watch && (living.is_empty() || since.elapsed() >= SILENCE) {
                match self.take(&living).await {
                    Ok(Some(node)) => return Ok(node),
                    Ok(None) if others == Others::Refuse => return Err(StoreError::of(WHAT, &ANOTHER)),
                    Ok(None) => {}
                    Err(error) if others == Others::Refuse => return Err(error),
                    Err(error) => {
                        tracing::warn!(%error, "this node could not take over");
                        self.link = None;
                    }
                }
            }
            last = Some((living, since));
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the lanes that others hold, and shows that this node is there.
    async fn look(&mut self) -> Result<Vec<Living>, String> {
        let link = match self.link.take() {
            Some(link) => link,
            None => DatabaseLink::to(&self.target).await.map_err(|error| error.to_string())?,
        };
        let asked = async {
            if self.shown.is_none_or(|shown| shown.elapsed() >= PRESENCE) {
                self.presence.show(&link).await?;
                self.shown = Some(Instant::now());
            }
            let living = "SELECT id, seq, beat, address FROM lane WHERE NOT dead ORDER BY id";
            link.client.query(living, &[]).await
        };
        let rows = tokio::time::timeout(SILENCE / 2, asked).await.map_err(|_| "it does not answer".to_owned())?;
        let rows = rows.map_err(|error| told(&error))?;
        self.link = Some(link);
        let living = |row: &tokio_postgres::Row| Living {
            id: row.get(0),
            seq: row.get(1),
            beat: row.get(2),
            address: row.get(3),
        };
        Ok(rows.iter().map(living).collect())
    }

    /// Takes the slots of lanes that were silent; `None` if one of them was not, or another node was quicker.
    async fn take(&mut self, silent: &[Living]) -> Result<Option<Node>, StoreError> {
        let Some(link) = &mut self.link else { return Ok(None) };
        let (id, token) = (draw()?, draw()?);
        let address = Some(self.presence.address.clone()).filter(|address| !address.is_empty());
        let taken = taken(&mut link.client, (&id, &token), address, silent).await;
        let Some(clock) = taken.map_err(|error| refused(&error))? else { return Ok(None) };
        // What the last node said is in the past of this one.
        self.clock.not_before(Timestamp::from_micros(u64::try_from(clock).unwrap_or_default()));
        let known = queues(&link.client).await?;
        // Taking the slots may have taken longer than a lease.
        let sent = Instant::now();
        if ownership::beat(link, &id).await.map_err(|error| refused(&error))?.is_none() {
            return Ok(None);
        }
        let target = self.target.clone();
        Ok(Some(Node {
            rows: Arc::new(RwLock::new(Rows { known, seq: 0, forgotten: 0 })),
            lane: Arc::new(Mutex::new(Lane { fence: Fence::of(target.clone(), id, token), unsettled: Vec::new() })),
            loader: Mutex::new(Loader::of(target.clone(), id)),
            seq: watch::Sender::new(0),
            lease: Lease::of(sent),
            ended: watch::Sender::new(None),
            clock: Arc::clone(&self.clock),
            presence: self.presence.clone(),
            id,
            target,
        }))
    }
}

/// Makes a lane and gives it all slots, in one transaction; returns the latest time that a lane has written.
async fn taken(
    client: &mut Client,
    (id, token): (&Id, &Id),
    address: Option<String>,
    silent: &[Living],
) -> Result<Option<i64>, Error> {
    let transaction = client.transaction().await?;
    // One node at a time: the second finds that the first lives.
    transaction.query_one("SELECT value FROM meta WHERE name = 'store' FOR UPDATE", &[]).await?;
    for lane in silent {
        // Waits for a commit that still runs, and then finds that the lane has moved.
        let silenced = "UPDATE lane SET dead = true WHERE id = $1 AND seq = $2 AND beat = $3 AND NOT dead";
        if transaction.execute(silenced, &[&lane.id, &lane.seq, &lane.beat]).await? == 0 {
            return Ok(None);
        }
    }
    let known = "SELECT count(*) FILTER (WHERE NOT dead), coalesce(max(clock), 0) FROM lane";
    let known = transaction.query_one(known, &[]).await?;
    if known.get::<_, i64>(0) > 0 {
        return Ok(None);
    }
    let clock: i64 = known.get(1);
    let made = "INSERT INTO lane (id, token, address, clock) VALUES ($1, $2, $3, $4)";
    transaction.execute(made, &[&id.as_slice(), &token.as_slice(), &address, &clock]).await?;
    transaction.execute("UPDATE slot SET lane = $1", &[&id.as_slice()]).await?;
    transaction.execute("DELETE FROM lane WHERE dead", &[]).await?;
    transaction.commit().await?;
    Ok(Some(clock))
}

/// Reads the root's queues, which stand in the slots of their accounts: they are at hand for good.
async fn queues(client: &Client) -> Result<KnownRows, StoreError> {
    let mut known = KnownRows::default();
    for queue in key::queues() {
        let rows = load::queue(client, &queue).await.map_err(|error| refused(&error))?;
        known.pin(queue.clone());
        let scan = Scan { from: queue.start, to: queue.end, order: Order::Ascending, limit: usize::MAX };
        known.add(&Read::Scan(scan), Found::Rows(rows));
    }
    Ok(known)
}
