//! [`WriterQueue`]: what waits for the writer. Holders take turns, so that an account's change waits for one of each
//! neighbour's, however many they or strangers have queued; every second turn is the service's own.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Queued;
use crate::room::Holder;
use crate::turns::Turns;

/// Most inputs that wait; more are refused with 503 instead of piling up.
const INPUTS_MAX: usize = 4_096;

/// What the writer is told.
pub(super) enum Told {
    /// An input whose turn it is.
    Input(Queued),
    /// The commit beside it has ended.
    Committed,
    /// Nothing, for as long as it waited.
    Rest,
    /// Nobody is left who could queue anything, and nothing waits.
    End,
}

/// The queue, which any thread may put inputs into, and one takes them from.
#[derive(Default)]
pub(super) struct WriterQueue {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// Inputs of accounts and strangers.
    turns: Turns<Queued>,
    /// Inputs of the operator, of engines and of the service itself: they work for everybody.
    service: VecDeque<Queued>,
    /// Whether the last input taken was one of the service's.
    served: bool,
    /// Whether a commit has ended that the writer was not told of.
    committed: bool,
    /// Whether nothing more is taken in.
    closed: bool,
}

impl WriterQueue {
    /// Queues an input, or gives it back where the queue is full or closed.
    pub fn push(&self, holder: Holder, queued: Queued) -> Result<(), Box<Queued>> {
        let mut waiting = self.waiting();
        if waiting.closed || waiting.count() >= INPUTS_MAX {
            return Err(Box::new(queued));
        }
        match holder {
            Holder::Service => waiting.service.push_back(queued),
            Holder::Account(_) | Holder::Address(_) => waiting.turns.push(holder, queued),
        }
        drop(waiting);
        self.news.notify_one();
        Ok(())
    }

    /// Tells the writer that the commit beside it has ended.
    pub fn tell_committed(&self) {
        self.waiting().committed = true;
        self.news.notify_one();
    }

    /// Returns the input whose turn it is, if any waits.
    pub fn next(&self) -> Option<Queued> {
        self.waiting().next()
    }

    /// Waits until there is something to tell, for `patience` at most.
    pub fn wait(&self, patience: Duration) -> Told {
        let nothing = |waiting: &mut Waiting| waiting.count() == 0 && !waiting.committed && !waiting.closed;
        let waited = self.news.wait_timeout_while(self.waiting(), patience, nothing);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        if std::mem::take(&mut waiting.committed) {
            return Told::Committed;
        }
        match waiting.next() {
            Some(queued) => Told::Input(queued),
            None if waiting.closed => Told::End,
            None => Told::Rest,
        }
    }

    /// Takes nothing more in: who waits is served yet.
    pub fn close(&self) {
        self.waiting().closed = true;
        self.news.notify_one();
    }

    /// Takes nothing more in, and drops what waits: nobody will serve it.
    pub fn abandon(&self) {
        self.close();
        while self.next().is_some() {}
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn count(&self) -> usize {
        self.turns.waiting() + self.service.len()
    }

    fn next(&mut self) -> Option<Queued> {
        let yields = self.served && self.turns.waiting() > 0;
        self.served = !yields && !self.service.is_empty();
        if self.served { self.service.pop_front() } else { self.turns.next(|_| true).map(|(_, queued)| queued) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use switchboard_core::seed::Seed;
    use tokio::sync::oneshot;

    use super::super::WriterInput;
    use super::*;

    fn put(queue: &WriterQueue, holder: Holder, number: u8) -> bool {
        let (input, seed) = (WriterInput::Used(Vec::new()), Seed::new([number; 32]));
        queue.push(holder, Queued { input, seed, done: oneshot::channel().0 }).is_ok()
    }

    fn taken(queue: &WriterQueue) -> Vec<u8> {
        let number = |queued: Queued| queued.seed.bytes()[0];
        std::iter::from_fn(|| queue.next()).map(number).collect()
    }

    #[test]
    fn holders_take_turns_and_every_second_one_is_the_services() {
        let (queue, stranger) = (WriterQueue::default(), Holder::nobody(IpAddr::from([192, 0, 2, 1])));
        for number in 0..3 {
            assert!(put(&queue, Holder::Account(1), number));
            assert!(put(&queue, stranger, 10 + number));
        }
        assert!(put(&queue, Holder::Account(2), 20));
        assert_eq!(taken(&queue), [0, 10, 20, 1, 11, 2, 12]);
        for number in 0..3 {
            assert!(put(&queue, Holder::Account(1), number));
            assert!(put(&queue, Holder::Service, 30 + number));
        }
        assert!(put(&queue, Holder::Account(2), 20));
        assert_eq!(taken(&queue), [30, 0, 31, 20, 32, 1, 2]);
    }

    #[test]
    fn it_tells_of_a_commit_once_and_ends_when_it_is_closed_and_empty() {
        let queue = WriterQueue::default();
        assert!(matches!(queue.wait(Duration::ZERO), Told::Rest));
        assert!(put(&queue, Holder::Service, 1));
        queue.tell_committed();
        queue.close();
        assert!(!put(&queue, Holder::Service, 2), "closed");
        assert!(matches!(queue.wait(Duration::MAX), Told::Committed));
        assert!(matches!(queue.wait(Duration::MAX), Told::Input(_)));
        assert!(matches!(queue.wait(Duration::MAX), Told::End));
    }

    #[test]
    fn it_is_bounded_and_whoever_waits_hears_that_nobody_serves_it() {
        let queue = WriterQueue::default();
        let (done, mut wait) = oneshot::channel();
        let input = WriterInput::Used(Vec::new());
        assert!(queue.push(Holder::Account(1), Queued { input, seed: Seed::new([0; 32]), done }).is_ok());
        for number in 1..INPUTS_MAX {
            let holder = if number % 2 == 0 { Holder::Service } else { Holder::Account(2) };
            assert!(put(&queue, holder, 0), "{number}");
        }
        assert!(!put(&queue, Holder::Account(3), 0), "full");
        assert!(matches!(wait.try_recv(), Err(oneshot::error::TryRecvError::Empty)));
        queue.abandon();
        assert!(matches!(wait.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert!(matches!(queue.wait(Duration::MAX), Told::End));
    }
}
