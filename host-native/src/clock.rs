//! [`Clock`]: the one place that reads the clock and the random source.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use switchboard_core::seed::Seed;
use switchboard_core::time::Timestamp;

/// Speed of time in a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Seconds since the Unix epoch from which time passes faster.
    pub since: u64,
    /// Factor by which it passes faster, 1 to 100,000.
    pub speed: f64,
}

impl std::str::FromStr for Pace {
    type Err = String;

    /// Parses `SPEED@SECONDS`; the same text means the same time in every process.
    fn from_str(text: &str) -> Result<Self, String> {
        let (speed, since) = text.split_once('@').ok_or("a pace has the form SPEED@SECONDS")?;
        let speed = speed.parse().ok().filter(|speed| (1.0..=100_000.0).contains(speed));
        let speed = speed.ok_or("time passes 1 to 100000 times as fast")?;
        let since = since.parse().map_err(|_| "a pace begins at a second since 1970")?;
        Ok(Self { since, speed })
    }
}

/// Both times of a source at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// System time since the Unix epoch; it may be set forwards and back.
    pub system: Duration,
    /// Monotonic time since some moment of this process.
    pub monotonic: Duration,
}

/// Source of a clock's time.
pub trait TimeSource: Send + Sync {
    /// Reads both times at once.
    fn read(&self) -> Reading;
}

/// The clocks of this machine.
struct Machine {
    began: Instant,
}

impl TimeSource for Machine {
    fn read(&self) -> Reading {
        Reading {
            system: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            monotonic: self.began.elapsed(),
        }
    }
}

/// The last time that a clock returned.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    /// The returned time, nanoseconds since the Unix epoch.
    time: u64,
    /// How far it is ahead of the system time, nanoseconds.
    ahead: u64,
    /// When it was returned, nanoseconds of the monotonic clock.
    monotonic: u64,
}

/// A clock that never runs backwards or stands still, and the source of seeds.
///
/// It returns the system time. After that was set back, it continues from the last returned time at half the speed of
/// the monotonic clock until the system time has caught up: an hour takes two. At full speed it would never agree with
/// the system again, and a pause of an hour would stop rate limits, retries and leases for that long. Half speed is the
/// least deviation of waits and measured durations (a factor of two at most) that still ends soon. A step forward is
/// followed at once: after a machine slept it is right.
pub struct Clock {
    source: Box<dyn TimeSource>,
    last: Mutex<Moment>,
    pace: Option<Pace>,
    script: Option<Mutex<(Timestamp, Seed)>>,
}

