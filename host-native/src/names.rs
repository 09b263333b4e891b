//! [`LimitedResolver`]: DNS look-ups for requests to the outside.
//!
//! The system's resolver blocks its thread for an unbounded time, so each look-up has a thread of its own and holds a
//! place in a room until that thread ends: a name that does not resolve keeps its place beyond the time limit of the
//! request that asked. Nothing else in the process runs on these threads.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use switchboard_core::outside::SendError;

use crate::apart::apart;
use crate::room::{Holder, Room, UsedUp};

tokio::task_local! {
    /// Holder of the running request: the client passes only a name to its resolver.
    static HOLDER: Holder;
}

/// Runs a request whose look-ups count against `holder`.
pub async fn held_by<F: Future>(holder: Holder, request: F) -> F::Output {
    HOLDER.scope(holder, request).await
}

/// Function that looks up a name; it may block.
type LookUp = fn(&str) -> std::io::Result<Vec<SocketAddr>>;

/// Resolver that asks the system, with as many look-ups at once as its room has places.
pub struct LimitedResolver {
    room: Arc<Room>,
    look_up: LookUp,
}

impl LimitedResolver {
    /// Creates a resolver whose look-ups take places in `room`.
    pub fn new(room: Arc<Room>) -> Self {
        Self { room, look_up: |name| Ok((name, 0).to_socket_addrs()?.collect()) }
    }
}

/// Error for a name that was not looked up because the room is full.
#[derive(Debug)]
pub struct NoRoom(UsedUp);

impl std::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "too many names are being looked up ({})", self.0.word())
    }
}

impl std::error::Error for NoRoom {}

impl From<&NoRoom> for SendError {
    fn from(NoRoom(full): &NoRoom) -> Self {
        (*full).into()
    }
}

impl Resolve for LimitedResolver {
    /// The client calls this while it polls the request itself, so the task-local holder is set here; the returned
    /// look-up may be polled elsewhere.
    fn resolve(&self, name: Name) -> Resolving {
        let (room, look_up, holder) = (Arc::clone(&self.room), self.look_up, HOLDER.try_with(|holder| *holder));
        Box::pin(async move {
            let place = room.take(holder?).await.map_err(NoRoom)?;
            let found = apart("look-up", place, move || look_up(name.as_str())).await;
            let found = found.ok_or("the look-up did not run")??;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use switchboard_core::budget::{Budget, LOOKUPS, OPERATOR_LOOKUPS};

    const WAIT: Duration = Duration::from_millis(5);

    async fn find(names: &LimitedResolver, holder: Holder, name: &str) -> Result<Vec<SocketAddr>, String> {
        let found = held_by(holder, async { names.resolve(name.parse().expect("a name")).await }).await;
        found.map(Iterator::collect).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn names_lead_where_the_system_says() {
        let names = LimitedResolver::new(Room::new(&LOOKUPS));
        let found = find(&names, Holder::Service, "localhost").await.expect("a name that every system knows");
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()), "{found:?}");
        assert!(find(&names, Holder::Service, "no.such.name.invalid").await.is_err());
        assert_eq!(names.room.used(), 0);
        let nobody = names.resolve("localhost".parse().expect("a name")).await;
        assert!(nobody.is_err(), "a name that nobody asked for");
    }

    #[tokio::test]
    async fn a_look_up_holds_its_place_until_it_ends_and_leaves_others_theirs() {
        for budget in [&LOOKUPS, &OPERATOR_LOOKUPS] {
            leaves_others_theirs(budget).await;
        }
    }

    async fn leaves_others_theirs(budget: &Budget) {
        static HANGS: AtomicBool = AtomicBool::new(true);
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        HANGS.store(true, Ordering::SeqCst);
        ASKED.store(0, Ordering::SeqCst);
        let look_up: LookUp = |name| {
            ASKED.fetch_add(1, Ordering::SeqCst);
            while name == "hangs" && HANGS.load(Ordering::SeqCst) {
                std::thread::sleep(WAIT);
            }
            Ok(vec![SocketAddr::from(([127, 0, 0, 1], 0))])
        };
        let names = Arc::new(LimitedResolver { room: Room::new(budget), look_up });
        for _ in 0..40 {
            let asked = find(&names, Holder::Account(1), "hangs");
            assert!(tokio::time::timeout(WAIT, asked).await.is_err(), "given up");
        }
        // Nobody waits for them, and they still count.
        assert_eq!((ASKED.load(Ordering::SeqCst) as u64, names.room.used()), (budget.account, budget.account));
        let began = Instant::now();
        assert!(find(&names, Holder::Account(2), "answers").await.is_ok());
        assert!(began.elapsed() < Duration::from_secs(2));
        HANGS.store(false, Ordering::SeqCst);
        assert!(find(&names, Holder::Account(1), "hangs").await.is_ok(), "its place is there again");
        while names.room.used() > 0 {
            tokio::time::sleep(WAIT).await;
        }
    }
}
