//! [`Seats`]: the open connections, by holder and idle time. When there is no room for another, an idle one gives way:
//! the idlest one of the holder with the most connections among those that have an idle one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::incoming::earned;
use crate::room::{Held, Holder, Room, UsedUp};

/// Idle time after which a connection gives way: a client that has just connected may still send a request.
const IDLE_MIN: Duration = Duration::from_secs(2);
/// The same for a holder with more than twice as many connections as the newcomer; one that never sent a request gives
/// way at once.
const IDLE_MIN_OF_MANY: Duration = Duration::from_millis(100);

/// How long a newcomer waits while all seats are in use. Connections come and go: most find one.
const PATIENCE: Duration = Duration::from_secs(1);

/// The connections of a listener.
pub struct Seats {
    room: Arc<Room>,
    began: Instant,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    last: u64,
    by: HashMap<Holder, BTreeMap<u64, Arc<Activity>>>,
}

/// Activity of a connection.
#[derive(Default)]
struct Activity {
    /// Number of requests and answers in progress.
    running: AtomicUsize,
    /// Whether it ever sent a request.
    asked: AtomicBool,
    /// Whether it was asked to close.
    leaving: AtomicBool,
    /// Time up to which it kept up, microseconds since the listener began: moved to now by a request, and by each byte
    /// for as long as one takes at the minimum rate. It has been idle since then.
    moved: AtomicU64,
    leave: Notify,
}

/// A connection's place; dropping it frees the place.
pub struct Seat {
    seats: Arc<Seats>,
    holder: Holder,
    number: u64,
    activity: Arc<Activity>,
    _held: Held,
}

/// A request or an answer in progress: its connection is not idle.
pub struct ActiveRequest(Arc<Activity>);

/// A request that is still being received: until it is complete, its connection counts as idle whenever its bytes come
/// too slowly.
pub struct Unfinished(Arc<Activity>);

