//! [`Handing`]: to which engines calls were given, and which of them rang: nobody is rung twice, whatever engines and
//! hosts do.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_core::limits::RETURNS_MAX;

use crate::checks::{Held, holds};

/// What the engines of a world know of the calls that they were given.
#[derive(Debug, Default)]
pub struct Handing {
    given: BTreeMap<u64, u32>,
    rung: BTreeSet<u64>,
    refused: BTreeMap<u64, BTreeSet<usize>>,
}

impl Handing {
    /// Notes that an engine was given a call; one of edition 1 may ring at once.
    pub fn give(&mut self, call: u64, engine: usize, protocol: u64) -> Held {
        holds!(!self.rung.contains(&call), "nobody is rung twice: {call} is given to an engine after it was dialed");
        let refused = self.refused.get(&call).is_some_and(|engines| engines.contains(&engine));
        holds!(!refused, "a call does not go to an engine that gave it back: {call} to {engine}");
        let times = self.given.entry(call).or_default();
        *times += 1;
        holds!(*times <= RETURNS_MAX, "a call is offered three times at most: {call}, {times} times");
        if protocol == 1 { self.ring(call) } else { Ok(()) }
    }

    /// Notes that the service knows that a call is dialed, so that its engine rings.
    pub fn ring(&mut self, call: u64) -> Held {
        holds!(self.rung.insert(call), "nobody is rung twice: {call}");
        Ok(())
    }

    /// Notes that an engine gave a call back.
    pub fn refuse(&mut self, call: u64, engine: usize) {
        self.refused.entry(call).or_default().insert(engine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_claim_can_fail() {
        let mut handing = Handing::default();
        assert_eq!(handing.give(1, 0, 2), Ok(()));
        assert_eq!(handing.give(1, 1, 2), Ok(()), "before it rings it may go to another");
        handing.refuse(1, 1);
        assert!(handing.give(1, 1, 2).is_err(), "an engine does not get back what it gave back");
        assert_eq!((handing.give(1, 0, 2), handing.give(1, 0, 2).is_err()), (Ok(()), true), "three times at most");
        assert_eq!((handing.ring(1), handing.ring(1).is_err()), (Ok(()), true));
        assert_eq!((handing.give(2, 0, 1), handing.give(2, 1, 2).is_err()), (Ok(()), true), "edition 1 rings at once");
    }
}