impl Default for Clock {
    fn default() -> Self {
        Self::at(None)
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").field("last", &self.last).field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl Clock {
    /// Creates a clock of this machine; with a pace, for rehearsals.
    pub fn at(pace: Option<Pace>) -> Self {
        Self::over(Machine { began: Instant::now() }, pace)
    }

    /// Creates a clock over another source of time, for tests that set it.
    pub fn over(source: impl TimeSource + 'static, pace: Option<Pace>) -> Self {
        Self { source: Box::new(source), last: Mutex::default(), pace, script: None }
    }

    /// Creates a clock that returns one time and one seed until [`Clock::set`] changes them: for tests that compare
    /// hosts.
    pub fn scripted() -> Self {
        Self { script: Some(Mutex::new((Timestamp::default(), Seed::new([0; 32])))), ..Self::default() }
    }

    /// Sets the time and seed of a scripted clock; does nothing to others.
    pub fn set(&self, now: Timestamp, seed: Seed) {
        if let Some(script) = &self.script {
            *script.lock().unwrap_or_else(PoisonError::into_inner) = (now, seed);
        }
    }

    /// Goes on from a time that another clock has shown, unless this one is past it: what was said before stays before.
    /// Both are times without a pace.
    pub fn not_before(&self, time: Timestamp) {
        let floor = time.micros().saturating_mul(1_000);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.time < floor {
            *last = Moment { time: floor, ahead: 0, monotonic: nanos(self.source.read().monotonic) };
        }
    }

    /// Returns the time without a pace, for [`Clock::not_before`] of another clock.
    pub fn unpaced(&self) -> Timestamp {
        Timestamp::from_micros(self.moment().time / 1_000)
    }

    fn script(&self) -> Option<(Timestamp, Seed)> {
        self.script.as_ref().map(|script| *script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a seed for one input: fresh, or the scripted one.
    pub fn seed(&self) -> std::io::Result<Seed> {
        self.script().map_or_else(seed, |(_, seed)| Ok(seed))
    }

    /// Returns the time, never earlier than before.
    pub fn now(&self) -> Timestamp {
        self.script().map_or_else(|| self.paced(self.moment().time), |(now, _)| now)
    }

    /// Returns how long to sleep until `at`, in real time.
    pub fn until(&self, at: Timestamp) -> Duration {
        if let Some((now, _)) = self.script() {
            return Duration::from_micros(at.micros().saturating_sub(now.micros()));
        }
        let Moment { time, ahead, .. } = self.moment();
        let wait = Duration::from_micros(at.micros().saturating_sub(self.paced(time).micros()));
        let wait = self.pace.map_or(wait, |pace| wait.div_f64(pace.speed));
        // While this clock is ahead of the system time, it runs at half speed.
        wait + wait.min(Duration::from_nanos(ahead))
    }

    fn moment(&self) -> Moment {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that no reading is older than the last one.
        let Reading { system, monotonic } = self.source.read();
        let (system, monotonic) = (nanos(system), nanos(monotonic));
        let elapsed = monotonic.saturating_sub(last.monotonic);
        let time = system.max(last.time.saturating_add(elapsed / 2));
        *last = Moment { time, ahead: time - system, monotonic };
        *last
    }

    /// Converts nanoseconds since the Unix epoch to a time at the rehearsal's pace.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rehearsal's microseconds stay below 2^53"
    )]
    fn paced(&self, nanos: u64) -> Timestamp {
        let micros = nanos / 1_000;
        Timestamp::from_micros(self.pace.map_or(micros, |pace| {
            let begin = pace.since * 1_000_000;
            begin + (micros.saturating_sub(begin) as f64 * pace.speed) as u64
        }))
    }
}

/// Converts to nanoseconds; 64 bits last until the year 2554.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Seeds drawn from the operating system at once: a call for each would cost a fifteenth of a read.
const DRAWN: usize = 128;

thread_local! {
    /// Seeds drawn by this thread, and how many of them, from the front, are unused.
    static SEEDS: RefCell<([[u8; 32]; DRAWN], usize)> = const { RefCell::new(([[0; 32]; DRAWN], 0)) };
}

/// Returns a seed from the operating system's random source; no other call returns it.
pub fn seed() -> std::io::Result<Seed> {
    SEEDS.with_borrow_mut(|(seeds, left)| {
        if *left == 0 {
            getrandom::fill(seeds.as_flattened_mut()).map_err(std::io::Error::other)?;
            *left = DRAWN;
        }
        *left -= 1;
        // Clears the seed here as it is handed out.
        Ok(Seed::new(std::mem::take(&mut seeds[*left])))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use switchboard_core::rate::Caller;

    use super::*;
    use crate::limiter::{Limiter, RateDecisions};

    #[test]
    fn a_pace_is_the_same_in_every_process() {
        let pace: Pace = "60@1700000000".parse().expect("a pace");
        let (one, other) = (Clock::at(Some(pace)).now(), Clock::at(Some(pace)).now());
        assert!(other.seconds_since(one) < 60 && one > Clock::default().now());
        let clock = Clock::at(Some(pace));
        assert!(clock.until(clock.now().plus_seconds(600)) <= Duration::from_secs(10));
        for wrong in ["", "60", "0@1", "x@1", "2@x", "1e9@1"] {
            assert!(wrong.parse::<Pace>().is_err(), "{wrong}");
        }
    }

    /// Time source that a test sets.
    #[derive(Clone, Default)]
    struct Set(Arc<Mutex<Reading>>);

    impl TimeSource for Set {
        fn read(&self) -> Reading {
            *self.0.lock().expect("no panic")
        }
    }

    const SECOND: u64 = 1_000_000;
    const HOUR: i64 = 3_600;

    impl Set {
        fn at_noon() -> Self {
            let reading = Reading { system: Duration::from_hours(500_000), monotonic: Duration::ZERO };
            Self(Arc::new(Mutex::new(reading)))
        }

        fn pass(&self, micros: u64) {
            let mut reading = self.0.lock().expect("no panic");
            reading.system += Duration::from_micros(micros);
            reading.monotonic += Duration::from_micros(micros);
        }

        fn jump(&self, seconds: i64) {
            let system = &mut self.0.lock().expect("no panic").system;
            let jump = Duration::from_secs(seconds.unsigned_abs());
            *system = if seconds < 0 { system.saturating_sub(jump) } else { *system + jump };
        }

        fn now(&self) -> Timestamp {
            Timestamp::from_micros(u64::try_from(self.read().system.as_micros()).expect("it is soon"))
        }
    }

    #[test]
    fn time_goes_on_after_a_jump_and_comes_back_to_the_system() {
        let set = Set::at_noon();
        let clock = Clock::over(set.clone(), None);
        assert_eq!(clock.now(), set.now());
        set.jump(HOUR);
        assert_eq!(clock.now(), set.now(), "a step forward is followed");
        set.jump(-HOUR);
        let ahead = clock.now();
        assert_eq!(ahead.micros(), set.now().micros() + 3_600 * SECOND, "never backwards");
        // It runs at half speed, however often it is read.
        for _ in 0..1_000_000 {
            set.pass(3);
            clock.now();
        }
        set.pass(57 * SECOND);
        assert_eq!(clock.now().micros(), ahead.micros() + 30 * SECOND);
        set.pass((7_200 - 61) * SECOND);
        assert_eq!(clock.now().micros(), set.now().micros() + SECOND / 2);
        for _ in 0..3 {
            set.pass(SECOND);
            assert_eq!(clock.now(), set.now(), "it has caught up");
        }
        set.jump(-HOUR);
        set.pass(600 * SECOND);
        let waited = clock.now().micros() - (set.now().micros() + 3_000 * SECOND);
        assert_eq!(waited, 300 * SECOND, "time during which nobody asked counts");
    }

    #[test]
    fn a_wait_ends_at_its_time_while_the_clock_is_ahead() {
        for speed in [None, Some(60.0)] {
            let set = Set::at_noon();
            let since = 500_000 * 3_600;
            let clock = Clock::over(set.clone(), speed.map(|speed| Pace { since, speed }));
            set.pass(SECOND);
            clock.now();
            set.jump(-10);
            for seconds in [0, 4, 4, 40] {
                let at = clock.now().plus_seconds(seconds * if speed.is_some() { 60 } else { 1 });
                let wait = u64::try_from(clock.until(at).as_micros()).expect("it is short");
                set.pass(wait);
                assert_eq!((clock.now(), clock.until(at)), (at, Duration::ZERO), "{seconds} s at {speed:?}");
            }
        }
    }

    #[test]
    fn a_node_goes_on_from_the_time_of_another_whose_clock_is_ahead() {
        let (set, other) = (Set::at_noon(), Set::at_noon());
        other.jump(HOUR);
        let (clock, ahead) = (Clock::over(set.clone(), None), Clock::over(other, None));
        let said = ahead.now();
        clock.not_before(ahead.unpaced());
        assert!(clock.now() >= said, "{:?} is before {said:?}", clock.now());
        set.pass(10 * SECOND);
        assert_eq!(clock.now(), said.plus_seconds(5), "half speed until the two agree");
        clock.not_before(Timestamp::default());
        assert!(clock.now() >= said.plus_seconds(5), "an earlier time changes nothing");
    }

    /// Six threads admit requests while the system time jumps an hour at a time.
    #[test]
    fn limits_refill_and_time_never_falls_while_the_clock_jumps() {
        let set = Set::at_noon();
        let clock = Arc::new(Clock::over(set.clone(), None));
        let limiter = Arc::new(Limiter::new(60));
        let over = Arc::new(AtomicBool::new(false));
        let load: Vec<_> = (0..6)
            .map(|token| {
                let (clock, limiter, over) = (Arc::clone(&clock), Arc::clone(&limiter), Arc::clone(&over));
                std::thread::spawn(move || {
                    let mut last = Timestamp::default();
                    while !over.load(Ordering::SeqCst) {
                        let now = clock.now();
                        assert!(now >= last, "time fell from {last:?} to {now:?}");
                        last = now;
                        limiter.admit(Caller::Token { account: token, token: 1 }, now, &RateDecisions::default());
                    }
                })
            })
            .collect();
        let caller = Caller::Token { account: 9, token: 1 };
        let admitted = || {
            let admit =
                || limiter.admit(caller, clock.now(), &RateDecisions::default()).is_some_and(|rate| rate.admitted);
            (0..200).filter(|_| admit()).count()
        };
        assert_eq!(admitted(), 10, "the burst");
        for hours in [1, -1, -1, 1, 1, -1] {
            set.jump(hours * HOUR);
            clock.now();
            admitted();
            set.pass(8 * SECOND);
            assert!((4..=8).contains(&admitted()), "one a second, or one in two");
        }
        over.store(true, Ordering::SeqCst);
        load.into_iter().for_each(|thread| thread.join().expect("time never falls"));
    }
}