impl ActiveRequest {
    /// Marks the body of the request as still being received.
    pub fn unfinished(&self) -> Unfinished {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        Unfinished(Arc::clone(&self.0))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.running.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Seats {
    /// Creates the seats of a listener, with as many places as the room has.
    pub fn new(room: Arc<Room>) -> Arc<Self> {
        Arc::new(Self { room, began: Instant::now(), taken: Mutex::default() })
    }

    /// Takes a seat, waiting for one up to [`PATIENCE`] while all are in use: for one that is given up, when holders
    /// take turns, or for a connection that has become idle.
    pub async fn take(self: &Arc<Self>, holder: Holder) -> Result<Seat, UsedUp> {
        let full = match self.try_take(holder) {
            Err(full) if !full.is_own() => full,
            taken => return taken,
        };
        let mut turn = pin!(self.room.take(holder));
        let mut late = pin!(tokio::time::sleep(PATIENCE));
        let mut looks = tokio::time::interval(IDLE_MIN_OF_MANY);
        loop {
            tokio::select! {
                held = &mut turn => return held.map(|held| self.seat(holder, held)),
                () = &mut late => return Err(full),
                _ = looks.tick() => if self.make_way(holder, full) {
                    return Ok(self.seat(holder, self.room.overdraw(holder, 1)));
                },
            }
        }
    }

    /// Takes a seat. If there is none, an idle connection is asked to close and the newcomer gets its place: until it
    /// has closed there is one connection more than there is room for.
    fn try_take(self: &Arc<Self>, holder: Holder) -> Result<Seat, UsedUp> {
        let held = match self.room.try_take(holder, 1) {
            Ok(held) => held,
            Err(full) if self.make_way(holder, full) => self.room.overdraw(holder, 1),
            Err(full) => return Err(full),
        };
        Ok(self.seat(holder, held))
    }

    fn seat(self: &Arc<Self>, holder: Holder, held: Held) -> Seat {
        let activity = Arc::new(Activity { moved: AtomicU64::new(self.now()), ..Activity::default() });
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.last += 1;
        let number = taken.last;
        taken.by.entry(holder).or_default().insert(number, Arc::clone(&activity));
        Seat { seats: Arc::clone(self), holder, number, activity, _held: held }
    }

    /// Asks an idle connection to close: one of the same holder if its share is used up, else one of the holder with
    /// the most connections, among those with an idle one and more than the newcomer has. Those of trusted proxies
    /// stay.
    fn make_way(&self, holder: Holder, full: UsedUp) -> bool {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.by.get(&holder).map_or(0, BTreeMap::len);
        let mut from: Vec<&BTreeMap<u64, Arc<Activity>>> = if full.is_own() {
            taken.by.get(&holder).into_iter().collect()
        } else {
            let strangers = taken.by.iter().filter(|(holder, all)| **holder != Holder::Service && all.len() > own);
            strangers.map(|(_, all)| all).collect()
        };
        from.sort_unstable_by_key(|all| Reverse(all.len()));
        let now = self.now();
        let Some(idlest) = from.into_iter().find_map(|all| idlest(all, now, all.len() > 2 * (own + 1))) else {
            return false;
        };
        idlest.leaving.store(true, Ordering::Relaxed);
        idlest.leave.notify_one();
        true
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Returns the connection that has been idle the longest, of those that may close.
fn idlest(all: &BTreeMap<u64, Arc<Activity>>, now: u64, of_many: bool) -> Option<&Activity> {
    let idle = all.values().filter(|one| one.may_leave(now, of_many));
    idle.min_by_key(|one| one.moved.load(Ordering::Relaxed)).map(Arc::as_ref)
}

impl Activity {
    /// Returns whether it has been idle long enough. One that was already asked to close does not count, so that no two
    /// newcomers get the same place.
    fn may_leave(&self, now: u64, of_many: bool) -> bool {
        let patience = match of_many {
            true if !self.asked.load(Ordering::Relaxed) => Duration::ZERO,
            true => IDLE_MIN_OF_MANY,
            false => IDLE_MIN,
        };
        let idle = now.saturating_sub(self.moved.load(Ordering::Relaxed));
        self.running.load(Ordering::Relaxed) == 0
            && !self.leaving.load(Ordering::Relaxed)
            && u128::from(idle) >= patience.as_micros()
    }
}

impl Seat {
    /// Notes that bytes were received or sent.
    pub fn moved(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let earned = u64::try_from(earned(bytes).as_micros()).unwrap_or(u64::MAX);
        let moved = self.activity.moved.load(Ordering::Relaxed).saturating_add(earned);
        self.activity.moved.store(moved.min(self.seats.now()), Ordering::Relaxed);
    }

    /// Marks the beginning of a request.
    pub fn running(&self) -> ActiveRequest {
        self.activity.moved.store(self.seats.now(), Ordering::Relaxed);
        self.activity.asked.store(true, Ordering::Relaxed);
        self.activity.running.fetch_add(1, Ordering::Relaxed);
        ActiveRequest(Arc::clone(&self.activity))
    }

    /// Waits until the connection is asked to close.
    pub async fn wanted(&self) {
        self.activity.leave.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = taken.by.get_mut(&self.holder) {
            all.remove(&self.number);
            if all.is_empty() {
                taken.by.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use switchboard_core::budget::{Budget, CONNECTIONS};

    fn of(last: u8) -> Holder {
        Holder::nobody(IpAddr::from([10, 0, 0, last]))
    }

    fn seats(all: u64, address: u64) -> Arc<Seats> {
        Seats::new(Room::new(&Budget { all, nobody: all, address, ..CONNECTIONS }))
    }

    /// Closes when it is asked to.
    fn polite(seat: Seat) -> tokio::task::JoinHandle<()> {
        tokio::spawn(async move { seat.wanted().await })
    }

    #[tokio::test(start_paused = true)]
    async fn the_idlest_of_whoever_has_the_most_gives_way() {
        let seats = seats(3, 2);
        let idlest = polite(seats.try_take(of(1)).expect("room"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let later = polite(seats.try_take(of(1)).expect("room"));
        let alone = polite(seats.try_take(of(2)).expect("room"));
        assert_eq!(seats.try_take(of(3)).err(), Some(UsedUp::All), "nobody has been idle for long");
        tokio::time::sleep(IDLE_MIN).await;
        let newcomer = seats.try_take(of(3));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(newcomer.is_ok() && idlest.is_finished() && !later.is_finished() && !alone.is_finished());
        assert_eq!(seats.try_take(of(1)).err(), Some(UsedUp::All), "nobody has more than it has itself");
        drop(newcomer);
        assert!(seats.try_take(of(2)).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_many_gives_way_soon_and_no_place_goes_twice() {
        let seats = seats(5, 5);
        let many: Vec<_> = (0..5).map(|_| seats.try_take(of(1)).expect("room")).collect();
        drop(many[0].running());
        drop(many[1].running());
        let newcomers: Vec<_> =
            (2..5).map(|last| seats.try_take(of(last)).expect("nothing was heard of three")).collect();
        assert_eq!(seats.try_take(of(5)).err(), Some(UsedUp::All), "two of five have just asked");
        tokio::time::sleep(IDLE_MIN_OF_MANY).await;
        let last: Vec<_> = (5..8).map(|last| seats.try_take(of(last)).map(drop).err()).collect();
        assert_eq!(last, [None, None, Some(UsedUp::All)]);
        assert!(many.iter().all(|seat| seat.activity.leaving.load(Ordering::Relaxed)));
        drop((many, newcomers));
        assert_eq!(seats.room.used(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_the_most_at_work_shields_nobody() {
        let seats = seats(5, 3);
        let busy: Vec<_> = (0..3).map(|_| seats.try_take(of(1)).expect("room")).collect();
        let _running: Vec<_> = busy.iter().map(Seat::running).collect();
        let idle: Vec<_> = (0..2).map(|_| polite(seats.try_take(of(2)).expect("room"))).collect();
        tokio::time::sleep(IDLE_MIN).await;
        assert!(seats.try_take(of(3)).is_ok(), "the second most has an idle one");
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(idle.iter().filter(|one| one.is_finished()).count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_not_whole_is_no_work() {
        let seats = seats(3, 3);
        let many: Vec<_> = (0..3).map(|_| seats.try_take(of(1)).expect("room")).collect();
        let running: Vec<_> = many.iter().map(Seat::running).collect();
        let mut unfinished: Vec<_> = running.iter().map(ActiveRequest::unfinished).collect();
        drop(unfinished.pop());
        tokio::time::sleep(IDLE_MIN_OF_MANY + Duration::from_millis(1)).await;
        many[0].moved(1);
        many[1].moved(1 << 20);
        let newcomers = [seats.try_take(of(2)).is_ok(), seats.try_take(of(3)).is_ok()];
        assert_eq!(newcomers, [true, false], "one trickles, one comes quickly, one is whole");
        assert!(many[0].activity.leaving.load(Ordering::Relaxed));
        drop((unfinished, running));
        assert!(many.iter().all(|seat| seat.activity.running.load(Ordering::Relaxed) == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_closes_its_own() {
        let seats = seats(9, 2);
        let busy = seats.try_take(of(1)).expect("room");
        let running = busy.running();
        let idle = polite(seats.try_take(of(1)).expect("room"));
        tokio::time::sleep(IDLE_MIN).await;
        let third = seats.try_take(of(1));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(third.is_ok() && idle.is_finished());
        tokio::time::sleep(IDLE_MIN).await;
        third.as_ref().expect("a seat").moved(1 << 20);
        assert_eq!(seats.try_take(of(1)).err(), Some(UsedUp::Address), "one works, the other was just heard");
        drop((running, busy, third));
        assert!(seats.taken.lock().expect("nobody panicked").by.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_waits_a_moment_for_a_seat() {
        let seats = seats(3, 3);
        let busy = [(); 3].map(|()| seats.try_take(of(1)).expect("room"));
        let running = busy.each_ref().map(Seat::running);
        let began = Instant::now();
        assert_eq!(seats.take(of(2)).await.err(), Some(UsedUp::All), "all work");
        assert_eq!(began.elapsed(), PATIENCE);
        assert_eq!(seats.room.refused(UsedUp::All), 1, "it is refused once");
        let [first, others @ ..] = running;
        let (waiting, ()) = tokio::join!(seats.take(of(2)), async { drop(first) });
        assert!(waiting.is_ok(), "one has become idle");
        drop(waiting);
        let waiting = {
            let seats = Arc::clone(&seats);
            tokio::spawn(async move { seats.take(of(3)).await.map(drop) })
        };
        tokio::task::yield_now().await;
        drop((others, busy));
        assert_eq!(waiting.await.expect("it ends"), Ok(()), "one is given up");
        assert_eq!(seats.room.waiting(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn proxies_that_the_operator_trusts_keep_theirs() {
        let seats = seats(2, 1);
        let _proxy = [seats.try_take(Holder::Service), seats.try_take(Holder::Service)];
        tokio::time::sleep(IDLE_MIN).await;
        assert_eq!(seats.try_take(of(1)).err(), Some(UsedUp::All));
    }
}
